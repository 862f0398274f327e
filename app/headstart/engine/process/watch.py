"""The watchdog: how long a working engine may be silent before it counts as hung.

Only time in which this side ran is counted: a sleeping computer or a stopped terminal is not a hung engine.
"""

import threading
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

LOOK = 1.0  # seconds between two looks
_MOST_COUNTED = 2 * LOOK  # seconds between two looks beyond which this side stood still itself
_PASS = 1024  # tokens that Headstart's own engine reads at a time
_GIGABYTE = 1e9
_WEIGHTS = "*.bin"
_ENDS: dict[type[Report], type[Order]] = {Loaded: Load, Finished: Generate, Benched: Bench, TuneEnded: Tune}
_WORK = {kind.__name__: kind for kind in _ENDS.values()}
_ASIDE = (
    Counted,
    Described,
    TunedKnown,
    Serving,
    Asked,
    Answered,
    ServerEnded,
)  # from another thread than the one that works


@dataclass(frozen=True)
class Patience:
    """Seconds of silence, by what the engine does; many times what slow computers need."""

    start: float = 30.0
    load: float = 180.0
    gigabyte: float = 120.0  # more for each one of weights
    round: float = 60.0
    token: float = 0.1  # more for each token of a prompt
    measuring: float = 900.0  # a heat of a benchmark, a trial of a tuning
    computing: float = 10.0  # times as long while the process uses a fifth of a core: it is slow, not hung


class Doing(Enum):
    """What a silent engine does, for a sentence."""

    START = Translatable("starting")
    LOAD = Translatable("loading the model")
    READ = Translatable("reading the message")
    WRITE = Translatable("writing the answer")
    MEASURE = Translatable("measuring")


@dataclass(frozen=True)
class Silence:
    """The engine counts as hung."""

    doing: Doing
    seconds: float

    @property
    def sentence(self) -> Translatable:
        """What a person reads."""
        return Translatable(
            "The engine gave no sign for {seconds:.0f} seconds while {doing}, so it was ended; "
            "it starts again when it is needed.",
            seconds=self.seconds,
            doing=self.doing.value,
        )


class Watch:
    """Gets every order and report of one process, in sequence."""

    def __init__(self, patience: Patience | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """The process is being started. `clock` gives seconds."""
        self._noting = threading.Lock()  # answers at the same time are followed by a thread each
        self._patience, self._clock = patience or Patience(), clock
        self._orders: list[Order] = []
        self._in_turn = False  # an answer for the local server is at work
        self._started = False
        self._facts: ModelInfo | None = None
        self._prompt: Prefill | None = None  # of the answer at work
        self._writing = False
        self._silent, self._looked = 0.0, clock()
        self._used: float | None = None  # processor seconds, at the first look after the last sign

    @property
    def is_idle(self) -> bool:
        """Whether the engine has nothing to do."""
        return self._started and not self._orders and not self._in_turn

    def note_order(self, order: Order) -> None:
        """An order was sent; from any thread."""
        with self._noting:
            if type(order).__name__ in _WORK:
                if self.is_idle:
                    self._begin()
                self._orders.append(order)

    def note_report(self, report: Report) -> None:
        """A report came; on any thread."""
        with self._noting:
            self._note_report(report)

    def _note_report(self, report: Report) -> None:
        if isinstance(report, _ASIDE) or (isinstance(report, Failed) and report.order and report.order not in _WORK):
            return
        match report:
            case Ready():
                self._started = True
            case Loaded(facts):
                self._facts = facts
            case Prefilled(_, prefill) | TurnTaken(Prefill() as prefill):
                self._prompt = prefill
            case Stepped() | TurnTaken():
                self._writing = True
        if isinstance(report, TurnTaken):
            self._in_turn = True
        elif isinstance(report, TurnEnded):
            self._in_turn, self._prompt, self._writing = False, None, False
        self._note_end(report)
        self._begin()

    def look(self, used: Callable[[], float]) -> Silence | None:
        """To be called every LOOK or so; `used` gives the processor seconds of the process. None: all is well."""
        self._count()
        if self.is_idle:
            return None
        if self._used is None:
            self._used = used()
        doing, allowed = self._allowed()
        if self._silent <= allowed:
            return None
        computes = used() - self._used >= self._silent / 5
        patient = computes and self._silent <= allowed * self._patience.computing
        return None if patient else Silence(doing, self._silent)

    def _count(self) -> None:
        now = self._clock()
        self._silent += min(now - self._looked, _MOST_COUNTED)
        self._looked = now

    def _begin(self) -> None:
        self._silent, self._looked, self._used = 0.0, self._clock(), None

    def _note_end(self, report: Report) -> None:
        """The oldest order is at work; an unreadable one may have been any, so all are dropped."""
        if isinstance(report, Failed) and not report.order:
            self._orders.clear()
        ended = _WORK.get(report.order) if isinstance(report, Failed) else _ENDS.get(type(report))
        done = next((order for order in self._orders if type(order) is ended), None)
        if done:
            self._orders.remove(done)
            self._prompt, self._writing = None, False

    def _allowed(self) -> tuple[Doing, float]:
        patience = self._patience
        if not self._started:
            return Doing.START, patience.start
        order = None if self._in_turn else self._orders[0]
        if isinstance(order, Load):
            return Doing.LOAD, self._of_load(order.options)
        if isinstance(order, Bench | Tune):
            return Doing.MEASURE, patience.measuring
        doing = Doing.WRITE if self._writing else Doing.READ
        if self._facts and self._facts.server:
            return doing, float("inf")
        return doing, patience.round + patience.token * self._tokens()

    def _of_load(self, options: LoadOptions) -> float:
        if options.remote:
            return float("inf")  # the client of another computer has its own limits
        size = 0
        for folder in filter(None, (options.target, options.draft)):
            for file in folder.glob(_WEIGHTS):
                with suppress(OSError):  # loading it will report that
                    size += file.stat().st_size
        return self._patience.load + self._patience.gigabyte * size / _GIGABYTE

    def _tokens(self) -> int:
        """Tokens of the prompt that one pass may have to read."""
        if self._prompt is None:
            return 0
        if self._writing:  # a draft reads it when it is first asked for a guess
            return self._prompt.total if self._facts and self._facts.draft else 0
        left = self._prompt.total - self._prompt.done
        own = self._facts is None or self._facts.engine == EngineKind.HEADSTART.value
        return min(left, _PASS) if own else left
