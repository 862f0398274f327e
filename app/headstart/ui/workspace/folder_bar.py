"""The bar that names the working folder of a chat."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from headstart.ui.formatting import short_path
from headstart.ui.translation import translate_error
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import ElidedLabel, button
from headstart.ui.widgets.layouts import beside, set_margins
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import SMALL, TINY
from headstart.ui.workspace.chat_folder import ChatFolder


class FolderBar(QFrame):
    """A bar with the folder that the chat works on, and a button that takes it back; hidden without a folder."""

    taken_back = Signal()
    opened = Signal()  # for details

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_style_class(self, "bar")
        self._has_folder = self.is_yielding = False
        self._name = ElidedLabel(self, Qt.TextElideMode.ElideMiddle)
        self.details = button(self.tr("Details…"), self, "flat")
        self.details.setAccessibleName(self.tr("Details of the working folder"))
        self.take_back = icon_button("close", self.tr("Take the folder back"), self)
        row = beside(self, self._name, self.details, self.take_back, growing=self._name)
        set_margins(row, start=SMALL, top=TINY, end=TINY, bottom=TINY)
        self.take_back.clicked.connect(self.taken_back)
        self.details.clicked.connect(self.opened)
        self.hide()

    @property
    def text(self) -> str:
        """The words; empty if hidden."""
        return "" if self.isHidden() else self._name.text()

    def show_folder(self, folder: ChatFolder) -> None:
        self._has_folder = folder.path is not None
        self._update()
        if folder.path is None:
            return
        set_style_property(self, "severity", "danger" if folder.fault else "")
        if folder.fault:
            self._name.show_text(translate_error(folder.fault), str(folder.path))
        else:
            self._name.show_text(self.tr("Works on {}").format(short_path(folder.path)), str(folder.path))

    def set_yielding(self, yielding: bool) -> None:
        """Hide while the place is needed by a question."""
        if yielding != self.is_yielding:
            self.is_yielding = yielding
            self._update()

    def _update(self) -> None:
        self.setVisible(self._has_folder and not self.is_yielding)
