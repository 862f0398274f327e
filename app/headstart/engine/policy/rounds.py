"""What a round starts from, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Timing
from headstart.engine.policy.cost_model import BULK
from headstart.engine.runners.runner import common_prefix


@dataclass(frozen=True, slots=True)
class Situation:
    """What a round starts from."""

    context: int  # tokens in the target's cache
    remaining: int  # tokens that may still be emitted
    offers: Mapping[str, Draft] = field(default_factory=dict)  # by drafter: guesses that cost nothing; none is empty
    lags: Mapping[str, int] = field(default_factory=dict)  # by model that drafts: tokens it reads first, at least 1
    room: int = BULK  # tokens that a pass may hold
    can_branch: bool = True  # whether the target checks several tokens for the same place
    can_pad: bool = True  # whether padding costs no more than its pass
    sharing: int = 1  # answers that wait for the same pass, this one included


@dataclass(frozen=True)
class Outcome:
    """What became of a round. Wrong guesses that were not checked teach, too, where the text went past them."""

    situation: Situation
    drafter: str  # Origin.TARGET without one
    guessed: Draft
    checked: Draft  # what of it
    chosen: Sequence[int]  # guesses that held, then the target's own token
    timing: Timing
    size: int  # tokens of the pass; more than were verified where it was filled up
    foregone_ms: float = 0.0  # worth of guesses left out amid plain steps, as they would have changed the size

    @property
    def tokens(self) -> int:
        """Emitted, the target's own included."""
        return len(self.chosen)

    @property
    def verified(self) -> int:
        """Guesses that were checked, branches included."""
        return self.checked.size

    @property
    def accepted(self) -> int:
        """Guesses that held, a branch included."""
        return len(self.chosen) - 1

    @cached_property
    def branched(self) -> bool:
        """Whether the last accepted guess is a branch."""
        return self.checked.branch_taken(self.chosen) is not None

    @property
    def is_plain(self) -> bool:
        """Whether the pass was that of a plain step."""
        return self.size == 1

    @property
    def in_line(self) -> int:
        """Accepted guesses of the drafter's first choice."""
        return self.accepted - self.branched

    @property
    def is_drafted(self) -> bool:
        """Whether a model was to guess."""
        return self.drafter in self.situation.lags

    @property
    def lag(self) -> int:
        """Tokens that it read before its first guess."""
        return max(self.situation.lags.get(self.drafter, 1), 1)

    @property
    def confidences(self) -> Sequence[float]:
        """Of all tokens that a model guessed."""
        return self.guessed.confidences if self.is_drafted else ()

    @cached_property
    def matched(self) -> int | None:
        """How many of these tokens, from the first, are those that came; None: no model was to guess."""
        return self.matching(self.guessed.beginning(len(self.confidences))) if self.is_drafted else None

    def matching(self, draft: Draft) -> int:
        """How many tokens of a draft, from the first, are those that came."""
        return common_prefix(draft.tokens, self.chosen)

    @property
    def ms(self) -> float:
        """The whole round."""
        return self.timing.verify_ms + self.timing.draft_ms + self.timing.other_ms
