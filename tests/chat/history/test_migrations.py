"""Old, newer, broken and missing histories: each is opened, or refused with a sentence and a way out."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headstart.chat import search
from headstart.chat.conversation import Attachment, Conversation, Edit, Run, State, ToolCall
from headstart.chat.history import backups, database, migrations
from headstart.chat.history.database import DAMAGE, FILE_NAME
from headstart.chat.history.reader import Group
from headstart.chat.history.store import Store, open_store
from headstart.errors import DamagedHistoryError, HistoryError

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")


def _write(folder: Path, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    connection = sqlite3.connect(folder / FILE_NAME)
    connection.executescript(script)
    connection.close()
    return folder


def _filled(folder: Path, chats: int = 40) -> Store:
    store = open_store(folder)
    for number in range(chats):
        chat = store.create_chat(f"chat {number}")
        store.save(chat.id, Conversation(), Conversation().ask(f"question {number} " * 50))
    return store


def _break(folder: Path) -> None:
    """Damage the first page of the messages, which the start of a large history does not check."""
    connection = sqlite3.connect(folder / FILE_NAME)
    (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'message'").fetchone()
    connection.close()
    with (folder / FILE_NAME).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


def test_version_1_is_migrated(tmp_path: Path) -> None:
    store = open_store(_write(tmp_path, VERSION_1))
    (chat,) = store.chats()
    assert (chat.id, chat.title, chat.pinned, chat.tags) == ("old", "老虎 and others", True, ("zoo",))
    tree = store.conversation("old")
    assert [message.state for message in tree.messages.values()] == [State.COMPLETE, State.COMPLETE, State.INTERRUPTED]
    assert tree.messages[1].attachments == (Attachment("a.txt", "A"),)
    assert tree.messages[2].origins == (Run(10, "draft"),)
    assert tree.messages[1].passages == ()
    assert tree.path[-1].id == 3
    assert [hit.message for hit in store.search("老虎")] == [None, 1]
    assert [hit.message for hit in store.search("sle")] == [3, 2]
    assert [hit.message for hit in store.search("s")] == [3, 2]
    assert [(hit.message, hit.file) for hit in store.search("a")] == [(None, None), (1, "a.txt")]
    assert store.tags() == (Group("zoo", 1),)
    assert (chat.project, store.projects()) == ("", ())
    store.move([chat.id], "Zoo")
    assert store.chats(project="zoo")[0].tags == ("zoo",)
    store.close()


@pytest.mark.parametrize(
    ("stored", "thinking", "text"),
    [
        ("<think>a</think>b", "a", "b"),
        ("\n<thinking>\na\n\nb\n</thinking>\n\n\nc\n", "a\n\nb", "c\n"),
        ("a\nb\n</think>\n\nc", "a\nb", "c"),
        ("<think>\n\n</think>\n\nx", "", "x"),
        ("<think>still", "still", ""),
        ("<think>a</think>b\n<think>c</think>d", "a", "b\n<think>c</think>d"),
        ("Say `</think>` or\n```\n</think>\n```", "", "Say `</think>` or\n```\n</think>\n```"),
        ("x <think>y</think>", "", "x <think>y</think>"),
    ],
)
def test_thinking_in_the_text_becomes_its_own(tmp_path: Path, stored: str, thinking: str, text: str) -> None:
    change = f"""UPDATE message SET text = '{stored}', origins = '[[{len(stored)}, "draft"]]' WHERE id = 2"""  # noqa: S608
    with closing(open_store(_write(tmp_path, VERSION_1 + change))) as store:
        message = store.conversation("old").messages[2]
        assert (message.thinking, message.text) == (thinking, text)
        assert message.origins == ((Run(len(text), "draft"),) if text else ())


def test_figures_and_search_follow_thinking_out_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thinking, text = "<think>\nA lion\n</think>\n\n", "It sleeps. I checked."
    stats = json.dumps({"rounds": 2, "round_list": [[20, "draft", 2, 1], [len(thinking + text) - 20, "target", 0, 0]]})
    origins = json.dumps([[len(thinking) + 2, "draft"], [len(text) - 2, "target"]])
    call = {"at": len(thinking) + 10, "name": "look", "arguments": "{}", "result": "yes", "failed": False}
    change = f"UPDATE message SET text = '{thinking}{text}', origins = '{origins}', stats = '{stats}'"  # noqa: S608
    change += " WHERE id = 2"
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:9])
        patch.setattr(migrations, "NEWEST", 9)
        open_store(_write(tmp_path, VERSION_1 + change)).close()
    _write(tmp_path, f"UPDATE message SET calls = '{json.dumps([call])}' WHERE id = 2")  # noqa: S608
    with closing(open_store(tmp_path)) as store:
        message = store.conversation("old").messages[2]
        assert (message.thinking, message.text) == ("A lion", text)
        assert message.origins == (Run(2, "draft"), Run(len(text) - 2, "target"))
        assert message.stats == {"rounds": 2, "round_list": [[len(text), "target", 0, 0]]}
        assert message.calls == (ToolCall(10, "look", "{}", "yes", thought_at=6),)
        assert [hit.message for query in ("lion", "checked", "think") for hit in store.search(query)] == [2, 2]
        store._connection.execute("INSERT INTO message_words (message_words) VALUES ('integrity-check')")


def test_files_of_drafts_stay_those_of_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:14])
        patch.setattr(migrations, "NEWEST", 14)
        open_store(_write(tmp_path, VERSION_1)).close()
    _write(tmp_path, "INSERT INTO draft_file (chat, name, text) VALUES (1, 'a.md', 'A'), (NULL, 'b.md', 'B')")
    with closing(open_store(tmp_path)) as store:
        store.save_edits("old", {}, {1: Edit("other", (Attachment("c.md", "C"),))})
        assert store.draft_files("old") == (Attachment("a.md", "A"),)
        assert store.draft_files(None) == (Attachment("b.md", "B"),)
        assert store.edits("old")[1].files == (Attachment("c.md", "C"),)


def test_migration_keeps_the_old_file(tmp_path: Path) -> None:
    open_store(_write(tmp_path, VERSION_1)).close()
    (backup,) = backups.list_backups(tmp_path)
    connection = sqlite3.connect(backup.path)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT state FROM message WHERE id = 3").fetchone() == ("streaming",)
    connection.close()


def test_empty_history_is_not_backed_up(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert backups.keep_up(store.path.parent, store.key) is None
    store.close()
    assert backups.list_backups(tmp_path) == ()


def test_failed_migration_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, VERSION_1)
    broken = (*migrations.STEPS[:1], (*migrations.STEPS[1], "CREATE NONSENSE"))
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", broken)
        with pytest.raises(HistoryError, match="could not be used"):
            open_store(tmp_path)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name LIKE '%words%'").fetchall() == []
    connection.close()
    store = open_store(tmp_path)
    assert len(store.search("老虎")) == 2
    store.close()


def test_newer_history_is_refused_and_unchanged(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    _write(tmp_path, f"PRAGMA user_version = {migrations.NEWEST + 1}")
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(HistoryError, match="newer version of Headstart"):
        open_store(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_every_version_leads_to_the_same_schema(tmp_path: Path) -> None:
    def schema(folder: Path) -> list[tuple[str, str]]:
        store = open_store(folder)
        query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%words\\_%' ESCAPE '\\' ORDER BY name"
        found = [(name, " ".join(str(sql).split())) for name, sql in store._connection.execute(query)]
        store.close()
        return found

    assert schema(_write(tmp_path / "old", VERSION_1)) == schema(tmp_path / "new")


def test_index_of_another_tokenizer_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    store.create_chat("tiger")
    store.close()
    monkeypatch.setattr(search, "VERSION", search.VERSION + 1)
    monkeypatch.setattr(search, "words", lambda text: text.replace("tiger", "lion"))
    store = open_store(tmp_path)
    query = "SELECT count(*) FROM title_words WHERE title_words MATCH 'lion'"
    assert store._connection.execute(query).fetchone()[0] == 1
    assert store.recall("words") == str(search.VERSION)
    store.close()


def test_broken_file_is_replaced_by_a_backup(tmp_path: Path) -> None:
    store = _filled(tmp_path)
    backup = backups.keep_up(store.path.parent, store.key)
    store.create_chat("later")
    store.close()
    history = tmp_path / FILE_NAME
    content = bytearray(history.read_bytes())
    content[4096 : len(content) // 2] = b"\xa5" * (len(content) // 2 - 4096)
    history.write_bytes(content)
    with pytest.raises(DamagedHistoryError, match="is damaged"):
        open_store(tmp_path)
    assert backups.list_backups(tmp_path) == (backup,)
    aside = backups.restore(tmp_path, backup)
    assert aside.read_bytes() == bytes(content)
    store = open_store(tmp_path)
    assert len(store.chats()) == 40
    assert len(store.search('"question 7"')) == 1
    store.close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000, None])
def test_truncated_history_is_refused(tmp_path: Path, content: bytes | None) -> None:
    _filled(tmp_path).close()
    content = content or (tmp_path / FILE_NAME).read_bytes()[:20_000]
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(DamagedHistoryError, match="is damaged"):
        open_store(tmp_path)
    aside = backups.restore(tmp_path, None)
    assert aside.read_bytes() == content
    store = open_store(tmp_path)
    assert store.chats() == ()
    store.close()


def test_later_damage_is_the_same_error(tmp_path: Path) -> None:
    _filled(tmp_path).close()
    with closing(open_store(tmp_path)) as store:
        (chat, *_) = store.chats()
        _break(tmp_path)
        store._connection.execute("PRAGMA shrink_memory")
        with pytest.raises(DamagedHistoryError, match="is damaged; start Headstart again"):
            store.conversation(chat.id)


def test_malformed_row_is_damage(tmp_path: Path) -> None:
    store = _filled(tmp_path, 1)
    (chat,) = store.chats()
    store._connection.execute("UPDATE message SET settings = '{half'")
    with pytest.raises(DamagedHistoryError, match="is damaged"):
        store.conversation(chat.id)
    store.close()


def test_only_the_newest_backups_are_kept(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.create_chat("a")
    made = [backups.back_up(store._connection, tmp_path, str(number)) for number in range(backups.MAX_COPIES + 2)]
    kept = {backup.path for backup in backups.list_backups(tmp_path)}
    assert kept == {backup.path for backup in made[2:]}
    assert backups.keep_up(store.path.parent, store.key) is None
    store.close()


def test_history_that_has_doubled_is_backed_up_again(tmp_path: Path) -> None:
    with closing(_filled(tmp_path, 1)) as store:
        assert backups.keep_up(tmp_path, store.key)
        database.settle(store.path, None)
        assert not backups.is_due(tmp_path)
        chat = store.create_chat("long")
        store.save(chat.id, Conversation(), Conversation().ask("a long text " * 100_000))
        database.settle(store.path, None)
        assert backups.is_due(tmp_path)
        assert backups.keep_up(tmp_path, store.key)
        assert not backups.is_due(tmp_path)


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history that counts as large, of forty chats."""
    for module in (database, backups):
        monkeypatch.setattr(module, "READ_AT_START", 0)
    _filled(tmp_path).close()
    return tmp_path


def test_large_history_is_checked_before_its_backup(large: Path) -> None:
    (copied,) = [backups.keep_up(large, None)]
    assert copied == backups.list_backups(large)[0]
    assert backups.keep_up(large, None) is None
    copied.path.unlink()
    _break(large)
    open_store(large).close()
    with pytest.raises(DamagedHistoryError, match="is damaged; start Headstart again"):
        backups.keep_up(large, None)
    assert backups.list_backups(large) == ()
    assert (large / DAMAGE).exists()
    with pytest.raises(DamagedHistoryError):
        open_store(large)
    backups.restore(large, None)
    open_store(large).close()
    assert not (large / DAMAGE).exists()


def test_cancelled_backup_leaves_nothing(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "_PAGES", 1)
    looks = iter([True] * 3)
    assert backups.keep_up(large, None, lambda: next(looks, False)) is None
    assert [path.name for path in (large / "backups").iterdir()] == []
    assert backups.is_due(large)


def test_changes_during_a_backup_are_in_the_next_one(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "_PAGES", 1)
    store = open_store(large)

    def write() -> bool:
        store.remember("looks", str(int(store.recall("looks") or 0) + 1))
        return True

    copied = backups.keep_up(large, None, write)
    assert copied
    assert int(store.recall("looks") or 0) > 3
    connection = sqlite3.connect(copied.path)
    assert connection.execute("SELECT count(*) FROM chat").fetchone() == (40,)
    assert connection.execute("SELECT count(*) FROM memo WHERE name = 'looks'").fetchone() == (0,)
    connection.close()
    store.close()


def test_large_history_has_fewer_backups(large: Path) -> None:
    store = open_store(large)
    for number in range(backups.MAX_COPIES):
        backups.back_up(store._connection, large, str(number))
    assert len(backups.list_backups(large)) == backups.MAX_COPIES_OF_LARGE
    store.close()
