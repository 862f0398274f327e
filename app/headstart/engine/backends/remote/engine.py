"""Models of servers with OpenAI's API."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import ExitStack, aclosing, closing

import httpx
import msgspec

from headstart import api_keys
from headstart.engine.backends.remote.answer import RemoteAnswer, steps_of
from headstart.engine.backends.remote.client import PAUSE_S, RETRY_DELAYS_S, Client
from headstart.engine.backends.remote.dialects import (
    BUDGETS,
    SUPPORTED,
    Body,
    RemoteModel,
    RemoteModels,
    body_of,
    mended_body,
)
from headstart.engine.backends.remote.errors import MENDABLE, connection_broke, last_refusal, refusal, thinks_note
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Prefill,
    Remote,
    Request,
)
from headstart.engine.text.detokenizer import StopStrings
from headstart.errors import ModelNotFoundError, RemoteError, SettingsError


def load(options: LoadOptions) -> "RemoteEngine":
    """Return a model of a server. Raises RemoteError, ModelNotFoundError and SettingsError."""
    assert options.remote, "the caller asks for a remote model"
    key = api_keys.find(options.remote.name)
    return RemoteEngine(options.remote, key.secret if key else None)


class RemoteEngine:
    """A model of a server. A step is the text of one chunk; token ids are unknown."""

    def __init__(
        self,
        remote: Remote,
        key: str | None = None,
        delays: tuple[float, ...] = RETRY_DELAYS_S,
        pause: float = PAUSE_S,
    ) -> None:
        """Connect to a server. `delays` and `pause` are in seconds. Raises what `load` raises."""
        self.remote = remote
        self._refusals: list[str] = []  # messages of refusals that another body mended
        self._client = Client(remote, key, delays, pause)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # any wait in it can be cancelled
        with ExitStack() as undoing:
            undoing.callback(self.close)
            self.model = self._runner.run(self._choose())
            undoing.pop_all()

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Also raises RemoteError; the events before it remain valid."""
        if not isinstance(request, ConversationRequest) or request.unsupported_fields(SUPPORTED):
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
            self._runner.run(self._client.close())
            self._runner.close()  # cancels its tasks

    def _body(self, request: ConversationRequest) -> Body:
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
        response = await self._client.get("/models")
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

    def _stream(self, body: Body, answer: RemoteAnswer, cancel: CancelEvent) -> Generator[bytes | Prefill, None, None]:
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

    async def _receive(self, body: Body, answer: RemoteAnswer) -> AsyncGenerator[bytes | Prefill, None]:
        async for result in self._post(body):
            if isinstance(result, Prefill):
                yield result
                continue
            if result.status_code != httpx.codes.OK:
                raise last_refusal(self.remote, body, result)
            async with aclosing(self._client.events(result, lambda: answer.has_begun)) as events:
                async for data in events:
                    yield data

    async def _post(self, body: Body) -> AsyncGenerator[Prefill | httpx.Response, None]:
        """Send a request; send it again in another form if the server refuses a field that may change."""
        for message in self._refusals:
            body = mended_body(body, message) or body
        while True:
            mended = None
            async for result in self._client.send("POST", "/chat/completions", body):
                if isinstance(result, httpx.Response) and result.status_code in MENDABLE:
                    mended = mended_body(body, result.text)
                    self._refusals += [result.text] * (mended is not None)
                if mended is None:
                    yield result
            if mended is None:
                return
            body = mended
