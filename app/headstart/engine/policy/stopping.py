"""The stopping rule: when to stop drafting and how much to verify, by chances and prices."""

from collections.abc import Sequence
from dataclasses import dataclass

Spread = tuple[tuple[float, float], ...]  # (weight, chance): the values that a chance may have; weights sum to 1


@dataclass(frozen=True, slots=True)
class Prices:
    verify: Sequence[float]  # [limit + 1]: ms to verify j candidates, drafting apart; index 0 is a plain step
    step_ms: float  # ms to draft one candidate
    rate: float  # worth of time: tokens per ms that it would give elsewhere


NO_PRICES = Prices((0.0,), 0.0, 0.0)


def extension_gain(prices: Prices, drafted: int, survival: float, ahead: Sequence[float]) -> float:
    """Return the largest expected gain in tokens, net of the worth of time, from drafting m = 1, 2, .. more candidates.

    k candidates are drafted and all hold with chance S_k; a_i are the chances of those ahead:
    max over m of  S_k * sum_{j<=m} prod_{i<=j} a_i - rate * (m * d + T(1+k+m) - T(1+k)).
    """
    rate, step_ms, spent, gained, best = prices.rate, prices.step_ms, -prices.verify[drafted], 0.0, -float("inf")
    for m, (chance, verify_ms) in enumerate(zip(ahead, prices.verify[drafted + 1 :], strict=False), start=1):
        survival *= chance
        gained += survival
        best = max(best, gained - rate * (m * step_ms + verify_ms + spent))
    return best


def drafting_gain(prices: Prices, drafted: int, survival: float, following: Spread, ahead: Sequence[float]) -> float:
    """Return the tokens, net of the worth of time, that drafting on is expected to add. Stop if they are not positive.

    `following`: the chance of the next candidate; `ahead`: the mean chances of those after it.
    Either the length is settled now (`extension_gain`), or the next confidence is seen before the decision:
    - rate * d + sum over its chances a of weight * max(0, S_k * a - rate * (T(2+k) - T(1+k)) + gain of going on).
    """
    if drafted + 1 >= len(prices.verify):
        return -float("inf")
    settled = extension_gain(prices, drafted, survival, (mean(following), *ahead))
    check = prices.rate * (prices.verify[drafted + 1] - prices.verify[drafted])
    after_next = -prices.rate * prices.step_ms
    for weight, chance in following:
        reached = survival * chance
        after_next += weight * max(0.0, reached - check + max(0.0, extension_gain(prices, drafted + 1, reached, ahead)))
    return max(settled, after_next)


def best_prefix(prices: Prices, survivals: Sequence[float]) -> int:
    """Return how many drafted candidates to verify: argmax over j of  sum_{i<=j} S_i - rate * T(1+j)."""
    best, best_value, gained = 0, -prices.rate * prices.verify[0], 0.0
    for j, survival in enumerate(survivals, start=1):
        gained += survival
        value = gained - prices.rate * prices.verify[j]
        if value > best_value:
            best, best_value = j, value
    return best


def best_rate(prices: Prices, chances: Sequence[float]) -> float:
    """Return the highest expected tokens per ms among all fixed lengths."""
    best, tokens, survival = 1 / prices.verify[0], 1.0, 1.0
    for k, chance in enumerate(chances, start=1):
        survival *= chance
        tokens += survival
        best = max(best, tokens / (k * prices.step_ms + prices.verify[k]))
    return best


def affordable(prices: Prices, limit: int, credit_ms: float) -> int:
    """Return how many candidates, from 1 to `limit`, lose no more than `credit_ms` if all of them fail."""
    for k in range(limit, 1, -1):
        if k * prices.step_ms + prices.verify[k] - prices.verify[0] <= credit_ms:
            return k
    return 1


def mean(spread: Spread) -> float:
    """Return the expected chance."""
    return sum([weight * chance for weight, chance in spread])


def survivals(chances: Sequence[float]) -> list[float]:
    """Return running products: the chance that candidates 1..j are all accepted."""
    running, products = 1.0, []
    for chance in chances:
        running *= chance
        products.append(running)
    return products
