"""Which of several settings beats the default, in a bounded time: successive halving over paired times. Pure.

Every candidate is timed against the default, run beside run, so that what slows the machine slows both. After each
turn the slower half is dropped and the rest is timed longer (Jamieson & Talwalkar 2016). A winner needs a median gain
and a sign test that chance does not pass: what is within noise leaves the default in place.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from headstart.engine.bench.stats import Spread, paired, spread
from headstart.errors import HeadstartError

LEAST_GAIN = 1.02  # median; what is less is not worth a setting
_CHANCE = 0.05  # that a setting which gains nothing is taken, over all candidates of a stage
Pair = tuple[float, float]  # milliseconds of the default and of the candidate


@dataclass
class Trial:
    """What is known of one candidate; a ratio above 1 is faster than the default. `failure` is why it cannot run."""

    name: str
    base: list[float] = field(default_factory=list)
    mine: list[float] = field(default_factory=list)
    failure: str = ""

    @property
    def ratios(self) -> list[float]:
        """Default / candidate, pair by pair."""
        return paired(self.base, self.mine)

    @property
    def spread(self) -> Spread | None:
        """Of the ratios; None before the first."""
        return spread(self.ratios)

    @property
    def median(self) -> float:
        """Of the ratios; 0 before the first."""
        return self.spread.median if self.spread else 0.0

    @property
    def better(self) -> int:
        """Pairs in which it was faster."""
        return sum(ratio > 1.0 for ratio in self.ratios)


Compare = Callable[[str, int, int], Generator[Pair]]  # a candidate, its first pair by number, and how many


class Deadline:
    """When a stage must end."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """From now."""
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds; negative when over."""
        return self._end - self._clock()

    def part(self, part: float) -> "Deadline":
        """An earlier end, after this part of what is left."""
        return Deadline(self.left * part, self._clock)


def chance(better: int, pairs: int) -> float:
    """Of at least so many wins if each were a coin's throw: the one-sided sign test."""
    return float(sum(math.comb(pairs, wins) for wins in range(better, pairs + 1)) / 2**pairs)


def winner(trials: Sequence[Trial]) -> Trial | None:
    """The fastest that certainly beats the default; None where none does. Every candidate tried makes it stricter."""
    proven = [trial for trial in trials if proves(trial, len(trials))]
    return max(proven, key=lambda trial: trial.median, default=None)


def proves(trial: Trial, rivals: int) -> bool:
    """Whether the gain of one among so many is worth having and beyond chance."""
    pairs = len(trial.ratios)
    return not trial.failure and trial.median >= LEAST_GAIN and chance(trial.better, pairs) <= _CHANCE / rivals


def halve(names: Sequence[str], compare: Compare, deadline: Deadline, turns: Sequence[int]) -> list[Trial]:
    """Time all, then the better half longer, and so on; `turns` are the pairs of each turn."""
    trials = [Trial(name) for name in names]
    alive = trials
    for pairs in turns:
        for trial in alive:
            _extend(trial, compare, deadline, pairs)
        ranked = sorted(alive, key=lambda trial: trial.median, reverse=True)
        alive = [trial for trial in ranked[: -(-len(ranked) // 2)] if trial.median > 1.0 and not trial.failure]
        if deadline.left <= 0 or (len(alive) == 1 and proves(alive[0], len(trials))):
            break
    return trials


def _extend(trial: Trial, compare: Compare, deadline: Deadline, pairs: int) -> None:
    """As many pairs as there is time for, one at least is begun where any is left."""
    if deadline.left <= 0:
        return
    try:
        with closing(compare(trial.name, len(trial.base), pairs)) as timed:
            _take(trial, timed, deadline)
    except (RuntimeError, HeadstartError) as error:
        trial.failure = str(error).strip().splitlines()[0]


def _take(trial: Trial, timed: Iterable[Pair], deadline: Deadline) -> None:
    for base, mine in timed:
        trial.base.append(base)
        trial.mine.append(mine)
        if deadline.left <= 0:
            return
