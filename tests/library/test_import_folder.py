"""Folders from elsewhere come into the library whole and checked, or leave nothing behind."""

import dataclasses
import shutil
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest

from headstart.errors import BrokenModelError, NotEnoughSpaceError, SettingsError
from headstart.library import import_folder, library, manifest
from headstart.library.library import Model, Pair
from tests.stand_ins.model_folders import write_model, write_pair
from tests.support.refusals import refused


@pytest.fixture
def root(headstart_home: Path) -> Path:
    return headstart_home / "models"


@pytest.fixture
def away(tmp_path: Path) -> Path:
    """A folder that counts as on another disk."""
    return tmp_path / "stick"


def always(_done: int, _total: int) -> bool:
    return True


def test_model_is_copied_with_progress(root: Path, away: Path) -> None:
    folder = write_model(away / "smol")
    (folder / "notes.txt").write_text("not of the model")
    told: list[tuple[int, int]] = []

    def note(done: int, total: int) -> bool:
        told.append((done, total))
        return True

    assert import_folder.import_model(folder, note) == "smol"
    assert isinstance(library.find("smol"), Model)
    assert told[-1][0] == told[-1][1] == import_folder.sizes(folder)[1]
    assert not (root / "smol" / "notes.txt").exists()
    assert [path.name for path in root.iterdir()] == ["smol"]


def test_pair_is_copied_with_both_models(root: Path, away: Path) -> None:
    import_folder.import_model(write_pair(away / "both"), always)
    entry = library.find("both")
    assert isinstance(entry, Pair)
    assert import_folder.check(entry, always) == []


def test_changed_file_is_refused_and_nothing_stays(root: Path, away: Path) -> None:
    folder = write_model(away / "smol")
    (folder / "openvino_model.bin").write_bytes(bytes(256))
    with refused(BrokenModelError, place=PurePosixPath("openvino_model.bin")):
        import_folder.import_model(folder, always)
    assert list(root.iterdir()) == []


def test_name_outside_the_folder_is_refused(root: Path, away: Path) -> None:
    folder = write_model(away / "smol")
    (away / "outside").write_bytes(b"x")
    read = manifest.read_model(folder)
    files = {**read.files, "../outside": manifest.File(manifest.hash_file(away / "outside"), 1)}
    manifest.write(folder, dataclasses.replace(read, files=files))
    with refused(BrokenModelError, model=str(folder), name="../outside"):
        import_folder.import_model(folder, always)
    assert not root.exists()


def test_cancelled_copy_leaves_nothing(root: Path, away: Path) -> None:
    folder = write_model(away / "smol")
    with pytest.raises(import_folder.Stopped):
        import_folder.import_model(folder, lambda done, total: False)
    assert list(root.iterdir()) == []


def test_full_disk_is_refused_with_both_sizes(root: Path, away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(away / "smol")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
    with refused(NotEnoughSpaceError, folder="smol", wanted="0 MB", root=root, free="0 MB"):
        import_folder.import_model(folder, always)


def test_existing_model_is_not_overwritten(root: Path, away: Path) -> None:
    installed = write_model(root / "smol")
    with pytest.raises(SettingsError, match="it lies in the folder of the models"):
        import_folder.import_model(installed, always)
    with refused(SettingsError, folder="smol"):
        import_folder.import_model(write_model(away / "smol"), always)


@pytest.mark.parametrize("name", ["con", "a:b", "a ", "a.", "a" * 201])
def test_folder_whose_name_no_model_can_have_is_refused(root: Path, away: Path, name: str) -> None:
    folder = write_model(away / name)
    with pytest.raises(SettingsError, match="name of a model"):
        import_folder.import_model(folder, always)
    assert import_folder.import_model(folder, always, name="good") == "good"


def test_folder_without_a_model_is_refused(away: Path) -> None:
    away.mkdir()
    with pytest.raises(BrokenModelError, match="is not a Headstart model"):
        import_folder.import_model(away, always)


def test_linked_folder_is_copied_under_its_own_name(root: Path, away: Path) -> None:
    folder = write_pair(away / "both")
    root.mkdir(parents=True)
    (root / "linked").symlink_to(folder)
    entry = library.find("linked")
    assert not isinstance(entry, library.Broken)
    assert import_folder.check(entry, always) == []
    (away / "alias").symlink_to(folder)
    assert import_folder.import_model(away / "alias", always) == "alias"
    assert not (root / "alias").is_symlink()


def test_check_names_changed_files(root: Path) -> None:
    folder = write_model(root / "smol")
    entry = library.find("smol")
    (folder / "openvino_model.bin").write_bytes(bytes(256))
    assert not isinstance(entry, library.Broken)
    (damage,) = import_folder.check(entry, always)
    assert "openvino_model.bin" in damage
