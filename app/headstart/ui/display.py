"""Whether a window can be shown at all, told in a sentence instead of an abort. Knows no window."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

from headstart.errors import WindowError

INSTEAD = "`headstart chat` works without a window."
_FAILED = 1


def require_display() -> None:
    """Raises WindowError where there is plainly no screen."""
    chosen = os.environ.get("QT_QPA_PLATFORM")
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not chosen and not has_screen:
        raise WindowError(f"There is no display to open a window on; {INSTEAD}")


@contextmanager
def explained() -> Iterator[None]:
    """While inside, Qt's abort for want of a display or of a system library becomes a sentence and exit code 1."""
    previous = qInstallMessageHandler(_take)
    try:
        yield
    finally:
        qInstallMessageHandler(previous)


def _take(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    if kind == QtMsgType.QtFatalMsg:
        _give_up(text)


def _give_up(text: str) -> NoReturn:
    reason = " ".join(text.split())[:200]
    sys.stderr.write(f"headstart: The window cannot be opened ({reason}); {INSTEAD}\n")
    sys.stderr.flush()
    os._exit(_FAILED)  # Qt aborts as soon as this returns
