"""The list of chats by day, or of what a search found, with the hits highlighted. Knows no history."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from headstart.chat.reader import Hit
from headstart.chat.record import Chat
from headstart.chat.search import Range
from headstart.ui.chats import Listing
from headstart.ui.day_groups import groups
from headstart.ui.theme import RADIUS, SMALL, TINY, Theme

Index = QModelIndex | QPersistentModelIndex
CHAT, HIT, HEADING = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1, Qt.ItemDataRole.UserRole + 2


class ChatList(QListView):
    """Emits what is chosen; headings cannot be."""

    chosen = Signal(str, object)  # chat id, message id or None
    renamed = Signal(str, str)
    delete_requested = Signal(str)
    menu_requested = Signal(object, QPoint)  # Chat, place on screen

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items = QStandardItemModel(self)
        self._rows = ChatRows(theme, self)
        self._listing: Listing | None = None
        self.setModel(self._items)
        self.setItemDelegate(self._rows)
        self.setAccessibleName(self.tr("Chats"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setMouseTracking(True)
        self.customContextMenuRequested.connect(self._ask_for_menu)
        self.clicked.connect(self._choose)
        self.activated.connect(self._choose)
        self._items.itemChanged.connect(self._note_edit)

    def show_listing(self, listing: Listing, current: str | None) -> None:
        """Show chats, or hits; `current` is the open chat."""
        if listing != self._listing:
            self._listing = listing
            place = self.verticalScrollBar().value()
            self._items.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self._fill(listing)
            self._items.blockSignals(False)  # noqa: FBT003 - Qt's own signature
            self._items.layoutChanged.emit()
            self.verticalScrollBar().setValue(place)
        self.mark(current)

    def mark(self, chat_id: str | None) -> None:
        """Select the open chat."""
        for row in range(self._items.rowCount()):
            chat = self._items.item(row).data(CHAT)
            if isinstance(chat, Chat) and chat.id == chat_id:
                self.setCurrentIndex(self._items.index(row, 0))
                return
        self.clearSelection()
        self.setCurrentIndex(QModelIndex())

    def chat_at_cursor(self) -> Chat | None:
        """The chat that keys act on."""
        chat = self.currentIndex().data(CHAT)
        return chat if isinstance(chat, Chat) else None

    def begin_rename(self, chat_id: str) -> None:
        """Let the title be typed."""
        self.mark(chat_id)
        if self.currentIndex().isValid():
            self.edit(self.currentIndex())

    def set_theme(self, theme: Theme) -> None:
        """Other colours."""
        self._rows.theme = theme
        self.viewport().update()

    def _fill(self, listing: Listing) -> None:
        self._items.clear()
        if listing.query:
            count = len(listing.hits)
            self._add_heading(self.tr("1 result") if count == 1 else self.tr("{} results").format(count))
            for hit in listing.hits:
                self._add(hit.chat, hit)
            return
        for group in groups(listing.chats):
            self._add_heading(group.title)
            for chat in group.chats:
                self._add(chat, None)

    def _add_heading(self, title: str) -> None:
        item = QStandardItem(title)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setData(True, HEADING)  # noqa: FBT003 - Qt's own signature
        self._items.appendRow(item)

    def _add(self, chat: Chat, hit: Hit | None) -> None:
        title = chat.title or self.tr("New chat")
        item = QStandardItem(title)
        item.setData(chat, CHAT)
        item.setData(hit, HIT)
        item.setToolTip(title)
        described = self.tr("{}, pinned").format(title) if chat.pinned else title
        item.setData(f"{described}: {hit.snippet.text}" if hit else described, Qt.ItemDataRole.AccessibleTextRole)
        self._items.appendRow(item)

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        chat, hit = index.data(CHAT), index.data(HIT)
        if isinstance(chat, Chat):
            self.chosen.emit(chat.id, hit.message if isinstance(hit, Hit) else None)

    @Slot(QStandardItem)
    def _note_edit(self, item: QStandardItem) -> None:
        chat = item.data(CHAT)
        if isinstance(chat, Chat) and item.text() != (chat.title or self.tr("New chat")):
            self.renamed.emit(chat.id, item.text())

    @Slot(QPoint)
    def _ask_for_menu(self, place: QPoint) -> None:
        chat = self.indexAt(place).data(CHAT)
        if isinstance(chat, Chat):
            self.menu_requested.emit(chat, self.viewport().mapToGlobal(place))


class ChatRows(QStyledItemDelegate):
    """Paints a heading, a title, or a title with the neighbourhood of a hit below it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        line = QFontMetrics(option.font).height()
        if index.data(HEADING):
            return QSize(0, line + 2 * SMALL)
        hit = index.data(HIT)
        lines = 2 if isinstance(hit, Hit) and hit.message is not None else 1
        return QSize(0, line * lines + 2 * SMALL)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area: QRect = option.rect
        if index.data(HEADING):
            self._paint_heading(painter, area, str(index.data()))
        else:
            self._paint_ground(painter, option)
            self._paint_chat(painter, area.adjusted(SMALL + TINY, SMALL, -SMALL - TINY, -SMALL), index)
        painter.restore()

    def _paint_heading(self, painter: QPainter, area: QRect, title: str) -> None:
        font = QFont(painter.font())
        font.setPointSizeF(font.pointSizeF() * 0.85)
        font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(QColor(self.theme.muted))
        painter.drawText(
            area.adjusted(SMALL + TINY, 0, 0, -TINY), Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, title
        )

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        state: QStyle.StateFlag = option.state
        area: QRect = option.rect
        if state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.setBrush(QColor(self.theme.raised))
            has_focus = bool(state & QStyle.StateFlag.State_HasFocus)
            painter.setPen(QColor(self.theme.accent) if has_focus else Qt.PenStyle.NoPen)
            painter.drawRoundedRect(area.adjusted(TINY, 1, -TINY, -1), RADIUS - 2, RADIUS - 2)

    def _paint_chat(self, painter: QPainter, area: QRect, index: Index) -> None:
        hit = index.data(HIT)
        title = str(index.data())
        ranges = hit.snippet.ranges if isinstance(hit, Hit) and hit.message is None else ()
        self._draw(painter, area, title, ranges, self.theme.text)
        if isinstance(hit, Hit) and hit.message is not None:
            below = area.translated(0, QFontMetrics(painter.font()).height())
            self._draw(painter, below, *_trimmed(hit), self.theme.muted)

    def _draw(self, painter: QPainter, area: QRect, text: str, ranges: tuple[Range, ...], colour: str) -> None:
        metrics = QFontMetrics(painter.font())
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        for start, end in ranges:
            left = area.left() + metrics.horizontalAdvance(text[:start])
            width = metrics.horizontalAdvance(text[start:end])
            if left < area.right():
                mark = QRect(left, area.top(), min(width, area.right() - left), metrics.height())
                painter.fillRect(mark, QColor(self.theme.match))
        painter.setPen(QColor(colour))
        line = QRect(area.left(), area.top(), area.width(), metrics.height())
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


def _trimmed(hit: Hit) -> tuple[str, tuple[Range, ...]]:
    """The snippet from a little before its first hit, so that the hit is seen in a narrow list."""
    text, ranges = hit.snippet
    if not ranges or ranges[0].start <= 12:
        return text, ranges
    cut = ranges[0].start - 10
    return "…" + text[cut:], tuple(Range(start - cut + 1, end - cut + 1) for start, end in ranges)
