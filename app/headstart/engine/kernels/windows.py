"""The blocks of keys and values of layers with a sliding window: those that fell out of it are used again."""

import heapq
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.engine.kernels.library import BLOCK

Blocks = NDArray[np.int32]

BACK = 96  # tokens that a text may lose at its end and go on at once: more than a pass of guesses has
HELD = 2  # further places at which a text can go on at once
_RECOVERY = 3  # most tokens of a pass that makes a model whole again


def kept_tokens(window: int, pass_tokens: int) -> int:
    """Return the most tokens of a text that layers with a window keep, if it is read in passes of so many tokens."""
    return (1 + HELD) * (window + BACK + 2 * BLOCK) + pass_tokens


class Windows:
    """The blocks that all sequences of a model share, for its layers with a window."""

    def __init__(self, window: int) -> None:
        """`window`: tokens that the widest one sees."""
        self.window = window
        self.blocks: Blocks = np.zeros(0, np.int32)  # of the next pass
        self._count, self._free = 0, list[int]()
        self._lock = threading.Lock()

    def grow(self, blocks: int) -> None:
        """Set how many blocks there are."""
        self._count, self._free = blocks, list(range(blocks))

    @property
    def used(self) -> int:
        """The blocks in use."""
        return self._count - len(self._free)

    def take(self, count: int) -> list[int]:
        """Take free blocks, the first ones, so that the memory of the last ones is not used."""
        with self._lock:
            return [heapq.heappop(self._free) for _ in range(count)]

    def give_back(self, blocks: Sequence[int]) -> None:
        with self._lock:
            for block in blocks:
                heapq.heappush(self._free, block)


class WindowTable:
    """The blocks of one sequence. A block is present if it has all tokens of the text that belong to it."""

    def __init__(self, windows: Windows, blocks: int) -> None:
        self._windows = windows
        self._table: Blocks = np.zeros(blocks, np.int32)
        self._present = np.zeros(blocks, bool)
        self._held: Sequence[int] = ()

    def hold(self, places: Sequence[int]) -> None:
        """Keep what these places of the text see, in place of those held so far."""
        assert len(places) <= HELD
        self._held = places

    def known(self, length: int) -> int:
        """Return the last place up to `length` at which all tokens in the window are known."""
        while length > 0:
            first, last = self._first(length), -(-length // BLOCK)
            absent = np.flatnonzero(~self._present[first:last])
            if not absent.size:
                return length
            length = (first + int(absent[-1])) * BLOCK
        return 0

    def make_room(self, past: int, count: int, length: int) -> Blocks:
        """Make room for `count` tokens behind `past` others, of a text of `length` tokens; return all blocks.

        Blocks that no text is likely to go on from are given back.
        """
        first, stop = past // BLOCK, -(-(past + max(count, _RECOVERY)) // BLOCK)
        stays = np.zeros(len(self._present), bool)
        for place in (past, *(place for place in self._held if place <= length)):
            stays[self._first(place - BACK) : -(-place // BLOCK)] = True
        stays[first : max(stop, -(-length // BLOCK))] = True
        self._drop(np.flatnonzero(self._present & ~stays))
        self._add(first + np.flatnonzero(~self._present[first:stop]))
        return self._table.copy()

    def place(self, token: int) -> tuple[int, int]:
        """Return the block of a token, and its number in it."""
        assert self._present[token // BLOCK]
        return int(self._table[token // BLOCK]), token % BLOCK

    def forget(self, start: int) -> None:
        """Drop the blocks of all tokens from `start` on."""
        self._drop(start // BLOCK + np.flatnonzero(self._present[start // BLOCK :]))

    def present(self, first: int, last: int) -> tuple[NDArray[np.bool_], Blocks]:
        """Return which of the blocks `first` to `last` of the text are present, and where these are in the cache."""
        present = self._present[first:last]
        return present.copy(), self._table[first:last][present]

    def restore(self, first: int, present: NDArray[np.bool_]) -> Blocks:
        """Make room for these blocks of the text from `first` on, and for none behind them; return where they are."""
        self.forget(first * BLOCK)
        self._add(first + np.flatnonzero(present))
        return self._table[first : first + len(present)][present]

    def _first(self, place: int) -> int:
        """Return the first block that the token at a place sees."""
        return max(place + 1 - self._windows.window, 0) // BLOCK

    def _add(self, blocks: NDArray[np.intp]) -> None:
        if blocks.size:
            self._table[blocks] = self._windows.take(blocks.size)
            self._present[blocks] = True

    def _drop(self, blocks: NDArray[np.intp]) -> None:
        if blocks.size:
            self._windows.give_back(self._table[blocks].tolist())
            self._present[blocks] = False
