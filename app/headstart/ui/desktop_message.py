"""Messages that the desktop shows over other windows: over D-Bus on Linux, from the tray elsewhere. Knows no window."""

import html
import sys
from typing import Any

from PySide6.QtCore import (
    Q_ARG,
    Q_RETURN_ARG,
    SLOT,
    QMetaObject,
    QObject,
    Qt,
    QThreadPool,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QStyle, QSystemTrayIcon

from headstart.ui.session_bus import session_bus

_SERVICE, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_PATIENCE_MS = 2000  # for a desktop that does not answer; another thread waits
_SHOWN_MS = 10_000


class DesktopMessage(QObject):
    """Shows one message at a time. Where the desktop has no place for any, nothing happens."""

    clicked = Signal()

    def show(self, title: str, text: str) -> None:
        """Show a plain title and a plain text."""
        raise NotImplementedError


class BusMessage(DesktopMessage):
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


class TrayMessage(DesktopMessage):
    """An icon in the tray for as long as it has something to say."""

    def __init__(self, icon: QIcon, parent: QObject | None = None) -> None:
        """Shows no icon yet."""
        super().__init__(parent)
        self._icon = QSystemTrayIcon(icon, self)
        self._icon.messageClicked.connect(self.clicked)
        self._time = QTimer(self, singleShot=True, interval=2 * _SHOWN_MS)
        self._time.timeout.connect(self._icon.hide)

    def show(self, title: str, text: str) -> None:
        """Replaces the message before it."""
        self._icon.show()
        self._icon.showMessage(title, text, QSystemTrayIcon.MessageIcon.NoIcon, _SHOWN_MS)
        self._time.start()


def desktop_message(application: QApplication, parent: QObject) -> DesktopMessage | None:
    """What this desktop offers; None where it offers nothing."""
    if sys.platform.startswith("linux"):
        return BusMessage(parent) if session_bus() else None
    if not QSystemTrayIcon.isSystemTrayAvailable():
        return None
    icon = application.windowIcon()
    fallback = application.style().standardIcon(QStyle.StandardPixmap.SP_MessageBoxInformation)
    return TrayMessage(fallback if icon.isNull() else icon, parent)


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
