"""The history on disk: what is saved is read back, and nothing that was saved is lost."""

import dataclasses
import itertools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from headstart.chat.conversation import AnswerOutcome, Attachment, Chat, Conversation, Edit, Run, State
from headstart.chat.history import backups
from headstart.chat.history import store as chat_store
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.reader import Group, open_reader
from headstart.chat.history.store import UNSENT, Store, new_id, open_store
from headstart.errors import HistoryError, UnwritableHistoryError
from tests.chat.history.trees import histories
from tests.source.source_tree import ROOT
from tests.support.rights import usual_rights

BEGUN = Conversation().ask("why").begin_answer("pair", {"temperature": 0.5})


@given(history=histories(8))
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
def test_any_change_is_read_back_unchanged(store: Store, history: list[Conversation]) -> None:
    chat = store.create_chat()
    for before, after in itertools.pairwise(history):
        store.save(chat.id, before, after)
    assert store.conversation(chat.id) == history[-1]
    store.save(chat.id, history[-1], history[len(history) // 2])
    assert store.conversation(chat.id) == history[len(history) // 2]
    assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_unstorable_characters_are_replaced(store: Store) -> None:
    chat = store.create_chat("half \ud83d", settings={"a": "\ud83d"})
    store.save(chat.id, Conversation(), Conversation().ask("pair \ud83d\ude00, half \ud83d"))
    assert store.conversation(chat.id).messages[1].text == "pair 😀, half \ufffd"
    assert store.chats()[0].title == "half \ufffd"


def test_chat_keeps_its_fields(store: Store) -> None:
    imported = Chat(new_id(), "first", 1.0, 2.0, archived=True, settings={"temperature": 0.5})
    chat = store.add(imported, Conversation())
    store.rename(chat.id, "second")
    store.pin(chat.id, pinned=True)
    store.create_tag("home", [chat.id])
    store.create_tag("Anton", [chat.id])
    store.save_draft(chat.id, "not yet")
    store.save_settings(chat.id, {"seed": 3})
    (read,) = store.chats(archived=True)
    expected = dataclasses.replace(
        chat, title="second", pinned=True, tags=("Anton", "home"), draft="not yet", settings={"seed": 3}
    )
    assert read == expected == store.chat(chat.id)
    assert store.chats() == ()


def test_files_stay_with_the_draft_and_go_with_the_chat(store: Store) -> None:
    chat, files = store.create_chat(), [Attachment("b.md", "B"), Attachment("a.md", "A \ud83d")]
    store.save_draft_files(chat.id, files)
    store.save_draft_files(None, [Attachment("new.md", "N")])
    assert store.draft_files(chat.id) == (Attachment("b.md", "B"), Attachment("a.md", "A \ufffd"))
    assert store.draft_files(None) == (Attachment("new.md", "N"),)
    store.save_draft_files(None, [])
    assert store.draft_files(None) == ()
    store.delete(chat.id)
    store.purge()
    assert store._connection.execute("SELECT count(*) FROM draft_file").fetchone()[0] == 0
    with pytest.raises(HistoryError, match="no longer exists"):
        store.save_draft_files(chat.id, files)


def test_edits_stay_with_their_messages_and_go_with_them(store: Store) -> None:
    chat, files = store.create_chat(), (Attachment("b.md", "B"), Attachment("a.md", "A"))
    asked = Conversation().ask("why").ask("and how")
    store.save(chat.id, Conversation(), asked)
    store.save_draft_files(chat.id, [Attachment("draft.md", "D")])
    first = {1: Edit("where", files), 2: Edit("half \ud83d", is_open=False)}
    store.save_edits(chat.id, {}, first)
    assert store.edits(chat.id) == {1: Edit("where", files), 2: Edit("half \ufffd", is_open=False)}
    second = {1: Edit("whence", files), 2: Edit("when", files[1:])}
    store.save_edits(chat.id, first, second)
    assert store.edits(chat.id) == second
    assert store.draft_files(chat.id) == (Attachment("draft.md", "D"),)
    assert store.chats()[0].draft == ""
    store.save_edits(chat.id, second, {2: second[2]})
    assert store.edits(chat.id) == {2: second[2]}
    store.save(chat.id, asked, asked.remove(2))
    assert store.edits(chat.id) == {}
    store.save_edits(chat.id, {2: second[2]}, {})  # its message is gone
    assert _rows_of_edits(store) == (0, 1)
    with pytest.raises(HistoryError):
        store.save_edits(chat.id, {}, {2: second[2]})


def _rows_of_edits(store: Store) -> tuple[int, int]:
    """Return the numbers of edits, and of files of drafts and edits."""
    count = "SELECT (SELECT count(*) FROM edit), (SELECT count(*) FROM draft_file)"
    edits, files = store._connection.execute(count).fetchone()
    return edits, files


def test_edits_go_with_the_chat_and_not_with_its_project(store: Store) -> None:
    chat, edits = store.create_chat(), {1: Edit("where", (Attachment("a.md", "A"),))}
    store.save(chat.id, Conversation(), Conversation().ask("why"))
    store.save_edits(chat.id, {}, edits)
    store.move([chat.id], "work")
    store.delete_project("work")
    store.delete(chat.id)
    assert store.edits(chat.id) == edits
    store.purge()
    assert store.edits(chat.id) == {}
    assert _rows_of_edits(store) == (0, 0)
    with pytest.raises(HistoryError, match="no longer exists"):
        store.save_edits(chat.id, {}, edits)


def test_chat_is_created_with_its_first_messages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    new, files = Chat(new_id(), "", 0.0, 0.0, draft="why"), (Attachment("notes.txt", "all of it"),)
    store.remember(UNSENT, "why")
    store.save_draft_files(None, files)
    with monkeypatch.context() as patch:
        patch.setattr("headstart.chat.history.database.message_row", full)
        with pytest.raises(HistoryError):
            store.begin(new, BEGUN)
    assert (store.chats(), store.recall(UNSENT), store.draft_files(None)) == ((), "why", files)
    store.begin(new, BEGUN)
    (chat,) = store.chats()
    assert (chat.id, chat.draft, store.conversation(new.id)) == (new.id, "", BEGUN)
    assert chat.created == chat.updated > 0
    assert (store.recall(UNSENT), store.draft_files(None)) == (None, ())


def full(*_: object, **__: object) -> dict[str, object]:
    raise sqlite3.OperationalError("database or disk is full")


def test_chats_are_sorted_by_their_last_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_store, "_now", itertools.count(1.0).__next__)
    chats = [store.create_chat(title) for title in ("a", "b", "c")]
    store.save(chats[0].id, Conversation(), Conversation().ask("hello"))
    assert [chat.title for chat in store.chats()] == ["a", "c", "b"]
    store.save_draft(chats[1].id, "a draft is no change")
    assert [chat.title for chat in store.chats()] == ["a", "c", "b"]


def test_pinned_and_newest_chats_are_listed(store: Store) -> None:
    ids = [store.create_chat(title).id for title in ("a", "b", "c", "d")]
    store.pin(ids[0], pinned=True)
    store.create_tag("home", ids[1:3])
    assert [chat.title for chat in store.chats(limit=2)] == ["d", "a"]
    assert [chat.title for chat in store.chats(tag="Home", limit=1)] == ["c"]
    assert [chat.title for chat in store.chats(tag="home")] == ["c", "b"]
    store.delete(ids[3])
    assert store.titles() == tuple((id_, title) for id_, title in zip(ids[2::-1], "cba", strict=True))


def test_deleted_chat_can_be_restored_until_purged(store: Store) -> None:
    chat = store.create_chat("a")
    store.save(chat.id, Conversation(), BEGUN)
    store.delete(chat.id)
    assert store.chats() == ()
    assert [item.id for item in store.chats(deleted=True)] == [chat.id]
    assert store.purge(older_than=3600) == 0
    store.restore(chat.id)
    assert store.conversation(chat.id) == BEGUN
    store.delete(chat.id)
    assert store.purge() == 1
    assert store.chat(chat.id) is None
    assert store.conversation(chat.id) == Conversation()
    assert store._connection.execute("SELECT count(*) FROM message").fetchone()[0] == 0


def test_missing_chat_is_an_error(store: Store) -> None:
    with pytest.raises(HistoryError, match="no longer exists"):
        store.save("gone", Conversation(), BEGUN)
    with pytest.raises(HistoryError, match="no longer exists"):
        store.rename("gone", "x")


def test_text_being_written_survives_and_is_marked(store: Store, folder: Path) -> None:
    chat = store.create_chat()
    store.save(chat.id, Conversation(), BEGUN)
    store.save_partial(chat.id, 2, "beca", [Run(4, "draft")], "hm")
    other = open_store(folder)
    message = other.conversation(chat.id).messages[2]
    other.close()
    assert (message.text, message.origins, message.thinking) == ("beca", (Run(4, "draft"),), "hm")
    assert message.state is State.INTERRUPTED


def test_walk_during_an_answer_keeps_its_text(store: Store) -> None:
    chat = store.create_chat()
    again = BEGUN.finish(2, AnswerOutcome("first")).regenerate(2)
    store.save(chat.id, Conversation(), again)
    store.save_partial(chat.id, 3, "second so far")
    store.save(chat.id, again, again.switch_version(3, -1))
    read = store.conversation(chat.id)
    assert read.messages[3].text == "second so far"
    assert read.path[-1].text == "first"


def test_late_text_does_not_overwrite_a_finished_answer(store: Store) -> None:
    chat = store.create_chat()
    done = BEGUN.finish(2, AnswerOutcome("because"))
    store.save(chat.id, Conversation(), done)
    store.save_partial(chat.id, 2, "beca")
    assert store.conversation(chat.id) == done


def test_fork_is_a_new_chat(store: Store) -> None:
    chat = store.create_chat("a")
    store.save(chat.id, Conversation(), BEGUN)
    fork = store.add(dataclasses.replace(chat, id=new_id(), title="b", tags=("zoo",)), BEGUN.fork(1))
    assert store.conversation(fork.id).path[0].text == "why"
    assert store.conversation(chat.id) == BEGUN
    assert store.tags() == (Group("zoo", 1),)


def test_reader_cannot_write(store: Store, folder: Path) -> None:
    reader = open_reader(folder)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._connection.execute("DELETE FROM chat")
    reader.close()
    assert store.chats() == ()


@pytest.mark.skipif(os.name != "posix", reason="modes of files are of POSIX")
def test_history_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    store = open_store(folder)
    store.create_chat("secret")
    backups.keep_up(store.path.parent, store.key)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    store.close()
    assert len(modes) >= 5
    assert set(modes.values()) == {0o600, 0o700}
    assert not [path for path, mode in modes.items() if mode == 0o700 and not path.is_dir()]


@pytest.mark.parametrize("closed", [".", FILE_NAME], ids=["folder", "file"])
def test_history_that_may_not_be_read_stays_as_it_is(store: Store, folder: Path, closed: str) -> None:
    chat = store.create_chat("secret")
    store.close()
    rights = (folder / closed).stat().st_mode
    (folder / closed).chmod(0)
    with usual_rights(), pytest.raises(HistoryError, match="make the folder readable and writable for you"):
        open_store(folder)
    (folder / closed).chmod(rights)
    with closing(open_store(folder)) as again:
        assert again.chats() == (chat,)


def test_full_disk_loses_only_the_last_change(store: Store, folder: Path) -> None:
    chat = store.create_chat()
    store.save(chat.id, Conversation(), BEGUN)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    bigger = BEGUN.finish(2, AnswerOutcome("x" * 500_000))
    with pytest.raises(HistoryError, match=r"disk is full.*free some space"):
        store.save(chat.id, BEGUN, bigger)
    assert store.conversation(chat.id) == BEGUN
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.save(chat.id, BEGUN, bigger)
    assert store.conversation(chat.id) == bigger


def test_busy_history_is_an_error(store: Store, folder: Path) -> None:
    store._connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(folder / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(HistoryError, match="Another program"):
        store.create_chat()
    other.close()
    assert store.create_chat().title == ""


def test_read_only_history_is_an_error(store: Store) -> None:
    chat = store.create_chat("kept")
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(HistoryError, match="make the folder"):
        store.rename(chat.id, "lost")
    assert store.chats() == (chat,)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(HistoryError, match="cannot be used"):
        open_store(tmp_path / "file" / "history")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_unwritable_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HistoryError, match="make the folder"):
        open_store(tmp_path / "history")
    tmp_path.chmod(0o700)


def _chats(store: Store, *titles: str) -> list[str]:
    return [store.create_chat(title).id for title in titles]


def _tags(store: Store, chat: str) -> tuple[str, ...]:
    found = store.chat(chat)
    assert found
    return found.tags


def test_chat_has_several_tags(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    store.create_tag("work", [a, b])
    store.create_tag("home", [a])
    store.create_tag("empty")
    assert store.tags() == (Group("empty", 0), Group("home", 1), Group("work", 2))
    assert (_tags(store, a), _tags(store, b)) == (("home", "work"), ("work",))
    store.untag("work", [a])
    assert _tags(store, a) == ("home",)


def test_tag_names_ignore_case_and_spaces(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    assert store.create_tag("  My \n work ", [a]) == "My work"
    store.create_tag("my WORK", [b])
    assert store.tags() == (Group("My work", 2),)
    assert len(store.create_tag("x" * 99)) == 40
    with pytest.raises(HistoryError, match="needs a name"):
        store.create_tag(" \t ")


def test_tag_cannot_take_the_name_of_another(store: Store) -> None:
    (a,) = _chats(store, "a")
    store.create_tag("work", [a])
    store.create_tag("home")
    assert store.rename_tag("work", "Work") == "Work"
    with pytest.raises(HistoryError, match="already is a tag “home”"):
        store.rename_tag("Work", "home")
    with pytest.raises(HistoryError, match="no tag “gone”"):
        store.rename_tag("gone", "x")
    assert _tags(store, a) == ("Work",)


def test_removed_tag_leaves_its_chats_and_can_be_restored(store: Store) -> None:
    chats = _chats(store, "a", "b", "c")
    store.create_tag("work", chats[:2])
    had = store.delete_tag("work")
    assert sorted(had) == sorted(chats[:2])
    assert store.tags() == ()
    assert len(store.chats()) == 3
    store.create_tag("work", had)
    assert _tags(store, chats[1]) == ("work",)


def test_restored_chat_has_its_tags(store: Store) -> None:
    a, b = _chats(store, "a", "b")
    store.create_tag("work", [a, b])
    store.delete(a, b)
    assert store.tags() == (Group("work", 0),)
    store.restore(a, b)
    assert store.tags() == (Group("work", 2),)
    store.delete(a)
    store.purge()
    assert store.tags() == (Group("work", 1),)


def test_search_stays_within_a_tag(store: Store) -> None:
    a, b = _chats(store, "tiger a", "tiger b")
    for chat in (a, b):
        store.save(chat, Conversation(), Conversation().ask("a tiger sleeps?!"))
    store.create_tag("zoo", [a])
    for query in ("tiger", "?!"):
        assert {hit.chat.id for hit in store.search(query)} == {a, b}
        assert {(hit.chat.id, hit.chat.tags) for hit in store.search(query, tag="zoo")} == {(a, ("zoo",))}


def test_interrupted_search_ends_early(store: Store) -> None:
    (chat,) = _chats(store, "talk")
    tree = Conversation()
    for number in range(300):
        tree = tree.ask(f"needle {number}")
    store.save(chat, Conversation(), tree)
    hits = store.message_hits("needle", limit=300)
    next(hits)
    store.interrupt()
    assert list(hits) == []
    assert len(store.search("needle", limit=300)) == 300


WRITE_FOREVER = """
import sys
from contextlib import closing
from pathlib import Path
from headstart.chat.conversation import Conversation, AnswerOutcome
from headstart.chat.history.store import open_store
store = open_store(Path(sys.argv[1]))
(chat,) = store.chats()
tree = store.conversation(chat.id)
while True:
    begun = tree.ask("question " + str(len(tree.messages))).begin_answer("pair")
    store.save(chat.id, tree, begun)
    for length in range(1, 4):
        store.save_partial(chat.id, begun.last.id, "word " * length)
        print("partial", begun.last.id, length, flush=True)
    tree = begun.finish(begun.last.id, AnswerOutcome("answer " + str(begun.last.id)))
    store.save(chat.id, begun, tree)
    print("done", begun.last.id, flush=True)
"""


@pytest.mark.slow
def test_kill_at_any_moment_loses_nothing_saved(folder: Path) -> None:
    first = open_store(folder)
    chat = first.create_chat("killed")
    first.close()
    for round_ in range(12):
        lines = _killed_after(folder, 0.02 * round_)
        store = open_store(folder)
        tree = store.conversation(chat.id)
        store.close()
        _holds_what_was_reported(tree, lines)


def _killed_after(folder: Path, seconds: float) -> list[list[str]]:
    """Return the lines of a child that prints after each save, and is killed some seconds after the first."""
    variables = os.environ | {"PYTHONPATH": str(ROOT / "app")}
    command = [sys.executable, "-c", WRITE_FOREVER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)
        child.kill()
        rest = child.stdout.read()
    return [line.split() for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]


def _holds_what_was_reported(tree: Conversation, lines: list[list[str]]) -> None:
    assert lines
    for kind, id_, *length in lines:
        message = tree.messages[int(id_)]
        written = message.text.count("word ")
        if kind == "done":
            assert (message.text, message.state) == (f"answer {id_}", State.COMPLETE)
        else:
            assert message.state in (State.COMPLETE, State.INTERRUPTED)
            assert message.state is State.COMPLETE or written >= int(length[0])
    unfinished = [message for message in tree.messages.values() if message.state is State.STREAMING]
    assert unfinished == []


@pytest.mark.skipif(os.name != "posix", reason="an open file can be moved")
def test_disk_that_was_gone_is_written_again(tmp_path: Path) -> None:
    store = open_store(tmp_path / "history")
    store.create_chat("before")
    (tmp_path / "history").rename(tmp_path / "gone")
    with pytest.raises(UnwritableHistoryError, match="history"):
        store.create_chat("meanwhile")
    shutil.copytree(tmp_path / "gone", tmp_path / "history")
    store.create_chat("after")
    store.close()
    with closing(open_store(tmp_path / "history")) as again:
        assert {chat.title for chat in again.chats()} == {"before", "after"}
