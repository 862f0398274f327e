"""`headstart` without a sub-command: one application, one window, its log and its lock."""

import logging
import sys
import traceback
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import cast

from PySide6.QtCore import QCoreApplication, QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QMessageBox

from headstart import __version__, own_folder, paths, settings_file
from headstart.chat.database import Key
from headstart.ui import display
from headstart.ui.history.encryption_work import EncryptionWork, Order
from headstart.ui.history.maintenance import Maintenance
from headstart.ui.history.recovery import Recovery
from headstart.ui.program import Program
from headstart.ui.single_instance import SingleInstance
from headstart.ui.translation import Translation
from headstart.ui.widgets.stylesheet import RESOURCES
from headstart.ui.widgets.theme import Appearance

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


_NO_HISTORY = 1


def run(file: Path | None = None) -> int:
    """Show the window until it is closed, with the chats of `file` brought in.

    Raises WindowError and HistoryError. Returns the exit code.
    """
    application = make_application()
    log = keep()
    catch_errors(log)
    instance = SingleInstance(paths.data_folder())
    file = file.expanduser().absolute() if file else None
    if not instance.claim(file):
        return 0
    try:
        return _run(application, instance, file)
    finally:
        instance.release()


def _run(application: QApplication, instance: SingleInstance, file: Path | None) -> int:
    """One window after another, as long as the one before wants to be built anew: what is there keeps its words."""
    translation, again, key, work = Translation(application), "", None, None
    while True:
        translation.speak(settings_file.load().language)
        Appearance(application, settings_file.load())  # for questions before there is a window
        recovery = Recovery(paths.history_folder(), key)
        instance.raise_requested.connect(recovery.come_forward)
        store = recovery.open()
        if not store:
            return _NO_HISTORY
        program = Program(application, store)
        instance.raise_requested.connect(program.come_forward)
        instance.open_requested.connect(program.bring_in)
        if file:
            QTimer.singleShot(0, program, partial(program.bring_in, str(file)))
        if work:
            tell = program.chat_controller.say if work.failed else program.chat_controller.advise
            QTimer.singleShot(0, program, partial(tell, work.sentence))
        code = _show(application, program, recovery.outcome, again)
        if program.reopens is None:
            return code
        again, file, key, work = program.reopens, None, store.key, None
        program.window.deleteLater()
        program.deleteLater()
        if program.order:
            work = _work(program.order, key)
            key = work.key


def _work(order: Order, key: Key | None) -> EncryptionWork:
    """Done, well or not, when this returns."""
    work = EncryptionWork(order, paths.history_folder(), key)
    work.bar.set_still(still=settings_file.load().reduced_motion)
    work.exec()
    work.deleteLater()
    return work


def _show(application: QApplication, program: Program, outcome: str, chat: str) -> int:
    program.start()
    if chat and program.store.chat(chat):
        program.chats.open(chat)
    if outcome:
        program.chat_controller.say(outcome)
    program.window.show()
    maintenance = Maintenance(program.store.path.parent, program.store.key)
    maintenance.troubled.connect(program.chat_controller.say)  # a full disk is no reason to show no chats
    maintenance.start()
    try:
        return application.exec()
    finally:
        maintenance.close()
        program.close()


def make_application() -> QApplication:
    """The QApplication, or a WindowError in its place."""
    display.require_display()
    QCoreApplication.setApplicationName("headstart")
    QCoreApplication.setApplicationVersion(__version__)
    QApplication.setApplicationDisplayName("Headstart")
    QApplication.setDesktopFileName("headstart")
    with display.explained():
        application = cast("QApplication | None", QApplication.instance()) or QApplication(sys.argv[:1])
    application.setWindowIcon(QIcon(str(RESOURCES / "headstart.svg")))
    return application
