"""Which of the draft's other choices are checked: those that pay, within all bounds; and what they teach."""

from collections.abc import Sequence
from dataclasses import replace

from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Mode, Speculation, Timing
from headstart.engine.policy.rounds import Outcome
from headstart.engine.runners.runner import Branch
from headstart.engine.sampling import Guess
from tests.engine.rounds import tokens
from tests.engine.test_policy import BEGIN, a_policy, draft


def trimmed(
    confidences: list[float], shares: Sequence[Sequence[float]], speculation: Speculation | None = None
) -> Draft:
    """What is checked of a draft with runners-up of these shares."""
    plan, count = draft(a_policy(speculation), BEGIN, confidences)
    runners_up = tuple(tuple(Guess(100 + rank, share) for rank, share in enumerate(each)) for each in shares)
    return plan.trim(Draft(tokens(count), tuple(confidences[:count]), runners_up=runners_up[:count]))


def test_the_likely_ones_are_checked_and_the_others_not() -> None:
    found = trimmed([0.9, 0.5], [[0.001], [0.4, 0.002]])
    assert len(found.tokens) == 2
    assert found.branches == (Branch(2, 100),)


def test_a_sure_draft_needs_none() -> None:
    assert not trimmed([0.99, 0.99], [[0.005], [0.005]]).branches


def test_beside_each_token_that_is_checked() -> None:
    found = trimmed([0.6, 0.5], [[0.39], [0.4]])
    assert len(found.tokens) == 2
    assert found.branches == (Branch(1, 100), Branch(2, 100))


def test_a_target_that_cannot_branch_is_asked_for_none() -> None:
    policy = a_policy()
    plan = policy.plan(replace(BEGIN, can_branch=False))
    assert not plan.trim(Draft((0,), (0.5,), runners_up=((Guess(100, 0.4),),))).branches


def test_a_fixed_length_is_what_was_asked_for() -> None:
    assert not trimmed([0.5, 0.5], [[0.4], [0.4]], Speculation(Mode.FIXED, num_assistant_tokens=2)).branches


def test_the_bounds_hold_for_them_too() -> None:
    assert trimmed([0.5, 0.5], [[0.4, 0.05], [0.4, 0.05]], Speculation(num_assistant_tokens=3)).size <= 3
    assert not trimmed([0.5], [[0.4]], Speculation(assistant_confidence_threshold=0.45)).branches


def test_a_branch_that_holds_teaches_that_the_first_choice_was_wrong() -> None:
    policy = a_policy()
    before = policy.acceptance.draft.predict(0.6)
    guessed = Draft((0,), (0.6,), runners_up=((Guess(7, 0.3),),), branches=(Branch(1, 7),))
    plan = policy.plan(BEGIN)
    policy.observe(plan, Outcome(plan.situation, plan.drafter, guessed, guessed, (7, 8), Timing(24.0, 75.0, 1.0)))
    assert policy.acceptance.draft.predict(0.6) < before
