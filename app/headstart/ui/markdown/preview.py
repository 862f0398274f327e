"""File suffixes for code, and the preview of HTML and SVG."""

import re

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt, QUrl, QXmlStreamReader, QXmlStreamWriter
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPalette, QTextDocument
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from headstart.markdown.blocks import Code, Preview
from headstart.ui.markdown.highlighting import lexer
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Dialog, row, stacked
from headstart.ui.widgets.theme import MEDIUM, SMALL

_SIZE = QSize(760, 560)
_SUFFIX_PATTERN = re.compile(r"\*(\.\w+)\Z")
_LANGUAGE_NAME = re.compile(r"\w{1,10}\Z")
_REMOVED_TAGS = ("script", "foreignObject")
# Most pages and pictures expect a white ground.
_WHITE, _BLACK, _GREY = QColor("white"), QColor("black"), QColor("lightgrey")


def file_suffix(code: Code) -> str:
    """Return the suffix for a file with this code, such as ".py"."""
    if code.preview is Preview.SVG:
        return ".svg"
    language = code.language.lower()
    source = lexer(language) if language else None
    suffixes = [
        match[1] for pattern in (source.filenames if source else ()) if (match := _SUFFIX_PATTERN.match(pattern))
    ]
    default = f".{language}" if _LANGUAGE_NAME.match(language) else ".txt"
    return suffixes[0] if suffixes and default not in map(str.lower, suffixes) else default


def sanitize_svg(svg: str) -> str:
    """Remove scripts, declarations and references to other files from SVG; return "" if it is not XML.

    Qt would read the files that the picture and its style sheets name.
    """
    output = QByteArray()
    reader, writer = QXmlStreamReader(svg), QXmlStreamWriter(output)
    kinds = QXmlStreamReader.TokenType
    while not reader.atEnd():
        kind = reader.readNext()
        if kind == kinds.StartElement and _is_unsafe(reader):
            reader.skipCurrentElement()
        elif kind not in (kinds.DTD, kinds.ProcessingInstruction, kinds.Comment, kinds.EntityReference, kinds.Invalid):
            writer.writeCurrentToken(reader)
    return "" if reader.hasError() else output.toStdString()


def _is_unsafe(reader: QXmlStreamReader) -> bool:
    if reader.name() in _REMOVED_TAGS:
        return True
    attributes = reader.attributes()
    links = [attribute for index in range(attributes.size()) if (attribute := attributes.at(index)).name() == "href"]
    return not all(link.value().startswith(("#", "data:image/")) for link in links)


class _HtmlView(QTextBrowser):
    """A view of HTML. It runs no scripts and shows what Qt supports."""

    def __init__(self, html: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setOpenLinks(False)
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Base, _WHITE)
        palette.setColor(QPalette.ColorRole.Text, _BLACK)
        self.setPalette(palette)
        self.setHtml(html)

    def loadResource(self, kind: int, name: QUrl | str) -> object:  # noqa: ARG002
        """Return a grey dot for pictures and "" for the rest: for None, Qt would read the file itself."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return ""
        dot = QImage(1, 1, QImage.Format.Format_RGB32)
        dot.fill(_GREY)
        return dot


class _SvgView(QFrame):
    """A view of an SVG picture, scaled to its size."""

    def __init__(self, renderer: QSvgRenderer, parent: QWidget) -> None:
        super().__init__(parent)
        self._renderer = renderer
        renderer.setAspectRatioMode(Qt.AspectRatioMode.KeepAspectRatio)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), _WHITE)
        self._renderer.render(painter, QRectF(self.rect()).adjusted(SMALL, SMALL, -SMALL, -SMALL))
        painter.end()


class PreviewDialog(Dialog):
    """Dialog with a page or a picture, which can reach neither the network nor the disk."""

    def __init__(self, kind: Preview, text: str, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Preview"), parent)
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
        return _HtmlView(text, self)

    def _picture(self, text: str) -> QWidget:
        self._remark = self.tr("Scripts do not run, and nothing is loaded from the network or the disk.")
        renderer = QSvgRenderer(sanitize_svg(text).encode(), self)
        if not renderer.isValid():
            self._remark = self.tr("This is not a complete SVG picture, so it cannot be shown.")
        return _SvgView(renderer, self)
