"""The link to the engine's process: orders, signals for its reports, and a new process when it dies."""

import itertools
from collections.abc import Sequence
from math import ceil, inf

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from headstart.engine.engine import ConversationRequest, Finish, FinishReason, LoadOptions, Step, no_stats
from headstart.engine.process.session import Ended, EngineSession, Lost, ProcessEvent
from headstart.engine.process.watchdog import Timeouts
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
    Loaded,
    Loading,
    ModelInfo,
    Order,
    Prefilled,
    PromptRead,
    ReadAhead,
    Report,
    ServerReport,
    StartServer,
    Stepped,
    StopServer,
    TitleWritten,
    TurnTaken,
    WriteTitle,
)
from headstart.engine.supervision import OUT_OF_MEMORY, Journal, ending
from headstart.engine.tuning.messages import (
    ForgetTuned,
    RecallTuned,
    Tune,
    TuneEnded,
    TuneReport,
    TuneRequest,
)
from headstart.errors import HeadstartError, OutOfMemoryError
from headstart.ui.formatting import sentences
from headstart.ui.translation import translate_error

_SHOWN_MS, _HIDDEN_MS = 33, 100  # ms between two `steps`


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
    prompt_read = Signal(object)  # ConversationRequest: an answer to it would begin at once
    titled = Signal(int, object)  # ticket, text; None if other work came first
    described = Signal(object)  # Description
    benched = Signal(object)  # reports of a benchmark; Benched is the last unless it ends in `failed` or `crashed`
    tuned = Signal(object)  # reports of a tuning; TuneEnded is the last likewise; TunedKnown answers `recall`, `forget`
    _reported = Signal(int, object)  # number of the process, its report; emitted on other threads

    def __init__(
        self,
        command: Sequence[str] | None = None,
        parent: QObject | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Start nothing yet. `command` replaces the engine's program in tests and in the self-check."""
        super().__init__(parent)
        self.journal = Journal()
        self._session = EngineSession(command, self.journal, self._reported.emit, timeouts, restarts_at_once=True)
        self._numbers = itertools.count(1)
        self._generation: int | None = None
        self._job: Bench | Tune | None = None
        self._ahead: ReadAhead | None = None  # the last one, unless another order came after it
        self._is_read = False  # whether it was read to its end
        self._recalled: int | None = None  # ticket of the latest `recall` or `forget`
        self.tpot_ms: float | None = None  # of the last answer, once one was measured
        self._steps: list[Step] = []
        self._reported.connect(self._on_report, Qt.ConnectionType.QueuedConnection)
        self._step_timer = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._step_timer.timeout.connect(self._flush)
        self._poll_timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._poll_timer.timeout.connect(self._on_poll)

    @property
    def model_info(self) -> ModelInfo | None:
        """The loaded model; None before and while loading."""
        return self._session.model_info

    @property
    def generation(self) -> int | None:
        """Number of the answer that is being written; None without one."""
        return self._generation

    @property
    def options(self) -> LoadOptions | None:
        """The models that are loaded, being loaded or tuned."""
        return self._job.request.load if isinstance(self._job, Tune) else self._session.options

    @property
    def is_restarting(self) -> bool:
        """True while the model of a dead engine is being loaded again."""
        return bool(self._session.options and self._session.loads and not self.model_info)

    @property
    def pid(self) -> int:
        """Id of the engine's process; 0 without one."""
        return self._session.process.pid if self._session.process else 0

    def start(self) -> None:
        """Start the process before it is needed, to save that time later."""
        self._session.start()
        self._watch()

    def load(self, options: LoadOptions) -> None:
        """Load a model in a new process; ending the earlier process frees the earlier model."""
        self._leave_model()
        self.loading.emit(None)
        self._session.load(options)
        self._watch()

    def unload(self) -> None:
        """Free the model by ending its process."""
        self._leave_model()
        self._session.load(None)
        self._watch()
        self.unloaded.emit()

    def generate(self, request: ConversationRequest) -> int:
        """Ask for an answer, once the model is loaded; `finished`, `failed` or `crashed` follows."""
        assert self._generation is None, "one answer at a time"
        self._generation = next(self._numbers)
        self._send(Generate(self._generation, request))
        return self._generation

    def cancel(self) -> None:
        """End the answer; `finished` follows, at once if the model has not been asked yet."""
        if self._generation is None:
            return
        if self.model_info is None:
            self._withdraw()
        else:
            self._session.cancel(self._generation)
            self._watch()

    def read_ahead(self, request: ConversationRequest) -> None:
        """Let an idle model read a prompt that may come; `prompt_read` follows unless other work comes first."""
        if not self.model_info or self._generation is not None or self._job:
            return
        if self._ahead is None or self._ahead.request != request:
            self._ahead, self._is_read = ReadAhead(next(self._numbers), request), False
            self._send(self._ahead)
        elif self._is_read:
            self.prompt_read.emit(request)

    def write_title(self, request: ConversationRequest) -> int | None:
        """Let an idle model write a short answer. Return the ticket of `titled`, or None if the model is busy."""
        is_reading = self._ahead is not None and not self._is_read
        if not self.model_info or self._generation is not None or self._job or is_reading:
            return None
        order = WriteTitle(next(self._numbers), request)
        self._send(order)
        return order.ticket

    def count_tokens(self, text: str = "", request: ConversationRequest | None = None) -> int:
        """Count the tokens of a text and a request. Return the ticket of `counted`, which needs a loaded model."""
        order = CountTokens(next(self._numbers), request, text)
        if self.model_info:
            self._send(order)
        return order.ticket

    def describe(self) -> None:
        """Ask for devices and versions; `described` follows."""
        self._send(Describe(next(self._numbers)))

    def bench(self, size: BenchSize) -> int:
        """Race the ways to decode. Return the ticket of every `benched`."""
        return self._begin(Bench(next(self._numbers), size))

    def tune(self, request: TuneRequest) -> int:
        """Tune what the request names, in a process without a model. Return the ticket of every `tuned`."""
        assert not self._session.options, "unload first"
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
        if self._session.outbox or self._session.is_ready:  # waiting orders may have it read more of them
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
        self._step_timer.stop()
        self._poll_timer.stop()
        self._session.close()

    def _begin(self, job: Bench | Tune) -> int:
        assert self._job is None, "one benchmark or tuning at a time"
        self._job = job
        self._send(job)
        return job.ticket

    def _send(self, order: Order) -> None:
        if isinstance(order, Generate | Bench | Tune | Forget):  # the other orders do not end it
            self._ahead = None
        self._session.send(order)
        self._watch()

    def _watch(self) -> None:
        """Poll the session when it is due."""
        delay = self._session.poll_delay()
        if delay == inf:
            self._poll_timer.stop()
        else:
            self._poll_timer.start(ceil(delay * 1000))

    def _leave_model(self) -> None:
        """Forget the model, and end the answer in progress."""
        if self._generation is not None:
            self._withdraw()
        if self._job:
            ticket = self._job.ticket
            self._handle_job(Benched(ticket, None) if isinstance(self._job, Bench) else TuneEnded(ticket, None))

    def _withdraw(self) -> None:
        """End the answer without its engine: take the order back, or cancel it and drop what still comes."""
        assert self._generation is not None
        generation = self._generation
        self._session.withdraw(generation)
        self._end_answer()
        self.finished.emit(generation, Finish(FinishReason.CANCELLED, no_stats(), ()))

    def _end_answer(self) -> None:
        self._flush()
        self._generation = None

    @Slot()
    def _flush(self) -> None:
        self._step_timer.stop()
        steps, self._steps = tuple(self._steps), []
        if steps:
            self.steps.emit(self._generation, steps)

    @Slot(int, object)
    def _on_report(self, number: int, event: ProcessEvent) -> None:
        """Handle an event of a process; those of all processes arrive here, from their threads."""
        self._handle(self._session.take(number, event))

    @Slot()
    def _on_poll(self) -> None:
        self._handle(self._session.poll())

    def _handle(self, report: Report | Lost | None) -> None:
        self._watch()
        if isinstance(report, Lost):
            self._handle_loss(report)
        elif isinstance(report, Stepped):
            self._steps.append(report.step)
            if not self._step_timer.isActive():
                self._step_timer.start()
        elif report and not self._is_late(report):
            self._emit(report)

    def _is_late(self, report: Report) -> bool:
        awaited = (self._recalled, self._job.ticket if self._job else None)
        return isinstance(report, BenchReport | TuneReport) and report.ticket not in awaited

    def _emit(self, report: Report) -> None:
        match report:
            case Loading():
                self.loading.emit(report)
            case Loaded(model_info):
                self._ahead = None
                self.loaded.emit(model_info)
                if self._session.loads > 1:
                    self.restarted.emit()
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
                self.tpot_ms = finish.stats.tpot_ms or self.tpot_ms
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

    def _handle_failure(self, report: Failed) -> None:
        is_out_of_memory = report.kind == OutOfMemoryError.__name__  # which ends everything
        if is_out_of_memory or report.order in (Bench.__name__, Tune.__name__):
            self._job = None
        if is_out_of_memory or report.generation is not None or not report.order:
            self._end_answer()
        self.failed.emit(translate_error(report.sentence), report)

    def _handle_loss(self, loss: Lost) -> None:
        sentence = self._sentence(loss.cause)
        self.journal.write(f"engine process ended: {sentence}")
        if loss.is_expected:
            return
        generation, self._job = self._generation, None
        self._end_answer()
        if loss.was_loading and isinstance(loss.cause, Ended):
            more = self.tr("It was loading a model, which may need more memory than there is.")
            sentence = sentences(sentence, more)
        if not loss.is_restarting:
            more = self.tr("Details are in the log: {}").format(self.journal.path)
            sentence = sentences(sentence, more)
        self.crashed.emit(sentence, generation)

    def _sentence(self, cause: Ended | HeadstartError) -> str:
        if isinstance(cause, HeadstartError):
            return translate_error(cause)
        how = ending(cause.code) if cause.code < 0 else self.tr("exit code {}").format(cause.code)
        if how == OUT_OF_MEMORY:
            return self.tr("The system ended the model, probably because memory ran out. Your text is kept.")
        return self.tr("The engine stopped unexpectedly ({}).").format(how)
