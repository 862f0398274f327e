"""A few parameters and how sure we are of them, corrected by one observation at a time."""

import math
from collections.abc import Sequence

import numpy as np

_CLIP = 2.5  # an observation further off (in deviations) is pulled in to this


class Estimate:
    """Means [n] with a covariance [n][n] under the linear model value = means @ features + noise.

    This is the measurement update of a Kalman filter, which is also one Newton step of a Bayesian regression.
    """

    def __init__(self, means: Sequence[float], deviations: Sequence[float]) -> None:
        """Independent parameters with these standard deviations, which are never exceeded."""
        self.means = np.array(means, np.float64)
        self._largest = np.square(deviations)
        self._covariance = np.diag(self._largest)

    def predict(self, features: Sequence[float]) -> float:
        """The expected value."""
        return float(self.means @ features)

    def variance(self, features: Sequence[float]) -> float:
        """How unsure the expected value is, without the noise of a measurement."""
        return float(features @ self._covariance @ features)

    def correct(self, features: Sequence[float], miss: float, noise: float, memory: float = 1.0) -> None:
        """Absorb an observation that was off by `miss`, itself uncertain by the variance `noise`.

        `memory` below 1 forgets: what was known before counts that much less from now on.
        """
        reach = self._covariance @ features
        total = noise + float(reach @ features)
        self.means += reach * (miss / total)
        covariance = (self._covariance - np.outer(reach, reach) / total) / memory
        # Forgetting must not make us less sure than at the start.
        scale = np.sqrt(np.minimum(1.0, self._largest / covariance.diagonal()))
        self._covariance = covariance * np.outer(scale, scale)


class Tracked(Estimate):
    """An estimate of non-negative parameters that drift, in a world where a single observation may be far off."""

    def __init__(
        self, means: Sequence[float], deviations: Sequence[float], common: float, drift: Sequence[float]
    ) -> None:
        """Per observation: `common`, the relative change of all parameters together; `drift`, that of each alone."""
        super().__init__(means, deviations)
        self._common, self._drift = common, np.diag(np.square(drift))
        self._largest = np.full(len(means), math.inf)

    def observe(self, features: Sequence[float], value: float, noise: float) -> None:
        """Absorb `value`, uncertain by the standard deviation `noise`; outliers count as far as they are credible."""
        self._covariance += np.outer(self.means, self.means) * self._common**2 + self._drift
        limit = _CLIP * math.sqrt(noise * noise + self.variance(features))
        self.correct(features, min(limit, max(-limit, value - self.predict(features))), noise * noise)
        np.maximum(self.means, 0.0, out=self.means)
