"""The commands that start the exporter."""

import sys
from pathlib import Path

import pytest

from headstart.library import exporter


def test_importer_is_found_frozen_and_unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert exporter.importer() == (sys.executable, "-m", "headstart_export")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/headstart")
    beside = str(Path("/opt/headstart-export"))
    assert exporter.importer() == (beside,)
    assert exporter.check_command("tiny") == (beside, "check", "tiny", "--background", "--json")
