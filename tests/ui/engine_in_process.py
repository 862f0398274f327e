"""An engine in this process, for tests of the window: the host's own code over a toy, without a start to wait for."""

import itertools
import threading
from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from bench.toy import PROGRAM, ToyModels
from headstart.engine.process.host import Host
from headstart.engine.process.watch import Patience
from headstart.engine.protocol import Order, Report, decode_report, encode
from headstart.engine.supervision import Journal
from headstart.engine_process import serve
from headstart.ui.engine_link import EngineChild

_PIDS = itertools.count(2**22 + 1)  # beyond what Linux gives to processes: whoever kills one of these is told


def engine_child(
    command: Sequence[str], journal: Journal, patience: Patience | None = None, parent: QObject | None = None
) -> "EngineChild | EngineInProcess":
    """Stands where EngineChild is made: a toy lives in this process, any other program in its own."""
    if tuple(command[: len(PROGRAM)]) != PROGRAM:
        return EngineChild(command, journal, patience, parent)
    pace = command[command.index("--pace") + 1] if "--pace" in command else 0.0
    return EngineInProcess(ToyModels(float(pace)), parent)


class EngineInProcess(QObject):
    """What EngineChild is to the window. Messages cross as the same lines; nothing watches whether it hangs."""

    reported = Signal(object)
    ended = Signal(str, bool)
    _sent = Signal(bytes)

    def __init__(self, models: ToyModels, parent: QObject | None = None) -> None:
        """Nothing runs before `start`."""
        super().__init__(parent)
        self.pid = 0
        self._listens = True
        self._lock = threading.Lock()
        self._host = Host(models, self._send, "", serve)
        self._sent.connect(self._take, Qt.ConnectionType.QueuedConnection)

    def start(self) -> None:
        """Serve in threads."""
        self.pid = next(_PIDS)
        threading.Thread(target=self._host.serve, daemon=True, name="engine").start()

    def send(self, order: Order) -> None:
        """Send one order."""
        self._host.receive(encode(order))

    def retire(self) -> None:
        """End it; `ended` follows."""
        self.kill("The engine was closed.")

    def kill(self, sentence: str, *, hopeful: bool = True) -> None:
        """End it; `ended` will say `sentence`."""
        self._leave()
        QTimer.singleShot(0, self, lambda: self.ended.emit(sentence, hopeful))

    def close(self) -> None:
        """End it. Emits nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._listens = False
        self._host.close()

    def _send(self, report: Report) -> None:
        """On a thread of the host."""
        with self._lock:
            if self._listens:
                self._sent.emit(encode(report))

    @Slot(bytes)
    def _take(self, line: bytes) -> None:
        if self._listens:
            self.reported.emit(decode_report(line))
