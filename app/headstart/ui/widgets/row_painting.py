"""How rows of the sidebar look: ground, headings, text with marked places, tags. Knows a theme, no row's meaning."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from headstart.chat.search import Range
from headstart.ui.widgets.theme import RADIUS, SMALL, TINY, Theme

SMALLER = 0.85
_TAGS = 0.3  # of a line: what tags may take from a long title
_BAR = 3  # width of the mark at what is open
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def line_height(font: QFont) -> int:
    """Of one line of text."""
    return QFontMetrics(font).height()


def small(font: QFont, *, bold: bool = False) -> QFont:
    """For headings and tags."""
    made = QFont(font)
    made.setPointSizeF(font.pointSizeF() * SMALLER)
    made.setBold(bold)
    return made


def paint_ground(painter: QPainter, option: QStyleOptionViewItem, theme: Theme, *, is_open: bool = False) -> None:
    """Under a row that is selected, pointed at or open; the keyboard's row has a frame."""
    state: QStyle.StateFlag = option.state
    area: QRect = option.rect
    flag = QStyle.StateFlag
    if is_open or state & (flag.State_Selected | flag.State_MouseOver):
        painter.setBrush(QColor(theme.raised))
        framed = bool(state & flag.State_HasFocus)
        painter.setPen(QColor(theme.accent) if framed else Qt.PenStyle.NoPen)
        painter.drawRoundedRect(area.adjusted(TINY, 1, -TINY, -1), RADIUS - 2, RADIUS - 2)
    if is_open:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent))
        bar = QRect(area.left() + TINY + 1, area.top() + SMALL, _BAR, area.height() - 2 * SMALL)
        painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)


def paint_heading(painter: QPainter, area: QRect, title: str, theme: Theme) -> None:
    """Small, strong and quiet, at the bottom of its room."""
    painter.setFont(small(painter.font(), bold=True))
    painter.setPen(QColor(theme.muted))
    painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, title)


def paint_text(painter: QPainter, area: QRect, text: str, colour: str, marked: tuple[Sequence[Range], str]) -> None:
    """One line, cut where it ends; `marked`: places on a ground of a colour."""
    metrics = QFontMetrics(painter.font())
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    places, ground = marked
    for start, end in places:
        left = area.left() + metrics.horizontalAdvance(text[:start])
        width = metrics.horizontalAdvance(text[start:end])
        if left < area.right():
            mark = QRect(left, area.top(), min(width, area.right() - left), metrics.height())
            painter.fillRect(mark, QColor(ground))
    painter.setPen(QColor(colour))
    painter.drawText(QRect(area.left(), area.top(), area.width(), metrics.height()), _LEFT, shown)


def paint_tags(painter: QPainter, area: QRect, tags: Sequence[str], theme: Theme, *, title: str) -> int:
    """Tags at the right of a line, where `title` leaves them room; the width they take."""
    painter.save()
    left = area.width() - QFontMetrics(painter.font()).horizontalAdvance(title) - SMALL
    painter.setFont(small(painter.font()))
    metrics = QFontMetrics(painter.font())
    right = area.right()
    for name in reversed(fitting(tags, metrics, max(left, round(area.width() * _TAGS)))):
        chip = QRect(right - _chip(name, metrics), area.top() + 1, _chip(name, metrics), area.height() - 2)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawRoundedRect(chip, TINY, TINY)
        painter.setPen(QColor(theme.muted))
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, name)
        right -= chip.width() + TINY
    painter.restore()
    return area.right() - right


def fitting(tags: Sequence[str], metrics: QFontMetrics, room: int) -> list[str]:
    """As many names as fit in so many pixels, and "+2" for those that do not: a cut name says less than its chat's."""
    for shown in range(len(tags), 0, -1):
        found = [*tags[:shown], *([f"+{len(tags) - shown}"] if shown < len(tags) else [])]
        if sum(_chip(name, metrics) + TINY for name in found) <= room:
            return found
    return [f"+{len(tags)}"] if tags else []


def _chip(name: str, metrics: QFontMetrics) -> int:
    return metrics.horizontalAdvance(name) + 2 * TINY + 2
