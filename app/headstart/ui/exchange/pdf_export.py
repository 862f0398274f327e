"""Blocks on numbered pages of a PDF file. Knows no chat."""

import itertools
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QIODevice, QLocale, QMarginsF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPageLayout, QPageSize, QPainter, QPdfWriter, QTextDocument, QTextOption

from headstart.ui.exchange.pagination import cut, whole_pieces
from headstart.ui.exchange.strips import runs
from headstart.ui.markdown.blocks import Block
from headstart.ui.markdown.document import DocumentWriter
from headstart.ui.markdown.document_formats import Formats
from headstart.ui.markdown.highlighting import Highlighter
from headstart.ui.translation import translate
from headstart.ui.widgets import theme
from headstart.ui.widgets.theme import LIGHT

_POINTS, _SMALL = 10.0, 8.0
_MARGIN, _FOOT = 18.0, 8.0  # millimetres
_LAYING_OUT = 0.6  # of the work; the rest is painting
_DOTS = 96  # in an inch, as the margins of the formats are meant; letters stand between dots too


Piece = tuple[float, float]
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
