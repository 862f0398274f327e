"""How many bytes a second this machine's memory gives: the limit of a step that reads all weights once.

Like STREAM (McCalpin 1995), in numpy: arrays far larger than the caches, a thread for each core, the fastest of
several passes. Reading alone is what decoding does; the triad is given for comparison with published figures.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

_BYTES = 256 * 2**20  # of one thread's array
_PASSES = 5
_SLICE = 2**14  # floats of a stretch of the triad that stays in the cache between its two operations

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Bandwidth:
    """Bytes a second of all threads together."""

    threads: int
    read: float
    triad: float


def measure_bandwidth(threads: int, size: int = _BYTES, passes: int = _PASSES) -> Bandwidth:
    """Takes a second or two and `size` bytes for each thread (the triad three times that)."""
    floats = size // 4
    arrays = [np.ones(floats, np.float32) for _ in range(threads)]
    read = _best([partial(_read, array) for array in arrays], passes)
    thirds = [np.split(array[: floats // 3 * 3], 3) for array in arrays]
    triad = _best([partial(_triad, *parts) for parts in thirds], passes)
    return Bandwidth(threads, read=threads * floats * 4 / read, triad=threads * (floats // 3) * 3 * 4 / triad)


def _best(tasks: Sequence[Callable[[], object]], passes: int) -> float:
    """Seconds of the fastest pass of all tasks side by side."""
    best = float("inf")
    with ThreadPoolExecutor(len(tasks)) as pool:
        for _ in range(passes):
            started = time.perf_counter()
            for done in [pool.submit(task) for task in tasks]:
                done.result()
            best = min(best, time.perf_counter() - started)
    return best


def _read(array: Floats) -> float:
    return float(np.max(array))  # numpy releases the interpreter and uses vectors; a sum would be bound by arithmetic


def _triad(result: Floats, first: Floats, second: Floats) -> None:
    """result = first + 3 * second, counted as three arrays: the write's own read is not, as in STREAM."""
    for begin in range(0, result.size, _SLICE):
        end = begin + _SLICE
        np.multiply(second[begin:end], np.float32(3.0), out=result[begin:end])
        np.add(result[begin:end], first[begin:end], out=result[begin:end])
