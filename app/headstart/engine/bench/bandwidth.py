"""How many bytes a second this machine's memory gives: the limit of a step that reads all weights once.

As STREAM does (McCalpin 1995), in numpy: arrays far larger than the caches, a thread for each core, the fastest of
several passes. Reading alone is what decoding does; copying is told beside it. On a machine that is shared the memory
gives now more, now less, so what was measured at several times is kept.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

_BYTES = 256 * 2**20  # of one thread's array
_PASSES = 5


@dataclass(frozen=True)
class Bandwidth:
    """Bytes a second of all threads together. `reads`: every time it was measured; the limit is the best of them."""

    threads: int
    reads: tuple[float, ...]
    copy: float  # bytes read and bytes written

    @property
    def read(self) -> float:
        """The best."""
        return max(self.reads)

    def joined(self, other: "Bandwidth") -> "Bandwidth":
        """With what was measured at another time."""
        return Bandwidth(self.threads, self.reads + other.reads, max(self.copy, other.copy))


def measure_bandwidth(threads: int, size: int = _BYTES, passes: int = _PASSES) -> Bandwidth:
    """Takes about a second, and twice `size` bytes for each thread."""
    arrays = [np.ones(size // 4, np.float32) for _ in range(threads)]
    copies = [np.zeros_like(array) for array in arrays]
    # Both let go of the interpreter. A sum instead of a maximum would be bound by its arithmetic.
    read = _best([partial(np.max, array) for array in arrays], passes)
    pairs = zip(copies, arrays, strict=True)
    copy = _best([partial(np.copyto, there, here) for there, here in pairs], passes)
    total = sum(array.nbytes for array in arrays)
    return Bandwidth(threads, (total / read,), 2 * total / copy)


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
