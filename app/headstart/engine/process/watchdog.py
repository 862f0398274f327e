"""The watchdog: how long a working engine may be silent before it counts as hung.

Only the time in which this side ran is counted: a sleeping computer or a stopped terminal does not make a hung engine.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from headstart.engine.engine import EngineKind, LoadOptions, Prefill
from headstart.engine.protocol import (
    Answered,
    Asked,
    Bench,
    Benched,
    Counted,
    Described,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    ModelInfo,
    Order,
    Prefilled,
    Ready,
    Report,
    ServerEnded,
    Serving,
    Stepped,
    TurnEnded,
    TurnTaken,
)
from headstart.engine.tuning.messages import Tune, TunedKnown, TuneEnded
from headstart.errors import Translatable

POLL_S = 1.0  # between two calls of `find_hang`
_MAX_COUNTED = 2 * POLL_S  # a longer pause between two calls means that this side stood still
_PASS_TOKENS = 1024  # tokens that Headstart's own engine reads at a time
_GIGABYTE = 1e9
_WEIGHTS = "*.bin"
_ENDED_BY: dict[type[Report], type[Order]] = {Loaded: Load, Finished: Generate, Benched: Bench, TuneEnded: Tune}
_WORK_ORDERS = {kind.__name__: kind for kind in _ENDED_BY.values()}
# These come from other threads than the one that works.
_SIDE_REPORTS = (Counted, Described, TunedKnown, Serving, Asked, Answered, ServerEnded)


@dataclass(frozen=True)
class Timeouts:
    """Seconds of silence that are allowed; many times what slow computers need."""

    start: float = 30.0
    load: float = 180.0
    gigabyte: float = 120.0  # added for each gigabyte of weights
    round: float = 60.0
    token: float = 0.1  # added for each token of a prompt
    measuring: float = 900.0  # a heat of a benchmark, a trial of a tuning
    computing: float = 10.0  # factor while the process uses a fifth of a core: it is slow, not hung


class Activity(Enum):
    """The work of a silent engine, as words for a sentence."""

    START = Translatable("starting")
    LOAD = Translatable("loading the model")
    READ = Translatable("reading the message")
    WRITE = Translatable("writing the answer")
    MEASURE = Translatable("measuring")


@dataclass(frozen=True)
class HangReport:
    """A hung engine."""

    activity: Activity
    seconds: float

    @property
    def sentence(self) -> Translatable:
        return Translatable(
            "The engine gave no sign for {seconds:.0f} seconds while {doing}, so it was ended; "
            "it starts again when it is needed.",
            seconds=self.seconds,
            doing=self.activity.value,
        )


class Watchdog:
    """Follows the orders and reports of one process."""

    def __init__(self, timeouts: Timeouts | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Start watching a process that is being started. `clock` returns seconds."""
        self._timeouts, self._clock = timeouts or Timeouts(), clock
        self._orders: list[Order] = []
        self._is_serving = False  # an answer for the local server is at work
        self._has_started = False
        self._model_info: ModelInfo | None = None
        self._prompt: Prefill | None = None  # of the answer at work
        self._is_writing = False
        self._silent_s, self._polled = 0.0, clock()
        self._cpu_seconds_before: float | None = None  # at the first poll after the last report

    @property
    def is_idle(self) -> bool:
        return self._has_started and not self._orders and not self._is_serving

    def note_order(self, order: Order) -> None:
        """Note an order that was sent."""
        if type(order).__name__ in _WORK_ORDERS:
            if self.is_idle:
                self._restart_clock()
            self._orders.append(order)

    def note_report(self, report: Report) -> None:
        if isinstance(report, _SIDE_REPORTS) or (
            isinstance(report, Failed) and report.order and report.order not in _WORK_ORDERS
        ):
            return
        match report:
            case Ready():
                self._has_started = True
            case Loaded(model_info):
                self._model_info = model_info
            case Prefilled(_, prefill) | TurnTaken(Prefill() as prefill):
                self._prompt = prefill
            case Stepped() | TurnTaken():
                self._is_writing = True
        if isinstance(report, TurnTaken):
            self._is_serving = True
        elif isinstance(report, TurnEnded):
            self._is_serving, self._prompt, self._is_writing = False, None, False
        self._remove_order(report)
        self._restart_clock()

    def find_hang(self, cpu_seconds: Callable[[], float]) -> HangReport | None:
        """Return a report if the process hangs; call it every POLL_S. `cpu_seconds` returns its processor time."""
        now = self._clock()
        self._silent_s += min(now - self._polled, _MAX_COUNTED)
        self._polled = now
        if self.is_idle:
            return None
        if self._cpu_seconds_before is None:
            self._cpu_seconds_before = cpu_seconds()
        activity, limit = self._limit()
        if self._silent_s <= limit:
            return None
        if cpu_seconds() - self._cpu_seconds_before >= self._silent_s / 5:  # it computes
            limit *= self._timeouts.computing
        return HangReport(activity, self._silent_s) if self._silent_s > limit else None

    def _restart_clock(self) -> None:
        self._silent_s, self._polled, self._cpu_seconds_before = 0.0, self._clock(), None

    def _remove_order(self, report: Report) -> None:
        """Remove the oldest order of the kind that has ended, or all after an unreadable one."""
        if isinstance(report, Failed) and not report.order:
            self._orders.clear()
        ended = _WORK_ORDERS.get(report.order) if isinstance(report, Failed) else _ENDED_BY.get(type(report))
        done = next((order for order in self._orders if type(order) is ended), None)
        if done:
            self._orders.remove(done)
            self._prompt, self._is_writing = None, False

    def _limit(self) -> tuple[Activity, float]:
        timeouts = self._timeouts
        if not self._has_started:
            return Activity.START, timeouts.start
        order = None if self._is_serving else self._orders[0]
        if isinstance(order, Load):
            return Activity.LOAD, self._load_limit(order.options)
        if isinstance(order, Bench | Tune):
            return Activity.MEASURE, timeouts.measuring
        activity = Activity.WRITE if self._is_writing else Activity.READ
        if self._model_info and self._model_info.server:
            return activity, float("inf")
        return activity, timeouts.round + timeouts.token * self._unread_tokens()

    def _load_limit(self, options: LoadOptions) -> float:
        if options.remote:
            return float("inf")  # the remote client has its own limits
        size = 0
        for folder in filter(None, (options.target, options.draft)):
            for file in folder.glob(_WEIGHTS):
                with suppress(OSError):  # loading reports it
                    size += file.stat().st_size
        return self._timeouts.load + self._timeouts.gigabyte * size / _GIGABYTE

    def _unread_tokens(self) -> int:
        """Return how many tokens of the prompt one pass may have to read."""
        if self._prompt is None:
            return 0
        if self._is_writing:  # the draft reads it before its first guess
            return self._prompt.total if self._model_info and self._model_info.draft else 0
        left = self._prompt.total - self._prompt.done
        own = self._model_info is None or self._model_info.engine == EngineKind.HEADSTART.value
        return min(left, _PASS_TOKENS) if own else left
