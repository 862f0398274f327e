"""An answer as an HTTP response, whole or streamed. It ends when its client disconnects."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, MutableMapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headstart.engine.engine import Event, Finish, FinishReason, Prefill, Step
from headstart.errors import ContextOverflowError, HeadstartError
from headstart.library.library import longest_context
from headstart.server.errors import REFUSAL, RefusedError, stopping, to_refusal
from headstart.server.routes.replies import AnswerChunk, ReplyFormatter, merge_replies
from headstart.server.worker import KEEPALIVE_SECONDS, Answer, Waiting

ANSWERS = "headstart.answers"  # key in the scope of a request: the answers to it
MODEL = "headstart.model"  # key in the scope of a request: the id of the model that it is for
_JSON_HEADERS = {"content-type": "application/json"}


class AnswerResponse(Response):
    """A response that sends one answer, or several in a row, while they are written or when they are complete.

    A refusal before the first token becomes an HTTP status, unless the answer has to wait in the queue.
    """

    def __init__(
        self,
        answers: Sequence[Answer],
        formatters: Sequence[ReplyFormatter],
        send_seconds: float,
        *,
        streamed: bool,
        with_tokens: bool = False,
        more_headers: Mapping[str, str] | None = None,
    ) -> None:
        """`formatters` has one for each answer; `send_seconds` is the limit for sending a part of it.

        `with_tokens`: send the probability of each token, too.
        """
        super().__init__()
        self._more_headers = more_headers or {}
        self._answers, self._formatters, self._send_seconds = answers, formatters, send_seconds
        self._streamed, self._with_tokens = streamed, with_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answers. Raises HeadstartError only while nothing has been sent."""
        scope[ANSWERS] = self._answers
        async with cancelled_on_disconnect(receive, self._answers):
            if self._streamed:
                await self._stream(send, scope)
            else:
                replies = [await self._complete(*pair) for pair in zip(self._answers, self._formatters, strict=True)]
                body = msgspec.json.encode(merge_replies(replies))
                with suppress(TimeoutError):  # the client stopped reading an earlier reply
                    await self._send(send, self._head(_JSON_HEADERS))
                    await self._send(send, {"type": "http.response.body", "body": body})

    async def _complete(self, answer: Answer, formatter: ReplyFormatter) -> object:
        steps = list[Step]()
        async with aclosing(answer.events()) as events:
            async for event in events:
                if isinstance(event, Step):
                    steps.append(event)
                elif isinstance(event, Finish):
                    return formatter.complete(self._chunk(*steps), _unless_cancelled(event, answer))
        raise stopping()

    def _head(self, headers: Mapping[str, str]) -> MutableMapping[str, Any]:
        raw = [(name.encode(), value.encode()) for name, value in {**headers, **self._more_headers}.items()]
        return {"type": "http.response.start", "status": 200, "headers": raw}

    async def _stream(self, send: Send, scope: Scope) -> None:
        async with aclosing(self._events(scope)) as parts:
            first = await anext(parts)
            try:
                head = {"content-type": self._formatters[0].media_type, "cache-control": "no-store"}
                await self._send(send, self._head(head))
                await self._send(send, {"type": "http.response.body", "body": first, "more_body": True})
                async for part in parts:
                    await self._send(send, {"type": "http.response.body", "body": part, "more_body": True})
                await self._send(send, {"type": "http.response.body", "body": b""})
            except TimeoutError:
                return  # the client stopped reading; its answer stays cut off

    async def _events(self, scope: Scope) -> AsyncGenerator[bytes]:
        """Yield the events of the stream. While it waits, some of them say nothing and keep the connection alive.

        Errors after the first of them become an event.
        """
        has_begun = False
        try:
            for answer, formatter in zip(self._answers, self._formatters, strict=True):
                async with aclosing(answer.events()) as events:
                    event = await anext(events, None)
                    has_begun |= event is not None
                    while isinstance(event, Waiting):
                        for data in map(formatter.encode, formatter.wait()):
                            yield data
                        event = await anext(events, None)
                    if event is None:
                        raise stopping()
                    for data in map(formatter.encode, formatter.start()):
                        yield data
                    latest = time.monotonic()
                    while event is not None:
                        is_quiet = isinstance(event, Prefill) and time.monotonic() < latest + KEEPALIVE_SECONDS
                        for data in [] if is_quiet else self._encode(event, answer, formatter):
                            latest = time.monotonic()  # of what was sent
                            yield data
                        if isinstance(event, Finish):
                            break  # nothing follows, also if its engine takes a while to end
                        event = await anext(events, None)
            yield self._formatters[-1].last
        except HeadstartError as error:
            if not has_begun:
                raise
            scope[REFUSAL] = refusal = refusal_of(error, scope)
            yield self._formatters[-1].encode(refusal.described(scope))

    def _encode(self, event: Event | Waiting, answer: Answer, formatter: ReplyFormatter) -> list[bytes]:
        match event:
            case Prefill() | Waiting():
                reply_events = formatter.wait()
            case Step(text, pieces=pieces, scored=scored):
                reply_events = formatter.extend(self._chunk(event)) if text or pieces or scored else ()
            case Finish():
                reply_events = formatter.finish(_unless_cancelled(event, answer))
        return [formatter.encode(each) for each in reply_events]

    def _chunk(self, *steps: Step) -> AnswerChunk:
        scored = tuple(token for step in steps for token in step.scored) if self._with_tokens else None
        text, thinking = "".join(step.text for step in steps), "".join(step.thinking for step in steps)
        return AnswerChunk(text, thinking, scored)

    async def _send(self, send: Send, message: MutableMapping[str, Any]) -> None:
        async with asyncio.timeout(self._send_seconds):
            await send(message)


def _unless_cancelled(finish: Finish, answer: Answer) -> Finish:
    """Return the end of an answer. Raises RefusedError if the server ended it."""
    if finish.reason is FinishReason.CANCELLED and not answer.out_of_time:
        raise stopping()
    return finish


def refusal_of(error: HeadstartError, scope: Scope) -> RefusedError:
    """Return the refusal that reports `error` to the client of a request."""
    max_context = longest_context(scope.get(MODEL, "")) if isinstance(error, ContextOverflowError) else 0
    return to_refusal(error, scope["path"], max_context)


@asynccontextmanager
async def cancelled_on_disconnect(receive: Receive, answers: Sequence[Answer]) -> AsyncIterator[None]:
    """Cancel the answers when the client disconnects, and at the end of the block."""

    def cancel() -> None:
        for answer in answers:
            answer.cancel()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    finally:
        watcher.cancel()
        cancel()
