"""Connections to a server: retries, waits, and the events of a stream."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import httpx
import truststore

from headstart import __version__
from headstart.engine.backends.remote.dialects import Body
from headstart.engine.backends.remote.errors import (
    connection_broke,
    is_retryable_error,
    is_retryable_status,
    retry_after,
    unreachable,
    wait_note,
)
from headstart.engine.engine import Prefill, Remote
from headstart.engine.protocol import LineSplitter
from headstart.errors import RemoteError, SettingsError

_CONNECT_S = 10.0  # seconds to reach a server
_READ_S = 600.0  # seconds of silence while a server reads a long prompt
PAUSE_S = 120.0  # seconds of silence in the middle of an answer
RETRY_DELAYS_S = (0.5, 1.0, 2.0)  # before another try
_MAX_WAIT_S = 60.0  # for all tries together, that a busy server may ask for
_LOOPBACK = ("localhost", "127.0.0.1", "::1")  # never reached through a proxy


class Client:
    def __init__(self, remote: Remote, key: str | None, delays: tuple[float, ...], pause: float) -> None:
        """`delays` and `pause` are in seconds. Raises SettingsError for a certificate that cannot be used."""
        self._remote, self._delays, self._pause = remote, delays, pause
        self._http = _http_client(remote, key)

    @property
    def is_closed(self) -> bool:
        return self._http.is_closed

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str) -> httpx.Response:
        """Return a response that has been read. Raises RemoteError if the server cannot be reached."""
        async for result in self.send("GET", path):
            if isinstance(result, httpx.Response):
                return result
        raise AssertionError("the last try is a response or raises")

    async def send(
        self, method: str, path: str, body: Body | None = None
    ) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Yield a note for each wait of a busy server, then the response, whose stream has not begun."""
        wait_left = _MAX_WAIT_S
        for delay in (*self._delays, None):
            try:
                response = await self._http.send(self._http.build_request(method, path, json=body), stream=True)
                if method == "GET" or response.status_code != httpx.codes.OK:
                    await response.aread()
            except httpx.RequestError as error:
                if delay is None or not is_retryable_error(error):
                    raise unreachable(self._remote, error) from None
                wait = delay
            else:
                named = retry_after(response)
                if delay is None or not is_retryable_status(response.status_code) or (named or 0) > wait_left:
                    yield response
                    return
                wait = delay if named is None else named
                wait_left -= named or 0
                if named:
                    yield Prefill(0, 0, wait_note(self._remote, named))
            await asyncio.sleep(wait)

    async def events(self, response: httpx.Response, has_begun: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
        """Yield the data of the events of a stream, without comments, which keep a connection alive.

        Once it `has_begun`, the server may not be silent for longer than the pause. Raises RemoteError.
        """
        lines = LineSplitter()  # splits at \n alone: JSON may hold every other kind of line end
        parts = aiter(response.aiter_bytes())
        try:
            async with aclosing(response):
                while True:
                    async with asyncio.timeout(self._pause if has_begun() else None):
                        part = await anext(parts, None)
                    if part is None:
                        return
                    for line in lines.push(part):
                        field, _, data = line.partition(b":")
                        if field == b"data" and data.strip():
                            yield data.strip()
        except httpx.RequestError:
            raise connection_broke(self._remote) from None
        except TimeoutError:
            raise RemoteError(
                "{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: "
                "continue it, or ask again.",
                name=self._remote.name,
                seconds=round(self._pause),
            ) from None


def _http_client(remote: Remote, key: str | None) -> httpx.AsyncClient:
    """Return a client that trusts the system's certificates, which include a company's own authority."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if remote.certificate:
        try:
            context.load_verify_locations(remote.certificate)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                "The certificate {certificate} cannot be used ({error}); name a file in PEM form.",
                certificate=remote.certificate,
                error=error,
            ) from None
    headers = {"User-Agent": f"headstart/{__version__}"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.AsyncClient(
        base_url=remote.url,
        headers=headers,
        timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
        verify=context,
        trust_env=httpx.URL(remote.url).host not in _LOOPBACK,
    )
