"""File operations that cannot leave a folder: paths, links, races."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headstart.errors import WorkspaceError
from headstart.workspace.folder import EntryKind, Folder, is_secret
from tests.support.rights import usual_rights
from tests.workspace.conftest import OUTSIDE
from tests.workspace.working import tree


@pytest.fixture
def folder(place: Path) -> Folder:
    return Folder(place)


@pytest.mark.parametrize(
    "path", ["../outside/file.txt", "a/../../outside", "/etc/passwd", "..", "a\\..\\b", "a\0b", "a\nb"]
)
def test_path_outside_is_refused(folder: Folder, path: str) -> None:
    with pytest.raises(WorkspaceError):
        folder.clean(path)


def test_folder_that_may_not_be_read_is_refused_with_the_remedy(place: Path) -> None:
    place.chmod(0)
    with (
        usual_rights(),
        pytest.raises(WorkspaceError, match="choose another folder, or see that you may read"),
    ):
        Folder(place)
    place.chmod(0o700)


@pytest.mark.parametrize(("path", "clean"), [("", ""), (".", ""), ("./a//b/", "a/b"), ("..a/b..", "..a/b..")])
def test_path_inside_is_cleaned(folder: Folder, path: str, clean: str) -> None:
    assert folder.clean(path) == clean


def test_whole_path_of_the_folder_is_taken_for_it(folder: Folder, place: Path) -> None:
    assert folder.clean(str(place)) == ""
    assert folder.clean(f"{place}/notes.txt") == "notes.txt"
    with pytest.raises(WorkspaceError):
        folder.clean(f"{place}-other/notes.txt")


def test_links_are_not_followed(folder: Folder, place: Path) -> None:
    (place / "file").symlink_to("../outside/file.txt")
    (place / "folder").symlink_to("../outside")
    (place / "inside").symlink_to("notes.txt")
    for path in ("file", "folder/file.txt", "inside"):
        with pytest.raises(WorkspaceError):
            folder.read(path)
        with pytest.raises(WorkspaceError):
            folder.write(path, b"x", None)
    with pytest.raises(WorkspaceError):
        folder.make("folder/new")
    with pytest.raises(WorkspaceError):
        folder.move("notes.txt", "folder/notes.txt")
    assert [entry.kind for entry in folder.walk()].count(EntryKind.LINK) == 3
    assert (place / "../outside/file.txt").read_text(encoding="utf-8") == OUTSIDE
    assert tree(place / "../outside").keys() == {"file.txt"}


def test_hard_link_is_not_written(folder: Folder, place: Path) -> None:
    (place / "link").hardlink_to(place / "../outside/file.txt")
    with pytest.raises(WorkspaceError, match="hard link"):
        folder.write("link", b"x", OUTSIDE.encode())
    assert (place / "../outside/file.txt").read_text(encoding="utf-8") == OUTSIDE


def test_pipes_and_devices_are_not_read(folder: Folder, place: Path) -> None:
    os.mkfifo(place / "pipe")
    with pytest.raises(WorkspaceError, match="no file"):
        folder.read("pipe")


def test_large_file_is_refused(folder: Folder) -> None:
    with pytest.raises(WorkspaceError, match="more than 4 bytes"):
        folder.read("notes.txt", 4)


def test_file_that_changed_meanwhile_is_not_replaced(folder: Folder, place: Path) -> None:
    with pytest.raises(WorkspaceError, match="changed meanwhile"):
        folder.write("notes.txt", b"x", b"what was shown")
    assert (place / "notes.txt").read_text(encoding="utf-8").startswith("one")


def test_rights_of_a_file_stay(folder: Folder, place: Path) -> None:
    (place / "notes.txt").chmod(0o750)
    folder.write("notes.txt", b"x", (place / "notes.txt").read_bytes())
    assert (place / "notes.txt").stat().st_mode & 0o777 == 0o750


def test_folder_stays_the_same_when_another_takes_its_name(folder: Folder, place: Path) -> None:
    moved = place.rename(place.with_name("elsewhere"))
    place.symlink_to("outside")
    folder.write("new.txt", b"x", None)
    assert (moved / "new.txt").exists()
    assert tree(place.resolve()).keys() == {"file.txt"}


@pytest.mark.slow
def test_race_with_links_never_leads_outside(folder: Folder, place: Path) -> None:
    """Links replace a folder and a file again and again, while they are read and written."""
    (place / "sub").mkdir()
    (place / "sub" / "file.txt").write_text("inside", encoding="utf-8")
    (place / "link").symlink_to("../outside")
    (place / "link.txt").symlink_to("../../outside/file.txt")
    ends, swaps = threading.Event(), 0

    def swap() -> None:
        nonlocal swaps
        while not ends.is_set():
            for first, second in (("sub", "link"), ("link", "sub")):
                (place / first).rename(place / "aside")
                (place / second).rename(place / first)
                (place / "aside").rename(place / second)
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = set[str]()
    acts: tuple[Callable[[int], object], ...] = (
        lambda _number: folder.read("sub/file.txt").data,
        lambda number: folder.write("sub/new.txt", str(number).encode(), None),
        lambda number: folder.move("sub/new.txt", f"sub/{number}"),
    )
    try:
        for number in range(3000):
            for act in acts:
                try:
                    outcomes.add(str(act(number)))
                except WorkspaceError:
                    outcomes.add("refused")
    finally:
        ends.set()
        thread.join()
    assert swaps
    assert outcomes <= {str(b"inside"), "None", "refused"}
    assert tree(place / "../outside").keys() == {"file.txt"}
    assert (place / "../outside/file.txt").read_text(encoding="utf-8") == OUTSIDE


@pytest.mark.parametrize(
    "path",
    [".env", "a/.ENV.local", "prod.env", "id_rsa", "keys/server.pem", ".ssh/config", "a/.aws/x", "Credentials.json"],
)
def test_names_of_secrets_are_known(path: str) -> None:
    assert is_secret(path)


@pytest.mark.parametrize("path", ["", "environment.md", "id_rsa.pub", ".env.example", "keyboard.txt", "secretary.txt"])
def test_names_of_other_files_are_no_secrets(path: str) -> None:
    assert not is_secret(path)
