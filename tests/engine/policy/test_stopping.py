"""The stopping rule against the exact solution of small decision processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from headstart.engine.policy.cost_model import Curve
from headstart.engine.policy.stopping import (
    Prices,
    Spread,
    best_prefix,
    drafting_gain,
    mean,
    survivals,
)
from tests.engine.policy.rounds import TARGET_MS

STEEP = {1: 100.0, 2: 121.0, 3: 149.0, 4: 171.0, 5: 165.0, 6: 165.0, 8: 184.0, 12: 181.0, 16: 187.0}  # bf16 on AMX
SWITCHED = {1: 60.0, 2: 68.0, 4: 75.0, 6: 83.0, 8: 90.0, 12: 107.0, 16: 134.0}  # with the price of another size
LONGEST = 6

CODE: Spread = ((0.6, 0.97), (0.25, 0.8), (0.15, 0.35))
PROSE: Spread = ((0.2, 0.92), (0.3, 0.5), (0.5, 0.2))
CONSTANT: Spread = ((1.0, 0.7),)
RARE: Spread = ((0.1, 0.95), (0.9, 0.15))
SURE: Spread = ((0.9, 0.99), (0.1, 0.6))


@dataclass(frozen=True)
class Instance:
    """A decision process with its candidates and the costs of passes. Every round starts again."""

    levels: Spread  # of the chance that a candidate's confidence gives it
    table: dict[int, float]
    step_ms: float

    def prices(self, rate: float) -> Prices:
        return Prices(Curve(self.table).row(LONGEST + 1, 0), self.step_ms, rate)

    @property
    def mean(self) -> float:
        return mean(self.levels)


Value = tuple[float, float]  # expected tokens, expected milliseconds, from here to the end of the round
Rule = Callable[[Prices, Sequence[float]], bool]


def ended(prices: Prices, chances: Sequence[float]) -> Value:
    held = survivals(chances)
    kept = best_prefix(prices, held)
    return 1 + sum(held[:kept]), prices.verify[kept]


def drafted(instance: Instance, prices: Prices, chances: tuple[float, ...], go_on: Rule | None) -> Value:
    """Return the value of a round by backward induction; without a rule, each choice is the best."""
    stop = ended(prices, chances)
    if len(chances) == LONGEST or (go_on and not go_on(prices, chances)):
        return stop
    parts = [(share, drafted(instance, prices, (*chances, chance), go_on)) for share, chance in instance.levels]
    tokens = sum(share * part[0] for share, part in parts)
    more = tokens, prices.step_ms + sum(share * part[1] for share, part in parts)
    return more if go_on or net(prices, more) > net(prices, stop) else stop


def net(prices: Prices, value: Value) -> float:
    return value[0] - prices.rate * value[1]


def average_reward(instance: Instance, go_on: Rule | None = None) -> float:
    """Return the average reward by Dinkelbach's iteration, for the best rounds or the rule's."""
    rate = 0.0
    for _ in range(50):
        tokens, ms = drafted(instance, instance.prices(rate), (), go_on)
        if abs(tokens / ms - rate) < 1e-12:
            break
        rate = tokens / ms
    return rate


def priced_rule(instance: Instance) -> Rule:
    """Return the rule as the policy applies it: it knows the next chances, and the means of later ones."""
    ahead = [instance.mean] * 3

    def go_on(prices: Prices, chances: Sequence[float]) -> bool:
        survival = survivals(chances)[-1] if chances else 1.0
        return drafting_gain(prices, len(chances), survival, instance.levels, ahead) > 0.0

    return go_on


@pytest.mark.parametrize("step_ms", [4.0, 10.0, 14.0, 24.0, 40.0])
@pytest.mark.parametrize("table", [TARGET_MS, STEEP, SWITCHED], ids=["flat", "steep", "switched"])
@pytest.mark.parametrize(
    "levels", [CODE, PROSE, CONSTANT, RARE, SURE], ids=["code", "prose", "constant", "rare", "sure"]
)
def test_stopping_rule_is_near_the_optimum(levels: Spread, table: dict[int, float], step_ms: float) -> None:
    instance = Instance(levels, table, step_ms)
    best = average_reward(instance)
    ruled = average_reward(instance, priced_rule(instance))
    assert 0.99 * best <= ruled <= best * (1 + 1e-9)
