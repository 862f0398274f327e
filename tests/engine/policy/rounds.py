"""Rounds by their numbers of drafted, checked and accepted tokens. The tokens of a text are 0, 1, 2, .."""

from collections.abc import Sequence

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Origin, Timing
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState, Selection

WRONG = -1
TARGET_MS = {1: 71.0, 2: 72.0, 3: 73.0, 4: 75.0, 6: 82.0, 8: 92.0, 12: 110.0, 16: 140.0}  # of a pass by its tokens


def tokens(count: int, right: int | None = None) -> tuple[int, ...]:
    """Return guesses of which the first `right` ones are right; None: all."""
    return tuple(place if right is None or place < right else WRONG for place in range(count))


def copied(length: int, match: int, right: int | None = None) -> dict[str, Draft]:
    return {Origin.NGRAM: Draft(tokens(length, right), match_length=match)}


def guessed(confidences: Sequence[float], tail: int = 0, match: int = 0) -> Draft:
    """Return the draft of a draft model, with n-grams behind it."""
    return Draft(tokens(len(confidences) + tail), tuple(confidences), match)


def planned(policy: Policy, state: RoundState) -> tuple[str, int]:
    plan = policy.plan(state)
    return plan.drafter, plan.limit


def outcome(
    plan: DraftPlan,
    checked: int,
    accepted: int,
    confidences: Sequence[float] = (),
    *,
    ms: Timing,
    right: int | None = None,
    match: int = 0,
) -> Outcome:
    """Return the outcome of a round that checked so many guesses, of which `right` are right, checked or not."""
    right = accepted if right is None else right
    draft = Draft(tokens(max(len(confidences), checked), right), tuple(confidences), match)
    verified = Draft(draft.tokens[:checked], (), match)
    return Outcome(plan, Selection(draft, verified, 1 + verified.size), range(accepted + 1), ms)
