"""Saving on a full disk, with a killed window, a damaged history or a second start."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from headstart import paths
from headstart.chat import standby
from headstart.chat.conversation import Chat, Conversation, Edit, State
from headstart.chat.history import backups
from headstart.chat.history.database import FILE_NAME, INDEX_FAULT
from headstart.chat.history.migrations import NEWEST
from headstart.chat.history.reader import open_reader
from headstart.chat.history.store import UNSENT, Store, open_store
from headstart.errors import HistoryError
from headstart.ui.history.maintenance import Recovery
from headstart.ui.program import Program
from headstart.ui.sidebar.chats_controller import LAST_CHAT
from headstart.ui.transcript.message import MessageAction
from tests.ui.person import WAIT, ask, begin, stored, texts, write

Open = Callable[..., Program]


def _fill_disk(store: Store, *, full: bool) -> None:
    """Let the file grow no further, or again."""
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages if full else 2**30}")


def test_answer_on_a_full_disk_is_saved_later(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.001)
    begin(qtbot, app, "toy: words 1500")
    said: list[str] = []
    app.chats.events.error_occurred.connect(lambda sentence, _cause: said.append(sentence))
    _fill_disk(app.store, full=True)
    qtbot.waitUntil(lambda: bool(said) and not app.chat_controller.session.is_answering, timeout=WAIT)
    assert app.window.chat.unsaved.text == said[0]
    assert len(said) == 1
    assert said[0].startswith("The disk is full")
    assert "tried again" in said[0]
    answer = texts(app)[-1]
    assert len(answer.split()) == 1500
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    app.window.sidebar.list.chosen.emit(chat, None)
    assert texts(app)[-1] == answer
    assert stored(app)[-1][0] != answer
    _fill_disk(app.store, full=False)
    with qtbot.waitSignal(app.chats.events.saved, timeout=WAIT):
        app.chat_controller.session._retry.timeout.emit()
    assert stored(app)[-1] == (answer, State.COMPLETE)
    assert (app.window.chat.notice.text, app.window.chat.unsaved.text) == ("Everything is saved again.", "")


@pytest.mark.parametrize("is_edit", [False, True], ids=["draft", "edit"])
def test_text_typed_on_a_full_disk_is_saved_later(qtbot: QtBot, app: Program, *, is_edit: bool) -> None:
    ask(qtbot, app, "first question")
    chat, composer = app.chat_controller.session.chat.id, app.window.chat.composer
    if is_edit:
        app.chat_controller.edit_last()
    with qtbot.waitSignal(app.chats.events.error_occurred, timeout=WAIT):
        _fill_disk(app.store, full=True)
        composer.set_text("typed on a full disk " * 5_000)
    words = composer.text()
    app.window.sidebar.new_requested.emit()
    app.window.sidebar.list.chosen.emit(chat, None)
    assert composer.text() == words
    assert app.store.edits(chat) == {}
    _fill_disk(app.store, full=False)
    with qtbot.waitSignal(app.chats.events.saved, timeout=WAIT):
        app.chat_controller.session._retry.timeout.emit()
    saved = app.store.chat(chat)
    assert saved
    expected: tuple[str, dict[int, Edit]] = ("", {1: Edit(words)}) if is_edit else (words, {})
    assert (saved.draft, app.store.edits(chat)) == expected


def test_edit_on_a_read_only_disk_is_in_the_copy(
    qtbot: QtBot, app: Program, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    ask(qtbot, app, "first question")
    app.chat_controller.edit_last()
    session = app.chat_controller.session
    with qtbot.waitSignal(app.chats.events.still_unsaved, timeout=WAIT):
        app.store._connection.execute("PRAGMA query_only = 1")
        app.window.chat.composer.set_text("other question")
    outcome, store = _reopened(history)  # this window goes on, as if it had been killed
    with closing(store):
        assert store.edits(session.chat.id) == {1: Edit("other question")}
    assert outcome
    app.store._connection.execute("PRAGMA query_only = 0")


def test_draft_of_a_new_chat_on_a_read_only_disk_stays(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first question")
    chat, composer = app.chat_controller.session.chat.id, app.window.chat.composer
    app.window.sidebar.new_requested.emit()
    with qtbot.waitSignal(app.chats.events.error_occurred, timeout=WAIT):
        app.store._connection.execute("PRAGMA query_only = 1")
        composer.set_text("not asked yet")
    app.window.sidebar.list.chosen.emit(chat, None)
    assert composer.text() == ""
    app.window.sidebar.new_requested.emit()
    assert composer.text() == "not asked yet"
    app.store._connection.execute("PRAGMA query_only = 0")
    with qtbot.waitSignal(app.chats.events.saved, timeout=WAIT):
        app.chat_controller.session._retry.timeout.emit()
    assert app.store.recall(UNSENT) == "not asked yet"


def test_quitting_on_a_read_only_disk_keeps_what_is_unsaved(
    qtbot: QtBot, app: Program, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    ask(qtbot, app, "first question")
    chat = app.chat_controller.session.chat.id
    with qtbot.waitSignal(app.chats.events.error_occurred, timeout=WAIT):
        app.store._connection.execute("PRAGMA query_only = 1")
        app.window.chat.composer.set_text("not asked yet")
    app.window.close()
    recovery = Recovery(history)
    store = recovery.open()
    assert store
    with closing(store):
        saved = store.chat(chat)
        assert saved
        assert saved.draft == "not asked yet"
    assert recovery.outcome == "Your chats can be saved in their folder again, and what is new is in it now."
    assert not list(tmp_path.glob("headstart-chats-*"))


def _reopened(history: Path) -> tuple[str, Store]:
    """Open a history as the next start does; return what that says, too."""
    recovery = Recovery(history)
    store = recovery.open()
    assert store
    return recovery.outcome, store


@pytest.mark.parametrize("is_begun", [True, False], ids=["chat", "new chat"])
def test_crash_on_a_read_only_disk_keeps_what_was_typed(
    qtbot: QtBot, app: Program, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_begun: bool
) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    ask(qtbot, app, "first question")
    if not is_begun:
        app.window.sidebar.new_requested.emit()
    session = app.chat_controller.session
    with qtbot.waitSignal(app.chats.events.error_occurred, timeout=WAIT):
        app.store._connection.execute("PRAGMA query_only = 1")
        app.window.chat.composer.set_text("not asked")
    for text in ("not asked", "not asked yet"):
        app.window.chat.composer.set_text(text)
        app.chat_controller.composing.save_draft()
        with qtbot.waitSignal(app.chats.events.still_unsaved, timeout=WAIT):
            session._retry.timeout.emit()
    outcome, store = _reopened(history)  # this window goes on, as if it had been killed
    with closing(store):
        chat = store.chat(session.chat.id)
        assert (chat.draft if chat else store.recall(UNSENT)) == "not asked yet"
    assert outcome == "Your chats can be saved in their folder again, and what is new is in it now."
    assert not list(tmp_path.glob("headstart-chats-*"))
    app.store._connection.execute("PRAGMA query_only = 0")


def test_copy_goes_once_all_is_saved(
    qtbot: QtBot, app: Program, history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    ask(qtbot, app, "first question")
    session = app.chat_controller.session
    with qtbot.waitSignal(app.chats.events.still_unsaved, timeout=WAIT):
        app.store._connection.execute("PRAGMA query_only = 1")
        app.window.chat.composer.set_text("not asked yet")
    assert list(tmp_path.glob("headstart-chats-*"))
    app.store._connection.execute("PRAGMA query_only = 0")
    with qtbot.waitSignal(app.chats.events.saved, timeout=WAIT):
        session._retry.timeout.emit()
    assert not list(tmp_path.glob("headstart-chats-*"))
    app.window.close()
    outcome, store = _reopened(history)
    with closing(store):
        chat = store.chat(session.chat.id)
        assert chat
        assert chat.draft == "not asked yet"
    assert outcome == ""


def test_next_message_saves_unsaved_text(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.001)
    begin(qtbot, app, "toy: words 1500")
    _fill_disk(app.store, full=True)
    qtbot.waitUntil(lambda: app.chat_controller.session.has_unsaved_answer, timeout=WAIT)
    write(app, "too early")
    qtbot.waitUntil(lambda: "The disk is full" in app.window.chat.notice.text, timeout=WAIT)
    assert app.window.chat.composer.text() == "too early"
    _fill_disk(app.store, full=False)
    app.window.chat.composer.clear()
    ask(qtbot, app, "go on")
    assert [len(text.split()) for text, _ in stored(app)] == [3, 1500, 2, 4]


def test_closing_saves_unsaved_text(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.001)
    begin(qtbot, app, "toy: words 1500")
    _fill_disk(app.store, full=True)
    qtbot.waitUntil(lambda: app.chat_controller.session.has_unsaved_answer, timeout=WAIT)
    _fill_disk(app.store, full=False)
    again = open_program()
    assert len(texts(again)[-1].split()) == 1500


def test_saved_first_question_is_the_chat_to_reopen(
    qtbot: QtBot, app: Program, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(qtbot, app, "first")
    app.window.sidebar.new_requested.emit()
    found: list[tuple[str | None, tuple[str, ...]]] = []
    begun = app.store.begin

    def kill(chat: Chat, conversation: Conversation) -> None:
        begun(chat, conversation)
        with closing(open_reader(history)) as left:  # what another window would find if this one ended here
            last = left.recall(LAST_CHAT)
            found.append((last, tuple(message.text for message in left.conversation(last or "").path)))

    monkeypatch.setattr(app.store, "begin", kill)
    ask(qtbot, app, "second")
    assert found == [(app.chat_controller.session.chat.id, ("second", ""))]


@pytest.fixture
def damaged(headstart_home: Path) -> Path:
    """A history whose file is broken, with a backup of one chat."""
    folder = headstart_home / "history"
    store = open_store(folder)
    chat = store.create_chat("kept")
    store.save(chat.id, Conversation(), Conversation().ask("question " * 500))
    backups.keep_up(store.path.parent, store.key)
    store.create_chat("later")
    store.close()
    (folder / FILE_NAME).write_bytes(b"SQLite format 3\x00" + b"\xff" * 9000)
    return folder


def _answer(*words: str, before: Callable[[], object] = list, defaults: list[str] | None = None) -> list[str]:
    """Press these buttons in the next questions, one each, and collect the questions.

    `defaults` fills with the buttons that Enter would have pressed.
    """
    asked: list[str] = []
    timer = QTimer(QApplication.instance(), interval=20)

    def act() -> None:
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox):
            asked.append(box.text())
            if defaults is not None:
                defaults.extend(button.text() for button in box.buttons() if button is box.defaultButton())
            before()
            wanted = words[len(asked) - 1] if len(asked) <= len(words) else "Quit"
            next(button for button in box.buttons() if button.text().startswith(wanted)).click()
        if len(asked) >= len(words):
            timer.stop()

    timer.timeout.connect(act)
    timer.start()
    return asked


def test_damaged_history_is_restored_from_the_newest_backup(qtbot: QtBot, damaged: Path) -> None:
    asked = _answer("Restore the Backup of ")
    recovery = Recovery(damaged)
    store = recovery.open()
    assert store
    assert [chat.title for chat in store.chats()] == ["kept"]
    store.close()
    assert "is damaged" in asked[0]
    (aside,) = damaged.glob("damaged-*.db")
    assert recovery.outcome.endswith(f" {aside}.")


def test_damaged_backup_gives_an_empty_history(qtbot: QtBot, damaged: Path) -> None:
    (backup,) = backups.list_backups(damaged)
    backup.path.write_bytes((damaged / FILE_NAME).read_bytes())
    asked = _answer("Restore the Backup of ", "Start with an Empty History")
    recovery = Recovery(damaged)
    store = recovery.open()
    assert store
    assert store.chats() == ()
    store.close()
    assert len(asked) == 2
    assert "The backup of " in asked[1]
    assert "is damaged too." in asked[1]
    assert backup.path.exists()
    assert list(damaged.glob("damaged-*.db"))
    assert "empty" in recovery.outcome


def _spoil_tree(folder: Path, name: str) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    with (folder / FILE_NAME).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


@pytest.fixture
def partly(headstart_home: Path) -> Path:
    """A history without a backup, whose second chat has an unreadable message."""
    folder = headstart_home / "history"
    with closing(open_store(folder)) as store:
        for title in ("first", "second"):
            chat = store.create_chat(title)
            store.save(chat.id, Conversation(), Conversation().ask(f"question of the {title} " * 900))
        pages = "SELECT pageno FROM dbstat WHERE name = 'message' AND pagetype = 'overflow' ORDER BY pageno DESC"
        (page, *_) = [row[0] for row in store._connection.execute(pages)][1:]
    with (folder / FILE_NAME).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)
    return folder


def test_readable_chats_are_opened_by_default_and_lost_ones_named(qtbot: QtBot, partly: Path) -> None:
    before, defaults = (partly / FILE_NAME).read_bytes(), list[str]()
    asked = _answer("Open What Can Be Read", defaults=defaults)
    recovery = Recovery(partly)
    store = recovery.open()
    assert store
    texts = {chat.title: [each.text[:25] for each in store.conversation(chat.id).path] for chat in store.chats()}
    store.close()
    assert texts == {"first": ["question of the first que"], "second": []}
    assert "1 message in 2 chats" in asked[0]
    assert "in second (1)" in asked[0]
    assert "btree" not in asked[0]
    assert defaults == ["Open What Can Be Read"]
    (aside,) = partly.glob("damaged-*.db")
    assert aside.read_bytes() == before
    assert recovery.outcome.endswith(f" {aside}.")
    assert not recovery.is_whole


def test_default_button_never_leaves_the_chats_behind(qtbot: QtBot, damaged: Path) -> None:
    for backup in backups.list_backups(damaged):
        backup.path.unlink()
    defaults: list[str] = []
    asked = _answer("Quit", defaults=defaults)
    assert Recovery(damaged).open() is None
    assert asked[0].startswith("The file with your chats is damaged, and nothing of it can be read.")
    assert defaults == ["Quit"]


def test_damage_that_costs_no_chat_is_only_told(qtbot: QtBot, headstart_home: Path) -> None:
    folder = headstart_home / "history"
    with closing(open_store(folder)) as store:
        store.create_chat("walrus")
    _spoil_tree(folder, "message_words_config")
    recovery = Recovery(folder)
    repaired = recovery.open()
    assert repaired
    assert [hit.chat.title for hit in repaired.search("walrus")] == ["walrus"]
    repaired.close()
    assert recovery.outcome.endswith("No chat is lost.")
    assert recovery.is_whole
    again = Recovery(folder)
    opened = again.open()
    assert opened
    opened.close()
    assert again.outcome == ""


def test_damaged_history_can_be_left_alone(qtbot: QtBot, damaged: Path) -> None:
    before = (damaged / FILE_NAME).read_bytes()
    _answer("Quit")
    assert Recovery(damaged).open() is None
    assert (damaged / FILE_NAME).read_bytes() == before
    assert not list(damaged.glob("damaged-*.db"))


def test_newer_history_is_refused_with_the_remedy(qtbot: QtBot, headstart_home: Path) -> None:
    folder = headstart_home / "history"
    open_store(folder).close()
    with closing(sqlite3.connect(folder / FILE_NAME)) as history:
        history.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = (folder / FILE_NAME).read_bytes()
    asked = _answer("Quit")
    assert Recovery(folder).open() is None
    assert "newer version" in asked[0]
    assert "update Headstart" in asked[0]
    assert (folder / FILE_NAME).read_bytes() == before


def test_unwritable_history_is_opened_as_a_copy(
    qtbot: QtBot, headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = headstart_home / "history"
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where the folder should be", encoding="utf-8")
    monkeypatch.setattr(standby, "places", lambda: iter([tmp_path]))
    recovery = Recovery(folder)
    store = recovery.open()
    assert store
    assert recovery.is_standby
    assert str(folder) in recovery.outcome
    assert str(store.path.parent) in recovery.outcome
    store.create_chat("walrus")
    store.close()
    folder.unlink()
    recovery = Recovery(folder)
    store = recovery.open()
    assert store
    assert (recovery.is_standby, recovery.is_whole, store.path.parent) == (False, True, folder)
    assert [chat.title for chat in store.chats()] == ["walrus"]
    store.close()


def test_unreadable_history_can_be_retried(qtbot: QtBot, headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standby, "places", lambda: iter(()))
    folder = headstart_home / "history"
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where the folder should be", encoding="utf-8")
    asked = _answer("Try Again", before=folder.unlink)
    store = Recovery(folder).open()
    assert store
    store.close()
    assert len(asked) == 1
    assert "cannot be used" in asked[0]


def test_damaged_index_is_rebuilt_at_the_next_start(qtbot: QtBot, headstart_home: Path) -> None:
    folder = headstart_home / "history"
    store = open_store(folder)
    for number in range(50):
        chat = store.create_chat(f"chat {number}")
        store.save(chat.id, Conversation(), Conversation().ask(f"needle walrus{number} " * 30))
    store._connection.execute("UPDATE message_words_data SET block = zeroblob(4) WHERE id > 10")
    with pytest.raises(HistoryError, match="no chat is lost"):
        store.search("walrus7")
    store.close()
    assert (folder / INDEX_FAULT).exists()
    store = open_store(folder)
    assert len(store.search("walrus7")) == 1
    store.close()
    assert not (folder / INDEX_FAULT).exists()


def test_full_disk_during_backup_does_not_hinder_the_start(qtbot: QtBot, app: Program, history: Path) -> None:
    ask(qtbot, app, "hello")
    (history / "backups").write_text("in the way", encoding="utf-8")
    with qtbot.waitSignal(app.maintenance.error_occurred, timeout=WAIT) as told:
        app.maintenance.begin()
    assert told.args[0].startswith("The chat history in ")
    assert "cannot be used" in told.args[0]


def test_write_ahead_log_is_checkpointed_in_the_background(qtbot: QtBot, app: Program, history: Path) -> None:
    file = history / FILE_NAME
    ask(qtbot, app, "wombats?")
    assert b"wombats" not in file.read_bytes()  # but in the log of changes
    app.maintenance.begin()
    qtbot.waitUntil(lambda: b"You wrote: wombats" in file.read_bytes(), timeout=WAIT)


def test_first_chat_is_backed_up_in_the_background(qtbot: QtBot, app: Program, history: Path) -> None:
    app.maintenance._timer.timeout.emit()
    assert backups.list_backups(history) == ()
    ask(qtbot, app, "hello")
    app.maintenance._timer.timeout.emit()
    qtbot.waitUntil(lambda: bool(backups.list_backups(history)), timeout=WAIT)


def test_deleted_message_leaves_no_word_after_a_pause(
    qtbot: QtBot, app: Program, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(qtbot, app, "hello")
    ask(qtbot, app, "zqxjvkw")
    cache = paths.kept_prompts() / "model" / app.chat_controller.session.chat.id
    cache.mkdir(parents=True)
    for message in (4, 3):
        app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, message)
    app.maintenance._timer.timeout.emit()
    app.maintenance._pool.waitForDone()
    qtbot.waitUntil(lambda: not app.maintenance._is_erased, timeout=WAIT)  # more may be deleted
    monkeypatch.setattr("headstart.ui.history.maintenance._QUIET_SECONDS", 0.0)
    for backup in backups.list_backups(history):
        backup.path.unlink()  # they have it until others take their places
    app.maintenance._timer.timeout.emit()
    qtbot.waitUntil(lambda: app.maintenance._is_erased, timeout=WAIT)
    assert not [path.name for path in history.rglob("*") if path.is_file() and b"zqxjvkw" in path.read_bytes()]
    assert cache.exists()
    app.window.close()
    assert not cache.exists()


def test_chat_that_is_deleted_during_the_work_is_erased_right_after_it(
    qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, may_end = list[float](), threading.Semaphore(0)

    def care(_path: Path, _key: object, quiet_seconds: float, _task: object) -> bool:
        waits.append(quiet_seconds)
        return may_end.acquire()

    monkeypatch.setattr("headstart.ui.history.maintenance._care", care)
    app.maintenance.begin()
    qtbot.waitUntil(lambda: len(waits) == 1, timeout=WAIT)
    app.maintenance.erase()
    may_end.release(2)
    qtbot.waitUntil(lambda: waits[1:] == [0.0], timeout=WAIT)
