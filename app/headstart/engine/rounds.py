"""What a round starts from, what is planned for it and what became of it. Plain values; knows no rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.engine.engine import Origin


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


@dataclass(frozen=True, slots=True)
class Plan:
    """Who drafts, and at most how many: for an n-gram the number to verify, for a draft model a limit."""

    drafter: Origin
    length: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a planned round. `accepted` of `verified` candidates held; times are milliseconds.

    `matched`: how many of the draft's candidates, from the first, equal the tokens that came, the target's own
    included; so a candidate that was not verified can teach, too. `offer_matched`: the same for the n-gram offer,
    whoever drafted.
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

    @property
    def ms(self) -> float:
        """The whole round."""
        return self.verify_ms + self.draft_ms + self.other_ms
