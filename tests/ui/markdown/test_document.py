"""Blocks in a QTextDocument: growing equals writing at once, and every character knows its source."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFont, QFontMetricsF, QTextDocument
from PySide6.QtWidgets import QApplication

from headstart.markdown.blocks import PositionMap, Span
from headstart.markdown.parser import MarkdownStream, parse
from headstart.ui.markdown.document import CODE_ID, LANGUAGE, QUOTES, DocumentWriter, Formats
from headstart.ui.widgets.theme import LIGHT
from tests.support.junk import fuzz
from tests.ui.corpus import EVERYTHING, PARTS

SOURCES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("\n\n".join)


class _Shown:
    """A document and its writer."""

    def __init__(self) -> None:
        self.document = QTextDocument()
        self.document.setDefaultFont(QFont("DejaVu Sans", 10))
        self.writer = DocumentWriter(self.document, Formats(LIGHT, QFont("DejaVu Sans", 10)))

    def shape(self) -> list[tuple[object, ...]]:
        """Return everything visible of the document except colours."""
        found: list[tuple[object, ...]] = []
        block = self.document.begin()
        while block.isValid():
            form, inside = block.blockFormat(), block.textList()
            item = (inside.format().style().value, inside.format().indent(), inside.itemText(block)) if inside else None
            marks = (form.property(CODE_ID), form.property(LANGUAGE), form.property(QUOTES), form.marker().value)
            appearance = [
                (part.start, part.length, part.format.fontWeight(), part.format.fontItalic(), part.format.anchorHref())
                for part in block.textFormats()
            ]
            margins = (form.topMargin(), form.bottomMargin(), form.leftMargin(), form.lineHeight(), form.headingLevel())
            found.append((block.text(), item, marks, margins, appearance))
            block = block.next()
        return found


def _at_once(source: str) -> _Shown:
    shown = _Shown()
    shown.writer.show(parse(source), 0)
    return shown


def _grown(source: str, sizes: list[int]) -> _Shown:
    shown, stream = _Shown(), MarkdownStream()
    at = turn = 0
    while at < len(source):
        size = sizes[turn % len(sizes)]
        first = stream.append(source[at : at + size])
        shown.writer.show(stream.blocks, first)
        at, turn = at + size, turn + 1
    shown.writer.show(stream.blocks, stream.finish())
    return shown


@fuzz("Markdown", 60)
@given(SOURCES, st.lists(st.integers(1, 25), min_size=1, max_size=8))
def test_any_growth_ends_in_the_same_document(qapp: QApplication, source: str, sizes: list[int]) -> None:
    assert _grown(source, sizes).shape() == _at_once(source).shape()


def test_growing_text_equals_whole_text_at_every_step(qapp: QApplication) -> None:
    shown, stream = _Shown(), MarkdownStream()
    rng = random.Random(4)
    while len(stream.source) < len(EVERYTHING):
        at = len(stream.source)
        shown.writer.show(stream.blocks, stream.append(EVERYTHING[at : at + rng.randint(1, 30)]))
        fresh = _Shown()
        fresh.writer.show(stream.blocks, 0)
        assert shown.shape() == fresh.shape()


@fuzz("Markdown", 30)
@given(SOURCES, st.lists(st.integers(1, 25), min_size=1, max_size=5))
def test_positions_map_to_characters(qapp: QApplication, source: str, sizes: list[int]) -> None:
    shown = _grown(source, sizes)
    _check_map(shown, source)


def test_surrogate_pairs_do_not_shift_positions(qapp: QApplication) -> None:
    source = "🎉 a **b𝒳c** 👩‍💻 d\n\n```python\ns = '🎉' # x\n```\n\n| 🎉 | x |\n|--|--|\n| y | 🎉z |"
    assert _check_map(_at_once(source), source) > 20


def _check_map(shown: _Shown, source: str) -> int:
    """Compare every mapped character of the document with its source; return how many there were."""
    seen = 0
    for run in shown.writer.map.between(0, shown.document.characterCount()):
        text = "".join(shown.document.characterAt(run.position + k) for k in range(run.length)) if run.exact else ""
        text = text.replace("\u2028", "\n").replace("\u2029", "\n")
        assert text == source[run.start : run.end] or not run.exact
        seen += len(text)
    return seen


def test_code_and_tables_grow_in_place(qapp: QApplication) -> None:
    shown = _Shown()
    shown.writer.show(parse("```py\na = 1"), 0)
    start = shown.document.firstBlock()
    shown.writer.show(parse("```py\na = 1\nb = 2"), 0)
    assert shown.document.firstBlock() == start
    assert shown.writer.code(0).text == "a = 1\nb = 2"
    assert shown.document.toPlainText().count("Copy") == 1


def test_code_is_left_to_right_in_any_answer(qapp: QApplication) -> None:
    shown = _at_once("مرحبا\n\n```\nשלום = 1\n```")
    block = shown.document.begin()
    assert block.textDirection().name == "RightToLeft"
    while not block.blockFormat().hasProperty(CODE_ID):
        block = block.next()
    assert block.textDirection().name == "LeftToRight"


def test_ranges_map_both_ways() -> None:
    found = PositionMap()
    end = found.add(10, Span("ab", 2, 4))
    found.add(end + 5, Span("x²", 6, 11, exact=False))
    assert (found.source_at(11), found.source_at(12), found.source_at(18)) == (3, None, 6)
    assert list(found.positions(3, 7)) == [(11, 12), (17, 19)]
    assert found.source_range(11, 18) == (3, 11)
    found.truncate(12)
    assert list(found.positions(0, 99)) == [(10, 12)]


@pytest.mark.parametrize("points", [8, 11, 22])
def test_numbers_of_lists_fit_into_the_indent(points: int) -> None:
    document, font = QTextDocument(), QFont("DejaVu Sans", points)
    DocumentWriter(document, Formats(LIGHT, font)).show(parse("10. ten"))
    assert document.indentWidth() > QFontMetricsF(font).horizontalAdvance("10.")
