"""The dialog with the settings of all chats, privacy and folders."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QSize, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from headstart import paths
from headstart.settings import in_section
from headstart.ui.formatting import short_path
from headstart.ui.history.encryption import EncryptionPage
from headstart.ui.settings.settings_form import SettingsForm
from headstart.ui.settings.side_panel import SAMPLING
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Dialog, beside, scrolled
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL

_SIZE = QSize(720, 600)


class PreferencesDialog(Dialog):
    """A dialog with the settings of all chats, on pages. Its `forms` emit each change at once."""

    restore_requested = Signal(object)  # names of the settings to set to their defaults

    def __init__(self, folders: Mapping[str, Path], parent: QWidget | None = None) -> None:
        """`folders` are named by their titles."""
        super().__init__(self.tr("Preferences"), parent)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Pages of the preferences"))
        self.pages = QStackedWidget(self)
        self.forms = [self._page(title, names) for title, names in self._sections()]
        self._restore = button(self.tr("Restore defaults"), self)
        self._close = button(self.tr("Close"), self)
        self.encryption = EncryptionPage(self)
        self._add(self.tr("Privacy"), self.encryption)
        self._add(self.tr("Folders"), _folders(folders, self))
        self._lay_out()
        self.list.currentRowChanged.connect(self._on_page_chosen)
        self._restore.clicked.connect(lambda: self.restore_requested.emit(self.forms[self.list.currentRow()].names))
        self._close.clicked.connect(self.close)
        self.list.setCurrentRow(0)

    def _sections(self) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (self.tr("Appearance"), in_section("appearance")),
            (self.tr("Chat"), in_section("chat")),
            (self.tr("Model"), in_section("model")),
            (self.tr("Answers"), SAMPLING),
            (self.tr("Speed-up"), in_section("speculation")),
            (self.tr("Speech"), in_section("speech")),
        ]

    def _page(self, title: str, names: tuple[str, ...]) -> SettingsForm:
        form = SettingsForm([("", names)], self, explained=True)
        form.build()  # before the buttons below, as Tab visits them in the order in which they are made
        self._add(title, form)
        return form

    def _add(self, title: str, inner: QWidget) -> None:
        self.list.addItem(title)
        self.pages.addWidget(scrolled(inner, self))

    def _lay_out(self) -> None:
        self.list.setFixedWidth(self.list.sizeHintForColumn(0) + 3 * LARGE)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        foot = QHBoxLayout()
        foot.setContentsMargins(MEDIUM, SMALL, MEDIUM, MEDIUM)
        foot.addStretch(1)
        foot.addWidget(self._restore)
        foot.addWidget(self._close)
        middle = beside(None, self.list, self.pages, spacing=0, growing=self.pages)
        column = QVBoxLayout(self)
        column.setContentsMargins(SMALL, SMALL, SMALL, 0)
        column.addLayout(middle, 1)
        remark = muted(self.tr("Changes apply at once. A chat can have settings of its own, which come first."), self)
        remark.setContentsMargins(MEDIUM, SMALL, MEDIUM, 0)
        column.addWidget(remark)
        column.addLayout(foot)
        self.set_size(_SIZE)

    @Slot(int)
    def _on_page_chosen(self, page: int) -> None:
        self.pages.setCurrentIndex(page)
        self._restore.setEnabled(page < len(self.forms))


def _folders(folders: Mapping[str, Path], parent: PreferencesDialog) -> QWidget:
    page = QWidget(parent)
    grid = QGridLayout(page)
    grid.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
    grid.setVerticalSpacing(MEDIUM)
    grid.setHorizontalSpacing(LARGE)
    for row, (title, folder) in enumerate(folders.items()):
        show = button(translate("PreferencesDialog", "Show"), page)
        show.setAccessibleName(translate("PreferencesDialog", "Show the folder: {}").format(title))
        show.setEnabled(paths.is_folder(folder))
        show.clicked.connect(lambda _=False, folder=folder: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))))
        grid.addWidget(QLabel(title, page), row, 0)
        grid.addWidget(muted(short_path(folder), page, selectable=True), row, 1)
        grid.addWidget(show, row, 2)
    grid.setColumnStretch(1, 1)
    grid.setRowStretch(len(folders), 1)
    return page
