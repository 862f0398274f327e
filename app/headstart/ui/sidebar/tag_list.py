"""The list of tags or projects in the sidebar, which are filters and accept dropped chats."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPalette,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from headstart.chat.history.reader import Group
from headstart.ui.sidebar.chat_list import (
    CHATS_MIME,
    Index,
    dragged_chats,
    line_height,
    mirrored,
    paint_background,
    paint_text,
)
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.theme import ICON, SMALL, TINY, current, scaled

TAG = Qt.ItemDataRole.UserRole
_MAX_ROWS = 6


class TagList(QListView):
    """A list of tags or projects, up to six rows high."""

    chosen = Signal(str)  # "" for no filter
    dropped = Signal(object, str)  # tuple of chat ids, tag
    renamed = Signal(str, str)
    delete_requested = Signal(str)
    menu_requested = Signal(str, QPoint)

    def __init__(self, name: str, icon_name: str, parent: QWidget | None = None, *, toggles: bool) -> None:
        """`name` is for screen readers, `icon_name` the icon of a row. `toggles`: a second click ends the filter."""
        super().__init__(parent)
        self._toggles = toggles
        self._items = QStandardItemModel(self)
        self._painter = _TagPainter(icon_name, self)
        self._tags: tuple[Group, ...] = ()
        self.setModel(self._items)
        self.setItemDelegate(self._painter)
        self.setAccessibleName(name)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)
        self.customContextMenuRequested.connect(self._on_menu_requested)
        self.clicked.connect(self._choose)
        self._items.itemChanged.connect(self._on_item_changed)

    def show_tags(self, tags: Sequence[Group], chosen: str) -> None:
        self._painter.chosen = chosen
        self.viewport().update()
        if tuple(tags) == self._tags:
            return
        self._tags, cursor = tuple(tags), self.at_cursor()
        self._items.clear()
        for tag in tags:
            item = QStandardItem(tag.name)
            item.setData(tag, TAG)
            item.setToolTip(tag.name)
            count = self.tr("1 chat") if tag.chats == 1 else self.tr("{} chats").format(tag.chats)
            item.setData(f"{tag.name}, {count}", Qt.ItemDataRole.AccessibleTextRole)
            self._items.appendRow(item)
        self._select(cursor)
        self.updateGeometry()

    def at_cursor(self) -> str:
        """Return the tag on which keys act, or ""."""
        return _name(self.currentIndex())

    def begin_rename(self, name: str) -> None:
        """Edit the name in its row."""
        self._select(name)
        self.edit(self.currentIndex())

    def sizeHint(self) -> QSize:
        rows = min(len(self._tags), _MAX_ROWS)
        return QSize(super().sizeHint().width(), rows * max(self.sizeHintForRow(0), 0) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.currentIndex())
        elif event.key() == Qt.Key.Key_F2 and self.at_cursor():
            self.begin_rename(self.at_cursor())
        elif event.key() == Qt.Key.Key_Delete and self.at_cursor():
            self.delete_requested.emit(self.at_cursor())
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid():
            self.setCurrentIndex(self._items.index(0, 0))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasFormat(CHATS_MIME):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._set_drop_target(_name(self.indexAt(event.position().toPoint())))
        event.setAccepted(bool(self._painter.drop_target))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._set_drop_target("")
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        self._set_drop_target("")
        name, chats = _name(self.indexAt(event.position().toPoint())), dragged_chats(event.mimeData())
        if name and chats:
            event.acceptProposedAction()
            self.dropped.emit(chats, name)

    def _set_drop_target(self, name: str) -> None:
        self._painter.drop_target = name
        self.viewport().update()

    def _select(self, name: str) -> None:
        for row in range(self._items.rowCount()):
            if name and _name(self._items.index(row, 0)) == name:
                self.setCurrentIndex(self._items.index(row, 0))

    @Slot(QModelIndex)
    def _choose(self, index: QModelIndex) -> None:
        name = _name(index)
        if name:
            self.chosen.emit("" if self._toggles and name == self._painter.chosen else name)

    @Slot(QStandardItem)
    def _on_item_changed(self, item: QStandardItem) -> None:
        name = item.data(TAG).name
        if item.text() != name:
            self._tags = ()  # the list is filled again, whether the name is accepted or refused
            self.renamed.emit(name, item.text())

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        name = _name(self.indexAt(place))
        if name:
            self.menu_requested.emit(name, self.viewport().mapToGlobal(place))


class _TagPainter(QStyledItemDelegate):
    """The painter of a row: icon, name and number of chats."""

    def __init__(self, icon_name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon_name = icon_name
        self.chosen = ""
        self.drop_target = ""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(0, line_height(option.font) + SMALL + TINY)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        theme = current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        tag: Group = index.data(TAG)
        paint_background(painter, option, theme, is_open=tag.name in (self.chosen, self.drop_target))
        area: QRect = option.rect
        area = area.adjusted(SMALL + TINY, 0, -SMALL - TINY, 0)
        role = QPalette.ColorRole.Link if tag.name == self.chosen else QPalette.ColorRole.PlaceholderText
        side = scaled(ICON, option.font)
        icon(self._icon_name, role).paint(
            painter, mirrored(painter, area, QRect(area.left(), area.top(), side, area.height()))
        )
        count = painter.fontMetrics().horizontalAdvance(str(tag.chats)) + SMALL
        line = QRect(area.left() + side + SMALL, area.top(), area.width() - side - SMALL - count, area.height())
        line.setTop(area.top() + (area.height() - line_height(option.font)) // 2)
        paint_text(painter, mirrored(painter, area, line), tag.name, theme.text, ((), ""))
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(tag.chats))
        painter.restore()


def _name(index: Index) -> str:
    tag = index.data(TAG) if index.isValid() else None
    return tag.name if isinstance(tag, Group) else ""
