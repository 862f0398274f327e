"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

from headstart.terminal import batch_parts
from tests.model_folders import write_model
from tests.terminal.batches import GenaiFake, Place


@pytest.fixture
def place(tmp_path: Path, headstart_home: Path) -> Place:
    write_model(headstart_home / "models" / "smol")
    return Place(tmp_path)


@pytest.fixture
def genai(monkeypatch: pytest.MonkeyPatch) -> GenaiFake:
    fake = GenaiFake()
    monkeypatch.setattr(batch_parts, "open_genai", fake.open)
    monkeypatch.setattr(batch_parts, "known_figures", lambda _options: fake.figures)
    return fake
