"""A working folder with a neighbour that nothing may touch."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.workspace.folder import IS_SUPPORTED
from headstart.workspace.tools import Workspace

OUTSIDE = "outside of the folder"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not IS_SUPPORTED:
        pytest.skip("folders can be confined on Linux and macOS")
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "home"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder, beside `outside` with a file."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file.txt").write_text(OUTSIDE, encoding="utf-8")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    return folder


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    workspace = Workspace(place)
    yield workspace
    workspace.close()
