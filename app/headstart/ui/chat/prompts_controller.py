"""Joins the library of prompts to the message box, the popup and the dialog."""

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.prompts import PromptDialog, filled, library, own_part


class PromptsController(QObject):
    """One for the window."""

    changed = Signal(object)  # one's own prompts, to be kept

    def __init__(self, page: ChatPage, parent: QObject | None = None) -> None:
        """No prompts yet."""
        super().__init__(parent)
        self._page = page
        self._prompts: dict[str, str] = {}
        page.prompts.chosen.connect(self._use)
        page.prompts.library_requested.connect(self._open_from_popup)

    def show(self, own: Mapping[str, str]) -> None:
        """One's own prompts are these."""
        self._prompts = library(own)
        self._page.prompts.set_prompts(self._prompts)

    @Slot()
    def open_library(self) -> None:
        """Have prompts added, changed and removed."""
        dialog = PromptDialog(self._prompts, self._selection(), self._page.window())
        dialog.saved.connect(lambda prompts: self.changed.emit(own_part(prompts)))
        dialog.open()

    @Slot()
    def _open_from_popup(self) -> None:
        self._page.composer.set_text("")
        self.open_library()

    @Slot(str)
    def _use(self, name: str) -> None:
        prompt = filled(self._prompts[name], QGuiApplication.clipboard().text(), self._page.transcript.selected_text())
        self._page.composer.set_text(prompt.text, prompt.cursor)

    def _selection(self) -> str:
        written = self._page.composer.edit.textCursor().selection().toPlainText()
        return written or self._page.transcript.selected_text()
