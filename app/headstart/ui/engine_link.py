"""The link to the engine's process: orders, signals for its reports, and a new process when it dies."""

import itertools
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from headstart.engine.engine import Finish, FinishReason, LoadOptions, Request, Step, no_stats
from headstart.engine.process.client import Ended, EngineProcess, ProcessEvent
from headstart.engine.process.host import QueuedRequest
from headstart.engine.process.watchdog import POLL_S, Activity, Timeouts
from headstart.engine.protocol import (
    Bench,
    Benched,
    BenchReport,
    BenchSize,
    Cancel,
    Counted,
    CountTokens,
    Describe,
    Described,
    Failed,
    Finished,
    Forget,
    Generate,
    Load,
    Loaded,
    Loading,
    ModelInfo,
    Order,
    Prefilled,
    PromptRead,
    ReadAhead,
    Ready,
    Report,
    ServerReport,
    StartServer,
    Stepped,
    StopServer,
    TitleWritten,
    TurnTaken,
    WriteTitle,
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
from headstart.engine.tuning.messages import (
    ForgetTuned,
    RecallTuned,
    Tune,
    TunedKnown,
    TuneEnded,
    TuneReport,
    TuneRequest,
)
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError, ProtocolVersionError
from headstart.ui.formatting import sentences
from headstart.ui.translation import translate_error

_SHOWN_MS, _HIDDEN_MS = 33, 100  # ms between two `steps`
# Failures of these orders are not shown: the answer, or loading the model, will show the error.
_SILENT = (CountTokens.__name__, ReadAhead.__name__, WriteTitle.__name__, RecallTuned.__name__, ForgetTuned.__name__)


class EngineLink(QObject):
    """The engine as the window sees it: one answer at a time. A process starts when there is something to do."""

    loading = Signal(object)  # Loading, or None when the process starts
    loaded = Signal(object)  # ModelInfo
    unloaded = Signal()
    prefill = Signal(int, object)  # generation, Prefill
    steps = Signal(int, object)  # generation, tuple[Step, ...]: those of one tick
    finished = Signal(int, object)  # generation, Finish
    failed = Signal(str, object)  # sentence, Failed: its `generation` and `order` say what failed; the engine lives on
    crashed = Signal(str, object)  # sentence, the generation that ends with the text it has, or None
    served = Signal(object)  # ServerReport; ServerEnded is the last unless the engine dies
    restarted = Signal()  # after `crashed`: the model is loaded again
    counted = Signal(int, int, int)  # ticket, tokens, context
    prompt_read = Signal(object)  # Request: an answer to it would begin at once
    titled = Signal(int, object)  # ticket, text; None if other work came first
    described = Signal(object)  # Description
    benched = Signal(object)  # reports of a benchmark; Benched is the last unless it ends in `failed` or `crashed`
    tuned = Signal(object)  # reports of a tuning; TuneEnded is the last likewise; TunedKnown answers `recall`, `forget`
    _reported = Signal(int, object)  # number of the process, its report; emitted on other threads

    def __init__(
        self,
        command: Sequence[str] | None = None,
        journal: Journal | None = None,
        parent: QObject | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Start nothing yet. `command` replaces the engine's program in tests and in the self-check."""
        super().__init__(parent)
        self._timeouts = timeouts
        self.journal = journal or Journal()
        self._command = tuple(command or program("--log", str(self.journal.path)))
        self._process: EngineProcess | None = None
        self._number = 0  # of the process: late reports of an earlier one are dropped
        self._is_ready = self._is_used = self._is_retiring = self._is_killed = self._is_restarting = False
        self._fault: tuple[str, bool] | None = None  # why it is being ended, and whether a new one may do better
        self._budget = RestartBudget()
        self._numbers = itertools.count(1)
        self._options: LoadOptions | None = None
        self._facts: ModelInfo | None = None
        self._generation: int | None = None
        self._job: Bench | Tune | None = None
        self._ahead: ReadAhead | None = None  # the last one, unless another order came after it
        self._is_read = False  # whether it was read to its end
        self._recalled: int | None = None  # ticket of the latest `recall` or `forget`
        self._outbox: list[Order] = []
        self._steps: list[Step] = []
        self._reported.connect(self._on_report, Qt.ConnectionType.QueuedConnection)
        self._step_timer = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._step_timer.timeout.connect(self._flush)
        self._cancel_timer = QTimer(self, singleShot=True, interval=int(CANCEL_GRACE * 1000))
        self._cancel_timer.timeout.connect(self._on_cancel_timeout)
        self._exit_timer = QTimer(self, singleShot=True)
        self._exit_timer.timeout.connect(self._on_exit_timeout)
        self._watch_timer = QTimer(self, interval=int(POLL_S * 1000))
        self._watch_timer.timeout.connect(self._on_watch)

    @property
    def facts(self) -> ModelInfo | None:
        """The loaded model; None before and while loading."""
        return self._facts

    @property
    def generation(self) -> int | None:
        """Number of the answer that is being written; None without one."""
        return self._generation

    @property
    def is_restarting(self) -> bool:
        """True while the model of a dead engine is being loaded again."""
        return self._is_restarting

    @property
    def pid(self) -> int:
        """Id of the engine's process; 0 without one."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process before it is needed, to save that time later."""
        if self._process is None:
            self._spawn()

    def load(self, options: LoadOptions) -> None:
        """Load a model in a new process; ending the earlier process frees the earlier model."""
        self._leave_model()
        self._budget.reset()
        self._options = options
        self.loading.emit(None)
        if self._process is None:
            self._spawn()
        elif self._is_ready and not self._is_used:
            self._greet()
        elif self._is_used:
            self._retire()

    def unload(self) -> None:
        """Free the model by ending its process."""
        self._leave_model()
        if self._process and self._is_used:
            self._retire()
        self.unloaded.emit()

    def generate(self, request: Request) -> int:
        """Ask for an answer, once the model is loaded; `finished`, `failed` or `crashed` follows."""
        assert self._generation is None, "one answer at a time"
        self._generation = next(self._numbers)
        self._send(Generate(self._generation, request))
        return self._generation

    def cancel(self) -> None:
        """End the answer; `finished` follows, at once if the model has not been asked yet."""
        if self._generation is None:
            return
        if self._facts is None:
            self._withdraw()
        elif not self._cancel_timer.isActive():
            self._send(Cancel(self._generation))
            self._cancel_timer.start()

    def read_ahead(self, request: Request) -> None:
        """Let an idle model read a prompt that may come; `prompt_read` follows unless other work comes first."""
        if not self._process or not self._is_ready or not self._facts or self._generation is not None or self._job:
            return
        if self._ahead is None or self._ahead.request != request:
            self._deliver(ReadAhead(next(self._numbers), request))
        elif self._is_read:
            self.prompt_read.emit(request)

    def write_title(self, request: Request) -> int | None:
        """Let an idle model write a short answer. Return the ticket of `titled`, or None if the model is busy."""
        is_reading = self._ahead is not None and not self._is_read
        if not self._facts or not self._is_ready or self._generation is not None or self._job or is_reading:
            return None
        order = WriteTitle(next(self._numbers), request)
        self._deliver(order)
        return order.ticket

    def count_tokens(self, text: str = "", request: Request | None = None) -> int:
        """Count the tokens of a text and a request. Return the ticket of `counted`, which needs a loaded model."""
        order = CountTokens(next(self._numbers), request, text)
        if self._facts:
            self._send(order)
        return order.ticket

    def describe(self) -> None:
        """Ask for devices, memory and versions; `described` follows."""
        self._send(Describe(next(self._numbers)))

    def bench(self, size: BenchSize) -> int:
        """Race the ways to decode. Return the ticket of every `benched`."""
        return self._begin(Bench(next(self._numbers), size))

    def tune(self, request: TuneRequest) -> int:
        """Tune what the request names, in a process without a model. Return the ticket of every `tuned`."""
        assert self._options is None, "unload first"
        return self._begin(Tune(next(self._numbers), request))

    def stop_job(self) -> None:
        """End a benchmark or a tuning; its last report follows without a result. A peer first ends its answer."""
        if self._job:
            self._send(Cancel(self._job.ticket))

    def recall(self, load: LoadOptions) -> None:
        """Ask for what tuning found for these models; `tuned` follows with TunedKnown."""
        self._recalled = next(self._numbers)
        self._send(RecallTuned(self._recalled, load))

    def forget(self, load: LoadOptions) -> None:
        """Drop what tuning found for these models; `tuned` follows with TunedKnown."""
        self._recalled = next(self._numbers)
        self._send(ForgetTuned(self._recalled, load))

    def forget_chats(self, *chat_ids: str) -> None:
        """Make a running engine drop the prompts of these chats; without ids, all that are kept on disk."""
        if self._outbox or (self._process and self._is_ready):  # waiting orders may have it read more of them
            self._send(Forget(chat_ids))

    def serve(self, order: StartServer) -> None:
        """Answer other programs with the loaded model; `served` or `failed` follows."""
        self._send(order)

    def stop_serving(self) -> None:
        """Stop answering other programs; ServerEnded follows."""
        self._send(StopServer())

    def set_hidden(self, hidden: bool) -> None:
        """Send `steps` less often while the window is hidden or minimised."""
        self._step_timer.setInterval(_HIDDEN_MS if hidden else _SHOWN_MS)

    def close(self) -> None:
        """End the process and wait for it, under a second; no signal follows."""
        for timer in (self._step_timer, self._cancel_timer, self._exit_timer, self._watch_timer):
            timer.stop()
        process, self._process = self._process, None
        self._number += 1
        if process:
            if self._generation is not None:
                process.send(Cancel(self._generation))
            process.close()

    def _spawn(self) -> None:
        self._is_ready = self._is_used = self._is_retiring = self._is_killed = False
        self._fault = None
        self._number += 1
        report = partial(self._reported.emit, self._number)
        try:
            self._process = EngineProcess(self._command, self.journal, report, self._timeouts)
        except EngineLostError as error:
            report(error)
        else:
            self._watch_timer.start()

    def _begin(self, job: Bench | Tune) -> int:
        assert self._job is None, "one benchmark or tuning at a time"
        self._job = job
        self._send(job)
        return job.ticket

    def _send(self, order: Order) -> None:
        if self._process and self._is_ready:
            self._deliver(order)
            return
        self._outbox.append(order)
        self.start()

    def _deliver(self, order: Order) -> None:
        assert self._process
        self._is_used = self._is_used or isinstance(order, Load | Tune)
        if isinstance(order, ReadAhead):
            self._ahead, self._is_read = order, False
        elif isinstance(order, Generate | Load | Bench | Tune | Forget):  # the other orders do not end it
            self._ahead = None
        self._process.send(order)
        self._watch_timer.start()

    def _greet(self) -> None:
        """Send a new process its model, then the orders that wait."""
        orders = [*([Load(self._options)] if self._options else []), *self._outbox]
        self._outbox.clear()
        for order in orders:
            self._deliver(order)

    def _retire(self) -> None:
        """Close the input of the process, so that it ends; it is killed after a grace."""
        if self._process and not self._is_retiring:
            self._is_retiring, self._is_ready = True, False
            self._fault = self._fault or (self.tr("The engine was closed."), True)
            self._process.end()
            self._watch_timer.stop()
            self._exit_timer.start(int(CLOSE_GRACE * 1000))

    def _kill(self, sentence: str, *, can_retry: bool = True) -> None:
        """Kill the process, for this reason unless it has one already."""
        assert self._process
        self._fault = self._fault or (sentence, can_retry)
        self._watch_timer.stop()
        self._process.kill()
        self._exit_timer.start(int(KILL_GRACE * 1000))
        self._is_killed = True

    def _leave_model(self) -> None:
        """Forget the model, and end an answer that is being written."""
        if self._generation is not None:
            self._withdraw()
        if self._job:
            ticket = self._job.ticket
            self._handle_job(Benched(ticket, None) if isinstance(self._job, Bench) else TuneEnded(ticket, None))
        self._cancel_timer.stop()
        self._options = self._facts = None
        self._is_restarting = False
        self._outbox = [order for order in self._outbox if isinstance(order, Describe | RecallTuned)]

    def _withdraw(self) -> None:
        """End the answer without its engine: take the order back, or cancel it and drop what still comes."""
        assert self._generation is not None
        generation = self._generation
        waiting = [order for order in self._outbox if isinstance(order, Generate)]
        self._outbox = [order for order in self._outbox if order not in waiting]
        if not waiting and self._process:
            self._process.send(Cancel(generation))
        self._end_answer()
        self.finished.emit(generation, Finish(FinishReason.CANCELLED, no_stats(), ()))

    def _end_answer(self) -> None:
        self._flush()
        self._cancel_timer.stop()
        self._generation = None

    @Slot()
    def _flush(self) -> None:
        self._step_timer.stop()
        steps, self._steps = tuple(self._steps), []
        if steps:
            self.steps.emit(self._generation, steps)

    @Slot(int, object)
    def _on_report(self, number: int, report: ProcessEvent) -> None:
        """Handle a report; those of all processes arrive here, from their threads."""
        if number != self._number:
            return
        if isinstance(report, Ended):
            self._end(*(self._fault or (self._sentence(report), True)))
        elif isinstance(report, EngineLostError):  # the process could not even be started
            self._end(translate_error(report), can_retry=False)
        elif self._fault or not self._process:
            return
        elif isinstance(report, HeadstartError):  # nothing that it says can be trusted any more
            self.journal.write(str(report))
            self._kill(translate_error(report), can_retry=not isinstance(report, ProtocolVersionError))
        else:
            self._process.note_report(report)
            if not (self._process.is_idle or self._watch_timer.isActive()):
                self._watch_timer.start()
            if isinstance(report, Stepped) and report.generation == self._generation:
                self._steps.append(report.step)
                if not self._step_timer.isActive():
                    self._step_timer.start()
            elif not self._is_late(report):
                self._handle(report)

    def _is_late(self, report: Report) -> bool:
        if isinstance(report, TunedKnown):
            return report.ticket != self._recalled
        if isinstance(report, BenchReport | TuneReport):
            return self._job is None or report.ticket != self._job.ticket
        generation = getattr(report, "generation", None)
        return generation is not None and generation != self._generation

    def _handle(self, report: Report) -> None:
        match report:
            case Ready():
                self._is_ready = True
                self._greet()
            case Loading():
                self.loading.emit(report)
            case Loaded(facts):
                self._handle_loaded(facts)
            case Counted(ticket, tokens, context):
                self.counted.emit(ticket, tokens, context)
            case PromptRead() | TitleWritten() | TurnTaken():
                self._handle_idle_work(report)
            case Described(_, description):
                self.described.emit(description)
            case Failed():
                self._handle_failure(report)
            case Prefilled(generation, progress):
                self.prefill.emit(generation, progress)
            case Finished(generation, finish):
                self._end_answer()
                self.finished.emit(generation, finish)
            case _ if isinstance(report, ServerReport):
                self.served.emit(report)
            case _ if isinstance(report, BenchReport | TuneReport):
                self._handle_job(report)

    def _handle_idle_work(self, report: PromptRead | TitleWritten | TurnTaken) -> None:
        if isinstance(report, TurnTaken):
            self._ahead = None
        elif isinstance(report, TitleWritten):
            self.titled.emit(report.ticket, report.text)
        elif self._ahead and report.ticket == self._ahead.ticket:
            self._is_read = True
            self.prompt_read.emit(self._ahead.request)

    def _handle_job(self, report: BenchReport | TuneReport) -> None:
        if isinstance(report, Benched | TuneEnded):
            self._job = None
        (self.benched if isinstance(report, BenchReport) else self.tuned).emit(report)

    def _handle_loaded(self, facts: ModelInfo) -> None:
        self._facts = facts
        is_restarting, self._is_restarting = self._is_restarting, False
        self.loaded.emit(facts)
        if is_restarting:
            self.restarted.emit()

    def _handle_failure(self, report: Failed) -> None:
        is_out_of_memory = report.kind == OutOfMemoryError.__name__
        if report.order == QueuedRequest.__name__:  # the program that asked the server has been told
            if is_out_of_memory:
                self._kill(translate_error(report.sentence))
            return
        if report.order in _SILENT:
            return
        if report.order == Load.__name__:
            self._options = None
            self._is_restarting = False
        if report.order in (Bench.__name__, Tune.__name__):
            self._job = None
        if is_out_of_memory:
            self._renew()
        if report.generation is not None or not report.order:  # an unreadable order may have been that for the answer
            self._end_answer()
        self.failed.emit(translate_error(report.sentence), report)

    def _renew(self) -> None:
        """Replace a process that ran out of memory: it is not trusted any more, and gives no memory back."""
        self._drop_work()
        self._is_restarting = bool(self._options)
        self._retire()

    def _drop_work(self) -> None:
        """Forget what the process was doing: an answer that waited for the model would wait for ever."""
        self._end_answer()
        self._facts = self._job = None

    @Slot()
    def _on_cancel_timeout(self) -> None:
        if self._process:
            self._kill(self.tr("The engine did not stop in time and was ended."))

    @Slot()
    def _on_watch(self) -> None:
        """Kill a process that hangs."""
        assert self._process
        hang = self._process.find_hang()
        if hang:  # a model that was being loaded would hang as long once more
            self._kill(translate_error(hang.sentence), can_retry=hang.activity not in (Activity.START, Activity.LOAD))
        elif self._process.is_idle:
            self._watch_timer.stop()

    @Slot()
    def _on_exit_timeout(self) -> None:
        assert self._process
        if not self._is_killed:
            self._kill(self.tr("The engine does not end in time."))
            return
        self._process.abandon()
        assert self._fault
        self._end(*self._fault)

    def _sentence(self, ended: Ended) -> str:
        how = ending(ended.code) if ended.code < 0 else self.tr("exit code {}").format(ended.code)
        if how == OUT_OF_MEMORY:
            return self.tr("The system ended the model, probably because memory ran out. Your text is kept.")
        return self.tr("The engine stopped unexpectedly ({}).").format(how)

    def _end(self, sentence: str, can_retry: bool) -> None:
        """Handle the end of the process; start another one if there is work."""
        self._exit_timer.stop()
        self._watch_timer.stop()
        self.journal.write(f"engine process ended: {sentence}")
        expected = self._is_retiring
        self._process, self._is_ready, self._is_retiring = None, False, False
        self._number += 1
        if not expected:
            self._report_crash(sentence, can_retry)
        elif self._options or self._outbox:
            self._spawn()

    def _report_crash(self, sentence: str, can_retry: bool) -> None:
        generation, options, was_loading = self._generation, self._options, self._options and not self._facts
        self._drop_work()
        self._outbox.clear()
        if was_loading and can_retry:
            more = self.tr("It was loading a model, which may need more memory than there is.")
            sentence = sentences(sentence, more)
        is_restarting = bool(options) and can_retry and not was_loading and self._budget.take()
        if not is_restarting:
            self._options = None
            more = self.tr("Details are in the log: {}").format(self.journal.path)
            sentence = sentences(sentence, more)
        self._is_restarting = is_restarting
        self.crashed.emit(sentence, generation)
        if is_restarting:
            self.start()
