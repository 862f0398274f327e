"""The window's end of the engine: orders as methods, reports as signals, a new process for a dead one.

Never blocks, except `close`. Knows no widget and no conversation.
"""

import itertools
from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from headstart.engine.engine import Finish, FinishReason, LoadOptions, Message, Request, Step, nothing
from headstart.engine.process.client import Ended, EngineProcess, Told
from headstart.engine.process.host import Turn
from headstart.engine.process.watch import LOOK, Doing, Patience
from headstart.engine.protocol import (
    Answered,
    Asked,
    Bench,
    Benched,
    BenchHeat,
    BenchPlanned,
    BenchSize,
    BenchStage,
    Cancel,
    Counted,
    CountTokens,
    Describe,
    Described,
    Facts,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Loading,
    Order,
    Prefilled,
    Ready,
    Report,
    ServerEnded,
    Serving,
    StartServer,
    Stepped,
    StopServer,
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
    TuneDecided,
    TunedKnown,
    TuneEnded,
    TuneRequest,
    TuneTrying,
)
from headstart.errors import EngineLostError, HeadstartError, OutOfMemoryError, ProtocolVersionError
from headstart.ui.spelling import sentences
from headstart.ui.translation import said


class EngineChild(QObject):
    """A child from its start to its end. `ended` comes once: why in a sentence, and whether a new one may do better."""

    reported = Signal(object)  # Report
    ended = Signal(str, bool)
    _told = Signal(object)  # on a thread of the process

    def __init__(
        self, command: Sequence[str], journal: Journal, patience: Patience | None = None, parent: QObject | None = None
    ) -> None:
        """Nothing runs before `start`. `patience` is another than the usual one for tests."""
        super().__init__(parent)
        self._command, self._journal, self._patience = command, journal, patience
        self._process: EngineProcess | None = None
        self._fault: tuple[str, bool] | None = None
        self._killed = False
        self._told.connect(self._take, Qt.ConnectionType.QueuedConnection)
        self._deadline = QTimer(self, singleShot=True)
        self._deadline.timeout.connect(self._give_up)
        self._looking = QTimer(self, interval=int(LOOK * 1000))
        self._looking.timeout.connect(self._look)

    @property
    def pid(self) -> int:
        """The system's number of the process; 0 when there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the program; `reported` tells when it is ready."""
        try:
            self._process = EngineProcess(self._command, self._journal, self._told.emit, self._patience)
        except EngineLostError as error:
            self._told.emit(error)
            return
        self._looking.start()

    def send(self, order: Order) -> None:
        """Send one order; what a dead process misses is told by `ended`."""
        if self._process:
            self._process.send(order)
            self._looking.start()

    def retire(self) -> None:
        """Let it end by closing its input; it is killed after a grace."""
        if self._process:
            self._fault = self._fault or (self.tr("The engine was closed."), True)
            self._process.end()
            self._looking.stop()
            self._deadline.start(int(CLOSE_GRACE * 1000))

    def kill(self, sentence: str, *, hopeful: bool = True) -> None:
        """End it at once; `ended` will say `sentence`."""
        if self._process:
            self._fault = self._fault or (sentence, hopeful)
            self._looking.stop()
            self._process.kill()
            self._deadline.start(int(KILL_GRACE * 1000))
            self._killed = True

    def close(self) -> None:
        """End it and wait until it has gone: only when the window closes. Emits nothing more."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self._looking.stop()
        self._deadline.stop()
        if self._process:
            self._process.close()

    @Slot(object)
    def _take(self, told: Told) -> None:
        if isinstance(told, Ended):
            self._end(*(self._fault or (self._sentence(told), True)))
        elif isinstance(told, EngineLostError):  # it could not even be started
            self._end(said(told), hopeful=False)
        elif self._fault or not self._process:
            return
        elif isinstance(told, HeadstartError):  # nothing that it says can be trusted any more
            self._journal.write(str(told))
            self.kill(said(told), hopeful=not isinstance(told, ProtocolVersionError))
        else:
            self._process.note(told)
            if not (self._process.is_idle or self._looking.isActive()):
                self._looking.start()
            self.reported.emit(told)

    def _sentence(self, ended: Ended) -> str:
        how = ending(ended.code) if ended.code < 0 else self.tr("exit code {}").format(ended.code)
        if how == OUT_OF_MEMORY:
            return self.tr("The engine stopped unexpectedly ({}, as the system does when memory runs out).").format(how)
        return self.tr("The engine stopped unexpectedly ({}).").format(how)

    @Slot()
    def _look(self) -> None:
        assert self._process
        silence = self._process.look()
        if silence:  # a model that was being loaded would be waited for as long once more
            self.kill(said(silence.sentence), hopeful=silence.doing not in (Doing.START, Doing.LOAD))
        elif self._process.is_idle:
            self._looking.stop()

    @Slot()
    def _give_up(self) -> None:
        assert self._process
        if not self._killed:
            self.kill(self.tr("The engine does not end in time."))
            return
        self._process.leave()
        assert self._fault
        self._end(*self._fault)

    def _end(self, sentence: str, hopeful: bool) -> None:
        self._deadline.stop()
        self._looking.stop()
        self._journal.write(f"engine process ended: {sentence}")
        self.ended.emit(sentence, hopeful)


_PAUSE = 250  # ms between two counts; counting at every key would take its processor time from an answer being written
_SHOWN, _HIDDEN = 33, 100  # ms between two `steps`


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
    described = Signal(object)  # Description
    benched = Signal(object)  # what a benchmark tells; Benched is the last unless it ends in `failed` or `crashed`
    tuned = Signal(
        object
    )  # what a tuning tells; TuneEnded is the last likewise. TunedKnown answers `recall` and `forget`

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
        self._child: EngineChild | None = None
        self._up = self._used = self._retiring = self._restarting = False
        self._budget = RestartBudget()
        self._numbers = itertools.count(1)
        self._options: LoadOptions | None = None
        self._facts: Facts | None = None
        self._generation: int | None = None
        self._job: Bench | Tune | None = None
        self._recalled: int | None = None  # the latest question of what is known
        self._outbox: list[Order] = []
        self._steps: list[Step] = []
        self._counting = _Counting(self)
        self._counting.due.connect(self._send)
        self._tick = QTimer(self, singleShot=True, interval=_SHOWN)
        self._tick.timeout.connect(self._flush)
        self._grace = QTimer(self, singleShot=True, interval=int(CANCEL_GRACE * 1000))
        self._grace.timeout.connect(self._kill_deaf)

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
        return self._child.pid if self._child else 0

    def start(self) -> None:
        """Start the process before it is needed, to save the time later."""
        if self._child is None:
            self._spawn()

    def load(self, options: LoadOptions) -> None:
        """Load a model in a process that has had no other; what was loaded before is freed with its process."""
        self._leave_model()
        self._budget.reset()
        self._options = options
        self.loading.emit(None)
        if self._child is None:
            self._spawn()
        elif self._up and not self._used:
            self._greet()
        elif self._used:
            self._retire()

    def unload(self) -> None:
        """Free the model by ending its process."""
        self._leave_model()
        if self._child and self._used:
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

    def count_tokens(self, text: str = "", messages: tuple[Message, ...] = ()) -> int:
        """Count a text and a conversation: the ticket that `counted` will bear. Overtaken questions get no answer."""
        question = CountTokens(next(self._numbers), messages, text)
        if self._facts:
            self._counting.ask(question)
        return question.ticket

    def describe(self) -> None:
        """Ask for devices, memory and versions; `described` follows."""
        self._send(Describe(next(self._numbers)))

    def bench(self, size: BenchSize) -> int:
        """Race the ways to decode; the ticket that every `benched` bears."""
        return self._begin(Bench(next(self._numbers), size))

    def tune(self, wish: TuneRequest) -> int:
        """Tune what the wish names, in a process without a model; the ticket that every `tuned` bears."""
        assert self._options is None, "unload first"
        return self._begin(Tune(next(self._numbers), wish))

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

    def serve(self, order: StartServer) -> None:
        """Answer other programs with the loaded model; `served` follows, or `failed`."""
        self._send(order)

    def stop_serving(self) -> None:
        """End that; ServerEnded follows."""
        self._send(StopServer())

    def set_hidden(self, hidden: bool) -> None:
        """Told when the window is hidden or minimised: `steps` then come less often."""
        self._tick.setInterval(_HIDDEN if hidden else _SHOWN)

    def close(self) -> None:
        """End the process; waits for it, under a second. Nothing is emitted afterwards."""
        self._tick.stop()
        self._grace.stop()
        self._counting.clear()
        child, self._child = self._child, None
        if child:
            if self._generation is not None:
                child.send(Cancel(self._generation))
            child.close()
            child.deleteLater()

    def _spawn(self) -> None:
        self._up = self._used = self._retiring = False
        self._child = EngineChild(self._command, self.journal, self._patience, self)
        self._child.reported.connect(self._take)
        self._child.ended.connect(self._note_end)
        self._child.start()

    def _begin(self, job: Bench | Tune) -> int:
        assert self._job is None, "one benchmark or tuning at a time"
        self._job = job
        self._send(job)
        return job.ticket

    @Slot(object)
    def _send(self, order: Order) -> None:
        if self._child and self._up:
            self._deliver(order)
            return
        self._outbox.append(order)
        self.start()

    def _deliver(self, order: Order) -> None:
        assert self._child
        self._used = self._used or isinstance(order, Load | Tune)
        self._child.send(order)

    def _greet(self) -> None:
        """First words to a new process: the model, then what has waited."""
        orders = [*([Load(self._options)] if self._options else []), *self._outbox]
        self._outbox.clear()
        for order in orders:
            self._deliver(order)

    def _retire(self) -> None:
        assert self._child
        if not self._retiring:
            self._retiring, self._up = True, False
            self._child.retire()

    def _leave_model(self) -> None:
        """Forget the model; an answer still being written ends here."""
        if self._generation is not None:
            self._withdraw()
        if self._job:
            ticket = self._job.ticket
            self._note_progress(Benched(ticket, None) if isinstance(self._job, Bench) else TuneEnded(ticket, None))
        self._grace.stop()
        self._counting.clear()
        self._options = self._facts = None
        self._restarting = False
        self._outbox = [order for order in self._outbox if isinstance(order, Describe | RecallTuned)]

    def _withdraw(self) -> None:
        """End the answer without its engine: take the order back, or tell it to stop and drop what still comes."""
        assert self._generation is not None
        generation = self._generation
        waiting = [order for order in self._outbox if isinstance(order, Generate)]
        self._outbox = [order for order in self._outbox if order not in waiting]
        if not waiting and self._child:
            self._child.send(Cancel(generation))
        self._end_answer()
        self.finished.emit(generation, Finish(FinishReason.CANCELLED, nothing(), ()))

    def _end_answer(self) -> None:
        self._flush()
        self._grace.stop()
        self._generation = None

    @Slot()
    def _flush(self) -> None:
        self._tick.stop()
        steps, self._steps = tuple(self._steps), []
        if steps:
            self.steps.emit(self._generation, steps)

    @Slot(object)
    def _take(self, report: Report) -> None:
        if self._retiring or self._is_late(report):
            return
        match report:
            case Stepped(_, step):
                self._steps.append(step)
                if not self._tick.isActive():
                    self._tick.start()
            case Ready():
                self._up = True
                self._greet()
            case Loading():
                self.loading.emit(report)
            case Loaded(facts):
                self._note_loaded(facts)
            case Counted(ticket, tokens, context):
                self._counting.note_answer()
                self.counted.emit(ticket, tokens, context)
            case Described(_, description):
                self.described.emit(description)
            case Failed():
                self._note_failure(report)
            case _:
                self._note_progress(report)

    def _is_late(self, report: Report) -> bool:
        if isinstance(report, TunedKnown):
            return report.ticket != self._recalled
        if isinstance(report, BenchStage | BenchPlanned | BenchHeat | Benched | TuneTrying | TuneDecided | TuneEnded):
            return self._job is None or report.ticket != self._job.ticket
        generation = getattr(report, "generation", None)
        return generation is not None and generation != self._generation

    def _note_progress(self, report: Report) -> None:
        match report:
            case Prefilled(generation, progress):
                self.prefill.emit(generation, progress)
            case Finished(generation, finish):
                self._end_answer()
                self.finished.emit(generation, finish)
            case BenchStage() | BenchPlanned() | BenchHeat():
                self.benched.emit(report)
            case Benched():
                self._job = None
                self.benched.emit(report)
            case Serving() | Asked() | Answered() | ServerEnded():
                self.served.emit(report)
            case TuneTrying() | TuneDecided() | TunedKnown():
                self.tuned.emit(report)
            case TuneEnded():
                self._job = None
                self.tuned.emit(report)

    def _note_loaded(self, facts: Facts) -> None:
        self._facts = facts
        again, self._restarting = self._restarting, False
        self.loaded.emit(facts)
        if again:
            self.restarted.emit()

    def _note_failure(self, report: Failed) -> None:
        if report.order == Turn.__name__:  # who asked the server was told
            if report.kind == OutOfMemoryError.__name__ and self._child:
                self._child.kill(said(report.sentence))
            return
        if report.order == CountTokens.__name__:  # a number less on the screen; the answer will say what is wrong
            self._counting.note_answer()
            return
        if report.order in (
            RecallTuned.__name__,
            ForgetTuned.__name__,
        ):  # what is known of a model that loading it will complain of
            return
        if report.order == Load.__name__:
            self._options = None
            self._restarting = False
        if report.order in (Bench.__name__, Tune.__name__):
            self._job = None
        if report.kind == OutOfMemoryError.__name__ and self._child:
            self._renew()
        if report.generation is not None or not report.order:  # an unreadable order may have been that for the answer
            self._end_answer()
        self.failed.emit(said(report.sentence), report)

    def _renew(self) -> None:
        """What ran out of memory is not trusted any more, and gives none back."""
        self._drop_work()
        self._restarting = bool(self._options)
        self._retire()

    def _drop_work(self) -> None:
        """All that the process was doing; an answer that waited for the model would wait for ever."""
        self._end_answer()
        self._facts = self._job = None
        self._counting.clear()

    @Slot()
    def _kill_deaf(self) -> None:
        if self._child:
            self._child.kill(self.tr("The engine did not stop in time and was ended."))

    @Slot(str, bool)
    def _note_end(self, sentence: str, hopeful: bool) -> None:
        expected = self._retiring
        if self._child:
            self._child.deleteLater()
        self._child, self._up, self._retiring = None, False, False
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


class _Counting(QObject):
    """Lets the first question through at once and of those that come meanwhile the last."""

    due = Signal(object)  # CountTokens

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open = False
        self._next: CountTokens | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self._go_on)

    def ask(self, question: CountTokens) -> None:
        """`due` follows, now or later, unless a newer question overtakes this one."""
        self._next = question
        self._go_on()

    def note_answer(self) -> None:
        """The question that was due is answered, well or badly."""
        self._open = False
        self._pause.start()

    def clear(self) -> None:
        """Forget all: nobody is there who could answer."""
        self._open, self._next = False, None
        self._pause.stop()

    @Slot()
    def _go_on(self) -> None:
        question = self._next
        if question and not self._open and not self._pause.isActive():
            self._open, self._next = True, None
            self.due.emit(question)
