"""Branches: checked beside a pass as if each stood alone, kept where they hold, and never a change of the text."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.research.trace import Recorder, RecordingSession
from headstart.engine import sequence
from headstart.engine.drafters.base import Draft
from headstart.engine.engine import LoadOptions, Mode, Origin, Sampling, Speculation
from headstart.engine.loading import loading
from headstart.engine.loading.loading import RunnerConfig, load_model
from headstart.engine.local import LocalEngine
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.plan import DraftSession
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import DraftPlan, Outcome, RoundState
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.passes import Pass
from headstart.engine.runners.precision import probe_ids, reference
from headstart.engine.runners.runner import Branch
from headstart.engine.runners.selftest import branch_error, self_test
from headstart.engine.speculative import Decoder
from headstart.library.manifest import ModelSpec
from tests.engine.answers import CODE, LIST, PLAIN, ask, forget, load, request
from tests.engine.test_exactness import VOCABULARY, write
from tests.stand_ins.toy import BranchingToy, ToyRunner, toy_drafters

EXACT = reference()
CONTEXT = 300  # no multiple of a cache block
FLOOR = 1e-3  # as in test_runner: other batchings made 1.3e-4, a token that wrongly counts makes several


class Blind(BranchingRunner):
    """A runner whose branches see too much."""

    def _pass(self, ids: Sequence[int], branches: Sequence[Branch], rows: int) -> Pass:
        return super()._pass([*ids, *(branch.token for branch in branches)], (), rows)


class Immovable(BranchingRunner):
    """A runner that keeps a branch where it was computed."""

    def _keep(self, _place: int, number: int) -> None:
        self._tokens.append(self._branches[number].token)


@pytest.fixture(scope="module")
def runners(tiny_target: Path) -> tuple[BranchingRunner, PagedRunner]:
    """A runner with branches and a runner to compare with."""
    return BranchingRunner.load(tiny_target, "CPU", EXACT, CONTEXT), PagedRunner.load(
        tiny_target, "CPU", EXACT, CONTEXT
    )


class Eager(Recorder):
    """A policy that always drafts, and checks as many branches as there is room for."""

    depth = 3

    def plan(self, state: RoundState) -> DraftPlan:
        return DraftPlan(state) if self.state.speculation.mode is Mode.OFF else super().plan(state)

    def begin_round(self, state: RoundState) -> DraftSession:
        return EagerSession(self.plan(state), self.state, self.depth)


class EagerSession(RecordingSession):
    def _branches(self, draft: Draft, count: int) -> Sequence[Branch]:
        """Return branches up to the end of the answer and of the context."""
        room = max(self.plan.state.remaining - 1 - count, 0)
        guesses = [(place, guess) for place in range(count) for guess in draft.runners_up[place]]
        return [Branch(1 + place, guess.token) for place, guess in guesses[:room]]


class TestRunner:
    """The runner, against passes without branches."""

    def test_branch_has_the_logits_of_a_single_continuation(self, runners: tuple[BranchingRunner, PagedRunner]) -> None:
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

    def test_cache_holds_the_tokens_of_the_accepted_branch(self, runners: tuple[BranchingRunner, PagedRunner]) -> None:
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

    def test_branch_check_finds_false_branches(self, tiny_target: Path) -> None:
        assert branch_error(BranchingToy()) == 0.0
        assert not self_test(BranchingRunner.load(tiny_target, "CPU", EXACT, 80))
        for load_false in (Blind.load, Immovable.load):
            assert branch_error(load_false(tiny_target, "CPU", EXACT, 80)) > 0.9

    def test_branching_runner_is_chosen_where_it_works(
        self, tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = RunnerConfig("CPU", 128)
        monkeypatch.setitem(loading.RUNNERS, "branching", Blind.load)
        assert type(load_model(ModelSpec.read(tiny_target), place).runner) is PagedRunner
        monkeypatch.undo()
        (measured / next(measured.iterdir()).name).unlink()
        assert type(load_model(ModelSpec.read(tiny_target), place).runner) is BranchingRunner

    def test_branching_runner_is_for_processors(self, tiny_target: Path) -> None:
        with pytest.raises(RuntimeError, match="nothing is known of branches on GPU"):
            BranchingRunner.load(tiny_target, "GPU", EXACT, 80)


class TestText:
    """Speculation with branches writes what the target alone writes."""

    @pytest.mark.parametrize("temperature", [0.0, 0.8, 1.3])
    @pytest.mark.parametrize("trial", range(8))
    def test_branches_change_no_token_of_toys(self, trial: int, temperature: float) -> None:
        rng = random.Random(trial)
        sampling = Sampling(
            temperature=temperature, seed=rng.randrange(2**40), frequency_penalty=rng.choice([0.0, 0.3])
        )
        answer = sequence.Sequence(
            (1, 2, 3), 150, frozenset(rng.sample(range(VOCABULARY), trial % 2)), sampling, PLAIN, 170
        )
        plain, _, reason = write(toy_decoder(ToyRunner(VOCABULARY, 170, seed=3)), answer)
        target, outcomes = BranchingToy(VOCABULARY, 170, seed=3), list[Outcome]()
        decoder = toy_decoder(target, outcomes.append)
        for _ in range(2):
            assert write(decoder, replace(answer, speculation=Speculation()))[0::2] == (plain, reason)
        assert sum(outcome.is_branch_taken for outcome in outcomes) == target.taken

    @pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.9, seed=4)], ids=["greedy", "sampled"])
    @pytest.mark.parametrize("text", [LIST, CODE], ids=["list", "code"])
    def test_branches_change_no_token_of_a_pair(self, eager: LocalEngine, text: str, sampling: Sampling) -> None:
        expected = ask(forget(eager), request(text, sampling=sampling, speculation=PLAIN, tokens=60))
        outcomes: list[Outcome] = []
        eager.policy.observers.append(outcomes.append)
        given = ask(forget(eager), request(text, sampling=sampling, speculation=Speculation(), tokens=60))
        assert given.essence == expected.essence
        assert any(outcome.verified > len(outcome.confidences) for outcome in outcomes)

    @pytest.fixture
    def eager(self, tiny_quantized: Path, tiny_draft: Path, headstart_home: Path) -> Iterator[LocalEngine]:
        """A pair that checks as many branches as there is room for."""
        with closing(load(LoadOptions(tiny_quantized, tiny_draft))) as engine:
            assert engine.target.runner.can_branch
            engine.record_with(Eager(engine.policy.costs))
            yield engine


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_passes_that_are_filled_up_write_the_plain_text_up_to_the_end_of_the_context(temperature: float) -> None:
    sizes: list[int] = []

    def filled(context: int) -> Decoder:
        target = BranchingToy(VOCABULARY, context, 3)
        policy = Policy(
            Costs(Curve({1: 70.0, 8: 79.0, 16: 95.0}, switch_ms=15.0), {Origin.DRAFT: Curve({1: 12.0}, switch_ms=5.0)})
        )
        policy.observers.append(lambda outcome: sizes.append(outcome.size))
        return Decoder(target, toy_drafters(target, ToyRunner(VOCABULARY, context, 3, blur=0.2)), policy)

    answer = sequence.Sequence(
        (1, 2, 3), 400, frozenset(), Sampling(temperature=temperature, seed=5), Speculation(), 400
    )
    for context in (400, 100):
        plain = write(filled(context), replace(answer, speculation=PLAIN))
        assert write(filled(context), answer)[0::2] == plain[0::2]
    spoken = [size for size in sizes if size > 1]
    assert sum(size != last for last, size in pairwise(spoken)) < len(spoken) / 2


def test_branch_is_accepted_at_the_first_wrong_candidate() -> None:
    draft = Draft((5, 6, 7), branches=(Branch(1, 8), Branch(2, 9), Branch(2, 5), Branch(3, 9)))
    assert draft.size == 7
    assert draft.branch_taken([8]) == 0
    assert draft.branch_taken([5, 9]) == 1
    assert draft.branch_taken([5, 9, 6]) == 1
    assert draft.branch_taken([5, 6, 9, 1]) == 3
    assert draft.branch_taken([5, 8]) is None
    assert draft.branch_taken([5, 6, 7, 9]) is None


def toy_decoder(target: ToyRunner, learned: Callable[[Outcome], Any] | None = None) -> Decoder:
    policy = Eager(Costs(Curve({1: 70.0, 8: 79.0, 16: 95.0}), {Origin.DRAFT: Curve({1: 12.0})}))
    if learned:
        policy.observers.append(learned)
    return Decoder(target, toy_drafters(target, ToyRunner(VOCABULARY, 1000, 3, blur=0.8)), policy)
