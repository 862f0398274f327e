"""Every entry of every menu once, and what menus and search do to one another."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.settings.settings_form import ChoiceBox
from tests.ui.person import WAIT, ask, texts

LAST = ("unload", "load", "delete", "quit")  # what they leave, others could not work with


@pytest.fixture
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancel all file dialogs."""
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_, **__: ([], ""))
    for name in ("getOpenFileName", "getSaveFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_, **__: ("", ""))


def entries(app: Program) -> Iterator[QAction]:
    """Return the actions in the order of the menus, except those that end something."""
    named = app.window.actions_by_name
    yield from (action for name, action in named.items() if name not in LAST)
    yield from (named[name] for name in LAST)


def choose(action: QAction) -> None:
    """Trigger an action, and close what it opens."""
    closing = QTimer(action)
    closing.timeout.connect(close_all)
    closing.start(20)
    action.trigger()
    QApplication.processEvents()
    close_all()
    closing.stop()


def close_all() -> None:
    """Close all dialogs in front of the window."""
    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, QDialog | QMenu) and widget.isVisible():
            widget.close()


def test_edit_commands_act_on_the_focused_field(qtbot: QtBot, app: Program) -> None:
    edit, named = app.window.chat.composer.edit, app.window.actions_by_name
    app.window.activateWindow()
    edit.setFocus()
    QTest.keyClicks(edit, "hello")
    named["select_all"].trigger()
    named["cut"].trigger()
    assert edit.text() == ""
    named["paste"].trigger()
    named["paste"].trigger()
    assert edit.text() == "hellohello"
    QTest.keyClick(edit, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(edit, Qt.Key.Key_X, Qt.KeyboardModifier.ControlModifier)  # by the field itself, and once
    assert edit.text() == ""
    app.window.sidebar.list.setFocus()
    named["paste"].trigger()  # where nothing can be written nothing happens
    assert app.window.sidebar.search.text() == ""


@pytest.mark.slow
@pytest.mark.usefixtures("no_files")
def test_every_entry_can_be_chosen(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    chat = app.chat_controller.session.chat.id
    for action in entries(app):
        app.chats.open(chat)
        assert action.isEnabled() or action.objectName() == "stop", action.objectName()
        choose(action)
        qtbot.waitUntil(lambda: not (app.window.isVisible() and app.chat_controller.session.is_answering), timeout=WAIT)
    assert not app.window.isVisible()


@pytest.mark.slow
@pytest.mark.usefixtures("no_files")
def test_every_entry_can_be_chosen_before_there_is_a_chat(qtbot: QtBot, app: Program) -> None:
    for action in entries(app):
        choose(action)
    assert not app.window.isVisible()


def test_repeated_answer_is_explained(qtbot: QtBot, app: Program) -> None:
    app.settings.change(temperature=0.0)
    ask(qtbot, app, "hello")
    app.window.actions_by_name["regenerate"].trigger()
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
    notice = app.window.chat.notice
    assert "temperature 0" in notice.text
    assert notice.property("severity") != "danger"


def test_another_chat_clears_the_search(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "an apple")
    first = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "a pear")
    app.window.sidebar.search.setText("apple")
    qtbot.waitUntil(lambda: bool(app.window.sidebar.list.model().rowCount() > 1), timeout=WAIT)
    app.window.sidebar.list.chosen.emit(first, next(app.store.message_hits("apple")))
    assert not app.window.chat.find_bar.isHidden()
    app.window.sidebar.new_requested.emit()
    assert app.window.chat.find_bar.isHidden()


def test_chosen_hit_stays_selected(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "an apple")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "a pear")
    app.window.sidebar.search.setText("apple")
    listing = app.window.sidebar.list
    # A heading, the title, the question, the answer.
    qtbot.waitUntil(lambda: listing.model().rowCount() == 4, timeout=WAIT)
    chosen = listing.model().index(3, 0)
    listing.setCurrentIndex(chosen)
    listing.clicked.emit(chosen)
    assert texts(app)[0] == "an apple"
    assert listing.currentIndex() == chosen


def test_truncated_choice_ends_with_an_ellipsis(qtbot: QtBot) -> None:
    box = ChoiceBox(None)  # type: ignore[arg-type]
    qtbot.addWidget(box)
    box.addItem("a name that is longer than the box is wide")
    box.resize(90, 30)
    cut = box.grab().toImage()
    box.setItemText(0, "a name that is not the same behind the place where it is cut")
    assert box.grab().toImage() == cut
    box.resize(600, 30)
    whole = box.grab().toImage()
    box.setItemText(0, "a name that is longer than the box is wide")
    assert box.grab().toImage() != whole
