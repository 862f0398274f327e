"""The application: a single instance, its log, and one window after another."""

import contextlib
import hashlib
import importlib
import logging
import os
import pkgutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import cast

from PySide6.QtCore import (
    QCoreApplication,
    QLockFile,
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    Qt,
    QTimer,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
)
from PySide6.QtGui import QIcon
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication, QMessageBox

import headstart
from headstart import __version__, paths, private_files, settings
from headstart.chat import standby
from headstart.chat.history.database import Key
from headstart.chat.history.store import open_store
from headstart.engine.hardware import runtime
from headstart.errors import WindowError
from headstart.library import library
from headstart.ui import display
from headstart.ui.formatting import sentences
from headstart.ui.history.encryption import EncryptionOrder, EncryptionWork
from headstart.ui.history.maintenance import Recovery
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageContent, MessageState
from headstart.ui.translation import Translation, showing_errors, translate_error
from headstart.ui.widgets.layouts import style_dialog
from headstart.ui.widgets.stylesheet import RESOURCES
from headstart.ui.widgets.theme import Appearance

_CONNECT_MS = 800
_ANSWER_MS = 20_000  # a window that starts on a busy machine, or imports many chats, answers late
_WATCH_MS = 5000  # between looks whether the history can be written again
_WRITE_S = 0.2  # seconds; a lock file may be empty that long because its owner is still writing it
_log = logging.getLogger(__name__)
_RAISE, _QUICK, _OPEN = b"raise", b"quick", b"open\0"
_END = b"\0\n"  # of a request; no path has such bytes. The answer to it is the same.


class SingleInstance(QObject):
    """A lock file in `folder`, and a local socket that takes the requests of later starts."""

    raise_requested = Signal()
    quick_requested = Signal()  # for the small window that asks one question
    open_requested = Signal(str)  # the path of a file with chats

    def __init__(self, folder: Path) -> None:
        super().__init__()
        with contextlib.suppress(OSError):  # opening the history reports it
            private_files.make(folder)
        # Unix sockets allow about a hundred characters, and a folder may have more. One folder may have several paths.
        self._name = f"headstart-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}"
        self._lock = QLockFile(str(folder / "window.lock"))
        self._lock.setStaleLockTime(0)  # a window may be open for weeks; Qt notices by the process id that one has died
        self._server = QLocalServer(self)
        self._server.newConnection.connect(self._on_connection)

    def claim(self, file: Path | None = None, *, quick: bool = False) -> bool:
        """Return whether this is the only window; if not, send the request to the other one.

        The other window comes to the front and opens `file`; with `quick` it shows its small window instead. A second
        call tries again. A folder that cannot be written does not stop the start, but no lock is held then. Raises
        WindowError if the other window takes no request, or hangs.
        """
        if self._server.isListening():  # claimed before, with or without a lock
            return self._lock.isLocked() or self._lock.tryLock(0) or not self._is_held()
        message = _OPEN + str(file).encode("utf-8", "surrogateescape") if file else _QUICK if quick else _RAISE
        if not self._take_lock(message):
            return False
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        self._server.close()
        self._lock.unlock()

    def _take_lock(self, message: bytes) -> bool:
        """Take the lock. Return True if it is taken, or if no lock can be made and no other window answers."""
        if self._lock.tryLock(0):
            return True
        is_held, fault = self._is_held(), self._lock.error()
        if self._send(message):
            return False
        if not is_held:
            _log.warning("no lock in %s: %s", self._lock.fileName(), fault.name)
            return True
        time.sleep(_WRITE_S)
        return self._take_torn_lock() if not self._owner() else self._send_again(message)

    def _is_held(self) -> bool:
        """Return whether another process holds the lock; otherwise no lock can be made."""
        return self._lock.error() == QLockFile.LockError.LockFailedError

    def _take_torn_lock(self) -> bool:
        """Take over a lock file that a power cut has left empty: Qt takes it for a lock for ever."""
        _log.warning("%s names no process; it is taken over", self._lock.fileName())
        return self._lock.removeStaleLockFile() and self._lock.tryLock(0)

    def _send_again(self, message: bytes) -> bool:
        """Send a message to a window that is just being opened; return False. Raises WindowError if none takes it."""
        if not self._send(message):
            raise self._silent_window()
        return False

    def _silent_window(self) -> WindowError:
        """Return the error that names the other window, which may be on another computer that shares the folder."""
        process, host, _ = self._lock.getLockInfo()
        return WindowError(
            "Headstart is open already (process {process} on {host}) and does not answer; close it there, or end "
            "that process, then start Headstart again. If no such process runs, delete {lock}.",
            process=process,
            host=host,
            lock=self._lock.fileName(),
        )

    def _owner(self) -> int:
        """Return the process id in the lock file, or 0."""
        with contextlib.suppress(OSError, ValueError):
            return int(Path(self._lock.fileName()).read_text(encoding="utf-8").partition("\n")[0])
        return 0

    def _send(self, message: bytes) -> bool:
        """Send a message to the other window; return whether it was taken. Raises WindowError if it hangs."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_CONNECT_MS):
            return False
        socket.write(message + _END)
        taken = socket.waitForReadyRead(_ANSWER_MS)
        if not taken and socket.state() == QLocalSocket.LocalSocketState.ConnectedState:
            raise self._silent_window()
        socket.disconnectFromServer()
        return taken

    @Slot()
    def _on_connection(self) -> None:
        while socket := self._server.nextPendingConnection():
            socket.readyRead.connect(partial(self._on_request, socket))
            socket.disconnected.connect(socket.deleteLater)
            self._on_request(socket)

    def _on_request(self, socket: QLocalSocket) -> None:
        request = bytes(socket.peek(socket.bytesAvailable()).data())
        if not request.endswith(_END):
            return
        socket.readAll()
        socket.write(_END)
        socket.flush()  # before what may take long
        message = request.removesuffix(_END)
        if message == _QUICK:
            self.quick_requested.emit()
            return
        self.raise_requested.emit()
        if message.startswith(_OPEN):
            self.open_requested.emit(message.removeprefix(_OPEN).decode("utf-8", "surrogateescape"))


FILE_NAME = "window.log"
_MAX_BYTES, _OLD_FILES = 2**20, 3
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class _LogFile(RotatingFileHandler):
    """A log that goes on after its disk was full or read-only, and prints no error of that."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def start_log() -> Path:
    """Write the log to a file that rotates, and return its path; a disk that cannot be written is ignored."""
    path = paths.logs_folder() / FILE_NAME
    try:
        private_files.make(path.parent)
        writer = _LogFile(path, maxBytes=_MAX_BYTES, backupCount=_OLD_FILES, encoding="utf-8")
    except OSError:
        return path
    writer.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(writer)
    logging.getLogger().setLevel(logging.INFO)
    qInstallMessageHandler(_log_qt)
    return path


def catch_errors(path: Path) -> None:
    """Log and show unexpected errors; the window goes on."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        _log.critical("unexpected: %s", text)
        print(text, end="", file=sys.stderr)  # a Windows program without a console shows it nowhere
        application = QApplication.instance()
        assert application
        QTimer.singleShot(0, application, lambda: _show_error(f"{kind.__name__}: {error}", text, path))

    sys.excepthook = report


def _show_error(summary: str, text: str, path: Path) -> None:
    sentence = QCoreApplication.translate(
        "Application", "Something went wrong inside Headstart. Your chats are saved. Details are in {}."
    ).format(path)
    box = QMessageBox(
        QMessageBox.Icon.Warning, "Headstart", f"{sentence}\n\n{summary}", parent=QApplication.activeWindow()
    )
    style_dialog(box)
    box.setDetailedText(text)
    box.open()


def _log_qt(kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
    _log.log(_LEVELS.get(kind, logging.WARNING), "Qt: %s", text)


_FAILED = 1


def run(file: Path | None = None, *, quick: bool = False) -> int:
    """Show the window until it is closed, with the chats of `file` imported; `quick` shows only the small one at first.

    Return the exit code. Raise WindowError and HistoryError.
    """
    application = make_application()
    log = start_log()
    catch_errors(log)
    instance = SingleInstance(paths.data_folder())
    file = file.expanduser().absolute() if file else None
    try:
        if not instance.claim(file, quick=quick):
            return 0
    except WindowError as error:  # who starts it from a menu sees no terminal
        _show_refusal(application, error)
        raise
    try:
        with _quitting_at_sigterm(application):
            return _run(application, instance, file, quick=quick)
    finally:
        instance.release()


def _show_refusal(application: QApplication, error: WindowError) -> None:
    Translation(application).install(settings.load().language)
    Appearance(application, settings.load())
    box = QMessageBox(QMessageBox.Icon.Warning, "Headstart", translate_error(error))
    style_dialog(box)
    box.exec()


@contextlib.contextmanager
def _quitting_at_sigterm(application: QApplication) -> Iterator[None]:
    """Quit when the system ends the program, as at the end of a session, so that no lock and no socket is left."""
    if os.name != "posix":  # Windows has no such signal
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    notifier = QSocketNotifier(read, QSocketNotifier.Type.Read)  # Python sees a signal only when it runs
    notifier.activated.connect(lambda: os.read(read, 1))
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGTERM, lambda *_: application.quit())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        notifier.setEnabled(False)
        os.close(read)
        os.close(write)


def _run(application: QApplication, instance: SingleInstance, file: Path | None, *, quick: bool) -> int:
    """Open one window after another while the last one asks to be reopened: widgets cannot change their language."""
    translation, again, key, work = Translation(application), "", None, None
    while True:
        translation.install(settings.load().language)
        Appearance(application, settings.load())  # for questions before there is a window
        recovery = Recovery(paths.history_folder(), key)
        instance.raise_requested.connect(recovery.bring_to_front)
        instance.quick_requested.connect(recovery.bring_to_front)
        store = recovery.open()
        if not store:
            return _FAILED
        program = Program(application, store)
        instance.raise_requested.connect(program.bring_to_front)
        instance.quick_requested.connect(program.quick.ask)
        instance.open_requested.connect(program.import_file)
        if file:
            QTimer.singleShot(0, program, partial(program.import_file, str(file)))
        if work:
            QTimer.singleShot(0, program, partial(program.tell, work.sentence, bad=work.has_failed))
        if recovery.is_standby:
            watch = QTimer(program, interval=_WATCH_MS)
            watch.timeout.connect(partial(_leave_standby, program))
            watch.start()
        told = [recovery.outcome] if recovery.outcome else []
        with showing_errors(told.append):
            settings.require_readable()
        if told:
            words, is_bad = sentences(*told) if len(told) > 1 else told[0], told != [recovery.outcome]
            QTimer.singleShot(0, program, partial(program.tell, words, bad=is_bad or not recovery.is_whole))
        code = _show(application, program, again, quick=quick)
        if program.reopens is None:
            return code
        again, file, key, work, quick = program.reopens, None, store.key, None, False
        program.window.deleteLater()
        program.deleteLater()
        if program.order:
            work = _encryption_work(program.order, key)
            key = work.key


def _leave_standby(program: Program) -> None:
    """Open the history itself once it can be written."""
    if not program.is_answering() and standby.can_write(paths.history_folder()):
        program.restart()


def _encryption_work(order: EncryptionOrder, key: Key | None) -> EncryptionWork:
    work = EncryptionWork(order, paths.history_folder(), key)
    work.bar.set_still(still=settings.load().reduced_motion)
    work.exec()
    work.deleteLater()
    return work


def _show(application: QApplication, program: Program, chat: str, *, quick: bool) -> int:
    application.setQuitOnLastWindowClosed(False)  # neither a hidden window nor the small one's end is a reason to quit
    program.window.closing.connect(application.quit, Qt.ConnectionType.QueuedConnection)
    program.start()
    window = program.window
    window.fit_screen()
    if chat and program.store.chat(chat):
        program.chats.open(chat)
    if quick:
        program.quick.ask()
    else:
        program.window.show()
    program.maintenance.start()
    try:
        return application.exec()
    finally:
        program.close()


def make_application() -> QApplication:
    """Create the QApplication. Raise WindowError if it cannot show a window."""
    display.require_display()
    QCoreApplication.setApplicationName("headstart")
    QCoreApplication.setApplicationVersion(__version__)
    QApplication.setApplicationDisplayName("Headstart")
    QApplication.setDesktopFileName("headstart")
    with display.explaining_abort():
        application = cast("QApplication | None", QApplication.instance()) or QApplication(sys.argv[:1])
    application.setWindowIcon(QIcon(str(RESOURCES / "headstart.svg")))
    return application


_QUESTION = "Say hello in one short sentence."
_LIMIT_MS = 180_000  # loading a model of some gigabytes from a slow disk takes a minute


def self_check(others: Iterable[str] = ()) -> int:
    """Return 0 if every part is there and an answer comes: from the installed model, or else from the engine's process.

    `others` are the faults of parts that the window does not use, a sentence each.
    """
    faults = (*_missing_modules(), *runtime.missing_parts(), *others)
    for fault in faults:
        print(f"headstart: {fault}")
    return _FAILED if faults else _check_answer()


def _missing_modules() -> list[str]:
    """Return a sentence for each module of Headstart that cannot be imported: a frozen program may lack one."""
    faults = []
    for module in pkgutil.walk_packages(headstart.__path__, "headstart."):
        if module.name.endswith(".libheadstart_kernels"):  # a library in C, which pkgutil takes for a module
            continue
        try:
            importlib.import_module(module.name)  # noqa: TID251 - each of ours in turn
        except ImportError as error:
            faults.append(f"{module.name} cannot be imported: {error}")
    return faults


def _check_answer() -> int:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = make_application()
    has_model = any(map(library.can_chat, library.installed()))
    with tempfile.TemporaryDirectory(prefix="headstart-check-") as folder:
        store = open_store(Path(folder))
        program = Program(application, store)
        answers: list[MessageContent] = []
        sentences: list[str] = []
        program.chat_controller.answered.connect(answers.append)
        program.chat_controller.answered.connect(lambda _: application.exit())
        program.chats.events.error_occurred.connect(lambda sentence, _cause: print(f"headstart: {sentence}"))
        program.start()
        program.window.show()
        if has_model:
            QTimer.singleShot(0, program, lambda: program.chat_controller.session.ask(_QUESTION))
        else:
            _ask_engine(program, sentences, application)
        QTimer.singleShot(_LIMIT_MS, application.quit)
        application.exec()
        program.close()
    return _report(answers, sentences)


def _ask_engine(program: Program, sentences: list[str], application: QApplication) -> None:
    """Ask the engine for its devices: without a model it can list them, or say why not."""

    def note(sentence: str) -> None:
        sentences.append(sentence)
        application.exit()

    program.link.described.connect(lambda description: note(", ".join(device.name for device in description.devices)))
    program.link.failed.connect(lambda sentence, _: note(sentence))
    program.link.describe()


def _report(answers: list[MessageContent], sentences: list[str]) -> int:
    if sentences:
        print(f"headstart: the window opened and the engine (no model is installed) answered: {sentences[0]}")
        return 0
    if not answers:
        print(f"headstart: no answer came within {_LIMIT_MS // 1000} s.")
        return _FAILED
    answer = answers[0]
    if answer.state is not MessageState.DONE or not answer.text.strip():
        print(f"headstart: the answer failed: {answer.notice}")
        return _FAILED
    print(f"headstart: the window opened and the installed model answered: {' '.join(answer.text.split())[:200]}")
    return 0
