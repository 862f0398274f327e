"""A queue of requests in front of one engine: one answer at a time in a thread, a few wait, the rest are refused."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, Finish, Request, Stats, Step
from headstart.errors import EngineLostError
from headstart.server.refusal import BUSY, Fault, RefusedError, invalid, stopping


@dataclass(frozen=True)
class Limits:
    """Limits that keep one client, or one mistake, from blocking the server."""

    waiting: int = 16  # requests that may wait while another is answered
    body_bytes: int = 4 * 2**20  # of a request; the longest contexts are a tenth of that
    head_seconds: float = 10.0  # until a connection has sent the head of a request
    body_seconds: float = 30.0  # until the body of a request has arrived
    send_seconds: float = 60.0  # until a client takes a part of an answer
    answer_seconds: float = 1800.0  # for an answer, from its first pass on


_LONGEST_PAUSE = 60  # seconds before a refused client may try again
_NEWEST = 0.3  # weight of the last answer in the usual duration


class Writer(Protocol):
    """Writes answers: an Engine, or a share of one."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        ...


class Answer:
    """One answer on its way from the thread to its client. `cancel` may be called from any thread."""

    def __init__(self) -> None:
        """Made on the thread of the event loop; the worker's thread fills it."""
        self.out_of_time = False
        self.stats: Stats | None = None  # once it is written
        self.first_seconds: float | None = None  # from here to its first token
        self._asked = time.monotonic()
        self._cancelled = CancelEvent()
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._work: Future[None] | None = None

    def begin(self, work: Future[None]) -> None:
        """Note the work that fills it."""
        self._work = work
        work.add_done_callback(lambda _: self._put(None))

    def follow(self, engine: Writer, request: Request, seconds: float) -> None:
        """Let the engine write it; on the worker's thread."""
        clock = threading.Timer(seconds, self._expire)
        clock.daemon = True
        try:
            for event in engine.generate(request, self._cancelled):
                if clock.ident is None:  # its turn has come
                    clock.start()
                self._put(event)
        finally:
            clock.cancel()

    def cancel(self) -> None:
        """End it within one round. If it has not begun, its place in the queue is free at once."""
        self._cancelled.set()
        if self._work is not None:
            self._work.cancel()

    async def events(self) -> AsyncGenerator[Event]:
        """The engine's events; no Finish if the answer never began. Raises what the engine raised."""
        assert self._work is not None
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, Step) and self.first_seconds is None:
                    self.first_seconds = time.monotonic() - self._asked
                elif isinstance(event, Finish):
                    self.stats = event.stats
                yield event
            if not self._work.cancelled():
                self._end()
        finally:
            self.cancel()

    def _end(self) -> None:
        assert self._work is not None
        try:
            self._work.result()
        except EngineLostError:
            if self._cancelled.is_set() and not self.out_of_time:  # it did not end in time when it was cancelled
                raise stopping() from None
            raise

    def _expire(self) -> None:
        self.out_of_time = True
        self.cancel()

    def _put(self, event: Event | None) -> None:
        if not self._loop.is_closed():  # a server that is stopped twice does not wait
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


class Worker:
    """Answers requests in their order."""

    def __init__(self, engine: Writer, limits: Limits) -> None:
        """The queue is empty."""
        self._engine = engine
        self.limits = limits
        self._thread = ThreadPoolExecutor(1, "engine")
        self._present: set[Answer] = set()
        self._usual_seconds = 1.0
        self._stopped = False

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return max(0, len(self._present) - 1)

    def take(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to some requests, which begin at their turns. Raises RefusedError if too many requests wait."""
        if self._stopped:
            raise stopping()
        if len(requests) - 1 > self.limits.waiting:
            raise invalid("So many answers find no place in the queue of this server: ask for fewer.", "n")
        if len(self._present) + len(requests) - 1 > self.limits.waiting:
            raise self._too_many()
        return [self._begun(request) for request in requests]

    def _begun(self, request: Request) -> Answer:
        answer = Answer()
        self._present.add(answer)
        loop = asyncio.get_running_loop()
        work = self._thread.submit(self._run, answer, request)
        work.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._present.discard, answer))
        answer.begin(work)
        return answer

    def stop(self) -> None:
        """End all answers and accept no more requests. May be called in a signal handler."""
        self._stopped = True
        for answer in tuple(self._present):
            answer.cancel()

    def close(self) -> None:
        """Wait for the thread."""
        self.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _run(self, answer: Answer, request: Request) -> None:
        started = time.monotonic()
        answer.follow(self._engine, request, self.limits.answer_seconds)
        self._usual_seconds += _NEWEST * (time.monotonic() - started - self._usual_seconds)

    def _too_many(self) -> RefusedError:
        pause = min(_LONGEST_PAUSE, max(1, math.ceil(self._usual_seconds)))
        sentence = f"{self.limits.waiting} requests are waiting already: ask again in {pause} s."
        return RefusedError(429, Fault(sentence, BUSY, code="queue_full"), {"retry-after": str(pause)})
