"""Stories of the sidebar: searching, deleting with undo, renaming, pinning."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QLineEdit,
)
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, shown, texts


def test_search_finds_a_word_and_opens_the_message(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "tell of the walrus")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "tell of the crab")
    listing = app.window.sidebar.list
    app.window.sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: listing.model().index(0, 0).data() == "3 results", timeout=WAIT)  # title, question, answer
    listing.clicked.emit(listing.model().index(3, 0))
    assert texts(app)[0] == "tell of the walrus"
    assert app.window.chat.find_bar.field.text() == "walrus"
    app.window.sidebar.search.clear()
    qtbot.waitUntil(lambda: listing.model().index(0, 0).data() == "Today", timeout=WAIT)
    assert listing.model().rowCount() == 3  # a heading and two chats


def test_deleting_a_chat_can_be_undone(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "keep me")
    app.window.actions_by_name["delete"].trigger()
    assert not app.store.chats()
    assert not shown(app)
    app.window.sidebar._undo._button.click()
    assert texts(app) == ["keep me", "You wrote: keep me"]


def test_a_title_is_changed_in_the_list(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "dull title")
    qtbot.waitUntil(lambda: app.window.sidebar.list.model().rowCount() == 2, timeout=WAIT)
    app.window.actions_by_name["rename"].trigger()
    editor = app.window.sidebar.list.findChild(QLineEdit)
    assert editor is not None
    editor.setText("Bright title")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: app.window.chat._title.text() == "Bright title", timeout=WAIT)
    assert app.store.chats()[0].title == "Bright title"


def test_a_pinned_chat_stands_first(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "older")
    app.window.actions_by_name["pin"].trigger()
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "newer")
    items = app.window.sidebar.list.model()
    assert [items.index(row, 0).data() for row in range(items.rowCount())] == ["Pinned", "older", "Today", "newer"]
