"""Made-up texts and one machine's measured prices, to play a whole answer in milliseconds."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.research import replay
from bench.research.recordings import DraftOffer, GuessedText, run_length
from headstart.engine.engine import Origin, Speculation
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from tests.engine.policy.rounds import TARGET_MS

PLAIN_MS = TARGET_MS[1]
_REACH = 11  # candidates of an offer

Mixture = tuple[tuple[float, float], ...]  # (share of the positions, chance that the draft guesses them)
CODE: Mixture = ((0.80, 0.97), (0.20, 0.37))  # 0.85 in the mean
PROSE: Mixture = ((0.32, 0.90), (0.68, 0.24))  # 0.45 in the mean
HOPELESS: Mixture = ((1.0, 0.0),)


def costs(draft_ms: float = 24.0) -> Costs:
    """Return the prices of the machine of the figures above, where a change of the size was free."""
    return Costs(Curve(TARGET_MS, switch_ms=0.0), {Origin.DRAFT: Curve({1: draft_ms}, switch_ms=0.0)})


class Machine(replay.SimulatedMachine):
    """A machine with three per cent of scatter; `slower` from place `turn` on."""

    def __init__(self, draft_ms: float = 24.0, slower: float = 1.0, turn: int = 0, seed: int = 1) -> None:
        super().__init__(costs(draft_ms), scatter=0.03, seed=seed)
        self._slower, self._turn = slower, turn

    def pace(self, context: int) -> float:
        return super().pace(context) * (self._slower if context > self._turn else 1.0)


def write(parts: Sequence[tuple[Mixture, int]], seed: int) -> GuessedText:
    """Return a text with short runs of easy and hard places; the draft's confidence is honest but noisy."""
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
    return GuessedText(right, confidence, [None] * len(right))


def with_copies(text: GuessedText, copied: int, free: int, seed: int) -> GuessedText:
    """Return the text with passages copied from above (n-grams right in 97 of 100) between matches by chance."""
    rng, held = random.Random(seed), 0
    matches: list[int] = []  # 0: nothing is offered
    right: list[bool] = []
    for at in range(len(text)):
        if at % (copied + free) >= free:
            matches.append(min(held, 8) if held >= 2 else 0)
            right.append(rng.random() < 0.97)
            held = held + 1 if right[-1] else 0
        else:
            matches.append(rng.choice((2, 2, 2, 3)) if rng.random() < 0.35 else 0)
            right.append(rng.random() < 0.15)
    offers = [
        DraftOffer(_REACH, match, run_length(right[at : at + _REACH])) if match else None
        for at, match in enumerate(matches)
    ]
    return replace(text, offers=offers)


def new_policy(draft_ms: float = 24.0) -> Policy:
    """Return a policy that only knows the prices."""
    return Policy(costs(draft_ms))


@dataclass(frozen=True)
class Setting:
    """The machine and the bounds with which a text is played."""

    machine: Machine | None = None
    bounds: Speculation | None = None
    draft: bool = True


def plain_ms(text: GuessedText) -> float:
    return len(text) * PLAIN_MS


def adaptive_ms(policy: Policy, text: GuessedText, setting: Setting = Setting()) -> float:
    """Return the milliseconds to write the text with the policy."""
    return replay.policy_ms(policy, text, setting.machine or Machine(), setting.bounds, draft=setting.draft)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
