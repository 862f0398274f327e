"""The engine's process as orders and signals, replaced when it dies."""

import itertools
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from headstart.engine.engine import Finish, FinishReason, LoadOptions, Request, Step, nothing
from headstart.engine.process.client import Ended, EngineProcess, Told
from headstart.engine.process.host import Turn
from headstart.engine.process.watch import LOOK, Doing, Patience
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
    Facts,
    Failed,
    Finished,
    Forget,
    Generate,
    Load,
    Loaded,
    Loading,
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

_SHOWN, _HIDDEN = 33, 100  # ms between two `steps`
# Orders whose failure is not shown: the answer will say what is wrong, and loading the model what is wrong with that.
_UNTOLD = (CountTokens.__name__, ReadAhead.__name__, WriteTitle.__name__, RecallTuned.__name__, ForgetTuned.__name__)


class EngineLink(QObject):
    """The engine as the window sees it. One answer at a time; a process is started when there is something to do."""

    loading = Signal(object)  # Loading, or None when the process is being started
    loaded = Signal(object)  # Facts
    unloaded = Signal()
    prefill = Signal(int, object)  # generation, Prefill
    steps = Signal(int, object)  # generation, tuple[Step, ...]: what came within one tick
    finished = Signal(int, object)  # generation, Finish
    failed = Signal(str, object)  # sentence, Failed: its `generation` and `order` say what failed; the engine lives
    crashed = Signal(str, object)  # sentence, the generation that ends with what was shown of it, or None
    served = Signal(object)  # ServerReport; ServerEnded is the last unless the engine dies
    restarted = Signal()  # after `crashed`: the model is loaded again
    counted = Signal(int, int, int)  # ticket, tokens, context
    prompt_read = Signal(object)  # Request: an answer to it would begin at once
    titled = Signal(int, object)  # ticket, text; None where something else was asked for
    described = Signal(object)  # Description
    benched = Signal(object)  # reports of a benchmark; Benched is the last unless it ends in `failed` or `crashed`
    tuned = Signal(object)  # reports of a tuning; TuneEnded is the last likewise; TunedKnown answers `recall`, `forget`
    _told = Signal(int, object)  # the number of the process that says it, Told; from a thread

    def __init__(
        self,
        command: Sequence[str] | None = None,
        journal: Journal | None = None,
        parent: QObject | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Starts nothing. `command` is that of the engine's program unless a test or the self-check wants another."""
        super().__init__(parent)
        self._patience = patience
        self.journal = journal or Journal()
        self._command = tuple(command or program("--log", str(self.journal.path)))
        self._process: EngineProcess | None = None
        self._number = 0  # of the process: what an earlier one says late is dropped
        self._up = self._used = self._retiring = self._killed = self._restarting = False
        self._fault: tuple[str, bool] | None = None  # why it is being ended, and whether a new one may do better
        self._budget = RestartBudget()
        self._numbers = itertools.count(1)
        self._options: LoadOptions | None = None
        self._facts: Facts | None = None
        self._generation: int | None = None
        self._job: Bench | Tune | None = None
        self._ahead: ReadAhead | None = None  # the last one, unless something else came after it
        self._is_read = False  # whether that was read to its end
        self._recalled: int | None = None  # the latest question of what is known
        self._outbox: list[Order] = []
        self._steps: list[Step] = []
        self._told.connect(self._take, Qt.ConnectionType.QueuedConnection)
        self._frame = QTimer(self, singleShot=True, interval=_SHOWN)
        self._frame.timeout.connect(self._flush)
        self._grace = QTimer(self, singleShot=True, interval=int(CANCEL_GRACE * 1000))
        self._grace.timeout.connect(self._kill_deaf)
        self._deadline = QTimer(self, singleShot=True)
        self._deadline.timeout.connect(self._give_up)
        self._looking = QTimer(self, interval=int(LOOK * 1000))
        self._looking.timeout.connect(self._look)

    @property
    def facts(self) -> Facts | None:
        """What is loaded; None before and while loading."""
        return self._facts

    @property
    def generation(self) -> int | None:
        """The answer being written, if any."""
        return self._generation

    @property
    def is_restarting(self) -> bool:
        """Whether the model of a dead engine is being loaded again."""
        return self._restarting

    @property
    def pid(self) -> int:
        """The engine's process; 0 when there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the process before it is needed, to save the time later."""
        if self._process is None:
            self._spawn()

    def load(self, options: LoadOptions) -> None:
        """Load a model in a process that has had no other; what was loaded before is freed with its process."""
        self._leave_model()
        self._budget.reset()
        self._options = options
        self.loading.emit(None)
        if self._process is None:
            self._spawn()
        elif self._up and not self._used:
            self._greet()
        elif self._used:
            self._retire()

    def unload(self) -> None:
        """Free the model by ending its process."""
        self._leave_model()
        if self._process and self._used:
            self._retire()
        self.unloaded.emit()

    def generate(self, request: Request) -> int:
        """Ask for an answer, if need be after the model is there; ends in `finished`, `failed` or `crashed`."""
        assert self._generation is None, "one answer at a time"
        self._generation = next(self._numbers)
        self._send(Generate(self._generation, request))
        return self._generation

    def cancel(self) -> None:
        """End the answer; `finished` follows, at once where nothing has been asked of the model yet."""
        if self._generation is None:
            return
        if self._facts is None:
            self._withdraw()
        elif not self._grace.isActive():
            self._send(Cancel(self._generation))
            self._grace.start()

    def read_ahead(self, request: Request) -> None:
        """Have a model with nothing to do read a prompt that may come; `prompt_read` follows if nothing else does."""
        if not self._process or not self._up or not self._facts or self._generation is not None or self._job:
            return
        if self._ahead is None or self._ahead.request != request:
            self._deliver(ReadAhead(next(self._numbers), request))
        elif self._is_read:
            self.prompt_read.emit(request)

    def write_title(self, request: Request) -> int | None:
        """Have a model with nothing to do answer shortly: the ticket that `titled` will bear; None where it is busy."""
        is_reading = self._ahead is not None and not self._is_read
        if not self._facts or not self._up or self._generation is not None or self._job or is_reading:
            return None
        order = WriteTitle(next(self._numbers), request)
        self._deliver(order)
        return order.ticket

    def count_tokens(self, text: str = "", request: Request | None = None) -> int:
        """Count a text and a request: the ticket that `counted` will bear, if a model is loaded."""
        question = CountTokens(next(self._numbers), request, text)
        if self._facts:
            self._send(question)
        return question.ticket

    def describe(self) -> None:
        """Ask for devices, memory and versions; `described` follows."""
        self._send(Describe(next(self._numbers)))

    def bench(self, size: BenchSize) -> int:
        """Race the ways to decode; the ticket that every `benched` bears."""
        return self._begin(Bench(next(self._numbers), size))

    def tune(self, request: TuneRequest) -> int:
        """Tune what the request names, in a process without a model; the ticket that every `tuned` bears."""
        assert self._options is None, "unload first"
        return self._begin(Tune(next(self._numbers), request))

    def stop_job(self) -> None:
        """End a benchmark or a tuning; its last report follows without a result, with a peer only after its answer."""
        if self._job:
            self._send(Cancel(self._job.ticket))

    def recall(self, load: LoadOptions) -> None:
        """Ask what tuning found for these models; `tuned` follows with TunedKnown."""
        self._recalled = next(self._numbers)
        self._send(RecallTuned(self._recalled, load))

    def forget(self, load: LoadOptions) -> None:
        """Drop what tuning found for them; `tuned` follows with TunedKnown."""
        self._recalled = next(self._numbers)
        self._send(ForgetTuned(self._recalled, load))

    def forget_chats(self, *chat_ids: str) -> None:
        """Have a running engine drop what it read of these chats; without any, of all that are kept on disk."""
        if self._outbox or (self._process and self._up):  # what waits there may have more read of them
            self._send(Forget(chat_ids))

    def serve(self, order: StartServer) -> None:
        """Answer other programs with the loaded model; `served` follows, or `failed`."""
        self._send(order)

    def stop_serving(self) -> None:
        """End that; ServerEnded follows."""
        self._send(StopServer())

    def set_hidden(self, hidden: bool) -> None:
        """Send `steps` less often while the window is hidden or minimised."""
        self._frame.setInterval(_HIDDEN if hidden else _SHOWN)

    def close(self) -> None:
        """End the process; waits for it, under a second. Nothing is emitted afterwards."""
        for timer in (self._frame, self._grace, self._deadline, self._looking):
            timer.stop()
        process, self._process = self._process, None
        self._number += 1
        if process:
            if self._generation is not None:
                process.send(Cancel(self._generation))
            process.close()

    def _spawn(self) -> None:
        self._up = self._used = self._retiring = self._killed = False
        self._fault = None
        self._number += 1
        tell = partial(self._told.emit, self._number)
        try:
            self._process = EngineProcess(self._command, self.journal, tell, self._patience)
        except EngineLostError as error:
            tell(error)
        else:
            self._looking.start()

    def _begin(self, job: Bench | Tune) -> int:
        assert self._job is None, "one benchmark or tuning at a time"
        self._job = job
        self._send(job)
        return job.ticket

    def _send(self, order: Order) -> None:
        if self._process and self._up:
            self._deliver(order)
            return
        self._outbox.append(order)
        self.start()

    def _deliver(self, order: Order) -> None:
        assert self._process
        self._used = self._used or isinstance(order, Load | Tune)
        if isinstance(order, ReadAhead):
            self._ahead, self._is_read = order, False
        elif isinstance(order, Generate | Load | Bench | Tune | Forget):  # the others do not end it
            self._ahead = None
        self._process.send(order)
        self._looking.start()

    def _greet(self) -> None:
        """First words to a new process: the model, then what has waited."""
        orders = [*([Load(self._options)] if self._options else []), *self._outbox]
        self._outbox.clear()
        for order in orders:
            self._deliver(order)

    def _retire(self) -> None:
        """Close its input, so that it ends; it is killed after a grace."""
        if self._process and not self._retiring:
            self._retiring, self._up = True, False
            self._fault = self._fault or (self.tr("The engine was closed."), True)
            self._process.end()
            self._looking.stop()
            self._deadline.start(int(CLOSE_GRACE * 1000))

    def _kill(self, sentence: str, *, hopeful: bool = True) -> None:
        """End the process at once, for this reason unless there was one before."""
        assert self._process
        self._fault = self._fault or (sentence, hopeful)
        self._looking.stop()
        self._process.kill()
        self._deadline.start(int(KILL_GRACE * 1000))
        self._killed = True

    def _leave_model(self) -> None:
        """Forget the model; an answer still being written ends here."""
        if self._generation is not None:
            self._withdraw()
        if self._job:
            ticket = self._job.ticket
            self._note_job(Benched(ticket, None) if isinstance(self._job, Bench) else TuneEnded(ticket, None))
        self._grace.stop()
        self._options = self._facts = None
        self._restarting = False
        self._outbox = [order for order in self._outbox if isinstance(order, Describe | RecallTuned)]

    def _withdraw(self) -> None:
        """End the answer without its engine: take the order back, or tell it to stop and drop what still comes."""
        assert self._generation is not None
        generation = self._generation
        waiting = [order for order in self._outbox if isinstance(order, Generate)]
        self._outbox = [order for order in self._outbox if order not in waiting]
        if not waiting and self._process:
            self._process.send(Cancel(generation))
        self._end_answer()
        self.finished.emit(generation, Finish(FinishReason.CANCELLED, nothing(), ()))

    def _end_answer(self) -> None:
        self._flush()
        self._grace.stop()
        self._generation = None

    @Slot()
    def _flush(self) -> None:
        self._frame.stop()
        steps, self._steps = tuple(self._steps), []
        if steps:
            self.steps.emit(self._generation, steps)

    @Slot(int, object)
    def _take(self, number: int, told: Told) -> None:
        """Everything that a process says arrives here, from its threads."""
        if number != self._number:
            return
        if isinstance(told, Ended):
            self._end(*(self._fault or (self._sentence(told), True)))
        elif isinstance(told, EngineLostError):  # it could not even be started
            self._end(translate_error(told), hopeful=False)
        elif self._fault or not self._process:
            return
        elif isinstance(told, HeadstartError):  # nothing that it says can be trusted any more
            self.journal.write(str(told))
            self._kill(translate_error(told), hopeful=not isinstance(told, ProtocolVersionError))
        else:
            self._process.note(told)
            if not (self._process.is_idle or self._looking.isActive()):
                self._looking.start()
            if isinstance(told, Stepped) and told.generation == self._generation:
                self._steps.append(told.step)
                if not self._frame.isActive():
                    self._frame.start()
            elif not self._is_late(told):
                self._note(told)

    def _is_late(self, report: Report) -> bool:
        if isinstance(report, TunedKnown):
            return report.ticket != self._recalled
        if isinstance(report, BenchReport | TuneReport):
            return self._job is None or report.ticket != self._job.ticket
        generation = getattr(report, "generation", None)
        return generation is not None and generation != self._generation

    def _note(self, report: Report) -> None:
        match report:
            case Ready():
                self._up = True
                self._greet()
            case Loading():
                self.loading.emit(report)
            case Loaded(facts):
                self._note_loaded(facts)
            case Counted(ticket, tokens, context):
                self.counted.emit(ticket, tokens, context)
            case PromptRead() | TitleWritten() | TurnTaken():
                self._note_idle_work(report)
            case Described(_, description):
                self.described.emit(description)
            case Failed():
                self._note_failure(report)
            case Prefilled(generation, progress):
                self.prefill.emit(generation, progress)
            case Finished(generation, finish):
                self._end_answer()
                self.finished.emit(generation, finish)
            case _ if isinstance(report, ServerReport):
                self.served.emit(report)
            case _ if isinstance(report, BenchReport | TuneReport):
                self._note_job(report)

    def _note_idle_work(self, report: PromptRead | TitleWritten | TurnTaken) -> None:
        if isinstance(report, TurnTaken):
            self._ahead = None
        elif isinstance(report, TitleWritten):
            self.titled.emit(report.ticket, report.text)
        elif self._ahead and report.ticket == self._ahead.ticket:
            self._is_read = True
            self.prompt_read.emit(self._ahead.request)

    def _note_job(self, report: BenchReport | TuneReport) -> None:
        if isinstance(report, Benched | TuneEnded):
            self._job = None
        (self.benched if isinstance(report, BenchReport) else self.tuned).emit(report)

    def _note_loaded(self, facts: Facts) -> None:
        self._facts = facts
        again, self._restarting = self._restarting, False
        self.loaded.emit(facts)
        if again:
            self.restarted.emit()

    def _note_failure(self, report: Failed) -> None:
        lacks_memory = report.kind == OutOfMemoryError.__name__
        if report.order == Turn.__name__:  # who asked the server was told
            if lacks_memory:
                self._kill(translate_error(report.sentence))
            return
        if report.order in _UNTOLD:
            return
        if report.order == Load.__name__:
            self._options = None
            self._restarting = False
        if report.order in (Bench.__name__, Tune.__name__):
            self._job = None
        if lacks_memory:
            self._renew()
        if report.generation is not None or not report.order:  # an unreadable order may have been that for the answer
            self._end_answer()
        self.failed.emit(translate_error(report.sentence), report)

    def _renew(self) -> None:
        """What ran out of memory is not trusted any more, and gives none back."""
        self._drop_work()
        self._restarting = bool(self._options)
        self._retire()

    def _drop_work(self) -> None:
        """All that the process was doing; an answer that waited for the model would wait for ever."""
        self._end_answer()
        self._facts = self._job = None

    @Slot()
    def _kill_deaf(self) -> None:
        if self._process:
            self._kill(self.tr("The engine did not stop in time and was ended."))

    @Slot()
    def _look(self) -> None:
        """See whether it hangs."""
        assert self._process
        silence = self._process.look()
        if silence:  # a model that was being loaded would be waited for as long once more
            self._kill(translate_error(silence.sentence), hopeful=silence.doing not in (Doing.START, Doing.LOAD))
        elif self._process.is_idle:
            self._looking.stop()

    @Slot()
    def _give_up(self) -> None:
        assert self._process
        if not self._killed:
            self._kill(self.tr("The engine does not end in time."))
            return
        self._process.leave()
        assert self._fault
        self._end(*self._fault)

    def _sentence(self, ended: Ended) -> str:
        how = ending(ended.code) if ended.code < 0 else self.tr("exit code {}").format(ended.code)
        if how == OUT_OF_MEMORY:
            return self.tr("The system ended the model, probably because memory ran out. Your text is kept.")
        return self.tr("The engine stopped unexpectedly ({}).").format(how)

    def _end(self, sentence: str, hopeful: bool) -> None:
        """The process has gone."""
        self._deadline.stop()
        self._looking.stop()
        self.journal.write(f"engine process ended: {sentence}")
        expected = self._retiring
        self._process, self._up, self._retiring = None, False, False
        self._number += 1
        if not expected:
            self._note_crash(sentence, hopeful)
        elif self._options or self._outbox:
            self._spawn()

    def _note_crash(self, sentence: str, hopeful: bool) -> None:
        generation, options, was_loading = self._generation, self._options, self._options and not self._facts
        self._drop_work()
        self._outbox.clear()
        if was_loading and hopeful:
            more = self.tr("It was loading a model, which may need more memory than there is.")
            sentence = sentences(sentence, more)
        again = bool(options) and hopeful and not was_loading and self._budget.take()
        if not again:
            self._options = None
            more = self.tr("Details are in the log: {}").format(self.journal.path)
            sentence = sentences(sentence, more)
        self._restarting = again
        self.crashed.emit(sentence, generation)
        if again:
            self.start()
