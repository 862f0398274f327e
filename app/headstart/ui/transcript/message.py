"""The content of one message: state, actions, text with its origins, thinking and attached files."""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePath
from typing import NamedTuple

from headstart.chat.conversation import Attachment
from headstart.markdown.blocks import Block, Code, Paragraph, Span, Style
from headstart.markdown.parser import MarkdownStream, parse, parse_literal

MessageId = Hashable
WARMER = 0.7  # temperature of another try after an answer that repeated itself at 0


class MessageState(StrEnum):
    DONE = "done"
    STREAMING = "streaming"
    STOPPED = "stopped"  # by the user; its text stays
    FAILED = "failed"  # the engine died; its text stays, and `notice` says why


class MessageAction(StrEnum):
    ANSWER = "answer"  # answer a question that has no answer
    CONTINUE = "continue"  # continue an answer from its end
    GO_ON = "go on"  # likewise, although it repeats itself
    REGENERATE = "regenerate"  # write another version of an answer
    REGENERATE_WARMER = "regenerate warmer"  # likewise, at a higher temperature
    PREVIOUS = "previous"  # show the previous version
    NEXT = "next"  # show the next version
    COMPARE = "compare"  # show it beside another version
    EDIT = "edit"
    COPY = "copy"  # without markup
    COPY_MARKDOWN = "copy markdown"
    SELECT = "select"
    SELECT_UP_TO = "select up to"  # from the message selected before to this one
    FORK = "fork"  # begin a new chat with the messages up to this one
    DELETE = "delete"


@dataclass(frozen=True)
class RoundNote:
    """The draft-and-verify round that a run of text came from."""

    drafter: str  # "draft", "eagle", "n-gram", "table" or "target" (nothing was drafted)
    drafted: int
    accepted: int


@dataclass(frozen=True)
class OriginRun:
    """A run of characters of one origin."""

    length: int  # characters
    origin: str  # the same names as RoundNote.drafter
    round: RoundNote | None = None


class PassageSource(NamedTuple):
    """A passage of a file that the model got with the question."""

    file: str
    text: str
    percent: int = 0  # of the file, before the passage
    path: str = ""  # of a file in a folder of the project
    place: str = ""  # its name with the page or line


@dataclass(frozen=True)
class MessageContent:
    """One message as the transcript shows it."""

    id: MessageId
    role: str  # "system", "user" or "assistant"
    text: str
    origins: Sequence[OriginRun] = ()
    author: str = ""  # name of the model, shown instead of the role
    version: int = 1  # from 1
    versions: int = 1
    stats: str = ""  # the first line is shown, the others are in the tooltip
    state: MessageState = MessageState.DONE
    notice: str = ""  # one sentence below the text, such as why it ended
    actions: tuple[MessageAction, ...] = ()  # buttons below the text
    attached: tuple[Attachment, ...] = ()  # files of a question, or tool calls of an answer with the results as text
    sources: tuple[PassageSource, ...] = ()
    searched: str = ""  # what was looked for in the folders of the project, if that is not the question alone
    thinking: str = ""  # of an answer, before its text
    thinking_seconds: int = 0  # 0 if unknown


class Origins:
    """The origins of a text, as consecutive runs from offset 0. Text after the last run has no known origin."""

    def __init__(self, runs: Iterable[OriginRun] = ()) -> None:
        self._ends: list[int] = []
        self._runs: list[OriginRun] = []
        for run in runs:
            self.add(run)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> tuple[OriginRun, ...]:
        return tuple(self._runs)

    def add(self, run: OriginRun) -> None:
        """Append a run; drop an empty one."""
        if run.length:
            self._ends.append((self._ends[-1] if self._ends else 0) + run.length)
            self._runs.append(run)

    def at(self, offset: int) -> OriginRun | None:
        """Return the run that holds the character at `offset`."""
        index = bisect_right(self._ends, offset)
        return self._runs[index] if index < len(self._runs) else None

    def ranges(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, origin) of the runs within [start, end)."""
        index = bisect_right(self._ends, start)
        while index < len(self._runs) and start < end:
            stop = min(end, self._ends[index])
            yield start, stop, self._runs[index].origin
            start = stop
            index += 1


_ELLIPSIS = "…"


class FilePiece(NamedTuple):
    """The shown range [start, end) of a file's text, and its offset in the text that the blocks refer to."""

    start: int
    end: int
    source: int


class AttachedText(NamedTuple):
    """The shown text of attached files: source text, its blocks and the piece of each file."""

    source: str
    blocks: list[Block]
    pieces: tuple[FilePiece, ...]

    def place(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Return where a range of a file's text is in `source`; None unless all of it is shown."""
        piece = self.pieces[file]
        shift = piece.source - piece.start
        return (start + shift, end + shift) if piece.start <= start and end <= piece.end else None


# Endings of files whose lines are paragraphs; a result of a tool has none.
_PROSE = frozenset(("", "txt", "text", "md", "markdown", "rst", "pdf", "docx", "odt", "epub", "html", "htm", "tex"))


def attached_blocks(
    files: Iterable[Attachment],
    max_characters: int | None = None,
    around: tuple[int, int] | None = None,
    source: str = "",
) -> AttachedText:
    """Build blocks of at most about `max_characters` of each file, cut at line ends.

    The beginning of a file is shown, or the lines around an offset if `around` is (file, offset). `source` is the text
    of the blocks before these.
    """
    blocks, pieces = list[Block](), list[FilePiece]()
    for number, file in enumerate(files):
        name = Span(file.name, len(source), len(source) + len(file.name), style=Style.BOLD)
        blocks.append(Paragraph((name,)))
        source += f"{file.name}\n"
        start, end = _line_range(file.text, max_characters, around[1] if around and around[0] == number else 0)
        before = f"{_ELLIPSIS}\n" if start > _after_newlines(file.text) else ""
        text = before + file.text[start:end] + (f"\n{_ELLIPSIS}" if end < len(file.text.rstrip("\n")) else "")
        pieces.append(FilePiece(start, end, len(source) + len(before)))
        if text:
            suffix = PurePath(file.name).suffix.removeprefix(".").lower()
            language = suffix if suffix.isalnum() else ""  # the name of a call ends with its arguments
            blocks.append(Code(text, language, ((0, len(source)),), is_prose=language in _PROSE))
            source += f"{text}\n"
    return AttachedText(source, blocks, tuple(pieces))


def _line_range(text: str, max_characters: int | None, offset: int) -> tuple[int, int]:
    """Return the range of the lines to show, without empty lines around them."""
    start, last = _after_newlines(text), len(text.rstrip("\n"))
    if max_characters is None or len(text) <= max_characters:
        return start, max(start, last)
    if offset >= max_characters:
        start = offset - max_characters // 2
        start = max(text.rfind("\n", 0, start), start - max_characters // 4) + 1
    end = start + max_characters
    return start, (last if end >= last else max(text.rfind("\n", start, end), start + max_characters // 2))


def _after_newlines(text: str) -> int:
    return len(text) - len(text.lstrip("\n"))


THINKING = -1  # stands for the thinking where a number names a file: both can be unfolded
_MAX_SHOWN = 20_000  # characters of a file: to show a whole book would take seconds


class MessageSource:
    """The text of a message and its Markdown blocks, kept equal while text is appended."""

    def __init__(self, content: MessageContent) -> None:
        self._content = content
        self._text, self._thinking = content.text, content.thinking
        self.origins = Origins(content.origins)
        self.is_thinking = content.state is MessageState.STREAMING and bool(self._thinking) and not self._text
        self._around: tuple[int, int] | None = None  # file and offset that is looked at
        self._stream: MarkdownStream | None = None
        self._thoughts: MarkdownStream | None = None
        self.blocks: list[Block] = parse(self._text) if content.role == "assistant" else parse_literal(self._text)

    @property
    def text(self) -> str:
        """The whole text so far, without the thinking."""
        return self._text

    @property
    def thinking(self) -> str:
        """The whole thinking so far."""
        return self._thinking

    def content(self) -> MessageContent:
        """Return the message with the text, the thinking and the origins that it has now."""
        return replace(self._content, text=self._text, thinking=self._thinking, origins=self.origins.runs)

    def set_metadata(self, content: MessageContent) -> None:
        """Take over everything from `content` except text, thinking and origins."""
        self._content = content

    def folded(self) -> tuple[str, list[Block]]:
        """Return source text and blocks of the part that can be unfolded: thinking and attached files."""
        if self._thoughts is None:
            self._thoughts = MarkdownStream()
            self._thoughts.append(self._thinking)
            self._thoughts.finish()
        shown = self._shown_files()
        return shown.source, [*self._thoughts.blocks, *shown.blocks]

    def look_at_file(self, file: int, start: int, end: int) -> bool:
        """Make `folded` show a place in a file, or in the thinking; return whether that changes its text."""
        if file == THINKING or self._shown_files().place(file, start, end):
            return False
        self._around = (file, start)
        return True

    def place_in_file(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Return where a range of a file, or of the thinking, is in the text of `folded`; None if it is not there."""
        return (start, end) if file == THINKING else self._shown_files().place(file, start, end)

    def _shown_files(self) -> AttachedText:
        before = f"{self._thinking}\n" if self._thinking else ""
        return attached_blocks(self._content.attached, _MAX_SHOWN, self._around, before)

    def append(self, text: str, runs: Iterable[OriginRun], thinking: str = "") -> int:
        """Append text and thinking; return the index of the first block of the text that changed."""
        self._text += text
        self._thinking += thinking
        self.is_thinking = not text if text or thinking else self.is_thinking
        for run in runs:
            self.origins.add(run)
        if self._thoughts and thinking:
            self._thoughts.append(thinking)
        if self._stream:
            return self._stream.append(text) if text else len(self.blocks)
        self._begin_stream()
        return 0

    def finish(self) -> int:
        """Complete text and thinking; return the index of the first block of the text that changed."""
        self.is_thinking = False
        if self._thoughts:
            self._thoughts.finish()
        if self._stream:
            return self._stream.finish()
        self._begin_stream().finish()
        return 0

    def _begin_stream(self) -> MarkdownStream:
        self._stream = MarkdownStream()
        self._stream.append(self._text)
        self.blocks = self._stream.blocks
        return self._stream
