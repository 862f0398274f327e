"""`dbus-run-session -- python -m tests.ui.window.desktop_bus`: a desktop with notifications and a portal."""

import json
import subprocess
import sys
from typing import Any

from PySide6.QtCore import ClassInfo, QCoreApplication, QObject, QTimer, Signal, Slot
from PySide6.QtDBus import QDBusConnection, QDBusVariant
from PySide6.QtWidgets import QApplication

from headstart.settings import Settings
from headstart.ui.window.notifications import BusNotification, Motion, desktop_message

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
PORTAL, PORTAL_PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
LIMIT_MS = 60_000


_interface: Any = ClassInfo  # declared as something else than the decorator that it is
_unsigned: Any = "uint"
_variant: Any = "QDBusVariant"


@_interface({"D-Bus Interface": NAME})
class Notifications(QObject):
    """A notification service that prints its messages, and clicks on them."""

    ActionInvoked = Signal(_unsigned, str)

    @Slot(str, "uint", str, str, str, "QStringList", "QVariantMap", int, result="uint")
    def Notify(self, *told: Any) -> int:  # noqa: N802  the name on the bus
        print(json.dumps(told), flush=True)
        QTimer.singleShot(50, self._click)
        return 7

    @Slot()
    def _click(self) -> None:
        self.ActionInvoked.emit(6, "default")  # somebody else's
        self.ActionInvoked.emit(7, "default")


@_interface({"D-Bus Interface": "org.freedesktop.portal.Settings"})
class Portal(QObject):
    """A portal that asks for reduced motion, and soon changes its setting."""

    SettingChanged = Signal(str, str, _variant)

    @Slot(str, str, result="QDBusVariant")
    def Read(self, group: str, name: str) -> QDBusVariant:  # noqa: N802  the name on the bus
        QTimer.singleShot(100, lambda: self.SettingChanged.emit(group, name, QDBusVariant(True)))  # noqa: FBT003
        return QDBusVariant(False)  # noqa: FBT003


def serve() -> None:
    """Serve until the bus ends."""
    application = QCoreApplication([])
    bus, options = QDBusConnection.sessionBus(), QDBusConnection.RegisterOption
    for name, path, each in ((NAME, PATH, Notifications(application)), (PORTAL, PORTAL_PATH, Portal(application))):
        assert bus.registerObject(path, each, options.ExportAllSlots | options.ExportAllSignals)
        assert bus.registerService(name)
    print("ready", flush=True)
    QTimer.singleShot(LIMIT_MS, application.quit)
    application.exec()


def ask() -> None:
    """Show a message, and wait for the click on it."""
    application = QApplication([])
    message = desktop_message(None, application)
    assert isinstance(message, BusNotification)
    clicks: list[int] = []
    message.clicked.connect(lambda: clicks.append(1))
    message.clicked.connect(lambda: QTimer.singleShot(200, application.quit))
    message.show("Title <1>", "a < b & c")
    QTimer.singleShot(LIMIT_MS, application.quit)
    application.exec()
    print(json.dumps(clicks), flush=True)


def watch() -> None:
    """Print each change of reduced motion."""
    application = QApplication([])
    motion = Motion(application, Settings(), application)
    motion.changed.connect(lambda reduced: print(json.dumps(reduced), flush=True))
    motion.changed.connect(lambda reduced: None if reduced else application.quit())
    QTimer.singleShot(LIMIT_MS, application.quit)
    application.exec()


def main(what: str) -> None:
    """Run the desktop and its client, in two processes."""
    with subprocess.Popen([sys.executable, "-m", __spec__.name, "serve"], stdout=subprocess.PIPE) as service:
        assert service.stdout
        assert service.stdout.readline() == b"ready\n"
        if what == "motion":
            watch()
        else:
            ask()
            print(service.stdout.readline().decode(), end="")
        service.kill()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main("".join(sys.argv[1:]))
