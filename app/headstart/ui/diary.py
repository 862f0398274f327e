"""The window's log file, and what happens to errors that nobody has foreseen."""

import logging
import sys
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QMessageBox

from headstart import own_folder, paths

FILE_NAME = "window.log"
_BYTES, _OLD = 2**20, 3
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
_log = logging.getLogger(__name__)


def keep() -> Path:
    """Write what is logged to a file that rotates; a disk that cannot be written stops nothing."""
    path = paths.logs_folder() / FILE_NAME
    try:
        own_folder.make(path.parent)
        writer = RotatingFileHandler(path, maxBytes=_BYTES, backupCount=_OLD, encoding="utf-8")
    except OSError:
        return path
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(writer)
    logging.getLogger().setLevel(logging.INFO)
    qInstallMessageHandler(_take_qt)
    return path


def catch_errors(path: Path) -> None:
    """An error nobody has foreseen is logged and told; the window goes on."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        _log.critical("unforeseen: %s", text)
        print(text, end="", file=sys.stderr)  # which is nowhere for a program of windows on Windows
        application = QApplication.instance()
        assert application
        QTimer.singleShot(0, application, lambda: _tell(f"{kind.__name__}: {error}", text, path))

    sys.excepthook = report


def _tell(summary: str, text: str, path: Path) -> None:
    sentence = QCoreApplication.translate(
        "Diary", "Something went wrong inside Headstart. Your chats are saved. Details are in {}."
    ).format(path)
    box = QMessageBox(
        QMessageBox.Icon.Warning, "Headstart", f"{sentence}\n\n{summary}", parent=QApplication.activeWindow()
    )
    box.setDetailedText(text)
    box.open()


def _take_qt(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    _log.log(_LEVELS.get(kind, logging.WARNING), "Qt: %s", text)
