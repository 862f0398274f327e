"""The local server, in the engine's process or in that of `headstart serve`."""

import errno
import ipaddress
import itertools
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from headstart.engine.protocol import Answered, Asked, ServerEnded, ServerReport, Serving, StartServer
from headstart.errors import PortTakenError, ServerError, SettingsError
from headstart.server import running
from headstart.server.app import application
from headstart.server.auth import Access
from headstart.server.metrics import Metrics
from headstart.server.models import Models
from headstart.server.refusal import invalid
from headstart.server.requests import Defaults
from headstart.server.streaming import ANSWERS
from headstart.server.worker import Answer, Limits, Worker

_LOCAL = "127.0.0.1"
_END_SECONDS = 5  # for the end of the answers in progress; an engine that does not react takes two
_PATIENCE = 10.0  # seconds
_LONGEST = 200  # characters of a path: strangers choose it


def listen(host: str, port: int, *, beyond: bool = False) -> socket.socket:
    """A socket at this address; port 0 is any that is free. Raises SettingsError and ServerError.

    `beyond`: addresses that other computers can reach are allowed.
    """
    address = _address(host)
    if not address.is_loopback and not beyond:
        raise SettingsError(
            "{host} can be reached from other computers: add --allow-network if that is what you "
            "want, or leave out --host to stay on this one.",
            host=host,
        )
    listener = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET)
    try:
        if sys.platform != "win32":  # there it would let two programs share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise _refusal(host, port, error) from None
    return listener


def url(listener: socket.socket) -> str:
    """The base URL for clients."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


class Server:
    """Answers the requests on a listening socket, and reports them."""

    def __init__(
        self,
        order: StartServer,
        listener: socket.socket,
        models: Models,
        tell: Callable[[ServerReport], None],
        limits: Limits | None = None,
    ) -> None:
        """It does not answer yet."""
        limits = limits or Limits(
            parallel=order.parallel,
            waiting=order.waiting,
            answer_seconds=order.answer_seconds,
            idle_seconds=order.idle_seconds,
        )
        defaults = Defaults(order.sampling, order.speculation, order.seed, order.length)
        hosts = frozenset(name.lower().rstrip(".") for name in order.hosts)
        access = Access(order.keys, hosts, frozenset(order.origins), order.beyond)
        logging.getLogger("uvicorn.error").addFilter(_is_bug)
        self._listener, self._tell = listener, tell
        self._worker = Worker(models, limits, partial(running.note, url(listener)))
        metrics = Metrics()
        app = application(self._worker, access, defaults, metrics)
        self._server = _Uvicorn(_Watched(app, tell, metrics), self._worker)
        self._serving = Serving(order.model, url(listener), order.beyond)
        self._thread = threading.Thread(target=self.run, daemon=True, name="server")

    def run(self) -> None:
        """Answer on this thread until `stop`, or a signal on the main thread."""
        try:
            with closing(self._listener), closing(self._worker):
                self._worker.note()
                self._tell(self._serving)
                self._server.run([self._listener])
        finally:
            running.forget()
            self._tell(ServerEnded())

    def start(self) -> None:
        """Answer on a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End the answers in progress and accept no more. Does not wait for an engine that does not react."""
        self._worker.stop()
        self._server.should_exit = True
        self._thread.join(_PATIENCE)


class _Uvicorn(uvicorn.Server):
    """Serves until it is stopped; then ends the answers in progress with an error."""

    def __init__(self, app: ASGIApp, worker: Worker) -> None:
        self._worker = worker
        super().__init__(
            uvicorn.Config(
                app,
                http=_hurried(worker.limits.head_seconds),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_END_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl+C, or the system asks to end."""
        self._worker.stop()
        super().handle_exit(sig, frame)


class _Watched:
    """Reports and counts each request and its end; outermost, so that it sees refusals and failures, too."""

    def __init__(self, app: ASGIApp, tell: Callable[[Asked | Answered], None], metrics: Metrics) -> None:
        self._app, self._tell, self._metrics = app, tell, metrics
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "uvicorn is configured for nothing else"
        number, started, status = next(self._numbers), time.monotonic(), 0

        async def listen(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._tell(Asked(number, scope["method"], scope["path"][:_LONGEST]))
        try:
            await self._app(scope, receive, listen)
        finally:
            answers: list[Answer] = scope.get(ANSWERS, [])
            known = [answer.stats for answer in answers if answer.stats]
            tokens = (sum(each.prompt_tokens for each in known), sum(each.output_tokens for each in known))
            self._tell(Answered(number, time.monotonic() - started, status, *(tokens if known else ())))
            self._metrics.count_request(_route(scope), status)
            for answer in answers:
                self._metrics.count_answer(answer.stats, answer.first_seconds)


def _route(scope: Scope) -> str:
    """The path of a route, so that strangers cannot make new names for counters."""
    if "endpoint" not in scope:
        return "other"
    values = scope["path_params"]
    return next((f"/v1/models/{{{name}}}" for name in values), scope["path"].rstrip("/") or "/")


def _is_bug(record: logging.LogRecord) -> bool:
    """What clients did wrong is told to them: the words of uvicorn about it are for nobody."""
    return bool(record.exc_info)


def _hurried(seconds: float) -> type[H11Protocol]:
    """HTTP that closes connections without a request: uvicorn waits for the first one for ever."""

    class Hurried(H11Protocol):
        def send_400_response(self, _: str) -> None:
            body = invalid("This is not HTTP/1.1: correct the request.", code="invalid_http").body
            head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json\r\n"
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            self.transport.close()

        def connection_made(self, transport: object) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            self.loop.call_later(seconds, self._look_again, None)

        def _look_again(self, seen: object) -> None:
            if self.transport.is_closing():
                return
            cycle: object = self.cycle
            if cycle is seen and (cycle is None or self.cycle.response_complete):
                self.transport.close()
            else:
                self.loop.call_later(seconds, self._look_again, cycle)

    return Hurried


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(_LOCAL if host == "localhost" else host)
    except ValueError:
        raise SettingsError(
            "host must be an address such as {example}, not {host!r}.", example=_LOCAL, host=host
        ) from None


def _refusal(host: str, port: int, error: OSError) -> ServerError:
    if error.errno == errno.EADDRINUSE:
        return PortTakenError(
            "Port {port} is taken by another program, maybe by another `headstart serve`: choose "
            "another one with --port, or --port 0 for any that is free.",
            port=port,
        )
    if error.errno == errno.EACCES:
        return ServerError("Port {port} may not be used by this user: choose one above 1023 with --port.", port=port)
    return ServerError(
        "{host} port {port} cannot be used ({strerror}): choose others with --host and --port.",
        host=host,
        port=port,
        strerror=error.strerror,
    )
