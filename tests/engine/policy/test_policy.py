"""The decisions of a round, and the promise never to lose much."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.engine.drafters.base import NO_DRAFT, Draft
from headstart.engine.engine import Drafter, Mode, Origin, Speculation, Timing
from headstart.engine.policy.acceptance import DraftCalibration
from headstart.engine.policy.cost_model import BULK, Costs, Curve
from headstart.engine.policy.loss_budget import DrafterBudget, LossBudget
from headstart.engine.policy.plan import DraftSession
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState, Selection
from headstart.engine.runners.runner import Branch, Joined
from headstart.engine.sampling import Guess
from tests.engine.policy.rounds import TARGET_MS, copied, guessed, outcome, planned, tokens

DRAFT_MS = {1: 24.0, 8: 33.0, 16: 54.0, 32: 95.0}
BEGIN = RoundState(context=100, remaining=200, uncached_tokens={Origin.DRAFT: 1})


def drafted(policy: Policy) -> DraftCalibration:
    """Return the calibration of the draft model."""
    return policy.acceptance.models[Origin.DRAFT]


def a_policy(speculation: Speculation | None = None, *, draft: bool = True) -> Policy:
    policy = Policy(
        Costs(Curve(TARGET_MS, switch_ms=0.0), {Origin.DRAFT: Curve(DRAFT_MS, switch_ms=0.0)} if draft else {})
    )
    policy.begin_answer(speculation or Speculation())
    return policy


def draft(policy: Policy, state: RoundState, confidences: Sequence[float]) -> tuple[DraftSession, int]:
    """Draft candidates of these confidences until the session stops; return how many it drafted."""
    session, drafted = policy.begin_round(state), 0
    assert session.plan.drafter == Origin.DRAFT
    while drafted < len(confidences) and session.should_continue(guessed(confidences[:drafted])):
        drafted += 1
    return session, drafted


def checked(session: DraftSession, draft: Draft) -> int:
    """Return how many tokens in line are checked."""
    return len(session.select(draft).checked.tokens)


def made(
    plan: DraftPlan,
    checked: int,
    accepted: int,
    confidences: Sequence[float] = (),
    right: int | None = None,
    match: int = 0,
) -> Outcome:
    ms = Timing(DRAFT_MS[1] * len(confidences), Curve(TARGET_MS).ms(1 + checked), 0.7 + 0.2 * checked)
    return outcome(plan, checked, accepted, confidences, ms=ms, right=right, match=match)


def chance(policy: Policy, match: int, place: int) -> float:
    """Return the chance of the token at a place of an offer of n-grams."""
    return policy.acceptance.free[Origin.NGRAM].chances(copied(place, match)[Origin.NGRAM])[-1]


def learn(policy: Policy, state: RoundState, *what: Any, **more: Any) -> DraftPlan:
    """Plan a round, and learn from its outcome."""
    plan = policy.plan(state)
    policy.observe(made(plan, *what, **more))
    return plan


def plans_after(policy: Policy, state: RoundState, tokens: int) -> str:
    """Return who drafts after so many tokens were written plainly."""
    for _ in range(tokens):
        learn(policy, replace(state, uncached_tokens={}), 0, 0)
    return policy.plan(state).drafter


def fail(policy: Policy, rounds: int) -> list[str]:
    """Play rounds whose candidates all fail. Return who was to draft."""
    return [tried(policy, 1, 0, (0.6,)) for _ in range(rounds)]


def tried(policy: Policy, *what: Any) -> str:
    """Play a round of the draft model if it is planned, else a plain step."""
    plan = policy.plan(BEGIN)
    policy.observe(made(plan, *what) if plan.drafter == Origin.DRAFT else made(plan, 0, 0))
    return plan.drafter


class TestBesideOthers:
    """Four answers whose passes are made together."""

    OFFERED = RoundState(context=100, remaining=200, free_drafts=copied(8, 8), batch_size=4)

    def steep(self) -> Policy:
        return Policy(Costs(Curve({1: 70.0, 4: 71.0, 8: 90.0, 16: 180.0}, switch_ms=0.0)))

    def test_shared_pass_charges_a_guess_for_what_it_adds(self) -> None:
        dear, cheap = self.steep(), Policy(Costs(Curve({1: 70.0, 32: 72.0}, switch_ms=0.0)))
        assert planned(cheap, self.OFFERED)[1] > planned(dear, self.OFFERED)[1]
        assert planned(dear, replace(self.OFFERED, batch_size=1))[1] > planned(dear, self.OFFERED)[1]

    def test_model_drafts_less_as_all_answers_draft(self) -> None:
        costs = Costs(Curve({1: 26.0, 8: 29.0, 16: 45.0, 64: 150.0}), {Origin.DRAFT: Curve({1: 6.0, 8: 8.0})})
        alone, beside = (draft(Policy(costs), replace(BEGIN, batch_size=size), [0.9] * 12)[1] for size in (1, 4))
        assert 0 < beside < alone

    def test_text_to_read_costs_all_answers(self) -> None:
        costs = self.steep().costs
        alone, beside = (costs.drafting(Origin.DRAFT, 24, 100, size)[1] for size in (1, 4))
        assert beside > 3 * alone

    def test_shared_pass_teaches_its_time_without_the_wait(self) -> None:
        policy = self.steep()
        before = policy.costs.target.ms(8)
        for _ in range(40):
            plan = policy.plan(self.OFFERED)
            policy.observe(outcome(plan, 0, 0, ms=Timing(verify_ms=9000.0)), Joined(8, 400, 180.0, is_switched=False))
        assert 1.5 * before < policy.costs.target.ms(8) < 200.0

    def test_shared_passes_end_failing_drafts(self) -> None:
        policy, rounds = self.steep(), 60
        made_for_nothing = 0
        for _ in range(rounds):
            session = policy.begin_round(self.OFFERED)
            selection = session.select(session.plan.free_draft or NO_DRAFT)
            made_for_nothing += selection.checked.size
            wrong = Outcome(session.plan, selection, (0,), policy.shared_timing(session.plan, selection))
            policy.observe(wrong, Joined(4, 400, 71.0, is_switched=False))
        assert made_for_nothing < rounds


class TestTwoModels:
    """A draft model and an EAGLE-3 head."""

    BOTH = replace(BEGIN, uncached_tokens={Origin.DRAFT: 1, Origin.HEAD: 2})

    def a_policy(self, head_ms: float = 5.0, speculation: Speculation | None = None) -> Policy:
        curves: dict[str, Curve] = {
            Origin.DRAFT: Curve(DRAFT_MS, switch_ms=0.0),
            Origin.HEAD: Curve({1: head_ms}, switch_ms=0.0),
        }
        policy = Policy(Costs(Curve(TARGET_MS, switch_ms=0.0), curves))
        policy.begin_answer(speculation or Speculation())
        return policy

    def test_cheaper_of_two_new_drafters_drafts(self) -> None:
        assert self.a_policy().plan(self.BOTH).drafter == Origin.HEAD
        assert self.a_policy(head_ms=40.0).plan(self.BOTH).drafter == Origin.DRAFT

    def test_plain_answers_leave_what_was_learned_of_models(self) -> None:
        policy = self.a_policy()
        plan = policy.plan(self.BOTH)
        policy.observe(outcome(plan, 2, 2, (0.9, 0.9), ms=Timing(10.0, 73.0, 0.7)))
        learned = policy.acceptance.to_json()
        policy.begin_answer(Speculation(Mode.OFF))
        for _ in range(20):
            policy.observe(outcome(policy.plan(self.BOTH), 0, 0, ms=Timing(0.0, 70.0, 0.7)))
        assert policy.acceptance.to_json()["models"] == learned["models"]

    def test_head_without_a_cache_costs_the_same_behind_any_context(self) -> None:
        costs = self.a_policy().costs
        assert costs.drafting(Origin.HEAD, 1, 8000) > costs.drafting(Origin.HEAD, 1, 0)
        costs.without_cache.add(Origin.HEAD)
        assert costs.drafting(Origin.HEAD, 1, 8000) == costs.drafting(Origin.HEAD, 1, 0)

    def test_failing_drafter_leaves_drafting_to_the_other(self) -> None:
        policy = self.a_policy()
        for _ in range(20):
            policy.begin_answer(Speculation())
            plan = policy.plan(self.BOTH)
            if plan.drafter == Origin.HEAD:
                policy.observe(outcome(plan, 1, 0, (0.9,), ms=Timing(5.0, 72.0, 0.7)))
        policy.begin_answer(Speculation())
        assert policy.plan(self.BOTH).drafter == Origin.DRAFT
        assert drafted(policy).predict(0.9) > policy.acceptance.models[Origin.HEAD].predict(0.9)

    def test_failing_drafter_is_seldom_tried_again(self) -> None:
        policy, chosen = self.a_policy(), []
        for number in range(120):
            if number % 20 == 0:
                policy.begin_answer(Speculation())
            plan = policy.plan(self.BOTH)
            chosen.append(plan.drafter)
            held, confidence, ms = (1 + number % 2, 0.8, 48.0) if plan.drafter == Origin.DRAFT else (0, 0.4, 10.0)
            policy.observe(outcome(plan, 2, held, (confidence,) * 2, ms=Timing(ms, 73.0, 0.7)))
        assert 1 <= chosen[20:].count(Origin.HEAD) <= 15
        assert set(chosen) == {Origin.DRAFT, Origin.HEAD}

    @pytest.mark.parametrize(("drafter", "name"), [(Drafter.DRAFT, Origin.DRAFT), (Drafter.HEAD, Origin.HEAD)])
    @pytest.mark.parametrize("mode", [Mode.AUTO, Mode.FIXED])
    def test_drafter_option_excludes_the_other(self, drafter: Drafter, name: Origin, mode: Mode) -> None:
        policy = self.a_policy(speculation=Speculation(mode, 3, drafter=drafter))
        assert policy.plan(self.BOTH).drafter == name

    def test_price_includes_the_tokens_that_a_head_reads(self) -> None:
        dear = Curve({1: 5.0, 4: 300.0}, switch_ms=0.0)
        policy = Policy(Costs(Curve(TARGET_MS, switch_ms=0.0), {Origin.HEAD: dear}))
        learn(policy, replace(BEGIN, uncached_tokens={Origin.HEAD: 1}), 1, 1, (0.9,))
        assert policy.plan(replace(BEGIN, uncached_tokens={Origin.HEAD: 1})).drafter == Origin.HEAD
        assert policy.plan(replace(BEGIN, uncached_tokens={Origin.HEAD: 4})).drafter == Origin.TARGET

    def test_state_of_both_drafters_is_stored(self) -> None:
        policy = self.a_policy()
        for _ in range(5):
            plan = policy.plan(self.BOTH)
            policy.observe(outcome(plan, 2, 1, (0.9, 0.8), ms=Timing(10.0, 73.0, 0.7)))
        restored = Policy.from_json(json.loads(json.dumps(policy.to_json())))
        assert restored is not None
        assert restored.to_json() == policy.to_json()
        assert set(restored.to_json()["models"]) == {"draft", "eagle"}


class TestModes:
    """Off, fixed, and the bounds that act together."""

    def test_mode_off_is_plain_decoding(self) -> None:
        policy = a_policy(Speculation(Mode.OFF))
        assert planned(policy, replace(BEGIN, free_drafts=copied(8, 8))) == (Origin.TARGET, 0)

    def test_fixed_mode_drafts_and_verifies_num_assistant_tokens(self) -> None:
        policy = a_policy(Speculation(Mode.FIXED, num_assistant_tokens=4))
        doubtful = [0.05] * 9
        session, drafted = draft(policy, BEGIN, doubtful)
        assert drafted == 4
        assert checked(session, guessed(doubtful[:4])) == 4

    def test_fixed_mode_without_a_draft_uses_ngrams(self) -> None:
        policy = a_policy(Speculation(Mode.FIXED, num_assistant_tokens=4), draft=False)
        assert planned(policy, RoundState(100, 200, copied(8, 2))) == (Origin.NGRAM, 4)
        assert planned(policy, RoundState(100, 200, copied(3, 2))) == (Origin.NGRAM, 3)
        assert planned(policy, RoundState(100, 200)) == (Origin.TARGET, 0)

    @pytest.mark.parametrize("mode", [Mode.AUTO, Mode.FIXED])
    def test_drafter_option_allows_one_drafter(self, mode: Mode) -> None:
        both = replace(BEGIN, free_drafts=copied(8, 32))
        for drafter, origin in ((Drafter.DRAFT, Origin.DRAFT), (Drafter.NGRAM, Origin.NGRAM)):
            policy = a_policy(Speculation(mode, num_assistant_tokens=4, drafter=drafter))
            assert policy.plan(both).drafter == origin
        without = a_policy(Speculation(mode, num_assistant_tokens=4, drafter=Drafter.NGRAM))
        assert planned(without, BEGIN) == (Origin.TARGET, 0)

    def test_excluded_offer_is_not_learned(self) -> None:
        policy = a_policy(Speculation(drafter=Drafter.DRAFT))
        before = chance(policy, 32, 1)
        learn(policy, replace(BEGIN, free_drafts=copied(8, 32)), 3, 3, (0.9, 0.9, 0.9))
        assert chance(policy, 32, 1) == before

    def test_fixed_mode_ignores_losses(self) -> None:
        policy = a_policy(Speculation(Mode.FIXED, num_assistant_tokens=3))
        for _ in range(30):
            plan = learn(policy, BEGIN, 3, 0, (0.5, 0.5, 0.5))
            assert (plan.drafter, plan.limit) == (Origin.DRAFT, 3)
        assert policy.ledger_ms < -1000.0

    @pytest.mark.parametrize("mode", [Mode.AUTO, Mode.FIXED])
    def test_confidence_threshold_ends_the_draft(self, mode: Mode) -> None:
        policy = a_policy(Speculation(mode, num_assistant_tokens=6, assistant_confidence_threshold=0.4))
        confidences = [0.99, 0.99, 0.39, 0.99]
        session, drafted = draft(policy, BEGIN, confidences)
        assert drafted == 3
        assert checked(session, guessed(confidences[:3])) == 2

    def test_auto_mode_stays_below_num_assistant_tokens(self) -> None:
        policy = a_policy(Speculation(num_assistant_tokens=3))
        assert draft(policy, BEGIN, [0.999] * 20)[1] == 3
        assert a_policy(Speculation(num_assistant_tokens=3)).plan(replace(BEGIN, free_drafts=copied(11, 8))).limit <= 3

    def test_confidence_threshold_leaves_the_length_to_prices(self) -> None:
        policy = a_policy(Speculation(assistant_confidence_threshold=0.1))
        assert draft(policy, BEGIN, [0.999] * 3 + [0.11] * 9)[1] < 12

    @pytest.mark.parametrize("mode", [Mode.AUTO, Mode.FIXED])
    @pytest.mark.parametrize("remaining", [1, 2, 4])
    def test_plan_never_drafts_past_the_end(self, mode: Mode, remaining: int) -> None:
        policy = a_policy(Speculation(mode, num_assistant_tokens=9))
        plan = policy.plan(replace(BEGIN, remaining=remaining, free_drafts=copied(11, 8)))
        assert plan.limit <= remaining - 1
        assert (plan.drafter == Origin.TARGET) == (remaining == 1)


class TestStopping:
    """The automatic length."""

    def test_drafting_stops_where_confidence_falls(self) -> None:
        assert draft(a_policy(), BEGIN, [0.99] * 4 + [0.05] * 8)[1] == 5

    def test_candidates_not_worth_verification_are_dropped(self) -> None:
        policy = Policy(Costs(Curve({1: 70.0, 2: 95.0, 3: 120.0, 4: 145.0}), {Origin.DRAFT: Curve({1: 5.0})}))
        assert policy.plan(BEGIN).drafter == Origin.DRAFT
        assert checked(policy.begin_round(BEGIN), guessed([0.02])) == 0
        assert checked(policy.begin_round(BEGIN), NO_DRAFT) == 0

    def test_unverified_candidate_is_a_label(self) -> None:
        policies = [a_policy(), a_policy()]
        for policy, right in zip(policies, (1, 0), strict=True):
            learn(policy, BEGIN, 0, 0, (0.5,), right=right)
        assert drafted(policies[0]).predict(0.5) > policies[1].acceptance.models[Origin.DRAFT].predict(0.5)

    def test_only_positions_after_accepted_ones_are_labels(self) -> None:
        policies = [a_policy(), a_policy()]
        for policy, guesses in zip(policies, (1, 4), strict=True):
            learn(policy, BEGIN, guesses, 0, (0.9,) * guesses)
        assert drafted(policies[0]).predict(0.9) == policies[1].acceptance.models[Origin.DRAFT].predict(0.9)

    def test_failing_draft_is_disabled_and_tried_again_later(self) -> None:
        policy = a_policy()
        fail(policy, 12)
        assert policy.plan(BEGIN).drafter == Origin.TARGET
        assert 1 <= fail(policy, 150).count(Origin.DRAFT) <= 15

    def test_first_round_risks_no_more_than_its_credit(self) -> None:
        policy = a_policy()
        session, first = draft(policy, BEGIN, [0.999] * 20)
        policy.observe(made(session.plan, first, 0, (0.999,) * first))
        assert first <= 6
        assert policy.ledger_ms > -180.0


def test_ngram_rounds_leave_the_rate_of_the_draft_alone() -> None:
    policies = [a_policy(), a_policy()]
    for policy in policies:
        for _ in range(20):
            learn(policy, BEGIN, 2, 1, (0.7, 0.7))
    for _ in range(20):
        learn(policies[1], replace(BEGIN, free_drafts=copied(15, 20)), 15, 15)
    rates = [policy.plan(BEGIN).prices.rate for policy in policies]
    assert rates[1] == pytest.approx(rates[0], rel=0.1)


class TestTails:
    """N-grams behind a draft."""

    def test_long_match_ends_the_draft_and_is_verified_with_it(self) -> None:
        session = a_policy().begin_round(BEGIN)
        assert session.should_continue(guessed([0.98]))
        assert not session.should_continue(guessed([0.98], tail=9, match=12))
        assert checked(session, guessed([0.98], tail=9, match=12)) > 3
        assert (
            a_policy().begin_round(BEGIN).should_continue(guessed([0.99, 0.99], tail=9, match=2))
        )  # a match by chance

    def test_trimmed_draft_has_no_tail(self) -> None:
        policy = a_policy(Speculation(num_assistant_tokens=6, assistant_confidence_threshold=0.4))
        session = policy.begin_round(BEGIN)
        assert not session.should_continue(guessed([0.9, 0.2]))
        assert checked(session, guessed([0.9, 0.2], tail=9, match=12)) <= 1

    @pytest.mark.parametrize(
        ("speculation", "most"),
        [
            (Speculation(num_assistant_tokens=4), 4),
            (Speculation(Mode.FIXED, num_assistant_tokens=2), 2),
            (Speculation(drafter=Drafter.DRAFT), 2),  # a person wants the draft alone
        ],
    )
    def test_bounds_hold_for_draft_and_tail_together(self, speculation: Speculation, most: int) -> None:
        session = a_policy(speculation).begin_round(BEGIN)
        assert checked(session, guessed([0.99, 0.99], tail=9, match=30)) == most

    @pytest.mark.parametrize(("accepted", "sign"), [(5, 1), (1, -1), (0, 0)])
    def test_tail_behind_a_right_draft_teaches_ngrams(self, accepted: int, sign: int) -> None:
        policy = a_policy()
        session = policy.begin_round(BEGIN)
        before = chance(policy, 5, 1)
        assert checked(session, guessed([0.99], tail=4, match=5)) == 5
        policy.observe(made(session.plan, 5, accepted, (0.99,), match=5))
        change = chance(policy, 5, 1) / before - 1
        assert (change > 0.01) - (change < -0.01) == sign


class TestDrafters:
    """N-gram, draft model or neither."""

    def test_long_match_is_copied_as_far_as_it_pays(self) -> None:
        plan = a_policy().plan(replace(BEGIN, free_drafts=copied(11, 8)))
        assert plan.drafter == Origin.NGRAM
        assert plan.limit >= 6

    def test_short_match_does_not_displace_a_good_draft(self) -> None:
        policy = a_policy()
        for _ in range(20):
            learn(policy, BEGIN, 4, 4, (0.98,) * 4)
        assert policy.plan(replace(BEGIN, free_drafts=copied(11, 2))).drafter == Origin.DRAFT

    def test_unused_offers_teach_ngrams(self) -> None:
        policy = a_policy()
        before = chance(policy, 2, 1)
        for _ in range(10):
            learn(policy, replace(BEGIN, uncached_tokens={}, free_drafts=copied(5, 2, right=0)), 0, 0)
        assert chance(policy, 2, 1) < before / 2

    def test_partly_checked_offer_teaches_that_part(self) -> None:
        policy = a_policy()
        second = chance(policy, 2, 2)
        learn(policy, replace(BEGIN, uncached_tokens={}, free_drafts=copied(5, 2, right=1)), 0, 0)
        assert chance(policy, 2, 2) == second

    def test_prefill_of_the_draft_waits_for_ngrams(self) -> None:
        policy, prompt = a_policy(), RoundState(context=700, remaining=1000, uncached_tokens={Origin.DRAFT: 700})
        policy.begin_answer(Speculation(), expected_tokens=1000)
        assert policy.plan(prompt).drafter == Origin.TARGET
        assert plans_after(policy, prompt, tokens=20) == Origin.DRAFT

    def test_prefill_does_not_pay_where_copies_leave_little_time(self) -> None:
        prompt = RoundState(context=500, remaining=1000, uncached_tokens={Origin.DRAFT: 500})
        copying = replace(prompt, uncached_tokens={}, free_drafts=copied(9, 9))
        reads = list[bool]()
        for rounds, offered, accepted in ((30, replace(prompt, uncached_tokens={}), 0), (3, copying, 9)):
            policy = a_policy()
            policy.begin_answer(Speculation(), expected_tokens=90)
            for _ in range(rounds):
                learn(policy, offered, accepted, accepted)
            reads.append(policy.plan(prompt).drafter == Origin.DRAFT)
        assert reads == [True, False]

    def test_paid_draft_reads_on_after_a_copied_passage(self) -> None:
        policy = a_policy()
        for _ in range(20):
            learn(policy, BEGIN, 4, 4, (0.98,) * 4)
        copied = replace(BEGIN, uncached_tokens={Origin.DRAFT: 80}, remaining=60)
        assert policy.plan(copied).drafter == Origin.DRAFT

    def test_prefill_pays_from_a_tenth_of_the_prompt_in_output(self) -> None:
        def reads(expected: int) -> bool:
            policy = Policy(Costs(Curve(TARGET_MS), {Origin.DRAFT: Curve({1: 18.5, 8: 33.0, 16: 54.0, 32: 95.0})}))
            policy.begin_answer(Speculation(), expected_tokens=expected)
            return (
                plans_after(policy, RoundState(1000, 4000, uncached_tokens={Origin.DRAFT: 1000}), tokens=42)
                == Origin.DRAFT
            )

        assert [reads(expected) for expected in (60, 300)] == [False, True]

    def test_usual_answer_length_is_learned(self) -> None:
        policy, prompt = a_policy(), RoundState(context=1500, remaining=4000, uncached_tokens={Origin.DRAFT: 1500})
        assert policy.plan(prompt).drafter == Origin.TARGET
        for _ in range(12):
            policy.begin_answer(Speculation(Mode.OFF))
            for _ in range(20):
                plan = policy.plan(BEGIN)
                policy.observe(outcome(plan, 99, 99, ms=Timing(verify_ms=71.0, other_ms=1.0)))
        policy.begin_answer(Speculation())
        assert plans_after(policy, prompt, tokens=100) == Origin.DRAFT

    @pytest.mark.parametrize(("lengths", "after"), [([600], 3), ([12], None), ([12, 600], 12), ([600, 12, 12, 12], 12)])
    def test_prefill_waits_for_the_length_of_short_answers(self, lengths: list[int], after: int | None) -> None:
        prompt = RoundState(context=300, remaining=4000, uncached_tokens={Origin.DRAFT: 300})

        def begun() -> Policy:
            policy = Policy.from_json(a_policy().to_json() | {"lengths": lengths * 16})
            assert policy is not None
            return policy

        reading = (tokens for tokens in range(24) if plans_after(begun(), prompt, tokens) == Origin.DRAFT)
        assert next(reading, None) == after

    def test_beginning_of_an_answer_pays_no_reading_where_a_head_is_ready(self) -> None:
        prompt = RoundState(context=150, remaining=4000, uncached_tokens={Origin.DRAFT: 150, Origin.HEAD: 1})
        alone = replace(prompt, uncached_tokens={Origin.DRAFT: 150})
        assert plans_after(a_policy(), alone, tokens=BULK - 1) == Origin.DRAFT
        assert plans_after(a_policy(), prompt, tokens=BULK - 1) != Origin.DRAFT
        policy = a_policy()
        for _ in range(2):
            learn(policy, replace(BEGIN, uncached_tokens={}, free_drafts=copied(9, 9)), 9, 9)
        for _ in range(30):
            policy.acceptance.models[Origin.HEAD].expect([0.05])
        assert policy.ledger_ms > 600.0  # more than the reading takes
        assert policy.plan(prompt).drafter == Origin.DRAFT

    def test_reading_that_took_longer_than_expected_does_not_pause(self) -> None:
        policy = a_policy()
        policy.begin_answer(Speculation(), expected_tokens=400)
        prompt = RoundState(context=100, remaining=400, uncached_tokens={Origin.DRAFT: 100})
        plan = policy.plan(prompt)
        assert plan.drafter == Origin.DRAFT
        policy.observe(outcome(plan, 1, 1, (0.95,), ms=Timing(draft_ms=1500.0, verify_ms=72.0)))
        assert policy.plan(BEGIN).drafter == Origin.DRAFT

    def test_price_of_reading_is_learned(self) -> None:
        curve = Curve(DRAFT_MS, switch_ms=0.0)
        short, known = curve.ms(8), curve.ms(400)
        for _ in range(6):
            curve.observe(400, 0, 3 * known)
        assert curve.ms(400) == pytest.approx(3 * known, rel=0.1)
        assert curve.ms(8) == short
        kept = Curve.from_json(json.loads(json.dumps(curve.to_json())))
        assert kept is not None
        assert kept.ms(400) == pytest.approx(curve.ms(400))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 15), st.floats(0.01, 0.99)), min_size=20, max_size=150), st.booleans())
def test_loss_is_bounded_whatever_is_accepted(fate: list[tuple[int, float]], offered: bool) -> None:
    policy, total, tokens, longest = a_policy(), 0.0, 0, dict.fromkeys((Origin.DRAFT, Origin.NGRAM, Origin.TARGET), 0.0)
    for accepted, confidence in fate:
        session = policy.begin_round(replace(BEGIN, free_drafts=copied(9, 4, right=accepted) if offered else {}))
        plan = session.plan
        size, confidences = plan.limit, list[float]()
        if plan.drafter == Origin.DRAFT:
            while session.should_continue(guessed(confidences)):
                confidences.append(confidence)
            size = checked(session, guessed(confidences))
        found = made(plan, size, min(accepted, size), confidences)
        policy.observe(found)
        total, tokens = total + found.ms, tokens + found.tokens
        longest[Origin(plan.drafter)] = max(longest[Origin(plan.drafter)], found.ms)
    accounts = policy._budget.accounts.values()
    plain_ms = TARGET_MS[1] + 0.7
    allowed = plain_ms * sum(account.allowance for account in accounts) + longest[Origin.DRAFT] + longest[Origin.NGRAM]
    assert total <= 1.02 * plain_ms * tokens + allowed


FACTORS = [1, 1, 0, 0]


class TestStorage:
    """State that outlives the program."""

    def stored(self) -> dict[str, Any]:
        policy = a_policy()
        fail(policy, 40)
        for _ in range(10):
            learn(policy, replace(BEGIN, uncached_tokens={}, free_drafts=copied(5, 2, right=0)), 0, 0)
        data: dict[str, Any] = json.loads(json.dumps(policy.to_json()))
        return data

    def test_length_of_the_last_answer_is_stored(self) -> None:
        policy = a_policy()
        learn(policy, replace(BEGIN, uncached_tokens={}), 0, 0)
        before = policy.to_json()["lengths"]
        assert before[-1] == 1
        policy.begin_answer(Speculation())
        assert policy.to_json()["lengths"] == before

    def test_state_survives_json(self) -> None:
        restored = Policy.from_json(self.stored())
        assert restored is not None
        assert restored.to_json() == self.stored()
        assert drafted(restored).predict(0.6) < drafted(a_policy()).predict(0.6)
        assert chance(restored, 2, 1) < chance(a_policy(), 2, 1)

    @pytest.mark.parametrize(
        "prices",
        [
            *(None, [], "x", {}, {"table": {}, "factors": FACTORS}, {"table": {"a": 1}, "factors": FACTORS}),
            *({"table": {"1": ms}, "factors": FACTORS} for ms in (-1, float("nan"), True)),
            *({"table": {"1": 5.0}, "factors": factors} for factors in ([1, None, 0, 0], [1, 1, 0])),
        ],
    )
    def test_state_without_prices_is_none(self, prices: object) -> None:
        assert Policy.from_json(self.stored() | {"costs": {"target": prices, "models": {}}}) is None

    @pytest.mark.parametrize(
        "learned",
        [
            *({"models": {"draft": [0.9, wrong]}} for wrong in ("x", 1e9, float("nan"))),
            *({"models": {"draft": None}}, {"models": {"draft": 7}}, {"models": {"draft": [0.9]}}),
            *({"models": None}, {"models": []}, {"free": None}, {"free": []}),
            {"free": {"n-gram": {"match 2 0": [-1.0, 2.0], "match 2 1": [3.0, 2.0]}}},
        ],
    )
    def test_malformed_state_starts_from_the_prior(self, learned: dict[str, object]) -> None:
        restored, new = Policy.from_json(self.stored() | learned | {"lengths": [5, "x"]}), a_policy()
        assert restored is not None
        if "models" in learned:
            assert drafted(restored).to_json() == drafted(new).to_json()
        else:
            assert chance(restored, 2, 1) == chance(new, 2, 1)

    def test_new_answer_starts_with_an_empty_ledger(self) -> None:
        policy = a_policy()
        fail(policy, 30)
        assert policy.ledger_ms < 0.0
        policy.begin_answer(Speculation())
        assert policy.ledger_ms == 0.0


@pytest.mark.parametrize(
    ("confidences", "shares", "speculation", "checked"),
    [
        ([0.9, 0.5], [[0.001], [0.4, 0.002]], Speculation(), (2, (Branch(2, 100),))),
        ([0.6, 0.5], [[0.39], [0.4]], Speculation(), (2, (Branch(1, 100), Branch(2, 100)))),
        ([0.5, 0.5], [[0.4], [0.4]], Speculation(Mode.FIXED, num_assistant_tokens=2), (2, ())),
        ([0.5, 0.5], [[0.4, 0.05], [0.4, 0.05]], Speculation(num_assistant_tokens=2), (1, (Branch(1, 100),))),
        ([0.5], [[0.4]], Speculation(assistant_confidence_threshold=0.45), (1, ())),
    ],
)
def test_runners_up_are_checked_where_they_pay(
    confidences: list[float], shares: list[list[float]], speculation: Speculation, checked: tuple[int, object]
) -> None:
    session, count = draft(a_policy(speculation), BEGIN, confidences)
    runners_up = tuple(tuple(Guess(100 + rank, share) for rank, share in enumerate(each)) for each in shares)
    selected = session.select(Draft(tokens(count), tuple(confidences[:count]), runners_up=runners_up[:count])).checked
    assert (len(selected.tokens), selected.branches) == checked


def test_target_without_branches_gets_none() -> None:
    session = a_policy().begin_round(replace(BEGIN, can_branch=False))
    assert not session.select(Draft((0,), (0.5,), runners_up=((Guess(100, 0.4),),))).checked.branches


def test_accepted_branch_teaches_a_wrong_first_choice() -> None:
    policy = a_policy()
    before = drafted(policy).predict(0.6)
    guessed = Draft((0,), (0.6,), runners_up=((Guess(7, 0.3),),), branches=(Branch(1, 7),))
    plan = policy.plan(BEGIN)
    policy.observe(Outcome(plan, Selection(guessed, guessed, 3), (7, 8), Timing(24.0, 75.0, 1.0)))
    assert drafted(policy).predict(0.6) < before


STEP_MS, SWITCH_MS = 60.0, 6.0
HERE = RoundState(context=0, remaining=100, uncached_tokens={Origin.DRAFT: 1})
# A flat machine on which a change of size costs a tenth of a step.
FLAT = Costs(Curve({1: STEP_MS, 16: STEP_MS}, SWITCH_MS), {Origin.DRAFT: Curve({1: 15.0}, switch_ms=0.0)})


def test_deferred_gain_pays_for_a_change_of_size() -> None:
    step_ms, change_ms = 60.0, 50.0  # a guess that holds every other time earns less than a change, but soon more
    policy = Policy(Costs(Curve({1: step_ms, 16: step_ms}, change_ms), {Origin.HEAD: Curve({1: 8.0}, switch_ms=0.0)}))
    sizes = [1]
    for place in range(24):
        session = policy.begin_round(RoundState(context=place, remaining=100, uncached_tokens={Origin.HEAD: 1}))
        confidences = (0.5,)[: int(session.plan.is_drafted)]
        selection = session.select(guessed(confidences))
        chosen = range(selection.checked.size + 1) if place % 2 else [999]  # every other guess is right
        verify_ms = step_ms + change_ms * (selection.size != sizes[-1])
        timing = Timing(8.0 * len(confidences), verify_ms)
        policy.observe(Outcome(session.plan, selection, chosen, timing))
        sizes.append(selection.size)
    assert sizes[1] == 1
    assert sizes[-8:] == [2] * 8


def enter(budget: LossBudget, drafter: Origin, ms: float, accepted: int = 0) -> None:
    """Book a round of so many milliseconds, of which a draft model takes 15."""
    checked, draft_ms = int(drafter is not Origin.TARGET), 15.0 if drafter is Origin.DRAFT else 0.0
    draft = Draft(tokens(checked), (0.9,) * checked if draft_ms else ())
    timing = Timing(draft_ms, ms - draft_ms)
    plan, selection = DraftPlan(HERE, drafter), Selection(draft, draft, 1 + checked)
    budget.observe(Outcome(plan, selection, range(accepted + 1), timing), FLAT)


def test_first_round_is_compared_with_a_plain_step() -> None:
    budget = LossBudget()
    enter(budget, Origin.DRAFT, 81.0, accepted=1)
    assert budget.saved_ms == pytest.approx(STEP_MS + SWITCH_MS + STEP_MS - 81.0)


def test_return_to_plain_steps_is_charged_to_the_drafter() -> None:
    budget = LossBudget()
    enter(budget, Origin.TARGET, 85.0)
    assert budget.saved_ms == 0.0
    enter(budget, Origin.NGRAM, 66.0)
    assert budget.saved_ms == pytest.approx(STEP_MS - 66.0)
    enter(budget, Origin.TARGET, 66.0)
    enter(budget, Origin.TARGET, 60.0)
    assert budget.saved_ms == pytest.approx(STEP_MS - 66.0 - SWITCH_MS)
    assert budget.accounts[Origin.DRAFT].saved_ms == 0.0


ALLOWANCE = 2.5  # plain steps
PLAIN_MS = 70.0


def lose(account: DrafterBudget, steps: float) -> None:
    """Book a round that costs so many plain steps more than it gives."""
    account.book(tokens=1, ms=(1 + steps) * PLAIN_MS, plain_ms=PLAIN_MS)


def test_pause_begins_where_the_allowance_is_spent() -> None:
    account = DrafterBudget(ALLOWANCE)
    lose(account, 1.5)
    assert (account.is_paused, account.credit) == (False, 1.0)
    lose(account, 1.0)
    assert (account.is_paused, account.balance) == (True, -2.5)
    account.wait(16)
    assert not account.is_paused
    assert account.credit == pytest.approx(1.0)


def test_pauses_grow_up_to_256_tokens() -> None:
    account, lengths = DrafterBudget(ALLOWANCE), list[int]()
    for _ in range(5):
        lose(account, account.credit)
        lengths.append(0)
        while account.is_paused:
            account.wait(1)
            lengths[-1] += 1
    assert lengths == [16, 64, 256, 256, 256]


def test_gains_and_investments_allow_for_later_losses() -> None:
    account = DrafterBudget(ALLOWANCE)
    account.book(tokens=10, ms=4 * PLAIN_MS, plain_ms=PLAIN_MS)
    lose(account, ALLOWANCE + 5.0)
    assert not account.is_paused
    account = DrafterBudget(ALLOWANCE)
    account.invest(7.0)
    lose(account, ALLOWANCE + 6.0)
    assert not account.is_paused
