"""The legend of token colours."""

from collections.abc import Collection

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from headstart.engine.origins import MARKED, ORIGINS, Origin
from headstart.ui.translation import translate_error
from headstart.ui.widgets.layouts import FlowLayout
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, SMALL, origin_format

_MARGIN = 2  # pixels around a text


class Swatch(QWidget):
    """A text with the marking of one origin."""

    def __init__(self, text: str, origin: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self.origin = text, origin
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:
        return self._document().size().toSize()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        document = self._document()
        painter.translate(0, (self.height() - document.size().height()) / 2)
        document.drawContents(painter, QRectF(self.rect()))
        painter.end()

    def _document(self) -> QTextDocument:
        """Return a document as in the transcript, so that the underline is the same."""
        document = QTextDocument()
        document.setDefaultFont(self.font())
        document.setDocumentMargin(_MARGIN)
        QTextCursor(document).insertText(self._text, origin_format(self.origin))
        return document


class Legend(QWidget):
    """The legend of token colours, in as many rows as it needs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("legend")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Legend of token colours"))
        self._lead = QLabel(self)
        set_style_class(self._lead, "muted")
        self._lead.setContentsMargins(0, _MARGIN, 0, _MARGIN)
        self._swatches = (
            *(Swatch(translate_error(ORIGINS[origin].label), origin, self) for origin in MARKED),
            Swatch(self.tr("unmarked: the model itself"), Origin.TARGET, self),
        )
        self._origins: set[str] = set()
        self.show_origins(())
        inner = QWidget(self)
        flow = FlowLayout(inner, SMALL)
        for part in (self._lead, *self._swatches):
            flow.addWidget(part)
        row = QHBoxLayout(self)
        row.setContentsMargins(LARGE, 0, LARGE, SMALL)
        row.addWidget(inner)
        self.setToolTip(
            self.tr(
                "The model checked every word. A colour shows what had found the word in advance: the draft model (a "
                "small model), the draft head (a small addition to the model), earlier text that is repeated, or a "
                "table of what usually follows what. Words without a colour are the model's own."
            )
        )

    @property
    def has_marks(self) -> bool:
        """True if the text has an origin that is marked."""
        return bool(self._origins)

    def show_origins(self, origins: Collection[str]) -> None:
        """Show the swatches of these origins and of the model itself, or that nothing is marked."""
        self._origins = {*origins} & {*MARKED}
        self._lead.setText(self.tr("Faster thanks to") if self._origins else self.tr("No word is marked yet."))
        for swatch in self._swatches:
            swatch.setVisible(bool(self._origins) and swatch.origin in {*self._origins, Origin.TARGET})

    def add_origins(self, origins: Collection[str]) -> None:
        """Show the swatches of further origins."""
        if {*origins} & {*MARKED} - self._origins:
            self.show_origins({*origins} | self._origins)
