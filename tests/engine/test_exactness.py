"""Proofs 1 and 2 of exactness: speculation never changes the text, and sampled text has the target's distribution."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, Mode, Origin, Round, Sampling, Speculation
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.sampling import Sampler
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from tests.toy import ToyRunner, toy_drafters

VOCABULARY = 24
PLAIN = Speculation(mode=Mode.OFF)
TABLE = {1: 70.0, 2: 72.0, 4: 76.0, 8: 92.0, 16: 140.0}


def toy_decoder(*, draft: bool = True, blur: float = 0.7, context: int = 4096, seed: int = 3) -> Decoder:
    target = ToyRunner(VOCABULARY, context, seed)
    drafters = toy_drafters(target, ToyRunner(VOCABULARY, context, seed, blur) if draft else None)
    # Prices as on a real machine; the toy itself costs nothing.
    return Decoder(target, drafters, Policy(Costs(Curve(TABLE), Curve({1: 20.0}) if draft else None)))


def write(decoder: Decoder, job: Job, stop_after: int | None = None) -> tuple[list[int], list[Round], FinishReason]:
    """Run a job; `stop_after` cancels once so many tokens are there."""
    cancel, tokens, rounds = CancelEvent(), list[int](), list[Round]()
    reason = None
    for event in decoder.run(job, cancel):
        if isinstance(event, Round):
            rounds.append(event)
            tokens += [token.id for token in event.tokens]
            if stop_after is not None and len(tokens) >= stop_after:
                cancel.set()
        elif isinstance(event, FinishReason):
            reason = event
    assert reason is not None
    return tokens, rounds, reason


def random_job(rng: random.Random, speculation: Speculation) -> Job:
    sampling = Sampling(
        temperature=rng.choice([0.0, 0.7, 1.0, 1.5]),
        top_k=rng.choice([0, 5]),
        top_p=rng.choice([1.0, 0.9]),
        min_p=rng.choice([0.0, 0.05]),
        repetition_penalty=rng.choice([1.0, 1.2]),
        presence_penalty=rng.choice([0.0, 0.4]),
        frequency_penalty=rng.choice([0.0, 0.3]),
        seed=rng.randrange(2**40),
    )
    prompt = tuple(rng.randrange(VOCABULARY) for _ in range(rng.randrange(1, 40)))
    stop_ids = frozenset(rng.sample(range(VOCABULARY), rng.choice([0, 0, 1])))
    return Job(prompt, rng.choice([1, 2, 7, 60, 90]), stop_ids, sampling, speculation)


def random_speculation(rng: random.Random) -> Speculation:
    mode = rng.choice([Mode.AUTO, Mode.AUTO, Mode.FIXED])
    count = rng.randrange(1, 17) if mode is Mode.FIXED else rng.choice([None, 1, 4, 16])
    return Speculation(mode, count, rng.choice([None, 0.0, 0.3, 0.9, 1.0]))


@pytest.mark.parametrize("trial", range(60))
def test_speculative_text_is_plain_text_token_for_token(trial: int) -> None:
    rng = random.Random(trial)
    job = random_job(rng, PLAIN)
    plain, _, reason = write(toy_decoder(draft=False), job)
    # One decoder answers all: what earlier answers left in caches and policy must not matter.
    decoder = toy_decoder(blur=rng.choice([0.0, 0.4, 1.0, 3.0]))
    for _ in range(4):
        speculation = random_speculation(rng)
        assert write(decoder, replace(job, speculation=speculation))[0::2] == (plain, reason), speculation
    assert write(toy_decoder(draft=False), replace(job, speculation=Speculation()))[0] == plain


@pytest.mark.parametrize("trial", range(20))
def test_cancelled_and_abandoned_answers_leave_nothing_behind(trial: int) -> None:
    rng = random.Random(1000 + trial)
    decoder = toy_decoder()
    for _ in range(6):
        job = random_job(rng, random_speculation(rng))
        plain, _, _ = write(toy_decoder(draft=False), replace(job, speculation=PLAIN))
        stop_after = rng.choice([None, 0, 1, 5])
        tokens, rounds, reason = write(decoder, job, stop_after)
        assert tokens == plain[: len(tokens)]
        if stop_after is not None and len(tokens) < len(plain):
            assert reason is FinishReason.CANCELLED
            assert len(tokens) <= stop_after + len(rounds[-1].tokens)
        for event in decoder.run(job, CancelEvent()):  # a reader that goes away in the middle
            if isinstance(event, Round):
                break


def test_rounds_account_for_every_token() -> None:
    job = Job((1, 2, 3), 200, frozenset(), Sampling(), Speculation(mode=Mode.FIXED, num_assistant_tokens=4))
    tokens, rounds, reason = write(toy_decoder(), job)
    assert (len(tokens), reason) == (200, FinishReason.LENGTH)
    assert any(done.accepted for done in rounds)
    assert any(done.accepted < done.drafted for done in rounds)
    for done in rounds[1:-1]:
        assert len(done.tokens) == done.accepted + 1
        assert [token.origin for token in done.tokens] == [Origin.DRAFT] * done.accepted + [Origin.TARGET]
        assert done.drafted <= 4


def test_the_context_ends_an_answer_without_overrunning_it() -> None:
    job = Job(tuple(range(20)), 500, frozenset(), Sampling(), Speculation())
    tokens, _, reason = write(toy_decoder(context=64), job)
    plain, _, plain_reason = write(toy_decoder(draft=False, context=64), replace(job, speculation=PLAIN))
    assert (tokens, reason) == (plain, plain_reason)
    assert reason is FinishReason.CONTEXT
    assert len(tokens) == 64 - 20 + 1  # the last token needs no place in the cache


def test_a_lower_acceptance_threshold_accepts_more_and_changes_the_text() -> None:
    sampling = Sampling(temperature=1.0, seed=5)
    fixed = Speculation(mode=Mode.FIXED, num_assistant_tokens=4)
    loose = Speculation(mode=Mode.FIXED, num_assistant_tokens=4, acceptance_threshold=0.05)
    exact_text, exact_rounds, _ = write(toy_decoder(blur=2.0), Job((1, 2), 300, frozenset(), sampling, fixed))
    loose_text, loose_rounds, _ = write(toy_decoder(blur=2.0), Job((1, 2), 300, frozenset(), sampling, loose))
    assert sum(done.accepted for done in loose_rounds) > sum(done.accepted for done in exact_rounds)
    assert loose_text != exact_text


SMALL = 4  # tokens of the vocabulary whose 64 texts of three tokens are counted
FEW, MANY = 5_000, 60_000


def small_text_probabilities(runner: ToyRunner, prompt: Sequence[int]) -> dict[tuple[int, ...], float]:
    """The chance of every text of three tokens, computed from the target's logits."""
    chances = {}
    for text in product(range(SMALL), repeat=3):
        chance = 1.0
        for place, token in enumerate(text):
            weights = np.exp(runner.row([*prompt, *text[:place]]).astype(np.float64))
            chance *= float(weights[token] / weights.sum())
        chances[text] = chance
    return chances


def sampled_texts(speculation: Speculation, samples: int) -> Counter[tuple[int, ...]]:
    target, draft = ToyRunner(SMALL, 64, seed=9), ToyRunner(SMALL, 64, seed=9, blur=1.0)
    policy = Policy(Costs(Curve(TABLE), Curve({1: 20.0})))
    decoder = Decoder(target, toy_drafters(target, draft), policy)
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(samples):
        job = Job((1, 2, 0), 3, frozenset(), Sampling(temperature=1.0, seed=seed), speculation)
        counts[tuple(write(decoder, job)[0])] += 1
    return counts


def p_value(counts: Counter[tuple[int, ...]]) -> float:
    expected = small_text_probabilities(ToyRunner(SMALL, 64, seed=9), (1, 2, 0))
    observed = [counts[text] for text in expected]
    return float(stats.chisquare(observed, np.array(list(expected.values())) * counts.total()).pvalue)


@pytest.mark.parametrize("samples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "speculation", [PLAIN, Speculation(mode=Mode.FIXED, num_assistant_tokens=2)], ids=["plain", "speculative"]
)
def test_sampled_texts_have_the_target_s_distribution(speculation: Speculation, samples: int) -> None:
    assert p_value(sampled_texts(speculation, samples)) > 1e-4


@pytest.mark.slow
def test_a_planted_bug_fails_the_same_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepting what the draft likes, as an unsound verifier would, is far from the target's distribution."""
    monkeypatch.setattr(
        Sampler, "choose", lambda self, row, position, run=(): self.guess(row * 1.1, position, run).token
    )
    assert p_value(sampled_texts(Speculation(mode=Mode.FIXED, num_assistant_tokens=2), MANY // 6)) < 1e-9
