"""One server in front of one engine: in the engine's process, or in that of `headstart serve`."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing

from headstart.engine.protocol import ServerEnded, ServerReport, Serving, StartServer
from headstart.server import gate
from headstart.server.api import Served, application
from headstart.server.limits import Limits
from headstart.server.listening import Server, url
from headstart.server.reading import Defaults
from headstart.server.replies import Model
from headstart.server.telling import Watched
from headstart.server.worker import Worker, Writer

_PATIENCE = 10.0  # seconds


class HostedServer:
    """Tells how it goes."""

    def __init__(
        self,
        order: StartServer,
        listener: socket.socket,
        engine: Writer,
        context: int,
        tell: Callable[[ServerReport], None],
    ) -> None:
        """Nobody is answered yet. `context` in tokens; 0 where nobody tells."""
        limits = Limits(waiting=order.waiting, answer_seconds=order.answer_seconds)
        longest = {"length": context // 2} if context // 2 else {}
        defaults = Defaults(order.sampling, order.speculation, order.seed, **longest)
        doors = gate.Doors(order.key, gate.names(order.hosts), frozenset(order.origins), order.beyond)
        served = Served(Model(order.model, int(time.time())), doors, defaults, limits)
        self._listener, self._tell = listener, tell
        self._worker = Worker(engine, limits)
        watched = Watched(application(self._worker, served), tell)
        self._server = Server(watched, self._worker, limits.head_seconds)
        self._serving = Serving(order.model, url(listener), order.beyond)
        self._thread = threading.Thread(target=self.run, daemon=True, name="server")

    def run(self) -> None:
        """Answer on this thread until told to end: by `stop`, or by a signal on the main thread."""
        try:
            with closing(self._listener), closing(self._worker):
                self._tell(self._serving)
                self._server.run([self._listener])
        finally:
            self._tell(ServerEnded())

    def start(self) -> None:
        """Answer on a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End answers on their way and take no more; waits for that, but not for an engine that is deaf to it."""
        self._server.stop()
        self._thread.join(_PATIENCE)
