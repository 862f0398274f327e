"""Speed ratios and how they scatter: median, range, geometric mean. Pure; knows not what was measured."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """The median of some values with the smallest and the largest."""

    median: float
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
