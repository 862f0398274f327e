"""Makes, renames, removes and gives tags as the sidebar asks. Knows the history, but no widget."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.ui.fault_words import said
from headstart.ui.widgets.undoing import Undoable


class TagDesk(QObject):
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
