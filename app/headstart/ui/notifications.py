"""Messages that the desktop shows over other windows: over D-Bus on Linux, from the tray elsewhere."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    Q_ARG,
    Q_RETURN_ARG,
    SLOT,
    QMetaObject,
    QObject,
    Qt,
    QThreadPool,
    Signal,
    Slot,
)
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from headstart.chat.conversation import Chat
from headstart.settings import Settings

if TYPE_CHECKING:
    from PySide6.QtDBus import QDBusConnection, QDBusPendingCallWatcher


def session_bus() -> QDBusConnection | None:
    """The connection; None on other systems, without a session, or without the library."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    # Without an address the library would start a bus of its own.
    has_bus = os.environ.get("DBUS_SESSION_BUS_ADDRESS") or (folder and (Path(folder) / "bus").exists())
    if not sys.platform.startswith("linux") or not has_bus:
        return None
    try:
        from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415  its library may be missing
    except ImportError:
        return None
    bus = QDBusConnection.sessionBus()
    return bus if bus.isConnected() else None


_MOTION_SERVICE, _MOTION_PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
_PORTAL = "org.freedesktop.portal.Settings"
_WISH = ("org.gnome.desktop.interface", "enable-animations")  # where desktops keep it, KDE's portal included
_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
)


class Motion(QObject):
    """Emits `changed` when `reduced` has changed. Without a portal, only the settings decide."""

    changed = Signal(bool)

    def __init__(self, application: QApplication, settings: Settings, parent: QObject) -> None:
        """Asks the desktop; its answer comes later."""
        super().__init__(parent)
        self._application = application
        self._flash = application.cursorFlashTime()
        self._effects = [effect for effect in _EFFECTS if application.isEffectEnabled(effect)]
        self._by_settings = settings.reduced_motion
        self._by_desktop = False
        self._apply()
        self._listen()

    @property
    def reduced(self) -> bool:
        """Nothing may move or blink by itself."""
        return self._by_settings or self._by_desktop

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        """The setting may have changed."""
        self._set(self._by_desktop, settings.reduced_motion)

    def restore(self) -> None:
        """Give the application back what it had."""
        self._set(by_desktop=False, by_settings=False)

    def _set(self, by_desktop: bool, by_settings: bool) -> None:
        before = self.reduced
        self._by_desktop, self._by_settings = by_desktop, by_settings
        if self.reduced != before:
            self._apply()
            self.changed.emit(self.reduced)

    def _apply(self) -> None:
        self._application.setCursorFlashTime(0 if self.reduced else self._flash)
        for effect in self._effects:
            self._application.setEffectEnabled(effect, not self.reduced)

    def _listen(self) -> None:
        bus = session_bus()
        if bus is None:
            return
        from PySide6.QtDBus import QDBusMessage, QDBusPendingCallWatcher  # noqa: PLC0415  its library may be missing

        slot: Any = SLOT("_note_change(QString,QString,QDBusVariant)")  # declared as bytes, taken as text
        bus.connect(_MOTION_SERVICE, _MOTION_PATH, _PORTAL, "SettingChanged", self, slot)
        question = QDBusMessage.createMethodCall(_MOTION_SERVICE, _MOTION_PATH, _PORTAL, "Read")
        question.setArguments(list(_WISH))
        watcher = QDBusPendingCallWatcher(bus.asyncCall(question), self)
        watcher.finished.connect(self._note_answer)

    @Slot(object)
    def _note_answer(self, watcher: QDBusPendingCallWatcher) -> None:
        values = watcher.reply().arguments()
        if not watcher.isError() and values:
            self._note(values[0])
        watcher.deleteLater()

    @Slot(str, str, "QDBusVariant")
    def _note_change(self, group: str, name: str, value: object) -> None:
        if (group, name) == _WISH:
            self._note(value)

    def _note(self, value: Any) -> None:
        while hasattr(value, "variant"):  # portals wrap once or twice
            value = value.variant()
        if isinstance(value, bool):
            self._set(not value, self._by_settings)


_SERVICE, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_PATIENCE_MS = 2000  # for a desktop that does not answer; another thread waits
_SHOWN_MS = 10_000


class Notification(QObject):
    """Shows one message at a time. Where the desktop has no place for any, nothing happens."""

    clicked = Signal()

    def show(self, title: str, text: str) -> None:
        """Show a plain title and a plain text."""
        raise NotImplementedError


class BusNotification(Notification):
    """Asks the notification service of the session."""

    _sent = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        """Listens for clicks from now on. Needs a session bus."""
        super().__init__(parent)
        self._number = 0
        self._listen()
        self._sent.connect(self._note_number)

    def show(self, title: str, text: str) -> None:
        """Replaces the message before it."""
        QThreadPool.globalInstance().start(lambda: self._send(title, text))

    def _listen(self) -> None:
        from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415  its library may be missing

        bus = QDBusConnection.sessionBus()
        slot: Any = SLOT("_note_action(uint,QString)")  # declared as bytes, taken as text
        bus.connect(_SERVICE, _PATH, _SERVICE, "ActionInvoked", self, slot)

    def _send(self, title: str, text: str) -> None:
        """On a thread of the pool."""
        from PySide6.QtDBus import QDBusConnection, QDBusInterface  # noqa: PLC0415

        service = QDBusInterface(_SERVICE, _PATH, _SERVICE, QDBusConnection.sessionBus())
        service.setTimeout(_PATIENCE_MS)
        if service.isValid():
            # By the service's own description: a message made by hand cannot hold Python's integers as unsigned.
            number = QMetaObject.invokeMethod(
                service, "Notify", Qt.ConnectionType.DirectConnection, Q_RETURN_ARG("uint"),
                *_arguments(self._number, title, text)
            )  # fmt: skip
            self._sent.emit(number or 0)

    @Slot(int)
    def _note_number(self, number: int) -> None:
        self._number = number

    @Slot("uint", str)
    def _note_action(self, number: int, _action: str) -> None:
        if number == self._number:
            self.clicked.emit()


class TrayNotification(Notification):
    """Speaks from the program's icon in the tray."""

    def __init__(self, icon: QSystemTrayIcon, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        icon.messageClicked.connect(self.clicked)

    def show(self, title: str, text: str) -> None:
        """Replaces the message before it."""
        self._icon.showMessage(title, text, QSystemTrayIcon.MessageIcon.NoIcon, _SHOWN_MS)


def desktop_message(tray: QSystemTrayIcon | None, parent: QObject) -> Notification | None:
    """What this desktop offers; None where it offers nothing."""
    if sys.platform.startswith("linux"):
        return BusNotification(parent) if session_bus() else None
    return TrayNotification(tray, parent) if tray else None


def _arguments(replaces: int, title: str, text: str) -> tuple[Any, ...]:
    return (
        Q_ARG("QString", "Headstart"),
        Q_ARG("uint", replaces),
        Q_ARG("QString", "headstart"),  # icon
        Q_ARG("QString", title),
        Q_ARG("QString", html.escape(text, quote=False)),  # services may read markup in it
        Q_ARG("QStringList", ["default", ""]),  # a click on the message itself
        Q_ARG("QVariantMap", {"desktop-entry": "headstart"}),
        Q_ARG("int", _SHOWN_MS),
    )


LONG = 10.0  # seconds; after a shorter wait the user is still there
_LETTERS = 160


class Attention(QObject):
    """Silent while a window of ours has the keyboard, and where the settings say so."""

    wanted = Signal(str)  # a message was clicked: the id of the chat that it was about, or ""

    def __init__(
        self,
        application: QApplication,
        window: QWidget,
        settings: Settings,
        tray: Callable[[], QSystemTrayIcon | None],
        parent: QObject,
    ) -> None:
        """Looks for the desktop's messages when the first is due."""
        super().__init__(parent)
        self._application, self._window, self._settings, self._tray = application, window, settings, tray
        self._message: Notification | None = None
        self._has_looked = False
        self._chat_id = ""  # of the last message

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        """Whether to call at all, and what to tell."""
        self._settings = settings

    @Slot(object, str, float)
    def note_answer(self, chat: Chat, text: str, seconds: float) -> None:
        """An answer has ended in this chat. Its text is shown only if the settings say so."""
        if seconds >= LONG:
            shown = " ".join(text.split())[:_LETTERS] if self._settings.notification_text else chat.title
            self.call(self.tr("The answer is complete"), shown, chat.id)

    def call(self, title: str, text: str = "", chat_id: str = "") -> None:
        """Say that something has ended, in this chat if it was in one."""
        if not self._settings.notifications or self._application.activeWindow():
            return
        self._chat_id = chat_id
        self._application.alert(self._window)
        if message := self._desktop():
            message.show(title, text)

    def _desktop(self) -> Notification | None:
        if not self._has_looked:
            self._has_looked = True
            self._message = desktop_message(self._tray(), self)
            if self._message:
                self._message.clicked.connect(lambda: self.wanted.emit(self._chat_id))
        return self._message
