"""The sidebar: new chat, search, projects, tags, chats, undo and the button of the models page."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from headstart.chat.conversation import Chat
from headstart.chat.history.reader import Group
from headstart.ui.formatting import listed
from headstart.ui.sidebar.chat_list import SMALLER, ChatList
from headstart.ui.sidebar.chats_controller import BIN_DAYS, ChatPlace, ChatsController, SidebarContent, TagsController
from headstart.ui.sidebar.projects import ProjectsController
from headstart.ui.sidebar.tag_list import TagList
from headstart.ui.widgets.icons import icon, icon_button
from headstart.ui.widgets.labels import Heading, button, muted
from headstart.ui.widgets.layouts import beside, confirm, set_margins, stacked, style_dialog
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.progress import NoticeBar
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import SMALL, TINY, scaled
from headstart.ui.widgets.undo_stack import Undoable, UndoStack


class TagMenu(Menu):
    """The menu of tags; a tag is checked if all chats have it."""

    def __init__(self, chats: Sequence[Chat], tags: Sequence[Group], sidebar: "Sidebar", parent: QWidget) -> None:
        super().__init__(parent)
        self._sidebar = sidebar
        self.setTitle(self.tr("&Tags"))
        ids = tuple(chat.id for chat in chats)
        for tag in tags:
            self._add(tag.name, ids, is_checked=all(tag.name in chat.tags for chat in chats))
        if tags:
            self.addSeparator()
        self.addAction(self.tr("&New Tag…"), lambda: sidebar.ask_for_tag(ids))

    def _add(self, name: str, ids: tuple[str, ...], *, is_checked: bool) -> None:
        action = self.addAction(name.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(is_checked)
        action.triggered.connect(lambda checked: self._sidebar.tag_marked.emit(ids, name, checked))


class ProjectMenu(Menu):
    """The menu of projects; a project is checked if all chats are in it."""

    def __init__(self, chats: Sequence[Chat], projects: Sequence[Group], sidebar: "Sidebar", parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(self.tr("&Move to Project"))
        self._sidebar = sidebar
        ids, within = tuple(chat.id for chat in chats), {chat.project for chat in chats}
        for project in projects:
            self._add(project.name.replace("&", "&&"), ids, project.name, within)
        self._add(self.tr("No Project"), ids, "", within)
        self.addSeparator()
        self.addAction(self.tr("&New Project…"), lambda: sidebar.new_project_requested.emit(ids))

    def _add(self, words: str, ids: tuple[str, ...], name: str, within: set[str]) -> None:
        action = self.addAction(words)
        action.setCheckable(True)
        action.setChecked(within == {name})
        action.triggered.connect(lambda: self._sidebar.move_requested.emit(ids, name))


class ChatMenu(Menu):
    """The menu of chats. Its actions make the sidebar emit signals."""

    def __init__(self, chats: Sequence[Chat], listing: SidebarContent, sidebar: "Sidebar") -> None:
        super().__init__(sidebar)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        ids = tuple(chat.id for chat in chats)
        if any(chat.deleted is not None for chat in chats):
            self.addAction(self.tr("&Restore"), lambda: sidebar.restore_requested.emit(ids))
            self.addAction(self.tr("&Delete for Good…"), lambda: sidebar.list.delete_requested.emit(ids))
            return
        if len(chats) == 1:
            self.addAction(self.tr("&Rename"), lambda: sidebar.list.begin_rename(ids[0]))
        pinned = all(chat.pinned for chat in chats)
        self.addAction(
            self.tr("Un&pin") if pinned else self.tr("&Pin"), lambda: sidebar.pin_requested.emit(ids, not pinned)
        )
        self.addMenu(TagMenu(chats, listing.tags, sidebar, self))
        self.addMenu(ProjectMenu(chats, listing.projects, sidebar, self))
        self.addSeparator()
        several = len(ids) > 1
        export = self.tr("&Export {} Chats…").format(len(ids)) if several else self.tr("&Export…")
        self.addAction(export, lambda: sidebar.export_requested.emit(ids))
        archived = all(chat.archived for chat in chats)
        one, more = (
            (self.tr("Un&archive"), self.tr("Un&archive {} Chats"))
            if archived
            else (self.tr("&Archive"), self.tr("&Archive {} Chats"))
        )
        archive = more.format(len(ids)) if several else one
        self.addAction(archive, lambda: sidebar.archive_requested.emit(ids, not archived))
        delete = self.tr("&Delete {} Chats").format(len(ids)) if several else self.tr("&Delete")
        self.addAction(delete, lambda: sidebar.list.delete_requested.emit(ids))


_UNDO_MS = 10_000
_LOW = 500  # pixels at the usual size of text; a lower sidebar has no room for all its parts
_TYPING_MS = 40  # the pause of a fast typist between two letters


class PlaceBar(QFrame):
    """The head of the list while it shows a project, a tag, the archive or the bin, with the way back to all chats."""

    left = Signal()
    restore_requested = Signal()
    empty_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading("", 1.0, self)
        self._about = muted("", self)
        self._leave = button(self.tr("All chats"), self, "flat")
        self._leave.setIcon(icon("previous"))
        self.restore, self._empty = button(self.tr("Restore"), self), button(self.tr("Empty now…"), self)
        head = beside(None, self._leave)
        head.addStretch(1)
        words = stacked(None, self._title, self._about, spacing=TINY)
        set_margins(words, start=SMALL, top=0, end=0, bottom=0)
        foot = beside(None, self.restore, self._empty, spacing=TINY)
        foot.addStretch(1)
        foot.setContentsMargins(0, TINY, 0, 0)
        set_margins(stacked(self, head, words, foot, spacing=TINY), start=TINY, top=TINY, end=TINY, bottom=0)
        self._leave.clicked.connect(self.left)
        self.restore.clicked.connect(self.restore_requested)
        self._empty.clicked.connect(self.empty_requested)

    def show_place(self, listing: SidebarContent) -> None:
        is_bin = listing.place is ChatPlace.BIN
        about = {
            ChatPlace.LIST: "",
            ChatPlace.ARCHIVE: self.tr("The search finds these chats, too."),
            ChatPlace.BIN: self.tr("After {} days they are deleted for good.").format(BIN_DAYS),
        }
        titles = {ChatPlace.LIST: "", ChatPlace.ARCHIVE: self.tr("Archive"), ChatPlace.BIN: self.tr("Recently deleted")}
        filters = () if is_bin else (listing.project, listing.tag)
        self._title.setText(listed(filter(None, (titles[listing.place], *filters))))
        self._about.setText(about[listing.place])
        self._about.setVisible(listing.place is not ChatPlace.LIST)
        for part in (self.restore, self._empty):
            part.setVisible(is_bin and bool(listing.num_deleted))
        self.setVisible(bool(self._title.text()) and not listing.query)


class Sidebar(QFrame):
    """The sidebar, which shows a listing and emits what the user does. Its signals carry tuples of chat ids."""

    new_requested = Signal()
    search_changed = Signal(str)
    pin_requested = Signal(object, bool)
    export_requested = Signal(object)
    tag_created = Signal(str, object)  # name, chats that get it
    tag_marked = Signal(object, str, bool)  # chats, tag, whether they get or lose it
    new_project_requested = Signal(object)  # chats that go into it
    project_edit_requested = Signal(str)  # name
    move_requested = Signal(object, str)  # chats, project or ""
    archive_requested = Signal(object, bool)  # chats, whether they go there or back
    restore_requested = Signal(object)
    place_requested = Signal(object)  # Place
    empty_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setAccessibleName(self.tr("Sidebar"))
        self._listing = SidebarContent(())
        self._query = ""  # the last query
        self._opens_first = False  # Enter was pressed before there were hits
        self._new = self._button("new", self.tr("New chat"), self)
        self._ways = QWidget(self)
        self.archive, self.bin = self._button("archive", "", self._ways), self._button("bin", "", self._ways)
        self.models = self._button("models", self.tr("Models"), self._ways)
        self.place = PlaceBar(self)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search chats"))
        self.search.setAccessibleName(self.tr("Search chats"))
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        self._groups = QWidget(self)
        self.projects = TagList(self.tr("Projects"), "project", self._groups, toggles=False)
        self._new_project = icon_button("new", self.tr("New project"), self._groups)
        self.tags = TagList(self.tr("Tags"), "tag", self._groups, toggles=True)
        self._new_tag = icon_button("new", self.tr("New tag"), self._groups)
        self.list = ChatList(self)
        self._empty = QLabel(self)
        self.undo_bar = NoticeBar(self, shown_ms=_UNDO_MS)
        self._search_timer = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._lay_out()
        self._connect()

    def show_listing(self, listing: SidebarContent, current: str | None) -> None:
        """Show chats, or the hits of a search so far."""
        self._listing = listing
        for part, tags, chosen in (
            (self.projects, listing.projects, listing.project),
            (self.tags, listing.tags, listing.tag),
        ):
            part.show_tags(tags, chosen)
            part.setVisible(bool(tags))
        self.list.show_listing(listing, current)
        self.place.show_place(listing)
        self._fit()
        self._on_selection_changed()
        self._show_places(listing)
        is_empty = listing.is_complete and not (listing.hits if listing.query else listing.chats)
        self._empty.setText(self._empty_text(listing))
        self._empty.setVisible(is_empty)
        self.list.setVisible(not is_empty)
        if self._opens_first and listing.query == self.search.text().strip():
            self._open_first()

    def open_tag_menu(self, chats: Sequence[Chat]) -> None:
        """Open the menu of tags for chats, beside the first of them."""
        if chats:
            menu = TagMenu(chats, self._listing.tags, self, self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.list.menu_place(chats[0].id))

    def ask_for_tag(self, chats: Sequence[str] = ()) -> None:
        """Ask for the name of a new tag for these chats."""
        dialog = QInputDialog(self)
        style_dialog(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(self.tr("New tag"))
        dialog.setLabelText(self.tr("Name of the tag:"))
        dialog.textValueSelected.connect(lambda name: self.tag_created.emit(name, tuple(chats)))
        dialog.open()

    @property
    def num_deleted(self) -> int:
        return self._listing.num_deleted

    def clear(self) -> bool:
        """End a search, or else a filter. Return False if there is neither."""
        if self.search.text():
            self.search.clear()
        elif self._listing.tag:
            self.tags.chosen.emit("")
        elif self._listing.project:
            self.projects.chosen.emit("")
        elif self._listing.place is not ChatPlace.LIST:
            self.place_requested.emit(ChatPlace.LIST)
        else:
            return False
        return True

    def _show_places(self, listing: SidebarContent) -> None:
        """Show the buttons of the archive and of the bin, unless these are empty."""
        for way, words, count, place in (
            (self.archive, self.tr("Archive ({})"), listing.num_archived, ChatPlace.ARCHIVE),
            (self.bin, self.tr("Recently deleted ({})"), listing.num_deleted, ChatPlace.BIN),
        ):
            way.setText(words.format(count))
            way.setVisible(bool(count) and listing.place is not place)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go to the first hit at Down in the search field."""
        down = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Down
        if watched is self.search and down and event.type() == QEvent.Type.KeyPress:
            self._search_now()
            self.list.go_to_first()
            return True
        return super().eventFilter(watched, event)

    def _lay_out(self) -> None:
        self._empty.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(SMALL + TINY, SMALL, SMALL, SMALL)
        set_style_class(self._empty, "muted")
        self._new_tag.setToolTip(self.tr("New tag; chats can be dragged onto tags"))
        self._new_project.setToolTip(self.tr("New project; chats can be dragged onto projects"))
        projects = self._head(self.tr("Projects"), self._new_project)
        tags = self._head(self.tr("Tags"), self._new_tag)
        stacked(self._groups, projects, self.projects, tags, self.tags, spacing=TINY)
        column = stacked(self, self._new, self.search, self._groups, self.place, margin=SMALL, spacing=TINY)
        for part in (self._empty, self.list):
            column.addWidget(part, 1)
        column.addStretch(0)
        stacked(self._ways, self.archive, self.bin, self.models, spacing=TINY)
        for below in (self.undo_bar, self._ways):
            column.addWidget(below)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Give a low sidebar to the head of the list: "All chats" brings projects, tags and other places back."""
        is_low = self.height() < scaled(_LOW, self.font())
        for part in (self._groups, self._ways):
            part.setHidden(is_low and not self.place.isHidden())

    def _head(self, title: str, new: QToolButton) -> QHBoxLayout:
        """Return a heading with a button that adds an item."""
        heading = Heading(title, SMALLER, self._groups)
        set_style_class(heading, "muted")
        head = beside(None, heading, new, spacing=TINY, growing=heading)
        set_margins(head, start=SMALL + TINY, top=0, end=TINY, bottom=0)
        return head

    def _connect(self) -> None:
        self._new.clicked.connect(self.new_requested)
        self._new_tag.clicked.connect(lambda: self.ask_for_tag(()))
        self._new_project.clicked.connect(lambda: self.new_project_requested.emit(()))
        self.archive.clicked.connect(lambda: self.place_requested.emit(ChatPlace.ARCHIVE))
        self.bin.clicked.connect(lambda: self.place_requested.emit(ChatPlace.BIN))
        self.place.left.connect(self._list_all)
        self.list.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.place.empty_requested.connect(self.empty_requested)
        self.place.restore_requested.connect(lambda: self.restore_requested.emit(self.list.selected()))
        self.projects.dropped.connect(self.move_requested)
        self.projects.menu_requested.connect(self._on_project_menu_requested)
        self.search.textChanged.connect(self._on_typing)
        self._search_timer.timeout.connect(self._search_now)
        self.search.returnPressed.connect(self._open_first)
        self.list.menu_requested.connect(lambda chats, place: ChatMenu(chats, self._listing, self).popup(place))
        self.list.left.connect(self.search.setFocus)
        self.tags.dropped.connect(lambda chats, tag: self.tag_marked.emit(chats, tag, True))  # noqa: FBT003 - a signal
        self.tags.menu_requested.connect(self._on_tag_menu_requested)

    def _empty_text(self, listing: SidebarContent) -> str:
        if listing.query and listing.tag:
            return self.tr("Nothing found for “{}” in chats tagged “{}”.").format(listing.query, listing.tag)
        if listing.query:
            return self.tr("Nothing found for “{}”.").format(listing.query)
        if listing.tag:
            return self.tr("No chat is tagged “{}” yet. Drag chats onto it, or use their menu.").format(listing.tag)
        if listing.project:
            return self.tr("No chat is in “{}” yet. Begin one, or drag chats onto it.").format(listing.project)
        if listing.place is ChatPlace.BIN:
            return self.tr("Nothing was deleted in the last {} days.").format(BIN_DAYS)
        if listing.place is ChatPlace.ARCHIVE:
            return self.tr("No chat is archived. The menu of a chat can archive it.")
        return self.tr("No chats yet. A chat appears here after its first message.")

    def _button(self, name: str, label: str, parent: QWidget) -> QPushButton:
        button = QPushButton(label, parent)
        button.setIcon(icon(name, QPalette.ColorRole.WindowText))
        set_style_class(button, "flat")
        button.setStyleSheet("text-align: left")
        return button

    @Slot()
    def _list_all(self) -> None:
        """End the filters, and return from the archive or the bin."""
        listing = self._listing
        if listing.place is not ChatPlace.LIST:
            self.place_requested.emit(ChatPlace.LIST)
        if listing.tag:
            self.tags.chosen.emit("")
        if listing.project:
            self.projects.chosen.emit("")

    @Slot()
    def _search_now(self) -> None:
        self._search_timer.stop()
        query = self.search.text().strip()
        if query != self._query:
            self._query = query
            self.search_changed.emit(query)

    @Slot()
    def _on_typing(self) -> None:
        self._opens_first = False
        self._search_timer.start()

    @Slot()
    def _open_first(self) -> None:
        """Open the first hit as soon as there is one."""
        self._search_now()
        results = self._listing if self._query and self._listing.query == self._query else None
        self._opens_first = bool(self._query) and not (results and (results.hits or results.is_complete))
        if results and results.hits:
            self.list.open_first()

    @Slot()
    def _on_selection_changed(self) -> None:
        self.place.restore.setEnabled(bool(self.list.selected()))

    @Slot(str, QPoint)
    def _on_tag_menu_requested(self, name: str, place: QPoint) -> None:
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Rename"), lambda: self.tags.begin_rename(name))
        menu.addAction(self.tr("&Delete (Chats Stay)"), lambda: self.tags.delete_requested.emit(name))
        menu.popup(place)

    @Slot(str, QPoint)
    def _on_project_menu_requested(self, name: str, place: QPoint) -> None:
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Edit…"), lambda: self.project_edit_requested.emit(name))
        menu.addAction(self.tr("&Rename"), lambda: self.projects.begin_rename(name))
        menu.addAction(self.tr("&Delete (Chats Stay)…"), lambda: self.projects.delete_requested.emit(name))
        menu.popup(place)


class SidebarController(QObject):
    """Controller that connects the sidebar with chats, tags, projects and undo."""

    def __init__(
        self,
        sidebar: Sidebar,
        chats: ChatsController,
        tags: TagsController,
        projects: ProjectsController,
        undo_stack: UndoStack,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._sidebar, self._chats, self._tags, self._undo_stack = sidebar, chats, tags, undo_stack
        self._connect_chats()
        self._connect_tags()
        self._connect_projects(projects)
        for part in (chats, tags):
            part.undoable.connect(undo_stack.push)
            part.undoable.connect(self._on_undoable)
        undo_stack.changed.connect(self._on_undo_stack_changed)

    def _connect_chats(self) -> None:
        sidebar, chats = self._sidebar, self._chats
        sidebar.search_changed.connect(chats.search)
        sidebar.tags.chosen.connect(chats.filter)
        # Queued, because the view emits it while it scrolls.
        sidebar.list.rows.more_requested.connect(chats.list_more, Qt.ConnectionType.QueuedConnection)
        sidebar.list.rows.renamed.connect(chats.rename)
        sidebar.list.delete_requested.connect(self._on_delete_requested)
        sidebar.archive_requested.connect(lambda ids, archived: chats.archive(*ids, archived=archived))
        sidebar.restore_requested.connect(self._on_restore_requested)
        sidebar.place_requested.connect(chats.show_place)
        sidebar.new_requested.connect(lambda: chats.show_place(ChatPlace.LIST))
        sidebar.empty_requested.connect(self._on_empty_requested)
        chats.destroyed_chats.connect(self._on_destroyed)
        sidebar.pin_requested.connect(lambda ids, pinned: chats.pin(*ids, pinned=pinned))

    def _connect_tags(self) -> None:
        sidebar, tags = self._sidebar, self._tags
        sidebar.tag_created.connect(tags.create)
        sidebar.tag_marked.connect(tags.set_tag)
        sidebar.tags.renamed.connect(tags.rename)
        sidebar.tags.delete_requested.connect(tags.delete)
        tags.changed.connect(self._chats.follow_tags)
        tags.error_occurred.connect(self._chats.refresh)  # the list still shows the name that was refused

    def _connect_projects(self, projects: ProjectsController) -> None:
        sidebar = self._sidebar
        sidebar.projects.chosen.connect(self._chats.show_project)
        projects.created.connect(self._chats.show_project)
        sidebar.move_requested.connect(self._chats.move)
        sidebar.new_project_requested.connect(projects.create)
        sidebar.project_edit_requested.connect(projects.edit)
        sidebar.projects.renamed.connect(projects.rename)
        sidebar.projects.delete_requested.connect(projects.delete)
        projects.changed.connect(self._chats.follow_projects)
        projects.error_occurred.connect(self._chats.refresh)

    @Slot(object)
    def _on_delete_requested(self, ids: tuple[str, ...]) -> None:
        """Move chats to the bin, or delete those of the bin for good."""
        if not any(chat.deleted is not None for chat in self._sidebar.list.chats(ids)):
            self._chats.delete(*ids)
        elif self._confirm(len(ids)):
            self._chats.destroy(*ids)

    @Slot(object)
    def _on_restore_requested(self, ids: tuple[str, ...]) -> None:
        if ids:
            self._chats.restore(*ids)

    @Slot()
    def _on_empty_requested(self) -> None:
        if self._confirm(self._sidebar.num_deleted):
            self._chats.destroy()

    def _confirm(self, count: int) -> bool:
        """Ask whether to delete so many chats for good."""
        question = (
            self.tr("Delete this chat for good?")
            if count == 1
            else self.tr("Delete these {} chats for good?").format(count)
        )
        more = self.tr(
            "This cannot be undone, and reaches the backups, too. Damaged histories that were kept are deleted."
        )
        return confirm(self._sidebar.window(), self.tr("Delete for good"), question, self.tr("Delete for Good"), more)

    @Slot(int)
    def _on_destroyed(self, count: int) -> None:
        words = self.tr("Deleted 1 chat for good") if count == 1 else self.tr("Deleted {} chats for good").format(count)
        self._sidebar.undo_bar.say(words)

    @Slot()
    def _on_undo_stack_changed(self) -> None:
        if self._undo_stack.next is None:
            self._sidebar.undo_bar.hide()

    @Slot(object)
    def _on_undoable(self, undoable: Undoable) -> None:
        undo, name = partial(self._undo_stack.undo_action, undoable), self.tr("Undo: {}").format(undoable.title)
        self._sidebar.undo_bar.say(undoable.sentence, self.tr("Undo"), undo, action_name=name)
