"""Says what the colours of tokens mean."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, SMALL, current


class Swatch(QWidget):
    """A word in the look of one origin."""

    def __init__(self, text: str, origin: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._origin = text, origin
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:  # noqa: N802
        return self._document().size().toSize()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        document = self._document()
        painter.translate(0, (self.height() - document.size().height()) / 2)
        document.drawContents(painter, QRectF(self.rect()))
        painter.end()

    def _document(self) -> QTextDocument:
        """Drawn as the transcript draws it, so that the underline is the same."""
        document = QTextDocument()
        document.setDefaultFont(self.font())
        document.setDocumentMargin(2)
        form = QTextCharFormat()
        form.setForeground(QColor(current().text))
        if mark := current().origins.get(self._origin):
            form.setBackground(QColor(mark.background))
            form.setUnderlineStyle(mark.underline)
            form.setUnderlineColor(QColor(mark.line))
        QTextCursor(document).insertText(self._text, form)
        return document


class Legend(QWidget):
    """One row: draft, n-gram, table, target."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Legend of token colours"))
        lead = QLabel(self.tr("Proposed by"), self)
        dress(lead, "muted")
        self._swatches = (
            Swatch(self.tr("draft model"), "draft", self),
            Swatch(self.tr("n-gram"), "n-gram", self),
            Swatch(self.tr("word pairs"), "bigram", self),
            Swatch(self.tr("target"), "target", self),
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(LARGE, 0, LARGE, SMALL)
        row.setSpacing(SMALL)
        row.addWidget(lead)
        for swatch in self._swatches:
            row.addWidget(swatch)
        row.addStretch(1)
        self.setToolTip(
            self.tr(
                "The target confirmed every token; colours say who had guessed it: the draft model, "
                "repeated text (n-grams), a table of what usually follows what, or nobody but the target itself."
            )
        )
        row.setAlignment(Qt.AlignmentFlag.AlignVCenter)
