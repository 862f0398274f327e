"""Blocks on numbered pages of a PDF file."""

import itertools
import time
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QLocale, QMarginsF, QObject, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFont,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextOption,
    QTextTable,
)

from headstart.chat.documents import write_export
from headstart.errors import HeadstartError
from headstart.ui.markdown.blocks import Block, Code, Paragraph, Rule, spans
from headstart.ui.markdown.document import DocumentWriter, Formats
from headstart.ui.markdown.highlighting import Highlighter
from headstart.ui.translation import said, translate
from headstart.ui.widgets import theme
from headstart.ui.widgets.theme import LIGHT

_MOST = 3000  # characters in a run, about a page
_MANY = 24  # blocks in a run
_LINE = 40  # what a line of code counts for, however short


def runs(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Every block in order; a heading and a rule stay with what follows."""
    run: list[Block] = []
    size = 0
    for block in itertools.chain.from_iterable(map(_pieces, blocks)):
        length = _length(block)
        if run and not _clings(run[-1]) and (size + length > _MOST or len(run) >= _MANY):
            yield run
            run, size = [], 0
        run.append(block)
        size += length
    if run:
        yield run


def _pieces(block: Block) -> Iterator[Block]:
    """Code longer than a run in several blocks; pages would cut it, too."""
    if not isinstance(block, Code) or _length(block) <= _MOST:
        yield block
        return
    for text in _joined(block.text.split("\n")):
        yield replace(block, text=text, runs=((0, 0),))


def _joined(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for line in lines:
        if held and size + _weight(line) > _MOST:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += _weight(line)
    yield "\n".join(held)


def _length(block: Block) -> int:
    if isinstance(block, Code):
        return sum(map(_weight, block.text.split("\n")))
    return sum(len(span.text) for span in spans(block))


def _weight(line: str) -> int:
    return max(len(line), _LINE)


def _clings(block: Block) -> bool:
    return isinstance(block, Rule) or (isinstance(block, Paragraph) and block.heading > 0)


_RULER = QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value
_EDGE = 10.0  # dots above the first line in a box that belong to it
Piece = tuple[float, float]  # top and bottom in the strip


def cut(pieces: Iterable[Piece], end: float, height: float) -> list[Piece]:
    """Pages of at most `height`, cut between pieces; a piece higher than a page is cut where the page ends."""
    pages: list[Piece] = []
    start = 0.0
    for top, bottom in pieces:
        if bottom - start > height and top > start:
            pages.append((start, top))
            start = top
        while bottom - start > height:
            pages.append((start, start + height))
            start += height
    return [*pages, (start, end)]


def whole_pieces(document: QTextDocument) -> Iterator[Piece]:
    """What must not be cut, from top to bottom: pieces side by side are one."""
    held: Piece | None = None
    for top, bottom in sorted(_pagination_pieces(document)):
        if held is None:
            held = (top, bottom)
        elif top < held[1]:
            held = (held[0], max(held[1], bottom))
        else:
            yield held
            held = (top, bottom)
    if held:
        yield held


def _pagination_pieces(document: QTextDocument) -> Iterator[Piece]:
    cling: float | None = None  # top of headings and rules that belong to what follows
    block = document.begin()
    while block.isValid():
        lines = list(_lines(document, block))
        if lines and _pagination_clings(block):
            cling = lines[0][0] if cling is None else cling
        elif lines:
            yield from lines if cling is None else [(cling, lines[0][1]), *lines[1:]]
            cling = None
        block = block.next()


def _lines(document: QTextDocument, block: QTextBlock) -> Iterator[Piece]:
    above = document.documentLayout().blockBoundingRect(block).top()
    layout, edge = block.layout(), _EDGE if _begins_box(block) else 0.0
    for number in range(layout.lineCount()):
        line = layout.lineAt(number)
        yield above + line.y() - (0.0 if number else edge), above + line.y() + line.height()


def _begins_box(block: QTextBlock) -> bool:
    frame = QTextCursor(block).currentFrame()
    in_table = isinstance(frame, QTextTable)
    return frame.parentFrame() is not None and (in_table or frame.firstCursorPosition().block() == block)


def _pagination_clings(block: QTextBlock) -> bool:
    look = block.blockFormat()
    return look.headingLevel() > 0 or look.hasProperty(_RULER)


_POINTS, _SMALL = 10.0, 8.0
_MARGIN, _FOOT = 18.0, 8.0  # millimetres
_LAYING_OUT = 0.6  # of the work; the rest is painting
_DOTS = 96  # in an inch, as the margins of the formats are meant; letters stand between dots too


Working = Generator[float, None, bytes]  # yields the share that is done, after each moment of work


@dataclass(frozen=True)
class _Strip:
    """A piece of the endless strip: its document, where it begins, and where that may be cut."""

    document: QTextDocument
    top: float
    pieces: tuple[Piece, ...]

    @property
    def bottom(self) -> float:
        return self.top + self.document.size().height()


def writing_pdf(title: str, sections: Sequence[Iterable[Block]], locale: QLocale | None = None) -> Working:
    """The file's content, on the paper that is usual where `locale` is spoken, in moments: a window must not wait.

    The share grows from 0 to 1. Closing the generator gives the work up.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("Headstart")
    writer.setResolution(_DOTS)
    writer.setPageLayout(_layout(locale or QLocale()))
    strips: list[_Strip] = []
    yield from _lay_out(sections, writer, strips)
    yield from _paint(strips, writer, title)
    buffer.close()
    return bytes(buffer.data().data())


def _lay_out(sections: Sequence[Iterable[Block]], writer: QPdfWriter, strips: list[_Strip]) -> Iterator[float]:
    top = 0.0
    for number, section in enumerate(sections):
        for run in runs(section):
            yield _LAYING_OUT * number / len(sections)
            document = _document(run, writer)
            pieces = tuple((start + top, end + top) for start, end in whole_pieces(document))
            strips.append(_Strip(document, top, pieces))
            top = strips[-1].bottom


def _layout(locale: QLocale) -> QPageLayout:
    american = locale.measurementSystem() == QLocale.MeasurementSystem.ImperialUSSystem
    size = QPageSize(QPageSize.PageSizeId.Letter if american else QPageSize.PageSizeId.A4)
    margins = QMarginsF(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
    return QPageLayout(size, QPageLayout.Orientation.Portrait, margins, QPageLayout.Unit.Millimeter)


def _document(blocks: Sequence[Block], writer: QPdfWriter) -> QTextDocument:
    document = QTextDocument()
    font = theme.text_font(_POINTS)
    document.setDefaultFont(font)
    document.setDocumentMargin(0)
    document.setUseDesignMetrics(True)
    breaking = QTextOption()
    breaking.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)  # paper has no scroll bar
    document.setDefaultTextOption(breaking)
    document.documentLayout().setPaintDevice(writer)
    highlighter = Highlighter(document, LIGHT)
    DocumentWriter(document, Formats(LIGHT, font), copyable=False).show(blocks, 0)
    highlighter.rehighlight()
    document.setTextWidth(writer.pageLayout().paintRectPixels(_DOTS).width())
    return document


def _paint(strips: Sequence[_Strip], writer: QPdfWriter, title: str) -> Iterator[float]:
    room = writer.pageLayout().paintRectPixels(_DOTS)
    height = room.height() - _dots(_FOOT)
    pages = cut((piece for strip in strips for piece in strip.pieces), strips[-1].bottom if strips else 0.0, height)
    painter = QPainter(writer)
    try:
        for number, page in enumerate(pages):
            if number:
                writer.newPage()
            _paint_page(painter, strips, page, room.width())
            foot = QRectF(0, height, room.width(), _dots(_FOOT))
            _paint_foot(painter, foot, title, number, len(pages))
            yield _LAYING_OUT + (1 - _LAYING_OUT) * (number + 1) / len(pages)
    finally:
        painter.end()


def _paint_page(painter: QPainter, strips: Sequence[_Strip], page: Piece, width: float) -> None:
    top, bottom = page
    first = max(0, bisect_right(strips, top, key=lambda strip: strip.top) - 1)
    for strip in itertools.takewhile(lambda strip: strip.top < bottom, strips[first:]):
        start, end = max(top - strip.top, 0.0), min(bottom, strip.bottom) - strip.top
        painter.save()
        painter.translate(0, strip.top - top)
        # Neighbours of the page begin within a dot of it.
        strip.document.drawContents(painter, QRectF(0, start + 1, width, end - start - 2))
        painter.restore()


def _paint_foot(painter: QPainter, room: QRectF, title: str, number: int, count: int) -> None:
    small = QFont(theme.text_font(_SMALL))
    painter.setFont(small)
    painter.setPen(QColor(LIGHT.muted))
    label = translate("PdfExport", "{page} / {pages}").format(page=number + 1, pages=count)
    free = room.width() - 2 * painter.fontMetrics().horizontalAdvance(label)
    shown = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, int(free))
    bottom = Qt.AlignmentFlag.AlignBottom
    painter.drawText(room, Qt.AlignmentFlag.AlignLeft | bottom, shown)
    painter.drawText(room, Qt.AlignmentFlag.AlignRight | bottom, label)


def _dots(millimetres: float) -> float:
    return millimetres / 25.4 * _DOTS


_SLICE = 0.012  # seconds of work before the window gets its turn


class PdfSaving(QObject):
    """One file at a time."""

    began = Signal(str)  # name of the file
    progressed = Signal(object, object)  # done, of how many
    ended = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing is written yet."""
        super().__init__(parent)
        self._work: Working | None = None
        self._path = Path()
        self._turns = QTimer(self)
        self._turns.timeout.connect(self._go_on)

    @property
    def is_busy(self) -> bool:
        """Whether a file is being written."""
        return self._work is not None

    def start(self, work: Working, path: Path) -> None:
        """Write what `work` makes; `ended` follows, after `failed` where it could not be."""
        assert not self.is_busy, "the caller looks first"
        self._work, self._path = work, path
        self._turns.start(0)
        self.began.emit(path.name)

    @Slot()
    def cancel(self) -> None:
        """Give the file up; nothing of it was written."""
        if self._work:
            self._work.close()
            self._end()

    @Slot()
    def _go_on(self) -> None:
        assert self._work
        until, share = time.perf_counter() + _SLICE, 0.0
        try:
            while time.perf_counter() < until:
                share = next(self._work)
        except StopIteration as end:
            self._write(end.value)
        else:
            self.progressed.emit(round(share * 1000), 1000)

    def _write(self, content: bytes) -> None:
        try:
            write_export(self._path, content)
        except HeadstartError as error:
            self.failed.emit(said(error))
        self._end()

    def _end(self) -> None:
        self._work = None
        self._turns.stop()
        self.ended.emit()
