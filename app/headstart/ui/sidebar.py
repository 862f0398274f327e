"""The left side: new chat, search, the list of chats, undo of a deletion, the page of models. Knows no history."""

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QMenu, QPushButton, QVBoxLayout, QWidget

from headstart.chat.record import Chat
from headstart.ui.chat_list import ChatList
from headstart.ui.chats import Listing
from headstart.ui.icons import icon
from headstart.ui.stylesheet import dress
from headstart.ui.theme import ICON, SMALL, TINY, Theme

_UNDO_MS = 10_000
_TYPING_MS = 120


class Sidebar(QFrame):
    """Emits what a person wants; shows the listing it is given."""

    new_requested = Signal()
    models_requested = Signal()
    search_changed = Signal(str)
    chosen = Signal(str, object)  # chat id, message id or None
    renamed = Signal(str, str)
    pin_requested = Signal(str, bool)
    delete_requested = Signal(str)
    undo_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setAccessibleName(self.tr("Sidebar"))
        self._new = self._button("new", self.tr("New chat"))
        self._models = self._button("models", self.tr("Models"))
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search chats"))
        self.search.setAccessibleName(self.tr("Search chats"))
        self.search.setClearButtonEnabled(True)
        self.list = ChatList(theme, self)
        self._empty = QLabel(self)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        dress(self._empty, "muted")
        self._undo = UndoBar(self)
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._lay_out()
        self._connect()
        self.set_theme(theme)

    def show_listing(self, listing: Listing, current: str | None) -> None:
        """Chats, or what a search found."""
        self.list.show_listing(listing, current)
        nothing = not (listing.hits if listing.query else listing.chats)
        text = self.tr("Nothing found for “{}”.").format(listing.query) if listing.query else self.tr("No chats yet.")
        self._empty.setText(text)
        self._empty.setVisible(nothing)
        self.list.setVisible(not nothing)

    def offer_undo(self, chat: Chat) -> None:
        """A chat was deleted."""
        self._undo.offer(chat)

    def set_theme(self, theme: Theme) -> None:
        """Icons and rows in other colours."""
        self._new.setIcon(icon("new", theme.text))
        self._models.setIcon(icon("models", theme.text))
        self.list.set_theme(theme)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        column.setSpacing(TINY)
        for widget in (self._new, self.search, self._empty):
            column.addWidget(widget)
        column.addWidget(self.list, 1)
        column.addStretch(0)
        column.addWidget(self._undo)
        column.addWidget(self._models)

    def _connect(self) -> None:
        self._new.clicked.connect(self.new_requested)
        self._models.clicked.connect(self.models_requested)
        self.search.textChanged.connect(self._typing.start)
        self._typing.timeout.connect(self._search)
        self.search.returnPressed.connect(self._go_to_list)
        self.list.chosen.connect(self.chosen)
        self.list.renamed.connect(self.renamed)
        self.list.menu_requested.connect(self._open_menu)
        self._undo.undone.connect(self.undo_requested)

    def _button(self, name: str, label: str) -> QPushButton:
        button = QPushButton(label, self)
        button.setObjectName(name)
        dress(button, "flat")
        button.setIconSize(QSize(ICON, ICON))
        button.setStyleSheet("text-align: left")
        return button

    @Slot()
    def _search(self) -> None:
        self.search_changed.emit(self.search.text())

    @Slot()
    def _go_to_list(self) -> None:
        self._typing.stop()
        self._search()
        self.list.setFocus()

    @Slot(object, QPoint)
    def _open_menu(self, chat: Chat, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Rename"), lambda: self.list.begin_rename(chat.id))
        pin = self.tr("Unpin") if chat.pinned else self.tr("Pin")
        menu.addAction(pin, lambda: self.pin_requested.emit(chat.id, not chat.pinned))
        menu.addSeparator()
        menu.addAction(self.tr("Delete"), lambda: self.delete_requested.emit(chat.id))
        menu.popup(place)


class UndoBar(QFrame):
    """Offers for a few seconds to take a deletion back."""

    undone = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._chat: Chat | None = None
        self._label = QLabel(self)
        self._label.setWordWrap(True)
        self._button = QPushButton(self.tr("Undo"), self)
        dress(self._button, "flat")
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.addWidget(self._label, 1)
        row.addWidget(self._button)
        self._button.clicked.connect(self._take_back)
        self._time = QTimer(self, singleShot=True, interval=_UNDO_MS)
        self._time.timeout.connect(self.hide)
        self.hide()

    def offer(self, chat: Chat) -> None:
        """Show the title and start the clock."""
        self._chat = chat
        title = chat.title or self.tr("New chat")
        self._label.setText(self.tr("Deleted “{}”").format(title if len(title) <= 40 else f"{title[:39]}…"))
        self._button.setAccessibleName(self.tr("Undo deleting {}").format(title))
        self.show()
        self._time.start()

    @Slot()
    def _take_back(self) -> None:
        self.hide()
        if self._chat:
            self.undone.emit(self._chat.id)
