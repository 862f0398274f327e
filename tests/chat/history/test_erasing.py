"""Texts that are deleted for good leave no word in any file of the history, also after a crash in between."""

import itertools
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.chat.conversation import (
    AnswerOutcome,
    Attachment,
    Chat,
    ChatMessage,
    Conversation,
    Edit,
    Project,
    Role,
    ToolCall,
)
from headstart.chat.history import backups, database, erasing
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.encryption import encrypt
from headstart.chat.history.store import UNSENT, Store, new_id, open_store

# Every secret word ends alike, because the full-text index shortens the beginnings of words, never their ends.
_END = "zqxjvk"
_RARE = "𪚥"  # and a character that is a word by itself
_SIZES = {"word": 1, "line": 12, "page": 400, "pages": 4000, "megabyte": 75_000}
_chance = random.Random(5)


def _secret(size: int) -> str:
    """Return a text of so many words that occur nowhere else."""
    words = (f"{_chance.randrange(1 << 32):08x}{_END}" for _ in range(size))
    return f"{_RARE} {' '.join(words)}"


def _found(folder: Path) -> dict[str, int]:
    """Return the files with secret words, and the number of these."""
    counts = {path.name: _count(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    return {name: count for name, count in counts.items() if count}


def _count(content: bytes) -> int:
    return content.count(_END.encode()) + content.count(_RARE.encode())


def _tell(store: Store, *texts: str, title: str = "") -> str:
    """Save a chat with a question and an answer for each text, which stands in all their parts."""
    tree = Conversation()
    for text in texts:
        tree = tree.ask(text, [Attachment(f"{text[:40]}.txt", text)]).begin_answer()
        assert tree.last
        call = ToolCall(0, "look", "{}", text)
        tree = tree.finish(tree.last.id, AnswerOutcome(text, thinking=text, calls=(call,)))
    chat = Chat(new_id(), title, 1.0, 2.0, draft=texts[0][:200], settings={"system_prompt": texts[0][:200]})
    return store.add(chat, tree).id


def _fill(store: Store) -> None:
    """Save chats that stay, before and after those that are deleted."""
    for number in range(30):
        _tell(store, *(f"kept words {number} {round_} " * 20 for round_ in range(3)), title=f"kept {number}")


def _is_whole(store: Store) -> bool:
    """Return whether all remaining chats are present, and found by the search."""
    for table in ("title_words", "message_words", "file_words"):
        store._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
    found = {hit.chat.title for hit in store.search("kept", limit=1000) if hit.file}
    return len(store.chats()) == 30 == len(found)


@pytest.mark.parametrize("size", _SIZES)
def test_deleted_chat_leaves_no_word(store: Store, folder: Path, size: str) -> None:
    _fill(store)
    chat = _tell(store, _secret(_SIZES[size]), title=_secret(3))
    store.save_draft_files(chat, [Attachment("a.txt", _secret(_SIZES[size]))])
    store.save_edits(chat, {}, {1: Edit(_secret(_SIZES[size]), (Attachment("b.txt", _secret(_SIZES[size])),))})
    backups.back_up(store._connection, folder, "daily")
    assert len(_found(folder)) >= 2
    store.delete(chat)
    assert store.purge() == 1
    assert erasing.erase(folder, None)
    assert _found(folder) == {}
    assert _is_whole(store)
    assert store.recall(erasing.MEMO) is None


def _remove_message(store: Store) -> None:
    chat = _tell(store, "kept", _secret(500), title="kept 30")
    tree = store.conversation(chat)
    store.save(chat, tree, tree.remove(4).remove(3))
    assert store.outdated_caches() == (chat,)
    store.delete(chat)


def _remove_version(store: Store) -> None:
    chat = _tell(store, "kept", title="kept 30")
    tree = store.conversation(chat)
    edited = tree.edit(1, _secret(3000), [Attachment("b.txt", _secret(50_000))])
    store.save(chat, tree, edited)
    store.save(chat, edited, edited.remove(3))
    store.delete(chat)


def _remove_draft_file(store: Store) -> None:
    store.save_draft_files(None, [Attachment("a.txt", _secret(9000)), Attachment("b.txt", "kept")])
    store.save_draft_files(None, [Attachment("b.txt", "kept")])


def _remove_file_of_an_edit(store: Store) -> None:
    chat, edit = _tell(store, "kept", title="kept 30"), Edit("kept", (Attachment("a.txt", _secret(9000)),))
    store.save_edits(chat, {}, {1: edit, 2: edit})
    store.save_edits(chat, {1: edit, 2: edit}, {2: Edit("kept")})
    store.delete(chat)


def _remove_project(store: Store) -> None:
    store.add_project(Project("kept", {"system_prompt": _secret(40)}, (Attachment("a.txt", _secret(9000)),)))
    store.delete_project("kept")


def _change_project(store: Store) -> None:
    name = store.add_project(Project(f"{'9' * 8}{_END}", {}, (Attachment("a.txt", _secret(9000)),)))
    store.change_project(name, Project("kept"))


def _delete_tag(store: Store) -> None:
    store.create_tag(f"{'9' * 8}{_END}")
    store.delete_tag(store.rename_tag(f"{'9' * 8}{_END}", f"{'8' * 8}{_END}"))


@pytest.mark.parametrize(
    "act",
    [
        _remove_message,
        _remove_version,
        _remove_draft_file,
        _remove_file_of_an_edit,
        _remove_project,
        _change_project,
        _delete_tag,
    ],
)
def test_removed_part_leaves_no_word(store: Store, folder: Path, act: Callable[[Store], None]) -> None:
    _fill(store)
    act(store)
    assert erasing.erase(folder, None)
    assert _found(folder) == {}
    assert _is_whole(store)


def test_replaced_draft_leaves_no_word_after_the_end(folder: Path) -> None:
    edits: dict[int, Edit] = {}
    with closing(open_store(folder)) as store:
        _fill(store)
        chat = _tell(store, "kept", title="kept 30")
        for size in (1, 12, 400, 4000, 12, 0):
            store.remember(UNSENT, _secret(size) if size else None)
            store.save_draft(chat, _secret(size) if size else "")
            before, edits = edits, {1: Edit(_secret(size))} if size else {}
            store.save_edits(chat, before, edits)
        store.save_draft(chat, "kept")
    assert _found(folder) == {}


@pytest.mark.parametrize("passphrase", ["", "a good passphrase"])
def test_crash_at_any_step_of_erasing_is_made_up_for(tmp_path: Path, passphrase: str) -> None:
    folder = tmp_path / "history"
    open_store(folder).close()
    key = encrypt(folder, passphrase) if passphrase else None
    with closing(open_store(folder, key)) as store:
        _fill(store)
        chat = _tell(store, *(_secret(_SIZES[size]) for size in ("line", "pages")), title=_secret(3))
        for number in range(2):
            backups.back_up(store._connection, folder, str(number), key)
        (folder / "damaged-20260101-000000-000000.db").write_text(_secret(99), encoding="utf-8")
        store.destroy(chat)
        with closing(database.connect(folder / FILE_NAME, key)) as connection:
            for number, is_done in enumerate(itertools.chain([True], erasing.erase_in_steps(connection, folder, key))):
                assert is_done
                crashed = tmp_path / f"crashed after {number}"
                shutil.copytree(folder, crashed, ignore=shutil.ignore_patterns("*-shm"))
                open_store(crashed, key).close()
                assert erasing.erase(crashed, key)
                assert _found(crashed) == {}
                with closing(open_store(crashed, key)) as again:
                    assert _is_whole(again)
                assert len(backups.list_backups(crashed)) == 2
        assert number >= 7


def test_chat_is_erased_from_backups_whose_age_stays(store: Store, folder: Path) -> None:
    _fill(store)
    chat = _tell(store, _secret(4000))
    backup = backups.back_up(store._connection, folder, "daily")
    store.destroy(chat)
    assert erasing.erase(folder, None)
    assert backups.list_backups(folder) == (backup,)
    store.close()
    backups.restore(folder, backup)
    with closing(open_store(folder)) as restored:
        assert _is_whole(restored)


def test_damaged_backup_is_deleted_with_what_it_had(store: Store, folder: Path) -> None:
    _fill(store)
    chat = _tell(store, _secret(400))
    backup = backups.back_up(store._connection, folder, "daily")
    content = bytearray(backup.path.read_bytes())
    content[5000:30_000] = b"\xa5" * 25_000
    backup.path.write_bytes(content)
    store.destroy(chat)
    assert erasing.erase(folder, None)
    assert _found(folder) == {}
    assert backups.list_backups(folder) == ()


def test_damaged_histories_are_kept_for_a_month_unless_the_bin_is_emptied(store: Store, folder: Path) -> None:
    aside = folder / "damaged-20260101-000000-000000.db"
    aside.write_text("old", encoding="utf-8")
    for destroy, is_kept in ((lambda _: store.purge(), True), (store.destroy, False)):
        chat = store.create_chat("a").id
        store.delete(chat)
        destroy(chat)
        assert erasing.erase(folder, None)
        assert aside.exists() is is_kept


def test_erasing_waits_for_a_pause(store: Store, folder: Path) -> None:
    begun = Conversation().ask("why").begin_answer()
    chat = store.add(Chat(new_id(), "a", 1.0, 2.0), begun)
    assert erasing.erase(folder, None, 10.0)
    store.destroy(store.create_chat("b").id)
    assert not erasing.erase(folder, None, 10.0)
    order = str(store.recall(erasing.MEMO)).replace('"since": 1', '"since": ')
    store.remember(erasing.MEMO, order)
    assert not erasing.erase(folder, None, 10.0)
    store.save(chat.id, begun, begun.finish(2, AnswerOutcome("because")))
    assert erasing.erase(folder, None, 10.0)


def test_erasing_goes_on_after_a_reader_and_after_a_new_deletion(store: Store, folder: Path) -> None:
    _fill(store)
    chats = [_tell(store, _secret(40)) for _ in range(2)]
    store.destroy(chats[0])
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM chat").fetchone()
        with closing(database.connect(folder / FILE_NAME)) as connection:
            connection.execute("PRAGMA busy_timeout = 10")
            assert not all(erasing.erase_in_steps(connection, folder, None))
    with closing(database.connect(folder / FILE_NAME)) as connection:
        steps = erasing.erase_in_steps(connection, folder, None)
        next(steps)
        store.destroy(chats[1])
        assert all(steps)
    assert store.recall(erasing.MEMO)
    assert erasing.erase(folder, None)
    assert _found(folder) == {}
    assert _is_whole(store)


def test_backup_of_an_older_version_is_erased_too(store: Store, folder: Path) -> None:
    script = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")
    store.add(Chat("old", "kept", 1.0, 2.0), Conversation({1: ChatMessage(1, None, Role.USER, "kept", 1.0)}, {None: 1}))
    backups.home(folder).mkdir()
    old = backups.home(folder) / "20260101-000000-000000-before-2.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(script + f"UPDATE message SET text = '{_secret(900)}' WHERE chat = 1")  # noqa: S608
    assert _found(folder)
    store.destroy("old")
    assert erasing.erase(folder, None)
    assert _found(folder) == {}
    (backup,) = backups.list_backups(folder)
    assert replace(backup, created=0.0) == backups.Backup(old, 0.0)
