"""The local server inside the engine's process, in a thread of its own beside the process's other work."""

import threading
import time
from collections.abc import Callable
from contextlib import closing

from headstart.engine.serving import ServerEnded, ServerReport, Serving, StartServer
from headstart.server import gate
from headstart.server.api import Served, application
from headstart.server.limits import Limits
from headstart.server.listening import Server, listen, url
from headstart.server.reading import Defaults
from headstart.server.replies import Model
from headstart.server.telling import Watched
from headstart.server.worker import Worker, Writer

_PATIENCE = 10.0  # seconds


class HostedServer:
    """One server from its start to its end, which is told."""

    def __init__(self, order: StartServer, engine: Writer, context: int, tell: Callable[[ServerReport], None]) -> None:
        """Listen, and answer from now on; `context` in tokens. Raises SettingsError and ServerError."""
        limits = Limits(waiting=order.waiting, answer_seconds=order.answer_seconds)
        longest = {"length": context // 2} if context // 2 else {}
        defaults = Defaults(order.sampling, order.speculation, order.seed, **longest)
        doors = gate.Doors(order.key, gate.names(order.hosts), frozenset(order.origins), order.beyond)
        served = Served(Model(order.model, int(time.time())), doors, defaults, limits)
        self._listener = listen(order.host, order.port, beyond=order.beyond)
        self._worker = Worker(engine, limits)
        watched = Watched(application(self._worker, served), tell)
        self._server = Server(watched, self._worker, limits.head_seconds)
        self._tell = tell
        self._thread = threading.Thread(target=self._run, daemon=True, name="server")
        self._thread.start()

    def stop(self) -> None:
        """End answers on their way and take no more; waits for that, but not for an engine that is deaf to it."""
        self._server.stop()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            with closing(self._listener), closing(self._worker):
                self._tell(Serving(url(self._listener)))
                self._server.run([self._listener])
        finally:
            self._tell(ServerEnded())
