"""The engine in a process of its own, for programs without a window: looks like any Engine."""

import contextlib
import itertools
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TypeVar

from headstart import errors
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, LoadOptions, Request
from headstart.engine.process.watch import LOOK, Patience, Watch
from headstart.engine.protocol import (
    Cancel,
    Describe,
    Described,
    Description,
    Facts,
    Failed,
    Finished,
    Generate,
    LineSplitter,
    Load,
    Loaded,
    Loading,
    Logged,
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
    processor_seconds,
    program,
    signal_name,
)
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError

_CHUNK = 65536  # bytes
_ASIDE = 120.0  # seconds for what is told without the model: it is not watched, and a driver may hang in it
_R = TypeVar("_R", Loaded, Described)


class EngineProcess:
    """Orders go in, reports come out; what else it prints goes to the journal."""

    def __init__(self, command: Sequence[str], journal: Journal, patience: Patience | None = None) -> None:
        """Start it. Raises EngineLostError when there is no such program."""
        self._journal = journal
        self._watch = Watch(patience)
        self._reports: queue.SimpleQueue[Report | HeadstartError | None] = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise EngineLostError(
                "The engine cannot be started ({error}); install Headstart again.", error=error
            ) from None
        self.pid = self._process.pid
        readers = ((self._read_reports, self._process.stdout), (self._read_errors, self._process.stderr))
        self._threads = [threading.Thread(target=target, args=(pipe,), daemon=True) for target, pipe in readers]
        for thread in self._threads:
            thread.start()

    def send(self, order: Order) -> None:
        """Send one order; to a dead process nothing, as its end is noticed on reading."""
        assert self._process.stdin
        self._watch.note_order(order)
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(encode(order))

    def next(self, timeout: float | None) -> Report | None:
        """The next report, None when there is none in time.

        Raises ProtocolError, and EngineLostError at the end and for one that hangs.
        """
        while True:
            try:
                report = self._reports.get(timeout=LOOK if timeout is None else timeout)
                break
            except queue.Empty:
                silence = self._watch.look(lambda: processor_seconds(self.pid))
                if silence:
                    raise EngineLostError(silence.sentence) from None
                if timeout is not None:
                    return None
        if report is None:
            raise self._ending()
        if isinstance(report, HeadstartError):
            raise report
        self._watch.note_report(report)
        return report

    def close(self, grace: float = CLOSE_GRACE) -> None:
        """Close its input, wait `grace` seconds, then kill."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            try:
                self._process.wait(KILL_GRACE)
            except subprocess.TimeoutExpired:
                self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")
        for thread in self._threads:
            thread.join(KILL_GRACE)

    def _ending(self) -> EngineLostError:
        code = self._process.wait()
        ending = signal_name(-code) if code < 0 else f"exit code {code}"
        if ending == OUT_OF_MEMORY:
            return EngineLostError(
                "The engine stopped unexpectedly ({ending}, as the system does when memory runs out); it "
                "starts again when it is needed.",
                ending=ending,
            )
        return EngineLostError(
            "The engine stopped unexpectedly ({ending}); see {path}.", ending=ending, path=self._journal.path
        )

    def _read_reports(self, pipe: IO[bytes]) -> None:
        lines = LineSplitter()
        with pipe:
            while chunk := pipe.read(_CHUNK):
                for line in lines.push(chunk):
                    try:
                        report = decode_report(line)
                    except HeadstartError as error:
                        self._reports.put(error)
                        continue
                    if isinstance(report, Logged):
                        self._journal.write(f"{report.level} {report.source}: {report.text}")
                    else:
                        self._reports.put(report)
        self._reports.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                self._journal.write(line.decode("utf-8", "replace"))


class EngineClient:
    """An Engine whose process is started when needed and replaced when it dies. Asked for one thing at a time."""

    def __init__(
        self, command: Sequence[str] | None = None, journal: Journal | None = None, patience: Patience | None = None
    ) -> None:
        """`command` is that of the engine's program unless a test wants another; likewise `patience`."""
        self._patience = patience
        self._journal = journal or Journal()
        self._command = command or program("--log", str(self._journal.path))
        self._budget = RestartBudget()
        self._process: EngineProcess | None = None
        self._options: LoadOptions | None = None
        self._facts: Facts | None = None
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """The process, if there is one."""
        return self._process.pid if self._process else None

    @property
    def facts(self) -> Facts | None:
        """What was loaded last."""
        return self._facts

    def load(self, options: LoadOptions, tell: Callable[[Loading], None] | None = None) -> Facts:
        """Load a model in a fresh process, so that nothing is left of the last. Raises what loading raises."""
        self.close()
        self._start()
        self._facts = self._ask(Load(options), Loaded, tell).facts
        self._options = options
        self._budget.reset()
        return self._facts

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Raises EngineLostError too; what came before it is the part of the answer to keep."""
        process, generation = self._alive(), next(self._numbers)
        process.send(Generate(generation, request))
        ended = False
        try:
            for report in self._reports_of(generation, process, cancel or CancelEvent()):
                ended = isinstance(report, Finished | Failed)
                match report:
                    case Prefilled():
                        yield report.progress
                    case Stepped():
                        yield report.step
                    case Finished():
                        yield report.finish
                    case Failed():
                        raise self._fault(report)
        finally:
            if not ended and self._process is process:  # the caller left early
                stop = CancelEvent()
                stop.set()
                with contextlib.suppress(HeadstartError):
                    list(self._reports_of(generation, process, stop))

    def describe(self) -> Description:
        """Devices, memory and versions of this machine."""
        return self._ask(Describe(next(self._numbers)), Described).description

    def close(self) -> None:
        """See Engine.close: ends the process."""
        self._drop(CLOSE_GRACE)

    def _reports_of(self, generation: int, process: EngineProcess, cancel: CancelEvent) -> Iterator[Report]:
        """The reports of one answer up to its end; late ones of others are dropped."""
        deadline = float("inf")

        def stop() -> None:
            nonlocal deadline
            process.send(Cancel(generation))
            deadline = time.monotonic() + CANCEL_GRACE

        with cancel.calling(stop):
            while True:
                report = self._next(LOOK)
                if report and getattr(report, "generation", None) == generation:
                    yield report
                    if isinstance(report, Finished | Failed):
                        return
                if time.monotonic() > deadline:
                    self._drop(0.0)
                    raise EngineLostError("The engine did not stop in time and was ended; it starts again when needed.")

    def _alive(self) -> EngineProcess:
        """The process, with the model in it; a dead one is replaced, but not for ever."""
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
        process = self._process = EngineProcess(self._command, self._journal, self._patience)
        if not isinstance(self._next(None), Ready):
            self._drop(0.0)
            raise EngineLostError("The engine does not start; see {path}.", path=self._journal.path)
        return process

    def _ask(self, order: Order, wanted: type[_R], tell: Callable[[Loading], None] | None = None) -> _R:
        self._alive().send(order)
        while True:
            match self._next(None if wanted is Loaded else _ASIDE):
                case None:
                    self._drop(0.0)
                    raise EngineLostError(
                        "The engine did not answer in time and was ended; it starts again when needed."
                    )
                case Loading() as progress if tell:
                    tell(progress)
                case Failed() as report if report.order == type(order).__name__:
                    raise self._fault(report)
                case report if isinstance(report, wanted):
                    return report

    def _next(self, timeout: float | None) -> Report | None:
        assert self._process
        try:
            return self._process.next(timeout)
        except HeadstartError:  # it is dead, or nothing it says can be trusted
            self._drop(0.0)
            raise

    def _fault(self, report: Failed) -> HeadstartError:
        error: HeadstartError = getattr(errors, report.kind)(report.template, **report.values)
        if isinstance(error, OutOfMemoryError):  # what ran out of memory is not trusted, and gives none back
            self._drop(CLOSE_GRACE)
        return error

    def _drop(self, grace: float) -> None:
        process, self._process = self._process, None
        if process:
            process.close(grace)
