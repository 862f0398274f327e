"""A server in a thread, in front of an engine without a model, and clients for it."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import openai

from headstart.engine.engine import Engine
from headstart.engine.protocol import Answered, Asked, ServerReport, StartServer
from headstart.server import keys
from headstart.server.models import ModelRegistry, OneModel, Served
from headstart.server.server import Server, listen
from headstart.server.worker import Limits
from tests.support.waiting import PATIENCE

MODEL, KEY = "toy", "hs-for-tests"


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    port: int
    server: Server

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def client(self, key: str = KEY, retries: int = 0) -> openai.OpenAI:
        """Return OpenAI's own client, which the caller closes."""
        return openai.OpenAI(base_url=self.url, api_key=key, max_retries=retries, timeout=PATIENCE)

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | str | None = None,
        patience: float = PATIENCE,
    ) -> tuple[int, Mapping[str, str], str]:
        """Send a request with the key, unless `headers` have another. Return status, headers and body."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)) as connection:
            connection.request(method, path, body, {"Authorization": f"Bearer {KEY}"} | dict(headers or {}))
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read().decode()

    def metrics(self) -> dict[str, float]:
        """Return each sample of /metrics by its name and labels."""
        status, headers, text = self.ask("GET", "/metrics")
        assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in samples}

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return int(self.metrics()["headstart_requests_waiting"])


class ReportRecorder:
    """A recorder of a server's reports, with which a test can wait for the end of a request."""

    def __init__(self) -> None:
        self._reports: list[ServerReport] = []
        self._changed = threading.Condition()

    def take(self, report: ServerReport) -> None:
        """Note a report."""
        with self._changed:
            self._reports.append(report)
            self._changed.notify_all()

    def ended(self, number: int) -> Answered:
        """Wait for the end of a request."""

        def found() -> Answered | None:
            return next(
                (report for report in self._reports if isinstance(report, Answered) and report.number == number), None
            )

        with self._changed:
            end = self._changed.wait_for(found, PATIENCE)
        assert end
        return end

    @property
    def paths(self) -> list[str]:
        """Return the paths of the requests so far."""
        return [report.path for report in self._reports if isinstance(report, Asked)]


@contextmanager
def serving(
    engine: Engine,
    limits: Limits | None = None,
    tell: Callable[[ServerReport], None] = lambda _: None,
    send_buffer: int | None = None,
    models: ModelRegistry | None = None,
    usual: str = MODEL,
    **order: Any,
) -> Iterator[Running]:
    """Context manager with a server in front of `engine`, or of `models` with the `usual` one. `order`: more of
    StartServer.

    `send_buffer`: bytes that the system takes although nobody reads them.
    """
    listener = listen("127.0.0.1", 0)
    if send_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    wanted: dict[str, Any] = {"keys": (keys.digest(KEY),), **order}
    start = StartServer(model=usual, host="127.0.0.1", port=0, **wanted)
    models = models or OneModel(Served(MODEL), engine)
    running = Running(listener.getsockname()[1], Server(start, listener, models, tell, limits))
    others = set(threading.enumerate())
    running.server.start()
    try:
        yield running
    finally:
        running.server.stop()
        assert not any(thread.name == "server" for thread in set(threading.enumerate()) - others)


def chat_body(text: str = "Hi", stream: str = "false", model: str = MODEL) -> str:
    """Return a request as curl would send it."""
    message = f'{{"role":"user","content":"{text}"}}'
    return f'{{"model":"{model}","stream":{stream},"messages":[{message}]}}'
