"""One answer as an HTTP reply, whole or streamed; it ends when its client disconnects."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headstart.engine.engine import Event, Finish, FinishReason, Prefill, Step
from headstart.errors import HeadstartError
from headstart.server.refusal import FaultBody, refused, stopping
from headstart.server.replies import Form, Said, joined
from headstart.server.worker import Answer, Waiting

ANSWERS = "headstart.answers"  # where a reply puts its answers in the scope of its request
_WHOLE = [(b"content-type", b"application/json")]
_STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]


class Reported(Response):
    """Sends an answer, or several in a row, while it is written, or when it is complete."""

    def __init__(
        self,
        answers: Sequence[Answer],
        forms: Sequence[Form],
        patience: float,
        *,
        streamed: bool,
        with_tokens: bool = False,
    ) -> None:
        """Nothing is sent yet: a refusal before the first token becomes an HTTP status, unless the answer has to wait.

        `forms`: one for each answer. `patience`: seconds for each part. `with_tokens`: send the probability of each
        token, too.
        """
        super().__init__()
        self._answers, self._forms, self._patience = answers, forms, patience
        self._streamed, self._with_tokens = streamed, with_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. Raises a HeadstartError only while nothing has been sent."""
        scope[ANSWERS] = self._answers
        async with _ended_by_leaving(receive, self._answers):
            if self._streamed:
                await self._stream(send)
            else:
                replies = [await self._whole(*each) for each in zip(self._answers, self._forms, strict=True)]
                await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _WHOLE})
                await self._pass(send, {"type": "http.response.body", "body": msgspec.json.encode(joined(replies))})

    async def _whole(self, answer: Answer, form: Form) -> object:
        steps = list[Step]()
        async with aclosing(answer.events()) as events:
            async for event in events:
                if isinstance(event, Step):
                    steps.append(event)
                elif isinstance(event, Finish):
                    return form.whole(self._said(*steps), _ended(event, answer), event.stats)
        raise stopping()

    async def _stream(self, send: Send) -> None:
        async with aclosing(self._parts()) as parts:
            first = await anext(parts)
            try:
                await self._pass(send, {"type": "http.response.start", "status": 200, "headers": _STREAM})
                await self._pass(send, {"type": "http.response.body", "body": first, "more_body": True})
                async for part in parts:
                    await self._pass(send, {"type": "http.response.body", "body": part, "more_body": True})
                await self._pass(send, {"type": "http.response.body", "body": b""})
            except TimeoutError:
                return  # the client reads nothing more; its answer stays cut off

    async def _parts(self) -> AsyncGenerator[bytes]:
        """The stream's events, and comments while it waits. Once there was one, an error is an event."""
        has_begun = False
        try:
            for answer, form in zip(self._answers, self._forms, strict=True):
                async with aclosing(answer.events()) as events:
                    event = await anext(events, None)
                    has_begun |= event is not None
                    while isinstance(event, Waiting):
                        yield _comment(event.why)
                        event = await anext(events, None)
                    if event is None:
                        raise stopping()
                    for told in [*map(form.sent, form.begun()), *self._told(event, answer, form)]:
                        yield told
                    async for more in events:
                        for told in self._told(more, answer, form):
                            yield told
            yield self._forms[-1].last
        except HeadstartError as error:
            if not has_begun:
                raise
            yield self._forms[-1].sent(FaultBody(refused(error).fault))

    def _told(self, event: Event | Waiting, answer: Answer, form: Form) -> list[bytes]:
        match event:
            case Prefill(done, total):
                return [_comment(f"read {done} of {total} tokens")]
            case Waiting(why):
                return [_comment(why)]
            case Step(text, scored=scored):
                told = form.more(self._said(event)) if text or scored else ()
            case Finish():
                told = form.end(_ended(event, answer), event.stats)
        return [form.sent(each) for each in told]

    def _said(self, *steps: Step) -> Said:
        scored = tuple(each for step in steps for each in step.scored) if self._with_tokens else None
        return Said("".join(step.text for step in steps), scored)

    async def _pass(self, send: Send, message: MutableMapping[str, Any]) -> None:
        async with asyncio.timeout(self._patience):
            await send(message)


def _ended(finish: Finish, answer: Answer) -> FinishReason:
    if finish.reason is FinishReason.CANCELLED and not answer.out_of_time:
        raise stopping()
    return finish.reason


def _comment(text: str) -> bytes:
    """Clients skip it; it keeps the connection alive."""
    return f": {text}\n\n".encode()


@asynccontextmanager
async def _ended_by_leaving(receive: Receive, answers: Sequence[Answer]) -> AsyncIterator[None]:
    """While inside, a disconnect of the client ends the answers; so does to go outside."""

    def cancel() -> None:
        for answer in answers:
            answer.cancel()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        cancel()
