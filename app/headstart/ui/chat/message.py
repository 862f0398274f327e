"""The content of one message: state, actions, text with its origins, thinking and attached files."""

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from typing import NamedTuple

from headstart.chat.conversation import Attachment
from headstart.ui.markdown.blocks import Block, Code, Paragraph, Span, Style
from headstart.ui.markdown.markdown import MarkdownStream, parse, parse_literal

MessageId = Hashable
WARMER = 0.7  # temperature at which an answer is tried again that repeated itself at 0


class MessageState(StrEnum):
    """How far a message is."""

    DONE = "done"
    STREAMING = "streaming"
    STOPPED = "stopped"  # by the user; what came stays
    FAILED = "failed"  # the engine died; what came stays, `notice` says why


class MessageAction(StrEnum):
    """What can be done with a message."""

    ANSWER = "answer"  # a question without an answer
    CONTINUE = "continue"  # an answer, where it ended
    GO_ON = "go on"  # likewise, although it repeats itself
    REGENERATE = "regenerate"  # another version of an answer
    REGENERATE_WARMER = "regenerate warmer"  # the same at a higher temperature
    PREVIOUS = "previous"  # version
    NEXT = "next"
    COMPARE = "compare"  # with another version
    EDIT = "edit"
    COPY = "copy"  # without markup
    COPY_MARKDOWN = "copy markdown"
    SELECT = "select"
    SELECT_UP_TO = "select up to"  # here, from the one selected before
    FORK = "fork"  # a new chat that begins like this one
    DELETE = "delete"


@dataclass(frozen=True)
class RoundNote:
    """The draft / verify round that a run of text came from: `accepted` of `drafted` guesses held."""

    drafter: str  # "draft", "eagle", "n-gram", "table" or "target" (nothing was drafted)
    drafted: int
    accepted: int


@dataclass(frozen=True)
class OriginRun:
    """`length` characters of the message's text by who proposed them: the names of RoundNote.drafter."""

    length: int
    origin: str
    round: RoundNote | None = None


class Source(NamedTuple):
    """A passage that an answer was given from."""

    file: str
    text: str
    percent: int  # of the file that stands before it


@dataclass(frozen=True)
class MessageContent:
    """One message as the transcript shows it. `version` counts from 1; `role` is "system", "user" or "assistant"."""

    id: MessageId
    role: str
    text: str
    origins: Sequence[OriginRun] = ()
    author: str = ""  # shown instead of the role: a model's name
    version: int = 1
    versions: int = 1
    stats: str = ""  # the first line is shown, the others to whoever points at it
    state: MessageState = MessageState.DONE
    notice: str = ""  # one sentence below the text: why it ended
    offers: tuple[MessageAction, ...] = ()  # buttons below it: what a person may want to do then
    attached: tuple[Attachment, ...] = ()  # files; of an answer: calls of tools, with their results as the text
    sources: tuple[Source, ...] = ()


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


_NAMES = "think|thinking|thought|reasoning"
_OPEN = re.compile(rf"\s*<({_NAMES})>[ \t]*\n?")
_ALONE = re.compile(rf"^</({_NAMES})>[ \t]*$", re.M)
_TAGS = tuple(f"<{name}>" for name in _NAMES.split("|"))
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)


@dataclass(frozen=True)
class Parts:
    """`thought` is a range of the text or None; the answer begins at `body`. `closed`: the thinking has ended."""

    thought: tuple[int, int] | None
    body: int
    closed: bool = True


def split(text: str, growing: bool = False) -> Parts:
    """Find a thinking section at the beginning. `growing`: more text may come, so half a tag is not shown yet."""
    opened = _OPEN.match(text)
    if opened:
        return _opened(text, opened.end(), opened[1])
    if growing and text.strip() and any(tag.startswith(text.strip()) for tag in _TAGS):
        return Parts(None, len(text))
    # Some chat templates put the opening tag into the prompt, so that only the closing one is part of the answer.
    closed = _ALONE.search(text)
    if closed and len(_FENCE.findall(text[: closed.start()])) % 2 == 0:
        return Parts(_trimmed(text, 0, closed.start()), _after_space(text, closed.end()))
    return Parts(None, 0)


def _opened(text: str, start: int, name: str) -> Parts:
    end = text.find(f"</{name}>", start)
    if end < 0:
        return Parts((start, len(text)), len(text), closed=False)
    return Parts(_trimmed(text, start, end), _after_space(text, end + len(name) + 3))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    inside = text[start:end].rstrip()
    return (start, start + len(inside)) if inside.strip() else None


def _after_space(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())


_CUT = "…"


class Piece(NamedTuple):
    """[start, end) of a file's text, and where that begins in the text that the blocks refer to."""

    start: int
    end: int
    source: int


class Attached(NamedTuple):
    """The text that the blocks refer to, the blocks, and the piece of each file that is in them."""

    source: str
    blocks: list[Block]
    pieces: tuple[Piece, ...]

    def place(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Where a range of a file's text is in `source`; None if it is not wholly shown."""
        piece = self.pieces[file]
        shift = piece.source - piece.start
        return (start + shift, end + shift) if piece.start <= start and end <= piece.end else None


def attached_blocks(
    files: Iterable[Attachment], most: int | None = None, around: tuple[int, int] | None = None, source: str = ""
) -> Attached:
    """At most about `most` characters of each file, cut at lines: its beginning, or those around (file, offset).

    `source`: what the text begins with, of other blocks.
    """
    blocks, pieces = list[Block](), list[Piece]()
    for number, file in enumerate(files):
        name = Span(file.name, len(source), len(source) + len(file.name), style=Style.BOLD)
        blocks.append(Paragraph((name,)))
        source += f"{file.name}\n"
        start, end = _extent(file.text, most, around[1] if around and around[0] == number else 0)
        before = f"{_CUT}\n" if start > _after_newlines(file.text) else ""
        text = before + file.text[start:end] + (f"\n{_CUT}" if end < len(file.text.rstrip("\n")) else "")
        pieces.append(Piece(start, end, len(source) + len(before)))
        if text:
            suffix = PurePath(file.name).suffix.removeprefix(".").lower()
            language = suffix if suffix.isalnum() else ""  # the name of a call ends with its arguments
            blocks.append(Code(text, language, ((0, len(source)),)))
            source += f"{text}\n"
    return Attached(source, blocks, tuple(pieces))


def _extent(text: str, most: int | None, offset: int) -> tuple[int, int]:
    """The lines of a text to be shown, without empty ones around them."""
    start, last = _after_newlines(text), len(text.rstrip("\n"))
    if most is None or len(text) <= most:
        return start, max(start, last)
    if offset >= most:
        start = offset - most // 2
        start = max(text.rfind("\n", 0, start), start - most // 4) + 1
    end = start + most
    return start, (last if end >= last else max(text.rfind("\n", start, end), start + most // 2))


def _after_newlines(text: str) -> int:
    return len(text) - len(text.lstrip("\n"))


_MOST_SHOWN = 20_000  # characters of a file; nobody reads further here, and a whole book would take seconds to show


class MessageSource:
    """Keeps the blocks of a message equal to its text."""

    def __init__(self, content: MessageContent) -> None:
        self._content = content
        self._text = content.text
        self.origins = Origins(content.origins)
        self.parts = self._split(growing=False)
        self._around: tuple[int, int] | None = None  # file and offset that a person looks at
        self._stream: MarkdownStream | None = None
        start = self.parts.body
        self.blocks: list[Block] = (
            parse(self._text[start:], start) if content.role == "assistant" else parse_literal(self._text)
        )

    @property
    def text(self) -> str:
        """Everything so far, thinking included."""
        return self._text

    def content(self) -> MessageContent:
        """The message with the text and origins of now."""
        return replace(self._content, text=self._text, origins=self.origins.runs)

    def describe(self, content: MessageContent) -> None:
        """Take over everything of `content` but its text and origins."""
        self._content = content

    def thought(self) -> str:
        """The thinking section."""
        start, end = self.parts.thought or (0, 0)
        return self._text[start:end]

    def folded(self) -> tuple[str, list[Block]]:
        """What a person may unfold, and its blocks: the thinking section, or the files that go with a question."""
        thought = parse(self.thought(), self.parts.thought[0]) if self.parts.thought else []
        shown = self._shown_files()
        return shown.source, [*thought, *shown.blocks]

    def look_at_file(self, file: int, start: int, end: int) -> bool:
        """Have `folded` show a place in a file; whether that makes it another text."""
        if self._shown_files().place(file, start, end):
            return False
        self._around = (file, start)
        return True

    def place_in_file(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Where a range of a file's text is in the text of `folded`; None if that does not show it."""
        return self._shown_files().place(file, start, end)

    def _shown_files(self) -> Attached:
        before = f"{self._text}\n" if self.parts.thought else ""
        return attached_blocks(self._content.attached, _MOST_SHOWN, self._around, before)

    def append(self, text: str, runs: Iterable[OriginRun]) -> int:
        """Add text; returns the index of the first block that changed."""
        self._text += text
        for run in runs:
            self.origins.add(run)
        if self._begin_stream(growing=True):
            return 0
        assert self._stream
        inside_thought = self.parts.thought is not None and not self.parts.closed
        return len(self.blocks) if inside_thought else self._stream.append(text)

    def finish(self) -> int:
        """The text is complete; returns the index of the first block that changed."""
        is_anew = self._begin_stream(growing=False)
        assert self._stream
        first = self._stream.finish()
        return 0 if is_anew else first

    def _begin_stream(self, growing: bool) -> bool:
        """Read the answer from its beginning, at first and when thinking turns out to stand before it."""
        before, self.parts = self.parts, self._split(growing)
        if self._stream and before.body == self.parts.body:
            return False
        self._stream = MarkdownStream(self.parts.body)
        self._stream.append(self._text[self.parts.body :])
        self.blocks = self._stream.blocks
        return True

    def _split(self, growing: bool) -> Parts:
        return split(self._text, growing) if self._content.role == "assistant" else Parts(None, 0)
