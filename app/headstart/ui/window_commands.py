"""What the commands of menus, keys and palette do. Knows the program's parts, builds none of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QTextDocument
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QTextEdit

from headstart.chat.conversation import Role
from headstart.ui.command_palette import CommandPalette
from headstart.ui.dialogs import Dialogs
from headstart.ui.exchange.exchange import Exchange
from headstart.ui.exchange.pdf_saving import PdfSaving

if TYPE_CHECKING:
    from headstart.ui.program import Program

_ZOOMS = (50, 67, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300)


class WindowCommands(QObject):
    """Connects every action once; `update` greys what cannot be done now."""

    def __init__(self, program: Program) -> None:
        """The window and everything behind it exist by now."""
        super().__init__(program)
        self._program = program
        self._window = program.window
        self._actions: dict[str, QAction] = self._window.actions_by_name
        self._dialogs = Dialogs(program)
        self._exchange = Exchange(self._window, program.store, self._window.chat.notice, self)
        self._exchange.imported.connect(program.chats.refresh)
        self._show_work(self._exchange.pdf)
        self._window.sidebar.export_requested.connect(lambda ids: self._exchange.export(*ids))
        for name, act in {**self._file(), **self._edit(), **self._chat(), **self._rest()}.items():
            self._actions[name].triggered.connect(act)
        self._window.sidebar.list.selectionModel().selectionChanged.connect(self.update)
        self._toggles()
        program.settings_changed.connect(self.update)
        self.update()

    @Slot()
    def update(self) -> None:
        """Grey what cannot be done, tick what is on."""
        program, session = self._program, self._program.chats.current
        stored = bool(session and session.is_stored)
        for name in ("copy_chat", "find"):
            self._actions[name].setEnabled(stored)
        for name in ("rename", "pin", "tags", "delete", "export"):
            self._actions[name].setEnabled(stored or bool(self._window.sidebar.list.selected()))
        meant = self._window.sidebar.list.chats(self._chat_ids()) if session else ()
        self._actions["pin"].setChecked(bool(meant) and all(chat.pinned for chat in meant))
        path = session.path if session else ()
        answering = bool(session and session.is_answering)
        for name in ("regenerate", "edit_last", "copy_last"):
            self._actions[name].setEnabled(bool(path) and not answering)
        self._actions["continue"].setEnabled(bool(path) and path[-1].role is Role.ASSISTANT and not answering)
        self._offer_undo()
        self._actions["unload"].setEnabled(program.loader.is_ready)
        self._actions["origins"].setChecked(program.settings.show_origins)
        self._actions["enter_sends"].setChecked(program.settings.enter_sends)
        self._actions[f"theme_{program.settings.theme}"].setChecked(True)

    def bring_in(self, file: Path) -> None:
        """Add the chats of an exported file and open the first of them."""
        added = self._exchange.read(file)
        if added:
            self._program.chats.open(added[0])

    def close(self) -> None:
        """What is being written is given up."""
        self._exchange.pdf.cancel()

    def _show_work(self, pdf: PdfSaving) -> None:
        bar = self._window.chat.work
        pdf.began.connect(lambda name: bar.begin(self.tr("Writing {}").format(name)))
        pdf.progressed.connect(bar.show_progress)
        pdf.ended.connect(bar.end)
        bar.cancel_requested.connect(pdf.cancel)

    def _file(self) -> dict[str, Callable[[], object]]:
        program, sidebar = self._program, self._window.sidebar
        return {
            "new": sidebar.new_requested.emit,
            "rename": self._rename,
            "pin": lambda: program.chats.pin(*self._chat_ids(), pinned=self._actions["pin"].isChecked()),
            "tags": lambda: sidebar.open_tag_menu([chat for chat in map(program.store.chat, self._chat_ids()) if chat]),
            "delete": lambda: program.chats.delete(*self._chat_ids()),
            "export": lambda: self._exchange.export(*self._chat_ids()),
            "import": self._exchange.bring_in,
            "quit": self._window.close,
        }

    def _edit(self) -> dict[str, Callable[[], object]]:
        return {
            "undo": self._undo,
            **{name: partial(self._in_field, name) for name in ("cut", "copy", "paste", "select_all")},
            "copy_last": self._program.presenter.copy_last,
            "copy_chat": self._copy_chat,
            "find": self._window.chat.find_bar.open_find,
            "search": self._search,
        }

    def _chat(self) -> dict[str, Callable[[], object]]:
        program = self._program
        return {
            "stop": self._escape,
            "regenerate": program.presenter.regenerate_last,
            "continue": program.presenter.continue_last,
            "edit_last": program.presenter.edit_last,
            "write": self._write,
            "attach": self._attach,
            "prompts": program.prompts.open_library,
            "enter_sends": lambda: program.change(enter_sends=self._actions["enter_sends"].isChecked()),
            "next_chat": lambda: self._step(1),
            "previous_chat": lambda: self._step(-1),
        }

    def _rest(self) -> dict[str, Callable[[], object]]:
        program = self._program
        return {
            "models": lambda: self._window.show_page(self._window.models),
            "race": lambda: self._window.show_page(self._window.race),
            "bench": lambda: self._window.show_page(self._window.bench),
            "tune": lambda: self._window.show_page(self._window.tune),
            "server": lambda: self._window.show_page(self._window.server),
            "load": self._load_again,
            "unload": program.loader.unload,
            "zoom_in": lambda: self._zoom(1),
            "zoom_out": lambda: self._zoom(-1),
            "zoom_reset": lambda: program.change(zoom=100),
            "logs": self._dialogs.show_logs,
            "about": self._dialogs.show_about,
            "shortcuts": self._dialogs.show_shortcuts,
            "palette": self._palette,
            "preferences": self._dialogs.show_preferences,
        }

    def _toggles(self) -> None:
        window = self._window
        window.chat.sidebar_button.clicked.connect(self._actions["sidebar"].trigger)
        window.chat.panel_button.clicked.connect(self._actions["panel"].trigger)
        window.chat.origins_button.clicked.connect(self._actions["origins"].trigger)
        window.chat.live_button.clicked.connect(self._actions["live"].trigger)
        self._actions["live"].toggled.connect(window.chat.live.setVisible)
        self._actions["live"].toggled.connect(window.chat.live_button.setChecked)
        self._actions["sidebar"].setChecked(True)
        self._actions["sidebar"].toggled.connect(window.sidebar.setVisible)
        self._actions["panel"].toggled.connect(window.panel.setVisible)
        self._actions["panel"].toggled.connect(window.chat.panel_button.setChecked)
        self._actions["origins"].toggled.connect(self._show_origins)
        themes = QActionGroup(self)
        for name in ("system", "light", "dark"):
            themes.addAction(self._actions[f"theme_{name}"])
            self._actions[f"theme_{name}"].triggered.connect(partial(self._wear, name))

    def _chat_ids(self) -> tuple[str, ...]:
        """The chats selected in the list while that has the keyboard or nothing else is meant, else the open one."""
        chats, session = self._window.sidebar.list, self._program.presenter.session
        chosen = chats.selected() if chats.hasFocus() or not session.is_stored else ()
        return chosen or (session.chat.id,)

    @Slot()
    def _rename(self) -> None:
        """The tag or the chat that the keyboard is at, else the open chat."""
        sidebar = self._window.sidebar
        if sidebar.tags.hasFocus() and sidebar.tags.at_cursor():
            sidebar.tags.begin_rename(sidebar.tags.at_cursor())
            return
        chosen = sidebar.list.chat_at_cursor() if sidebar.list.hasFocus() else None
        sidebar.list.begin_rename(chosen.id if chosen else self._chat_ids()[0])

    @Slot()
    def _undo(self) -> None:
        """Typing where the keyboard is, and else what was last deleted."""
        field = self._window.focusWidget()
        typed = field.document() if isinstance(field, QPlainTextEdit) else field
        if isinstance(typed, QLineEdit | QTextDocument) and typed.isUndoAvailable():
            typed.undo()
        else:
            self._program.undoing.undo()

    def _in_field(self, name: str, _checked: bool = False) -> None:
        field = self._window.focusWidget()
        if isinstance(field, QLineEdit | QPlainTextEdit | QTextEdit):
            does = {"cut": field.cut, "copy": field.copy, "paste": field.paste, "select_all": field.selectAll}
            does[name]()

    def _offer_undo(self) -> None:
        done = self._program.undoing.next
        self._actions["undo"].setText(self.tr("&Undo: {}").format(done.words) if done else self.tr("&Undo"))

    @Slot(bool)
    def _show_origins(self, shown: bool) -> None:
        self._window.chat.show_origins(shown)
        if shown != self._program.settings.show_origins:
            self._program.change(show_origins=shown)

    @Slot()
    def _escape(self) -> None:
        """The nearest thing first: page, search, find bar, selected messages, edit, answer."""
        window, presenter = self._window, self._program.presenter
        if window.pages.currentWidget() is not window.chat:
            window.show_page(window.chat)
        elif window.sidebar.isAncestorOf(window.focusWidget() or window) and window.sidebar.clear():
            return
        elif not window.chat.find_bar.isHidden():
            window.chat.find_bar.close_find()
        elif window.chat.transcript.selected_messages():
            window.chat.transcript.clear_selection()
        elif not presenter.cancel_edit():
            presenter.stop()

    def _step(self, by: int) -> None:
        chats = [id_ for id_, _ in self._program.store.titles()]
        if chats:
            here = self._program.presenter.session.chat.id
            at = chats.index(here) + by if here in chats else 0
            self._program.chats.open(chats[at % len(chats)])

    def _wear(self, theme: str, _checked: bool = True) -> None:
        self._program.change(theme=theme)

    def _zoom(self, by: int) -> None:
        zoom = self._program.settings.zoom
        nearest = min(range(len(_ZOOMS)), key=lambda at: abs(_ZOOMS[at] - zoom))
        self._program.change(zoom=_ZOOMS[min(max(nearest + by, 0), len(_ZOOMS) - 1)])

    @Slot()
    def _copy_chat(self) -> None:
        transcript = self._window.chat.transcript
        QGuiApplication.clipboard().setText(transcript.as_markdown(transcript.contents()))

    @Slot()
    def _search(self) -> None:
        self._actions["sidebar"].setChecked(True)
        self._window.sidebar.search.setFocus()
        self._window.sidebar.search.selectAll()

    @Slot()
    def _write(self) -> None:
        self._window.show_page(self._window.chat)
        self._window.chat.composer.setFocus()

    @Slot()
    def _attach(self) -> None:
        self._write()
        self._window.chat.composer.ask_for_files()

    @Slot()
    def _load_again(self) -> None:
        self._program.model_in_use.load_again()

    @Slot()
    def _palette(self) -> None:
        chats = self._program.store.titles()
        palette = CommandPalette(self._actions.values(), chats, self._program.looks.theme, self._window)
        palette.chat_chosen.connect(self._program.chats.open)
        palette.open()
