"""The engine's process as an object of Qt: orders in, reports out as signals."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from headstart.engine.process.client import Ended, EngineProcess, Told
from headstart.engine.process.watch import LOOK, Doing, Patience
from headstart.engine.protocol import Order
from headstart.engine.supervision import CLOSE_GRACE, KILL_GRACE, OUT_OF_MEMORY, Journal, ending
from headstart.errors import EngineLostError, HeadstartError, ProtocolVersionError
from headstart.ui.translation import said


class EngineChild(QObject):
    """A child from its start to its end. `ended` comes once: why in a sentence, and whether a new one may do better."""

    reported = Signal(object)  # Report
    ended = Signal(str, bool)
    _told = Signal(object)  # on a thread of the process

    def __init__(
        self, command: Sequence[str], journal: Journal, patience: Patience | None = None, parent: QObject | None = None
    ) -> None:
        """Nothing runs before `start`. `patience` is another than the usual one for tests."""
        super().__init__(parent)
        self._command, self._journal, self._patience = command, journal, patience
        self._process: EngineProcess | None = None
        self._fault: tuple[str, bool] | None = None
        self._killed = False
        self._told.connect(self._take, Qt.ConnectionType.QueuedConnection)
        self._deadline = QTimer(self, singleShot=True)
        self._deadline.timeout.connect(self._give_up)
        self._looking = QTimer(self, interval=int(LOOK * 1000))
        self._looking.timeout.connect(self._look)

    @property
    def pid(self) -> int:
        """The system's number of the process; 0 when there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the program; `reported` tells when it is ready."""
        try:
            self._process = EngineProcess(self._command, self._journal, self._told.emit, self._patience)
        except EngineLostError as error:
            self._told.emit(error)
            return
        self._looking.start()

    def send(self, order: Order) -> None:
        """Send one order; what a dead process misses is told by `ended`."""
        if self._process:
            self._process.send(order)
            self._looking.start()

    def retire(self) -> None:
        """Let it end by closing its input; it is killed after a grace."""
        if self._process:
            self._fault = self._fault or (self.tr("The engine was closed."), True)
            self._process.end()
            self._looking.stop()
            self._deadline.start(int(CLOSE_GRACE * 1000))

    def kill(self, sentence: str, *, hopeful: bool = True) -> None:
        """End it at once; `ended` will say `sentence`."""
        if self._process:
            self._fault = self._fault or (sentence, hopeful)
            self._looking.stop()
            self._process.kill()
            self._deadline.start(int(KILL_GRACE * 1000))
            self._killed = True

    def close(self) -> None:
        """End it and wait until it has gone: only when the window closes. Emits nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._looking.stop()
        self._deadline.stop()
        if self._process:
            self._process.close()

    @Slot(object)
    def _take(self, told: Told) -> None:
        if isinstance(told, Ended):
            self._end(*(self._fault or (self._sentence(told), True)))
        elif isinstance(told, EngineLostError):  # it could not even be started
            self._end(said(told), hopeful=False)
        elif self._fault or not self._process:
            return
        elif isinstance(told, HeadstartError):  # nothing that it says can be trusted any more
            self._journal.write(str(told))
            self.kill(said(told), hopeful=not isinstance(told, ProtocolVersionError))
        else:
            self._process.note(told)
            if not (self._process.is_idle or self._looking.isActive()):
                self._looking.start()
            self.reported.emit(told)

    def _sentence(self, ended: Ended) -> str:
        how = ending(ended.code) if ended.code < 0 else self.tr("exit code {}").format(ended.code)
        if how == OUT_OF_MEMORY:
            return self.tr("The engine stopped unexpectedly ({}, as the system does when memory runs out).").format(how)
        return self.tr("The engine stopped unexpectedly ({}).").format(how)

    @Slot()
    def _look(self) -> None:
        assert self._process
        silence = self._process.look()
        if silence:  # a model that was being loaded would be waited for as long once more
            self.kill(said(silence.sentence), hopeful=silence.doing not in (Doing.START, Doing.LOAD))
        elif self._process.is_idle:
            self._looking.stop()

    @Slot()
    def _give_up(self) -> None:
        assert self._process
        if not self._killed:
            self.kill(self.tr("The engine does not end in time."))
            return
        self._process.leave()
        assert self._fault
        self._end(*self._fault)

    def _end(self, sentence: str, hopeful: bool) -> None:
        self._deadline.stop()
        self._looking.stop()
        self._journal.write(f"engine process ended: {sentence}")
        self.ended.emit(sentence, hopeful)
