"""`headstart` without a sub-command: one application, one window, its log and its lock. Knows no widget from inside."""

import sys
from pathlib import Path
from typing import cast

from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication

from headstart import __version__, paths, settings_file
from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.ui import diary, display
from headstart.ui.fault_words import said
from headstart.ui.program import Program
from headstart.ui.recovery import Recovery
from headstart.ui.single_instance import SingleInstance
from headstart.ui.stylesheet import RESOURCES
from headstart.ui.translation import Translation

_NO_HISTORY = 1


def run(file: Path | None = None) -> int:
    """Show the window until it is closed, with the chats of `file` brought in.

    Raises WindowError and HistoryError. Returns the exit code.
    """
    application = make_application()
    log = diary.keep()
    diary.catch_errors(log)
    instance = SingleInstance(paths.data_folder())
    file = file.expanduser().absolute() if file else None
    if not instance.claim(file):
        return 0
    Translation(application).speak(settings_file.load().language)
    recovery = Recovery(paths.history_folder())
    store = recovery.open()
    try:
        if not store:
            return _NO_HISTORY
        if not instance.claim(file):  # the folder was made writable meanwhile, and another window was opened in it
            store.close()
            return 0
        program = Program(application, store)
        instance.raise_requested.connect(program.come_forward)
        instance.open_requested.connect(program.bring_in)
        if file:
            QTimer.singleShot(0, program, lambda: program.bring_in(str(file)))
        return _show(application, program, recovery.outcome)
    finally:
        instance.release()


def _show(application: QApplication, program: Program, outcome: str) -> int:
    program.start()
    told = outcome or _back_up(program.store)
    if told:
        program.presenter.say(told)
    program.window.show()
    try:
        return application.exec()
    finally:
        program.close()


def _back_up(store: Store) -> str:
    """What went wrong; a full disk is no reason to show no chats."""
    try:
        store.back_up_if_due()
    except HistoryError as error:
        return said(error)
    return ""


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
