"""Figures of an answer while it is written: speed, acceptance, draft length, where the time goes, ledger. Pure."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from headstart.engine.engine import Round, Step

KEPT = 120  # rounds that are drawn
_WINDOW = 6  # rounds that a figure is the mean of


@dataclass
class LiveFigures:
    """Grows by steps; each series has a figure for every round, the newest last."""

    speed: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # tokens per second
    acceptance: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # share of the guesses
    length: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # guesses in the round
    ledger: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))  # ms earned so far; none where untold
    lacks_ledger: bool = False  # something came, and nobody reckons what it earned
    by_part: dict[str, float] = field(default_factory=lambda: {"draft": 0.0, "verify": 0.0, "other": 0.0})  # ms
    _reached: Counter[int] = field(default_factory=Counter)  # rounds in which the guess at a position was judged
    _held: Counter[int] = field(default_factory=Counter)  # and accepted
    _rounds: int = 0
    _reckoned: bool = False
    _recent: deque[Round] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def grow(self, steps: Iterable[Step]) -> None:
        """Take further rounds; what was only text left over at the end is none."""
        for step in steps:
            self._reckoned = self._reckoned or step.round.ledger_ms is not None
            self.lacks_ledger = not self._reckoned
            if step.round.tokens:
                self._add(step.round)

    def disown(self) -> None:
        """What was earned counts for nothing."""
        self.ledger.clear()

    def shares(self) -> dict[str, float]:
        """Parts of the time, which together are 1; empty before there is any."""
        total = sum(self.by_part.values())
        return {part: spent / total for part, spent in self.by_part.items()} if total else {}

    def by_position(self) -> tuple[float, ...]:
        """For the first guess of a round, the second and so on: how many held of those whose forerunners did."""
        return tuple(self._held[place] / self._reached[place] for place in range(len(self._reached)))

    def _add(self, made: Round) -> None:
        self._rounds += 1
        if self._rounds == 1:  # the first token comes with the prompt's own pass: its time says nothing of the speed
            return
        self._recent.append(made)
        self.by_part["draft"] += made.timing.draft_ms
        self.by_part["verify"] += made.timing.verify_ms
        self.by_part["other"] += made.timing.other_ms
        self.length.append(float(made.drafted))
        if made.ledger_ms is not None:
            self.ledger.append(made.ledger_ms)
        self._reached.update(range(min(made.drafted, made.accepted + 1)))
        self._held.update(range(made.accepted))
        spent = sum(each.timing.total_ms for each in self._recent)
        if spent:
            self.speed.append(1000.0 * sum(len(each.tokens) for each in self._recent) / spent)
        guessed = sum(each.drafted for each in self._recent)
        if guessed:
            self.acceptance.append(sum(each.accepted for each in self._recent) / guessed)
