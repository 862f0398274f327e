"""A question in passing: the small window, the icon in the tray, and what closing the window then means."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from headstart.chat.history.store import UNSENT
from headstart.engine.protocol import Load
from headstart.ui.application import SingleInstance
from headstart.ui.engine_request import installed_model
from headstart.ui.program import Program
from headstart.ui.window.quick_ask import QuickAsk
from tests.ui.engine_in_process import note_orders
from tests.ui.person import WAIT, ask, begin, second_start, texts

Open = Callable[..., Program]


@pytest.fixture
def tray(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desktop with a tray."""
    monkeypatch.setattr("headstart.ui.window.quick_ask.session_bus", object)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)


def quick(app: Program) -> QuickAsk:
    """The small window, shown."""
    app.quick.ask()
    assert app.quick.dialog
    return app.quick.dialog


def put(dialog: QuickAsk, question: str) -> None:
    """Type a question and press Enter."""
    dialog.field.clear()
    QTest.keyClicks(dialog.field, question)
    QTest.keyClick(dialog.field, Qt.Key.Key_Return)


def put_and_wait(qtbot: QtBot, app: Program, question: str) -> QuickAsk:
    """Put a question and wait until its answer has ended."""
    dialog = quick(app)
    with qtbot.waitSignal(app.chats.events.answered, timeout=WAIT):
        put(dialog, question)
    return dialog


def test_quick_ask_answers_with_the_loaded_model(qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(qtbot, app, "hello")
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.composing.save_draft()
    loads = note_orders(monkeypatch, Load)
    dialog = put_and_wait(qtbot, app, "and *you*")
    assert dialog.answer.toPlainText().strip() == "You wrote: and you"
    assert texts(app)[0] == "hello"
    assert app.window.chat.composer.text() == "half a thought"
    assert len(app.store.chats()) == 2
    assert not loads
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == "You wrote: and you"


def test_quick_ask_keeps_the_unsent_message(qtbot: QtBot, app: Program) -> None:
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.composing.save_draft()
    put_and_wait(qtbot, app, "hello")
    assert app.store.recall(UNSENT) == "half a thought"


def test_quick_ask_opens_its_chat_in_the_window(qtbot: QtBot, app: Program) -> None:
    dialog = put_and_wait(qtbot, app, "hello")
    app.window.hide()
    dialog.open_chat.click()
    assert texts(app) == ["hello", "You wrote: hello"]
    assert app.window.isVisible()
    assert dialog.isHidden()


def test_hidden_quick_ask_continues_and_can_be_stopped(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    dialog = quick(app)
    put(dialog, "toy: words 400")
    qtbot.waitUntil(lambda: len(dialog.answer.toPlainText()) > 20, timeout=WAIT)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isHidden()
    before = len(dialog.answer.toPlainText())
    qtbot.waitUntil(lambda: len(dialog.answer.toPlainText()) > before, timeout=WAIT)
    assert quick(app) is dialog
    with qtbot.waitSignal(app.chats.events.answered, timeout=WAIT):
        dialog.stop.click()
    assert dialog.status.text() == "Stopped."


def test_quick_ask_shows_the_answer_without_its_thinking(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(0.02)
    dialog = quick(app)
    put(dialog, "toy: think 60")
    qtbot.waitUntil(lambda: dialog.status.text() == "Thinking…", timeout=WAIT)
    with qtbot.waitSignal(app.chats.events.answered, timeout=WAIT):
        assert dialog.answer.toPlainText() == ""
    assert dialog.answer.toPlainText().strip() == "You wrote: toy: think 60"
    assert dialog.status.text() != "Thinking…"


def test_each_quick_question_is_a_chat(qtbot: QtBot, app: Program) -> None:
    put_and_wait(qtbot, app, "one")
    dialog = put_and_wait(qtbot, app, "two")
    assert dialog.answer.toPlainText().strip() == "You wrote: two"
    assert sorted(chat.title for chat in app.store.chats()) == ["one", "two"]


def test_busy_quick_ask_keeps_the_question(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 400")
    dialog = quick(app)
    put(dialog, "hello")
    assert "still being written" in dialog.status.text()
    assert dialog.field.text() == "hello"
    assert len(app.store.chats()) == 1


def test_quick_ask_without_a_model_leads_to_the_window(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=installed_model, loaded=False)
    dialog = quick(app)
    put(dialog, "hello")
    assert dialog.status.text() == "No model is installed yet."
    dialog.open_chat.click()
    assert texts(app) == ["hello"]


def test_hiding_the_last_quick_ask_ends_the_program(qtbot: QtBot, app: Program) -> None:
    dialog = quick(app)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)  # the window is there
    app.window.hide()
    dialog = quick(app)
    with qtbot.waitSignal(app.window.closing, timeout=WAIT):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)


@pytest.mark.usefixtures("tray")
def test_tray_icon_has_ask_show_and_quit(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    icon = app.quick.icon
    assert icon
    assert icon.isVisible()
    asks, opens, _, quits = icon.contextMenu().actions()
    asks.trigger()
    assert quick(app).isVisible()
    app.window.hide()
    opens.trigger()
    assert app.window.isVisible()
    app.settings.change(keep_in_tray=True)
    with qtbot.waitSignal(app.window.closing, timeout=WAIT):
        quits.trigger()
    assert not icon.isVisible()


@pytest.mark.usefixtures("tray")
def test_closing_keeps_the_program_in_the_tray_by_setting(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    closed: list[None] = []
    app.window.closing.connect(lambda: closed.append(None))
    app.settings.change(keep_in_tray=True)
    app.window.close()
    assert app.window.isHidden()
    QTest.keyClick(quick(app), Qt.Key.Key_Escape)
    assert not closed
    assert app.loader.is_ready
    app.bring_to_front()
    app.settings.change(keep_in_tray=False)
    app.window.close()
    assert closed


def test_closing_without_a_tray_ends_the_program(qtbot: QtBot, app: Program) -> None:
    app.settings.change(keep_in_tray=True)
    with qtbot.waitSignal(app.window.closing, timeout=WAIT):
        app.window.close()


def test_second_start_opens_quick_ask_in_the_first(qtbot: QtBot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path)
    assert first.claim()
    with (
        qtbot.waitSignal(first.quick_requested, timeout=WAIT),
        qtbot.assertNotEmitted(first.raise_requested),
    ):
        assert not second_start(tmp_path, quick=True)
    first.release()


ALONE = """
from PySide6.QtCore import QTimer
from headstart.ui import application


class Watched(application.Program):
    def start(self):
        super().start()
        QTimer.singleShot(0, self.act)

    def act(self):
        print(self.window.isVisible(), self.quick.dialog.isVisible())
        self.quick.dialog.reject()


application.Program = Watched
raise SystemExit(application.run(quick=True))
"""


@pytest.mark.slow
def test_ask_flag_shows_quick_ask_alone(headstart_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen", "HEADSTART_HOME": str(headstart_home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("False True\n", 0)
