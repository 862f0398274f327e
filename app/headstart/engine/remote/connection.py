"""Speaks HTTP with one server, in a thread of its own, so that any wait ends at once when it is cancelled."""

import asyncio
import queue
import ssl
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

import httpx
import truststore

from headstart import __version__
from headstart.engine.engine import Remote
from headstart.engine.remote import asking, faults
from headstart.engine.remote.asking import Body
from headstart.errors import SettingsError

_CONNECT = 10.0  # seconds to reach it
_SILENCE = 600.0  # seconds that a server may read a long prompt without a word
_DELAYS = (0.5, 1.0, 2.0)  # seconds before another try
_LONGEST_DELAY = 20.0  # that a busy server may ask for
_POLL = 0.02  # seconds between two looks at `cancel`
_COMPLETIONS = "/chat/completions"
_WRONGLY_ASKED = (400, 422)
_HERE = ("localhost", "127.0.0.1", "[::1]")  # never by way of a proxy
_R = TypeVar("_R")
Put = Callable[[bytes], None]


class Connection:
    """One server. Nothing is sent before it is asked for something; `close` ends the thread."""

    def __init__(self, remote: Remote, key: str | None, delays: tuple[float, ...] = _DELAYS) -> None:
        """`delays` are those before another try. Raises SettingsError for a certificate that cannot be used."""
        self.remote = remote
        self._key = key
        self._delays = delays
        self._context = _context(remote)
        self._client: httpx.AsyncClient | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="remote")
        self._thread.start()

    def get(self, path: str) -> httpx.Response:
        """The answer to a GET, whatever its status. Raises RemoteError when there is none."""
        return self._submit(self._get(path)).result()

    @property
    def has_key(self) -> bool:
        """Whether a key is sent."""
        return self._key is not None

    def stream(self, body: Body, cancel: threading.Event) -> Generator[bytes, None, None]:
        """The bytes of an answer as they come; ends early, and closes the connection, when cancelled.

        Tried again where the server refuses for the moment, and only before the first byte. Raises RemoteError and
        what else faults.of_status makes of a refusal.
        """
        arrived: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        answer = self._submit(self._pump(body, arrived.put))
        answer.add_done_callback(lambda _: arrived.put(None))
        try:
            while not cancel.is_set():
                try:
                    data = arrived.get(timeout=_POLL)
                except queue.Empty:
                    continue
                if data is None:
                    answer.result()
                    return
                yield data
        finally:
            answer.cancel()  # of no effect where it has ended

    def close(self) -> None:
        """End what is going on and let go of the server; harmless twice."""
        if self._loop.is_closed():
            return
        self._submit(self._shut()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, _R]) -> "Future[_R]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _get(self, path: str) -> httpx.Response:
        response = await self._sent("GET", path)
        await response.aread()
        return response

    async def _pump(self, body: Body, put: Put) -> None:
        response = await self._posted(body)
        try:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise faults.of_status(self.remote, response, has_key=self.has_key)
            async for data in response.aiter_bytes():
                put(data)
        except httpx.TransportError:
            raise faults.of_break(self.remote) from None
        finally:
            await response.aclose()

    async def _posted(self, body: Body) -> httpx.Response:
        """A server that stumbles over a field that changes nothing is asked in another way."""
        response = await self._sent("POST", _COMPLETIONS, body)
        while response.status_code in _WRONGLY_ASKED:
            await response.aread()
            other = asking.after_refusal(body, response.text)
            if other is None or other == body:
                break
            body = other
            response = await self._sent("POST", _COMPLETIONS, body)
        return response

    async def _sent(self, method: str, path: str, body: Body | None = None) -> httpx.Response:
        """The head of the answer; a refusal that may pass is asked again."""
        client = self._opened()
        for delay in (*self._delays, None):
            try:
                request = client.build_request(method, self.remote.url + path, json=body)
                response = await client.send(request, stream=True)
            except httpx.TransportError as error:
                if delay is None or not faults.is_passing(error):
                    raise faults.of_connection(self.remote, error) from None
                wait = delay
            else:
                if delay is None or not _may_pass(response):
                    return response
                wait = _wished(response, delay)
                await response.aclose()
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            headers = {"User-Agent": f"headstart/{__version__}"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            timeout = httpx.Timeout(_SILENCE, connect=_CONNECT)
            self._client = httpx.AsyncClient(
                headers=headers,
                timeout=timeout,
                verify=self._context,
                mounts={f"all://{host}": httpx.AsyncHTTPTransport(verify=self._context) for host in _HERE},
            )
        return self._client

    async def _shut(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client:
            await self._client.aclose()


def _context(remote: Remote) -> ssl.SSLContext:
    """Trusts what the system trusts: a company's own authority is known there, not to a list inside a package."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if remote.certificate:
        try:
            context.load_verify_locations(remote.certificate)
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"The certificate {remote.certificate} cannot be used ({error}); name a file in PEM form."
            ) from None
    return context


def _may_pass(response: httpx.Response) -> bool:
    return response.status_code == faults.BUSY or response.status_code >= faults.BROKEN


def _wished(response: httpx.Response, usual: float) -> float:
    """The pause that a busy server asks for, within reason."""
    wished = response.headers.get("retry-after", "")
    return min(float(wished), _LONGEST_DELAY) if wished.isdecimal() else usual
