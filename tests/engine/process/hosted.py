"""The host of the engine's process in this process, over a toy."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.toy import ToyModels
from headstart import engine_process
from headstart.engine import protocol
from headstart.engine.process.host import Host
from tests.support.waiting import PATIENCE


class Hosted:
    """A host in a thread, whose reports a test can hear."""

    def __init__(self, models: ToyModels) -> None:
        """Work is done in a thread of its own."""
        self._reports = queue.SimpleQueue[protocol.Report]()
        self.host = Host(models, self._reports.put, "engine.log", engine_process.serve)
        self.serving = threading.Thread(target=self.host.serve, daemon=True)
        self.serving.start()

    def say(self, *orders: protocol.Order | bytes) -> None:
        """Send orders, or invalid lines."""
        for order in orders:
            self.host.receive(order if isinstance(order, bytes) else protocol.encode(order))

    def hear(self, *kinds: type[protocol.Report]) -> list[Any]:
        """Return the next report, or all up to the first of some kinds."""
        heard = [self._reports.get(timeout=PATIENCE)]
        while kinds and not isinstance(heard[-1], kinds):
            heard.append(self._reports.get(timeout=PATIENCE))
        return [protocol.decode_report(protocol.encode(report)) for report in heard]


@contextmanager
def hosted(models: ToyModels | None = None, *orders: protocol.Order) -> Iterator[Hosted]:
    """Context manager with a host that has got these orders."""
    process = Hosted(models or ToyModels(0.01))
    process.say(*orders)
    yield process
    process.host.close()
    process.serving.join(PATIENCE)
