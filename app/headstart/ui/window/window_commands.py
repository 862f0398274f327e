"""The commands on chats, answers, theme and zoom."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence, QShortcut, QTextDocument
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from headstart.chat.conversation import Role
from headstart.chat.history.store import Store
from headstart.ui.chat.chat_controller import ChatController
from headstart.ui.import_export import ImportExport
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.sidebar.chats_controller import ChatPlace, ChatsController
from headstart.ui.widgets.theme import ThemeChoice
from headstart.ui.widgets.undo_stack import UndoStack
from headstart.ui.window.main_window import MainWindow

_ZOOMS = (50, 67, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300)


class WindowCommands(QObject):
    """The actions of the menus and what they do; `update` disables those that are impossible now."""

    def __init__(
        self,
        window: MainWindow,
        store: Store,
        chats: ChatsController,
        chat_controller: ChatController,
        settings: CurrentSettings,
        undo_stack: UndoStack,
    ) -> None:
        super().__init__(window)
        self._window, self._store, self._chats = window, store, chats
        self._chat_controller, self._settings, self._undo_stack = chat_controller, settings, undo_stack
        self._actions: dict[str, QAction] = window.actions_by_name
        self._import_export = ImportExport(window.chat, store, undo_stack, self._settle, self)
        self._import_export.imported.connect(chats.reload)
        self._window.sidebar.export_requested.connect(lambda ids: self._import_export.export(*ids))
        # Only while there is no answer to stop: then Esc is the key of "stop".
        self._escape_key = QShortcut(QKeySequence(Qt.Key.Key_Escape), window, self._escape)
        for name, slot in self._commands().items():
            self._actions[name].triggered.connect(slot)
        self._window.sidebar.list.selectionModel().selectionChanged.connect(self.update)
        self._connect_view()
        settings.changed.connect(self.update)
        self.update()

    def _settle(self) -> bool:
        """Save everything before chats change in the history; return whether they may."""
        self._chat_controller.composing.save_draft()
        return self._chats.settle()

    @Slot()
    def update(self) -> None:
        """Disable the actions that are impossible now, and tick those that are on."""
        settings, session = self._settings.now, self._chats.current
        stored = bool(session and session.is_stored)
        for name in ("copy_chat", "find"):
            self._actions[name].setEnabled(stored)
        for name in ("rename", "pin", "tags", "archive", "delete", "export"):
            self._actions[name].setEnabled(stored or bool(self._window.sidebar.list.selected()))
        selected = self._window.sidebar.list.chats(self._chat_ids()) if session else ()
        self._actions["pin"].setChecked(bool(selected) and all(chat.pinned for chat in selected))
        path = session.path if session else ()
        answering = bool(session and session.is_answering)
        for name in ("regenerate", "edit_last", "copy_last"):
            self._actions[name].setEnabled(bool(path) and not answering)
        for name in ("continue", "compare"):
            self._actions[name].setEnabled(bool(path) and path[-1].role is Role.ASSISTANT and not answering)
        self._actions["read_aloud"].setEnabled(bool(path) and path[-1].role is Role.ASSISTANT)
        self._actions["stop"].setEnabled(answering)
        self._escape_key.setEnabled(not answering)
        last = self._undo_stack.next
        self._actions["undo"].setText(self.tr("&Undo: {}").format(last.title) if last else self.tr("&Undo"))
        self._actions["origins"].setChecked(settings.show_origins)
        self._actions["enter_sends"].setChecked(settings.enter_sends)
        self._actions[f"theme_{settings.theme}"].setChecked(True)

    def import_file(self, file: Path) -> None:
        """Add the chats of an exported file and open the first of them."""
        self._import_export.read(file, show=self._chats.open)

    def close(self) -> None:
        """Cancel the PDF that is being written."""
        self._import_export.cancel()

    def _commands(self) -> dict[str, Callable[[], object]]:
        chats, sidebar, controller = self._chats, self._window.sidebar, self._chat_controller
        change = self._settings.change
        return {
            "new": sidebar.new_requested.emit,
            "rename": self._rename,
            "pin": lambda: chats.pin(*self._chat_ids(), pinned=self._actions["pin"].isChecked()),
            "tags": lambda: sidebar.open_tag_menu([chat for chat in map(self._store.chat, self._chat_ids()) if chat]),
            "archive": lambda: chats.archive(*self._chat_ids()),
            "delete": lambda: sidebar.list.delete_requested.emit(self._chat_ids()),
            "show_archive": lambda: self._show_place(ChatPlace.ARCHIVE),
            "show_bin": lambda: self._show_place(ChatPlace.BIN),
            "export": lambda: self._import_export.export(*self._chat_ids()),
            "import": self._import_export.import_file,
            "undo": self._undo,
            "copy_last": controller.copy_last,
            "copy_chat": self._copy_chat,
            "stop": self._escape,
            "regenerate": controller.regenerate_last,
            "continue": controller.continue_last,
            "edit_last": controller.edit_last,
            "enter_sends": lambda: change(enter_sends=self._actions["enter_sends"].isChecked()),
            "next_chat": lambda: self._step(1),
            "previous_chat": lambda: self._step(-1),
            "zoom_in": lambda: self._zoom(1),
            "zoom_out": lambda: self._zoom(-1),
            "zoom_reset": lambda: change(zoom=100),
        }

    def _show_place(self, place: ChatPlace) -> None:
        """Show the archive or the bin, in the sidebar."""
        self._actions["sidebar"].setChecked(True)
        self._window.sidebar.search.clear()
        self._chats.show_place(place)
        self._window.sidebar.list.go_to_first()

    def _connect_view(self) -> None:
        self._actions["origins"].toggled.connect(self._show_origins)
        themes = QActionGroup(self)
        for name in ThemeChoice:
            themes.addAction(self._actions[f"theme_{name}"])
            self._actions[f"theme_{name}"].triggered.connect(
                lambda _=True, name=name: self._settings.change(theme=name.value)
            )

    def _chat_ids(self) -> tuple[str, ...]:
        """Return the chats selected in the list, if it has the focus or no stored chat is open; else the open chat."""
        chats, session = self._window.sidebar.list, self._chat_controller.session
        chosen = chats.selected() if chats.hasFocus() or not session.is_stored else ()
        return chosen or (session.chat.id,)

    @Slot()
    def _rename(self) -> None:
        """Rename the tag or chat with the focus, else the open chat."""
        sidebar = self._window.sidebar
        if sidebar.tags.hasFocus() and sidebar.tags.at_cursor():
            sidebar.tags.begin_rename(sidebar.tags.at_cursor())
            return
        chosen = sidebar.list.chat_at_cursor() if sidebar.list.hasFocus() else None
        sidebar.list.begin_rename(chosen.id if chosen else self._chat_ids()[0])

    @Slot()
    def _undo(self) -> None:
        """Undo typing in the focused field, else the last deletion."""
        field = self._window.focusWidget()
        document = field.document() if isinstance(field, QPlainTextEdit) else field
        if isinstance(document, QLineEdit | QTextDocument) and document.isUndoAvailable():
            document.undo()
        else:
            self._undo_stack.undo()

    @Slot(bool)
    def _show_origins(self, shown: bool) -> None:
        self._window.chat.show_origins(shown)
        if shown != self._settings.now.show_origins:
            self._settings.change(show_origins=shown)

    @Slot()
    def _escape(self) -> None:
        """Close the innermost thing: page, search, find bar, comparison, selected messages, reading, edit, answer."""
        window, chat_controller = self._window, self._chat_controller
        if window.pages.currentWidget() is not window.chat:
            window.show_page(window.chat)
        elif window.sidebar.isAncestorOf(window.focusWidget() or window) and window.sidebar.clear():
            return
        elif not window.chat.find_bar.isHidden():
            window.chat.find_bar.close_find()
        elif window.chat.comparison and window.chat.is_comparing and not chat_controller.session.is_answering:
            window.chat.comparison.closed.emit()
        elif window.chat.transcript.selected_messages():
            window.chat.transcript.clear_selection()
        elif window.chat.reading and not window.chat.reading.isHidden():
            window.chat.reading.act()
        elif not chat_controller.composing.cancel_edit():
            chat_controller.stop()

    def _step(self, by: int) -> None:
        chats = [id_ for id_, _ in self._store.titles()]
        if chats:
            here = self._chat_controller.session.chat.id
            at = chats.index(here) + by if here in chats else 0
            self._chats.open(chats[at % len(chats)])

    def _zoom(self, by: int) -> None:
        zoom = self._settings.now.zoom
        nearest = min(range(len(_ZOOMS)), key=lambda at: abs(_ZOOMS[at] - zoom))
        self._settings.change(zoom=_ZOOMS[min(max(nearest + by, 0), len(_ZOOMS) - 1)])

    @Slot()
    def _copy_chat(self) -> None:
        transcript = self._window.chat.transcript
        QGuiApplication.clipboard().setText(transcript.to_markdown(transcript.contents()))
