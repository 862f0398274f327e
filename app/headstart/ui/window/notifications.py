"""Notifications of the desktop (over D-Bus on Linux, from the tray elsewhere), and its setting for reduced motion."""

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
    """Return the session bus; None on other systems, without a session, or without the library."""
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
_ANIMATIONS = ("org.gnome.desktop.interface", "enable-animations")  # KDE's portal uses this name too
_EFFECTS = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
)


class Motion(QObject):
    """Reduced motion, by the settings or by the desktop. Without a portal, only the settings decide."""

    changed = Signal(bool)

    def __init__(self, application: QApplication, settings: Settings, parent: QObject) -> None:
        """Ask the desktop; its answer comes later."""
        super().__init__(parent)
        self._application = application
        self._flash = application.cursorFlashTime()
        self._effects = [effect for effect in _EFFECTS if application.isEffectEnabled(effect)]
        self._by_settings = settings.reduced_motion
        self._by_desktop = False
        self._apply()
        self._listen()

    @property
    def is_reduced(self) -> bool:
        """True if nothing may move or blink by itself."""
        return self._by_settings or self._by_desktop

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        self._set(self._by_desktop, settings.reduced_motion)

    def restore(self) -> None:
        """Give the application its own effects back."""
        self._set(by_desktop=False, by_settings=False)

    def _set(self, by_desktop: bool, by_settings: bool) -> None:
        before = self.is_reduced
        self._by_desktop, self._by_settings = by_desktop, by_settings
        if self.is_reduced != before:
            self._apply()
            self.changed.emit(self.is_reduced)

    def _apply(self) -> None:
        self._application.setCursorFlashTime(0 if self.is_reduced else self._flash)
        for effect in self._effects:
            self._application.setEffectEnabled(effect, not self.is_reduced)

    def _listen(self) -> None:
        bus = session_bus()
        if bus is None:
            return
        from PySide6.QtDBus import QDBusMessage, QDBusPendingCallWatcher  # noqa: PLC0415  its library may be missing

        slot: Any = SLOT("_on_setting_changed(QString,QString,QDBusVariant)")  # declared as bytes, taken as text
        bus.connect(_MOTION_SERVICE, _MOTION_PATH, _PORTAL, "SettingChanged", self, slot)
        request = QDBusMessage.createMethodCall(_MOTION_SERVICE, _MOTION_PATH, _PORTAL, "Read")
        request.setArguments(list(_ANIMATIONS))
        watcher = QDBusPendingCallWatcher(bus.asyncCall(request), self)
        watcher.finished.connect(self._on_reply)

    @Slot(object)
    def _on_reply(self, watcher: QDBusPendingCallWatcher) -> None:
        values = watcher.reply().arguments()
        if not watcher.isError() and values:
            self._set_by_desktop(values[0])
        watcher.deleteLater()

    @Slot(str, str, "QDBusVariant")
    def _on_setting_changed(self, group: str, name: str, value: object) -> None:
        if (group, name) == _ANIMATIONS:
            self._set_by_desktop(value)

    def _set_by_desktop(self, value: Any) -> None:
        while hasattr(value, "variant"):  # portals wrap it once or twice
            value = value.variant()
        if isinstance(value, bool):
            self._set(not value, self._by_settings)


_SERVICE, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_TIMEOUT_MS = 2000  # for a desktop that does not answer; another thread waits
_SHOWN_MS = 10_000


class Notification(QObject):
    """A message of the desktop, one at a time. Nothing happens if the desktop has no place for it."""

    clicked = Signal()

    def show(self, title: str, text: str) -> None:
        """Show a plain title and a plain text in place of the message before."""
        raise NotImplementedError


class BusNotification(Notification):
    """Messages through the notification service of the session."""

    _sent = Signal(int)

    def __init__(self, parent: QObject | None = None) -> None:
        """Listen for clicks. Needs a session bus."""
        super().__init__(parent)
        self._number = 0
        self._listen()
        self._sent.connect(self._on_sent)

    def show(self, title: str, text: str) -> None:
        QThreadPool.globalInstance().start(lambda: self._send(title, text))

    def _listen(self) -> None:
        from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415  its library may be missing

        bus = QDBusConnection.sessionBus()
        slot: Any = SLOT("_on_action(uint,QString)")  # declared as bytes, taken as text
        bus.connect(_SERVICE, _PATH, _SERVICE, "ActionInvoked", self, slot)

    def _send(self, title: str, text: str) -> None:
        """Send the message, on a thread of the pool."""
        from PySide6.QtDBus import QDBusConnection, QDBusInterface  # noqa: PLC0415

        service = QDBusInterface(_SERVICE, _PATH, _SERVICE, QDBusConnection.sessionBus())
        service.setTimeout(_TIMEOUT_MS)
        if service.isValid():
            # By the service's own description: a message made by hand cannot hold Python's integers as unsigned.
            number = QMetaObject.invokeMethod(
                service, "Notify", Qt.ConnectionType.DirectConnection, Q_RETURN_ARG("uint"),
                *_arguments(self._number, title, text)
            )  # fmt: skip
            self._sent.emit(number or 0)

    @Slot(int)
    def _on_sent(self, number: int) -> None:
        self._number = number

    @Slot("uint", str)
    def _on_action(self, number: int, _action: str) -> None:
        if number == self._number:
            self.clicked.emit()


class TrayNotification(Notification):
    """Messages from the program's icon in the tray."""

    def __init__(self, icon: QSystemTrayIcon, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._icon = icon
        icon.messageClicked.connect(self.clicked)

    def show(self, title: str, text: str) -> None:
        self._icon.showMessage(title, text, QSystemTrayIcon.MessageIcon.NoIcon, _SHOWN_MS)


def desktop_message(tray: QSystemTrayIcon | None, parent: QObject) -> Notification | None:
    """Return the backend for messages on this desktop, or None."""
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
_MAX_LETTERS = 160


class Attention(QObject):
    """Messages for a user who has left the window, if the settings allow them."""

    chat_requested = Signal(str)  # a message was clicked: the id of the chat that it was about, or ""

    def __init__(
        self,
        application: QApplication,
        window: QWidget,
        settings: Settings,
        tray: Callable[[], QSystemTrayIcon | None],
        parent: QObject,
    ) -> None:
        """`tray` is called when the first message is due."""
        super().__init__(parent)
        self._application, self._window, self._settings, self._tray = application, window, settings, tray
        self._message: Notification | None = None
        self._has_looked = False
        self._chat_id = ""  # of the last message

    @Slot(object)
    def set_settings(self, settings: Settings) -> None:
        self._settings = settings

    @Slot(object, str, float)
    def on_answered(self, chat: Chat, text: str, seconds: float) -> None:
        """Report an answer that took long. Its text is shown only if the settings say so."""
        if seconds >= LONG:
            shown = " ".join(text.split())[:_MAX_LETTERS] if self._settings.notification_text else chat.title
            self.notify(self.tr("The answer is complete"), shown, chat.id)

    def notify(self, title: str, text: str = "", chat_id: str = "") -> None:
        """Show a message; a click on it opens the chat, if one is named."""
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
                self._message.clicked.connect(lambda: self.chat_requested.emit(self._chat_id))
        return self._message
