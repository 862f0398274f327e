"""Gumbel noise that depends on nothing but (seed, position, token): a counter hash, pure numpy."""

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Hashes = NDArray[np.uint32]

_GOLDEN = np.uint32(0x9E3779B1)
_FIRST = np.uint32(0x85EBCA6B)  # the multipliers of MurmurHash3's 32-bit finaliser
_SECOND = np.uint32(0xC2B2AE35)
_SCALE = 2.0**-32


def hashes(seed: int, position: int, ids: Ids) -> Hashes:
    """Uniform 32-bit words, one for each token id: [len(ids)]."""
    key = _mix64(seed * 0x9E3779B97F4A7C15 + position)
    words = ids.astype(np.uint32)
    words *= _GOLDEN
    words += np.uint32(key & 0xFFFFFFFF)
    words ^= words >> np.uint32(16)
    words *= _FIRST
    words += np.uint32(key >> 32)  # the key's other half enters here, so that two keys never give shifted copies
    words ^= words >> np.uint32(13)
    words *= _SECOND
    words ^= words >> np.uint32(16)
    return words


def gumbel(words: Hashes) -> NDArray[np.float64]:
    """Standard Gumbel values, increasing in the word, between -3.1 and 22.9."""
    uniform = (words.astype(np.float64) + 0.5) * _SCALE
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def word_reaching(noise: float) -> int:
    """A word such that every word whose Gumbel value is at least `noise` is not below it."""
    uniform = np.exp(-np.exp(-noise))
    return max(0, int(uniform / _SCALE) - 1)


def _mix64(value: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mask = 0xFFFFFFFFFFFFFFFF
    value &= mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)
