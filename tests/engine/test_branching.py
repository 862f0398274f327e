"""Branches: checked beside a pass as if each stood alone, kept where they hold, and never a change of the text."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.research.trace import RecordingPlan
from headstart.engine import loading
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import Mode, Numerics, Origin, Sampling, Speculation
from headstart.engine.loading import Place, branch_error, fault, load_model
from headstart.engine.local import LocalEngine
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import DraftPlan, Knowledge, Policy
from headstart.engine.policy.rounds import Outcome, Situation
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.passes import Pass
from headstart.engine.runners.precision import probe_ids, properties
from headstart.engine.runners.runner import Branch, Logits
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from tests.engine.answers import CODE, LIST, PLAIN, ask, forget, request
from tests.engine.test_exactness import VOCABULARY, write
from tests.toy import BranchingToy, ToyRunner, toy_drafters

EXACT = properties(Numerics.EXACT)
CONTEXT = 300  # no multiple of a cache block
FLOOR = 1e-3  # as in test_runner: other batchings made 1.3e-4, a token that wrongly counts makes several


class Blind(BranchingRunner):
    """Branches see what they may not."""

    def _pass(self, ids: Sequence[int], branches: Sequence[Branch], rows: int) -> Pass:
        return super()._pass([*ids, *(branch.token for branch in branches)], (), rows)


class Immovable(BranchingRunner):
    """A branch is kept where it was computed."""

    def _keep(self, _place: int, number: int) -> None:
        self._tokens.append(self._branches[number].token)


class Kernels(BranchingToy):
    """Passes over one token, and those with branches, give other numbers, as kernels of processors do."""

    def forward(self, ids: Sequence[int], branches: Sequence[Branch] = (), *args: Any, **named: Any) -> Logits:
        logits = super().forward(ids, branches, *args, **named)
        return -logits if len(ids) == 1 or branches else logits


@pytest.fixture(scope="module")
def runners(tiny_target: Path) -> tuple[BranchingRunner, PagedRunner]:
    """One with branches and one to compare with."""
    return BranchingRunner(tiny_target, "CPU", EXACT, CONTEXT), PagedRunner(tiny_target, "CPU", EXACT, CONTEXT)


class EagerPlan(RecordingPlan):
    def __init__(self, situation: Situation, known: Knowledge) -> None:
        super().__init__(situation, known, depth=3)

    def _branches(self, shares: Sequence[Sequence[float]], kept: int) -> list[tuple[int, int]]:
        """Up to the end of the answer and of the context."""
        room = self.situation.remaining - 1 - kept
        return [(place, rank) for place in range(kept) for rank in range(len(shares[place]))][: max(room, 0)]


def eager_policy(costs: Costs) -> Policy:
    """A policy that drafts always, and checks as many branches as find room."""
    policy = Policy(costs)

    def plan(situation: Situation, known: Knowledge) -> DraftPlan:
        kind = DraftPlan if known.speculation.mode is Mode.OFF else EagerPlan
        return kind(situation, known)

    policy.planner = plan
    return policy


class TestRunner:
    """Against passes without branches."""

    def test_each_branch_is_checked_as_if_it_stood_alone(self, runners: tuple[BranchingRunner, PagedRunner]) -> None:
        branching, plain = runners
        before, ids = probe_ids(640, 29, seed=2), probe_ids(640, 6, seed=3)  # over the edge of a block
        branches = [Branch(2, 7), Branch(5, 9), Branch(1, 7), Branch(2, 11)]
        for runner in runners:
            runner.rollback(0)
            runner.forward(before)
        logits = branching.forward(ids, branches, rows=6).copy()
        assert list(branching.tokens) == [*before, *ids]
        assert np.abs(logits[:6] - plain.forward(ids, rows=6)).max() < FLOOR
        for branch, row in zip(branches, logits[6:], strict=True):
            plain.rollback(len(before))
            expected = plain.forward([*ids[: branch.place], branch.token])[0]
            assert np.abs(row - expected).max() < FLOOR
        assert logits.std() > 1.0  # else the floor would prove nothing

    def test_whatever_was_taken_the_cache_is_that_of_its_tokens(
        self, runners: tuple[BranchingRunner, PagedRunner]
    ) -> None:
        tormented, fresh = runners
        rng = random.Random(5)
        tormented.rollback(0)
        tormented.forward(probe_ids(640, 20, seed=4))
        for number in range(60):
            length, ids = len(tormented.tokens), probe_ids(640, rng.randint(2, 8), seed=number)
            branches = [Branch(rng.randrange(1, len(ids)), rng.randrange(640)) for _ in range(rng.randint(1, 4))]
            tormented.forward(ids, branches)
            if rng.random() < 0.7:
                chosen = rng.randrange(len(branches))
                tormented.rollback(length + branches[chosen].place, chosen)
            else:
                tormented.rollback(length + rng.randrange(1, len(ids) + 1))
            tormented.rollback(CONTEXT - 40)
        following = probe_ids(640, 4, seed=6)
        fresh.rollback(0)
        fresh.forward(tormented.tokens)
        given, expected = (runner.forward(following, rows=4).copy() for runner in runners)
        assert np.abs(given - expected).max() < FLOOR

    def test_the_check_tells_true_from_false(self, tiny_target: Path) -> None:
        assert branch_error(BranchingToy()) == 0.0
        assert not fault(BranchingRunner(tiny_target, "CPU", EXACT, 80))
        for false in (Blind, Immovable):
            assert branch_error(false(tiny_target, "CPU", EXACT, 80)) > 0.9

    def test_it_is_chosen_where_it_works(
        self, tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = Place("CPU", Numerics.EXACT, 128)
        monkeypatch.setitem(loading.RUNNERS, "branching", Blind)
        assert type(load_model(tiny_target, place, measured).runner) is PagedRunner
        monkeypatch.undo()
        (measured / next(measured.iterdir()).name).unlink()
        assert type(load_model(tiny_target, place, measured).runner) is BranchingRunner

    def test_it_claims_processors_only(self, tiny_target: Path) -> None:
        with pytest.raises(RuntimeError, match="nothing is known of branches on GPU"):
            BranchingRunner(tiny_target, "GPU", EXACT, 80)


class TestText:
    """Speculation with branches writes what the target alone writes."""

    @pytest.mark.parametrize("temperature", [0.0, 0.8, 1.3])
    @pytest.mark.parametrize("trial", range(8))
    def test_the_text_of_toys_is_the_plain_one(self, trial: int, temperature: float) -> None:
        rng = random.Random(trial)
        sampling = Sampling(
            temperature=temperature, seed=rng.randrange(2**40), frequency_penalty=rng.choice([0.0, 0.3])
        )
        job = Job((1, 2, 3), 150, frozenset(rng.sample(range(VOCABULARY), trial % 2)), sampling, PLAIN)
        plain, _, reason = write(toy_decoder(ToyRunner(VOCABULARY, 170, seed=3)), job)
        target, outcomes = BranchingToy(VOCABULARY, 170, seed=3), list[Outcome]()
        decoder = toy_decoder(target, outcomes.append)
        for _ in range(2):
            again = Job(job.prompt, job.max_new_tokens, job.stop_ids, sampling, Speculation())
            assert write(decoder, again)[0::2] == (plain, reason)
        assert sum(outcome.branched for outcome in outcomes) == target.taken

    @pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.9, seed=4)], ids=["greedy", "sampled"])
    @pytest.mark.parametrize("text", [LIST, CODE], ids=["list", "code"])
    def test_the_text_of_a_pair_is_the_plain_one(self, eager: LocalEngine, text: str, sampling: Sampling) -> None:
        expected = ask(forget(eager), request(text, sampling=sampling, speculation=PLAIN, tokens=60))
        outcomes: list[Outcome] = []
        eager.policy.observers.append(lambda _plan, outcome: outcomes.append(outcome))
        given = ask(forget(eager), request(text, sampling=sampling, speculation=Speculation(), tokens=60))
        assert given.essence == expected.essence
        assert any(outcome.verified > len(outcome.confidences) for outcome in outcomes)

    @pytest.fixture
    def eager(self, pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
        """A pair, checking as many branches as find room."""
        assert pair_engine.target.runner.can_branch
        policy = eager_policy(pair_engine.policy.costs)
        monkeypatch.setattr(pair_engine, "policy", policy)
        monkeypatch.setattr(pair_engine._decoder, "_policy", policy)
        return pair_engine


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_passes_that_are_filled_up_write_the_plain_text_up_to_the_end_of_the_context(temperature: float) -> None:
    sizes: list[int] = []

    def filled(context: int) -> Decoder:
        target = BranchingToy(VOCABULARY, context, 3)
        policy = Policy(
            Costs(Curve({1: 70.0, 8: 79.0, 16: 95.0}, switch_ms=15.0), {Origin.DRAFT: Curve({1: 12.0}, switch_ms=5.0)})
        )
        policy.observers.append(lambda _plan, outcome: sizes.append(outcome.size))
        return Decoder(target, toy_drafters(target, ToyRunner(VOCABULARY, context, 3, blur=0.2)), policy)

    job = Job((1, 2, 3), 400, frozenset(), Sampling(temperature=temperature, seed=5), Speculation())
    for context in (400, 100):
        plain = write(filled(context), replace(job, speculation=PLAIN))
        assert write(filled(context), job)[0::2] == plain[0::2]
    spoken = [size for size in sizes if size > 1]
    assert sum(size != last for last, size in pairwise(spoken)) < len(spoken) / 4


@pytest.mark.parametrize("is_repeatable", [True, False])
def test_a_repeatable_answer_is_the_same_with_guesses_where_kernels_for_one_token_are_others(
    is_repeatable: bool,
) -> None:
    texts, job = set(), Job((1, 2, 3), 200, frozenset(), Sampling(), PLAIN, repeatable=is_repeatable)
    for speculation in (PLAIN, Speculation()):
        target = Kernels(VOCABULARY, 400, 3)
        policy = Policy(Costs(Curve({1: 70.0, 8: 79.0}), {Origin.DRAFT: Curve({1: 12.0})}))
        decoder = Decoder(target, toy_drafters(target, ToyRunner(VOCABULARY, 400, 3, blur=0.5)), policy)
        texts.add(tuple(write(decoder, replace(job, speculation=speculation))[0]))
    assert (len(texts) == 1) == is_repeatable


@pytest.mark.parametrize(("is_repeatable", "shortest"), [(True, 2), (False, 1)])
def test_the_last_token_of_a_repeatable_prompt_is_not_read_alone(*, is_repeatable: bool, shortest: int) -> None:
    target = Kernels(VOCABULARY, 400, 3)
    policy = Policy(Costs(Curve({1: 70.0, 8: 79.0}, switch_ms=15.0)))
    prompt = tuple(place % VOCABULARY for place in range(257))
    job = Job(prompt, 9, frozenset(), Sampling(), PLAIN, repeatable=is_repeatable)
    write(Decoder(target, toy_drafters(target), policy), job)
    assert min(target.calls) == shortest
    assert tuple(target.tokens[: len(prompt)]) == prompt


def test_a_branch_is_taken_at_the_first_wrong_candidate_only() -> None:
    draft = Draft((5, 6, 7), branches=(Branch(1, 8), Branch(2, 9), Branch(2, 5), Branch(3, 9)))
    assert draft.size == 7
    assert draft.branch_taken([8]) == 0
    assert draft.branch_taken([5, 9]) == 1
    assert draft.branch_taken([5, 9, 6]) == 1
    assert draft.branch_taken([5, 6, 9, 1]) == 3
    assert draft.branch_taken([5, 8]) is None
    assert draft.branch_taken([5, 6, 7, 9]) is None


def toy_decoder(target: ToyRunner, learned: Callable[[Outcome], Any] | None = None) -> Decoder:
    policy = eager_policy(Costs(Curve({1: 70.0, 8: 79.0, 16: 95.0}), {Origin.DRAFT: Curve({1: 12.0})}))
    if learned:
        policy.observers.append(lambda _plan, outcome: learned(outcome))
    return Decoder(target, toy_drafters(target, ToyRunner(VOCABULARY, 1000, 3, blur=0.8)), policy)
