"""The keyboard alone suffices, and a screen reader has a name and a role for everything."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui import actions
from headstart.ui.dialogs import CommandPalette
from headstart.ui.program import Program
from tests.ui import reach
from tests.ui.person import WAIT, ask

DIALOGS = ("preferences", "about", "palette")


@pytest.fixture
def full(qtbot: QtBot, app: Program) -> Program:
    """The window with everything open that can be, and the keyboard."""
    ask(qtbot, app, "hello **there**")
    for name in ("panel", "live", "origins"):
        app.window.actions_by_name[name].setChecked(True)
    app.settings.change(speculation="fixed", num_assistant_tokens=4, assistant_confidence_threshold=0.5, context=2048)
    app.window.chat.composer.set_text("more")
    app.window.actions_by_name["find"].trigger()
    app.window.resize(1600, 1000)
    app.window.activateWindow()
    qtbot.waitUntil(
        lambda: app.loader.is_ready and not app.loader.status, timeout=WAIT
    )  # another context, another load
    QApplication.processEvents()
    return app


def _pages(app: Program) -> Iterator[QWidget]:
    for index in range(app.window.pages.count()):
        page = app.window.pages.widget(index)
        assert page
        app.window.show_page(page)
        QApplication.processEvents()
        yield page


@pytest.mark.slow
def test_tab_leads_to_every_control_of_every_page(full: Program) -> None:
    for page in _pages(full):
        assert not reach.unreached(full.window), type(page).__name__
        assert len(reach.walked(full.window)) > 25


@pytest.mark.parametrize("name", DIALOGS)
def test_tab_leads_to_every_control_of_every_dialog(app: Program, name: str) -> None:
    dialog = _opened(app, name)
    assert not reach.unreached(dialog)
    assert not reach.nameless(dialog)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_tab_goes_as_one_reads(full: Program) -> None:
    full.window.show_page(full.window.chat)
    QApplication.processEvents()
    full.window.chat.composer.setFocus()
    order = reach.walked(full.window)
    window = full.window
    parts = (window.sidebar, window.chat.find_bar, window.chat.transcript, window.chat.composer, window.panel)
    firsts = [next(at for at, widget in enumerate(order) if part.isAncestorOf(widget)) for part in parts]
    turned = firsts[3:] + firsts[:3]  # it began in the composer
    assert turned == sorted(turned)
    texts = [widget.accessibleName() for widget in order if widget.accessibleName().startswith("Message from")]
    assert texts == ["Message from You", "Message from toy"]
    QTest.keyClick(order[0], Qt.Key.Key_Backtab)
    assert QApplication.focusWidget() is order[-1]


def test_what_gets_the_keyboard_comes_into_view(full: Program) -> None:
    full.window.resize(900, 400)
    QApplication.processEvents()
    for widget in reach.walked(full.window):
        if full.window.panel.isAncestorOf(widget):
            widget.setFocus()
            full.window.focusNextPrevChild(True)  # noqa: FBT003 - Qt's own signature
            focused = QApplication.focusWidget()
            assert focused
            assert not focused.visibleRegion().isEmpty()


def test_the_palette_is_moved_in_from_its_field(app: Program) -> None:
    palette = _opened(app, "palette")
    assert isinstance(palette, CommandPalette)
    first = palette.list.currentItem()
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentItem() is not first


def test_the_palette_says_that_nothing_is_called_so(app: Program) -> None:
    palette = _opened(app, "palette")
    assert isinstance(palette, CommandPalette)
    palette.field.setText("zebra <b>")
    label = next(label for label in palette.findChildren(QLabel) if "zebra <b>" in label.text())
    assert label.isVisible()
    assert not palette.list.isVisible()
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    palette.field.clear()
    assert palette.list.isVisible()
    assert not label.isVisible()


def test_every_control_has_a_name_and_a_role(full: Program) -> None:
    for page in _pages(full):
        assert not reach.nameless(full.window), type(page).__name__


def test_every_command_is_in_a_menu_with_its_words(app: Program) -> None:
    offered: set[QAction] = set()
    for menu in app.window.menuBar().actions():
        inside = menu.menu()
        assert inside
        offered |= set(inside.actions())  # type: ignore[attr-defined]
    assert set(app.window.actions_by_name.values()) <= offered
    assert all(actions.title(action) for action in app.window.actions_by_name.values())


def test_faults_are_found(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    field, seen, unseen = QLineEdit(window), QPushButton("two", window), QToolButton(window)
    unseen.setAccessibleName("three")
    unseen.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    assert reach.walked(window) == [field, seen]
    assert reach.unreached(window) == ["QToolButton 'three' in QWidget"]
    assert reach.nameless(window) == ["QLineEdit '' in QWidget"]


def _opened(app: Program, name: str) -> QDialog:
    app.window.actions_by_name[name].trigger()
    dialog = next(child for child in app.window.findChildren(QDialog) if child.isVisible())
    dialog.activateWindow()
    QApplication.processEvents()
    return dialog
