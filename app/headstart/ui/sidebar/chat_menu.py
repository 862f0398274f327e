"""The context menu of one or several chats, and the menu of tags to give them. Knows no history."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from headstart.chat.record import Chat
from headstart.chat.tags import Tag


class TagMenu(QMenu):
    """A tick where all of these chats have the tag."""

    marked = Signal(object, str, bool)  # tuple of chat ids, tag, whether they get it
    new_requested = Signal(object)  # tuple of chat ids

    def __init__(self, chats: Sequence[Chat], tags: Sequence[Tag], parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(self.tr("&Tags"))
        ids = tuple(chat.id for chat in chats)
        for tag in tags:
            self._add(tag.name, ids, given=all(tag.name in chat.tags for chat in chats))
        if tags:
            self.addSeparator()
        self.addAction(self.tr("&New Tag…"), lambda: self.new_requested.emit(ids))

    def _add(self, name: str, ids: tuple[str, ...], *, given: bool) -> None:
        action = self.addAction(name.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(given)
        action.triggered.connect(lambda wanted: self.marked.emit(ids, name, wanted))


class ChatMenu(QMenu):
    """Emits what is wanted and goes when it is closed."""

    rename_requested = Signal(str)
    pin_requested = Signal(object, bool)  # tuple of chat ids
    export_requested = Signal(object)
    delete_requested = Signal(object)

    def __init__(self, chats: Sequence[Chat], tags: Sequence[Tag], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        ids = tuple(chat.id for chat in chats)
        self.tags = TagMenu(chats, tags, self)
        if len(chats) == 1:
            self.addAction(self.tr("&Rename"), lambda: self.rename_requested.emit(ids[0]))
        pinned = all(chat.pinned for chat in chats)
        self.addAction(
            self.tr("Un&pin") if pinned else self.tr("&Pin"), lambda: self.pin_requested.emit(ids, not pinned)
        )
        self.addMenu(self.tags)
        self.addSeparator()
        several = len(ids) > 1
        export = self.tr("&Export {} Chats…").format(len(ids)) if several else self.tr("&Export…")
        self.addAction(export, lambda: self.export_requested.emit(ids))
        delete = self.tr("&Delete {} Chats").format(len(ids)) if several else self.tr("&Delete")
        self.addAction(delete, lambda: self.delete_requested.emit(ids))
