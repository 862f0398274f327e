"""The keyboard stays where it was when the button that was pressed is hidden or greyed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from headstart.ui.chat.message import MessageAction
from headstart.ui.engine_request import installed_model
from headstart.ui.local_server.server_page import ServerState, ServerView
from headstart.ui.program import Program
from tests.model_folders import write_model
from tests.ui.person import WAIT, begin, shown
from tests.ui.test_models import exporter

__all__ = ("exporter",)
Open = Callable[..., Program]
Exporter = Callable[[int], None]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """The library's folder."""
    return headstart_home / "models"


def button(part: QWidget, name: str) -> QPushButton:
    """The visible one with these words."""
    found = part.findChildren(QPushButton)
    return next(each for each in found if name in (each.text(), each.accessibleName()) and each.isVisible())


def press(app: Program, pressed: QAbstractButton) -> None:
    """As somebody does who has a keyboard only."""
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
    press(app, page.welcome._button)
    assert keyboard(app) is button(page.work, "Cancel")
    QTest.keyClick(page.work._cancel, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: not app.models.adding.is_busy, timeout=WAIT)
    assert keyboard(app) is button(page.work, "Dismiss")  # and not back at what would begin anew
    QTest.keyClick(page.work._cancel, Qt.Key.Key_Space)
    QApplication.processEvents()
    assert keyboard(app) is page.welcome._button
    assert app.window.pages.currentWidget() is page


def test_exporting_leads_to_cancel(qtbot: QtBot, exporter: Exporter, root: Path, open_program: Open) -> None:
    exporter(30)
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    page = app.window.models
    page.add.source.setCurrentText("other")
    press(app, page.add._go)
    assert keyboard(app) is button(page.work, "Cancel")
    app.models.adding._cancel()
    qtbot.waitUntil(lambda: not app.models.adding.is_busy, timeout=WAIT)


def test_while_a_model_is_verified_its_card_has_the_keyboard_and_gives_it_back(
    qtbot: QtBot, root: Path, open_program: Open
) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    card = app.window.models.card("smol")
    assert card
    verify = button(card, "Verify")
    press(app, verify)
    assert keyboard(app) is card
    qtbot.waitUntil(verify.isEnabled, timeout=WAIT)
    QApplication.processEvents()
    assert keyboard(app) is verify


def test_who_has_gone_on_is_not_called_back(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    app = open_program(find=installed_model)
    app.window.actions_by_name["models"].trigger()
    card = app.window.models.card("smol")
    assert card
    verify = button(card, "Verify")
    press(app, verify)
    QTest.keyClick(card, Qt.Key.Key_Tab)
    assert keyboard(app) is button(card, "Show folder")  # the first in this card that can be pressed
    qtbot.waitUntil(verify.isEnabled, timeout=WAIT)
    QApplication.processEvents()
    assert keyboard(app) is button(card, "Show folder")


def test_adding_a_server_leaves_the_keyboard_at_its_form(app: Program) -> None:
    app.window.actions_by_name["models"].trigger()
    form = app.window.models.servers.form
    form.name.setText("office")
    form.address.setText("https://office.example/v1")
    press(app, form._add)
    assert keyboard(app) is form
    QTest.keyClick(form, Qt.Key.Key_Tab)
    assert keyboard(app) is form.name


def test_a_race_leads_to_stop_and_back(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    app.window.actions_by_name["race"].trigger()
    page = app.window.race
    page.form.prompt.setPlainText("toy: words 400")
    press(app, page.start)
    assert keyboard(app) is page.stop
    QTest.keyClick(page.stop, Qt.Key.Key_Space)
    qtbot.waitUntil(page.start.isVisible, timeout=WAIT)
    QApplication.processEvents()
    assert keyboard(app) is page.start


def test_a_race_that_was_started_from_its_form_leads_to_stop(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    app.window.actions_by_name["race"].trigger()
    page = app.window.race
    page.form.prompt.setPlainText("toy: words 400")
    app.window.activateWindow()
    page.form.prompt.setFocus()
    QTest.keyClick(page.form.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    QApplication.processEvents()
    assert keyboard(app) is page.stop  # the form is greyed as a whole


def test_the_switch_of_the_server_gets_the_keyboard_back(app: Program) -> None:
    app.window.actions_by_name["server"].trigger()
    page, card = app.window.server, app.window.server.card
    app.window.activateWindow()
    card.switch.setFocus()
    page.show_view(ServerView(ServerState.STOPPING))
    QApplication.processEvents()
    assert keyboard(app) is card
    page.show_view(ServerView(ServerState.OFF))
    QApplication.processEvents()
    assert keyboard(app) is card.switch


def test_on_the_page_of_a_chat_one_goes_on_writing(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    edit = app.window.chat.composer.edit
    app.chat_controller.advise("something")
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


def test_what_is_hidden_for_good_leaves_the_keyboard_on_its_page(app: Program) -> None:
    app.window.actions_by_name["race"].trigger()
    page = app.window.race
    page.notice.say("something")
    press(app, page.notice._close)
    assert keyboard(app) is page
    QTest.keyClick(page, Qt.Key.Key_Return)
    assert app.window.pages.currentWidget() is page
