"""From an address to a running server, and to its end. Knows nothing of what is served."""

import errno
import ipaddress
import socket
import sys
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from headstart.errors import PortTakenError, ServerError, SettingsError
from headstart.server.worker import Worker

_LOCAL = "127.0.0.1"
_END_SECONDS = 5  # for answers to be cut short and told so; an engine that is deaf takes two


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
    """What clients call the base URL."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"


class Server(uvicorn.Server):
    """Serves until told to stop; answers on their way are then ended, and told so."""

    def __init__(self, app: ASGIApp, worker: Worker, head_seconds: float) -> None:
        """`head_seconds`: how long a connection may take to send the head of a request."""
        self._worker = worker
        super().__init__(
            uvicorn.Config(
                app,
                http=_hurried(head_seconds),
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

    def stop(self) -> None:
        """The same, from any thread."""
        self._worker.stop()
        self.should_exit = True


def _hurried(seconds: float) -> type[H11Protocol]:
    """HTTP whose connections are closed when no request comes: uvicorn waits for the first one for ever."""

    class Hurried(H11Protocol):
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
