"""What a packed program tries of itself: all of it works here, and what does not is said in a sentence."""

import pytest

from headstart import pdf_text
from headstart.cli import self_check


@pytest.mark.slow
def test_all_that_is_tried_works_here() -> None:
    assert list(self_check.faults()) == []


def test_what_fails_is_said_and_the_rest_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise RuntimeError("no\nword")

    monkeypatch.setattr(pdf_text, "pages", lambda *_: iter(["Hello lion"]))
    monkeypatch.setattr(self_check.EchoEngine, "generate", silent)
    server, pdf = self_check.faults()
    assert server.startswith("The server fails: it answered ")
    assert pdf == "Reading a PDF file fails: it reads ['Hello lion']"
