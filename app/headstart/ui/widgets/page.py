"""A page beside that of the chat: title, way back, and a column that scrolls."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.labels import Heading
from headstart.ui.widgets.layouts import scrolled
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL


class Page(QFrame):
    """Fill `column`; it is at most `widest` wide and stands in the middle."""

    back_requested = Signal()
    entered = Signal()
    left = Signal()  # another page is shown, or the window closes

    def __init__(self, widest: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self._title = Heading("", 1.5, self)
        self._widest = widest
        self._back = QToolButton(self)
        self._back.setIcon(icon("previous", QPalette.ColorRole.WindowText))
        self._back.setAccessibleName(self.tr("Back to the chat"))
        self._back.setToolTip(self.tr("Back to the chat (Esc)"))
        dress(self._back, "flat")
        self._back.clicked.connect(self.back_requested)
        self.inner = QWidget(self)
        self.column = QVBoxLayout(self.inner)
        self.column.setSpacing(MEDIUM)
        outside = QVBoxLayout(self)
        outside.setContentsMargins(0, 0, 0, 0)
        outside.addLayout(self._head())
        self.scroll_area = scrolled(self.inner, self, sideways=True)
        outside.addWidget(self.scroll_area, 1)

    def set_title(self, title: str) -> None:
        """What stands above it."""
        self._title.setText(title)
        self.setAccessibleName(title)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        side = max((self.width() - self._widest) // 2, LARGE)
        self.column.setContentsMargins(side, MEDIUM, side, LARGE)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        if not event.spontaneous():
            self.entered.emit()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        super().hideEvent(event)
        if not event.spontaneous():  # not where the window is only minimised
            self.left.emit()

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setContentsMargins(SMALL, SMALL, SMALL, 0)
        head.addWidget(self._back)
        head.addWidget(self._title)
        head.addStretch(1)
        return head
