"""Stories of the search: in a thread of its own, the newest query wins, keys alone suffice, the hit is shown."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.chat import search
from headstart.chat.conversation import Attachment, ChatMessage, Conversation, Role
from headstart.chat.history.store import Store, open_store
from headstart.ui.program import Program
from headstart.ui.sidebar.chats_controller import ChatSearch, SearchResults
from tests.ui.person import WAIT, ask, chat_rows, click_chat, texts


def _fill(store: Store, *texts: str, title: str = "talk") -> str:
    messages = {id_: ChatMessage(id_, id_ - 1 or None, Role.USER, text, 1.0) for id_, text in enumerate(texts, start=1)}
    chat = store.create_chat(title)
    store.save(chat.id, Conversation(), Conversation(messages, {each.parent: each.id for each in messages.values()}))
    return chat.id


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A history to search."""
    opened = open_store(tmp_path / "history")
    _fill(opened, *(f"needle {number}, walrus?!" for number in range(120)))
    yield opened
    opened.close()


@pytest.fixture
def searching(qtbot: QtBot, store: Store) -> Iterator[ChatSearch]:
    """A search in that history."""
    made = ChatSearch(store.path.parent)
    yield made
    made.close()


def test_search_gives_partial_and_final_results(qtbot: QtBot, searching: ChatSearch) -> None:
    seen: list[SearchResults] = []
    searching.found.connect(seen.append)
    searching.start("needle")
    qtbot.waitUntil(lambda: bool(seen) and seen[-1].is_complete, timeout=WAIT)
    assert [len(findings.hits) for findings in seen] == [25, 50, 75, 100, 100]
    assert [findings.is_complete for findings in seen] == [False, False, False, False, True]


def test_newest_query_interrupts_the_one_before(
    qtbot: QtBot, searching: ChatSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, is_replaced, where = threading.Event(), threading.Event(), []

    def slow(text: str, literal: str) -> bool:
        where.append(threading.get_ident())
        started.set()
        assert is_replaced.wait(WAIT / 1000)
        return literal in text

    monkeypatch.setattr(search, "holds", slow)
    seen: list[SearchResults] = []
    searching.found.connect(seen.append)
    searching.start("!?!")
    assert started.wait(WAIT / 1000)
    searching.start("walrus", tag="none")
    searching.start("walrus")
    is_replaced.set()
    qtbot.waitUntil(lambda: bool(seen) and seen[-1].is_complete, timeout=WAIT)
    assert {findings.query for findings in seen} == {"walrus"}
    assert len(where) < 60  # of 120 messages: it was interrupted
    assert threading.get_ident() not in where


def test_search_error_is_reported(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"not a database at all" * 100)
    searching = ChatSearch(tmp_path)
    with qtbot.waitSignal(searching.error_occurred, timeout=WAIT) as told:
        searching.start("x")
    assert "is damaged" in told.args[0]
    searching.close()


def test_search_opens_the_message_with_the_hit_marked(qtbot: QtBot, app: Program) -> None:
    far = [f"message {number}\n\n{'filling ' * 80}" for number in range(60)]
    far[7] += "the walrus sleeps"
    _fill(app.store, *far, title="long talk")
    ask(qtbot, app, "tell of the crab")
    sidebar = app.window.sidebar
    sidebar.search.setFocus()
    QTest.keyClicks(sidebar.search, "walr")
    qtbot.waitUntil(lambda: chat_rows(app)[:1] == ["1 result"], timeout=WAIT)
    row = sidebar.list.model().index(1, 0)
    QTest.mouseClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=sidebar.list.visualRect(row).center())
    assert texts(app)[0].startswith("message 0")
    transcript = app.window.chat.transcript
    assert app.window.chat.find_bar._count.text() == "1 of 1"
    hit = transcript.view(7)
    assert hit.mapTo(transcript, hit.rect().bottomLeft()).y() >= 0
    assert hit.mapTo(transcript, hit.rect().topLeft()).y() < transcript.height()
    sidebar.search.clear()
    qtbot.waitUntil(lambda: chat_rows(app)[:1] == ["Today"], timeout=WAIT)


def test_every_word_of_a_query_is_marked(qtbot: QtBot, app: Program) -> None:
    _fill(app.store, "crab", "a walrus and no crab", "Walruses sleep; a cat does not", title="talk")
    sidebar = app.window.sidebar
    sidebar.search.setText('"walrus" crab')
    qtbot.waitUntil(lambda: chat_rows(app) == ["1 result", "talk"], timeout=WAIT)
    sidebar.list.open_first()
    assert app.window.chat.find_bar._count.text() == "2 of 3"
    transcript = app.window.chat.transcript
    assert [(each.message, each.start, each.end) for each in transcript._matches] == [(0, 0, 4), (1, 2, 8), (1, 16, 20)]
    app.window.chat.find_bar._next.click()
    assert app.window.chat.find_bar._count.text() == "3 of 3"


def test_search_works_by_keyboard(qtbot: QtBot, app: Program) -> None:
    for title in ("first walrus", "second walrus"):
        app.window.sidebar.new_requested.emit()
        ask(qtbot, app, title)
    sidebar = app.window.sidebar
    QTest.keyClick(app.window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert app.window.focusWidget() is sidebar.search
    QTest.keyClicks(sidebar.search, "first")
    QTest.keyClick(sidebar.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(app)[0] == "first walrus", timeout=WAIT)
    sidebar.search.setFocus()
    sidebar.search.selectAll()
    QTest.keyClicks(sidebar.search, "walrus")
    qtbot.waitUntil(lambda: chat_rows(app)[:1] == ["6 results"], timeout=WAIT)
    QTest.keyClick(sidebar.search, Qt.Key.Key_Down)
    assert sidebar.list.hasFocus()
    assert sidebar.list.currentIndex().row() == 1
    QTest.keyClick(sidebar.list, Qt.Key.Key_Down)
    QTest.keyClick(sidebar.list, Qt.Key.Key_Up)
    QTest.keyClick(sidebar.list, Qt.Key.Key_Return)
    assert texts(app)[0] == "second walrus"


def test_chinese_is_found_by_single_characters(qtbot: QtBot, app: Program) -> None:
    _fill(app.store, "我昨天看见老虎了", title="动物园")
    sidebar = app.window.sidebar
    for query in "虎物":
        sidebar.search.setText(query)
        qtbot.waitUntil(lambda: chat_rows(app) == ["1 result", "动物园"], timeout=WAIT)
        sidebar.search.setText("狼")
        qtbot.waitUntil(lambda: chat_rows(app) == ["0 results"], timeout=WAIT)
    assert sidebar._empty.text() == "Nothing found for “狼”."
    QApplication.processEvents()
    assert sidebar._empty.geometry().bottom() > 0.8 * sidebar.height()  # so the words stand at its top, not amid it


def test_cleared_search_shows_all_chats(qtbot: QtBot, app: Program) -> None:
    _fill(app.store, "walrus", title="talk")
    sidebar = app.window.sidebar
    sidebar.search.setText("walrus")
    sidebar._search_now()
    sidebar.search.clear()
    sidebar._search_now()
    qtbot.wait(100)
    assert chat_rows(app) == ["Today", "talk"]


def test_results_follow_new_messages(qtbot: QtBot, app: Program) -> None:
    app.window.sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: chat_rows(app) == ["0 results"], timeout=WAIT)
    ask(qtbot, app, "walrus")
    qtbot.waitUntil(lambda: chat_rows(app) == ["3 results", "walrus", "walrus", "walrus"], timeout=WAIT)
    click_chat(app, "walrus")
    assert texts(app)[0] == "walrus"


def _attach(app: Program, *files: Attachment) -> None:
    chat = app.store.create_chat("report")
    app.store.save(chat.id, Conversation(), Conversation().ask("read this crab", files))
    app.chats.refresh()


def _marked_in_files(app: Program) -> list[str]:
    """Return the highlights in the files of the first message."""
    view = app.window.chat.transcript.view(0)
    text = view._unfolded
    assert text
    found = text._highlighter._matches
    return [text.document().toPlainText()[start:end] for start, end in found]


def test_hit_in_an_attachment_opens_it(qtbot: QtBot, app: Program) -> None:
    lines = "".join(f"line {number} of the zoo\n" for number in range(4000))
    _attach(app, Attachment("a.txt", "nothing"), Attachment("zoo.txt", lines + "a Walrus and a crab\n" + lines))
    sidebar = app.window.sidebar
    sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: chat_rows(app) == ["1 result", "report"], timeout=WAIT)
    row = sidebar.list.model().index(1, 0)
    assert "zoo.txt" in str(row.data(Qt.ItemDataRole.AccessibleTextRole))
    assert "zoo.txt" in str(row.data(Qt.ItemDataRole.ToolTipRole))
    assert not sidebar.list.grab().isNull()
    QTest.mouseClick(sidebar.list.viewport(), Qt.MouseButton.LeftButton, pos=sidebar.list.visualRect(row).center())
    assert app.window.chat.find_bar._count.text() == "1 of 1"
    assert _marked_in_files(app) == ["Walrus"]
    transcript = app.window.chat.transcript
    (match,) = transcript._matches
    place = transcript.view(0).rect_of(match.start, match.file)
    assert 0 <= transcript.view(0).mapTo(transcript, place.center().toPoint()).y() < transcript.height()


def test_find_in_chat_walks_through_files_and_text(qtbot: QtBot, app: Program) -> None:
    far = "x\n" * 20_000
    _attach(app, Attachment("a.txt", "crab\n" + far + "crab"), Attachment("b.txt", "a crab"))
    click_chat(app, "report")
    bar = app.window.chat.find_bar
    bar.open_find()
    bar.field.setText("crab")
    assert bar._count.text() == "1 of 4"
    assert _marked_in_files(app) == ["crab", "crab"]
    bar._next.click()
    assert _marked_in_files(app) == ["crab", "crab"]
    assert "…" in (app.window.chat.transcript.view(0)._unfolded or pytest.fail("folded")).document().toPlainText()
    bar._next.click()
    bar._next.click()
    assert bar._count.text() == "4 of 4"
    bar._next.click()
    assert bar._count.text() == "1 of 4"
    bar.close_find()
    assert _marked_in_files(app) == []
