"""Bodies of requests, read whole within bounds of size and time. Knows nothing of what they say."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headstart.server.limits import Limits
from headstart.server.refusal import INVALID, Fault, RefusedError

_MOST_DISCARDED = 64 * 2**20  # bytes
_DISCARD_SECONDS = 5.0


class ClientLeftError(Exception):
    """Nobody is there to be answered."""


class BoundedBody:
    """Reads a body before anything is done with it: too large, or too slow, and it is refused."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        """`app` gets what passes, with its body."""
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(Headers(scope=scope), receive)
        except RefusedError as refusal:
            closing = {**refusal.headers, "connection": "close"}
            await Response(refusal.body, refusal.status, closing, "application/json")(scope, receive, send)
        except ClientLeftError:
            return
        else:
            await self._app(scope, _replayed(body, receive), send)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        announced = headers.get("content-length", "0")
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more and len(body) <= self._limits.body_bytes >= int(announced):
                    chunk, more = await _next(receive)
                    body += chunk
        except TimeoutError:
            sentence = f"The request was not there within {self._limits.body_seconds:g} s: send it faster."
            raise RefusedError(408, Fault(sentence, INVALID, code="too_slow")) from None
        if more or len(body) > self._limits.body_bytes:
            await _discard(receive, more=more)
            raise self._too_large()
        return bytes(body)

    def _too_large(self) -> RefusedError:
        sentence = f"The request has more than {self._limits.body_bytes / 2**20:.3g} MiB: shorten its text."
        return RefusedError(413, Fault(sentence, INVALID, code="too_large"))


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientLeftError
    return message.get("body", b""), message.get("more_body", False)


async def _discard(receive: Receive, *, more: bool) -> None:
    """Many clients listen only when they have sent all; a body without end is not waited for."""
    discarded = 0
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while more and discarded < _MOST_DISCARDED:
                chunk, more = await _next(receive)
                discarded += len(chunk)
    except TimeoutError:
        return


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body in one piece, then what the connection says."""
    waiting = [body]

    async def replay() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay
