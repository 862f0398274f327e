"""One answer as a reply, whole or streamed; it ends when its client goes. Knows no route and no engine."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headstart.engine.engine import Event, Finish, FinishReason, Prefill, Step
from headstart.errors import HeadstartError
from headstart.server.refusal import refused
from headstart.server.replies import Form, Head, Reply, Said, Usage, usage_of
from headstart.server.telling import STATS
from headstart.server.worker import Answer, stopping

_WHOLE = [(b"content-type", b"application/json")]
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
_DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Manner:
    """How an answer is told. `with_usage`: at the end of a streamed one. `patience` in seconds for each part.

    `with_tokens`: and how likely each of them was.
    """

    form: Form
    head: Head
    streamed: bool
    with_usage: bool
    with_tokens: bool
    patience: float


def new_head(kind: str, model: str) -> Head:
    """What all replies to a new request begin with; `kind` begins its name."""
    return Head(f"{kind}-{secrets.token_hex(12)}", int(time.time()), model)


class Reported(Response):
    """Tells an answer while it is written, or when it is."""

    def __init__(self, answer: Answer, manner: Manner) -> None:
        """Nothing is sent yet: what refuses the request at its beginning becomes a status."""
        super().__init__()
        self._answer = answer
        self._manner = manner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all. Raises a HeadstartError only while nothing was sent."""
        noted = _noted(self._answer.events(), scope)
        async with _ended_by_leaving(receive, self._answer), aclosing(noted) as events:
            if self._manner.streamed:
                await self._stream(events, send)
            else:
                body = await self._whole(events)
                await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _WHOLE})
                await self._pass(send, {"type": "http.response.body", "body": body})

    async def _whole(self, events: AsyncIterator[Event]) -> bytes:
        form, head, steps = self._manner.form, self._manner.head, list[Step]()
        async for event in events:
            if isinstance(event, Step):
                steps.append(event)
            elif isinstance(event, Finish):
                return msgspec.json.encode(
                    form.whole(head, self._said(*steps), self._ended(event), usage_of(event.stats))
                )
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
            return  # the client takes nothing any more; what it was told stays cut off

    async def _parts(self, first: Event, events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
        """The stream's events; an error is one of them."""
        yield self._part(None, None)
        try:
            for told in self._told(first):
                yield told
            async for event in events:
                for told in self._told(event):
                    yield told
        except HeadstartError as error:
            yield b"data: " + refused(error).body + b"\n\n"

    def _told(self, event: Event) -> list[bytes]:
        match event:
            case Prefill(done, total):
                return [f": read {done} of {total} tokens\n\n".encode()]  # which clients skip; it keeps the line alive
            case Step(text, scored=scored):
                return [self._part(self._said(event), None)] if text or scored else []
            case Finish():
                return self._ending(event)

    def _ending(self, finish: Finish) -> list[bytes]:
        manner, last = self._manner, [self._part(None, self._ended(finish))]
        if manner.with_usage:
            last.append(_line(manner.form.tally(manner.head, usage_of(finish.stats))))
        return [*last, _DONE]

    def _said(self, *steps: Step) -> Said:
        scored = tuple(each for step in steps for each in step.scored) if self._manner.with_tokens else None
        return Said("".join(step.text for step in steps), scored)

    def _part(self, said: Said | None, ended: FinishReason | None) -> bytes:
        usage: Usage | UnsetType | None = None if self._manner.with_usage else UNSET
        return _line(self._manner.form.part(self._manner.head, said, ended, usage))

    def _ended(self, finish: Finish) -> FinishReason:
        if finish.reason is FinishReason.CANCELLED and not self._answer.out_of_time:
            raise stopping()
        return finish.reason

    async def _pass(self, send: Send, message: MutableMapping[str, Any]) -> None:
        async with asyncio.timeout(self._manner.patience):
            await send(message)


async def _noted(events: AsyncGenerator[Event], scope: Scope) -> AsyncGenerator[Event]:
    """The same events; the figures of the answer are kept for whoever watches the request."""
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Finish):
                scope[STATS] = event.stats
            yield event


def _line(reply: Reply) -> bytes:
    return b"data: " + msgspec.json.encode(reply) + b"\n\n"


@asynccontextmanager
async def _ended_by_leaving(receive: Receive, answer: Answer) -> AsyncIterator[None]:
    """While inside, the client's leaving ends the answer."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        answer.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
