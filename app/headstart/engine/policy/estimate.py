"""A few parameters and how sure we are of them, corrected by one observation at a time. Knows not what they mean."""

import math
from collections.abc import Sequence

Features = tuple[tuple[int, float], ...]  # sparse: (index, value) of what is not zero

_CLIP = 2.5  # an observation further off (in deviations) is pulled in to this
_CHANGE = 3  # so many outliers in a row on one side are a change, not noise


def diagonal(*deviations: float) -> list[list[float]]:
    """The covariance [n][n] of independent parameters with these standard deviations."""
    return [[d * d if i == j else 0.0 for j in range(len(deviations))] for i, d in enumerate(deviations)]


class Estimate:
    """Means [n] with a covariance [n][n] under the linear model value = sum(means[i] * x) + noise.

    This is the measurement update of a Kalman filter, which is also one Newton step of a Bayesian regression.
    """

    __slots__ = ("covariance", "means")

    def __init__(self, means: Sequence[float], covariance: Sequence[Sequence[float]]) -> None:
        """Copy both: an estimate owns its numbers."""
        self.means = list(means)
        self.covariance = [list(row) for row in covariance]

    def predict(self, features: Features) -> float:
        """The expected value."""
        means = self.means
        return sum([means[i] * x for i, x in features])

    def variance(self, features: Features) -> float:
        """How unsure the expected value is, without the noise of a measurement."""
        covariance = self.covariance
        return sum([x * y * covariance[i][j] for i, x in features for j, y in features])

    def correct(self, features: Features, miss: float, noise: float, memory: float = 1.0) -> None:
        """Absorb an observation that was off by `miss`, itself uncertain by the variance `noise`.

        `memory` below 1 forgets: what was known before counts that much less from now on.
        """
        reach = [sum([row[i] * x for i, x in features]) for row in self.covariance]
        total = noise + sum([reach[i] * x for i, x in features])
        step = miss / total
        self.means = [mean + step * r for mean, r in zip(self.means, reach, strict=True)]
        share = [r / total for r in reach]
        self.covariance = [
            [(c - r * s) / memory for c, s in zip(row, share, strict=True)]
            for row, r in zip(self.covariance, reach, strict=True)
        ]

    def bound(self, largest: Sequence[float]) -> None:
        """Keep each variance at most `largest[i]`: forgetting must not make us less sure than at the start."""
        for i, limit in enumerate(largest):
            if self.covariance[i][i] > limit:
                self._shrink(i, math.sqrt(limit / self.covariance[i][i]))

    def _shrink(self, i: int, factor: float) -> None:
        self.covariance[i] = [c * factor for c in self.covariance[i]]
        for row in self.covariance:
            row[i] *= factor


class Tracked(Estimate):
    """An estimate of non-negative parameters that drift, in a world where a single observation may be far off."""

    __slots__ = ("_common", "_drift", "_surprises")

    def __init__(
        self, means: Sequence[float], deviations: Sequence[float], common: float, drift: Sequence[float]
    ) -> None:
        """Per observation: `common`, the relative change of all parameters together; `drift`, that of each alone."""
        super().__init__(means, diagonal(*deviations))
        self._common, self._drift, self._surprises = common * common, [d * d for d in drift], 0

    def observe(self, features: Features, value: float, noise: float) -> None:
        """Absorb `value`, uncertain by the standard deviation `noise`; outliers count as far as they are credible."""
        self._let_drift()
        limit = _CLIP * math.sqrt(noise * noise + self.variance(features))
        self.correct(features, self._credible(value - self.predict(features), limit), noise * noise)
        self.means = [max(mean, 0.0) for mean in self.means]

    def _let_drift(self) -> None:
        for i, row in enumerate(self.covariance):
            mean = self.means[i] * self._common
            for j, other in enumerate(self.means):
                row[j] += mean * other
            row[i] += self._drift[i]

    def _credible(self, miss: float, limit: float) -> float:
        if abs(miss) <= limit:
            self._surprises = 0
            return miss
        side = 1 if miss > 0 else -1
        self._surprises = self._surprises + side if self._surprises * side > 0 else side
        if abs(self._surprises) < _CHANGE:
            return math.copysign(limit, miss)
        self.covariance[0][0] += miss * miss / 4
        return miss
