"""Speed ratios and how they scatter: median, range, geometric mean, bootstrap."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_RESAMPLES = 2000
_SEED = 20
_LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """The median of some values with the smallest and the largest."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Interval:
    """Where a mean lies with 95 % confidence."""

    low: float
    high: float


def spread(values: Sequence[float]) -> Spread | None:
    """None without values."""
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def paired(base: Sequence[float | None], other: Sequence[float | None]) -> list[float]:
    """base / other, run by run: runs of one repeat stand side by side, so what slowed the machine slowed both.

    Times of which one is missing or zero give no ratio.
    """
    return [mine / theirs for mine, theirs in zip(base, other, strict=True) if mine and theirs]


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean that fits ratios: of 2 and 1/2 it is 1. None without values."""
    return statistics.geometric_mean(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which this share of them lies, between neighbours in a straight line. None without values."""
    if not values:
        return None
    ranked, place = sorted(values), share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ranked) - 1)
    return ranked[below] + (place - below) * (ranked[above] - ranked[below])


def bootstrap_interval(values: Sequence[float]) -> Interval | None:
    """Of the geometric mean, by drawing as many values again with replacement (Efron 1979); the same each time.

    None with fewer than two values.
    """
    if len(values) < 2:
        return None
    logs, draw = [math.log(value) for value in values], random.Random(_SEED)  # noqa: S311 - no secret
    means = [statistics.fmean(draw.choices(logs, k=len(logs))) for _ in range(_RESAMPLES)]
    low, high = (percentile(means, share) for share in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
    assert low is not None
    assert high is not None
    return Interval(math.exp(low), math.exp(high))
