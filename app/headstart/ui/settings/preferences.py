"""The dialog of all settings that hold everywhere, and of the folders. Knows no file of settings and no chat."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QFont
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from headstart.settings import Settings
from headstart.ui.settings.encryption_page import EncryptionPage
from headstart.ui.settings.setting_form import Choices, SettingForm, muted, scrolled
from headstart.ui.settings.side_panel import GUESSING, LOADED, LOADING, PROMPT, SAMPLING
from headstart.ui.spelling import place
from headstart.ui.translation import translate
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, Theme, scaled

_APPEARANCE = ("language", "theme", "font_size", "zoom", "show_origins", "reduced_motion")
_HABITS = ("enter_sends", "restore_chat", "notifications", "notification_text")
_SIZE = QSize(720, 600)


class Preferences(QDialog):
    """Emits each change at once; whoever applies it calls `show_settings`."""

    edited = Signal(str, object)  # name, plain value
    restore_requested = Signal(object)  # names of the settings that shall have their defaults

    def __init__(self, theme: Theme, folders: Mapping[str, Path], parent: QWidget | None = None) -> None:
        """`folders` by their titles."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Preferences"))
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Pages of the preferences"))
        self.pages = QStackedWidget(self)
        self._forms = [self._page(title, *names) for title, names in self._sections()]
        self._restore = QPushButton(self.tr("Restore defaults of this page"), self)
        self._close = QPushButton(self.tr("Close"), self)
        self.encryption = EncryptionPage(self)
        self._add(self.tr("Privacy"), self.encryption)
        self._add(self.tr("Folders"), _folders(folders, self))
        self._lay_out()
        self.set_looks(theme, self.font())
        self.list.currentRowChanged.connect(self._turn)
        self._restore.clicked.connect(self._ask_restore)
        self._close.clicked.connect(self.close)
        self.list.setCurrentRow(0)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """The values that hold, and those that automatic ones take."""
        for form in self._forms:
            form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting."""
        for form in self._forms:
            for name, offered in choices.items():
                form.set_choices(name, offered)

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """What is worth knowing with these models, by setting."""
        for form in self._forms:
            form.show_notes(notes)

    def set_looks(self, theme: Theme, font: QFont) -> None:
        """Other colours, or another font: a window of its own has it only later."""
        self.setStyleSheet(stylesheet.sheet(theme, font))

    def _sections(self) -> list[tuple[str, tuple[tuple[str, ...], ...]]]:
        return [
            (self.tr("Appearance"), (_APPEARANCE,)),
            (self.tr("Chat"), (_HABITS, PROMPT)),
            (self.tr("Model"), (LOADED, LOADING)),
            (self.tr("Guessing ahead"), (GUESSING, ("acceptance_threshold",))),
            (self.tr("Answers"), (SAMPLING,)),
        ]

    def _page(self, title: str, *groups: tuple[str, ...]) -> SettingForm:
        form = SettingForm([("", names) for names in groups], self, explained=True)
        form.edited.connect(self.edited)
        self._add(title, form)
        return form

    def _add(self, title: str, inner: QWidget) -> None:
        self.list.addItem(title)
        self.pages.addWidget(scrolled(inner, self))

    def _lay_out(self) -> None:
        self.list.setFixedWidth(self.list.sizeHintForColumn(0) + 4 * LARGE)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        for button in (self._restore, self._close):
            dress(button, "plain")
            button.setAutoDefault(False)
        foot = QHBoxLayout()
        foot.setContentsMargins(MEDIUM, SMALL, MEDIUM, MEDIUM)
        foot.addStretch(1)
        foot.addWidget(self._restore)
        foot.addWidget(self._close)
        middle = QHBoxLayout()
        middle.setSpacing(0)
        middle.addWidget(self.list)
        middle.addWidget(self.pages, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, 0)
        column.addLayout(middle, 1)
        remark = muted(self.tr("Changes apply at once. A chat's own settings come before these."), self)
        remark.setContentsMargins(MEDIUM, SMALL, MEDIUM, 0)
        column.addWidget(remark)
        column.addLayout(foot)
        wanted = QSize(scaled(_SIZE.width(), self.font()), scaled(_SIZE.height(), self.font()))
        self.resize(wanted.boundedTo(self.screen().availableSize()).expandedTo(_SIZE))

    @Slot(int)
    def _turn(self, page: int) -> None:
        self.pages.setCurrentIndex(page)
        self._restore.setEnabled(page < len(self._forms))

    @Slot()
    def _ask_restore(self) -> None:
        self.restore_requested.emit(self._forms[self.list.currentRow()].names)


def _folders(folders: Mapping[str, Path], parent: Preferences) -> QWidget:
    page = QWidget(parent)
    grid = QGridLayout(page)
    grid.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
    grid.setVerticalSpacing(MEDIUM)
    grid.setHorizontalSpacing(LARGE)
    for row, (title, folder) in enumerate(folders.items()):
        path = muted(place(folder), page)
        path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        button = QPushButton(translate("Preferences", "Show"), page)
        button.setAccessibleName(translate("Preferences", "Show the folder: {}").format(title))
        button.setEnabled(folder.is_dir())
        dress(button, "plain")
        button.clicked.connect(lambda _=False, folder=folder: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
        grid.addWidget(QLabel(title, page), row, 0)
        grid.addWidget(path, row, 1)
        grid.addWidget(button, row, 2)
    grid.setColumnStretch(1, 1)
    grid.setRowStretch(len(folders), 1)
    return page
