"""A check that a window can be shown, and one sentence instead of Qt's abort if it cannot."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from PySide6 import __version__ as pyside
from PySide6.QtCore import QLibraryInfo, QMessageLogContext, QtMsgType, qInstallMessageHandler, qVersion
from PySide6.QtWidgets import QApplication

from headstart.engine.hardware.machine import window_packages
from headstart.errors import WindowError

INSTEAD = "`headstart chat` works without a window."
_FAILED = 1


def require_display() -> None:
    """Raise WindowError if there is no display."""
    platform = os.environ.get("QT_QPA_PLATFORM")
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not platform and not has_screen:
        raise WindowError(f"There is no display to open a window on; {INSTEAD}")


@contextmanager
def explaining_abort() -> Iterator[None]:
    """Print one sentence and exit with code 1 if Qt aborts inside: it does when a display or a library is missing."""
    messages: list[str] = []

    def collect(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        messages.append(text)
        if kind == QtMsgType.QtFatalMsg:
            fault = x11_fault() if os.environ.get("DISPLAY") else ""
            _give_up(fault or messages[0])  # the first message says more than the abort itself

    previous = qInstallMessageHandler(collect)
    try:
        yield
    finally:
        qInstallMessageHandler(previous)


def x11_fault() -> str:
    """Return the library that the X11 plugin lacks, or ""; Qt's own message often names a wrong one."""
    plugin = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforms" / "libqxcb.so"
    if not plugin.is_file():
        return ""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return str(error)
    return ""


def _give_up(text: str) -> NoReturn:
    reason = " ".join(text.split()).rstrip(".")[:200]
    packages = window_packages(reason)
    remedy = f"{packages}. {INSTEAD}" if packages else INSTEAD
    print(f"headstart: The window cannot be opened ({reason}); {remedy}", file=sys.stderr, flush=True)
    os._exit(_FAILED)  # Qt aborts as soon as this returns


__all__ = ["versions", "x11_fault"]


def versions() -> str:
    assert QApplication is not None, "its import is the check"
    return f"Qt {qVersion()} (PySide6 {pyside})"
