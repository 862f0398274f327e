"""Dialogs of the window: About, the command palette, preferences; and the folder of logs."""

import platform
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import psutil
from PySide6 import __version__ as pyside
from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, Slot, qVersion
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QMessageBox,
    QPlainTextEdit,
    QSplitter,
    QTabWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from headstart import __version__, paths
from headstart.chat.history.store import Store
from headstart.engine.hardware.machine import package_versions, processor
from headstart.settings import defaults
from headstart.ui import actions
from headstart.ui.formatting import listed
from headstart.ui.help.licences import Component, components
from headstart.ui.help.manual import KeysDialog, ManualDialog
from headstart.ui.history.encryption import EncryptionController, EncryptionOrder
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from headstart.ui.settings_controller import CurrentSettings, SettingsController
from headstart.ui.translation import choose_locale, language_of
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.labels import Heading, button, label
from headstart.ui.widgets.layouts import Dialog, open_folder, stacked, style_dialog, two_columns
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, mono_font
from headstart.ui.window.main_window import MainWindow


def version_report() -> str:
    """Return one fact on each line, for bug reports; always in English."""
    screen = QGuiApplication.primaryScreen()
    facts = {
        "Headstart": __version__,
        "Python": platform.python_version(),
        "Qt": f"{qVersion()} (PySide6 {pyside}, {QGuiApplication.platformName()})",
        **package_versions(),
        "System": platform.platform(),
        "Processor": f"{processor()}, {psutil.cpu_count(logical=True)} threads",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "Screen": f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():.2f}",
    }
    return "\n".join(f"{name}: {fact}" for name, fact in facts.items())


_SIZE = QSize(800, 560)


class AboutDialog(Dialog):
    """The versions and licences of Headstart and its components."""

    def __init__(self, report: str, parts: Sequence[Component], parent: QWidget | None = None) -> None:
        super().__init__(self.tr("About Headstart"), parent)
        self._parts = parts
        self.report = self._reader(report, self.tr("Versions"))
        self.report.setFont(mono_font())
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Components"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = self._reader("", self.tr("Text of the licence"))
        self._copy = button(self.tr("Copy versions"), self)
        self._close = button(self.tr("Close"), self)
        self._lay_out()
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.report.toPlainText()))
        self._close.clicked.connect(self.close)
        self.list.currentRowChanged.connect(self._on_row_changed)
        self.list.addItems([" ".join((part.name, part.version)) for part in parts])
        self.list.setCurrentRow(0)

    def _lay_out(self) -> None:
        tabs = QTabWidget(self)
        tabs.addTab(self._about_page(), self.tr("Headstart"))
        tabs.addTab(self._licences_page(), self.tr("Licences"))
        tabs.setAccessibleName(self.windowTitle())
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self._copy)
        foot.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        column.addWidget(tabs, 1)
        column.addLayout(foot)
        self.set_size(_SIZE)

    def _about_page(self) -> QWidget:
        page = QWidget(self)
        title = Heading(self.tr("Headstart {}").format(__version__), 1.5, page)
        text = label(
            self.tr(
                "Chat offline with a language model that gets a head start from a small one. Nothing you write leaves "
                "this computer, unless you choose a model on another computer. Free software under the Apache License "
                "2.0."
            ),
            page,
        )
        newer = self.tr("A newer Headstart is in your downloads folder. Close Headstart, then install {}.")
        news = [label(newer.format(package.name), page)] if (package := paths.newer_package()) else []
        stacked(page, title, text, *news, self.report, margin=LARGE, spacing=MEDIUM)
        return page

    def _licences_page(self) -> QWidget:
        page = QSplitter(Qt.Orientation.Horizontal, self)
        page.setChildrenCollapsible(False)
        page.addWidget(self.list)
        page.addWidget(self.text)
        page.setSizes([_SIZE.width() // 3, _SIZE.width() * 2 // 3])
        page.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        return page

    def _reader(self, text: str, name: str) -> QPlainTextEdit:
        reader = QPlainTextEdit(text, self)
        reader.setReadOnly(True)
        reader.setTabChangesFocus(True)
        reader.setAccessibleName(name)
        set_style_class(reader, "field")
        return reader

    @Slot(int)
    def _on_row_changed(self, row: int) -> None:
        part = self._parts[row]
        licence = self.tr("Licence: {}").format(part.licence or self.tr("not named by the package"))
        text = part.text() or self.tr("The package has no text of its licence.")
        self.text.setPlainText("\n\n".join(filter(None, (licence, part.address, text))))


_TARGET_ROLE = Qt.ItemDataRole.UserRole
_MAX_CHATS = 100  # chats; more letters find the others
_MOVES = (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp)


class CommandPalette(Dialog):
    """A list of everything that can be done now; the choice is triggered after the dialog has closed."""

    chat_chosen = Signal(str)

    def __init__(self, commands: Iterable[QAction], chats: Iterable[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(self.tr("Command palette"), parent)
        self._commands = [action for action in commands if action.isEnabled() and _is_for_palette(action)]
        self._chats = list(chats)
        self.field = QLineEdit(self)
        self.field.setPlaceholderText(self.tr("Type a command or the title of a chat"))
        self.field.setAccessibleName(self.windowTitle())
        self.list = two_columns(self.tr("Commands and chats"), self, widened=0)
        self._nothing = QLabel(self)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self._nothing.setMargin(MEDIUM)
        self._nothing.setWordWrap(True)
        self._nothing.setTextFormat(Qt.TextFormat.PlainText)
        stylesheet.set_style_class(self._nothing, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, SMALL)
        column.addWidget(self.field)
        column.addWidget(self._nothing, 1)
        column.addWidget(self.list, 1)
        self.resize(QSize(min(560, parent.width() - 80), 380))
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._fill)
        self.field.returnPressed.connect(self._on_chosen)
        self.list.itemClicked.connect(self._on_chosen)
        self.list.currentItemChanged.connect(self._on_current_changed)
        self._fill("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
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
            if _matches(actions.title(action), words):
                self._add_item(actions.title(action), keys, action)
        named = ((chat, title or self.tr("New chat")) for chat, title in self._chats)
        for chat, title in islice((each for each in named if _matches(each[1], words)), _MAX_CHATS):
            self._add_item(title, self.tr("chat"), chat)
        first = self.list.topLevelItem(0)
        if first:
            self.list.setCurrentItem(first)
        self.list.setVisible(first is not None)
        self._nothing.setText(self.tr("No command or chat is called “{}”.").format(typed.strip()))
        self._nothing.setVisible(first is None)
        if first is None:
            announce(self, self._nothing.text())

    @Slot(QTreeWidgetItem)
    def _on_current_changed(self, item: QTreeWidgetItem | None) -> None:
        """Announce the choice: the field has the keyboard, so a screen reader does not follow the list."""
        if item and self.isVisible():
            announce(self, listed(filter(None, (item.text(0), item.text(1)))))

    def _add_item(self, text: str, remark: str, target: object) -> None:
        item = QTreeWidgetItem([text, remark])
        item.setData(0, _TARGET_ROLE, target)
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        item.setForeground(1, self.palette().placeholderText())
        self.list.addTopLevelItem(item)

    @Slot()
    def _on_chosen(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        target = item.data(0, _TARGET_ROLE)
        self.close()
        if isinstance(target, QAction):
            target.trigger()
        elif isinstance(target, str):
            self.chat_chosen.emit(target)


def _is_for_palette(action: QAction) -> bool:
    """Exclude the palette itself, and Cut, Copy and Paste: no field has the keyboard then."""
    return action.objectName() != "palette" and action.shortcutContext() != Qt.ShortcutContext.WidgetShortcut


def _matches(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)


class Dialogs(QObject):
    """The dialogs that actions of the window open."""

    def __init__(
        self,
        window: MainWindow,
        settings: CurrentSettings,
        choices: ModelChoices,
        store: Store,
        restart: Callable[[EncryptionOrder | None], None],
    ) -> None:
        super().__init__(window)
        self._window, self._settings, self._choices = window, settings, choices
        self._store, self._restart = store, restart
        for name, slot in (
            ("preferences", self._show_preferences),
            ("logs", lambda: open_folder(paths.logs_folder())),
            ("about", lambda: AboutDialog(version_report(), components(), window).open()),
            ("palette", self._show_palette),
            ("manual", lambda: ManualDialog(window).open()),
            ("keys", lambda: KeysDialog(window.actions_by_name, window).open()),
        ):
            window.actions_by_name[name].triggered.connect(slot)

    @Slot()
    def _show_preferences(self) -> None:
        """Open the preferences; each change is saved and applied at once."""
        dialog = PreferencesDialog(self._folders(), self._window)
        controller = SettingsController(dialog.forms, self._choices, dialog)
        controller.changed.connect(lambda values: self._change(dialog, values))
        dialog.restore_requested.connect(lambda names: self._change(dialog, {name: defaults()[name] for name in names}))
        EncryptionController(dialog.encryption, self._store, self._restart)
        self._settings.changed.connect(controller.show_settings)
        controller.show_settings(self._settings.now)
        dialog.open()

    def _change(self, dialog: PreferencesDialog, values: dict[str, object]) -> None:
        before = self._settings.now.language
        self._settings.change(**values)
        if language_of(choose_locale(self._settings.now.language)) != language_of(choose_locale(before)):
            self._offer_restart(dialog)

    def _offer_restart(self, dialog: PreferencesDialog) -> None:
        """Ask to open the window again: only widgets made from now on have another language."""
        question = self.tr(
            "The window must open again to change its language. Do that now? The chat is shown again. This stops "
            "an answer that is being written."
        )
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("Another language"), question, parent=dialog)
        style_dialog(box)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        now = box.addButton(self.tr("Reopen now"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(self.tr("Later"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(now)
        box.accepted.connect(lambda: self._restart(None))
        box.open()

    @Slot()
    def _show_palette(self) -> None:
        commands = self._window.actions_by_name.values()
        palette = CommandPalette(commands, self._store.titles(), self._window)
        palette.chat_chosen.connect(lambda chat: self._window.sidebar.list.chosen.emit(chat, None))
        palette.open()

    def _folders(self) -> dict[str, Path]:
        return {
            self.tr("Models"): paths.models_folder(),
            self.tr("Chats"): paths.history_folder(),
            self.tr("Settings"): paths.config_folder(),
            self.tr("Measurements"): paths.measurements_folder(),
            self.tr("Logs"): paths.logs_folder(),
            self.tr("Downloads"): paths.cache_folder(),
        }
