"""A line of text that ends in an ellipsis where it does not fit; the whole is in the tooltip. Knows no meaning."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class ElidedLabel(QLabel):
    """Takes the room it is given and asks for none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def show_text(self, text: str, more: str = "") -> None:
        """Another text, and what else is to be known of it."""
        self.setText(text)
        self.setToolTip(f"{text}\n{more}" if more else text)
        self.setAccessibleName(text)
        self.setAccessibleDescription(more)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        area = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, area.width())
        self.style().drawItemText(
            painter, area, int(self.alignment()), self.palette(), self.isEnabled(), text, self.foregroundRole()
        )
        painter.end()
