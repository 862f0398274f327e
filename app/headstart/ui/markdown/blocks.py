"""What Markdown turns into: a flat list of blocks whose text knows where in the source it stands. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from itertools import pairwise


class Style(IntFlag):
    """How a span looks."""

    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    STRIKE = 4
    CODE = 8
    MATH = 16
    IMAGE = 32  # the text is the description; the picture itself is never fetched


@dataclass(frozen=True, slots=True)
class Span:
    r"""Text of one look. `exact`: text[k] is source[start + k]; else the whole text stands for source[start:end].

    A line break inside a block is "\n". `address` is where a link leads.
    """

    text: str
    start: int
    end: int
    exact: bool = True
    style: Style = Style.PLAIN
    address: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """How many block quotes and lists a block stands in; `outer`: of the lists, those around the outermost quote."""

    quotes: int = 0
    lists: int = 0
    outer: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """The list entry that a paragraph begins. `list` tells lists apart; `number` is None for bullets."""

    list: int
    number: int | None = None
    checked: bool | None = None  # None: not a task


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text, a heading (level 1 to 6), or a displayed formula."""

    spans: tuple[Span, ...]
    place: Place = Place()
    heading: int = 0
    item: Item | None = None
    display: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """A code block. `runs` are (offset in text, offset in source) where the two stop running in parallel."""

    text: str
    language: str
    runs: tuple[tuple[int, int], ...]
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first row being the head. `aligns` are "", "left", "center" or "right"."""

    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    aligns: tuple[str, ...]
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    place: Place = Place()


Block = Paragraph | Code | Table | Rule


def spans(block: Block) -> Iterator[Span]:
    """Every span of a block in reading order; code is one span per run."""
    match block:
        case Paragraph():
            yield from block.spans
        case Table():
            for row in block.rows:
                for cell in row:
                    yield from cell
        case Code():
            ends = [offset for offset, _ in block.runs[1:]] + [len(block.text)]
            for (offset, source), end in zip(block.runs, ends, strict=True):
                yield Span(block.text[offset:end], source, source + end - offset, style=Style.CODE)


def plain_text(blocks: list[Block]) -> str:
    """The text without any markup: what a screen reader says or a plain copy holds."""
    shown = [block for block in blocks if not isinstance(block, Rule)]
    texts = [_plain(block) for block in shown]
    gaps = ["\n" if _is_item(a) and _is_item(b) else "\n\n" for a, b in pairwise(shown)]
    return "".join(text + gap for text, gap in zip(texts, [*gaps, ""], strict=True)) if texts else ""


def _is_item(block: Block) -> bool:
    return isinstance(block, Paragraph) and block.item is not None


def _plain(block: Block) -> str:
    if isinstance(block, Table):
        return "\n".join("\t".join("".join(span.text for span in cell) for cell in row) for row in block.rows)
    text = "".join(span.text for span in spans(block))
    if isinstance(block, Paragraph) and block.item:
        box = "" if block.item.checked is None else "[x] " if block.item.checked else "[ ] "
        marker = "- " if block.item.number is None else f"{block.item.number}. "
        return "  " * (block.place.lists - 1) + marker + box + text
    return text
