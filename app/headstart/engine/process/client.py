"""An Engine in a process of its own, for programs without a window."""

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, TypeVar

from headstart import errors
from headstart.engine.bench.result import BenchResult
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, LoadOptions, Request
from headstart.engine.process.session import Ended, EngineSession, Lost, ProcessEvent
from headstart.engine.process.watchdog import POLL_S, Timeouts
from headstart.engine.protocol import (
    Bench,
    Benched,
    BenchReport,
    BenchSize,
    Describe,
    Described,
    Description,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Loading,
    ModelInfo,
    Order,
    Prefilled,
    Report,
    Stepped,
)
from headstart.engine.supervision import OUT_OF_MEMORY, Journal, ending
from headstart.engine.tuning.messages import Findings, Tune, TuneEnded, TuneReport, TuneRequest
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError, Translatable

_SIDE_ORDER_S = 120.0  # for orders without a model: the watchdog ignores them, and a driver may hang
_MUTE = Translatable("The engine did not answer in time and was ended; it starts again when needed.")
_R = TypeVar("_R", Loaded, Described, Benched, TuneEnded)
_Inbox = queue.SimpleQueue[Report | HeadstartError]


class EngineClient:
    """An Engine whose process is started when needed and replaced when it dies.

    It accepts one call at a time. Several threads may call `generate` if the model was loaded for parallel answers.
    """

    def __init__(
        self, command: Sequence[str] | None = None, journal: Journal | None = None, timeouts: Timeouts | None = None
    ) -> None:
        """Start nothing yet. Tests replace `command` and `timeouts`."""
        self._journal = journal or Journal()
        self._session = EngineSession(command, self._journal, self._take, timeouts, restarts_at_once=False)
        self._lock = threading.RLock()  # of the session; a signal handler may cancel while its thread is in here
        self._inboxes: dict[int, _Inbox] = {}  # by generation; 0: what belongs to no answer
        self.model_info: ModelInfo | None = None  # of the model that was loaded last
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        return self._session.process.pid if self._session.process else None

    def load(self, options: LoadOptions, on_progress: Callable[[Loading], None] | None = None) -> ModelInfo:
        """Load a model in a new process, so that nothing remains of the previous one. Raises what loading raises."""
        self.close()
        self.model_info = self._ask(Load(options), Loaded, on_progress).model_info
        return self.model_info

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Also raises EngineLostError; the events before it remain valid."""
        generation = next(self._numbers)
        stop = partial(self._cancel, generation)
        try:
            inbox = self._send(Generate(generation, request), generation)
            with (cancel or CancelEvent()).calling(stop):
                while True:
                    match self._next(inbox):
                        case Prefilled(_, event) | Stepped(_, event):
                            yield event
                        case Finished(_, finish):
                            yield finish
                            return
                        case Failed() as report:
                            raise self._error(report)
        finally:
            stop()  # the caller may have left early
            with suppress(HeadstartError):
                while generation in self._session.answers:
                    self._next(inbox)
            del self._inboxes[generation]

    def describe(self) -> Description:
        """Return the devices of this machine, and the versions of its packages."""
        return self._ask(Describe(next(self._numbers)), Described).description

    def bench(
        self, size: BenchSize, report: Callable[[BenchReport], None], before: BenchResult | None = None
    ) -> Mapping[str, Any]:
        """Race the ways to decode with the loaded model, and return the figures. Raises what the race raises.

        `report` is called with the progress. `before` is the result of a race that was cut off.
        """
        result = self._ask(Bench(next(self._numbers), size, before), Benched, report).result
        assert result is not None, "nobody stops it"
        return result

    def tune(self, request: TuneRequest, report: Callable[[TuneReport], None]) -> Findings:
        """Tune the models of a request, and return what was found. `report` is called with the progress."""
        findings = self._ask(Tune(next(self._numbers), request), TuneEnded, report).findings
        assert findings is not None, "nobody stops it"
        return findings

    def close(self) -> None:
        """End the process."""
        if process := self._session.process:
            with self._lock:
                self._session.end()
            process.wait()

    def _send(self, order: Order, generation: int = 0) -> _Inbox:
        with self._lock:
            inbox = self._inboxes[generation] = _Inbox()
            if isinstance(order, Load):
                self._session.load(order.options)
            else:
                self._session.send(order)
        return inbox

    def _cancel(self, generation: int) -> None:
        with self._lock:
            self._session.cancel(generation)

    def _ask(self, order: Order, report_type: type[_R], on_progress: Callable[[Any], None] | None = None) -> _R:
        inbox = self._send(order)
        while True:
            match self._next(inbox, _SIDE_ORDER_S if report_type is Described else inf):
                case Failed() as report if report.order == type(order).__name__:
                    raise self._error(report)
                case report if isinstance(report, report_type):
                    return report
                case report if on_progress and isinstance(report, Loading | BenchReport | TuneReport):
                    on_progress(report)

    def _next(self, inbox: _Inbox, patience: float = inf) -> Report:
        """Return the next report. Raises EngineLostError if the process dies or, while idle, is silent for too long."""
        deadline = time.monotonic() + patience
        while True:
            delay = self._session.poll_delay()
            try:
                event = inbox.get(timeout=min(delay, POLL_S))
                break
            except queue.Empty:
                with self._lock:
                    if delay == inf and time.monotonic() > deadline:
                        self._session.end(EngineLostError(_MUTE))
                    self._publish(self._session.poll())
        if isinstance(event, HeadstartError):
            raise event
        return event

    def _take(self, number: int, event: ProcessEvent) -> None:
        with self._lock:
            self._publish(self._session.take(number, event))

    def _publish(self, outcome: Report | Lost | None) -> None:
        """Put a report into the inbox of its answer, or into all inboxes if it concerns the process or its model."""
        if isinstance(outcome, Lost) or (isinstance(outcome, Failed) and outcome.order in ("", Load.__name__)):
            for inbox in list(self._inboxes.values()):
                inbox.put(self._loss(outcome.cause) if isinstance(outcome, Lost) else outcome)
        elif outcome and (own := self._inboxes.get(getattr(outcome, "generation", None) or 0)):
            own.put(outcome)

    def _error(self, report: Failed) -> HeadstartError:
        error: HeadstartError = getattr(errors, report.kind).from_text(report.sentence)
        if isinstance(error, OutOfMemoryError):
            self.close()  # wait until its memory is free
        return error

    def _loss(self, cause: Ended | HeadstartError) -> HeadstartError:
        if isinstance(cause, HeadstartError):
            return cause
        how = ending(cause.code)
        if how == OUT_OF_MEMORY:
            return EngineLostError(
                "The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it "
                "starts again when it is needed.",
                ending=how,
            )
        return EngineLostError(
            "The engine stopped unexpectedly ({ending}); see {path}.", ending=how, path=self._journal.path
        )
