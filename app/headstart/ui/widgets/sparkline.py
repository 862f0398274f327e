"""A small line of figures, small bars, and a bar cut into shares. Know nothing of what they show."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

_HEIGHT = 26
_WIDEST_BAR = 12.0
_EDGE = 2.0


class Sparkline(QWidget):
    """Figures from 0 to `top`, or to the largest of them; where some are below 0, from the least of them."""

    def __init__(self, colour: str, top: float = 0.0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colour, self._top = colour, top
        self._figures: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_figures(self, figures: Sequence[float], colour: str) -> None:
        """Another line."""
        self._figures, self._colour = tuple(figures), colour
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(120, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        if len(self._figures) < 2:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        zero, *heights = self.heights((0.0, *self._figures))
        if zero < self.height() - _EDGE:
            painter.setPen(QPen(self.palette().mid(), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(_EDGE, zero), QPointF(self.width() - _EDGE, zero))
        painter.setPen(QPen(QColor(self._colour), 1))  # wider antialiased lines cost fifty times as much
        step = (self.width() - 2 * _EDGE) / (len(heights) - 1)
        for first, second in pairwise(QPointF(_EDGE + at * step, height) for at, height in enumerate(heights)):
            painter.drawLine(first, second)
        painter.end()

    def heights(self, values: Sequence[float]) -> list[float]:
        """How far below its upper edge values are drawn."""
        least = min(*self._figures, 0.0)
        span = (self._top or max(*self._figures, 0.0)) - least or 1.0
        room = self.height() - 2 * _EDGE
        return [_EDGE + room * (1 - (value - least) / span) for value in values]


class Bars(QWidget):
    """Shares of 1, one bar beside the other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: tuple[float, ...] = ()
        self._colour = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_shares(self, shares: Sequence[float], colour: str) -> None:
        """Other bars."""
        self._shares, self._colour = tuple(shares), colour
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(80, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        room = self.height() - 4
        width = min(self.width() / max(len(self._shares), 1), _WIDEST_BAR)
        for place, share in enumerate(self._shares):
            height = max(room * share, 1.0)
            bar = QRectF(place * width, 2 + room - height, width - 2, height)
            painter.fillRect(bar, QColor(self._colour))
        painter.end()


class ShareBar(QWidget):
    """One bar cut into parts, each in its colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shares: Mapping[str, float] = {}
        self._colours: Mapping[str, str] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_shares(self, shares: Mapping[str, float], colours: Mapping[str, str]) -> None:
        """Parts that together are 1."""
        self._shares, self._colours = shares, colours
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(120, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002
        painter = QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        left, height = 0.0, 8.0
        for name, share in self._shares.items():
            width = share * self.width()
            painter.setBrush(QColor(self._colours[name]))
            painter.drawRect(QRectF(left, (self.height() - height) / 2, width, height))
            left += width
        painter.end()
