"""Made-up texts and one machine's measured prices, to play a whole answer in milliseconds. Knows no test."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from headstart.engine.costs import Costs, Curve
from headstart.engine.engine import Origin, Speculation
from headstart.engine.policy import Policy
from headstart.engine.rounds import NgramOffer, Outcome, Situation

TARGET_MS = {1: 71.0, 2: 72.0, 3: 73.0, 4: 75.0, 6: 82.0, 8: 92.0, 12: 110.0, 16: 140.0}
OTHER_MS = 1.0
PLAIN_MS = TARGET_MS[1] + OTHER_MS
_CATCH_UP_MS = 1.5  # per token that the draft did not read yet

Mixture = tuple[tuple[float, float], ...]  # (share of the positions, chance that the draft guesses them)
CODE: Mixture = ((0.80, 0.97), (0.20, 0.37))  # 0.85 in the mean
PROSE: Mixture = ((0.32, 0.90), (0.68, 0.24))  # 0.45 in the mean
HOPELESS: Mixture = ((1.0, 0.0),)


@dataclass(frozen=True)
class Text:
    """Per position: is the draft right, how sure does it say it is, what does an n-gram offer, is that right."""

    right: Sequence[bool]
    confidence: Sequence[float]
    offers: Sequence[NgramOffer | None]
    copied: Sequence[bool]

    @property
    def plain_ms(self) -> float:
        return len(self.right) * PLAIN_MS


@dataclass
class Machine:
    """Prices of passes, with three per cent of scatter; `slower` from position `turn` on."""

    draft_ms: float = 24.0
    slower: float = 1.0
    turn: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._curve = Curve(TARGET_MS)

    def verifying(self, at: int, tokens: int) -> float:
        return self._curve.ms(tokens) * self._scatter(at)

    def drafting(self, at: int, tokens: int, lag: int = 1) -> float:
        return (tokens * self.draft_ms + (lag - 1) * _CATCH_UP_MS) * self._scatter(at) if tokens else 0.0

    def _scatter(self, at: int) -> float:
        return self._rng.gauss(1.0, 0.03) * (self.slower if at >= self.turn else 1.0)


def write(parts: Sequence[tuple[Mixture, int]], seed: int) -> Text:
    """Easy and hard positions come in short runs; the draft's confidence is honest but noisy, except where hopeless."""
    rng = random.Random(seed)
    right: list[bool] = []
    confidence: list[float] = []
    for mixture, length in parts:
        chance = mixture[0][1]
        for _ in range(length):
            if rng.random() < 0.6:
                chance = rng.choices([p for _, p in mixture], [share for share, _ in mixture])[0]
            right.append(rng.random() < chance)
            claimed = 0.6 if mixture is HOPELESS else chance
            confidence.append(_sigmoid((math.log(claimed / (1 - claimed)) - 0.3) / 0.9 + rng.gauss(0, 0.8)))
    return Text(right, confidence, [None] * len(right), [False] * len(right))


def with_copies(text: Text, copied: int, free: int, seed: int) -> Text:
    """The same text with passages copied from above (n-grams right in 97 of 100); between them matches are chance."""
    rng, held = random.Random(seed), 0
    offers: list[NgramOffer | None] = []
    right: list[bool] = []
    for at in range(len(text.right)):
        if at % (copied + free) >= free:
            offers.append(NgramOffer(11, min(held, 8)) if held >= 2 else None)
            right.append(rng.random() < 0.97)
            held = held + 1 if right[-1] else 0
        else:
            offers.append(NgramOffer(11, rng.choice((2, 2, 2, 3))) if rng.random() < 0.35 else None)
            right.append(rng.random() < 0.15)
    return replace(text, offers=offers, copied=right)


def new_policy(draft_ms: float = 24.0) -> Policy:
    """A policy that knows the prices and nothing else."""
    return Policy(Costs(Curve(TARGET_MS), Curve({1: draft_ms})))


def adaptive_ms(
    policy: Policy, text: Text, *, draft: bool = True, machine: Machine | None = None, bounds: Speculation | None = None
) -> float:
    """Milliseconds to write the text, the policy being asked as the decoding loop asks it."""
    machine, at, total, lag = machine or Machine(), 0, 0.0, 1
    policy.begin_answer(bounds or Speculation())
    while at < len(text.right):
        situation = Situation(at, len(text.right) - at, text.offers[at], lag if draft else None)
        outcome = play(policy, situation, text, machine)
        policy.learn(outcome)
        total += outcome.verify_ms + outcome.draft_ms + outcome.other_ms
        at += outcome.tokens
        lag = 1 if outcome.confidences else lag + outcome.tokens
    return total


def play(policy: Policy, situation: Situation, text: Text, machine: Machine) -> Outcome:
    """One round."""
    plan, at = policy.plan(situation), situation.context
    offered = situation.ngram.length if situation.ngram else 0
    copied = run_length(text.copied[at : at + offered])
    confidences: list[float] = []
    kept, hits = plan.length, copied
    if plan.drafter is not Origin.NGRAM:
        while plan.drafter is Origin.DRAFT and policy.wants_more(confidences):
            confidences.append(text.confidence[at + len(confidences)])
        kept, hits = policy.kept(confidences), run_length(text.right[at : at + len(confidences)])
    accepted = min(hits, kept)
    return Outcome(
        tokens=accepted + 1,
        verified=kept,
        accepted=accepted,
        verify_ms=machine.verifying(at, 1 + kept),
        draft_ms=machine.drafting(at, len(confidences), situation.draft_lag or 1),
        other_ms=OTHER_MS,
        confidences=confidences,
        matched=min(hits, accepted + 1) if confidences else None,
        offer_matched=min(copied, accepted + 1) if offered else None,
    )


def run_length(flags: Sequence[bool]) -> int:
    """How many hold from the first on."""
    return next((i for i, flag in enumerate(flags) if not flag), len(flags))


NextLength = Callable[[int, int, int], int]  # from the length, what was drafted, what was accepted


def ruled_ms(text: Text, length: int, following: NextLength) -> float:
    """Milliseconds with a draft length that follows a rule."""
    machine, at, total = Machine(), 0, 0.0
    while at < len(text.right):
        drafted = min(length, len(text.right) - at - 1)
        accepted = run_length(text.right[at : at + drafted])
        total += machine.verifying(at, 1 + drafted) + machine.drafting(at, drafted) + OTHER_MS
        at += accepted + 1
        length = following(length, drafted, accepted)
    return total


def fixed_ms(text: Text, length: int) -> float:
    """Milliseconds with the same draft length in every round; 0 is plain decoding."""
    return ruled_ms(text, length, lambda same, _drafted, _accepted: same)


def two_up_one_down_ms(text: Text) -> float:
    """The rule of Hugging Face's assisted generation: two longer when all were accepted, else one shorter."""
    return ruled_ms(text, 5, lambda k, drafted, hit: min(k + 2, 15) if hit == drafted else max(k - 1, 1))


def history_average_ms(text: Text) -> float:
    """One more than the mean of what the last eight rounds accepted."""
    history = [4] * 8

    def following(_length: int, _drafted: int, accepted: int) -> int:
        history.append(accepted)
        return min(round(sum(history[-8:]) / 8) + 1, 15)

    return ruled_ms(text, 5, following)


def oracle_ms(text: Text) -> float:
    """The least milliseconds of all: each round drafts and verifies exactly what will be accepted."""
    machine, rest = Machine(), [0.0]  # rest[i]: the last i positions
    verify = [machine._curve.ms(1 + k) + k * machine.draft_ms + OTHER_MS for k in range(16)]
    for at in reversed(range(len(text.right))):
        hits = run_length(text.right[at : min(at + 15, len(text.right) - 1)])
        rest.append(min(verify[k] + rest[-1 - k] for k in range(hits + 1)))
    return rest[-1]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
