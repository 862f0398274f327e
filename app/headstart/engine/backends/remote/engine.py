"""Models of servers with OpenAI's API."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import ExitStack, aclosing, closing

import httpx
import msgspec
import truststore
from msgspec import Struct

from headstart import __version__, api_keys
from headstart.engine.backends.remote.answer import RemoteAnswer, steps_of
from headstart.engine.backends.remote.dialects import BUDGETS, SUPPORTED, Body, body_of, mended_body
from headstart.engine.backends.remote.errors import (
    MENDABLE,
    connection_broke,
    is_retryable_error,
    is_retryable_status,
    last_refusal,
    refusal,
    retry_after,
    thinks_note,
    unreachable,
    wait_note,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import StopStrings
from headstart.engine.engine import Event, Finish, FinishReason, LoadOptions, Prefill, Remote, Request
from headstart.engine.protocol import LineSplitter
from headstart.errors import ModelNotFoundError, RemoteError, SettingsError

_CONNECT_S = 10.0  # seconds to reach a server
_READ_S = 600.0  # seconds of silence while a server reads a long prompt
_PAUSE_S = 120.0  # seconds of silence in the middle of an answer
_RETRY_DELAYS_S = (0.5, 1.0, 2.0)  # before another try
_MAX_WAIT_S = 60.0  # for all tries together, that a busy server may ask for
_LOOPBACK = ("localhost", "127.0.0.1", "::1")  # never reached through a proxy


def load(options: LoadOptions) -> "RemoteEngine":
    """Return a model of a server. Raises RemoteError, ModelNotFoundError and SettingsError."""
    assert options.remote, "the caller asks for a remote model"
    key = api_keys.find(options.remote.name)
    return RemoteEngine(options.remote, key.secret if key else None)


class RemoteModel(Struct, frozen=True):
    """A model in a server's list. Servers have several names for the length of its context."""

    name: str = msgspec.field(name="id")
    max_model_len: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_context_length: int | None = None
    owned_by: str | None = None

    @property
    def context(self) -> int:
        """Length of the context in tokens; 0 if unknown."""
        lengths = (self.max_model_len, self.context_length, self.context_window, self.max_context_length)
        return next((length for length in lengths if length and length > 0), 0)


class RemoteEngine:
    """A model of a server. A step is the text of one chunk; token ids are unknown."""

    def __init__(
        self,
        remote: Remote,
        key: str | None = None,
        delays: tuple[float, ...] = _RETRY_DELAYS_S,
        pause: float = _PAUSE_S,
    ) -> None:
        """Connect to a server. `delays` and `pause` are in seconds. Raises what `load` raises."""
        self.remote = remote
        self._delays, self._pause = delays, pause
        self._refusals: list[str] = []  # messages of refusals that another body mended
        self._client = _client(remote, key)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # any wait in it can be cancelled
        with ExitStack() as undoing:
            undoing.callback(self.close)
            self.model = self._runner.run(self._choose())
            undoing.pop_all()

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Also raises RemoteError; the events before it remain valid."""
        if request.beyond(SUPPORTED):
            raise SettingsError(
                "{name} is only asked to answer conversations: for a text to be written on or a grammar "
                "choose a model of this computer.",
                name=self.remote.name,
            )
        cancel = cancel or CancelEvent()
        last = request.messages[-1]
        answer = RemoteAnswer(self.remote, last if last.role == "assistant" else None)
        stops = StopStrings(request.stop)  # some servers send the stop string
        shown, is_noted = 0, request.thinking is not False
        with closing(self._stream(self._body(request), answer, cancel)) as stream:
            for data in stream:
                if isinstance(data, Prefill):
                    yield data
                    continue
                thinking, text = answer.read(data)
                if thinking and not is_noted:
                    is_noted = True
                    yield Prefill(0, 0, thinks_note(self.remote))
                text, at_stop = stops.push(text)
                shown += len(text)
                yield from steps_of(text, answer.scored(shown), thinking)
                if at_stop:
                    answer.reason = FinishReason.STOP
                    break
            else:
                thinking, text = answer.finish()
                text, _ = stops.push(text)
                text += stops.flush()
                yield from steps_of(text, answer.scored(shown + len(text)), thinking)
        if not (answer.has_ended or answer.reason or cancel.is_set()):
            raise connection_broke(self.remote)
        if not cancel.is_set():
            yield from steps_of(answer.calls(request.tools))
        default = FinishReason.CANCELLED if cancel.is_set() else FinishReason.STOP
        yield Finish(answer.reason or default, answer.stats(self.model.context), (), stop_text=stops.found)

    def close(self) -> None:
        """Close the connections. Closing again does nothing."""
        if not self._client.is_closed:
            self._runner.run(self._client.aclose())
            self._runner.close()  # cancels its tasks

    def _body(self, request: Request) -> Body:
        """Return the body of a request. Raises SettingsError if the server cannot limit thinking."""
        body = body_of(request, self.model.name)
        if request.thinking_budget is not None:
            field = BUDGETS.get(self.model.owned_by or "")
            if field is None:
                raise SettingsError(
                    "{name} is not known to limit thinking: leave out the thinking budget, or choose a model of this "
                    "computer.",
                    name=self.remote.name,
                )
            body[field] = request.thinking_budget
        return body

    async def _choose(self) -> RemoteModel:
        """Return the requested model, or the server's only one."""
        response = await self._send("GET", "/models")
        if response.status_code not in (httpx.codes.OK, httpx.codes.NOT_FOUND):
            raise refusal(self.remote, response)
        name, requested = self.remote.name, self.remote.model
        try:
            models = msgspec.convert(response.json(), RemoteModels, strict=False).data
        except (ValueError, RecursionError, msgspec.ValidationError):
            if requested:  # a server without a list may still have the model
                return RemoteModel(requested)
            raise RemoteError(
                "{name} does not list its models at {url}/models; check the address (it often ends in "
                "/v1), or name a model: remote:{name}/MODEL.",
                name=name,
                url=self.remote.url,
            ) from None
        fitting = [model for model in models if requested in (None, model.name)]
        if len(fitting) == 1:
            return fitting[0]
        names = ", ".join(model.name for model in models) or "none"
        if requested:
            raise ModelNotFoundError(
                "{name} has no model {wanted!r}; it has {names}.", name=name, wanted=requested, names=names
            )
        raise ModelNotFoundError(
            "{name} has these models: {names}; name one of them: remote:{name}/MODEL.", name=name, names=names
        )

    def _stream(
        self, body: Body, answer: "RemoteAnswer", cancel: CancelEvent
    ) -> Generator[bytes | Prefill, None, None]:
        """Yield the data of an answer. A cancelled answer ends early and closes the connection."""
        arriving, loop = self._receive(body, answer), self._runner.get_loop()

        async def following() -> bytes | Prefill | None:
            waiting = asyncio.current_task()
            assert waiting
            with cancel.calling(lambda: loop.call_soon_threadsafe(waiting.cancel)):
                try:
                    return await anext(arriving, None)
                except asyncio.CancelledError:
                    if not cancel.is_set():  # Ctrl+C
                        raise
                    return None

        try:
            while (data := self._runner.run(following())) and not cancel.is_set():
                yield data
        finally:
            if not self._client.is_closed:
                self._runner.run(arriving.aclose())

    async def _receive(self, body: Body, answer: "RemoteAnswer") -> AsyncGenerator[bytes | Prefill, None]:
        async for result in self._post(body):
            if isinstance(result, Prefill):
                yield result
                continue
            async with aclosing(result) as response:
                if response.status_code != httpx.codes.OK:
                    raise last_refusal(self.remote, body, response)
                async with aclosing(self._lines(response, answer)) as lines:
                    async for line in lines:
                        field, _, data = line.partition(b":")
                        if field == b"data" and data.strip():  # skip comments, which keep a connection alive
                            yield data.strip()

    async def _lines(self, response: httpx.Response, answer: "RemoteAnswer") -> AsyncGenerator[bytes, None]:
        lines = LineSplitter()  # splits at \n alone: JSON may hold every other kind of line end
        parts = aiter(response.aiter_bytes())
        try:
            while True:
                async with asyncio.timeout(self._pause if answer.has_begun else None):
                    part = await anext(parts, None)
                if part is None:
                    return
                for line in lines.push(part):
                    yield line
        except httpx.RequestError:
            raise connection_broke(self.remote) from None
        except TimeoutError:
            raise RemoteError(
                "{name} has sent nothing for {seconds} s in the middle of the answer; what came of it is kept: "
                "continue it, or ask again.",
                name=self.remote.name,
                seconds=round(self._pause),
            ) from None

    async def _post(self, body: Body) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Send a request; send it again in another form if the server refuses a field that may change."""
        for message in self._refusals:
            body = mended_body(body, message) or body
        while True:
            mended = None
            async for result in self._attempts("POST", "/chat/completions", body):
                if isinstance(result, httpx.Response) and result.status_code in MENDABLE:
                    mended = mended_body(body, result.text)
                    self._refusals += [result.text] * (mended is not None)
                if mended is None:
                    yield result
            if mended is None:
                return
            body = mended

    async def _send(self, method: str, path: str) -> httpx.Response:
        async for result in self._attempts(method, path):
            if isinstance(result, httpx.Response):
                return result
        raise AssertionError("the last try is a response or raises")

    async def _attempts(
        self, method: str, path: str, body: Body | None = None
    ) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Yield a note for each wait of a busy server, then the response, whose stream has not begun."""
        wait_left = _MAX_WAIT_S
        for delay in (*self._delays, None):
            try:
                response = await self._client.send(self._client.build_request(method, path, json=body), stream=True)
                if method == "GET" or response.status_code != httpx.codes.OK:
                    await response.aread()
            except httpx.RequestError as error:
                if delay is None or not is_retryable_error(error):
                    raise unreachable(self.remote, error) from None
                wait = delay
            else:
                named = retry_after(response)
                if delay is None or not is_retryable_status(response.status_code) or (named or 0) > wait_left:
                    yield response
                    return
                wait = delay if named is None else named
                wait_left -= named or 0
                if named:
                    yield Prefill(0, 0, wait_note(self.remote, named))
            await asyncio.sleep(wait)


def _client(remote: Remote, key: str | None) -> httpx.AsyncClient:
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


class RemoteModels(Struct):
    data: list[RemoteModel]
