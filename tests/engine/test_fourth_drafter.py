"""A drafter is one file and one line of the registry: no other part has to know it."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters import registry
from headstart.engine.engine import Mode, Origin, Sampling, Speculation
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import Branch, Logits
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from tests.engine.seer import Seer
from tests.engine.test_exactness import PLAIN, TABLE, VOCABULARY, random_job, random_speculation, write
from tests.toy import ToyRunner, toy_drafters


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line."""
    monkeypatch.setattr(registry, "DRAFTERS", [*registry.DRAFTERS, Seer.of])


def decoder(target: ToyRunner, *, draft: bool = False) -> Decoder:
    small = ToyRunner(VOCABULARY, 4096, seed=3, blur=0.7) if draft else None
    return Decoder(target, toy_drafters(target, small), Policy(Costs(Curve(TABLE), Curve({1: 20.0}))))


@pytest.mark.parametrize("is_free", [True, False])
@pytest.mark.parametrize("trial", range(12))
def test_its_text_is_the_plain_one(trial: int, *, is_free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seer, "is_free", is_free)
    rng = random.Random(trial)
    monkeypatch.setattr(Seer, "lies", rng.random() < 0.3)
    job, writer = random_job(rng, PLAIN), decoder(ToyRunner(VOCABULARY, 4096, seed=3), draft=rng.random() < 0.5)
    plain = write(writer, job)[0::2]
    for _ in range(3):
        assert write(writer, replace(job, speculation=random_speculation(rng)))[0::2] == plain


class Clock:
    """Time passes in passes of the target alone."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class TimedToy(ToyRunner):
    """Takes as long as the table says."""

    clock = Clock()

    def forward(
        self, ids: Sequence[int], branches: Sequence[Branch] = (), rows: int = 1, cancel: CancelEvent | None = None
    ) -> Logits:
        self.clock.seconds += Curve(TABLE).ms(len(ids)) / 1000
        return super().forward(ids, branches, rows, cancel)


@pytest.mark.parametrize("is_free", [True, False])
@pytest.mark.parametrize("lies", [False, True])
def test_the_policy_takes_it_where_it_pays(*, lies: bool, is_free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seer, "lies", lies)
    monkeypatch.setattr(Seer, "is_free", is_free)
    monkeypatch.setattr(time, "perf_counter", TimedToy.clock)
    job = Job((1, 2, 3), 300, frozenset(), Sampling(temperature=0.5, seed=1), Speculation(Mode.AUTO))
    started = TimedToy.clock.seconds
    _, rounds, _ = write(decoder(TimedToy(VOCABULARY, 4096, seed=3)), job)
    taken = [done.drafter is Origin.UNKNOWN for done in rounds]
    plain = Curve(TABLE).ms(1) / 1000 * 300
    if lies:
        assert TimedToy.clock.seconds - started < 1.1 * plain
    else:
        assert TimedToy.clock.seconds - started < 0.6 * plain
        assert sum(taken) > 0.5 * len(taken)
        assert any(token.origin is Origin.UNKNOWN for done in rounds for token in done.tokens)
