"""Damaged histories: what is only derived is made anew, and everything that can be read is saved."""

import os
import random
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from headstart.chat.conversation import AnswerOutcome, Attachment, Chat, Conversation, Edit, Project
from headstart.chat.history import backups, rescue
from headstart.chat.history.database import DAMAGE, FILE_NAME, Key
from headstart.chat.history.encryption import encrypt
from headstart.chat.history.rescue import ReadableHistoryError
from headstart.chat.history.store import Store, open_store
from headstart.errors import DamagedHistoryError, HistoryError

_DERIVED = (
    "message_words_data", "message_words_idx", "message_words_docsize", "message_words_config",
    "title_words_data", "title_words_idx", "title_words_docsize", "title_words_config",
    "file_words_data", "file_words_idx", "file_words_docsize", "file_words_config",
    "message_by_parent", "sqlite_autoindex_message_1", "message_by_state", "message_by_time",
    "chat_by_time", "chat_by_tag", "chat_by_project", "sqlite_autoindex_chat_1",
    "draft_file_by_chat", "draft_file_by_edit", "sqlite_autoindex_edit_1",
)  # fmt: skip
_chance = random.Random(7)
EDITS = {1: Edit("other words", (Attachment("e.md", "edit"),)), 4: Edit("other answer", is_open=False)}
Content = dict[str, tuple[Chat, Conversation]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Content]:
    """The folder and the content of a history of fifty chats, some with long messages; copy it before altering."""
    folder = tmp_path_factory.mktemp("whole") / "chats"
    with closing(open_store(folder)) as store:
        return folder, _fill(store)


@pytest.fixture
def content(folder: Path, whole: tuple[Path, Content]) -> Content:
    """The content of a history like `whole`, by id."""
    shutil.copytree(whole[0], folder, dirs_exist_ok=True)
    return whole[1]


def _fill(store: Store) -> Content:
    store.add_project(Project("work", {"system_prompt": "short"}, (Attachment("a.md", "A" * 9000),)))
    for number in range(50):
        tree = Conversation()
        for round_ in range(6):
            long = 3000 if (number + round_) % 9 == 0 else 20
            tree = tree.ask(
                f"question {number} {round_} " * long, [Attachment("a.txt", f"file{number}")] * (round_ == 1)
            )
            tree = tree.begin_answer("pair", {"temperature": 0.5})
            assert tree.last
            tree = tree.finish(tree.last.id, AnswerOutcome(f"answer {number} {round_}", thinking="hm" * round_))
        tree = tree.edit(3, "another question")
        chat = store.add(Chat(f"id{number}", f"chat {number}", 1.0 + number, 2.0 + number), tree)
        store.create_tag("tagged", [chat.id])
        store.move([chat.id], "work")
    store.save_draft_files("id3", [Attachment("d.md", "draft")])
    store.save_edits("id3", {}, EDITS)
    store.remember("last chat", "id3")
    store.delete("id4")
    return _content(store)


def _content(store: Store) -> Content:
    chats = (*store.chats(), *store.chats(deleted=True))
    return {chat.id: (chat, store.conversation(chat.id)) for chat in chats}


def _pages(folder: Path, *names: str) -> list[int]:
    """Return the pages of these trees."""
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        query = f"SELECT pageno FROM dbstat WHERE name IN ({', '.join('?' * len(names))})"  # noqa: S608
        return [row[0] for row in connection.execute(query, names)]


def _spoil(folder: Path, pages: Iterable[int]) -> None:
    with (folder / FILE_NAME).open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * 4096)
            file.write(_chance.randbytes(4096))


def _messages(content: Content) -> int:
    return sum(len(tree.messages) for _, tree in content.values())


@pytest.mark.parametrize("names", [*((name,) for name in _DERIVED), _DERIVED], ids=lambda names: names[0][:40])
def test_damage_in_what_is_derived_is_repaired(folder: Path, content: Content, names: tuple[str, ...]) -> None:
    _spoil(folder, _pages(folder, *names))
    with closing(open_store(folder)) as store:
        assert store.was_repaired
        assert _content(store) == content
        assert len(store.search("answer 7 3")) == 1
        assert len(store.search("file7")) == 2
        assert len(store.search("chat 7")) == 1
        assert store.project("work") == Project("work", {"system_prompt": "short"}, (Attachment("a.md", "A" * 9000),))
        assert store.draft_files("id3") == (Attachment("d.md", "draft"),)
        assert store.edits("id3") == EDITS
        assert store.recall("last chat") == "id3"
    assert {path.name for path in folder.iterdir()} <= {FILE_NAME, "backups"}
    with closing(open_store(folder)) as store:
        assert not store.was_repaired


def test_damaged_index_that_is_noticed_later_is_repaired_by_the_next_start(folder: Path, content: Content) -> None:
    with closing(open_store(folder)) as store:
        _spoil(folder, _pages(folder, "message_by_time"))
        store._connection.execute("PRAGMA shrink_memory")
        with pytest.raises(DamagedHistoryError, match="start Headstart again") as told:
            store.search("answer")
    assert "btree" not in str(told.value)
    with closing(open_store(folder)) as store:
        assert store.was_repaired
        assert _content(store) == content


def _rescued(folder: Path, key: Key | None = None) -> tuple[rescue.Rescue, Content]:
    """Open a damaged history as the window does. Return the rescued content."""
    before = (folder / FILE_NAME).read_bytes()
    with pytest.raises(ReadableHistoryError) as told:
        open_store(folder, key)
    assert (folder / FILE_NAME).read_bytes() == before
    aside = rescue.adopt(folder, told.value.rescue)
    assert aside
    assert aside.read_bytes() == before
    with closing(open_store(folder, key)) as store:
        for table in ("title_words", "message_words", "file_words"):
            store._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
        assert store._connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return told.value.rescue, _content(store)


def test_messages_of_spoiled_pages_are_lost_and_no_others(folder: Path, content: Content) -> None:
    _spoil(folder, _chance.sample(_pages(folder, "message"), 4))
    found, rescued = _rescued(folder)
    assert rescued.keys() == content.keys()
    assert found.lost
    assert _messages(content) == found.messages + sum(count for _, count in found.lost)
    assert {title for title, _ in found.lost} <= {chat.title for chat, _ in content.values()}
    named = {title for title, _ in found.lost}
    for chat, tree in content.values():
        if chat.title not in named:
            assert rescued[chat.id] == (chat, tree)
        for id_, message in rescued[chat.id][1].messages.items():
            assert message.text == tree.messages[id_].text
            assert message.parent is None or message.parent in rescued[chat.id][1].messages


def test_roots_of_tables_cost_nothing(folder: Path, content: Content) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        roots = [row[0] for row in connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'")]
    _spoil(folder, roots)
    found, rescued = _rescued(folder)
    assert (found.chats, found.messages, found.lost) == (50, _messages(content), ())
    assert rescued == content


@pytest.mark.parametrize("table", ["edit", "draft_file"])
def test_root_of_a_table_costs_no_unsent_words(folder: Path, content: Content, table: str) -> None:
    edits = {id_: Edit(f"other {id_} " * 200, (Attachment("e.md", f"edit {id_} " * 200),)) for id_ in range(1, 9)}
    with closing(open_store(folder)) as store:
        store.save_edits("id7", {}, edits)
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = store._connection.execute(query, (table,)).fetchone()
    _spoil(folder, [root])
    assert _rescued(folder)[1] == content
    with closing(open_store(folder)) as store:
        assert (store.edits("id3"), store.edits("id7")) == (EDITS, edits)
        assert store.draft_files("id3") == (Attachment("d.md", "draft"),)


def test_unsent_words_for_a_lost_message_do_not_hinder_the_rescue(folder: Path, content: Content) -> None:
    with closing(open_store(folder)) as store:
        for chat, (_, tree) in content.items():
            store.save_edits(chat, store.edits(chat), {id_: Edit("other") for id_ in tree.messages})
    _spoil(folder, _chance.sample(_pages(folder, "message"), 4))
    found, rescued = _rescued(folder)
    assert found.lost
    with closing(open_store(folder)) as store:
        for chat, (_, tree) in rescued.items():
            assert store.edits(chat).keys() == tree.messages.keys()


def test_first_page_costs_no_message(folder: Path, content: Content) -> None:
    _spoil(folder, [1])
    found, rescued = _rescued(folder)
    assert (found.chats, found.messages) == (50, _messages(content))
    assert {chat: tree for chat, (_, tree) in rescued.items()} == {chat: tree for chat, (_, tree) in content.items()}


def test_everything_derived_and_a_message_page_are_damaged(folder: Path, content: Content) -> None:
    _spoil(folder, [*_pages(folder, *_DERIVED), _pages(folder, "message")[-1]])
    found, rescued = _rescued(folder)
    assert rescued.keys() == content.keys()
    assert 0 <= _messages(content) - found.messages < 30
    assert found.lost


def test_chats_that_are_lost_are_made_of_their_messages(folder: Path, content: Content) -> None:
    _spoil(folder, _pages(folder, "chat"))
    found, rescued = _rescued(folder)
    assert (found.chats, found.messages) == (50, _messages(content))
    trees = [tree for _, tree in rescued.values()]
    assert all(tree in trees for _, tree in content.values())
    assert all(chat.title.startswith("question ") for chat, _ in rescued.values())


def test_truncated_history_is_read_to_its_end(folder: Path, content: Content) -> None:
    whole = (folder / FILE_NAME).read_bytes()
    (folder / FILE_NAME).write_bytes(whole[: len(whole) // 8192 * 4096])
    found, rescued = _rescued(folder)
    assert 0 < found.messages < _messages(content)
    assert rescued.keys() <= content.keys() | {chat.id for chat, _ in rescued.values()}


def test_encrypted_history_is_rescued(folder: Path) -> None:
    open_store(folder).close()
    key = encrypt(folder, "a good passphrase")
    with closing(open_store(folder, key)) as store:
        content = _fill(store)
        (root,) = store._connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'").fetchone()
    _spoil(folder, [root])
    found, rescued = _rescued(folder, key)
    assert (found.messages, found.lost) == (_messages(content), ())
    assert rescued == content
    assert not [path for path in folder.rglob("*") if path.is_file() and b"question 7" in path.read_bytes()]


def test_deleted_chats_are_not_brought_back(folder: Path, content: Content) -> None:
    with closing(open_store(folder)) as store:
        store.destroy("id5", "id6")
    _spoil(folder, _pages(folder, "message")[:1])
    _, rescued = _rescued(folder)
    assert rescued.keys() == content.keys() - {"id5", "id6"}


@pytest.mark.parametrize(
    ("column", "value"),
    [("settings", "'{half'"), ("origins", "'[[1]]'"), ("state", "'odd'"), ("text", "CAST(x'ff41' AS TEXT)")],
)
def test_row_that_cannot_be_decoded_is_mended(
    folder: Path, content: Content, column: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(folder)) as store:
        statement = f"UPDATE message SET {column} = {value} WHERE text LIKE 'answer 7 3%'"  # noqa: S608
        store._connection.execute("DROP TRIGGER text_changed")
        store._connection.execute(statement)
        with pytest.raises(DamagedHistoryError, match="start Headstart again"):
            store.conversation("id7")
    assert "answer 7" not in caplog.text
    assert "\ufffdA" not in caplog.text
    assert (folder / DAMAGE).exists()
    if column == "text":
        with closing(open_store(folder)) as store:
            assert store.was_repaired
            texts = [message.text for message in store.conversation("id7").messages.values()]
            assert texts.count("\ufffdA") == 1
    else:
        found, rescued = _rescued(folder)
        assert found.lost == (("chat 7", 1),)
        assert rescued.keys() == content.keys()
        assert not (folder / DAMAGE).exists()


def test_history_of_an_older_version_is_rescued(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")
    folder.mkdir()
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        connection.executescript(script)
    _spoil(folder, _pages(folder, "message_by_parent"))
    with closing(open_store(folder)) as store:
        assert store.was_repaired
        assert [message.id for message in store.conversation("old").path] == [1, 3]
        assert store.tags()[0].name == "zoo"


def test_nothing_readable_is_said_plainly(folder: Path, content: Content) -> None:
    (folder / FILE_NAME).write_bytes(os.urandom(50_000))
    with pytest.raises(DamagedHistoryError, match="nothing of it can be read; restore a backup"):
        open_store(folder)
    assert not list(folder.glob("history.new*"))
    assert backups.list_backups(folder) == ()


def test_full_disk_while_rescuing_changes_nothing(
    folder: Path, content: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    _spoil(folder, _pages(folder, "message_by_parent"))
    before = (folder / FILE_NAME).read_bytes()

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rescue, "_insert", fail)
        with pytest.raises(HistoryError):
            open_store(folder)
    assert (folder / FILE_NAME).read_bytes() == before
    with closing(open_store(folder)) as store:
        assert _content(store) == content
