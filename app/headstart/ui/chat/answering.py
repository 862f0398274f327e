"""Takes down one answer from the engine: text, origins, rounds, and how it ended. Knows no conversation and no file."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import Message, Outcome, State
from headstart.engine.engine import Finish, FinishReason, Prefill, Request, Step
from headstart.engine.protocol import Failed, Load
from headstart.ui.chat import answer_report
from headstart.ui.chat.answer_report import NOTICE, ROUNDS
from headstart.ui.chat.live_answer import LiveAnswer, resumed
from headstart.ui.engine_link import EngineLink

_SAVE_EVERY = 700  # ms: a kill must cost less than a second of text, and timers come late


class Answering(QObject):
    """At most one answer at a time. `ended` follows every `begin`, whatever happens to the engine."""

    grew = Signal(int, object)  # message id, tuple[Step, ...]
    reading = Signal(object)  # Prefill
    due = Signal(object)  # LiveAnswer with text that is not yet saved
    ended = Signal(int, object)  # message id, Outcome

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        """Listens to the engine from now on."""
        super().__init__(parent)
        self._link = link
        self.live: LiveAnswer | None = None
        self._saving = QTimer(self, interval=_SAVE_EVERY)
        self._saving.timeout.connect(self._save)
        link.steps.connect(self._take_steps)
        link.prefill.connect(self._take_prefill)
        link.finished.connect(self._take_finish)
        link.failed.connect(self._take_failure)
        link.crashed.connect(self._take_crash)

    def begin(self, message: Message, request: Request) -> None:
        """Ask for the text of `message`, or for the rest of it."""
        assert self.live is None, "one answer at a time"
        self.live = resumed(message, self._link.generate(request))
        self._saving.start()

    def stop(self) -> None:
        """End the answer; `ended` follows."""
        if self.live:
            self._link.cancel()

    def abandon(self) -> None:
        """The window closes: keep what came, wait for nothing."""
        self._save()
        self._saving.stop()
        self.live = None

    @Slot(int, object)
    def _take_steps(self, generation: int, steps: tuple[Step, ...]) -> None:
        if self.live is None or generation != self.live.generation:
            return
        self.live.grow(steps)
        self.grew.emit(self.live.message, steps)

    @Slot(int, object)
    def _take_prefill(self, generation: int, progress: Prefill) -> None:
        if self.live and generation == self.live.generation:
            self.reading.emit(progress)

    @Slot(int, object)
    def _take_finish(self, generation: int, finish: Finish) -> None:
        if self.live is None or generation != self.live.generation:
            return
        stopped = finish.reason is FinishReason.CANCELLED
        kept = answer_report.keep(finish.stats, finish.reason)
        self._end(State.STOPPED if stopped else State.COMPLETE, kept)

    @Slot(str, object)
    def _take_failure(self, sentence: str, failed: Failed) -> None:
        if self.live and failed.order == Load.__name__:  # why is told above the message box, with what can be done
            self._end(State.INTERRUPTED, {NOTICE: self.tr("The model could not be loaded.")})
        elif self.live and failed.generation == self.live.generation:
            self._end(State.INTERRUPTED, {NOTICE: sentence})

    @Slot(str, object)
    def _take_crash(self, sentence: str, generation: int | None) -> None:
        if self.live and generation == self.live.generation:
            self._end(State.INTERRUPTED, {NOTICE: sentence})

    @Slot()
    def _save(self) -> None:
        if self.live and self.live.saved < len(self.live.text):
            self.due.emit(self.live)
            self.live.saved = len(self.live.text)

    def _end(self, state: State, kept: dict[str, object]) -> None:
        assert self.live
        live, self.live = self.live, None
        self._saving.stop()
        self.ended.emit(live.message, Outcome(live.text, state, live.runs, {**kept, ROUNDS: live.rounds}))
