"""A queue of requests: a few are answered at a time, clients take turns, some wait, the rest are refused."""

import asyncio
import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, Finish, Request, Stats, Step
from headstart.errors import EngineLostError
from headstart.server.models import Models, Served, Writer
from headstart.server.refusal import BUSY, Fault, RefusedError, invalid, stopping
from headstart.server.running import Loaded
from headstart.tools import calls


@dataclass(frozen=True)
class Limits:
    """Limits that keep one client, or one mistake, from blocking the server."""

    parallel: int = 1  # requests that are answered at the same time, by the same model
    waiting: int = 16  # requests that may wait beside them
    body_bytes: int = 4 * 2**20  # of a request; the longest contexts are a tenth of that
    head_seconds: float = 10.0  # until a connection has sent the head of a request
    body_seconds: float = 30.0  # until the body of a request has arrived
    send_seconds: float = 60.0  # until a client takes a part of an answer
    answer_seconds: float = 1800.0  # for an answer, from its first pass on
    idle_seconds: float | None = None  # without a request, after which models are freed


_SIGN = 5.0  # seconds between two signs of life of an answer that does not go on
_END = 5.0  # seconds for the end of an answer when the server ends
_LONGEST_PAUSE = 60  # seconds before a refused client may try again
_NEWEST = 0.3  # weight of the last answer in the usual duration


@dataclass(frozen=True)
class Waiting:
    """Nothing is written yet; `why` is for people who look at the stream."""

    why: str


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
        self._events: asyncio.Queue[Event | Waiting | None] = asyncio.Queue()
        self.work: Future[None] = Future()  # that fills it
        self.work.add_done_callback(lambda _: self._put(None))

    def tell(self, why: str) -> None:
        """It has to wait."""
        self._put(Waiting(why))

    def follow(self, engine: Writer, request: Request, seconds: float) -> None:
        """Let the engine write it; on the worker's thread."""
        clock = threading.Timer(seconds, self._expire)
        clock.daemon = True
        try:
            for event in calls.events(lambda asked: engine.generate(asked, self._cancelled), request):
                if clock.ident is None:  # its turn has come
                    clock.start()
                self._put(event)
        finally:
            clock.cancel()

    def cancel(self) -> None:
        """End it within one round. If it has not begun, its place in the queue is free at once."""
        self._cancelled.set()
        self.work.cancel()

    async def events(self) -> AsyncGenerator[Event | Waiting]:
        """The engine's events; no Finish if the answer never began. Raises what the engine raised."""
        try:
            while (event := await self._next()) is not None:
                if isinstance(event, Step) and self.first_seconds is None:
                    self.first_seconds = time.monotonic() - self._asked
                elif isinstance(event, Finish):
                    self.stats = event.stats
                yield event
            if not self.work.cancelled():
                self._end()
        finally:
            self.cancel()

    async def _next(self) -> Event | Waiting | None:
        try:
            async with asyncio.timeout(_SIGN):
                return await self._events.get()
        except TimeoutError:
            return Waiting("still waiting")

    def _end(self) -> None:
        try:
            self.work.result()
        except EngineLostError:
            if self._cancelled.is_set() and not self.out_of_time:  # it did not end in time when it was cancelled
                raise stopping() from None
            raise

    def _expire(self) -> None:
        self.out_of_time = True
        self.cancel()

    def _put(self, event: Event | Waiting | None) -> None:
        if not self._loop.is_closed():  # a server that is stopped twice does not wait
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)


@dataclass(frozen=True, eq=False)
class _Turn:
    """A request that waits."""

    answer: Answer
    request: Request
    model: Served
    client: str


class Worker:
    """Answers requests. Next is whoever was served least recently, and of one client the first.

    Answers at the same time are of one model; a request for another one waits for their end.
    """

    def __init__(
        self, models: Models, limits: Limits, note: Callable[[tuple[Loaded, ...]], None] | None = None
    ) -> None:
        """The queue is empty. `note` is told of the models in memory when these, or their answers, have changed."""
        self.models, self.limits = models, limits
        self._parallel = limits.parallel  # of these, as many as the model can that was opened last
        self._note, self._noting = note, threading.Lock()
        self._waiting: list[_Turn] = []
        self._served: dict[str, int] = {}  # when each client had its last turn, since the queue was empty
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._at_work: list[_Turn] = []
        self._present: set[Answer] = set()
        self._usual_seconds = 1.0
        self._stopped = False
        # Python would wait for other threads at its end; this one may be loading a model.
        self._thread = threading.Thread(target=self._work, daemon=True, name="engine")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return max(0, len(self._present) - self._parallel)

    def take(self, requests: Sequence[Request], model: Served, client: str = "") -> list[Answer]:
        """The answers to some requests, which begin at their turns. Raises RefusedError if too many requests wait."""
        if self._stopped:
            raise stopping()
        places = self.limits.waiting + self._parallel
        if len(requests) > places:
            raise invalid("So many answers find no place in the queue of this server: ask for fewer.", "n")
        if len(self._present) + len(requests) > places:
            raise self._too_many()
        return [self._begun(request, model, client) for request in requests]

    def _begun(self, request: Request, model: Served, client: str) -> Answer:
        answer, loop = Answer(), asyncio.get_running_loop()
        if len(self._present) >= self._parallel:
            answer.tell(f"waiting for its turn; other requests: {len(self._present)}")
        self._present.add(answer)
        answer.work.add_done_callback(
            lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._present.discard, answer)
        )
        with self._changed:
            self._waiting.append(_Turn(answer, request, model, client))
            self._changed.notify_all()
        return answer

    def note(self) -> None:
        """Tell what is in memory."""
        with self._noting:
            if self._note:
                answers = Counter(turn.model.id for turn in tuple(self._at_work))
                self._note(tuple(replace(each, answers=answers[each.name]) for each in self.models.loaded()))

    def stop(self) -> None:
        """End all answers and accept no more requests. May be called in a signal handler."""
        self._stopped = True
        for answer in tuple(self._present):
            answer.cancel()

    def close(self) -> None:
        """Stop, and wait for the end of the answers; not for a model that is being loaded."""
        self.stop()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._at_work, _END)
        self._thread.join(_END)
        with self._noting:
            self._note = None

    def _work(self) -> None:
        while not self._stopped:
            turn = self._next()
            if turn:
                self._begin(turn)
            elif not self._stopped:
                self.models.release()
            self.note()

    def _begin(self, turn: _Turn) -> None:
        """Have a thread of its own answer it, once no other model is at work."""
        with self._changed:
            self._changed.wait_for(lambda: all(other.model.id == turn.model.id for other in self._at_work))
            if not turn.answer.work.set_running_or_notify_cancel():  # no model is loaded for a client that has left
                return
            self._at_work.append(turn)
        threading.Thread(target=self._answer, args=(turn, self._opened(turn)), daemon=True, name="answer").start()

    def _opened(self, turn: _Turn) -> Writer | Exception:
        try:
            engine = self.models.open(turn.model, turn.answer.tell)
            self._parallel = min(self.limits.parallel, self.models.parallel(turn.model) or self.limits.parallel)
        except Exception as error:  # noqa: BLE001 - it goes to the client, and the server goes on
            return error
        return engine

    def _answer(self, turn: _Turn, engine: Writer | Exception) -> None:
        started = time.monotonic()
        try:
            if isinstance(engine, Exception):
                raise engine
            turn.answer.follow(engine, turn.request, self.limits.answer_seconds)
        except Exception as error:  # noqa: BLE001 - it goes to the client, and the server goes on
            turn.answer.work.set_exception(error)
        else:
            turn.answer.work.set_result(None)
        self._usual_seconds += _NEWEST * (time.monotonic() - started - self._usual_seconds)
        with self._changed:
            self._at_work.remove(turn)
            self._changed.notify_all()
        self.note()

    def _next(self) -> _Turn | None:
        """Wait for a request; None if none came for a while, or the server ends."""
        with self._changed:
            while not self._waiting or len(self._at_work) >= self._parallel:
                changed = self._changed.wait(None if self._at_work else self.limits.idle_seconds)
                if self._stopped or not changed:
                    return None
            turn = min(self._waiting, key=lambda turn: self._served.get(turn.client, 0))
            self._waiting.remove(turn)
            if not self._waiting:
                self._served.clear()
            self._served[turn.client] = next(self._numbers)
            return turn

    def _too_many(self) -> RefusedError:
        pause = min(_LONGEST_PAUSE, max(1, math.ceil(self._usual_seconds)))
        sentence = f"{self.limits.waiting} requests are waiting already: ask again in {pause} s."
        return RefusedError(429, Fault(sentence, BUSY, code="queue_full"), {"retry-after": str(pause)})
