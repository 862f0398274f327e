"""What the commands of menus, keys and palette do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QDesktopServices,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QTextEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from headstart import own_folder, paths
from headstart.chat.conversation import Role
from headstart.licences import components
from headstart.settings import defaults
from headstart.ui import actions
from headstart.ui.about import AboutDialog, version_report
from headstart.ui.encryption_controller import EncryptionController
from headstart.ui.exchange.exchange import Exchange
from headstart.ui.exchange.pdf_export import PdfSaving
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from headstart.ui.settings_controller import SettingsController
from headstart.ui.translation import chosen, spoken
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.theme import MEDIUM, SMALL, Theme

_WHAT = Qt.ItemDataRole.UserRole
_OFFERED = 100  # chats; who looks for another one types more letters
_MOVES = (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp)


class CommandPalette(QDialog):
    """Lists what can be done now; the choice is triggered after it has closed."""

    chat_chosen = Signal(str)

    def __init__(
        self, commands: Iterable[QAction], chats: Iterable[tuple[str, str]], theme: Theme, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Command palette"))
        self.setStyleSheet(stylesheet.sheet(theme, self.font()))
        self._commands = [action for action in commands if action.isEnabled() and action.objectName() != "palette"]
        self._chats = list(chats)
        self._theme = theme
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Type a command or the title of a chat"))
        self.field.setAccessibleName(self.windowTitle())
        self.list = self._columns()
        self._nothing = QLabel(self)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._nothing.setMargin(MEDIUM)
        self._nothing.setWordWrap(True)
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        stylesheet.dress(self._nothing, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        column.addWidget(self.field)
        column.addWidget(self._nothing, 1)
        column.addWidget(self.list, 1)
        self.resize(QSize(min(560, parent.width() - 80), 380))
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._fill)
        self.field.returnPressed.connect(self._choose)
        self.list.itemClicked.connect(self._choose)
        self._fill("")

    def _columns(self) -> QTreeWidget:
        """Titles on the left, keys on the right."""
        columns = QTreeWidget(self)
        columns.setAccessibleName(self.tr("Commands and chats"))
        columns.setColumnCount(2)
        columns.setHeaderHidden(True)
        columns.setRootIsDecorated(False)
        columns.setUniformRowHeights(True)
        columns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        columns.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        header = columns.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        return columns

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self.field and isinstance(event, QKeyEvent) and event.key() in _MOVES:
            self.list.event(event)
            return True
        return super().eventFilter(watched, event)

    @Slot(str)
    def _fill(self, typed: str) -> None:
        self.list.clear()
        words = typed.lower().split()
        for action in self._commands:
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            if _holds(actions.title(action), words):
                self._offer(actions.title(action), keys, action)
        named = ((chat, title or self.tr("New chat")) for chat, title in self._chats)
        for chat, title in islice((each for each in named if _holds(each[1], words)), _OFFERED):
            self._offer(title, self.tr("chat"), chat)
        first = self.list.topLevelItem(0)
        if first:
            self.list.setCurrentItem(first)
        self.list.setVisible(first is not None)
        self._nothing.setText(self.tr("No command or chat is called “{}”.").format(typed.strip()))
        self._nothing.setVisible(first is None)

    def _offer(self, text: str, remark: str, what: object) -> None:
        item = QTreeWidgetItem([text, remark])
        item.setData(0, _WHAT, what)
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setForeground(1, QColor(self._theme.muted))
        self.list.addTopLevelItem(item)

    @Slot()
    def _choose(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        what = item.data(0, _WHAT)
        self.close()
        if isinstance(what, QAction):
            what.trigger()
        elif isinstance(what, str):
            self.chat_chosen.emit(what)


def _holds(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)


if TYPE_CHECKING:
    from headstart.ui.program import Program


class Dialogs(QObject):
    """One for the window."""

    def __init__(self, program: Program) -> None:
        """Opens nothing yet."""
        super().__init__(program)
        self._program = program
        self._window = program.window

    @Slot()
    def show_preferences(self) -> None:
        """The settings that hold everywhere; each change is saved and followed at once."""
        program = self._program
        dialog = PreferencesDialog(program.looks.theme, self._folders(), self._window)
        controller = SettingsController(dialog, program.choices, dialog)
        controller.changed.connect(lambda values: self._change(dialog, values))
        dialog.restore_requested.connect(lambda names: self._change(dialog, {name: defaults()[name] for name in names}))
        EncryptionController(dialog.encryption, program)
        program.settings_changed.connect(controller.show_settings)
        self._follow(dialog)
        controller.show_settings(program.settings)
        dialog.open()

    def _change(self, dialog: PreferencesDialog, values: dict[str, object]) -> None:
        program, before = self._program, self._program.settings.language
        program.change(**values)
        if spoken(chosen(program.settings.language)) != spoken(chosen(before)):
            self._offer_restart(dialog)

    def _offer_restart(self, dialog: PreferencesDialog) -> None:
        """What was built has its words; anew it has others."""
        question = self.tr(
            "The window speaks another language when it is opened anew. Do that now? The chat is shown again; an "
            "answer being written is stopped."
        )
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("Another language"), question, parent=dialog)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        now = box.addButton(self.tr("Reopen now"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(self.tr("Later"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(now)
        box.accepted.connect(self._program.restart)
        box.open()

    @Slot()
    def show_about(self) -> None:
        """What this is, and what it is made of."""
        dialog = AboutDialog(self._program.looks.theme, version_report(), components(), self._window)
        self._follow(dialog)
        dialog.open()

    @Slot()
    def show_logs(self) -> None:
        """The folder where window, engine and local server write down what they do."""
        own_folder.make(paths.logs_folder())
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(paths.logs_folder())))

    def _folders(self) -> dict[str, Path]:
        return {
            self.tr("Models"): paths.models_folder(),
            self.tr("Chats"): paths.history_folder(),
            self.tr("Settings"): paths.config_folder(),
            self.tr("Measurements"): paths.measurements_folder(),
            self.tr("Logs"): paths.logs_folder(),
            self.tr("Downloads"): paths.cache_folder(),
        }

    def _follow(self, dialog: AboutDialog | PreferencesDialog) -> None:
        """Theme and font may change while it is open."""
        self._program.looks.changed.connect(dialog.set_looks)


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
            "copy_last": self._program.chat_controller.copy_last,
            "copy_chat": self._copy_chat,
            "find": self._window.chat.find_bar.open_find,
            "search": self._search,
        }

    def _chat(self) -> dict[str, Callable[[], object]]:
        program = self._program
        return {
            "stop": self._escape,
            "regenerate": program.chat_controller.regenerate_last,
            "continue": program.chat_controller.continue_last,
            "edit_last": program.chat_controller.edit_last,
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
        chats, session = self._window.sidebar.list, self._program.chat_controller.session
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
        window, chat_controller = self._window, self._program.chat_controller
        if window.pages.currentWidget() is not window.chat:
            window.show_page(window.chat)
        elif window.sidebar.isAncestorOf(window.focusWidget() or window) and window.sidebar.clear():
            return
        elif not window.chat.find_bar.isHidden():
            window.chat.find_bar.close_find()
        elif window.chat.transcript.selected_messages():
            window.chat.transcript.clear_selection()
        elif not chat_controller.cancel_edit():
            chat_controller.stop()

    def _step(self, by: int) -> None:
        chats = [id_ for id_, _ in self._program.store.titles()]
        if chats:
            here = self._program.chat_controller.session.chat.id
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
