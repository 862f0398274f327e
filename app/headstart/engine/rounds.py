"""What a round starts from, what is planned for it, what became of it, and how the last ones went. Knows no rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.engine.engine import Origin
from headstart.engine.sampling import Guess

_KEPT = 0.5 ** (1 / 12)  # half-life of 12 rounds
_ALWAYS = 2.0  # plain steps that are always counted in


@dataclass(frozen=True, slots=True)
class NgramOffer:
    """Candidates copied from earlier text: how many there are and how many tokens before them match."""

    length: int
    match_length: int


@dataclass(frozen=True, slots=True)
class Situation:
    """What a round starts from. `draft_lag`: tokens the draft must catch up first (at least 1, the pending one)."""

    context: int  # tokens in the target's cache
    remaining: int  # tokens that may still be emitted
    ngram: NgramOffer | None = None
    draft_lag: int | None = None  # None: no draft model
    bigram: tuple[float, ...] = ()  # chances that a table gives to the candidates it offers


@dataclass(frozen=True, slots=True)
class Plan:
    """Who drafts, and at most how many: for an n-gram the number to verify, for a draft model a limit."""

    drafter: Origin
    length: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a planned round. `accepted` of `verified` candidates held; times are milliseconds.

    `matched`: how many of the draft's candidates, from the first, equal the tokens that came, the target's own
    included; so a candidate that was not verified can teach, too. `offer_matched`, `bigram_matched`: the same for what
    n-grams and the table offered, whoever drafted.
    """

    tokens: int  # emitted, the target's own included
    verified: int
    accepted: int
    verify_ms: float
    draft_ms: float = 0.0
    other_ms: float = 0.0
    confidences: Sequence[float] = ()  # of all candidates that the draft model made
    matched: int | None = None
    offer_matched: int | None = None
    bigram_matched: int | None = None
    runners_up: Sequence[Sequence[Guess]] = ()  # of all candidates that the draft model made
    runner_up: int | None = None  # which of those to the first wrong candidate came, from 0
    branched: bool = False  # it was checked, too: the last accepted candidate is a branch

    @property
    def in_line(self) -> int:
        """Accepted candidates of the drafter's first choice."""
        return self.accepted - self.branched

    @property
    def ms(self) -> float:
        """The whole round."""
        return self.verify_ms + self.draft_ms + self.other_ms


class Pace:
    """Tokens per millisecond over the last rounds."""

    def __init__(self) -> None:
        """Start without rounds."""
        self._tokens, self._ms = 0.0, 0.0

    def add(self, tokens: int, ms: float) -> None:
        """Enter a round."""
        self._tokens = _KEPT * self._tokens + tokens
        self._ms = _KEPT * self._ms + ms

    def within(self, least: float, expected: float, most: float) -> float:
        """The pace, kept between two bounds; a little of what is expected is always mixed in, all of it at first."""
        return min(most, max(least, (self._tokens + _ALWAYS) / (self._ms + _ALWAYS / expected)))


class Streak:
    """How many rounds a draft model usually gets in a row before it must catch up again."""

    _LONGEST = 16.0
    _NEWEST = 0.2  # weight of the newest streak

    def __init__(self) -> None:
        """Assume long streaks until short ones were seen."""
        self._usual, self._rounds = self._LONGEST, 0

    @property
    def usual(self) -> float:
        """Rounds that share the cost of a catch-up; at least one."""
        return max(self._usual, 1.0)

    def add(self, *, caught_up: bool) -> None:
        """Enter a round of the draft model; one that caught up begins a new streak."""
        if caught_up and self._rounds:
            self._usual += self._NEWEST * (min(self._rounds, self._LONGEST) - self._usual)
            self._rounds = 0
        self._rounds += 1
