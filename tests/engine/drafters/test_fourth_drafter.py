"""A drafter of its own kind in one file and one line of the registry: no other part has to know it."""

import random
import time
from collections import abc
from dataclasses import replace
from typing import Any

import pytest

from headstart.engine.drafters import registry
from headstart.engine.drafters.base import NO_DRAFT, Draft, ShouldContinue
from headstart.engine.drafters.registry import Sources
from headstart.engine.engine import Mode, Origin, Sampling, Speculation
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import Logits
from headstart.engine.sequence import Sequence
from headstart.engine.speculative import Decoder
from tests.engine.answers import PLAIN
from tests.engine.test_exactness import TABLE, VOCABULARY, random_sequence, random_speculation, write
from tests.stand_ins.toy import ToyRunner, toy_drafters


class Seer:
    """A drafter of the target's likeliest token, or with `lies` of its least likely one."""

    name = "seer"
    is_free = True
    lies = False

    def __init__(self, target: ToyRunner) -> None:
        self._target = target

    @classmethod
    def of(cls, sources: Sources) -> "Seer | None":
        return cls(sources.target) if isinstance(sources.target, ToyRunner) else None

    def begin(self, text: Sequence) -> None: ...

    def can_draft(self, _text: Sequence) -> bool:
        return True

    def uncached_tokens(self, _text: Sequence) -> int:
        return 0 if self.is_free else 1

    def propose(self, text: Sequence, should_continue: ShouldContinue) -> Draft:
        draft = NO_DRAFT
        while len(draft.tokens) < min(4, text.max_candidates) and should_continue(draft):
            row = self._target.row([*text.context, *draft.tokens])
            token = int(row.argmin()) if self.lies else int(row.argmax())
            draft = Draft((*draft.tokens, token), (*draft.confidences, 0.9), origin=Origin.UNKNOWN)
        return draft

    def accept(self, text: Sequence, held: int) -> None: ...


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "DRAFTERS", [*registry.DRAFTERS, Seer.of])


def decoder(target: ToyRunner, *, draft: bool = False) -> Decoder:
    small = ToyRunner(VOCABULARY, 4096, seed=3, blur=0.7) if draft else None
    return Decoder(target, toy_drafters(target, small), Policy(Costs(Curve(TABLE), {Origin.DRAFT: Curve({1: 20.0})})))


@pytest.mark.parametrize("is_free", [True, False])
@pytest.mark.parametrize("trial", range(12))
def test_fourth_drafter_changes_no_token(trial: int, *, is_free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seer, "is_free", is_free)
    rng = random.Random(trial)
    monkeypatch.setattr(Seer, "lies", rng.random() < 0.3)
    answer, writer = random_sequence(rng, PLAIN), decoder(ToyRunner(VOCABULARY, 4096, seed=3), draft=rng.random() < 0.5)
    plain = write(writer, answer)[0::2]
    for _ in range(3):
        assert write(writer, replace(answer, speculation=random_speculation(rng)))[0::2] == plain


class TimedToy(ToyRunner):
    """A toy whose passes take the times of a table; nothing else takes time."""

    seconds = 0.0

    def forward(self, ids: abc.Sequence[int], *arguments: Any, **named: Any) -> Logits:
        TimedToy.seconds += Curve(TABLE).ms(len(ids)) / 1000
        return super().forward(ids, *arguments, **named)


@pytest.mark.parametrize("is_free", [True, False])
@pytest.mark.parametrize("lies", [False, True])
def test_policy_uses_the_fourth_drafter_where_it_pays(
    *, lies: bool, is_free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seer, "lies", lies)
    monkeypatch.setattr(Seer, "is_free", is_free)
    monkeypatch.setattr(time, "perf_counter", lambda: TimedToy.seconds)
    answer = Sequence((1, 2, 3), 300, frozenset(), Sampling(temperature=0.5, seed=1), Speculation(Mode.AUTO), 4096)
    started = TimedToy.seconds
    _, rounds, _ = write(decoder(TimedToy(VOCABULARY, 4096, seed=3)), answer)
    taken = [done.drafter is Origin.UNKNOWN for done in rounds]
    plain = Curve(TABLE).ms(1) / 1000 * 300
    if lies:
        assert TimedToy.seconds - started < 1.1 * plain
    else:
        assert TimedToy.seconds - started < 0.6 * plain
        assert sum(taken) > 0.5 * len(taken)
        assert any(token.origin is Origin.UNKNOWN for done in rounds for token in done.tokens)
