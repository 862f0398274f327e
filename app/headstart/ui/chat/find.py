"""Where words stand in the open chat."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from headstart.chat.conversation import Attachment

_MARKUP = r"[*_`~\\]*"


@dataclass(frozen=True)
class Match:
    """A found place: index of the message and [start, end) in its text, or in that of one of its files."""

    message: int
    start: int
    end: int
    file: int | None = None


class Written(Protocol):
    """What of a message is searched."""

    @property
    def text(self) -> str: ...
    @property
    def attached(self) -> Sequence[Attachment]: ...


Seek = Callable[[str], Iterable[tuple[int, int]]]


def seeker(wanted: str) -> Seek:
    """What finds every place of `wanted`. Addresses of links are searched too: they are part of what was written."""
    words = wanted.split()
    if not words:
        return lambda _: ()
    pattern = re.compile(rf"{_MARKUP}\s+{_MARKUP}".join(_pattern(word) for word in words), re.I)
    return lambda text: (found.span() for found in pattern.finditer(text))


def places(messages: Iterable[Written], seek: Seek) -> list[Match]:
    """Every place in the order it is read: the files of a message stand above its text."""
    return [match for index, message in enumerate(messages) for match in _in(message, index, seek)]


def _pattern(word: str) -> str:
    return _MARKUP.join(re.escape(letter) for letter in word)


def _in(message: Written, index: int, seek: Seek) -> Iterator[Match]:
    for number, file in enumerate(message.attached):
        yield from (Match(index, start, end, number) for start, end in seek(file.text))
    yield from (Match(index, start, end) for start, end in seek(message.text))
