"""Heights of the messages of a chat, measured or guessed, and where each begins. Pure."""

from bisect import bisect_right
from dataclasses import dataclass

from headstart.ui.chat.message import MessageContent

_CHROME = 74  # header, footer and margins
_LINE = 22
_LETTER = 7.5  # mean width; wide letters count twice


@dataclass(frozen=True)
class Anchor:
    """A place in the transcript that survives changes of height: a message and pixels below its top."""

    index: int
    offset: int

    def shifted(self, count: int) -> "Anchor":
        """The same place when so many messages came in above it."""
        return Anchor(self.index + count, self.offset)


class Heights:
    """Messages from top to bottom with a gap between them."""

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._heights: list[int] = []
        self._tops: list[int] | None = None

    def __len__(self) -> int:
        return len(self._heights)

    def insert(self, index: int, height: int) -> None:
        """A message comes in."""
        self._heights.insert(index, height)
        self._tops = None

    def remove(self, index: int) -> None:
        """A message goes."""
        del self._heights[index]
        self._tops = None

    def set(self, index: int, height: int) -> None:
        """A message was measured."""
        if self._heights[index] != height:
            self._heights[index] = height
            self._tops = None

    def height(self, index: int) -> int:
        """Pixels of one message."""
        return self._heights[index]

    def top(self, index: int) -> int:
        """Where a message begins."""
        return self._all_tops()[index]

    def total(self) -> int:
        """Pixels of everything, with a gap at both ends."""
        return self._all_tops()[-1]

    def at(self, y: int) -> int:
        """The message at a height; the nearest one outside."""
        return min(max(0, bisect_right(self._all_tops(), y) - 1), max(0, len(self) - 1))

    def anchor(self, y: int) -> Anchor:
        """What is at a height."""
        index = self.at(y)
        return Anchor(index, y - self.top(index) if len(self) else 0)

    def _all_tops(self) -> list[int]:
        if self._tops is None:
            y = self._gap
            self._tops = []
            for height in self._heights:
                self._tops.append(y)
                y += height + self._gap
            self._tops.append(y)
        return self._tops


def guess(content: MessageContent, width: int) -> int:
    """About how high a message will be at this width."""
    letters = max(1.0, width / _LETTER)
    text = content.text
    lines = sum(1 + int(_width(line) / letters) for line in text.split("\n") if line) if len(text) < 100_000 else 0
    return _CHROME + _LINE * (lines or 1 + int(_width(text) / letters))


def _width(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8")) * 2 // 3
