"""The audit finds a token that the target would not have written, and forgives what batching does to near-ties."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.audit import (
    BATCHES,
    ENDED,
    GREEDY,
    SAMPLED,
    Answered,
    Auditor,
    AuditPlan,
    Verdict,
    audit,
    findings,
    scores,
)
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, LoadOptions, Mode, Origin, Round, Sampling, Speculation
from headstart.engine.local import load
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import Logits
from headstart.engine.sampling import Sampler
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from tests.toy import ToyRunner, toy_drafters

VOCABULARY = 24
PROMPT = (5, 1, 7, 7, 2)
SAMPLINGS = (Sampling(), Sampling(temperature=0.9, seed=4))


class NoisyRunner(ToyRunner):
    """A toy whose logits depend on how many tokens are computed at once, as those of real kernels do."""

    def forward(self, ids: Sequence[int], *arguments: Any, **named: Any) -> Logits:
        logits = super().forward(ids, *arguments, **named)
        noise = np.random.default_rng([len(ids), *self.tokens[-3:]]).normal(0.0, 0.1, logits.shape)
        return logits + noise.astype(np.float32) if len(ids) > 1 else logits


def written(
    target: ToyRunner, sampling: Sampling, *, tokens: int = 400, stop: frozenset[int] = frozenset()
) -> Answered:
    """An answer by fixed speculation with a draft that often errs."""
    drafters = toy_drafters(target, ToyRunner(VOCABULARY, blur=0.7))
    decoder = Decoder(target, drafters, Policy(Costs(Curve({1: 70.0, 8: 90.0}), {Origin.DRAFT: Curve({1: 20.0})})))
    job = Job(PROMPT, tokens, stop, sampling, Speculation(Mode.FIXED, 5))
    events = list(decoder.run(job, CancelEvent()))
    ids = tuple(token.id for event in events if isinstance(event, Round) for token in event.tokens)
    return Answered("text", PROMPT, ids, events[-1] is FinishReason.STOP, sampling)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_sampler_maximises_these_scores(sampling: Sampling) -> None:
    rng = np.random.default_rng(1)
    for position in range(200):
        row = rng.normal(0.0, 3.0, 500).astype(np.float32)
        assert int(scores(row, position, sampling).argmax()) == Sampler(sampling, ()).choose(row, position)


def test_the_floor_is_the_quantile_and_of_few_samples_the_largest() -> None:
    floors = [findings([], shifts).floor for shifts in ([], [0.1, 0.4, 0.2], [*[0.1] * 9995, *[9.0] * 5])]
    assert floors == [0.0, 0.4, 0.1]


def test_a_token_is_an_outlier_above_the_floor_only() -> None:
    verdicts = [Verdict(0, 1, 2, gap, 0.5) for gap in (0.0, 0.2, 0.3, 0.31)]
    found = findings([("a", verdicts)], [0.1, 0.3])
    assert (found.tokens, found.mismatches, found.largest_gap, found.floor) == (4, 3, 0.31, 0.3)
    assert [(outlier.text, outlier.index, outlier.gap) for outlier in found.outliers] == [("a", 3, 0.31)]
    assert found.mismatches_per_10k == 7500.0


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_an_exact_text_has_no_mismatch(sampling: Sampling) -> None:
    auditor = Auditor(ToyRunner(VOCABULARY), frozenset())
    auditor.judge(written(ToyRunner(VOCABULARY), sampling))
    found = auditor.findings()
    assert (found.tokens, found.mismatches, found.floor, found.outliers) == (400, 0, 0.0, ())
    assert found.floor_samples == 400 * len(BATCHES)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("place", [0, 57, 399])
def test_one_wrong_token_is_found(sampling: Sampling, place: int) -> None:
    answer = written(ToyRunner(VOCABULARY), sampling)
    tokens = list(answer.tokens)
    tokens[place] = (tokens[place] + 1) % VOCABULARY
    auditor = Auditor(ToyRunner(VOCABULARY), frozenset())
    auditor.judge(Answered("text", PROMPT, tuple(tokens), ended=False, sampling=sampling))
    first = auditor.findings().outliers[0]
    assert (first.index, first.token, first.choice) == (place, tokens[place], answer.tokens[place])


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_an_end_that_the_target_did_not_choose_is_found(sampling: Sampling) -> None:
    stop = frozenset({3})
    right = written(ToyRunner(VOCABULARY), sampling, stop=stop)
    assert right.ended
    auditor = Auditor(ToyRunner(VOCABULARY), stop)
    auditor.judge(right)
    assert auditor.findings().mismatches == 0
    auditor.judge(Answered("early", PROMPT, right.tokens[:-1], ended=True, sampling=sampling))
    assert [outlier.token for outlier in auditor.findings().outliers] == [ENDED]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_what_batching_does_to_near_ties_is_within_the_floor(sampling: Sampling) -> None:
    answer = written(NoisyRunner(VOCABULARY), sampling)
    auditor = Auditor(NoisyRunner(VOCABULARY), frozenset())
    auditor.judge(answer)
    found = auditor.findings()
    assert found.mismatches > 0
    assert 0.0 < found.largest_gap <= found.floor
    assert not found.outliers


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_noise_hides_no_bug(sampling: Sampling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoder, "_tolerated", _tolerate_all)
    auditor = Auditor(NoisyRunner(VOCABULARY), frozenset())
    auditor.judge(written(NoisyRunner(VOCABULARY), sampling))
    assert auditor.findings().outliers


PROMPTS = (BenchPrompt("one", "chat", "Say what the licence is for."), BenchPrompt("two", "chat", "def add(a, b):"))


def test_a_loaded_pair_passes(tiny_target: Path, tiny_draft: Path) -> None:
    engine = load(LoadOptions(tiny_target, tiny_draft, context=256))
    heard: list[str] = []
    result = audit(engine, AuditPlan(PROMPTS, 24, 0.8, "CPU"), lambda answer: heard.append(answer.name))
    assert heard == ["one, auto", "one, fixed 5", "two, auto", "two, fixed 5"] * 2
    assert {name: found.tokens for name, found in result.findings.items()} == {GREEDY: 96, SAMPLED: 96}
    assert result.outside == 0
    engine.close()


def test_a_bug_in_a_loaded_pair_is_found(tiny_target: Path, tiny_draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoder, "_tolerated", _tolerate_all)
    engine = load(LoadOptions(tiny_target, tiny_draft, context=256))
    result = audit(engine, AuditPlan(PROMPTS, 24, 0.0, "CPU"), lambda _answer: None)
    assert list(result.findings) == [GREEDY]
    assert result.outside > 0
    engine.close()


def _tolerate_all(*_arguments: object) -> bool:
    """A planted bug: every guess is taken unchecked."""
    return True
