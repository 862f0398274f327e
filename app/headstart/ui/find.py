"""Finding text in Markdown sources: case does not matter, nor does markup between the letters. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MARKUP = r"[*_`~\\]*"


@dataclass(frozen=True)
class Match:
    """A found place: index of the message and [start, end) in its text."""

    message: int
    start: int
    end: int


def matches(texts: Sequence[str], wanted: str) -> list[Match]:
    """Every place, in order. Addresses of links are searched too, since they are part of what was written."""
    words = wanted.split()
    if not words:
        return []
    pattern = re.compile(rf"{_MARKUP}\s+{_MARKUP}".join(_pattern(word) for word in words), re.I)
    return [match for index, text in enumerate(texts) for match in _in(pattern, index, text)]


def _pattern(word: str) -> str:
    return _MARKUP.join(re.escape(letter) for letter in word)


def _in(pattern: re.Pattern[str], index: int, text: str) -> Iterator[Match]:
    for found in pattern.finditer(text):
        yield Match(index, found.start(), found.end())
