"""Where each character of a shown document stands in its source. Pure.

Positions count UTF-16 units as QTextDocument does, offsets count Python characters.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from headstart.ui.markdown.blocks import Span

_ASTRAL = re.compile("[\U00010000-\U0010ffff]|[^\U00010000-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class Run:
    """`length` units from `position` on stand for source[start:end]; one for one if `exact`."""

    position: int
    length: int
    start: int
    end: int
    exact: bool


def units(text: str) -> int:
    """UTF-16 units of a text."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class PositionMap:
    """Runs in reading order; text that has no source (a button, a label) lies between them."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._positions: list[int] = []

    def add(self, position: int, span: Span) -> int:
        """Note that `span` was written at `position`; returns the position behind it."""
        pieces = _ASTRAL.finditer(span.text) if span.exact and not span.text.isascii() else ()
        for piece in pieces:
            start, end = span.start + piece.start(), span.start + piece.end()
            position = self._put(Run(position, units(piece.group()), start, end, piece.group() < "\U00010000"))
        return position if pieces else self._put(Run(position, units(span.text), span.start, span.end, span.exact))

    def _put(self, run: Run) -> int:
        self._runs.append(run)
        self._positions.append(run.position)
        return run.position + run.length

    def truncate(self, position: int) -> None:
        """Forget everything from `position` on."""
        keep = bisect_left(self._positions, position)
        del self._runs[keep:], self._positions[keep:]

    def source_at(self, position: int) -> int | None:
        """The source offset of the character at `position`, if it has one."""
        index = bisect_right(self._positions, position) - 1
        if index < 0:
            return None
        run = self._runs[index]
        if position >= run.position + run.length:
            return None
        return run.start + (position - run.position if run.exact else 0)

    def source_range(self, first: int, last: int) -> tuple[int, int] | None:
        """The stretch of source that the positions [first, last) stand for."""
        touched = [(run, max(first, run.position), min(last, run.position + run.length))
                   for run in self.between(first, last)]  # fmt: skip
        if not touched:
            return None
        starts = [run.start + (a - run.position if run.exact else 0) for run, a, _ in touched]
        ends = [run.start + b - run.position if run.exact else run.end for run, _, b in touched]
        return min(starts), max(ends)

    def between(self, first: int, last: int) -> Iterator[Run]:
        """Runs that touch the positions [first, last)."""
        index = max(0, bisect_right(self._positions, first) - 1)
        while index < len(self._runs) and self._positions[index] < last:
            if self._positions[index] + self._runs[index].length > first:
                yield self._runs[index]
            index += 1

    def positions(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Stretches of positions that show source[start:end]."""
        index = max(0, bisect_right(self._runs, start, key=lambda run: run.start) - 1)
        while index < len(self._runs) and self._runs[index].start < end:
            run = self._runs[index]
            index += 1
            if run.end <= start:
                continue
            if run.exact:
                yield run.position + max(0, start - run.start), run.position + min(run.length, end - run.start)
            else:
                yield run.position, run.position + run.length
