"""Files that nobody else may read, and archives and pickles that are never unpacked."""

import re
import sys
import zipfile
from pathlib import Path

import pytest

from headstart.errors import ModelNotFoundError
from headstart.library import import_folder
from tests.source.source_tree import ROOT


@pytest.mark.skipif(sys.platform == "win32", reason="a person's folders are their own there")
def test_window_makes_private_files(tmp_path: Path) -> None:
    from tests.faults.profile import Window  # noqa: PLC0415 - where there are signals

    home = tmp_path / "deep" / "home"
    window = Window(home, 1, "0.001")
    try:
        window.wait_for("shown")
    finally:
        window.kill()
    made = [path for path in (tmp_path / "deep").rglob("*") if path.is_dir()]
    assert {"history", "home"} <= {path.name for path in made}
    assert [path for path in (tmp_path / "deep", *made) if path.stat().st_mode & 0o077] == []
    history = list((home / "history").glob("history.db*"))
    assert [path.name for path in history if path.stat().st_mode & 0o077] == []


def test_archive_is_never_unpacked(headstart_home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "model.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("../../escaped", "x")
        made.writestr("headstart.json", "{}")
    with pytest.raises(ModelNotFoundError):
        import_folder.import_model(archive, lambda done, total: True)
    assert not headstart_home.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model.zip"]


def test_source_unpacks_no_archive_or_pickle() -> None:
    opened = re.compile(
        r"\b(extractall|extract\(|unpack_archive|tarfile|pickle\.loads?|marshal|shelve|allow_pickle=True)"
    )
    sources = [path for top in ("app/headstart", "export/headstart_export") for path in (ROOT / top).rglob("*.py")]
    assert [path.name for path in sources if opened.search(path.read_text(encoding="utf-8"))] == []
