"""One engine process over QProcess: orders in, reports out as signals. Never restarts it and never waits."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from headstart.engine.process.watch import LOOK, Doing, Patience, Watch
from headstart.engine.protocol import LineSplitter, Logged, Order, decode_report, encode
from headstart.engine.supervision import CLOSE_GRACE, KILL_GRACE, OUT_OF_MEMORY, Journal, processor_seconds, signal_name
from headstart.errors import ProtocolError, ProtocolVersionError
from headstart.ui.fault_words import said

_KILL_WAIT = 2000  # ms for the system to clear away a killed process


class EngineChild(QObject):
    """A child from its start to its end. `ended` comes once: why in a sentence, and whether a new one may do better."""

    reported = Signal(object)  # Report, but for Logged
    ended = Signal(str, bool)

    def __init__(
        self, command: Sequence[str], journal: Journal, patience: Patience | None = None, parent: QObject | None = None
    ) -> None:
        """Nothing runs before `start`. `patience` is another than the usual one for tests."""
        super().__init__(parent)
        self._watch = Watch(patience)
        self._command = tuple(command)
        self._journal = journal
        self._lines = LineSplitter()
        self._fault: tuple[str, bool] | None = None
        self._killed = False
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read_reports)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._finish)
        self._process.errorOccurred.connect(self._note_error)
        self._deadline = QTimer(self, singleShot=True)
        self._deadline.timeout.connect(self._give_up)
        self._looking = QTimer(self, interval=int(LOOK * 1000))
        self._looking.timeout.connect(self._look)

    @property
    def pid(self) -> int:
        """The system's number of the process; 0 when there is none."""
        return int(self._process.processId())

    def start(self) -> None:
        """Start the program; `reported` tells when it is ready."""
        self._looking.start()
        self._process.start(self._command[0], list(self._command[1:]))

    def send(self, order: Order) -> None:
        """Send one order; what a dead process misses is told by `ended`."""
        self._watch.note_order(order)
        self._looking.start()
        if self._process.state() == QProcess.ProcessState.Running:
            self._process.write(encode(order))

    def retire(self) -> None:
        """Let it end by closing its input; it is killed after a grace."""
        self._fault = self._fault or (self.tr("The engine was closed."), True)
        self._process.closeWriteChannel()
        self._looking.stop()
        self._deadline.start(int(CLOSE_GRACE * 1000))

    def kill(self, sentence: str, *, hopeful: bool = True) -> None:
        """End it at once; `ended` will say `sentence`."""
        self._fault = self._fault or (sentence, hopeful)
        self._looking.stop()
        self._process.kill()
        self._deadline.start(int(KILL_GRACE * 1000))
        self._killed = True

    def close(self) -> None:
        """End it and wait until it has gone: only when the window closes. Emits nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        if self._process.state() == QProcess.ProcessState.NotRunning:
            return
        self.retire()
        if not self._process.waitForFinished(int(CLOSE_GRACE * 1000)):
            self._process.kill()
            if not self._process.waitForFinished(_KILL_WAIT):
                self._leave()

    @Slot()
    def _read_reports(self) -> None:
        for line in self._lines.push(bytes(self._process.readAllStandardOutput().data())):
            if self._fault is None:
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            report = decode_report(line)
        except ProtocolError as error:  # nothing that it says can be trusted any more
            self._journal.write(str(error))
            self.kill(said(error), hopeful=not isinstance(error, ProtocolVersionError))
            return
        if isinstance(report, Logged):
            self._journal.write(f"{report.level} {report.source}: {report.text}")
            return
        self._watch.note_report(report)
        if not (self._watch.is_idle or self._looking.isActive()):
            self._looking.start()
        self.reported.emit(report)

    @Slot()
    def _read_errors(self) -> None:
        self._journal.write(bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace"))

    @Slot()
    def _look(self) -> None:
        silence = self._watch.look(lambda: processor_seconds(self.pid))
        if silence:  # a model that was being loaded would be waited for as long once more
            self.kill(said(silence.sentence), hopeful=silence.doing not in (Doing.START, Doing.LOAD))
        elif self._watch.is_idle:
            self._looking.stop()

    @Slot()
    def _give_up(self) -> None:
        if not self._killed:
            self.kill(self.tr("The engine does not end in time."))
            return
        self._leave()
        assert self._fault
        self._end(*self._fault)

    def _leave(self) -> None:
        """A process that hangs in a driver may outlive its own killing; nobody waits for it any more."""
        self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")
        self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._process.setProcessState(QProcess.ProcessState.NotRunning)  # else its destructor waits for half a minute

    @Slot(QProcess.ProcessError)
    def _note_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # the only one that `finished` does not follow
            reason = self._process.errorString()
            self._end(
                self.tr("The engine cannot be started ({}); install Headstart again.").format(reason), hopeful=False
            )

    @Slot(int, QProcess.ExitStatus)
    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read_reports()
        self._read_errors()
        crashed = status == QProcess.ExitStatus.CrashExit
        ending = signal_name(code) if crashed else self.tr("exit code {}").format(code)
        if crashed and ending == OUT_OF_MEMORY:
            sentence = self.tr("The engine stopped unexpectedly ({}, as the system does when memory runs out).").format(
                ending
            )
        else:
            sentence = self.tr("The engine stopped unexpectedly ({}).").format(ending)
        self._end(*(self._fault or (sentence, True)))

    def _end(self, sentence: str, hopeful: bool) -> None:
        self._deadline.stop()
        self._looking.stop()
        self._journal.write(f"engine process ended: {sentence}")
        self.ended.emit(sentence, hopeful)
