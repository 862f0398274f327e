"""Blocks of Markdown with the source offsets of their text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, IntFlag
from itertools import pairwise

_SVG_PROLOG = r"<\?xml[^>]*>|<!--(?:(?!-->).)*-->|<!doctype[^>]*>"
_SVG = re.compile(rf"\s*(?:(?:{_SVG_PROLOG})\s*)*<svg[\s/>]", re.DOTALL | re.IGNORECASE)


class Style(IntFlag):
    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    STRIKE = 4
    CODE = 8
    MATH = 16
    IMAGE = 32  # the text is the description; the picture is never loaded


@dataclass(frozen=True, slots=True)
class Span:
    r"""Text of one style. A line break inside a block is "\n"."""

    text: str
    start: int
    end: int
    exact: bool = True  # text[k] is source[start + k]; else the whole text stands for source[start:end]
    style: Style = Style.PLAIN
    address: str = ""  # of a link
    title: str = ""


@dataclass(frozen=True, slots=True)
class Nesting:
    """The number of block quotes and lists around a block."""

    quotes: int = 0
    lists: int = 0
    outer: int = 0  # lists around the outermost quote


@dataclass(frozen=True, slots=True)
class ListItem:
    """The list item that a paragraph begins."""

    list: int  # identifies the list
    number: int | None = None  # None: a bullet
    checked: bool | None = None  # None: not a task


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, a heading (level 1 to 6), or a displayed formula."""

    spans: tuple[Span, ...]
    place: Nesting = Nesting()
    heading: int = 0
    item: ListItem | None = None
    display: bool = False


class Preview(Enum):
    """A format in which code can be previewed."""

    HTML = "html"
    SVG = "svg"


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str
    runs: tuple[tuple[int, int], ...]  # (offset in text, offset in source), the first at 0, then at each jump
    place: Nesting = Nesting()
    is_prose: bool = False  # its lines wrap

    @property
    def preview(self) -> Preview | None:
        """The format by the name after the fence; XML and HTML that begin as SVG are SVG."""
        name = self.language.lower()
        if name == "svg" or (name in {"html", "xml"} and _SVG.match(self.text)):
            return Preview.SVG
        return Preview.HTML if name == "html" else None


@dataclass(frozen=True, slots=True)
class TableBlock:
    rows: tuple[tuple[tuple[Span, ...], ...], ...]  # the first one is the head
    aligns: tuple[str, ...]  # "", "left", "center" or "right"
    place: Nesting = Nesting()


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    place: Nesting = Nesting()


Block = Paragraph | Code | TableBlock | Rule


def spans(block: Block) -> Iterator[Span]:
    """Yield the spans of a block in reading order; code has one span per run."""
    match block:
        case Paragraph():
            yield from block.spans
        case TableBlock():
            for row in block.rows:
                for cell in row:
                    yield from cell
        case Code():
            ends = [offset for offset, _ in block.runs[1:]] + [len(block.text)]
            for (offset, source), end in zip(block.runs, ends, strict=True):
                yield Span(block.text[offset:end], source, source + end - offset, style=Style.CODE)


def plain_text(blocks: list[Block]) -> str:
    """Return the text without markup, for screen readers and plain copies."""
    shown = [block for block in blocks if not isinstance(block, Rule)]
    texts = [_block_text(block) for block in shown]
    gaps = ["\n" if _is_item(a) and _is_item(b) else "\n\n" for a, b in pairwise(shown)]
    return "".join(text + gap for text, gap in zip(texts, [*gaps, ""], strict=True)) if texts else ""


def _is_item(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.item is not None


def _block_text(block: Block) -> str:
    if isinstance(block, TableBlock):
        return "\n".join("\t".join("".join(span.text for span in cell) for cell in row) for row in block.rows)
    text = "".join(span.text for span in spans(block))
    if isinstance(block, Paragraph) and block.item:
        box = "" if block.item.checked is None else "[x] " if block.item.checked else "[ ] "
        marker = "- " if block.item.number is None else f"{block.item.number}. "
        return "  " * (block.place.lists - 1) + marker + box + text
    return text


_ASTRAL = re.compile("[\U00010000-\U0010ffff]|[^\U00010000-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class SourceRun:
    """`length` UTF-16 units of a document, from `position` on, that show source[start:end]."""

    position: int
    length: int
    start: int
    end: int
    exact: bool  # one unit shows one character


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class PositionMap:
    """The runs of a document in reading order. Text without source, such as a button, lies between them."""

    def __init__(self) -> None:
        self._runs: list[SourceRun] = []
        self._positions: list[int] = []

    def add(self, position: int, span: Span) -> int:
        """Record that `span` was written at `position`, and return the position after it."""
        pieces = _ASTRAL.finditer(span.text) if span.exact and not span.text.isascii() else ()
        for piece in pieces:
            start, end = span.start + piece.start(), span.start + piece.end()
            position = self._add_run(
                SourceRun(position, units(piece.group()), start, end, piece.group() < "\U00010000")
            )
        return (
            position
            if pieces
            else self._add_run(SourceRun(position, units(span.text), span.start, span.end, span.exact))
        )

    def _add_run(self, run: SourceRun) -> int:
        self._runs.append(run)
        self._positions.append(run.position)
        return run.position + run.length

    def truncate(self, position: int) -> None:
        """Remove everything from `position` on."""
        index = bisect_left(self._positions, position)
        del self._runs[index:], self._positions[index:]

    def source_at(self, position: int) -> int | None:
        """Return the source offset of the character at `position`, or None."""
        index = bisect_right(self._positions, position) - 1
        if index < 0:
            return None
        run = self._runs[index]
        if position >= run.position + run.length:
            return None
        return run.start + (position - run.position if run.exact else 0)

    def source_range(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the range of source that the positions [first, last) show, or None."""
        touched = [(run, max(first, run.position), min(last, run.position + run.length))
                   for run in self.between(first, last)]  # fmt: skip
        if not touched:
            return None
        starts = [run.start + (a - run.position if run.exact else 0) for run, a, _ in touched]
        ends = [run.start + b - run.position if run.exact else run.end for run, _, b in touched]
        return min(starts), max(ends)

    def between(self, first: int, last: int) -> Iterator[SourceRun]:
        """Yield the runs that touch the positions [first, last)."""
        index = max(0, bisect_right(self._positions, first) - 1)
        while index < len(self._runs) and self._positions[index] < last:
            if self._positions[index] + self._runs[index].length > first:
                yield self._runs[index]
            index += 1

    def positions(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of positions that show source[start:end]."""
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
