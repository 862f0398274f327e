"""The engine in a process of its own, and an Engine in front of it for programs without a window."""

import contextlib
import itertools
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil

from headstart import errors
from headstart.engine.bench.result import BenchResult
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, LoadOptions, Request
from headstart.engine.process.watchdog import POLL_S, HangReport, Timeouts, Watchdog
from headstart.engine.protocol import (
    Bench,
    Benched,
    BenchReport,
    BenchSize,
    Cancel,
    Describe,
    Described,
    Description,
    Failed,
    Finished,
    Generate,
    LineSplitter,
    Load,
    Loaded,
    Loading,
    Logged,
    ModelInfo,
    Order,
    Prefilled,
    Ready,
    Report,
    Stepped,
    decode_report,
    encode,
)
from headstart.engine.supervision import (
    CANCEL_GRACE,
    CLOSE_GRACE,
    KILL_GRACE,
    OUT_OF_MEMORY,
    Journal,
    RestartBudget,
    ending,
    program,
)
from headstart.engine.tuning.messages import Findings, Tune, TuneEnded, TuneReport, TuneRequest
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError

_CHUNK = 65536  # bytes
_SIDE_ORDER_S = 120.0  # for orders without a model: the watchdog ignores them, and a driver may hang
_R = TypeVar("_R", Loaded, Described, Benched, TuneEnded)


@dataclass(frozen=True)
class Ended:
    """The process has ended."""

    code: int  # exit code, or a signal below zero


ProcessEvent = Report | HeadstartError | Ended
EventQueue = queue.SimpleQueue[ProcessEvent]


class EngineProcess:
    """A running process: orders go in, reports come out, other output goes to the journal.

    It never blocks and is never restarted.
    """

    def __init__(
        self,
        command: Sequence[str],
        journal: Journal,
        on_event: Callable[[ProcessEvent], None],
        timeouts: Timeouts | None = None,
    ) -> None:
        """Start the process. Raises EngineLostError if there is no such program.

        `on_event` is called on another thread: with each report, with a ProtocolError for a bad one, and last
        with Ended.
        """
        self._journal, self._on_event, self._watchdog = journal, on_event, Watchdog(timeouts)
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise EngineLostError(
                "The engine cannot be started ({error}); install Headstart again.", error=error
            ) from None
        self.pid = self._process.pid
        work = (self._write_orders, self._read_errors, self._read_reports)
        self._threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def send(self, order: Order) -> None:
        """Send an order. A dead process ignores it; its end is reported."""
        self._watchdog.note_order(order)
        self._orders.put(order)

    @property
    def is_idle(self) -> bool:
        return self._watchdog.is_idle

    def note_report(self, report: Report) -> None:
        """Tell the watchdog about a report that was handled."""
        self._watchdog.note_report(report)

    def find_hang(self) -> HangReport | None:
        """Return a report if the process hangs; call it every POLL_S while the process works."""
        return self._watchdog.find_hang(self._processor_seconds)

    def end(self) -> None:
        """Close its input, so that it ends."""
        self._orders.put(None)

    def kill(self) -> None:
        self._process.kill()

    def abandon(self) -> None:
        """Report nothing more, and do not wait: a process that hangs in a driver may survive its kill."""
        self._on_event = lambda _: None
        if self._process.poll() is None:
            self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")

    def close(self, grace: float = CLOSE_GRACE) -> None:
        """Close its input, wait `grace` seconds, then kill it."""
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_GRACE)
            for thread in self._threads:
                thread.join(KILL_GRACE)
        self.abandon()

    def _processor_seconds(self) -> float:
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:  # it has gone
            return 0.0
        return float(times.user + times.system)

    def _write_orders(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            while order := self._orders.get():
                pipe.write(encode(order))

    def _read_errors(self) -> None:
        assert self._process.stderr
        with self._process.stderr as pipe:
            for line in pipe:
                self._journal.write(line.decode("utf-8", "replace"))

    def _read_reports(self) -> None:
        assert self._process.stdout
        lines = LineSplitter()
        with self._process.stdout as pipe:
            while chunk := pipe.read(_CHUNK):
                for line in lines.push(chunk):
                    try:
                        report = decode_report(line)
                    except HeadstartError as error:
                        self._on_event(error)
                        continue
                    if isinstance(report, Logged):
                        self._journal.write(f"{report.level} {report.source}: {report.text}")
                    else:
                        self._on_event(report)
        ended = Ended(self._process.wait())
        self._orders.put(None)
        self._threads[1].join(1.0)  # for its last output; a child may have inherited the pipe
        self._on_event(ended)


class ReportRouter:
    """Sorts the events of one process by the answers at work."""

    def __init__(self) -> None:
        self.answers: dict[int, EventQueue] = {}  # by generation
        self.rest = EventQueue()  # events of no answer
        self.end: Ended | HeadstartError | None = None  # sent to everyone: nothing after it can be trusted

    def take(self, event: ProcessEvent) -> None:
        """Sort an event, on the thread that reads."""
        if isinstance(event, Ended | HeadstartError):
            self.end = event
            for events in (self.rest, *self.answers.copy().values()):
                events.put(event)
        else:
            self.answers.get(getattr(event, "generation", None) or 0, self.rest).put(event)


class EngineClient:
    """An Engine whose process is started when needed and replaced when it dies.

    It accepts one call at a time. Several threads may call `generate` if the model was loaded for parallel answers.
    """

    def __init__(
        self, command: Sequence[str] | None = None, journal: Journal | None = None, timeouts: Timeouts | None = None
    ) -> None:
        """Start nothing yet. Tests replace `command` and `timeouts`."""
        self._timeouts = timeouts
        self._journal = journal or Journal()
        self._command = command or program("--log", str(self._journal.path))
        self._budget = RestartBudget()
        self._process: EngineProcess | None = None
        self._router = ReportRouter()
        self._starting, self._dropping = threading.Lock(), threading.Lock()
        self._options: LoadOptions | None = None
        self._facts: ModelInfo | None = None
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def facts(self) -> ModelInfo | None:
        """The model that was loaded last."""
        return self._facts

    def load(self, options: LoadOptions, on_progress: Callable[[Loading], None] | None = None) -> ModelInfo:
        """Load a model in a new process, so that nothing remains of the previous one. Raises what loading raises."""
        self.close()
        self._start()
        self._facts = self._ask(Load(options), Loaded, on_progress).facts
        self._options = options
        self._budget.reset()
        return self._facts

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Also raises EngineLostError; the events before it remain valid."""
        with self._starting:
            process, generation = self._alive(), next(self._numbers)
            router, events = self._router, EventQueue()
        router.answers[generation] = events
        if router.end:  # it came before `events` was registered
            events.put(router.end)
        process.send(Generate(generation, request))
        has_ended = False
        try:
            for report in self._reports_of(generation, process, router, cancel or CancelEvent()):
                has_ended = isinstance(report, Finished | Failed)
                match report:
                    case Prefilled():
                        yield report.progress
                    case Stepped():
                        yield report.step
                    case Finished():
                        yield report.finish
                    case Failed():
                        raise self._fault(report, process)
        finally:
            if not has_ended and self._process is process:  # the caller left early
                stop = CancelEvent()
                stop.set()
                with contextlib.suppress(HeadstartError):
                    list(self._reports_of(generation, process, router, stop, begun=True))
            del router.answers[generation]

    def describe(self) -> Description:
        """Return the devices, memory and versions of this machine."""
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
        self._drop(CLOSE_GRACE)

    def _reports_of(
        self, generation: int, process: EngineProcess, router: ReportRouter, cancel: CancelEvent, *, begun: bool = False
    ) -> Iterator[Report]:
        """Yield the reports of one answer. Before it has `begun`, it may wait for other answers."""
        deadline = float("inf")
        events = router.answers[generation]

        def stop() -> None:
            nonlocal deadline
            process.send(Cancel(generation))
            deadline = time.monotonic() + CANCEL_GRACE

        with cancel.calling(stop):
            while True:
                report = self._next(POLL_S, process, events)
                if report:
                    begun = True
                    yield report
                    if isinstance(report, Finished | Failed):
                        return
                if cancel.is_set() and not begun and len(router.answers) > 1:  # it ends when its turn comes
                    deadline = time.monotonic() + CANCEL_GRACE
                if time.monotonic() > deadline:
                    self._drop(0.0, process)
                    raise EngineLostError("The engine did not stop in time and was ended; it starts again when needed.")

    def _alive(self) -> EngineProcess:
        """Return the process with the model. Replace a dead one, within the budget of restarts."""
        if self._process:
            return self._process
        if self._options and not self._budget.take():
            raise EngineLostError(
                "The engine stopped too often; load the model again, or see {path}.", path=self._journal.path
            )
        process = self._start()
        if self._options:
            self._ask(Load(self._options), Loaded)
        return process

    def _start(self) -> EngineProcess:
        router = self._router = ReportRouter()
        process = self._process = EngineProcess(self._command, self._journal, router.take, self._timeouts)
        if not isinstance(self._next(None, process, router.rest), Ready):
            self._drop(0.0)
            raise EngineLostError("The engine does not start; see {path}.", path=self._journal.path)
        return process

    def _ask(self, order: Order, report_type: type[_R], on_progress: Callable[[Any], None] | None = None) -> _R:
        process = self._alive()
        process.send(order)
        while True:
            match self._next(_SIDE_ORDER_S if report_type is Described else None, process, self._router.rest):
                case None:
                    self._drop(0.0)
                    raise EngineLostError(
                        "The engine did not answer in time and was ended; it starts again when needed."
                    )
                case Failed() as report if report.order == type(order).__name__:
                    raise self._fault(report, process)
                case report if isinstance(report, report_type):
                    return report
                case report if on_progress and isinstance(report, Loading | BenchReport | TuneReport):
                    on_progress(report)

    def _next(self, timeout: float | None, process: EngineProcess, events: EventQueue) -> Report | None:
        """Return the next report of a process, or None after `timeout` seconds."""
        while True:
            try:
                event = events.get(timeout=POLL_S if timeout is None else timeout)
                break
            except queue.Empty:
                hang = process.find_hang()
                if hang:
                    self._drop(0.0, process)
                    raise EngineLostError(hang.sentence) from None
                if timeout is not None:
                    return None
        if not isinstance(event, Ended | HeadstartError):
            process.note_report(event)
            return event
        self._drop(0.0, process)  # it is dead, or its output cannot be trusted
        if isinstance(event, HeadstartError):
            raise event
        how = ending(event.code)
        if how == OUT_OF_MEMORY:
            raise EngineLostError(
                "The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it "
                "starts again when it is needed.",
                ending=how,
            )
        raise EngineLostError(
            "The engine stopped unexpectedly ({ending}); see {path}.", ending=how, path=self._journal.path
        )

    def _fault(self, report: Failed, process: EngineProcess) -> HeadstartError:
        error: HeadstartError = getattr(errors, report.kind)(report.sentence)
        if isinstance(error, OutOfMemoryError):  # the process is not reliable any more, and frees no memory
            self._drop(CLOSE_GRACE, process)
        return error

    def _drop(self, grace: float, process: EngineProcess | None = None) -> None:
        """End the process, unless it has been replaced by another one than `process`."""
        with self._dropping:
            if process is not None and process is not self._process:
                return
            process, self._process = self._process, None
        if process:
            process.close(grace)
