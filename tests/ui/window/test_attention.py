"""Notifications of answers that end while the window is not active."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Chat
from headstart.ui.program import Program
from headstart.ui.window import notifications
from headstart.ui.window.notifications import LONG, Attention, Notification, TrayNotification
from tests.source.source_tree import ROOT
from tests.ui.person import WAIT, ask

CHAT = Chat("1", "a chat", 0.0, 0.0)


class Noted(Notification):
    """A desktop that records its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[str, str]] = []

    def show(self, title: str, text: str) -> None:
        self.shown.append((title, text))


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """The messages that the desktop gets from the window."""
    noted = Noted()
    monkeypatch.setattr("headstart.ui.window.notifications.desktop_message", lambda *_: noted)
    return noted


@pytest.fixture
def away(qapp: QApplication, app: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The window while another one has the keyboard."""
    monkeypatch.setattr(qapp, "activeWindow", lambda: None)
    return app


def test_notification_names_the_chat_and_not_the_text(away: Program, desktop: Noted) -> None:
    away.attention.on_answered(CHAT, "secret", LONG - 1)
    assert not desktop.shown
    away.attention.on_answered(CHAT, "secret", LONG)
    assert desktop.shown == [("The answer is complete", "a chat")]
    away.settings.change(notification_text=True)
    away.attention.on_answered(CHAT, "no\nsecret" + "!" * 500, LONG)
    assert desktop.shown[-1][1].startswith("no secret!")
    assert len(desktop.shown[-1][1]) == 160


def test_no_notification_for_an_active_window_or_by_setting(
    qapp: QApplication, app: Program, desktop: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(qapp, "activeWindow", lambda: app.quick.dialog)
    app.quick.ask()
    app.attention.notify("done")
    monkeypatch.setattr(qapp, "activeWindow", lambda: None)
    app.settings.change(notifications=False)
    app.attention.notify("done")
    assert not desktop.shown
    app.settings.change(notifications=True)
    app.attention.notify("done")
    assert desktop.shown == [("done", "")]


def test_answers_and_exports_notify(
    qtbot: QtBot, away: Program, desktop: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headstart.ui.window.notifications.LONG", 0.0)
    ask(qtbot, away, "hello")
    assert desktop.shown == [("The answer is complete", "hello")]
    away.models.adding.exported.emit(True, "It is in the library.")  # noqa: FBT003 - Qt's own signature
    assert desktop.shown[-1] == ("The export has ended", "It is in the library.")


def test_click_on_a_notification_raises_the_window(qtbot: QtBot, away: Program, desktop: Noted) -> None:
    away.attention.notify("done")
    away.window.showMinimized()
    desktop.clicked.emit()
    assert not away.window.isMinimized()


def test_click_on_a_notification_shows_its_chat(
    qtbot: QtBot, away: Program, desktop: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headstart.ui.window.notifications.LONG", 0.0)
    ask(qtbot, away, "hello")
    away.window.sidebar.new_requested.emit()
    away.window.show_page(away.window.models)
    desktop.clicked.emit()
    assert away.chat_controller.session.chat.title == "hello"
    assert away.window.chat.isVisible()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other desktops have no bus")
def test_missing_session_bus_is_no_error(
    qapp: QApplication, app: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert notifications.desktop_message(None, app) is None
    alone = Attention(qapp, app.window, app.settings.now, lambda: None, app)
    alone.notify("done")


def test_click_on_a_tray_message_is_reported(qtbot: QtBot, qapp: QApplication) -> None:
    icon = QSystemTrayIcon(qapp.windowIcon())
    message = TrayNotification(icon)
    message.show("title", "text")
    clicked: Callable[[], None] = icon.messageClicked.emit
    with qtbot.waitSignal(message.clicked, timeout=WAIT):
        clicked()


@pytest.mark.skipif(not shutil.which("dbus-run-session"), reason="no bus can be started")
def test_notification_service_reports_its_click() -> None:
    command = ["dbus-run-session", "--", sys.executable, "-m", "tests.ui.window.desktop_bus"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    clicks, told = (json.loads(line) for line in done.stdout.splitlines())
    assert clicks == [1]
    assert told[:2] == ["Headstart", 0]
    assert told[3:] == ["Title <1>", "a &lt; b &amp; c", ["default", ""], {"desktop-entry": "headstart"}, 10_000]
