"""Runs a race for its page: both lanes, then the replay."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from itertools import pairwise

from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal, Slot

from headstart.engine.engine import Finish, FinishReason, Message, Mode, Request, Sampling, Speculation, Step
from headstart.settings import Settings
from headstart.ui.formatting import titled
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.performance.engine_job import EngineJob
from headstart.ui.performance.race_page import Lane, RaceLane, RacePage, RaceRequest, RaceResult
from headstart.ui.translation import translate_error

_REPLAY_TICK = 33  # ms


class Replay(QObject):
    """Shows lanes again at the times that were measured."""

    ended = Signal()

    def __init__(self, views: Sequence[RaceLane], parent: QObject | None = None) -> None:
        """`views` show the lanes in the order in which `start` gets them."""
        super().__init__(parent)
        self._views = views
        self._lanes: tuple[Lane, ...] = ()
        self._clock = QElapsedTimer()
        self._tick = QTimer(self, interval=_REPLAY_TICK)
        self._tick.timeout.connect(self._advance)

    @property
    def is_running(self) -> bool:
        """Whether something moves."""
        return self._tick.isActive()

    def start(self, lanes: Iterable[Lane]) -> None:
        """Play from the beginning."""
        self._lanes = tuple(lanes)
        for view in self._views:
            view.clear()
        self._clock.start()
        self._tick.start()

    def stop(self) -> None:
        """Leave everything as it stands."""
        self._tick.stop()

    def finish(self) -> None:
        """Show the end at once."""
        self._tick.stop()
        self.show(max(lane.total_ms for lane in self._lanes))

    @Slot()
    def _advance(self) -> None:
        now = float(self._clock.elapsed())
        self.show(now)
        if all(now >= lane.total_ms for lane in self._lanes):
            self._tick.stop()
            self.ended.emit()

    def show(self, now: float) -> None:
        """What was there `now` milliseconds after the request."""
        for view, lane in zip(self._views, self._lanes, strict=True):
            rounds = bisect_right(lane.moments, now) if now < lane.total_ms else len(lane.steps)
            view.grow(lane.steps[view.rounds : rounds])
            view.show_time(min(now, lane.total_ms), lane.speed(view.tokens, now))
            view.show_share(view.tokens / lane.tokens if lane.tokens else 1.0)


_TICK = 50  # ms between two looks at the clock


class _Leg(Enum):
    """Where a race is."""

    WARM_UP = auto()  # loads, and reads the prompt, so that both lanes start alike
    PLAIN = auto()
    SPECULATIVE = auto()
    AGAIN = auto()  # plain once more, in no lane of its own: what it differs from the first by is the noise


_FOLLOWING = dict(pairwise(_Leg))
_LANES = (_Leg.PLAIN, _Leg.SPECULATIVE)


class RaceController(EngineJob):
    """One for the window."""

    _page: RacePage

    def __init__(
        self, page: RacePage, loader: ModelLoader, settings: Callable[[], Settings], parent: QObject | None = None
    ) -> None:
        """`settings` gives those of the open chat, which name the model."""
        super().__init__(page, loader, settings, parent)
        self._leg: _Leg | None = None
        self._request: RaceRequest | None = None
        self._still = self._is_stopping = False
        self._steps: list[Step] = []
        self._lanes: dict[_Leg, Lane] = {}
        self._clock = QElapsedTimer()
        self._first_ms = 0.0
        self._tick = QTimer(self, interval=_TICK)
        self._replay = Replay(page.lanes, self)
        self._tick.timeout.connect(self._show_clock)
        self._replay.ended.connect(self._show_end)
        page.replay.clicked.connect(self._play)
        page.form.submitted.connect(self._begin)
        page.left.connect(self._stop_replay)
        self._link.steps.connect(self._take_steps)
        self._link.finished.connect(self._take_finish)

    @Slot(bool)
    def set_still(self, still: bool) -> None:
        """Whether the replay waits until it is asked for."""
        self._still = still

    def close(self) -> None:
        """The window closes: nothing is loaded any more."""
        super().close()
        self._leg = None
        self._tick.stop()
        self._replay.stop()

    @property
    def is_running(self) -> bool:
        """Whether it has the engine, or shows again what it did."""
        return super().is_running or self._replay.is_running

    def _show_more(self) -> None:
        if self._leg is not None and self._loader.status:
            self._page.say(titled(self._loader.status, self._loader.loading.step))
        self._page.show_replay(possible=len(self._lanes) == len(_LANES) and not self.is_running)

    def _occupation(self) -> str:
        return self.tr("A race is running; stop it on its page, or wait for its end.")

    def _start(self, request: RaceRequest) -> None:
        self._request, self._lanes, self._is_stopping = request, {}, False
        self._replay.stop()
        self._page.show_result(None)
        for lane in self._page.lanes:
            lane.clear()
        self._loader.load(self._settings())
        self._run(_Leg.WARM_UP)

    def _run(self, leg: _Leg) -> None:
        assert self._request
        self._leg, self._steps = leg, []
        mode = Mode.AUTO if leg is _Leg.SPECULATIVE else Mode.OFF
        tokens = 1 if leg is _Leg.WARM_UP else self._request.tokens
        sampling = Sampling(temperature=self._request.temperature, seed=self._request.seed)
        messages = (Message("user", self._request.prompt),)
        self._clock.start()
        self._ticket = self._link.generate(Request(messages, tokens, sampling, Speculation(mode)))
        if leg in _LANES:
            self._tick.start()
        self._page.say(self._words(leg))
        self._refresh()

    def _words(self, leg: _Leg) -> str:
        match leg:
            case _Leg.WARM_UP:
                return self.tr("Reading the prompt once, so that both start alike…")
            case _Leg.PLAIN:
                return self.tr("Without guessing: one token at a time…")
            case _Leg.SPECULATIVE:
                return self.tr("Guessing ahead: several tokens at a time, where guesses are accepted…")
            case _Leg.AGAIN:
                return self.tr("Without guessing once more, to see how steady this computer is…")

    @Slot(int, object)
    def _take_steps(self, generation: int, steps: tuple[Step, ...]) -> None:
        if generation != self._ticket or self._leg is None:
            return
        if not self._steps:
            self._first_ms = float(self._clock.elapsed())
        self._steps += steps
        if self._leg in _LANES:
            self._lane().grow(steps)
            self._page.legend.add_origins({piece.origin.value for step in steps for piece in step.pieces})
            self._show_clock()

    @Slot()
    def _show_clock(self) -> None:
        assert self._request
        now, lane = float(self._clock.elapsed()), self._lane()
        spent = now - self._first_ms
        # After the first token, as the finished answer is measured.
        speed = (lane.tokens - 1) * 1000.0 / spent if lane.tokens > 1 and spent > 0 else None
        lane.show_time(now, speed)
        plain = self._lanes.get(_Leg.PLAIN)
        lane.show_share(lane.tokens / (plain.tokens if plain and plain.tokens else self._request.tokens))

    @Slot(int, object)
    def _take_finish(self, generation: int, finish: Finish) -> None:
        if generation != self._ticket or self._leg is None:
            return
        leg = self._leg
        self._tick.stop()
        if finish.reason is FinishReason.CANCELLED or self._is_stopping:  # stopped between two legs, too
            self._end(self.tr("Stopped."))
            return
        ended = Lane(tuple(self._steps), finish)
        if leg in _LANES:
            self._lanes[leg] = ended
            self._lane().show_time(ended.total_ms, finish.stats.tokens_per_second)
            self._lane().show_share(1.0)
        if leg is _Leg.AGAIN:
            self._finish(ended)
        else:
            self._run(_FOLLOWING[leg])

    def _finish(self, again: Lane) -> None:
        result = RaceResult(self._lanes[_Leg.PLAIN], self._lanes[_Leg.SPECULATIVE], again)
        self._page.show_result(result)
        self._end(self._setting())
        if not self._still and not self._page.isHidden():
            self._play()

    def _setting(self) -> str:
        """Say what was raced, and what a person should know of it."""
        facts = self._link.facts
        assert facts
        guessing = self.tr("earlier text")
        if facts.draft or facts.head:
            guessing = self.tr("a draft model") if facts.draft else self.tr("a draft head")
        words = self.tr("{model}, guesses from: {guessing}; on {device}").format(
            model=self._loader.name(self._settings()), guessing=guessing, device=facts.device
        )
        return ". ".join([words, *map(translate_error, facts.notes)])

    @Slot()
    def _play(self) -> None:
        if len(self._lanes) < len(_LANES):
            return
        self._page.say(self.tr("Both at once, at the times that were just measured…"))
        self._replay.start([self._lanes[leg] for leg in _LANES])
        self._refresh()

    @Slot()
    def _show_end(self) -> None:
        self._page.say(self._setting() if self._link.facts else "")
        self._refresh()

    @Slot()
    def _stop(self) -> None:
        if self._replay.is_running:
            self._stop_replay()
        else:
            self._is_stopping = True
            self._link.cancel()

    def _end(self, sentence: str, *, bad: bool = False) -> None:
        self._leg = None
        self._tick.stop()
        super()._end(sentence if bad else "", bad=bad)
        if not bad:
            self._page.say(sentence)

    @Slot()
    def _stop_replay(self) -> None:
        if self._replay.is_running:
            self._replay.finish()
            self._show_end()

    def _lane(self) -> RaceLane:
        assert self._leg in _LANES
        return self._page.lanes[_LANES.index(self._leg)]
