"""The engine's process and its life cycle: what it is sent, when it is ended, and when it is restarted."""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import psutil

from headstart.engine.engine import LoadOptions
from headstart.engine.process.host import QueuedRequest
from headstart.engine.process.watchdog import POLL_S, Timeouts, Watchdog
from headstart.engine.protocol import (
    Cancel,
    CountTokens,
    Describe,
    Failed,
    Finished,
    Generate,
    LineSplitter,
    Load,
    Loaded,
    Logged,
    ModelInfo,
    Order,
    ReadAhead,
    Ready,
    Report,
    WriteTitle,
    decode_report,
    encode,
)
from headstart.engine.supervision import (
    CANCEL_GRACE,
    CLOSE_GRACE,
    COMPUTING_GRACE,
    KILL_GRACE,
    Journal,
    RestartBudget,
    program,
)
from headstart.engine.tuning.messages import ForgetTuned, RecallTuned, Tune
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError

_CHUNK = 65536  # bytes
# Failures of these are dropped: an answer, or loading the model, will show them, or the server has told its client.
_SILENT = {each.__name__ for each in (CountTokens, ReadAhead, WriteTitle, RecallTuned, ForgetTuned, QueuedRequest)}


@dataclass(frozen=True)
class Ended:
    """The process has ended."""

    code: int  # exit code, or a signal below zero


ProcessEvent = Report | HeadstartError | Ended


class EngineProcess:
    """A running process: orders go in, reports come out, other output goes to the journal. It is never restarted."""

    def __init__(self, command: Sequence[str], journal: Journal, on_event: Callable[[ProcessEvent], None]) -> None:
        """Start the process. Raises EngineLostError if there is no such program.

        `on_event` is called on another thread: with each report, with a ProtocolError for a bad one, and last
        with Ended.
        """
        self._journal, self._on_event = journal, on_event
        self._orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
        self._has_ended = threading.Event()
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

    def processor_seconds(self) -> float:
        """Return the processor time it has taken; 0 once it has gone."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def send(self, order: Order) -> None:
        """Send an order. A dead process ignores it; its end is reported."""
        self._orders.put(order)

    def end(self, grace: float = CLOSE_GRACE) -> None:
        """Close its input, so that it ends, and kill it after `grace` seconds."""
        self._orders.put(None)
        threading.Thread(target=self._kill_after, args=(grace,), daemon=True).start()

    def wait(self) -> None:
        """Wait until the process that is being ended has ended."""
        self._has_ended.wait()

    def _kill_after(self, grace: float) -> None:
        if self._has_ended.wait(grace):
            return
        self._process.kill()
        if not self._has_ended.wait(KILL_GRACE):
            self._journal.write(f"process {self.pid} does not end although it was killed; it is left alone")
            self._report_end(Ended(-9))

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
        self._report_end(ended)

    def _report_end(self, ended: Ended) -> None:
        """Report the end, and nothing after it."""
        on_event, self._on_event = self._on_event, lambda _: None
        on_event(ended)
        self._has_ended.set()


@dataclass(frozen=True)
class Lost:
    """The reason why a process ended, and what follows."""

    cause: Ended | HeadstartError
    is_expected: bool  # the session ended it to free a model or memory
    was_loading: bool
    is_restarting: bool  # another process loads a model


@dataclass
class _Answer:
    has_begun: bool = False
    due: float = inf  # when its process is killed; set by a cancel
    last: float = inf  # when it is killed although it computes
    processor_s: float = 0.0  # of its process when `due` was set


class EngineSession:
    """One model and its process: what it is sent, when it is ended, and when it is restarted.

    It has no thread and waits for nothing: pass what the process sends to `take`, and call `poll` after `poll_delay`.
    """

    def __init__(
        self,
        command: Sequence[str] | None,
        journal: Journal,
        on_event: Callable[[int, ProcessEvent], None],
        timeouts: Timeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        restarts_at_once: bool,
    ) -> None:
        """Start nothing yet. `on_event` is called on other threads, with what is to reach `take`.

        Without `restarts_at_once` the next order starts a new process, and the model is kept whatever happens to it.
        """
        self._command = command or program("--log", str(journal.path))
        self._journal, self._on_event, self._timeouts, self._clock = journal, on_event, timeouts, clock
        self._restarts_at_once = restarts_at_once
        self._budget = RestartBudget(clock)
        self._number = 0  # of the process: what an earlier one still sends is dropped
        self.options: LoadOptions | None = None
        self.loads = 0  # how often this model has been loaded
        self.model_info: ModelInfo | None = None  # of the loaded model
        self.answers: dict[int, _Answer] = {}  # at work, by generation
        self.outbox: list[Order] = []  # waits for the process
        self._forget_process()

    def _forget_process(self) -> None:
        self.process: EngineProcess | None = None
        self.is_ready = self._is_used = self._is_ending = self._is_expected = False  # expected: its end
        self._fault: HeadstartError | None = None  # why it is killed, or could not be started

    def start(self) -> None:
        """Start the process before it is needed."""
        if self.process or self._is_ending:
            return
        self._number += 1
        self._watchdog = Watchdog(self._timeouts, self._clock)
        try:
            self.process = EngineProcess(self._command, self._journal, partial(self._on_event, self._number))
        except EngineLostError as error:
            self._fault, self._is_ending = error, True  # for `poll`

    def load(self, options: LoadOptions | None) -> None:
        """Load a model, or none, in a process that has had no other: the end of that one frees the earlier model."""
        self.options, self.loads = options, 0
        self._budget.reset()
        self._drop_work()
        self.outbox = [order for order in self.outbox if isinstance(order, Describe | RecallTuned)]
        if self._is_used:
            self.end()
        elif self.is_ready:
            self._greet()
        elif options:
            self.start()

    def send(self, order: Order) -> None:
        """Send an order, once the process is ready. Raises EngineLostError if the process has died too often."""
        if self.options and not self.process and not self._restarts_at_once and not self._budget.take():
            raise EngineLostError(
                "The engine stopped too often; load the model again, or see {path}.", path=self._journal.path
            )
        if isinstance(order, Generate):
            self.answers[order.generation] = _Answer()
        if self.is_ready:
            self._deliver(order)
        else:
            self.outbox.append(order)
            self.start()

    def cancel(self, generation: int) -> None:
        """End an answer, or its process if that takes too long."""
        answer = self.answers.get(generation)
        if answer and answer.due == inf:
            self._give_time(answer)
            answer.last = self._clock() + COMPUTING_GRACE
            self.send(Cancel(generation))

    def withdraw(self, generation: int) -> None:
        """End an answer without waiting for it: take the order back, or cancel it and drop what still comes."""
        del self.answers[generation]
        others = [order for order in self.outbox if getattr(order, "generation", None) != generation]
        if others == self.outbox:
            self.send(Cancel(generation))
        self.outbox = others

    def end(self, fault: HeadstartError | None = None) -> None:
        """Close the input of the process, so that it ends; kill it for a fault."""
        if self.process and not self._is_expected:
            self._fault, self._is_expected = self._fault or fault, fault is None
            self.is_ready, self._is_ending = False, True
            self.process.end(0.0 if fault else CLOSE_GRACE)

    def close(self) -> None:
        """End the process and wait for it, under a second; nothing that it still sends is taken."""
        process, self._number = self.process, self._number + 1
        self._forget_process()
        self._drop_work()
        if process:
            process.end()
            process.wait()

    def take(self, number: int, event: ProcessEvent) -> Report | Lost | None:
        """Handle an event of a process. Return it, unless it comes too late or only the session needs it."""
        if number != self._number or (self._is_ending and not isinstance(event, Ended)):
            return None
        if isinstance(event, Ended):
            return self._lose(self._fault or event)
        if isinstance(event, HeadstartError):  # nothing that the process says can be trusted any more
            self.end(event)
            return None
        self._watchdog.note_report(event)
        generation = getattr(event, "generation", None)
        if generation is not None:
            if generation not in self.answers:
                return None
            self.answers[generation].has_begun = True
        match event:
            case Ready():
                self.is_ready = True
                self._greet()
            case Loaded(model_info):
                self.model_info, self.loads = model_info, self.loads + 1
            case Finished():
                del self.answers[event.generation]
            case Failed():
                return self._take_failure(event)
        return event

    def poll_delay(self) -> float:
        """Return the seconds until `poll` may have something to do; infinity if only `take` can change that."""
        if self._is_ending:
            return inf if self.process else 0.0
        is_working = self.process and not self._watchdog.is_idle
        cancelled = min((answer.due for answer in tuple(self.answers.values())), default=inf) - self._clock()
        return max(0.0, min(cancelled, POLL_S if is_working else inf))

    def poll(self) -> Lost | None:
        """Kill a process that hangs or does not end a cancelled answer; return why none could be started."""
        if self._fault and not self.process:
            return self._lose(self._fault)
        if self.process and not self._is_ending:
            hang = self._watchdog.find_hang(self.process.processor_seconds)
            if any(self._is_overdue(answer) for answer in self.answers.values()):
                self.end(EngineLostError("The engine did not stop in time and was ended; it starts again when needed."))
            elif hang:
                self.end(EngineLostError(hang.sentence))
        return None

    def _is_overdue(self, answer: _Answer) -> bool:
        if answer.due < inf and not answer.has_begun and (len(self.answers) > 1 or not self.model_info):
            self._give_time(answer)  # it ends when its turn comes
            answer.last = self._clock() + COMPUTING_GRACE
        if self._clock() < answer.due:
            return False
        if self._clock() < answer.last and self._processor_seconds() - answer.processor_s >= CANCEL_GRACE / 5:
            self._give_time(answer)  # it is inside a pass, which cannot be interrupted
            return False
        return True

    def _give_time(self, answer: _Answer) -> None:
        answer.due, answer.processor_s = self._clock() + CANCEL_GRACE, self._processor_seconds()

    def _processor_seconds(self) -> float:
        return self.process.processor_seconds() if self.process else 0.0

    def _take_failure(self, report: Failed) -> Failed | None:
        is_out_of_memory = report.kind == OutOfMemoryError.__name__
        if report.order in _SILENT:
            if is_out_of_memory and report.order == QueuedRequest.__name__:
                self.end(EngineLostError(report.sentence))
            return None
        if report.order == Load.__name__ and self._restarts_at_once:
            self.options = None
        if not report.order:  # it was unreadable, and may have been that for an answer
            self.answers.clear()
        self.answers.pop(report.generation or 0, None)
        if is_out_of_memory:  # the process is not trusted any more, and gives no memory back
            self._drop_work()
            self.end()
        return report

    def _lose(self, cause: Ended | HeadstartError) -> Lost:
        """Note the end of the process, and start another one if there is work."""
        is_expected, was_loading = self._is_expected, bool(self.options and not self.model_info)
        self._number += 1
        self._forget_process()
        is_restarting = bool(self.options) and self._restarts_at_once
        if not is_expected:
            self._drop_work()
            self.outbox.clear()
            is_restarting = is_restarting and not was_loading and self._budget.take()
            if self._restarts_at_once and not is_restarting:
                self.options = None
        if is_restarting or self.outbox:
            self.start()
        return Lost(cause, is_expected, was_loading, is_restarting)

    def _drop_work(self) -> None:
        self.model_info = None
        self.answers.clear()

    def _greet(self) -> None:
        """Send the model to a new process, then the waiting orders."""
        orders = [*([Load(self.options)] if self.options else []), *self.outbox]
        self.outbox.clear()
        for order in orders:
            self._deliver(order)

    def _deliver(self, order: Order) -> None:
        assert self.process
        self._is_used = self._is_used or isinstance(order, Load | Tune)
        self._watchdog.note_order(order)
        self.process.send(order)
