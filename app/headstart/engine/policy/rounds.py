"""The state, the plan and the outcome of a round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from headstart.engine.drafters.base import NO_DRAFT, Draft
from headstart.engine.engine import Origin, Timing
from headstart.engine.policy.cost_model import BULK
from headstart.engine.policy.stopping import NO_PRICES, Prices
from headstart.engine.runners.runner import common_prefix


@dataclass(frozen=True, slots=True)
class RoundState:
    """The state at the start of a round, apart from what the policy has learned."""

    context: int  # tokens in the target's cache
    remaining: int  # tokens that may still be written
    free_drafts: Mapping[str, Draft] = field(default_factory=dict)  # by drafter: they cost nothing; none is empty
    uncached_tokens: Mapping[str, int] = field(default_factory=dict)  # by model that can draft: it reads these first
    room: int = BULK  # tokens that a pass may hold
    can_branch: bool = True  # the target checks several tokens for the same place
    can_pad: bool = True  # padding costs no more than its pass
    batch_size: int = 1  # answers that share the pass, this one included


@dataclass(frozen=True)
class DraftPlan:
    """The drafter of a round and how far it may draft."""

    state: RoundState  # without the drafters that the user excludes
    drafter: str = Origin.TARGET  # the target itself: a plain step
    limit: int = 0  # tokens to check at most
    prices: Prices = NO_PRICES  # of a round that a model drafts
    without_switch_cost: Prices = NO_PRICES  # the same, as if a pass of another size than a plain step's cost no more
    deferred_gain_ms: float = 0.0  # what drafting would have gained if it had not changed the size of the pass
    prefill_steps: float = 0.0  # plain steps that the drafter may lose in addition, to read a long text

    @property
    def is_drafted(self) -> bool:
        return self.drafter in self.state.uncached_tokens

    @property
    def free_draft(self) -> Draft | None:
        """The draft that is already there; None if a model has to draft."""
        return None if self.is_drafted else self.state.free_drafts.get(self.drafter, NO_DRAFT)


@dataclass(frozen=True)
class Selection:
    """The part of a draft that the target checks."""

    guessed: Draft  # the whole draft
    checked: Draft
    size: int  # tokens of the pass; padding included
    deferred_gain_ms: float = 0.0  # what checking more would have gained if it had not changed the size of the pass


@dataclass(frozen=True)
class Outcome:
    """The result of a round."""

    plan: DraftPlan
    selection: Selection
    chosen: Sequence[int]  # accepted tokens, then the target's own
    timing: Timing

    @property
    def state(self) -> RoundState:
        return self.plan.state

    @property
    def drafter(self) -> str:
        return self.plan.drafter

    @property
    def size(self) -> int:
        """Tokens of the pass."""
        return self.selection.size

    @property
    def tokens(self) -> int:
        """Number of tokens written, the target's own included."""
        return len(self.chosen)

    @property
    def verified(self) -> int:
        """Number of checked candidates, branches included."""
        return self.selection.checked.size

    @property
    def accepted(self) -> int:
        """Number of candidates accepted, a branch included."""
        return len(self.chosen) - 1

    @cached_property
    def is_branch_taken(self) -> bool:
        """Return True if the last accepted token is a branch."""
        return self.selection.checked.branch_taken(self.chosen) is not None

    @property
    def accepted_in_line(self) -> int:
        """Number of accepted tokens that were the drafter's first choice."""
        return self.accepted - self.is_branch_taken

    @property
    def is_plain(self) -> bool:
        """Return True if the pass read one token, as in a plain step."""
        return self.size == 1

    @property
    def uncached_tokens(self) -> int:
        """Tokens that the model read before its first guess."""
        return max(self.state.uncached_tokens.get(self.drafter, 1), 1)

    @property
    def confidences(self) -> Sequence[float]:
        """Confidences of all tokens that a model drafted, checked or not."""
        return self.selection.guessed.confidences if self.plan.is_drafted else ()

    @cached_property
    def matched(self) -> int | None:
        """The number of these tokens, from the first, that the text continues with; None if no model drafted."""
        if not self.plan.is_drafted:
            return None
        return min(self.matching(self.selection.guessed), len(self.confidences))

    def matching(self, draft: Draft) -> int:
        """Return how many tokens of a draft, from the first, the text went on with."""
        return common_prefix(draft.tokens, self.chosen)

    @property
    def ms(self) -> float:
        """Milliseconds of the whole round."""
        return self.timing.verify_ms + self.timing.draft_ms + self.timing.other_ms
