"""The copy of a history whose folder cannot be written: nothing is lost, and it goes back once it can."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart.chat import standby
from headstart.chat.conversation import Attachment, Conversation, Edit
from headstart.chat.history import encryption
from headstart.chat.history.database import Key
from headstart.chat.history.store import UNSENT, Store, open_store
from headstart.errors import StandbyError, UnwritableHistoryError

pytestmark = pytest.mark.usefixtures("places")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folders for temporary files; the first does not exist."""
    folders = [tmp_path / "none", tmp_path / "temporary"]
    folders[1].mkdir()
    monkeypatch.setattr(standby, "places", lambda: iter(folders))
    yield folders
    assert list(folders[1].iterdir()) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a history with one chat."""
    with_chat = tmp_path / "history"
    store = open_store(with_chat)
    add(store, "before")
    store.close()
    return with_chat


def add(store: Store, title: str) -> str:
    chat = store.create_chat(title)
    store.save(chat.id, Conversation(), Conversation().ask(title))
    return chat.id


def open_copy(folder: Path, key: Key | None = None) -> Store:
    copy = standby.open_copy(folder, key)
    assert copy
    return copy


def copy_with(folder: Path, title: str, key: Key | None = None) -> Store:
    """Add a chat to the copy of a history. Return the copy, which is closed."""
    copy = open_copy(folder, key)
    add(copy, title)
    copy.close()
    return copy


def titles(store: Store) -> set[str]:
    return {chat.title for chat in store.chats()}


def brought_back(folder: Path) -> set[str]:
    store = open_store(folder)
    assert standby.bring_back(store)
    assert not standby.bring_back(store)
    found = titles(store)
    assert {store.conversation(chat.id).path[0].text for chat in store.chats()} >= {"meanwhile"}
    store.close()
    return found


def test_copy_goes_back_whole(folder: Path) -> None:
    copy = open_copy(folder)
    (before,) = copy.chats()
    add(copy, "meanwhile")
    copy.rename(before.id, "renamed")
    copy.close()
    assert brought_back(folder) == {"renamed", "meanwhile"}


def test_copy_is_found_again_by_the_next_start(folder: Path) -> None:
    for title in ("meanwhile", "later"):
        copy_with(folder, title)
    assert brought_back(folder) == {"before", "meanwhile", "later"}


def test_history_that_has_changed_keeps_its_changes(folder: Path) -> None:
    copy_with(folder, "meanwhile")
    store = open_store(folder)
    add(store, "elsewhere")
    store.close()
    assert brought_back(folder) == {"before", "meanwhile", "elsewhere"}


def test_drafts_of_a_copy_go_into_a_history_that_has_changed(folder: Path) -> None:
    copy = open_copy(folder)
    (before,) = copy.chats()
    copy.save_draft(before.id, "typed")
    copy.remember(UNSENT, "typed, too")
    copy.close()
    store = open_store(folder)
    add(store, "elsewhere")
    assert standby.bring_back(store)
    kept = store.chat(before.id)
    assert kept
    assert (kept.draft, store.recall(UNSENT)) == ("typed", "typed, too")
    store.close()


def test_edits_of_a_copy_go_into_a_history_that_has_changed(folder: Path) -> None:
    copy = open_copy(folder)
    (before,) = copy.chats()
    edits = {1: Edit("other words", (Attachment("a.md", "A"),)), 2: Edit("other answer", is_open=False)}
    asked = copy.conversation(before.id)
    copy.save(before.id, asked, asked.ask("meanwhile"))
    copy.save_edits(before.id, {}, edits)
    new = add(copy, "new")
    copy.save_edits(new, {}, {1: edits[1]})
    copy.save_draft_files(new, [Attachment("b.md", "B")])
    copy.close()
    store = open_store(folder)
    add(store, "elsewhere")
    store.save_edits(before.id, {}, {1: Edit("older words")})
    assert standby.bring_back(store)
    assert store.edits(before.id) == edits
    assert (store.edits(new), store.draft_files(new)) == ({1: edits[1]}, (Attachment("b.md", "B"),))
    store.close()


def test_draft_of_a_copy_is_no_newer_than_its_chat(folder: Path) -> None:
    copy = open_copy(folder)
    (before,) = copy.chats()
    copy.save_draft(before.id, "typed, then sent")
    copy.save_edits(before.id, {}, {1: Edit("other words")})
    copy.close()
    store = open_store(folder)
    conversation = store.conversation(before.id)
    store.save(before.id, conversation, conversation.ask("typed, then sent"))
    assert standby.bring_back(store)
    kept = store.chat(before.id)
    assert kept
    assert (kept.draft, store.edits(before.id)) == ("", {})
    store.close()


def test_copy_without_its_origin_adds_what_is_new(folder: Path) -> None:
    copy = copy_with(folder, "meanwhile")
    (copy.path.parent / "origin").unlink()  # the program ended before it was written
    assert brought_back(folder) == {"before", "meanwhile"}


@pytest.mark.parametrize("start", [0, 4096])  # of the damage: the file's head, a page of it
def test_copy_that_cannot_be_read_leaves_the_history_as_it_is(folder: Path, start: int) -> None:
    copy = copy_with(folder, "meanwhile")
    content = copy.path.read_bytes()
    copy.path.write_bytes(content[:start] + b"?" * (len(content) - start))
    store = open_store(folder)
    with pytest.raises(StandbyError):
        standby.bring_back(store)
    assert titles(store) == {"before"}
    store.close()
    assert copy.path.is_file()
    shutil.rmtree(copy.path.parent)


def test_encrypted_copy_goes_back(folder: Path) -> None:
    key = encryption.encrypt(folder, "correct horse battery")
    copy = copy_with(folder, "meanwhile", key)
    assert not copy.path.read_bytes().startswith(b"SQLite format 3")
    store = open_store(folder, key)
    assert standby.bring_back(store)
    assert titles(store) == {"before", "meanwhile"}
    store.close()


def test_missing_folder_that_cannot_be_made_has_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "disk" / "history"
    folder.parent.write_bytes(b"a file in its place")
    with pytest.raises(UnwritableHistoryError):
        open_store(folder)
    assert not standby.can_write(folder)
    copy_with(folder, "meanwhile")
    folder.parent.unlink()
    assert standby.can_write(folder)
    assert brought_back(folder) == {"meanwhile"}


def test_no_copy_is_made_without_a_place(folder: Path, places: list[Path]) -> None:
    del places[1]
    assert standby.open_copy(folder, None) is None
    places.append(folder.parent / "temporary")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of files")
def test_copy_of_somebody_else_is_left_alone(folder: Path) -> None:
    copy = open_copy(folder)
    place = copy.path.parent
    copy.close()
    place.chmod(0o755)
    store = open_store(folder)
    assert not standby.bring_back(store)
    place.chmod(0o700)
    assert standby.bring_back(store)
    store.close()
