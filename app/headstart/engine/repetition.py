"""Sees when an answer says the same again and again: the same tokens, or lines that differ by a counter alone."""

import re
from collections import deque

import numpy as np
from numpy.typing import NDArray

LONGEST_PERIOD = 200  # tokens
_LEAST_REPEATS = 4
_LEAST_TOKENS = 64
_LONGEST_OF_A_RULE, _LEAST_OF_A_RULE = 3, 128  # tokens; a drawn line or a row of zeros is no loop yet
_PERIODS: NDArray[np.int64] = np.arange(1, LONGEST_PERIOD + 1)
_BOUNDS = np.maximum(_LEAST_REPEATS * _PERIODS, _LEAST_TOKENS)  # tokens that make a repetition of each period
_MOST_LINES = 4  # of an item of a list
LEAST_ITEMS = 16  # lists of twelve and of fifteen are common
_NUMBER = re.compile(r"\d{1,9}")
_LETTER = re.compile(r"[^\W\d_]")


class Repetition:
    """What repeats itself in one answer. The tokens and the text may be pushed in any runs."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._recent = np.full(LONGEST_PERIOD, -1, np.int64)  # the newest first
        self._equal = np.zeros(LONGEST_PERIOD, np.int64)  # tokens in a row that equal the one so far before them
        self._list = _CountedList()

    def add(self, token: int, text: str = "") -> int:
        """How often the same now stands there in a row; 0: not often enough to be a repetition.

        `text` is what the token made certain.
        """
        self._equal = np.where(self._recent == token, self._equal + 1, 0)
        self._recent[1:] = self._recent[:-1]
        self._recent[0] = token
        items = self._list.add(text)
        return self._repeats() or items

    def _repeats(self) -> int:
        covered = self._equal + _PERIODS
        found = np.flatnonzero(covered >= _BOUNDS)
        if not found.size:
            return 0
        period, tokens = int(_PERIODS[found[0]]), int(covered[found[0]])
        return tokens // period if period > _LONGEST_OF_A_RULE or tokens >= _LEAST_OF_A_RULE else 0


class _CountedList:
    """Items of some lines that differ from the item before by counters alone: 8. Frogs, 9. Frogs.

    A counter counts items or lines.
    """

    def __init__(self) -> None:
        self._line = ""  # the last one, not whole yet
        self._recent: deque[str] = deque([""] * _MOST_LINES, _MOST_LINES)  # the newest first
        self._equal = [0] * _MOST_LINES  # lines in a row that follow from the one so far before them

    def add(self, text: str) -> int:
        """The items in a row at the end; 0: too few."""
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            if line.strip():
                self._take(line)
        items = max(1 + count // lines for lines, count in enumerate(self._equal, start=1))
        return items if whole and items >= LEAST_ITEMS else 0

    def _take(self, line: str) -> None:
        before = enumerate(zip(self._recent, self._equal, strict=True), start=1)
        self._equal = [count + 1 if _follows(earlier, line, lines) else 0 for lines, (earlier, count) in before]
        self._recent.appendleft(line)


def _follows(before: str, line: str, lines: int) -> bool:
    """Whether a line says the same as the one so many lines before, but for counters."""
    if not _LETTER.search(line) or _NUMBER.sub("", before) != _NUMBER.sub("", line):
        return False
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(line), strict=False)
    return all(int(after) - int(earlier) in (0, 1, lines) for earlier, after in pairs)
