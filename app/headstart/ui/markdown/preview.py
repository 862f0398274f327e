"""What can be done with the code of an answer besides copying it: a file's ending, and a look at HTML and SVG."""

import re

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt, QUrl, QXmlStreamReader, QXmlStreamWriter
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPalette, QTextDocument
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from headstart.ui.markdown.blocks import Code, Preview
from headstart.ui.markdown.highlighting import lexer
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Dialog, row, stacked
from headstart.ui.widgets.theme import MEDIUM, SMALL

_SIZE = QSize(760, 560)
_ENDING = re.compile(r"\*(\.\w+)\Z")
_WORD = re.compile(r"\w{1,10}\Z")
_LEFT_OUT = ("script", "foreignObject")  # of a picture
_WHITE, _BLACK, _GREY = QColor("white"), QColor("black"), QColor("lightgrey")  # pages and pictures are made for white


def ending(code: Code) -> str:
    """What the name of a file with this code ends with: ".py"."""
    if code.preview is Preview.SVG:
        return ".svg"
    language = code.language.lower()
    source = lexer(language) if language else None
    known = [match[1] for pattern in (source.filenames if source else ()) if (match := _ENDING.match(pattern))]
    own = f".{language}" if _WORD.match(language) else ".txt"
    return known[0] if known and own not in map(str.lower, known) else own


def harmless(svg: str) -> str:
    """A picture without scripts, declarations and whatever lies outside it; "" if this is no XML.

    Qt would read the files that pictures and style sheets name.
    """
    made = QByteArray()
    reader, writer = QXmlStreamReader(svg), QXmlStreamWriter(made)
    kinds = QXmlStreamReader.TokenType
    while not reader.atEnd():
        kind = reader.readNext()
        if kind == kinds.StartElement and _is_left_out(reader):
            reader.skipCurrentElement()
        elif kind not in (kinds.DTD, kinds.ProcessingInstruction, kinds.Comment, kinds.EntityReference, kinds.Invalid):
            writer.writeCurrentToken(reader)
    return "" if reader.hasError() else made.toStdString()


def _is_left_out(reader: QXmlStreamReader) -> bool:
    if reader.name() in _LEFT_OUT:
        return True
    attributes = reader.attributes()
    named = [attributes.at(place) for place in range(attributes.size())]
    return not all(each.value().startswith(("#", "data:image/")) for each in named if each.name() == "href")


class _Page(QTextBrowser):
    """HTML as far as Qt knows it, which runs no scripts."""

    def __init__(self, html: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setOpenLinks(False)
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, _WHITE)
        palette.setColor(QPalette.ColorRole.Text, _BLACK)
        self.setPalette(palette)
        self.setHtml(html)

    def loadResource(self, kind: int, name: QUrl | str) -> object:  # noqa: N802, ARG002
        """A grey dot for pictures, nothing for the rest; where this returned None, Qt would read the file itself."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return ""
        dot = QImage(1, 1, QImage.Format.Format_RGB32)
        dot.fill(_GREY)
        return dot


class _Picture(QFrame):
    """An SVG picture, as large as it fits."""

    def __init__(self, renderer: QSvgRenderer, parent: QWidget) -> None:
        super().__init__(parent)
        self._renderer = renderer
        renderer.setAspectRatioMode(Qt.AspectRatioMode.KeepAspectRatio)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), _WHITE)
        self._renderer.render(painter, QRectF(self.rect()).adjusted(SMALL, SMALL, -SMALL, -SMALL))
        painter.end()


class PreviewDialog(Dialog):
    """Shows a page or a picture of an answer; it can reach neither the network nor the disk."""

    def __init__(self, kind: Preview, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Preview"))
        self.view = self._page(text) if kind is Preview.HTML else self._picture(text)
        self.view.setAccessibleName(self.windowTitle())
        close = button(self.tr("Close"), self)
        close.clicked.connect(self.close)
        foot = row()
        foot.addWidget(close)
        stacked(self, self.view, muted(self._remark, self), foot, margin=MEDIUM, growing=self.view)
        self.resize(_SIZE)

    def _page(self, text: str) -> QWidget:
        self._remark = self.tr(
            "Scripts do not run, and nothing is loaded from the network or the disk. A browser shows more of the "
            "layout: save the code as a file and open it there."
        )
        return _Page(text, self)

    def _picture(self, text: str) -> QWidget:
        self._remark = self.tr("Scripts do not run, and nothing is loaded from the network or the disk.")
        renderer = QSvgRenderer(harmless(text).encode(), self)
        if not renderer.isValid():
            self._remark = self.tr("This is not a complete SVG picture, so it cannot be shown.")
        return _Picture(renderer, self)
