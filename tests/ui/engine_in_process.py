"""An engine in this process, for tests of the window: the host's own code over a toy, without a start to wait for."""

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bench.toy import PROGRAM, ToyModels
from headstart.engine.process.host import Host
from headstart.engine.process.session import Ended, EngineProcess, ProcessEvent
from headstart.engine.protocol import Order, Report, decode_report, encode
from headstart.engine.supervision import Journal
from headstart.engine_process import serve

_PIDS = itertools.count(2**22 + 1)  # beyond what Linux gives to processes: whoever kills one of these is told


def engine_process(
    command: Sequence[str], journal: Journal, on_event: Callable[[ProcessEvent], None]
) -> "EngineProcess | EngineInProcess":
    """A stand-in for EngineProcess: a toy runs in this process, any other program in its own."""
    if tuple(command[: len(PROGRAM)]) != PROGRAM:
        return EngineProcess(command, journal, on_event)
    pace = command[command.index("--pace") + 1] if "--pace" in command else 0.0
    return EngineInProcess(ToyModels(float(pace)), on_event)


def note_orders(monkeypatch: pytest.MonkeyPatch, *kinds: type) -> list[Any]:
    """Return a list that gets each later order to the engine, or those of some kinds."""
    orders: list[Any] = []
    send = EngineInProcess.send

    def note(engine: EngineInProcess, order: Order) -> None:
        if not kinds or isinstance(order, kinds):
            orders.append(order)
        send(engine, order)

    monkeypatch.setattr(EngineInProcess, "send", note)
    return orders


class EngineInProcess:
    """An EngineProcess in the process of the test, over the same lines."""

    def __init__(self, models: ToyModels, on_event: Callable[[ProcessEvent], None]) -> None:
        """Serve in threads."""
        self.pid = next(_PIDS)
        self._on_event = on_event
        self._listens = True
        self._lock = threading.Lock()
        self._host = Host(models, self._send, "", serve)
        threading.Thread(target=self._host.serve, daemon=True, name="engine").start()

    def send(self, order: Order) -> None:
        """Send one order."""
        self._host.receive(encode(order))

    def processor_seconds(self) -> float:
        """Return 0: nobody measures it."""
        return 0.0

    def end(self, _grace: float = 0.0) -> None:
        """End the engine; Ended follows."""
        with self._lock:
            self._listens = False
        self._host.close()
        self._on_event(Ended(0))

    def wait(self) -> None:
        """Wait for nothing: it ends at once."""

    def _send(self, report: Report) -> None:
        """Send on a thread of the host."""
        with self._lock:
            if self._listens:
                self._on_event(decode_report(encode(report)))
