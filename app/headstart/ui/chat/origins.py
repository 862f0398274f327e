"""Which stretch of a message was proposed by whom, by source offset. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from headstart.ui.chat.message import OriginRun


class Origins:
    """Runs that lie end to end from offset 0; what lies behind the last run has no known origin."""

    def __init__(self, runs: Iterable[OriginRun] = ()) -> None:
        self._ends: list[int] = []
        self._runs: list[OriginRun] = []
        for run in runs:
            self.add(run)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> tuple[OriginRun, ...]:
        """All runs in order."""
        return tuple(self._runs)

    def add(self, run: OriginRun) -> None:
        """The next stretch of text; one without text is dropped."""
        if run.length:
            self._ends.append((self._ends[-1] if self._ends else 0) + run.length)
            self._runs.append(run)

    def at(self, offset: int) -> OriginRun | None:
        """The run that holds the character at `offset`."""
        index = bisect_right(self._ends, offset)
        return self._runs[index] if index < len(self._runs) else None

    def ranges(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, origin) within [start, end)."""
        index = bisect_right(self._ends, start)
        while index < len(self._runs) and start < end:
            stop = min(end, self._ends[index])
            yield start, stop, self._runs[index].origin
            start = stop
            index += 1
