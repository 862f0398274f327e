"""Paints the rows of the list of chats: a heading, a title with its tags, the neighbourhood of a hit. Knows no list."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from headstart.chat.reader import Hit
from headstart.chat.search import Range
from headstart.ui.sidebar.chat_rows import CHAT, HIT, ChatRows, Index
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.row_painting import line_height, paint_ground, paint_heading, paint_tags, paint_text
from headstart.ui.widgets.theme import SMALL, TINY, Theme

_BEFORE_HIT = 12  # characters of context that a narrow list has room for


class ChatPainter(QStyledItemDelegate):
    """`open_chat` is marked also while others are selected."""

    def __init__(self, theme: Theme, rows: ChatRows, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme
        self.open_chat: str | None = None
        self._rows = rows
        self._font = QFont()
        self._line = 0

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        # Asked for every row of a list, however few are seen: no roles, no metrics.
        if option.font != self._font or not self._line:
            self._font, self._line = QFont(option.font), line_height(option.font)
        hit = self._rows.rows[index.row()].hit
        lines = 1 if hit is None or hit.message is None else 2 if hit.file is None else 3
        return QSize(0, self._line * lines + 2 * SMALL)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        area: QRect = option.rect
        chat = index.data(CHAT)
        if chat:
            is_open = chat.id == self.open_chat and index.data(HIT) is None  # a chat may have been hit often
            paint_ground(painter, option, self.theme, is_open=is_open)
            self._paint_chat(painter, area.adjusted(SMALL + TINY, SMALL, -SMALL - TINY, -SMALL), index)
        else:
            paint_heading(painter, area.adjusted(SMALL + TINY, 0, 0, -TINY), str(index.data()), self.theme)
        painter.restore()

    def _paint_chat(self, painter: QPainter, area: QRect, index: Index) -> None:
        hit, chat = index.data(HIT), index.data(CHAT)
        line = line_height(painter.font())
        first = QRect(area.left(), area.top(), area.width(), line)
        taken = paint_tags(painter, first, chat.tags, self.theme, title=str(index.data()))
        in_title = hit.snippet.ranges if isinstance(hit, Hit) and hit.message is None else ()
        title = first.adjusted(0, 0, -taken, 0)
        paint_text(painter, title, str(index.data()), self.theme.text, (in_title, self.theme.match))
        if isinstance(hit, Hit) and hit.message is not None:
            second = first.translated(0, line)
            if hit.file is not None:
                self._paint_file(painter, second, hit.file)
                second = second.translated(0, line)
            text, ranges = _trimmed(hit)
            paint_text(painter, second, text, self.theme.muted, (ranges, self.theme.match))

    def _paint_file(self, painter: QPainter, area: QRect, name: str) -> None:
        """A paper clip with the name of the file that was hit."""
        clip = QRect(area.left(), area.top(), area.height(), area.height())
        icon("attach", self.theme.muted, area.height()).paint(painter, clip)
        room = area.adjusted(clip.width() + TINY, 0, 0, 0)
        shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, room.width())
        paint_text(painter, room, shown, self.theme.muted, ((), self.theme.match))


def _trimmed(hit: Hit) -> tuple[str, tuple[Range, ...]]:
    """The snippet from a little before its first hit, so that the hit is seen in a narrow list."""
    text, ranges = hit.snippet
    if not ranges or ranges[0].start <= _BEFORE_HIT:
        return text, ranges
    cut = ranges[0].start - _BEFORE_HIT + 2
    return "…" + text[cut:], tuple(Range(start - cut + 1, end - cut + 1) for start, end in ranges)
