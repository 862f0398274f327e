"""A label in letters larger or smaller than those around it, also after zoom or text size have changed. No page."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QLabel, QWidget


class Heading(QLabel):
    """`factor`: its size in that of the widget that it is made in."""

    def __init__(self, text: str, factor: float, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._factor = factor
        parent.installEventFilter(self)  # a font of its own shields it from changes
        self._scale(parent.font())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.FontChange and isinstance(watched, QWidget):
            self._scale(watched.font())
        return super().eventFilter(watched, event)

    def _scale(self, around: QFont) -> None:
        font = QFont(around)
        font.setPointSizeF(around.pointSizeF() * self._factor)
        font.setBold(True)
        self.setFont(font)
