"""The rows of the list of chats: headings, chats, hits of a search. Knows no widget and no history."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import QAbstractListModel, QMimeData, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from headstart.chat.reader import Hit
from headstart.chat.record import Chat
from headstart.ui.sidebar.chats import Listing
from headstart.ui.sidebar.day_groups import groups
from headstart.ui.spelling import listed, titled

Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole
CHAT, HIT = Role.UserRole, Role.UserRole + 1
CHATS_MIME = "application/x-headstart-chats"  # ids, one a line
_NOWHERE = QModelIndex()


class Row(NamedTuple):
    """One line; without a chat it is a heading."""

    title: str
    chat: Chat | None = None
    hit: Hit | None = None

    @property
    def key(self) -> tuple[str, int | None, str | None]:
        """What the row is about, whatever has changed in it; headings are about nothing."""
        place = (self.hit.message, self.hit.file) if self.hit else (None, None)
        return (self.chat.id if self.chat else "", *place)


class ChatRows(QAbstractListModel):
    """Rows that changed are painted anew and further ones added; all are made anew only where some came or went."""

    renamed = Signal(str, str)
    more_wanted = Signal()  # the end of what is listed was seen, and there is more

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[Row, ...] = ()
        self._has_more = False

    def show(self, listing: Listing) -> None:
        """Show chats by day, or hits."""
        rows = tuple(self._hits(listing) if listing.query else self._days(listing))
        before, count, self._has_more = self.rows, len(self.rows), listing.has_more
        if not count or [row.key for row in rows[:count]] != [row.key for row in before]:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()
            return
        if len(rows) > count:
            self.beginInsertRows(_NOWHERE, count, len(rows) - 1)
            self.rows = rows
            self.endInsertRows()
        self.rows = rows
        for number in [number for number in range(count) if before[number] != rows[number]]:
            self.dataChanged.emit(self.index(number), self.index(number))

    def row_of(self, chat_id: str | None) -> QModelIndex:
        """The first row of a chat; an invalid index where there is none."""
        found = (number for number, row in enumerate(self.rows) if row.chat and row.chat.id == chat_id)
        return self.index(next(found, -1))

    def rowCount(self, parent: Index = _NOWHERE) -> int:  # noqa: N802
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
        return self._described(row) if role == Role.AccessibleTextRole else None

    def canFetchMore(self, _parent: Index) -> bool:  # noqa: N802
        return self._has_more

    def fetchMore(self, _parent: Index) -> None:  # noqa: N802
        self._has_more = False  # until they are there
        self.more_wanted.emit()

    def setData(self, index: Index, value: object, role: int = Role.EditRole) -> bool:  # noqa: N802
        row = self.rows[index.row()]
        if role != Role.EditRole or not row.chat or value == row.title:
            return False
        self.renamed.emit(row.chat.id, str(value))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or not self.rows[index.row()].chat:
            return Qt.ItemFlag.NoItemFlags
        given = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
        return given | Qt.ItemFlag.ItemIsEditable | Qt.ItemFlag.ItemIsDragEnabled

    def mimeTypes(self) -> list[str]:  # noqa: N802
        return [CHATS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:  # noqa: N802
        data = QMimeData()
        chats = dict.fromkeys(row.chat.id for row in (self.rows[index.row()] for index in indexes) if row.chat)
        data.setData(CHATS_MIME, "\n".join(chats).encode())
        return data

    def _days(self, listing: Listing) -> Iterator[Row]:
        for group in groups(listing.chats):
            yield Row(group.title)
            yield from (Row(self._title(chat), chat) for chat in group.chats)

    def _hits(self, listing: Listing) -> Iterator[Row]:
        count = len(listing.hits)
        if listing.hits or listing.is_complete:
            yield Row(self.tr("1 result") if count == 1 else self.tr("{} results").format(count))
        yield from (Row(self._title(hit.chat), hit.chat, hit) for hit in listing.hits)

    def _title(self, chat: Chat) -> str:
        return chat.title or self.tr("New chat")

    def _described(self, row: Row) -> str:
        """What a screen reader says."""
        chat = row.chat
        parts = [row.title]
        if chat and chat.pinned:
            parts.append(self.tr("pinned"))
        if chat and chat.tags:
            parts.append(self.tr("tagged {}").format(listed(chat.tags)))
        if row.hit and row.hit.file:
            parts.append(self.tr("in the attached file {}").format(row.hit.file))
        said = listed(parts)
        return titled(said, row.hit.snippet.text) if row.hit and row.hit.message is not None else said


def dragged_chats(data: QMimeData) -> tuple[str, ...]:
    """Ids of the chats that are dragged."""
    return tuple(bytes(data.data(CHATS_MIME).data()).decode().split())
