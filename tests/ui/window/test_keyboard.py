"""The keyboard alone suffices, and a screen reader has a name and a role for everything."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QLabel,
    QPushButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from headstart.ui import actions
from headstart.ui.engine_request import installed_model
from headstart.ui.local_server.server_page import ServerState, ServerView
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from headstart.ui.window.dialogs import CommandPalette
from tests.stand_ins.model_folders import write_model
from tests.ui import reach
from tests.ui.models.test_models import exporter
from tests.ui.person import WAIT, ask, begin, open_pages, shown

DIALOGS = ("preferences", "about", "palette")


@pytest.fixture
def full(qtbot: QtBot, app: Program) -> Program:
    """The window with all its parts and the focus."""
    ask(qtbot, app, "hello **there**")
    for name in ("panel", "live", "origins"):
        app.window.actions_by_name[name].setChecked(True)
    next(each for each in app.window.panel.findChildren(QAbstractButton) if each.text() == "More").click()
    app.settings.change(speculation="fixed", num_assistant_tokens=4, assistant_confidence_threshold=0.5, context=2048)
    app.window.chat.composer.set_text("more")
    app.window.actions_by_name["find"].trigger()
    app.window.resize(1600, 1000)
    app.window.activateWindow()
    # Another context is another load.
    qtbot.waitUntil(lambda: app.loader.is_ready and not app.loader.status, timeout=WAIT)
    QApplication.processEvents()
    return app


def _pages(app: Program) -> Iterator[QWidget]:
    for page in (app.window.chat, *open_pages(app)):
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


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_focus_is_seen_everywhere_in_a_chat(full: Program, theme: str) -> None:
    full.settings.change(theme=theme)
    full.window.show_page(full.window.chat)
    QApplication.processEvents()
    assert not reach.unmarked(full.window)


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_focus_is_seen_everywhere_in_the_preferences(app: Program, theme: str) -> None:
    app.settings.change(theme=theme)
    assert not reach.unmarked(_opened(app, "preferences"))


def test_tab_follows_the_reading_order(full: Program) -> None:
    full.window.show_page(full.window.chat)
    QApplication.processEvents()
    full.window.chat.composer.setFocus()
    order = reach.walked(full.window)
    window = full.window
    parts = (window.sidebar, window.chat.find_bar, window.chat.transcript, window.chat.composer, window.panel)
    firsts = [next(at for at, widget in enumerate(order) if part.isAncestorOf(widget)) for part in parts]
    turned = firsts[3:] + firsts[:3]  # it began in the composer
    assert turned == sorted(turned)
    names = [widget.accessibleName() for widget in order]
    assert [name for name in names if name.startswith("Message from")] == ["Message from You", "Message from toy"]
    assert names[names.index("Message from You") + 1] == "Copy message"  # which stands before it
    QTest.keyClick(order[0], Qt.Key.Key_Backtab)
    assert QApplication.focusWidget() is order[-1]


def test_focused_control_scrolls_into_view(full: Program) -> None:
    full.window.resize(900, 400)
    QApplication.processEvents()
    for widget in reach.walked(full.window):
        if full.window.panel.isAncestorOf(widget):
            widget.setFocus()
            full.window.focusNextPrevChild(True)  # noqa: FBT003 - Qt's own signature
            focused = QApplication.focusWidget()
            assert focused
            assert not focused.visibleRegion().isEmpty()


def test_palette_is_navigated_from_its_field(app: Program) -> None:
    palette = _opened(app, "palette")
    assert isinstance(palette, CommandPalette)
    first = palette.list.currentItem()
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentItem() is not first


def test_palette_says_that_nothing_matches(app: Program) -> None:
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


def test_every_command_is_in_a_menu(app: Program) -> None:
    offered: set[QAction] = set()
    for menu in app.window.menuBar().actions():
        inside = menu.menu()
        assert inside
        offered |= set(inside.actions())  # type: ignore[attr-defined]
    assert set(app.window.actions_by_name.values()) <= offered
    assert all(actions.title(action) for action in app.window.actions_by_name.values())


def _opened(app: Program, name: str) -> QDialog:
    app.window.actions_by_name[name].trigger()
    dialog = next(child for child in app.window.findChildren(QDialog) if child.isVisible())
    dialog.activateWindow()
    QApplication.processEvents()
    return dialog


__all__ = ("exporter",)
Open = Callable[..., Program]
Exporter = Callable[[int], None]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """The library's folder."""
    return headstart_home / "models"


def button(part: QWidget, name: str) -> QPushButton:
    """Return the visible button with this name."""
    found = part.findChildren(QPushButton)
    return next(each for each in found if name in (each.text(), each.accessibleName()) and each.isVisible())


def press(app: Program, pressed: QAbstractButton) -> None:
    """Press a button by keyboard."""
    app.window.activateWindow()
    QApplication.processEvents()
    pressed.setFocus()
    assert pressed.hasFocus()
    QTest.keyClick(pressed, Qt.Key.Key_Space)
    QApplication.processEvents()


def keyboard(app: Program) -> QWidget | None:
    return app.window.focusWidget()


def test_getting_a_model_leads_to_cancel(qtbot: QtBot, exporter: Exporter, open_program: Open) -> None:
    exporter(30)
    app = open_program(find=installed_model, loaded=False)
    page = app.window.models
    first = button(page.welcome, "Get SmolLM2 135M Instruct")
    press(app, first)
    assert keyboard(app) is button(page.work, "Cancel")
    QTest.keyClick(page.work._cancel, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not app.models.adding.is_busy, timeout=WAIT)
    assert keyboard(app) is button(page.work, "Dismiss")  # and not back at what would begin anew
    QTest.keyClick(page.work._cancel, Qt.Key.Key_Space)
    QApplication.processEvents()
    assert keyboard(app) is page.welcome.focusProxy()
    assert app.window.pages.currentWidget() is page


def test_exporting_leads_to_cancel(qtbot: QtBot, exporter: Exporter, root: Path, open_program: Open) -> None:
    exporter(30)
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    page.catalogue.show_source("other")
    press(app, page.catalogue.other._go)
    assert keyboard(app) is button(page.work, "Cancel")
    app.models.adding._on_cancel()
    qtbot.waitUntil(lambda: not app.models.adding.is_busy, timeout=WAIT)


@pytest.mark.parametrize("goes_on", [False, True], ids=["waits", "goes on"])
def test_verified_model_returns_the_focus(qtbot: QtBot, root: Path, open_program: Open, goes_on: bool) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    card = app.window.models.card("smol")
    assert card
    verify = button(card, "Verify")
    press(app, verify)
    assert keyboard(app) is card
    if goes_on:
        QTest.keyClick(card, Qt.Key.Key_Tab)
        assert keyboard(app) is button(card, "Show folder")  # the first in this card that can be pressed
    qtbot.waitUntil(verify.isEnabled, timeout=WAIT)
    QApplication.processEvents()
    assert keyboard(app) is (button(card, "Show folder") if goes_on else verify)


def test_added_server_leaves_the_focus_in_the_form(app: Program) -> None:
    app.window.actions_by_name["models"].trigger()
    form = app.window.models.servers.form
    form.name.setText("office")
    form.address.setText("https://office.example/v1")
    press(app, form._add)
    assert keyboard(app) is form
    QTest.keyClick(form, Qt.Key.Key_Tab)
    assert keyboard(app) is form.name


@pytest.mark.parametrize("from_form", [False, True], ids=["button", "form"])
def test_race_moves_the_focus_to_stop_and_back(qtbot: QtBot, open_program: Open, from_form: bool) -> None:
    app = open_program(pace=0.02)
    app.window.actions_by_name["race"].trigger()
    page = app.race.page
    page.form.prompt.setPlainText("toy: words 400")
    if from_form:
        app.window.activateWindow()
        page.form.prompt.setFocus()
        QTest.keyClick(page.form.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        QApplication.processEvents()
    else:
        press(app, page.start)
    assert keyboard(app) is page.stop  # the form is disabled as a whole
    if not from_form:
        QTest.keyClick(page.stop, Qt.Key.Key_Space)
        qtbot.waitUntil(page.start.isVisible, timeout=WAIT)
        QApplication.processEvents()
        assert keyboard(app) is page.start


def test_switch_of_the_server_gets_the_focus_back(app: Program) -> None:
    app.window.actions_by_name["server"].trigger()
    page, card = app.server.page, app.server.page.card
    app.window.activateWindow()
    card.switch.setFocus()
    page.show_view(ServerView(ServerState.STOPPING))
    QApplication.processEvents()
    assert keyboard(app) is card
    page.show_view(ServerView(ServerState.OFF))
    QApplication.processEvents()
    assert keyboard(app) is card.switch


def test_chat_page_keeps_the_focus_in_the_composer(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    edit = app.window.chat.composer.edit
    app.chat_controller.show_hint("something")
    press(app, app.window.chat.notice._close)
    assert keyboard(app) is edit
    begin(qtbot, app, "toy: words 60")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.chat_controller.stop()
    press(app, button(app.window.chat.transcript.view(1), "Try again"))
    assert keyboard(app) is edit
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, shown(app)[-1].id)
    press(app, app.window.chat.notice._action)  # Undo
    assert keyboard(app) is edit


def test_hidden_control_leaves_the_focus_on_its_page(app: Program) -> None:
    app.window.actions_by_name["race"].trigger()
    page = app.race.page
    page.notice.say("something")
    press(app, page.notice._close)
    assert keyboard(app) is page
    QTest.keyClick(page, Qt.Key.Key_Return)
    assert app.window.pages.currentWidget() is page
