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
from headstart.engine.process.watch import LOOK, Patience, Silence, Watch
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
_ASIDE = 120.0  # seconds for orders that need no model: they are not watched, and a driver may hang
_R = TypeVar("_R", Loaded, Described, Benched, TuneEnded)


@dataclass(frozen=True)
class Ended:
    """The process has ended; `code` is its exit code, or a signal below zero."""

    code: int


Told = Report | HeadstartError | Ended
Inbox = queue.SimpleQueue[Told]


class EngineProcess:
    """Orders go in, reports come out; other output goes to the journal. Never blocks, and is never restarted."""

    def __init__(
        self, command: Sequence[str], journal: Journal, tell: Callable[[Told], None], patience: Patience | None = None
    ) -> None:
        """Start it. Raises EngineLostError if there is no such program.

        `tell` is called on another thread, with a ProtocolError for a bad report, and last with Ended.
        """
        self._journal, self._tell, self._watch = journal, tell, Watch(patience)
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
        """Send one order; nothing to a dead process, whose end is reported."""
        self._watch.note_order(order)
        self._orders.put(order)

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do."""
        return self._watch.is_idle

    def note(self, report: Report) -> None:
        """To be called with each report that was taken."""
        self._watch.note_report(report)

    def look(self) -> Silence | None:
        """To be called every LOOK or so while it works; the Silence of a process that hangs."""
        return self._watch.look(self._processor_seconds)

    def end(self) -> None:
        """Close its input, so that it ends."""
        self._orders.put(None)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def leave(self) -> None:
        """Report nothing more. A process that hangs in a driver may survive its kill; do not wait for it."""
        self._tell = lambda _: None
        if self._process.poll() is None:
            self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")

    def close(self, grace: float = CLOSE_GRACE) -> None:
        """Close its input, wait `grace` seconds, then kill."""
        self.end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_GRACE)
            for thread in self._threads:
                thread.join(KILL_GRACE)
        self.leave()

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
                        self._tell(error)
                        continue
                    if isinstance(report, Logged):
                        self._journal.write(f"{report.level} {report.source}: {report.text}")
                    else:
                        self._tell(report)
        ended = Ended(self._process.wait())
        self._orders.put(None)
        self._threads[1].join(1.0)  # its last output is in the journal; do not wait for a child that inherited the pipe
        self._tell(ended)


class Post:
    """What one process tells, sorted by the answers that are at work."""

    def __init__(self) -> None:
        """Nothing was told."""
        self.answers: dict[int, Inbox] = {}  # by generation
        self.rest = Inbox()  # what is of no answer
        self.end: Ended | HeadstartError | None = None  # after it nothing can be trusted; everyone is told

    def take(self, told: Told) -> None:
        """Sort it; on the thread that reads."""
        if isinstance(told, Ended | HeadstartError):
            self.end = told
            for inbox in (self.rest, *self.answers.copy().values()):
                inbox.put(told)
        else:
            self.answers.get(getattr(told, "generation", None) or 0, self.rest).put(told)


class EngineClient:
    """An Engine whose process is started when needed and replaced when it dies.

    One call at a time, but for `generate`, which several threads may call where the model was loaded for that.
    """

    def __init__(
        self, command: Sequence[str] | None = None, journal: Journal | None = None, patience: Patience | None = None
    ) -> None:
        """`command` and `patience` are the usual ones, except in tests."""
        self._patience = patience
        self._journal = journal or Journal()
        self._command = command or program("--log", str(self._journal.path))
        self._budget = RestartBudget()
        self._process: EngineProcess | None = None
        self._post = Post()
        self._starting, self._dropping = threading.Lock(), threading.Lock()
        self._options: LoadOptions | None = None
        self._facts: ModelInfo | None = None
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return self._process.pid if self._process else None

    @property
    def facts(self) -> ModelInfo | None:
        """What was loaded last."""
        return self._facts

    def load(self, options: LoadOptions, tell: Callable[[Loading], None] | None = None) -> ModelInfo:
        """Load a model in a new process, so that nothing remains of the last. Raises what loading raises."""
        self.close()
        self._start()
        self._facts = self._ask(Load(options), Loaded, tell).facts
        self._options = options
        self._budget.reset()
        return self._facts

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Also raises EngineLostError; the events before it are the part of the answer to keep."""
        with self._starting:
            process, generation = self._alive(), next(self._numbers)
            post, inbox = self._post, Inbox()
        post.answers[generation] = inbox
        if post.end:  # before it could be told here
            inbox.put(post.end)
        process.send(Generate(generation, request))
        ended = False
        try:
            for report in self._reports_of(generation, process, post, cancel or CancelEvent()):
                ended = isinstance(report, Finished | Failed)
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
            if not ended and self._process is process:  # the caller left early
                stop = CancelEvent()
                stop.set()
                with contextlib.suppress(HeadstartError):
                    list(self._reports_of(generation, process, post, stop, begun=True))
            del post.answers[generation]

    def describe(self) -> Description:
        """Devices, memory and versions of this machine."""
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
        """See Engine.close: ends the process."""
        self._drop(CLOSE_GRACE)

    def _reports_of(
        self, generation: int, process: EngineProcess, post: Post, cancel: CancelEvent, *, begun: bool = False
    ) -> Iterator[Report]:
        """The reports of one answer up to its end. Before it has `begun`, it may wait for others."""
        deadline = float("inf")
        inbox = post.answers[generation]

        def stop() -> None:
            nonlocal deadline
            process.send(Cancel(generation))
            deadline = time.monotonic() + CANCEL_GRACE

        with cancel.calling(stop):
            while True:
                report = self._next(LOOK, process, inbox)
                if report:
                    begun = True
                    yield report
                    if isinstance(report, Finished | Failed):
                        return
                if cancel.is_set() and not begun and len(post.answers) > 1:  # it ends at its turn
                    deadline = time.monotonic() + CANCEL_GRACE
                if time.monotonic() > deadline:
                    self._drop(0.0, process)
                    raise EngineLostError("The engine did not stop in time and was ended; it starts again when needed.")

    def _alive(self) -> EngineProcess:
        """The process with the model; a dead one is replaced, within the budget of restarts."""
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
        post = self._post = Post()
        process = self._process = EngineProcess(self._command, self._journal, post.take, self._patience)
        if not isinstance(self._next(None, process, post.rest), Ready):
            self._drop(0.0)
            raise EngineLostError("The engine does not start; see {path}.", path=self._journal.path)
        return process

    def _ask(self, order: Order, wanted: type[_R], tell: Callable[[Any], None] | None = None) -> _R:
        process = self._alive()
        process.send(order)
        while True:
            match self._next(_ASIDE if wanted is Described else None, process, self._post.rest):
                case None:
                    self._drop(0.0)
                    raise EngineLostError(
                        "The engine did not answer in time and was ended; it starts again when needed."
                    )
                case Failed() as report if report.order == type(order).__name__:
                    raise self._fault(report, process)
                case report if isinstance(report, wanted):
                    return report
                case report if tell and isinstance(report, Loading | BenchReport | TuneReport):
                    tell(report)

    def _next(self, timeout: float | None, process: EngineProcess, inbox: "Inbox") -> Report | None:
        """The next report of a process; None if there is none in time."""
        while True:
            try:
                told = inbox.get(timeout=LOOK if timeout is None else timeout)
                break
            except queue.Empty:
                silence = process.look()
                if silence:
                    self._drop(0.0, process)
                    raise EngineLostError(silence.sentence) from None
                if timeout is not None:
                    return None
        if not isinstance(told, Ended | HeadstartError):
            process.note(told)
            return told
        self._drop(0.0, process)  # it is dead, or its output cannot be trusted
        if isinstance(told, HeadstartError):
            raise told
        how = ending(told.code)
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
        if isinstance(error, OutOfMemoryError):  # a process that ran out of memory is not reliable, and returns none
            self._drop(CLOSE_GRACE, process)
        return error

    def _drop(self, grace: float, process: EngineProcess | None = None) -> None:
        """End the process, unless it is another one than `process` by now."""
        with self._dropping:
            if process is not None and process is not self._process:
                return
            process, self._process = self._process, None
        if process:
            process.close(grace)
