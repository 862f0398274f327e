"""The local server, in the engine's process or in the process of `headstart serve`."""

import asyncio
import errno
import ipaddress
import itertools
import logging
import math
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from types import FrameType

import h11
import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from headstart.engine.protocol import Answered, Asked, ServerEnded, ServerReport, Serving, StartServer
from headstart.errors import PortTakenError, ServerError, SettingsError
from headstart.server import running_servers
from headstart.server.app import Api, application
from headstart.server.auth import CLIENT, Access
from headstart.server.errors import MESSAGES, REFUSAL, REQUEST_ID, RefusedError, invalid, stopping
from headstart.server.metrics import Metrics
from headstart.server.models import ModelRegistry
from headstart.server.requests.translation import Defaults
from headstart.server.streaming import ANSWERS, MODEL
from headstart.server.worker import Answer, Limits, Worker

_LOOPBACK = "127.0.0.1"
_SHUTDOWN_SECONDS = 5  # for the end of the answers in progress; an engine that does not react takes two
_LAST_WORD_SECONDS = 0.1  # for what is sent at the very end
_JOIN_SECONDS = 10.0
_MARGIN = 1.1  # times what clients are told, so long a connection is kept: a request may be on its way
_MAX_PATH_CHARS = 200  # clients choose the path


def listen(host: str, port: int, *, allow_network: bool = False) -> socket.socket:
    """Open a socket at this address; port 0 is any free port. Raises SettingsError and ServerError.

    `allow_network` allows addresses that other computers can reach.
    """
    address = _address(host)
    if not address.is_loopback and not allow_network:
        raise SettingsError(
            "{host} can be reached from other computers: add --allow-network if that is what you "
            "want, or leave out --host to stay on this one.",
            host=host,
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # Named, as asyncio sets TCP_NODELAY for this protocol alone: else a body waits 40 ms for the receipt of its head.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # on Windows it would let two programs share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise _bind_error(host, port, error) from None
    return listener


def url(listener: socket.socket) -> str:
    """Return the base URL for clients."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


class Server:
    """A server that answers the requests on a listening socket, and reports them."""

    def __init__(
        self,
        config: StartServer,
        listener: socket.socket,
        models: ModelRegistry,
        report: Callable[[ServerReport], None],
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits(
            parallel=config.parallel,
            waiting=config.waiting,
            answer_seconds=config.answer_seconds,
            idle_seconds=config.idle_seconds,
        )
        defaults = Defaults(config.sampling, config.speculation, config.seed, config.length)
        hosts = frozenset(name.lower().rstrip(".") for name in config.hosts)
        access = Access(config.keys, hosts, frozenset(config.origins), config.allow_network, has_page=config.page)
        # Only bugs are logged: clients get their own errors in replies.
        logging.getLogger("uvicorn.error").addFilter(lambda record: bool(record.exc_info))
        self.url = url(listener)
        self._listener, self._report = listener, report
        self._worker = Worker(models, limits, partial(running_servers.write_state, self.url))
        metrics = Metrics()
        api = Api(self._worker, defaults, metrics, access.notices, config.model, dict(config.aliases))
        app = application(api, access)
        self._server = _UvicornServer(_RequestReporter(app, report, metrics, self._worker), self._worker)
        self._serving = Serving(config.model, self.url, config.allow_network)
        self._thread = threading.Thread(target=self.run, daemon=True, name="server")

    def run(self) -> None:
        """Answer requests on this thread until `stop`, or a signal on the main thread."""
        try:
            with closing(self._listener), closing(self._worker):
                self._worker.report_models()
                self._report(self._serving)
                self._server.run([self._listener])
        finally:
            running_servers.delete_state()
            self._report(ServerEnded())

    def start(self) -> None:
        """Answer requests on a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End the answers in progress and accept no more. Does not wait for an engine that does not react."""
        self._worker.stop()
        self._server.should_exit = True
        self._thread.join(_JOIN_SECONDS)


class _UvicornServer(uvicorn.Server):
    """A web server that ends the answers in progress with an error when it is stopped."""

    def __init__(self, app: ASGIApp, worker: Worker) -> None:
        self._worker = worker
        super().__init__(
            uvicorn.Config(
                app,
                http=_protocol(worker.limits),
                timeout_keep_alive=math.ceil(_MARGIN * worker.limits.connection_seconds),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the answers when Ctrl+C is pressed, or the system ends the program."""
        self._worker.stop()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the connections: those of clients that take no last word, too."""
        await super().shutdown(sockets)
        if self.server_state.connections:
            await asyncio.sleep(_LAST_WORD_SECONDS)
        for connection in tuple(self.server_state.connections):
            if transport := getattr(connection, "transport", None):
                transport.abort()


class _RequestReporter:
    """Middleware that reports, counts and names requests; the outermost, so that it sees refusals and failures."""

    def __init__(
        self, app: ASGIApp, report: Callable[[Asked | Answered], None], metrics: Metrics, worker: Worker
    ) -> None:
        self._app, self._report, self._metrics, self._worker = app, report, metrics, worker
        # For which a client may leave its connection idle.
        self._keep_alive = {"keep-alive": f"timeout={math.floor(worker.limits.connection_seconds)}"}
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "uvicorn is configured for nothing else"
        number, started, status = next(self._numbers), time.monotonic(), 0
        has_begun = is_answered = has_left = False
        scope[REQUEST_ID] = request_id = f"req_{secrets.token_hex(12)}"

        async def hear() -> Message:
            nonlocal has_left
            message = await receive()
            has_left |= message["type"] == "http.disconnect" and not is_answered
            return message

        async def listen(message: Message) -> None:
            nonlocal has_begun, is_answered, status
            has_begun = True
            if not has_left:  # nobody hears what is sent now
                status = message.get("status", status)
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = request_id
                if self._worker.is_stopped:
                    headers["connection"] = "close"
                elif "connection" not in headers:
                    headers.update(self._keep_alive)
                if scope["path"].startswith(MESSAGES):
                    headers["request-id"] = request_id
            is_answered |= message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        self._report(Asked(number, scope["method"], scope["path"][:_MAX_PATH_CHARS]))
        try:
            await self._app(scope, hear, listen)
        except asyncio.CancelledError:  # the server has waited long enough for this client, and ends
            scope[REFUSAL] = refused = stopping()
            if not has_begun:
                await refused.response(scope)(scope, hear, listen)
        finally:
            answers: list[Answer] = scope.get(ANSWERS, [])
            stats = [answer.usage for answer in answers if answer.usage]
            refusal: RefusedError | None = None if has_left else scope.get(REFUSAL)
            self._report(
                Answered(
                    number,
                    time.monotonic() - started,
                    status,
                    sum(each.prompt_tokens for each in stats) if stats else None,
                    sum(each.output_tokens for each in stats) if stats else None,
                    scope.get(MODEL, ""),
                    scope.get(CLIENT) or (scope.get("client") or [""])[0],
                    has_left,
                    refusal.fault.code or "" if refusal else "",
                    str(refusal or ""),
                    request_id,
                )
            )
            self._metrics.count_request(_route(scope), status)
            for answer in answers:
                answer.call_at_end(partial(self._count, answer))

    def _count(self, answer: Answer) -> None:
        self._metrics.count_answer(answer.usage, answer.first_seconds)


def _route(scope: Scope) -> str:
    """Return the route of a request, so that clients cannot add counters."""
    if "endpoint" not in scope:
        return "other"
    path: str = scope["path"]
    for name, value in scope["path_params"].items():
        path = f"{path.rstrip('/').removesuffix(value.rstrip('/'))}{{{name}}}"
    return path.rstrip("/") or "/"


def _protocol(limits: Limits) -> type[H11Protocol]:
    """Return an HTTP protocol with time limits around a request, for which uvicorn would wait for ever."""

    class LimitedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _was_arriving = ""

        def send_400_response(self, _: str) -> None:
            body = invalid("This is not HTTP/1.1: correct the request.", code="invalid_http").body
            head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: application/json\r\n"
            head += f"x-request-id: req_{secrets.token_hex(12)}\r\n"
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            self.transport.close()

        def connection_made(self, transport: object) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            self._close_after(_MARGIN * limits.connection_seconds)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            arriving = self._arriving()
            if arriving != self._was_arriving or not arriving:
                seconds = {"head": limits.head_seconds, "rest": limits.body_seconds}
                self._close_after(seconds.get(arriving))
            self._was_arriving = arriving

        def _arriving(self) -> str:
            """Return "head", or "rest" of a body that was refused before its end; "" if there is no limit here."""
            if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
                return "head"
            return "rest" if (self.conn.their_state, self.conn.our_state) == (h11.SEND_BODY, h11.DONE) else ""

        def _close_after(self, seconds: float | None) -> None:
            if self._timer:
                self._timer.cancel()
            self._timer = self.loop.call_later(seconds, self.transport.close) if seconds is not None else None

    return LimitedProtocol


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(_LOOPBACK if host == "localhost" else host)
    except ValueError:
        raise SettingsError(
            "host must be an address such as {example}, not {host!r}.", example=_LOOPBACK, host=host
        ) from None


def _bind_error(host: str, port: int, error: OSError) -> ServerError:
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
