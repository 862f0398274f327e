"""Joins the sidebar to the chats, the tags and what can be undone. Builds none of them."""

from PySide6.QtCore import QObject, Signal, Slot

from headstart.ui.sidebar.chats import Chats
from headstart.ui.sidebar.sidebar import Sidebar
from headstart.ui.sidebar.tag_desk import TagDesk
from headstart.ui.widgets.undoing import Undoing


class SidebarDesk(QObject):
    """One for the window."""

    troubled = Signal(str)

    def __init__(
        self, sidebar: Sidebar, chats: Chats, tags: TagDesk, undoing: Undoing, parent: QObject | None = None
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
        sidebar.undo_requested.connect(undoing.take_back)

    def _connect_chats(self) -> None:
        sidebar, chats = self._sidebar, self._chats
        sidebar.search_changed.connect(chats.search)
        sidebar.filter_changed.connect(chats.filter)
        sidebar.list.more_wanted.connect(chats.list_more)
        sidebar.renamed.connect(chats.rename)
        sidebar.pin_requested.connect(self._pin)
        sidebar.delete_requested.connect(self._delete)

    def _connect_tags(self) -> None:
        sidebar, tags = self._sidebar, self._tags
        sidebar.tag_created.connect(tags.create)
        sidebar.tag_renamed.connect(tags.rename)
        sidebar.tag_deleted.connect(tags.delete)
        sidebar.tag_marked.connect(tags.mark)
        tags.changed.connect(self._chats.follow_tags)
        tags.troubled.connect(self._tell_of_tags)

    @Slot(object, bool)
    def _pin(self, chats: tuple[str, ...], pinned: bool) -> None:
        self._chats.pin(*chats, pinned=pinned)

    @Slot(object)
    def _delete(self, chats: tuple[str, ...]) -> None:
        self._chats.delete(*chats)

    @Slot(str)
    def _tell_of_tags(self, sentence: str) -> None:
        """A name that was refused is still in the list, where it was typed."""
        self.troubled.emit(sentence)
        self._chats.refresh()

    @Slot()
    def _note_undo(self) -> None:
        if self._undoing.next is None:
            self._sidebar.undo_bar.withdraw()
