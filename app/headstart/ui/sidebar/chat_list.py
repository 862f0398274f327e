"""The list of chats by day, or of search hits."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QDate,
    QItemSelection,
    QItemSelectionModel,
    QLocale,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPen, QTextLayout
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from headstart.chat.conversation import Chat
from headstart.chat.history.reader import Hit
from headstart.chat.search import Range
from headstart.ui.formatting import listed, titled
from headstart.ui.sidebar.chats_controller import SidebarContent
from headstart.ui.translation import translate
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.theme import RADIUS, SMALL, TINY, Theme, current

SMALLER = 0.85
_MIN_TAG_SHARE = 0.3  # of a line, which tags may take from a long title
_BAR = 3  # width of the mark of the open chat, in pixels
_HOVER_ALPHA = 0.5


def line_height(font: QFont) -> int:
    return QFontMetrics(font).height()


def small_font(font: QFont, *, bold: bool = False) -> QFont:
    """Return the font of headings and tags."""
    small = QFont(font)
    small.setPointSizeF(font.pointSizeF() * SMALLER)
    small.setBold(bold)
    return small


def paint_background(painter: QPainter, option: QStyleOptionViewItem, theme: Theme, *, is_open: bool = False) -> None:
    """Paint the background of a row that is selected, hovered or open; the focused row has a frame."""
    state: QStyle.StateFlag = option.state
    area: QRect = option.rect
    flag = QStyle.StateFlag
    if is_open or state & (flag.State_Selected | flag.State_MouseOver):
        ground = QColor(theme.raised)
        ground.setAlphaF(1.0 if is_open or state & flag.State_Selected else _HOVER_ALPHA)
        painter.setBrush(ground)
        painter.setPen(QPen(QColor(theme.link), 2) if state & flag.State_HasFocus else Qt.PenStyle.NoPen)
        painter.drawRoundedRect(area.adjusted(TINY + 1, 2, -TINY - 1, -2), RADIUS - 2, RADIUS - 2)
    if is_open:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.accent))
        bar = QRect(area.left() + TINY + 1, area.top() + SMALL, _BAR, area.height() - 2 * SMALL)
        painter.drawRoundedRect(mirrored(painter, area, bar), _BAR / 2, _BAR / 2)


def mirrored(painter: QPainter, area: QRect, part: QRect) -> QRect:
    """Mirror a part within its area if text runs from right to left."""
    return QStyle.visualRect(painter.layoutDirection(), area, part)


def paint_heading(painter: QPainter, area: QRect, title: str, theme: Theme) -> None:
    """Paint a heading, small and bold, at the bottom of its area."""
    painter.setFont(small_font(painter.font(), bold=True))
    painter.setPen(QColor(theme.muted))
    painter.drawText(area, Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, title)


def paint_text(painter: QPainter, area: QRect, text: str, colour: str, marked: tuple[Sequence[Range], str]) -> None:
    """Paint one elided line in the direction of its script. `marked`: ranges and their background colour."""
    metrics = QFontMetrics(painter.font())
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    places, ground = marked
    layout = QTextLayout(elided, painter.font())
    layout.setFormats([_range_format(place, ground) for place in places if place.start < len(elided)])
    layout.beginLayout()
    line = layout.createLine()
    layout.endLayout()
    width = math.ceil(line.naturalTextWidth())
    begin = mirrored(painter, area, QRect(area.left(), area.top(), width, metrics.height())).topLeft()
    painter.setPen(QColor(colour))
    layout.draw(painter, begin.toPointF())


def _range_format(place: Range, ground: str) -> QTextLayout.FormatRange:
    fmt = QTextLayout.FormatRange()
    fmt.start, fmt.length = place.start, place.end - place.start
    fmt.format.setBackground(QColor(ground))
    return fmt


def paint_tags(painter: QPainter, area: QRect, tags: Sequence[str], theme: Theme, *, title: str) -> int:
    """Paint tags at the end of a line, where `title` leaves room, and return their width."""
    painter.save()
    left = area.width() - QFontMetrics(painter.font()).horizontalAdvance(title) - SMALL
    painter.setFont(small_font(painter.font()))
    metrics = QFontMetrics(painter.font())
    right = area.right()
    for name in reversed(fitting_names(tags, metrics, max(left, round(area.width() * _MIN_TAG_SHARE)))):
        chip = QRect(right - _chip_width(name, metrics), area.top() + 1, _chip_width(name, metrics), area.height() - 2)
        right -= chip.width() + TINY
        chip = mirrored(painter, area, chip)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawRoundedRect(chip, TINY, TINY)
        painter.setPen(QColor(theme.muted))
        painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, name)
    painter.restore()
    return area.right() - right


def fitting_names(tags: Sequence[str], metrics: QFontMetrics, room: int) -> list[str]:
    """Return the names that fit into this width in pixels, and "+2" for two others; no name is cut."""
    for num_shown in range(len(tags), 0, -1):
        names = [*tags[:num_shown], *([f"+{len(tags) - num_shown}"] if num_shown < len(tags) else [])]
        if sum(_chip_width(name, metrics) + TINY for name in names) <= room:
            return names
    return [f"+{len(tags)}"] if tags else []


def _chip_width(name: str, metrics: QFontMetrics) -> int:
    return metrics.horizontalAdvance(name) + 2 * TINY + 2


@dataclass(frozen=True)
class ChatGroup:
    """A heading with its chats, last changed first."""

    title: str
    chats: tuple[Chat, ...]


def groups(chats: Iterable[Chat], today: date | None = None) -> tuple[ChatGroup, ...]:
    """Group chats: pinned ones, then by day, and by month before the last 30 days; those of the bin by deletion."""
    today = today or datetime.now().astimezone().date()
    members: dict[str, list[Chat]] = {}
    for chat in sorted(chats, key=lambda chat: (_is_first(chat), chat.deleted or chat.updated), reverse=True):
        day = datetime.fromtimestamp(chat.deleted or chat.updated).astimezone().date()
        title = translate("DayGroups", "Pinned") if _is_first(chat) else _title(day, today)
        members.setdefault(title, []).append(chat)
    return tuple(ChatGroup(title, tuple(group)) for title, group in members.items())


def _is_first(chat: Chat) -> bool:
    return chat.pinned and chat.deleted is None


def _title(day: date, today: date) -> str:
    age = (today - day).days
    if age <= 0:
        return translate("DayGroups", "Today")
    if age == 1:
        return translate("DayGroups", "Yesterday")
    if age <= 7:
        return translate("DayGroups", "Last 7 days")
    if age <= 30:
        return translate("DayGroups", "Last 30 days")
    return QLocale().toString(QDate(day.year, day.month, 1), translate("DayGroups", "MMMM yyyy"))


Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole
CHAT, HIT = Role.UserRole, Role.UserRole + 1
CHATS_MIME = "application/x-headstart-chats"  # one id per line
_NO_INDEX = QModelIndex()


class ChatRow(NamedTuple):
    """A row of the list; without a chat it is a heading."""

    title: str
    chat: Chat | None = None
    hit: Hit | None = None

    @property
    def key(self) -> tuple[str, int | None, str | None]:
        """The identity of what the row shows; headings have none."""
        place = (self.hit.message, self.hit.file) if self.hit else (None, None)
        return (self.chat.id if self.chat else "", *place)


class ChatRows(QAbstractListModel):
    """The model of the list. It updates and appends rows, and is reset only if others were inserted or removed."""

    renamed = Signal(str, str)
    more_requested = Signal()  # the end of the list is visible, and there are older chats

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[ChatRow, ...] = ()
        self._has_more = False

    def show(self, listing: SidebarContent) -> None:
        """Show chats by day, or hits."""
        rows = tuple(self._hit_rows(listing) if listing.query else self._day_rows(listing))
        before, count, self._has_more = self.rows, len(self.rows), listing.has_more
        if not count or [row.key for row in rows[:count]] != [row.key for row in before]:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()
            return
        if len(rows) > count:
            self.beginInsertRows(_NO_INDEX, count, len(rows) - 1)
            self.rows = rows
            self.endInsertRows()
        self.rows = rows
        for number in [number for number in range(count) if before[number] != rows[number]]:
            self.dataChanged.emit(self.index(number), self.index(number))

    def row_of(self, chat_id: str | None) -> QModelIndex:
        """Return the first row of a chat, or an invalid index."""
        numbers = (number for number, row in enumerate(self.rows) if row.chat and row.chat.id == chat_id)
        return self.index(next(numbers, -1))

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Role.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role in (Role.DisplayRole, Role.EditRole):
            return row.title
        if role == CHAT:
            return row.chat
        if role == HIT:
            return row.hit
        if row.chat and role == Role.ToolTipRole:
            file = [self.tr("In the attached file {}").format(row.hit.file)] if row.hit and row.hit.file else []
            return "\n".join([row.title, *([", ".join(row.chat.tags)] if row.chat.tags else []), *file])
        return self._accessible_text(row) if role == Role.AccessibleTextRole else None

    def canFetchMore(self, _parent: Index) -> bool:
        return self._has_more

    def fetchMore(self, _parent: Index) -> None:
        self._has_more = False  # until the listing has them
        self.more_requested.emit()

    def setData(self, index: Index, value: object, role: int = Role.EditRole) -> bool:
        row = self.rows[index.row()]
        if role != Role.EditRole or not row.chat or value == row.title:
            return False
        self.renamed.emit(row.chat.id, str(value))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or not self.rows[index.row()].chat:
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        return flags | Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled

    def mimeTypes(self) -> list[str]:
        return [CHATS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        chats = dict.fromkeys(row.chat.id for row in (self.rows[index.row()] for index in indexes) if row.chat)
        data.setData(CHATS_MIME, "\n".join(chats).encode())
        return data

    def _day_rows(self, listing: SidebarContent) -> Iterator[ChatRow]:
        for group in groups(listing.chats):
            yield ChatRow(group.title)
            yield from (ChatRow(self._title(chat), chat) for chat in group.chats)

    def _hit_rows(self, listing: SidebarContent) -> Iterator[ChatRow]:
        count = len(listing.hits)
        if listing.hits or listing.is_complete:
            yield ChatRow(self.tr("1 result") if count == 1 else self.tr("{} results").format(count))
        yield from (ChatRow(self._title(hit.chat), hit.chat, hit) for hit in listing.hits)

    def _title(self, chat: Chat) -> str:
        return chat.title or self.tr("New chat")

    def _accessible_text(self, row: ChatRow) -> str:
        """Return the text for screen readers."""
        chat = row.chat
        parts = [row.title]
        if chat and chat.pinned:
            parts.append(self.tr("pinned"))
        if chat and chat.tags:
            parts.append(self.tr("tagged {}").format(listed(chat.tags)))
        if row.hit and row.hit.file:
            parts.append(self.tr("in the attached file {}").format(row.hit.file))
        text = listed(parts)
        return titled(text, row.hit.snippet.text) if row.hit and row.hit.message is not None else text


def dragged_chats(data: QMimeData) -> tuple[str, ...]:
    return tuple(bytes(data.data(CHATS_MIME).data()).decode().split())


_MAX_BEFORE_HIT = 12  # characters of context for which a narrow list has room


class ChatPainter(QStyledItemDelegate):
    """The painter of rows. `open_chat` is marked even while other chats are selected."""

    def __init__(self, rows: ChatRows, parent: QWidget) -> None:
        super().__init__(parent)
        self.open_chat: str | None = None
        self._rows = rows
        self._font = QFont()
        self._line = 0

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # Qt calls this for every row, not only for visible ones, so it reads neither roles nor metrics.
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
            is_open = chat.id == self.open_chat and index.data(HIT) is None  # a chat may have several hits
            paint_background(painter, option, current(), is_open=is_open)
            self._paint_chat(painter, area.adjusted(SMALL + TINY, SMALL, -SMALL - TINY, -SMALL), index)
        else:
            inside = area.adjusted(SMALL + TINY, 0, -SMALL - TINY, -TINY)
            paint_heading(painter, inside, str(index.data()), current())
        painter.restore()

    def _paint_chat(self, painter: QPainter, area: QRect, index: Index) -> None:
        hit, chat = index.data(HIT), index.data(CHAT)
        line = line_height(painter.font())
        first = QRect(area.left(), area.top(), area.width(), line)
        tags_width = paint_tags(painter, first, chat.tags, current(), title=str(index.data()))
        in_title = hit.snippet.ranges if isinstance(hit, Hit) and hit.message is None else ()
        title = mirrored(painter, first, first.adjusted(0, 0, -tags_width, 0))
        paint_text(painter, title, str(index.data()), current().text, (in_title, current().match))
        if isinstance(hit, Hit) and hit.message is not None:
            second = first.translated(0, line)
            if hit.file is not None:
                self._paint_file(painter, second, hit.file)
                second = second.translated(0, line)
            text, ranges = _snippet_of(hit)
            paint_text(painter, second, text, current().muted, (ranges, current().match))

    def _paint_file(self, painter: QPainter, area: QRect, name: str) -> None:
        """Paint a paper clip and the name of the file with the hit."""
        clip = QRect(area.left(), area.top(), area.height(), area.height())
        icon("attach").paint(painter, mirrored(painter, area, clip))
        room = mirrored(painter, area, area.adjusted(clip.width() + TINY, 0, 0, 0))
        elided = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, room.width())
        paint_text(painter, room, elided, current().muted, ((), current().match))


def _snippet_of(hit: Hit) -> tuple[str, tuple[Range, ...]]:
    """Return the snippet from shortly before its first hit, so that a narrow list shows the hit."""
    text, ranges = hit.snippet
    if not ranges or ranges[0].start <= _MAX_BEFORE_HIT:
        return text, ranges
    cut = ranges[0].start - _MAX_BEFORE_HIT + 2
    return "…" + text[cut:], tuple(Range(start - cut + 1, end - cut + 1) for start, end in ranges)


_Flag = QItemSelectionModel.SelectionFlag


class ChatList(QListView):
    """The list of chats. Several chats can be selected, one is open."""

    chosen = Signal(str, object)  # chat id, message id or None
    delete_requested = Signal(object)  # tuple of chat ids
    menu_requested = Signal(object, QPoint)  # tuple[Chat, ...], place on screen
    left = Signal()  # Up from the first chat

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = ChatRows(self)
        self._painter = ChatPainter(self.rows, self)
        self._listing: SidebarContent | None = None
        self.setModel(self.rows)
        self.setItemDelegate(self._painter)
        self.setAccessibleName(self.tr("Chats"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setMouseTracking(True)
        self.customContextMenuRequested.connect(self._on_menu_requested)
        self.clicked.connect(self._on_clicked)

    def minimumSizeHint(self) -> QSize:
        """Return the size of one row: in a low sidebar the parts around the list need their room."""
        return QSize(super().minimumSizeHint().width(), line_height(self.font()) + 2 * SMALL)

    def show_listing(self, listing: SidebarContent, current: str | None) -> None:
        """Show chats or hits; `current` is the id of the open chat."""
        if listing != self._listing:
            shown = (listing.query, listing.tag, listing.place)
            is_new_query = self._listing is None or shown != (
                self._listing.query,
                self._listing.tag,
                self._listing.place,
            )
            self._listing = listing
            place, selected, cursor = self.verticalScrollBar().value(), set(self.selected()), self.chat_at_cursor()
            self.rows.show(listing)
            self._restore_selection(selected, cursor)
            self.verticalScrollBar().setValue(0 if is_new_query else place)
        self.set_open(current)

    def set_open(self, chat_id: str | None) -> None:
        """Mark the open chat, and select it if it has changed."""
        has_changed, self._painter.open_chat = chat_id != self._painter.open_chat, chat_id
        self.viewport().update()
        chosen = self.chat_at_cursor()
        if chosen and chosen.id == chat_id and self.selectionModel().hasSelection():
            return  # keep the chosen hit
        if has_changed or not self.selectionModel().hasSelection():
            index = self.rows.row_of(chat_id)
            if index.isValid():
                self.setCurrentIndex(index)
            else:
                self.clearSelection()

    def selected(self) -> tuple[str, ...]:
        """Return the ids of the selected chats, from top to bottom."""
        indexes = sorted(self.selectedIndexes(), key=QModelIndex.row)
        return tuple(dict.fromkeys(index.data(CHAT).id for index in indexes))

    def chat_at_cursor(self) -> Chat | None:
        """Return the chat on which keys act."""
        chat = self.currentIndex().data(CHAT)
        return chat if isinstance(chat, Chat) else None

    def menu_place(self, chat_id: str) -> QPoint:
        index = self.rows.row_of(chat_id)
        area = self.visualRect(index) if index.isValid() else self.viewport().rect()
        return self.viewport().mapToGlobal(area.center())

    def chats(self, ids: tuple[str, ...]) -> tuple[Chat, ...]:
        chats = (self.rows.row_of(id_).data(CHAT) for id_ in ids)
        return tuple(chat for chat in chats if isinstance(chat, Chat))

    def begin_rename(self, chat_id: str) -> None:
        """Edit the title in its row."""
        index = self.rows.row_of(chat_id)
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)
            self.edit(index)

    def go_to_first(self) -> None:
        """Focus the first chat or hit."""
        self.setFocus()
        first = next((number for number, row in enumerate(self.rows.rows) if row.chat), -1)
        if first >= 0:
            self.setCurrentIndex(self.rows.index(first))

    def open_first(self) -> None:
        """Choose the first chat or hit."""
        self.go_to_first()
        self._choose(self.currentIndex())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Ignore the right button: it opens the menu of the row and does not change the selection."""
        if event.button() != Qt.MouseButton.RightButton:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        first = next((number for number, row in enumerate(self.rows.rows) if row.chat), -1)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.currentIndex())
        elif event.key() == Qt.Key.Key_Delete and self.selected():
            self.delete_requested.emit(self.selected())
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= first:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def _restore_selection(self, chats: set[str], cursor: Chat | None) -> None:
        """Restore the selection after the model was reset."""
        if not chats or self.selectionModel().hasSelection():
            return
        selection = QItemSelection()
        for number, row in enumerate(self.rows.rows):
            if row.chat and row.chat.id in chats:
                selection.select(self.rows.index(number), self.rows.index(number))
        if cursor:
            self.selectionModel().setCurrentIndex(self.rows.row_of(cursor.id), _Flag.NoUpdate)
        self.selectionModel().select(selection, _Flag.ClearAndSelect)

    @Slot(QModelIndex)
    def _on_clicked(self, index: QModelIndex) -> None:
        if len(self.selectedIndexes()) == 1:  # a click with Shift or Ctrl only selects
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        chat, hit = index.data(CHAT), index.data(HIT)
        if isinstance(chat, Chat) and chat.deleted is None:
            self.chosen.emit(chat.id, hit)

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        chat = self.indexAt(place).data(CHAT)
        if not isinstance(chat, Chat):
            return
        chosen = self.selected() if chat.id in self.selected() else (chat.id,)
        self.menu_requested.emit(self.chats(chosen), self.viewport().mapToGlobal(place))
