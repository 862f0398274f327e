"""While an input method composes, no key does anything else, in whatever box; afterwards keys act as ever."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QDialog, QLineEdit, QPlainTextEdit, QTextEdit, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from tests.ui import reach
from tests.ui.person import WAIT, ask, open_pages, texts

CTRL, SHIFT, NONE = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.NoModifier,
)
KEYS = (
    (Qt.Key.Key_Return, NONE), (Qt.Key.Key_Return, CTRL), (Qt.Key.Key_Enter, NONE), (Qt.Key.Key_Escape, NONE),
    (Qt.Key.Key_Tab, NONE), (Qt.Key.Key_Backtab, SHIFT), (Qt.Key.Key_Up, NONE), (Qt.Key.Key_Down, NONE),
    (Qt.Key.Key_Slash, NONE), (Qt.Key.Key_Space, NONE), (Qt.Key.Key_N, CTRL), (Qt.Key.Key_K, CTRL),
)  # fmt: skip


def _compose(box: QWidget, text: str) -> None:
    """Compose text without committing it."""
    QApplication.sendEvent(box, QInputMethodEvent(text, []))


def _commit(box: QWidget, text: str) -> None:
    event = QInputMethodEvent("", [])
    event.setCommitString(text)
    QApplication.sendEvent(box, event)


def _text(box: QWidget) -> str:
    return box.text() if isinstance(box, QLineEdit | QAbstractSpinBox) else box.toPlainText()  # type: ignore[attr-defined]


def _boxes(window: QWidget) -> list[QWidget]:
    """Return the boxes of a window for text or numbers."""
    return [
        each
        for each in reach.controls(window)
        if isinstance(each, QLineEdit | QPlainTextEdit | QTextEdit | QAbstractSpinBox)
        and each.isEnabled()
        and not each.isReadOnly()
    ]


def _state(app: Program) -> tuple[object, ...]:
    """Return the state that a key could change."""
    windows = [each for each in QApplication.topLevelWidgets() if each.isVisible()]
    return QApplication.focusWidget(), windows, app.window.pages.currentWidget(), app.store.chats(), texts(app)


def _check(qtbot: QtBot, app: Program, box: QWidget) -> None:
    """Compose in a box, press all keys, and commit."""
    box.window().activateWindow()
    box.setFocus()
    qtbot.waitUntil(box.hasFocus, timeout=WAIT)
    _compose(box, "ni hao")
    before, state = _text(box), _state(app)
    for key, modifiers in KEYS:
        QTest.keyClick(box, key, modifiers)
        assert _state(app) == state, (reach.told(box), key)
    assert _text(box) == before
    _commit(box, "你好")
    assert "你好" in _text(box) or before, reach.told(box)  # a field with a rule for its text takes no other


def test_no_key_acts_in_a_box_of_a_page(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    app.window.actions_by_name["find"].trigger()
    app.window.actions_by_name["panel"].setChecked(True)
    found = set[str]()
    for page in (app.window.chat, *open_pages(app)):
        app.window.show_page(page)
        QApplication.processEvents()
        for box in _boxes(app.window):
            found.add(box.accessibleName())
            _check(qtbot, app, box)
    assert {"Message", "Find in this chat", "Search chats", "Prompt", "System prompt"} <= found


@pytest.mark.parametrize("name", ["palette", "preferences", "tag", "export", "prompts", "quick", "project"])
def test_no_key_acts_in_a_box_of_a_dialog(qtbot: QtBot, app: Program, name: str) -> None:
    ask(qtbot, app, "hello")
    match name:
        case "quick":
            app.quick.ask()
        case "project":
            app.window.sidebar._new_project.click()
        case "tag":
            app.window.sidebar.ask_for_tag([app.store.chats()[0].id])
        case _:
            app.window.actions_by_name[name].trigger()
    QApplication.processEvents()
    dialogs = [each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog) and each.isVisible()]
    assert dialogs
    boxes = [box for dialog in dialogs for box in _boxes(dialog)]
    assert boxes
    for box in boxes:
        _check(qtbot, app, box)
    for dialog in dialogs:
        dialog.reject()


def test_no_key_ends_the_naming_of_a_chat_while_composing(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    app.window.activateWindow()
    app.window.actions_by_name["rename"].trigger()
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit), timeout=WAIT)
    box = QApplication.focusWidget()
    assert isinstance(box, QLineEdit)
    _check(qtbot, app, box)
    QTest.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: app.store.chats()[0].title == "你好", timeout=WAIT)


def test_enter_sends_what_was_composed_before(qtbot: QtBot, app: Program) -> None:
    box = app.window.chat.composer.edit
    app.window.activateWindow()
    box.setFocus()
    QTest.keyClicks(box, "abc")
    _compose(box, "ni hao")
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert texts(app) == []
    _commit(box, "你好")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(box, Qt.Key.Key_Return)
    assert texts(app)[0] == "abc你好"


def test_keys_act_again_when_composing_was_dropped(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    box, search = app.window.chat.composer.edit, app.window.sidebar.search
    app.window.activateWindow()
    drops: tuple[Callable[[], None], ...] = (lambda: _compose(box, ""), search.setFocus)
    for drop in drops:
        box.setFocus()
        _compose(box, "ni")
        _compose(box, "ni hao")
        assert box.placeholderText() == ""  # Qt would paint it below
        QTest.keyClick(box, Qt.Key.Key_Up)
        assert box.toPlainText() == ""
        drop()
        assert box.placeholderText() == "Ask anything"
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_Up)
        assert box.toPlainText() == "hello"
        box.clear()
