"""Markdown as sentences to be spoken, each with its place in the source."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlsplit

from PySide6.QtCore import QTextBoundaryFinder

from headstart.markdown.blocks import Block, Code, Paragraph, Span, Style, TableBlock, spans
from headstart.markdown.parser import MarkdownStream
from headstart.ui.formatting import listed, whole
from headstart.ui.translation import translate


class Sentence(NamedTuple):
    """Words to be spoken for source[start:end]."""

    text: str
    start: int
    end: int


def sentences(blocks: Iterable[Block]) -> Iterator[Sentence]:
    """Yield the sentences of Markdown: text by sentences, tables by rows; code and formulas are named."""
    for block in blocks:
        match block:
            case Code():
                yield Sentence(_code(block), *_range([*spans(block)]))
            case TableBlock():
                for row in block.rows:
                    cells = [cell for cell in row if cell]
                    if cells:
                        words = listed("".join(map(_spoken, cell)) for cell in cells)
                        yield Sentence(words, *_range([span for cell in cells for span in cell]))
            case Paragraph():
                yield from _paragraph(block)


def _code(block: Code) -> str:
    lines = block.text.rstrip("\n").count("\n") + 1
    one = translate("Speech", "Code, 1 line.")
    return one if lines == 1 else translate("Speech", "Code, {} lines.").format(whole(lines))


def _range(shown: list[Span]) -> tuple[int, int]:
    return shown[0].start, shown[-1].end


def _spoken(span: Span) -> str:
    """Return the spoken form of a span, with a space for each line break."""
    if span.style & Style.MATH:
        return translate("Speech", "formula")
    if span.address and "://" in span.text:  # an address is no text for the ear
        return urlsplit(span.address).hostname or span.text
    return span.text.replace("\n", " ")


def _paragraph(block: Paragraph) -> Iterator[Sentence]:
    texts = [_spoken(span) for span in block.spans]
    text = "".join(texts)
    starts = [0]
    for words in texts:
        starts.append(starts[-1] + len(words))
    before = _marker(block)
    for start, end in pairwise(_boundaries(text)):
        words = text[start:end].strip()
        if not words:
            continue
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        last = first + len(words) - 1
        yield Sentence(
            before + words,
            _source(block.spans, texts, starts, first)[0],
            _source(block.spans, texts, starts, last)[1],
        )
        before = ""


def _marker(block: Paragraph) -> str:
    """Return the spoken form of a list item's marker."""
    if block.item is None:
        return ""
    if block.item.checked is not None:
        return translate("Speech", "Done: ") if block.item.checked else translate("Speech", "To do: ")
    return "" if block.item.number is None else f"{block.item.number}. "


def _source(shown: tuple[Span, ...], texts: list[str], starts: list[int], offset: int) -> tuple[int, int]:
    """Return the source range of the character at an offset of the joined texts."""
    number = bisect_right(starts, offset) - 1
    span = shown[number]
    if not span.exact or len(texts[number]) != len(span.text):
        return span.start, span.end
    at = span.start + offset - starts[number]
    return at, at + 1


def _boundaries(text: str) -> list[int]:
    """Return the offsets of sentences by Unicode's rules, and the end. A sign without a space ends none: "!["."""
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Sentence, text)
    places = [0]
    while (place := finder.toNextBoundary()) >= 0:
        places.append(place)
    if not text.isascii():
        units = text.encode("utf-16-le", "surrogatepass")  # Qt counts in them
        places = [len(units[: 2 * place].decode("utf-16-le", "surrogatepass")) for place in places]
    return [at for at in places if at in {0, len(text)} or text[at - 1].isspace() or not text[at - 1].isascii()]


class SentenceStream:
    """The sentences of an answer that grows."""

    def __init__(self, text: str = "", start: int = 0) -> None:
        """Begin with a text, which has been spoken up to `start`."""
        self._markdown = MarkdownStream()
        self._pending = text  # is parsed when sentences are taken
        self._done = start

    def append(self, text: str) -> None:
        self._pending += text

    def take(self, *, is_complete: bool = False) -> list[Sentence]:
        """Return the finished sentences that were not returned before. The last one may still grow until the end."""
        pending, self._pending = self._pending, ""
        self._markdown.append(pending)
        blocks = [block for block in self._markdown.blocks if self._is_new(block)]
        new = [sentence for sentence in sentences(blocks) if sentence.start >= self._done]
        ready = new if is_complete else new[:-1]
        if ready:
            self._done = ready[-1].end
        return ready

    def _is_new(self, block: Block) -> bool:
        return max((span.end for span in spans(block)), default=0) > self._done
