"""One engine for many who ask: answers one at a time in a thread, lets a few wait, refuses the rest."""

import asyncio
import math
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, Finish, Request, Stats
from headstart.errors import EngineLostError
from headstart.server.refusal import BUSY, Fault, RefusedError, stopping


@dataclass(frozen=True)
class Limits:
    """Bounds that keep one client, or one mistake, from taking the server for itself."""

    waiting: int = 16  # requests that may wait while another is answered
    body_bytes: int = 4 * 2**20  # of a request; the longest contexts are a tenth of that
    head_seconds: float = 10.0  # until a connection has sent the head of a request
    body_seconds: float = 30.0  # until the body of a request is there
    send_seconds: float = 60.0  # until a client takes a part of an answer
    answer_seconds: float = 1800.0  # for an answer, from its first pass on


_LONGEST_PAUSE = 60  # seconds that a client is sent away for
_NEWEST = 0.3  # weight of the last answer in the usual duration


class Writer(Protocol):
    """Writes answers: an Engine, or one that is shared with others."""

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        ...


class Answer:
    """One answer on its way from the thread to whoever waits for it. `cancel` may be called from any thread."""

    def __init__(self) -> None:
        """To be filled by the worker's thread; made on the loop's."""
        self.out_of_time = False
        self.stats: Stats | None = None  # once it is written
        self._cancelled = CancelEvent()
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._work: Future[None] | None = None

    def begin(self, work: Future[None]) -> None:
        """Note what fills it."""
        self._work = work
        work.add_done_callback(lambda _: self._put(None))

    def follow(self, engine: Writer, request: Request, seconds: float) -> None:
        """Have the engine write it; on the worker's thread."""
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
        """End it within one round, or before it began: then its place is free at once."""
        self._cancelled.set()
        if self._work is not None:
            self._work.cancel()

    async def events(self) -> AsyncGenerator[Event]:
        """What the engine says, once; without a Finish where it did not begin. Raises what the engine raised."""
        assert self._work is not None
        try:
            while (event := await self._events.get()) is not None:
                if isinstance(event, Finish):
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
            if self._cancelled.is_set() and not self.out_of_time:  # it was too slow to end as it was asked to
                raise stopping() from None
            raise

    def _expire(self) -> None:
        self.out_of_time = True
        self.cancel()

    def _put(self, event: Event | None) -> None:
        if not self._loop.is_closed():  # a server that was told twice to stop does not wait
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


class Worker:
    """Takes requests in their order."""

    def __init__(self, engine: Writer, limits: Limits) -> None:
        """Nothing is asked yet."""
        self._engine = engine
        self.limits = limits
        self._thread = ThreadPoolExecutor(1, "engine")
        self._present: set[Answer] = set()
        self._usual_seconds = 1.0
        self._stopped = False

    def take(self, request: Request) -> Answer:
        """The answer to a request, which begins when its turn has come. Raises RefusedError when too many wait."""
        if self._stopped:
            raise stopping()
        if len(self._present) > self.limits.waiting:
            raise self._too_many()
        answer = Answer()
        self._present.add(answer)
        loop = asyncio.get_running_loop()
        work = self._thread.submit(self._run, answer, request)
        work.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._present.discard, answer))
        answer.begin(work)
        return answer

    def stop(self) -> None:
        """End all answers and take no more. May be called in a signal handler."""
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
        sentence = f"{self.limits.waiting} requests wait already: ask again in {pause} s."
        return RefusedError(429, Fault(sentence, BUSY, code="queue_full"), {"retry-after": str(pause)})
