"""The queue of requests. A few are answered at a time, clients take turns, some wait, the rest are refused."""

import asyncio
import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, Finish, Request, Stats, Step
from headstart.errors import EngineLostError
from headstart.server.errors import BUSY, Fault, RefusedError, invalid, stopping, too_large
from headstart.server.models import ModelRegistry, Served, TextGenerator
from headstart.server.running_servers import ModelProcess
from headstart.tools import calls


@dataclass(frozen=True)
class Limits:
    """Limits that keep one client, or one mistake, from blocking the server."""

    parallel: int = 1  # requests answered at the same time, by one model
    waiting: int = 16  # requests in the queue
    body_bytes: int = 32 * 2**20  # size of a request, unpacked; results of tools may have many pictures
    text_bytes: int = 4 * 2**20  # what a model is to read of it; the longest contexts need a tenth of it
    connection_seconds: float = 75.0  # that a connection without a request is kept for the next one
    head_seconds: float = 10.0  # for the head of a request to arrive, from its first byte on
    body_seconds: float = 30.0  # for the body of a request to arrive
    send_seconds: float = 60.0  # for a client to take a part of an answer
    answer_seconds: float = 1800.0  # for an answer, from its first pass on
    idle_seconds: float | None = None  # time without a request after which models are freed


KEEPALIVE_SECONDS = 5.0  # between two reports of an answer that waits
_SHUTDOWN_SECONDS = 5.0  # for the end of an answer when the server stops
_MAX_RETRY_SECONDS = 60  # longest wait that a refused client is asked for
_DURATION_WEIGHT = 0.3  # of the last answer in the average duration


class Waiting:
    """An answer that has to wait."""


class Answer:
    """An answer on its way from the worker's thread, which fills it, to its client.

    Create it on the thread of the event loop. `cancel` may be called from any thread.
    """

    def __init__(self) -> None:
        self.out_of_time = False
        self.stats: Stats | None = None  # set once the answer is written, also if nobody reads it
        self.has_prompt = True  # False: its prompt is counted for another answer
        self.first_seconds: float | None = None  # from here to the first token
        self._created = time.monotonic()
        self._cancelled = CancelEvent()
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | Waiting | None] = asyncio.Queue()
        self.work: Future[None] = Future()  # fills the answer
        self.work.add_done_callback(lambda _: self._put(None))

    def report_wait(self) -> None:
        self._put(Waiting())

    def follow(self, engine: TextGenerator, request: Request, seconds: float) -> None:
        """Let the engine write the answer. Called on the worker's thread."""
        clock = threading.Timer(seconds, self._expire)
        clock.daemon = True
        try:
            for event in calls.events(lambda engine_request: engine.generate(engine_request, self._cancelled), request):
                if clock.ident is None:  # the first event: its turn has come
                    clock.start()
                if isinstance(event, Finish):
                    self.stats = event.stats
                self._put(event)
        finally:
            clock.cancel()

    @property
    def usage(self) -> Stats | None:
        """The statistics, without the tokens of a prompt that are counted for another answer of the request."""
        if self.stats and not self.has_prompt:
            return replace(self.stats, prompt_tokens=0, reused_tokens=0)
        return self.stats

    def call_at_end(self, call: Callable[[], object]) -> None:
        """Call a function on the thread of the event loop: now if the answer is written, or once it has ended."""
        if self.stats:
            call()
        else:
            self.work.add_done_callback(lambda _: self._call(call))

    def cancel(self) -> None:
        """End the answer within one round. If it has not begun, its place in the queue is free at once."""
        self._cancelled.set()
        self.work.cancel()

    async def events(self) -> AsyncGenerator[Event | Waiting]:
        """Yield the engine's events; no Finish if the answer never began. Raises what the engine raised."""
        try:
            while (event := await self._next()) is not None:
                if isinstance(event, Step) and self.first_seconds is None:
                    self.first_seconds = time.monotonic() - self._created
                yield event
            if not self.work.cancelled():
                self._raise_failure()
        finally:
            self.cancel()

    async def _next(self) -> Event | Waiting | None:
        try:
            async with asyncio.timeout(KEEPALIVE_SECONDS):
                return await self._events.get()
        except TimeoutError:
            return Waiting()

    def _raise_failure(self) -> None:
        try:
            self.work.result()
        except EngineLostError:
            if self._cancelled.is_set() and not self.out_of_time:  # the engine was too slow to cancel it
                raise stopping() from None
            raise

    def _expire(self) -> None:
        self.out_of_time = True
        self.cancel()

    def _put(self, event: Event | Waiting | None) -> None:
        self._call(partial(self._events.put_nowait, event))

    def _call(self, call: Callable[[], object]) -> None:
        if not self._loop.is_closed():  # a server that is stopped twice does not wait
            self._loop.call_soon_threadsafe(call)


@dataclass(frozen=True, eq=False)
class _QueuedRequest:
    answer: Answer
    request: Request
    model: Served
    client: str


class Worker:
    """A queue and the threads that answer its requests.

    The next one is the oldest request of the client that was served least recently. Answers at the same time are of one
    model; a request for another model waits for their end. A request for tokens alone waits for no answer.
    """

    def __init__(
        self, models: ModelRegistry, limits: Limits, on_change: Callable[[tuple[ModelProcess, ...]], None] | None = None
    ) -> None:
        """`on_change` gets the models in memory when they or their answers have changed."""
        self.models, self.limits = models, limits
        self._parallel = limits.parallel  # the limit, or less if the model opened last can do less
        self._on_change, self._report_lock = on_change, threading.Lock()
        self._waiting: list[_QueuedRequest] = []
        self._last_turns: dict[str, int] = {}  # number of each client's last turn, since the queue was empty
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._running: list[_QueuedRequest] = []
        self._unfinished: set[Answer] = set()
        self._average_seconds = 1.0
        self.is_stopped = False  # no request is taken any more
        # Python waits for other threads at its end, but this one may be loading a model.
        self._thread = threading.Thread(target=self._work, daemon=True, name="engine")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Requests in the queue."""
        return sum(not queued.answer.work.done() for queued in tuple(self._waiting))

    def take(self, requests: Sequence[Request], model: Served, client: str = "") -> list[Answer]:
        """Queue requests and return their answers, which begin at their turns.

        Raises RefusedError if too many requests wait, or one is too long.
        """
        if self.is_stopped:
            raise stopping()
        if any(len(msgspec.json.encode(request)) > self.limits.text_bytes for request in requests):
            raise too_large(self.limits.text_bytes, "text: shorten it")
        places = self.limits.waiting + self._parallel
        if len(requests) > places:
            raise invalid("So many answers find no place in the queue of this server: ask for fewer.", "n")
        if self._count_unfinished() + len(requests) > places:
            raise self._queue_full()
        answers = [self._enqueue(request, model, client) for request in requests]
        if self.is_stopped:  # meanwhile, so that `stop` may not have seen these
            for answer in answers:
                answer.cancel()
        return answers

    def _count_unfinished(self) -> int:
        """Return how many answers are not written yet: one that has just ended is still in the set for a moment."""
        return sum(not answer.work.done() for answer in self._unfinished)

    def _enqueue(self, request: Request, model: Served, client: str) -> Answer:
        answer, loop = Answer(), asyncio.get_running_loop()
        if self._count_unfinished() >= self._parallel:
            answer.report_wait()
        self._unfinished.add(answer)
        answer.work.add_done_callback(lambda _: loop.is_closed() or loop.call_soon_threadsafe(self._forget, answer))
        with self._changed:
            self._waiting.append(_QueuedRequest(answer, request, model, client))
            self._changed.notify_all()
        return answer

    def _forget(self, answer: Answer) -> None:
        """Note the end of an answer, also of one that never began: others may have waited for its turn."""
        self._unfinished.discard(answer)
        with self._changed:
            self._changed.notify_all()

    def report_models(self) -> None:
        with self._report_lock:
            if self._on_change:
                answers = Counter(queued.model.id for queued in tuple(self._running))
                self._on_change(tuple(replace(model, answers=answers[model.name]) for model in self.models.loaded()))

    def stop(self) -> None:
        """End all answers and accept no more requests. May be called in a signal handler."""
        self.is_stopped = True
        for answer in tuple(self._unfinished):
            answer.cancel()

    def close(self) -> None:
        """Stop, and wait for the end of the answers. Does not wait for a model that is being loaded."""
        self.stop()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running, _SHUTDOWN_SECONDS)
        self._thread.join(_SHUTDOWN_SECONDS)
        with self._report_lock:
            self._on_change = None

    def _work(self) -> None:
        while not self.is_stopped:
            queued = self._next()
            if queued:
                arguments = queued, self._open_model(queued)
                threading.Thread(target=self._answer, args=arguments, daemon=True, name="answer").start()
            elif not self.is_stopped:
                self.models.release()
            self.report_models()

    def _open_model(self, queued: _QueuedRequest) -> TextGenerator | Exception:
        try:
            engine = self.models.open(queued.model, queued.answer.report_wait)
            self._parallel = min(self.limits.parallel, self.models.parallel(queued.model) or self.limits.parallel)
        except Exception as error:  # noqa: BLE001 - it goes to the client, and the server continues
            return error
        return engine

    def _answer(self, queued: _QueuedRequest, engine: TextGenerator | Exception) -> None:
        started = time.monotonic()
        try:
            if isinstance(engine, Exception):
                raise engine
            queued.answer.follow(engine, queued.request, self.limits.answer_seconds)
        except Exception as error:  # noqa: BLE001 - it goes to the client, and the server continues
            queued.answer.work.set_exception(error)
        else:
            queued.answer.work.set_result(None)
        self._average_seconds += _DURATION_WEIGHT * (time.monotonic() - started - self._average_seconds)
        with self._changed:
            self._running.remove(queued)
            self._changed.notify_all()
        self.report_models()

    def _next(self) -> _QueuedRequest | None:
        """Wait for a request that may begin; return None if none came for a while, or the server stops."""
        with self._changed:
            while not (queued := self._take_turn()):
                changed = self._changed.wait(None if self._running else self.limits.idle_seconds)
                if self.is_stopped or not changed:
                    return None
            return queued

    def _take_turn(self) -> _QueuedRequest | None:
        """Take the request whose turn it is from the queue; None if it has to wait, or its client has just left."""
        self._waiting = [queued for queued in self._waiting if not queued.answer.work.done()]
        queued = self._choose()
        if queued is None:
            return None
        self._waiting.remove(queued)
        if not queued.answer.work.set_running_or_notify_cancel():
            return None
        if not self._waiting:
            self._last_turns.clear()
        self._last_turns[queued.client] = next(self._numbers)
        self._running.append(queued)
        return queued

    def _choose(self) -> _QueuedRequest | None:
        """Return the waiting request that may begin. One that only asks for tokens overtakes those that may not."""
        at_work = {queued.model.id for queued in self._running}
        if self._waiting and len(self._running) < self._parallel:
            first = min(self._waiting, key=lambda queued: self._last_turns.get(queued.client, 0))
            if at_work <= {first.model.id}:
                return first
        tokens = (queued for queued in self._waiting if queued.request.tokens_only and at_work == {queued.model.id})
        return next(tokens, None)

    def _queue_full(self) -> RefusedError:
        pause = min(_MAX_RETRY_SECONDS, max(1, math.ceil(self._average_seconds)))
        sentence = f"{self.limits.waiting} requests are waiting already: ask again in {pause} s."
        return RefusedError(429, Fault(sentence, BUSY, code="queue_full"), {"retry-after": str(pause)})
