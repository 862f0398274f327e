"""The self-check of a packed program."""

import pytest

from headstart.chat import pdf_text
from headstart.cli import self_check


@pytest.mark.slow
def test_every_trial_passes_here() -> None:
    assert list(self_check.faults()) == []


def test_failing_trial_is_reported_and_the_rest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise RuntimeError("no\nword")

    monkeypatch.setattr(pdf_text, "pages", lambda *_: iter(["Hello lion"]))
    monkeypatch.setattr(self_check.EchoEngine, "generate", silent)
    server, pdf = self_check.faults()
    assert server.startswith("The server fails: it answered ")
    assert pdf == "Reading a PDF file fails: it reads ['Hello lion']"
