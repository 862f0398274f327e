"""The controller of the race: both lanes, then the replay."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from itertools import pairwise

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    Message,
    Mode,
    Sampling,
    Speculation,
    Step,
)
from headstart.settings import Settings
from headstart.ui import engine_request
from headstart.ui.formatting import titled
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.performance.race_page import Lane, RaceLane, RacePage, RaceRequest, RaceResult
from headstart.ui.translation import translate_error

_REPLAY_TICK_MS = 33  # ms


class LaneReplay(QObject):
    """A replay of lanes at the times that were measured."""

    ended = Signal()

    def __init__(self, views: Sequence[RaceLane], parent: QObject | None = None) -> None:
        """`views` show the lanes in the order in which `start` gets them."""
        super().__init__(parent)
        self._views = views
        self._lanes: tuple[Lane, ...] = ()
        self._clock = QElapsedTimer()
        self._timer = QTimer(self, interval=_REPLAY_TICK_MS)
        self._timer.timeout.connect(self._on_tick)

    @property
    def is_running(self) -> bool:
        return self._timer.isActive()

    def start(self, lanes: Iterable[Lane]) -> None:
        """Play the lanes from the beginning."""
        self._lanes = tuple(lanes)
        for view in self._views:
            view.clear()
        self._clock.start()
        self._timer.start()

    def show_at_end(self, lanes: Iterable[Lane]) -> None:
        """Show the lanes as they ended, without playing them."""
        self._lanes = tuple(lanes)
        for view in self._views:
            view.clear()
        self.finish()

    def stop(self) -> None:
        """Stop, and keep what is shown."""
        self._timer.stop()

    def finish(self) -> None:
        self._timer.stop()
        self.show(max(lane.total_ms for lane in self._lanes))

    @Slot()
    def _on_tick(self) -> None:
        now = float(self._clock.elapsed())
        self.show(now)
        if all(now >= lane.total_ms for lane in self._lanes):
            self._timer.stop()
            self.ended.emit()

    def show(self, now: float) -> None:
        """Show the state at `now` milliseconds after the request."""
        for view, lane in zip(self._views, self._lanes, strict=True):
            rounds = bisect_right(lane.moments, now) if now < lane.total_ms else len(lane.steps)
            view.grow(lane.steps[view.rounds : rounds])
            view.show_time(min(now, lane.total_ms), lane.speed(view.tokens, now))
            view.show_share(view.tokens / lane.tokens if lane.tokens else 1.0)


_TICK_MS = 50  # between two updates of the clock


class RacePhase(Enum):
    WARM_UP = auto()  # loads the model and reads the prompt, so that both lanes start alike
    PLAIN = auto()
    SPECULATIVE = auto()
    PLAIN_REPEAT = auto()  # plain once more, in no lane: its difference from the first plain answer is the noise


_NEXT_PHASE = dict(pairwise(RacePhase))
_LANES = (RacePhase.PLAIN, RacePhase.SPECULATIVE)


class RaceController(EngineJob):
    page: RacePage

    def __init__(
        self, page: RacePage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` returns the settings of the open chat, which name the model."""
        super().__init__(page, loader, settings, parent)
        self._phase: RacePhase | None = None
        self._request: RaceRequest | None = None
        self._is_still = self._is_stopping = False
        self._steps: list[Step] = []
        self._lanes: dict[RacePhase, Lane] = {}
        self._clock = QElapsedTimer()
        self._first_ms = 0.0
        self._timer = QTimer(self, interval=_TICK_MS)
        self._replay = LaneReplay(page.lanes, self)
        self._timer.timeout.connect(self._show_clock)
        self._replay.ended.connect(self._on_replay_ended)
        page.replay.clicked.connect(self._on_replay)
        page.form.submitted.connect(self._on_start)
        page.left.connect(self._stop_replay)
        self._link.steps.connect(self._on_steps)
        self._link.finished.connect(self._on_finished)

    @Slot(bool)
    def set_still(self, still: bool) -> None:
        """Stop or allow replays that start by themselves."""
        self._is_still = still

    def close(self) -> None:
        super().close()
        self._phase = None
        self._timer.stop()
        self._replay.stop()

    @property
    def is_running(self) -> bool:
        """True while a race has the engine or shows its replay."""
        return super().is_running or self._replay.is_running

    def _refresh_page(self) -> None:
        if self._phase is not None and self._loader.status:
            self.page.say(titled(self._loader.status, self._loader.loading.step))
        self.page.show_replay(possible=len(self._lanes) == len(_LANES) and not self.is_running)

    def _occupation(self) -> str:
        return self.tr("A race is running; stop it on its page, or wait for its end.")

    def _start(self, request: RaceRequest) -> None:
        self._request, self._lanes, self._is_stopping = request, {}, False
        self._replay.stop()
        self.page.show_result(None)
        for lane in self.page.lanes:
            lane.clear()
        self._loader.load(self._measured)
        self._run(RacePhase.WARM_UP)

    def _run(self, phase: RacePhase) -> None:
        assert self._request
        self._phase, self._steps = phase, []
        mode = Mode.AUTO if phase is RacePhase.SPECULATIVE else Mode.OFF
        tokens = 1 if phase is RacePhase.WARM_UP else self._request.tokens
        sampling = Sampling(temperature=self._request.temperature, seed=self._request.seed)
        messages = (Message("user", self._request.prompt),)
        self._clock.start()
        thinking = engine_request.thinking(self._measured, self._loader.info(self._measured))
        request = ConversationRequest(
            messages, max_new_tokens=tokens, sampling=sampling, speculation=Speculation(mode), thinking=thinking
        )
        self._ticket = self._link.generate(request)
        if phase in _LANES:
            self._timer.start()
        self.page.say(self._phase_text(phase))
        self._refresh()

    def _phase_text(self, phase: RacePhase) -> str:
        match phase:
            case RacePhase.WARM_UP:
                return self.tr("Reading the prompt once, so that both start alike…")
            case RacePhase.PLAIN:
                return self.tr("Without speed-up: one token at a time…")
            case RacePhase.SPECULATIVE:
                return self.tr("With speed-up: several tokens at a time, where they are right…")
            case RacePhase.PLAIN_REPEAT:
                return self.tr("Without speed-up again, to see how steady this computer is…")

    @Slot(int, object)
    def _on_steps(self, generation: int, steps: tuple[Step, ...]) -> None:
        if generation != self._ticket or self._phase is None:
            return
        if not self._steps:
            self._first_ms = float(self._clock.elapsed())
        self._steps += steps
        if self._phase in _LANES:
            self._lane().grow(steps)
            self.page.legend.add_origins({piece.origin.value for step in steps for piece in step.pieces})
            self.page.legend.setVisible(self.page.legend.has_marks)
            self._show_clock()

    @Slot()
    def _show_clock(self) -> None:
        assert self._request
        now, lane = float(self._clock.elapsed()), self._lane()
        spent = now - self._first_ms
        # After the first token, as the finished answer is measured.
        speed = (lane.tokens - 1) * 1000.0 / spent if lane.tokens > 1 and spent > 0 else None
        lane.show_time(now, speed)
        plain = self._lanes.get(RacePhase.PLAIN)
        lane.show_share(lane.tokens / (plain.tokens if plain and plain.tokens else self._request.tokens))

    @Slot(int, object)
    def _on_finished(self, generation: int, finish: Finish) -> None:
        if generation != self._ticket or self._phase is None:
            return
        phase = self._phase
        self._timer.stop()
        if finish.reason is FinishReason.CANCELLED or self._is_stopping:  # also if it was stopped between two phases
            self._end(self.tr("Stopped."))
            return
        lane = Lane(tuple(self._steps), finish)
        if phase in _LANES:
            self._lanes[phase] = lane
            self._lane().show_time(lane.total_ms, finish.stats.tokens_per_second)
            self._lane().show_share(1.0)
        if phase is RacePhase.PLAIN_REPEAT:
            self._finish(lane)
        else:
            self._run(_NEXT_PHASE[phase])

    def _finish(self, plain_repeat: Lane) -> None:
        """Compare with the faster plain answer, which stays in its lane."""
        both = (self._lanes[RacePhase.PLAIN], plain_repeat)
        plain, slower = sorted(both, key=lambda lane: lane.total_ms)
        self._lanes[RacePhase.PLAIN] = plain
        self._replay.show_at_end(self._lanes[phase] for phase in _LANES)
        result = RaceResult(plain, self._lanes[RacePhase.SPECULATIVE], slower)
        self.page.show_result(result, self._setting_text())
        self._end("")
        if not self._is_still and not self.page.isHidden():
            self._on_replay()

    def _setting_text(self) -> str:
        """Return which models and settings raced, with remarks for the user."""
        model_info = self._link.model_info
        assert model_info
        guessing = self.tr("earlier text")
        if model_info.draft or model_info.head:
            guessing = self.tr("a draft model") if model_info.draft else self.tr("a draft head")
        words = self.tr("{model} on {device}, speed-up by {guessing}").format(
            model=self._loader.name(self._measured), guessing=guessing, device=model_info.device
        )
        return ". ".join([words, *map(translate_error, model_info.notes)])

    @Slot()
    def _on_replay(self) -> None:
        if len(self._lanes) < len(_LANES):
            return
        self.page.say(self.tr("Both at once, at the times that were just measured…"))
        self._replay.start([self._lanes[phase] for phase in _LANES])
        self._refresh()

    @Slot()
    def _on_replay_ended(self) -> None:
        self.page.say("")
        self._refresh()

    @Slot()
    def _on_stop(self) -> None:
        if self._replay.is_running:
            self._stop_replay()
        else:
            self._is_stopping = True
            self._link.cancel()

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._phase = None
        self._timer.stop()
        super()._end(sentence if bad else "", bad=bad)
        if not bad:
            self.page.say(sentence)

    @Slot()
    def _stop_replay(self) -> None:
        if self._replay.is_running:
            self._replay.finish()
            self._on_replay_ended()

    def _lane(self) -> RaceLane:
        assert self._phase in _LANES
        return self.page.lanes[_LANES.index(self._phase)]
