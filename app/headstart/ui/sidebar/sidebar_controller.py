"""Joins the sidebar to the chats, the tags and what can be undone."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal, Slot

from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.ui.sidebar.chats_controller import ChatsController
from headstart.ui.sidebar.sidebar import Sidebar
from headstart.ui.translation import said
from headstart.ui.widgets.undoing import Undoable, Undoing


class TagsController(QObject):
    """Every change is on disk when its method returns."""

    changed = Signal(object)  # dict[str, str]: old names to new ones, "" for a tag that is gone
    undoable = Signal(object)  # Undoable
    troubled = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        """Reads nothing yet."""
        super().__init__(parent)
        self._store = store

    def create(self, name: str, chats: Sequence[str] = ()) -> None:
        """A tag, given to chats."""
        self._change(lambda: self._store.create_tag(name, chats))

    def rename(self, name: str, new: str) -> None:
        """Another name; a name that another tag has is refused."""
        renamed: dict[str, str] = {}
        if new.strip() and new.strip() != name:
            self._change(lambda: renamed.update({name: self._store.rename_tag(name, new)}), renamed)

    def delete(self, name: str) -> None:
        """Remove a tag; its chats stay."""
        had: list[str] = []
        if self._change(lambda: had.extend(self._store.delete_tag(name)), {name: ""}):
            words, told = self.tr("Delete Tag “{}”").format(name), self.tr("Deleted tag “{}”").format(name)
            self.undoable.emit(Undoable(words, told, partial(self.create, name, had)))

    def mark(self, chats: Sequence[str], name: str, given: bool) -> None:
        """Give a tag to chats, or take it from them."""
        if given:
            self.create(name, chats)
        else:
            self._change(lambda: self._store.untag(name, chats))

    def _change(self, write: Callable[[], object], renamed: dict[str, str] | None = None) -> bool:
        try:
            write()
        except HistoryError as error:
            self.troubled.emit(said(error))
            return False
        self.changed.emit({} if renamed is None else renamed)
        return True


class SidebarController(QObject):
    """One for the window."""

    def __init__(
        self,
        sidebar: Sidebar,
        chats: ChatsController,
        tags: TagsController,
        undoing: Undoing,
        parent: QObject | None = None,
    ) -> None:
        """Connects everything, changes nothing."""
        super().__init__(parent)
        self._sidebar, self._chats, self._tags, self._undoing = sidebar, chats, tags, undoing
        self._connect_chats()
        self._connect_tags()
        for part in (chats, tags):
            part.undoable.connect(undoing.keep)
            part.undoable.connect(sidebar.undo_bar.offer)
        undoing.changed.connect(self._note_undo)
        sidebar.undo_bar.undone.connect(undoing.take_back)

    def _connect_chats(self) -> None:
        sidebar, chats = self._sidebar, self._chats
        sidebar.search_changed.connect(chats.search)
        sidebar.tags.chosen.connect(chats.filter)
        # Queued: the view is in the middle of scrolling when it asks.
        sidebar.list.rows.more_wanted.connect(chats.list_more, Qt.ConnectionType.QueuedConnection)
        sidebar.list.rows.renamed.connect(chats.rename)
        sidebar.list.delete_requested.connect(lambda ids: chats.delete(*ids))
        sidebar.pin_requested.connect(lambda ids, pinned: chats.pin(*ids, pinned=pinned))

    def _connect_tags(self) -> None:
        sidebar, tags = self._sidebar, self._tags
        sidebar.tag_created.connect(tags.create)
        sidebar.tag_marked.connect(tags.mark)
        sidebar.tags.renamed.connect(tags.rename)
        sidebar.tags.delete_requested.connect(tags.delete)
        tags.changed.connect(self._chats.follow_tags)
        tags.troubled.connect(self._chats.refresh)  # a name that was refused is still in the list, where it was typed

    @Slot()
    def _note_undo(self) -> None:
        if self._undoing.next is None:
            self._sidebar.undo_bar.hide()
