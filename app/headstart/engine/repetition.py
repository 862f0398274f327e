"""Sees when an answer says the same again and again. Pure; knows tokens only by number."""

import numpy as np
from numpy.typing import NDArray

LONGEST_PERIOD = 200  # tokens
_LEAST_REPEATS = 4
_LEAST_TOKENS = 64
_LONGEST_OF_A_RULE, _LEAST_OF_A_RULE = 3, 128  # tokens; a drawn line or a row of zeros is no loop yet
_PERIODS: NDArray[np.int64] = np.arange(1, LONGEST_PERIOD + 1)
_BOUNDS = np.maximum(_LEAST_REPEATS * _PERIODS, _LEAST_TOKENS)  # tokens that make a repetition of each period


class Repetition:
    """Counts, for each period, how many tokens in a row equal the one so far before them."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._recent = np.full(LONGEST_PERIOD, -1, np.int64)  # the newest first
        self._equal = np.zeros(LONGEST_PERIOD, np.int64)

    def add(self, token: int) -> int:
        """How often the last tokens, with this one, stand there in a row; 0: not often enough to be a repetition."""
        self._equal = np.where(self._recent == token, self._equal + 1, 0)
        self._recent[1:] = self._recent[:-1]
        self._recent[0] = token
        covered = self._equal + _PERIODS
        found = np.flatnonzero(covered >= _BOUNDS)
        if not found.size:
            return 0
        period, tokens = int(_PERIODS[found[0]]), int(covered[found[0]])
        return tokens // period if period > _LONGEST_OF_A_RULE or tokens >= _LEAST_OF_A_RULE else 0
