"""`headstart serve` as a child process: what it tells as signals, and its end. Knows no model and no widget."""

import sys
from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from headstart.engine.protocol import LineSplitter
from headstart.engine.supervision import CLOSE_GRACE, Journal, signal_name
from headstart.errors import ProtocolError
from headstart.server import telling
from headstart.ui.fault_words import said

_GRACE_MS = 10_000  # to end answers on their way, which takes the server five seconds at most, and to free the model
_KILL_WAIT = 2000  # ms for the system to clear away a killed process


def command() -> tuple[str, ...]:
    """What starts `headstart serve`, in a frozen program the window's own executable."""
    # -P: the current folder is the user's, and may hold a file named like a module.
    start = (sys.executable,) if getattr(sys, "frozen", False) else (sys.executable, "-P", "-m", "headstart")
    return (*start, "serve", "--lines")


class ServeChild(QObject):
    """One server from its start to its end. `ended` comes once, with a sentence where nobody asked for the end."""

    told = Signal(object)  # telling.Told, but for Failed
    ended = Signal(str, str)  # a sentence, and the name of the error where there was one

    def __init__(self, journal: Journal, parent: QObject | None = None) -> None:
        """Nothing runs before `start`."""
        super().__init__(parent)
        self._journal = journal
        self._lines = LineSplitter()
        self._failure: telling.Failed | None = None
        self._stopping = False
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._note_error)
        self._grace = QTimer(self, singleShot=True, interval=_GRACE_MS)
        self._grace.timeout.connect(self._process.kill)

    def start(self, program: Sequence[str], words: Sequence[str]) -> None:
        """Start it with these flags."""
        self._process.start(program[0], [*program[1:], *words])

    def stop(self) -> None:
        """Let it end by closing its input; it is killed after a grace."""
        self._stopping = True
        self._process.closeWriteChannel()
        self._grace.start()

    def close(self) -> None:
        """End it and wait until it has gone: only when the window closes. Emits nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        if self._process.state() == QProcess.ProcessState.NotRunning:
            return
        self._process.closeWriteChannel()
        if not self._process.waitForFinished(int(CLOSE_GRACE * 1000)):
            self._process.kill()  # its engine sees that, and ends
            self._process.waitForFinished(_KILL_WAIT)

    @Slot()
    def _read(self) -> None:
        for line in self._lines.push(bytes(self._process.readAllStandardOutput().data())):
            try:
                self._take(telling.decode(line))
            except ProtocolError as error:  # nothing that it says can be trusted any more
                self._failure = self._failure or telling.Failed(type(error).__name__, str(error))
                self._process.kill()

    def _take(self, told: telling.Told) -> None:
        if isinstance(told, telling.Loading | telling.Serving | telling.Failed | telling.Stopped):
            self._journal.write(str(told))  # no key, and nothing that was asked
        if isinstance(told, telling.Failed):
            self._failure = told
        else:
            self.told.emit(told)

    @Slot()
    def _read_errors(self) -> None:
        self._journal.write(bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace"))

    @Slot(QProcess.ProcessError)
    def _note_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # the only one that `finished` does not follow
            reason = self._process.errorString()
            self._end(self.tr("The server cannot be started ({}); install Headstart again.").format(reason))

    @Slot(int, QProcess.ExitStatus)
    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        self._read_errors()
        if self._failure:
            self._end(said(self._failure.sentence), self._failure.kind)
        elif self._stopping:
            self._end("")
        else:
            crashed = status == QProcess.ExitStatus.CrashExit
            ending = signal_name(code) if crashed else self.tr("exit code {}").format(code)
            sentence = self.tr("The server stopped unexpectedly ({}); Help › Show Logs says more.").format(ending)
            self._end(sentence)

    def _end(self, sentence: str, kind: str = "") -> None:
        self._grace.stop()
        self._journal.write(f"server process ended: {sentence}")
        self.ended.emit(sentence, kind)
