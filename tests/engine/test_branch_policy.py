"""Which of the draft's other choices are checked: those that pay, within all bounds; and what they teach."""

import json

from headstart.engine.engine import Mode, Speculation
from headstart.engine.policy import Policy
from headstart.engine.rounds import Outcome
from headstart.engine.sampling import Guess
from tests.engine.test_policy import BEGIN, a_policy, draft


def drafted(confidences: list[float], speculation: Speculation | None = None) -> tuple[Policy, int]:
    """A policy in the middle of a round, and how many of the candidates it keeps."""
    policy = a_policy(speculation)
    count = draft(policy, BEGIN, confidences)
    return policy, policy.kept(confidences[:count])


def test_the_likely_ones_are_checked_and_the_others_not() -> None:
    policy, kept = drafted([0.9, 0.5])
    assert kept == 2
    assert policy.branches([[0.001], [0.4, 0.002]], kept) == [(1, 0)]


def test_a_sure_draft_needs_none() -> None:
    policy, kept = drafted([0.99, 0.99])
    assert policy.branches([[0.005], [0.005]], kept) == []


def test_only_beside_what_is_checked() -> None:
    policy, kept = drafted([0.6, 0.5])
    assert kept == 2
    assert policy.branches([[0.39], [0.4]], kept) == [(0, 0), (1, 0)]
    assert policy.branches([[0.39], [0.4]], 1) == [(0, 0)]
    assert policy.branches([[0.39], [0.4]], 0) == []


def test_a_fixed_length_is_what_was_asked_for() -> None:
    policy, kept = drafted([0.5, 0.5], Speculation(Mode.FIXED, num_assistant_tokens=2))
    assert policy.branches([[0.4], [0.4]], kept) == []


def test_the_bounds_hold_for_them_too() -> None:
    capped, kept = drafted([0.5, 0.5], Speculation(num_assistant_tokens=3))
    assert kept + len(capped.branches([[0.4, 0.05], [0.4, 0.05]], kept)) <= 3
    confident, kept = drafted([0.5], Speculation(assistant_confidence_threshold=0.45))
    assert confident.branches([[0.4]], kept) == []


def test_a_branch_that_holds_teaches_what_it_is() -> None:
    policy, _ = drafted([0.6])
    before = policy.runner_up.predict(0.3), policy.draft.predict(1, 0.6), policy.ngram.predict(5, 1)
    runners_up = ((Guess(7, 0.3),),)
    for _ in range(5):
        policy.plan(BEGIN)
        policy.learn(Outcome(2, 2, 1, 75.0, 24.0, 1.0, (0.6,), 0, runners_up=runners_up, runner_up=0, branched=True))
    assert policy.runner_up.predict(0.3) > before[0]
    assert policy.draft.predict(1, 0.6) < before[1]
    assert policy.ngram.predict(5, 1) == before[2]
    restored = Policy.from_json(json.loads(json.dumps(policy.to_json())))
    assert restored.runner_up.to_json() == policy.runner_up.to_json()
