"""The list of chats by day, or of what a search found: choosing, selecting, renaming, dragging. Knows no history."""

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from headstart.chat.record import Chat
from headstart.ui.sidebar.chat_painter import ChatPainter
from headstart.ui.sidebar.chat_rows import CHAT, HIT, ChatRows
from headstart.ui.sidebar.chats import Listing
from headstart.ui.widgets.theme import Theme

_Flag = QItemSelectionModel.SelectionFlag


class ChatList(QListView):
    """Emits what is chosen; headings cannot be. Several chats can be selected, one is open."""

    chosen = Signal(str, object)  # chat id, message id or None
    renamed = Signal(str, str)
    delete_requested = Signal(object)  # tuple of chat ids
    menu_requested = Signal(object, QPoint)  # tuple[Chat, ...], place on screen
    left = Signal()  # Up from the first chat
    more_wanted = Signal()  # older chats than those listed

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = ChatRows(self)
        self._painter = ChatPainter(theme, self._rows, self)
        self._listing: Listing | None = None
        self.setModel(self._rows)
        self.setItemDelegate(self._painter)
        self.setAccessibleName(self.tr("Chats"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setMouseTracking(True)
        self.customContextMenuRequested.connect(self._ask_for_menu)
        self.clicked.connect(self._click)
        self._rows.renamed.connect(self.renamed)
        # Queued: the view is in the middle of scrolling when it asks.
        self._rows.more_wanted.connect(self.more_wanted, Qt.ConnectionType.QueuedConnection)

    def show_listing(self, listing: Listing, current: str | None) -> None:
        """Show chats, or hits; `current` is the open chat."""
        if listing != self._listing:
            asked_anew = self._listing is None or (listing.query, listing.tag) != (
                self._listing.query,
                self._listing.tag,
            )
            self._listing = listing
            place, selected, cursor = self.verticalScrollBar().value(), set(self.selected()), self.chat_at_cursor()
            self._rows.show(listing)
            self._select(selected, cursor)
            self.verticalScrollBar().setValue(0 if asked_anew else place)
        self.mark(current)

    def mark(self, chat_id: str | None) -> None:
        """Show which chat is open; where that is another one than before, select it."""
        moved, self._painter.open_chat = chat_id != self._painter.open_chat, chat_id
        self.viewport().update()
        chosen = self.chat_at_cursor()
        if chosen and chosen.id == chat_id and self.selectionModel().hasSelection():
            return  # of several places where it was found, the one that was chosen
        if moved or not self.selectionModel().hasSelection():
            index = self._rows.row_of(chat_id)
            if index.isValid():
                self.setCurrentIndex(index)
            else:
                self.clearSelection()

    def selected(self) -> tuple[str, ...]:
        """Ids of the selected chats, from top to bottom."""
        indexes = sorted(self.selectedIndexes(), key=QModelIndex.row)
        return tuple(dict.fromkeys(index.data(CHAT).id for index in indexes))

    def chat_at_cursor(self) -> Chat | None:
        """The chat that keys act on."""
        chat = self.currentIndex().data(CHAT)
        return chat if isinstance(chat, Chat) else None

    def place_of(self, chat_id: str) -> QPoint:
        """Where on the screen a menu for this chat belongs."""
        index = self._rows.row_of(chat_id)
        area = self.visualRect(index) if index.isValid() else self.viewport().rect()
        return self.viewport().mapToGlobal(area.center())

    def chats(self, ids: tuple[str, ...]) -> tuple[Chat, ...]:
        """Those of these chats that are listed."""
        found = (self._rows.row_of(id_).data(CHAT) for id_ in ids)
        return tuple(chat for chat in found if isinstance(chat, Chat))

    def begin_rename(self, chat_id: str) -> None:
        """Let the title be typed."""
        index = self._rows.row_of(chat_id)
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index)
            self.edit(index)

    def go_to_first(self) -> None:
        """Take the keyboard, at the first chat or hit."""
        self.setFocus()
        first = next((number for number, row in enumerate(self._rows.rows) if row.chat), -1)
        if first >= 0:
            self.setCurrentIndex(self._rows.index(first))

    def open_first(self) -> None:
        """Choose the first chat or hit."""
        self.go_to_first()
        self._choose(self.currentIndex())

    def set_theme(self, theme: Theme) -> None:
        """Other colours."""
        self._painter.theme = theme
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """The right button opens a menu of the row below it, and leaves what is selected as it was."""
        if event.button() != Qt.MouseButton.RightButton:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        first = next((number for number, row in enumerate(self._rows.rows) if row.chat), -1)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.currentIndex())
        elif event.key() == Qt.Key.Key_Delete and self.selected():
            self.delete_requested.emit(self.selected())
        elif event.key() == Qt.Key.Key_Up and self.currentIndex().row() <= first:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def _select(self, chats: set[str], cursor: Chat | None) -> None:
        """Select again what was selected before the rows were made anew."""
        if not chats or self.selectionModel().hasSelection():
            return
        found = QItemSelection()
        for number, row in enumerate(self._rows.rows):
            if row.chat and row.chat.id in chats:
                found.select(self._rows.index(number), self._rows.index(number))
        if cursor:
            self.selectionModel().setCurrentIndex(self._rows.row_of(cursor.id), _Flag.NoUpdate)
        self.selectionModel().select(found, _Flag.ClearAndSelect)

    @Slot(QModelIndex)
    def _click(self, index: QModelIndex) -> None:
        if len(self.selectedIndexes()) == 1:  # more are selected with Shift or Ctrl, and then none is to be opened
            self._choose(index)

    def _choose(self, index: QModelIndex) -> None:
        chat, hit = index.data(CHAT), index.data(HIT)
        if isinstance(chat, Chat):
            self.chosen.emit(chat.id, hit)

    @Slot(QPoint)
    def _ask_for_menu(self, place: QPoint) -> None:
        chat = self.indexAt(place).data(CHAT)
        if not isinstance(chat, Chat):
            return
        chosen = self.selected() if chat.id in self.selected() else (chat.id,)
        self.menu_requested.emit(self.chats(chosen), self.viewport().mapToGlobal(place))
