"""`dbus-run-session -- python -m tests.ui.desktop_bus`: a notification service, a message to it, and a click on it."""

import json
import subprocess
import sys
from typing import Any

from PySide6.QtCore import ClassInfo, QCoreApplication, QObject, QTimer, Signal, Slot
from PySide6.QtDBus import QDBusConnection
from PySide6.QtWidgets import QApplication

from headstart.ui.desktop_message import BusMessage, desktop_message

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
LIMIT_MS = 15_000


_interface: Any = ClassInfo  # declared as something else than the decorator that it is
_unsigned: Any = "uint"


@_interface({"D-Bus Interface": NAME})
class Notifications(QObject):
    """Prints what it is told, and clicks on it."""

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


def serve() -> None:
    """Until the bus goes."""
    application = QCoreApplication([])
    service, bus = Notifications(), QDBusConnection.sessionBus()
    options = QDBusConnection.RegisterOption
    assert bus.registerObject(PATH, service, options.ExportAllSlots | options.ExportAllSignals)
    assert bus.registerService(NAME)
    print("ready", flush=True)
    QTimer.singleShot(LIMIT_MS, application.quit)
    application.exec()


def ask() -> None:
    """Show a message, and end with the click on it."""
    application = QApplication([])
    message = desktop_message(application, application)
    assert isinstance(message, BusMessage)
    clicks: list[int] = []
    message.clicked.connect(lambda: clicks.append(1))
    message.clicked.connect(lambda: QTimer.singleShot(200, application.quit))
    message.show("Title <1>", "a < b & c")
    QTimer.singleShot(LIMIT_MS, application.quit)
    application.exec()
    print(json.dumps(clicks), flush=True)


def main() -> None:
    """Both, in two processes."""
    with subprocess.Popen([sys.executable, "-m", __spec__.name, "serve"], stdout=subprocess.PIPE) as service:
        assert service.stdout
        assert service.stdout.readline() == b"ready\n"
        ask()
        print(service.stdout.readline().decode(), end="")
        service.kill()


if __name__ == "__main__":
    serve() if sys.argv[1:] else main()
