"""Gumbel noise that depends on nothing but (seed, position, token): a counter hash, pure numpy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint32]

_GOLDEN = np.uint32(0x9E3779B1)
_FIRST = np.uint32(0x85EBCA6B)  # the multipliers of MurmurHash3's 32-bit finaliser
_SECOND = np.uint32(0xC2B2AE35)
_SCALE = 2.0**-32


def hashes(seed: int, position: int, ids: NDArray[np.integer[Any]]) -> Hashes:
    """Uniform 32-bit words, one for each token id: [len(ids)]."""
    key = _mix64(seed * 0x9E3779B97F4A7C15 + position)
    words = ids.astype(np.uint32, copy=False) * _GOLDEN
    words += np.uint32(key & 0xFFFFFFFF)
    shifted = words >> np.uint32(16)
    words ^= shifted
    words *= _FIRST
    words += np.uint32(key >> 32)  # the key's other half enters here, so that two keys never give shifted copies
    words ^= np.right_shift(words, np.uint32(13), out=shifted)
    words *= _SECOND
    words ^= np.right_shift(words, np.uint32(16), out=shifted)
    return words


def gumbel(words: Hashes) -> NDArray[np.float64]:
    """Standard Gumbel values, increasing in the word, between -3.1 and 22.9."""
    uniform = (words.astype(np.float64) + 0.5) * _SCALE
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise


def _mix64(value: int) -> int:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    mask = 0xFFFFFFFFFFFFFFFF
    value &= mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)
