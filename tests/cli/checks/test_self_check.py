"""The self-check of a packed program."""

import pytest

from headstart.chat.files import pdf_text
from headstart.cli.checks import self_check


@pytest.mark.slow
def test_every_trial_passes_here() -> None:
    assert list(self_check.faults()) == []


def test_failing_trial_is_reported_and_the_rest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise RuntimeError("no\nword")

    trials = list[str]()
    monkeypatch.setattr(pdf_text, "pages", lambda *_: iter(["Hello lion"]))
    monkeypatch.setattr(self_check.EchoEngine, "generate", silent)
    monkeypatch.setattr(self_check, "_import_gguf", lambda: trials.append("import"))  # it starts a process
    monkeypatch.setattr(self_check, "_encrypt", lambda: trials.append("encrypt"))
    server, pdf = self_check.faults()
    assert trials == ["import", "encrypt"]
    assert server.startswith("The server fails: it answered ")
    assert "['Hello lion']" in pdf
