"""What a server tells whoever runs it, and the JSON lines that it tells another program in. Knows no socket."""

import itertools
import time
from collections.abc import Callable

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headstart.engine.engine import Stats
from headstart.engine.protocol import Answered, Asked, ServerReport
from headstart.engine.wire import Tagged
from headstart.errors import ProtocolError

STATS = "headstart.stats"  # where an answer puts its figures in the scope of its request
_LONGEST = 200  # characters of a path: strangers choose it
_QUOTED = 80  # bytes of a line that is none of these


class Loading(Tagged, frozen=True):
    """The models are being loaded, by their names and devices."""

    title: str


class KeyMade(Tagged, frozen=True):
    """A new key, this once."""

    key: str


class Failed(Tagged, frozen=True):
    """It ends, and why; `kind` is the name of the error."""

    kind: str
    sentence: str


class Stopped(Tagged, frozen=True):
    """It ends as it was asked to."""


Told = Loading | KeyMade | ServerReport | Failed | Stopped
Tell = Callable[[Told], None]
_decoder: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)


def encode(told: Told) -> bytes:
    """One line."""
    return msgspec.json.encode(told) + b"\n"


def decode(line: bytes) -> Told:
    """What `encode` made. Raises ProtocolError."""
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError:
        shown = line[:_QUOTED].decode("utf-8", "replace")
        raise ProtocolError("The server's line is no message of Headstart: {shown}", shown=shown) from None


class Watched:
    """Tells of each request and its end; outermost, so that refusals and failures are told, too."""

    def __init__(self, app: ASGIApp, tell: Callable[[Asked | Answered], None]) -> None:
        """`app` answers."""
        self._app, self._tell = app, tell
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and listen."""
        assert scope["type"] == "http", "uvicorn was told of nothing else"
        number, started, status = next(self._numbers), time.monotonic(), 0

        async def listen(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._tell(Asked(number, scope["method"], scope["path"][:_LONGEST]))
        try:
            await self._app(scope, receive, listen)
        finally:
            stats: Stats | None = scope.get(STATS)
            tokens = (stats.prompt_tokens, stats.output_tokens) if stats else ()
            self._tell(Answered(number, time.monotonic() - started, status, *tokens))
