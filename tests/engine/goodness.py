"""Tests of goodness of fit. Those of scipy.stats would cost each run a second of imports."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


def chi_square(observed: ArrayLike, expected: ArrayLike) -> float:
    """Return the p-value of counts, given their expected values; both have the same sum."""
    observed, expected = np.asarray(observed, np.float64), np.asarray(expected, np.float64)
    assert np.isclose(observed.sum(), expected.sum())
    return float(special.chdtrc(len(observed) - 1, ((observed - expected) ** 2 / expected).sum()))


def kolmogorov(probabilities: ArrayLike) -> float:
    """Return the p-value of many draws. `probabilities`: for each draw, that of a smaller one."""
    found = np.sort(np.asarray(probabilities, np.float64))
    steps = np.arange(len(found) + 1) / len(found)
    distance = max((steps[1:] - found).max(), (found - steps[:-1]).max())
    return float(special.kolmogorov(np.sqrt(len(found)) * distance))
