"""The rotation of queries and keys by their positions (RoPE), and its scaling for long texts."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Frequencies = NDArray[np.float64]


@dataclass(frozen=True)
class Rotation:
    """Rotary embeddings (Su et al. 2021); with `trained`, stretched by YaRN (Peng et al. 2023)."""

    size: int  # numbers of a head that turn, the first ones
    base: float
    factor: float = 1.0  # by which positions are divided; with YaRN, of slow frequencies only
    trained: int = 0  # tokens of the longest text before the stretching; 0: no YaRN
    fast: float = 32.0  # turns in such a text from which a frequency stays as it was
    slow: float = 1.0  # turns up to which a frequency is divided by the whole factor
    is_rounded: bool = True  # the range between the two has whole numbers as its ends
    gain: float = 1.0  # of cosines and sines

    def frequencies(self) -> Frequencies:
        """Return the angles of one position: [size / 2]."""
        plain: Frequencies = 1.0 / self.base ** (np.arange(0, self.size, 2, dtype=np.float64) / self.size)
        if not self.trained:
            return plain / self.factor
        start, end = (self._place(turns) for turns in (self.fast, self.slow))
        if self.is_rounded:
            start, end = math.floor(start), math.ceil(end)
        start, end = max(start, 0), min(end, self.size - 1)
        share = np.clip((np.arange(len(plain)) - start) / max(end - start, 0.001), 0, 1)  # of the divided frequency
        stretched: Frequencies = plain / self.factor * share + plain * (1 - share)
        return stretched

    def _place(self, turns: float) -> float:
        """Return the index of the frequency that makes so many turns in a text of the training length."""
        return self.size * math.log(self.trained / (turns * 2 * math.pi)) / (2 * math.log(self.base))


def yarn_gain(factor: float, multiplier: float = 1.0) -> float:
    """Return the attention gain that the authors of YaRN propose for a factor."""
    return 0.1 * multiplier * math.log(factor) + 1.0 if factor > 1.0 else 1.0


def order(head: int, size: int, *, paired: bool) -> NDArray[np.int64] | None:
    """Return the order of a head's numbers in which the two that rotate together stand in different halves.

    Those that do not rotate, from `size` on, come behind the others in each half. `paired`: in the file, the two stand
    side by side. None: they already stand so.
    """
    turning, still = np.arange(size), np.arange(size, head)
    first, second = (turning[0::2], turning[1::2]) if paired else np.split(turning, 2)
    halves = (first, still[: len(still) // 2], second, still[len(still) // 2 :])
    numbers = np.concatenate(halves).astype(np.int64)
    return None if np.array_equal(numbers, np.arange(head)) else numbers
