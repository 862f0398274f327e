"""Blocks on numbered pages of a PDF file. Knows no chat."""

from collections.abc import Sequence

from PySide6.QtCore import QBuffer, QIODevice, QLocale, QMarginsF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPageLayout, QPageSize, QPainter, QPdfWriter, QTextDocument, QTextOption

from headstart.ui import theme
from headstart.ui.blocks import Block
from headstart.ui.document import DocumentWriter
from headstart.ui.document_formats import Formats
from headstart.ui.highlighting import Highlighter
from headstart.ui.pagination import cut, whole_pieces
from headstart.ui.theme import LIGHT
from headstart.ui.translation import translate

_POINTS, _SMALL = 10.0, 8.0
_MARGIN, _FOOT = 18.0, 8.0  # millimetres
_DOTS = 96  # in an inch, as the margins of the formats are meant; letters stand between dots too


def to_pdf(title: str, blocks: Sequence[Block], locale: QLocale | None = None) -> bytes:
    """The file's content, on the paper that is usual where `locale` is spoken."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("Headstart")
    writer.setResolution(_DOTS)
    writer.setPageLayout(_layout(locale or QLocale()))
    document = _document(blocks, writer)
    _paint(document, writer, title)
    buffer.close()
    return bytes(buffer.data().data())


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


def _paint(document: QTextDocument, writer: QPdfWriter, title: str) -> None:
    painter = QPainter(writer)
    room = writer.pageLayout().paintRectPixels(_DOTS)
    height = room.height() - _dots(_FOOT)
    pages = cut(whole_pieces(document), document.size().height(), height)
    for number, (top, bottom) in enumerate(pages):
        if number:
            writer.newPage()
        painter.save()
        painter.translate(0, -top)
        document.drawContents(painter, QRectF(0, top + 1, room.width(), bottom - top - 2))
        painter.restore()
        foot = QRectF(0, height, room.width(), _dots(_FOOT))
        _paint_foot(painter, foot, title, number, len(pages))
    painter.end()


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
