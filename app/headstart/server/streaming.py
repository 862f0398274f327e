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
from headstart.server.worker import Answer

ANSWERS = "headstart.answers"  # where a reply puts its answers in the scope of its request
_WHOLE = [(b"content-type", b"application/json")]
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class Reported(Response):
    """Sends an answer while it is written, or when it is complete."""

    def __init__(
        self, answer: Answer, form: Form, patience: float, *, streamed: bool, with_tokens: bool = False
    ) -> None:
        """Nothing is sent yet: a refusal before the first token becomes an HTTP status.

        `patience`: seconds for each part. `with_tokens`: send the probability of each token, too.
        """
        super().__init__()
        self._answer, self._form, self._patience = answer, form, patience
        self._streamed, self._with_tokens = streamed, with_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. Raises a HeadstartError only while nothing has been sent."""
        scope[ANSWERS] = [self._answer]
        async with _ended_by_leaving(receive, self._answer), aclosing(self._answer.events()) as events:
            if self._streamed:
                await self._stream(events, send)
            else:
                body = await self._whole(events)
                await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _WHOLE})
                await self._pass(send, {"type": "http.response.body", "body": body})

    async def _whole(self, events: AsyncIterator[Event]) -> bytes:
        steps = list[Step]()
        async for event in events:
            if isinstance(event, Step):
                steps.append(event)
            elif isinstance(event, Finish):
                return msgspec.json.encode(self._form.whole(self._said(*steps), self._ended(event), event.stats))
        raise stopping()

    async def _stream(self, events: AsyncGenerator[Event], send: Send) -> None:
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

    async def _parts(self, first: Event, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
        """The stream's events; an error is one of them."""
        for begun in self._form.begun():
            yield self._form.sent(begun)
        try:
            for told in self._told(first):
                yield told
            async for event in events:
                for told in self._told(event):
                    yield told
        except HeadstartError as error:
            yield self._form.sent(FaultBody(refused(error).fault))

    def _told(self, event: Event) -> list[bytes]:
        match event:
            case Prefill(done, total):
                return [
                    f": read {done} of {total} tokens\n\n".encode()
                ]  # a comment, which clients skip; it keeps the connection alive
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
