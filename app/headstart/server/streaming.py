"""One answer as an HTTP reply, whole or streamed; it ends when its client disconnects."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headstart.engine.engine import Event, Finish, FinishReason, Prefill, Step
from headstart.errors import HeadstartError
from headstart.server.refusal import FaultBody, refused, stopping
from headstart.server.replies import Form, Said
from headstart.server.worker import Answer, Waiting

STATS = "headstart.stats"  # where an answer puts its figures in the scope of its request
_WHOLE = [(b"content-type", b"application/json")]
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class Reported(Response):
    """Sends an answer while it is written, or when it is complete."""

    def __init__(
        self, answer: Answer, form: Form, patience: float, *, streamed: bool, with_tokens: bool = False
    ) -> None:
        """Nothing is sent yet: a refusal before the first token becomes an HTTP status, unless the answer has to wait.

        `patience`: seconds for each part. `with_tokens`: send the probability of each token, too.
        """
        super().__init__()
        self._answer, self._form, self._patience = answer, form, patience
        self._streamed, self._with_tokens = streamed, with_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. Raises a HeadstartError only while nothing has been sent."""
        try:
            async with _ended_by_leaving(receive, self._answer), aclosing(self._answer.events()) as events:
                if self._streamed:
                    await self._stream(events, send)
                else:
                    body = await self._whole(events)
                    await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _WHOLE})
                    await self._pass(send, {"type": "http.response.body", "body": body})
        finally:
            scope[STATS] = self._answer.stats

    async def _whole(self, events: AsyncIterator[Event | Waiting]) -> bytes:
        steps = list[Step]()
        async for event in events:
            if isinstance(event, Step):
                steps.append(event)
            elif isinstance(event, Finish):
                return msgspec.json.encode(self._form.whole(self._said(*steps), self._ended(event), event.stats))
        raise stopping()

    async def _stream(self, events: AsyncGenerator[Event | Waiting], send: Send) -> None:
        first = await anext(events, None)
        if first is None:
            raise stopping()
        try:
            await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _STREAM})
            async for part in self._parts(first, events):
                await self._pass(send, {"type": "http.response.body", "body": part, "more_body": True})
            await self._pass(send, {"type": "http.response.body", "body": b""})
        except TimeoutError:
            return  # the client reads nothing more; its answer stays cut off

    async def _parts(self, first: Event | Waiting, events: AsyncIterator[Event | Waiting]) -> AsyncIterator[bytes]:
        """The stream's events, after comments while it waits; an error is one of them."""
        event: Event | Waiting | None = first
        try:
            while isinstance(event, Waiting):
                yield _comment(event.why)
                event = await anext(events, None)
            if event is None:
                raise stopping()
            for begun in self._form.begun():
                yield self._form.sent(begun)
            for told in self._told(event):
                yield told
            async for event in events:
                for told in self._told(event):
                    yield told
        except HeadstartError as error:
            yield self._form.sent(FaultBody(refused(error).fault))

    def _told(self, event: Event | Waiting) -> list[bytes]:
        match event:
            case Prefill(done, total):
                return [_comment(f"read {done} of {total} tokens")]
            case Waiting(why):
                return [_comment(why)]
            case Step(text, scored=scored):
                told = self._form.more(self._said(event)) if text or scored else ()
                return [self._form.sent(each) for each in told]
            case Finish():
                told = self._form.end(self._ended(event), event.stats)
                return [*(self._form.sent(each) for each in told), self._form.last]

    def _said(self, *steps: Step) -> Said:
        scored = tuple(each for step in steps for each in step.scored) if self._with_tokens else None
        return Said("".join(step.text for step in steps), scored)

    def _ended(self, finish: Finish) -> FinishReason:
        if finish.reason is FinishReason.CANCELLED and not self._answer.out_of_time:
            raise stopping()
        return finish.reason

    async def _pass(self, send: Send, message: MutableMapping[str, Any]) -> None:
        async with asyncio.timeout(self._patience):
            await send(message)


def _comment(text: str) -> bytes:
    """Clients skip it; it keeps the connection alive."""
    return f": {text}\n\n".encode()


@asynccontextmanager
async def _ended_by_leaving(receive: Receive, answer: Answer) -> AsyncIterator[None]:
    """While inside, a disconnect of the client ends the answer."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        answer.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
