"""The controller of the library of prompts."""

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication

from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.composer.prompts import PromptDialog, fill, library, own_prompts


class PromptsController(QObject):
    """Controller of the library of prompts, which puts a chosen prompt into the composer."""

    changed = Signal(object)  # the user's own prompts, to be saved

    def __init__(self, page: ChatPage, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._prompts: dict[str, str] = {}
        page.prompts.chosen.connect(self._use_prompt)
        page.prompts.library_requested.connect(self._open_from_popup)
        page.empty.prompt_chosen.connect(self._use_from_page)
        page.empty.library_requested.connect(self.open_library)
        page.empty.example_chosen.connect(self._replace_message)

    def show(self, own: Mapping[str, str]) -> None:
        """Show the built-in prompts with the user's own."""
        self._prompts = library(own)
        self._page.prompts.set_prompts(self._prompts)
        self._page.empty.show_prompts(self._prompts)

    @Slot()
    def open_library(self) -> None:
        """Open the dialog that adds, changes and removes prompts."""
        dialog = PromptDialog(self._prompts, self._selection(), self._page.window())
        dialog.saved.connect(lambda prompts: self.changed.emit(own_prompts(prompts)))
        dialog.open()

    @Slot()
    def _open_from_popup(self) -> None:
        self._page.composer.set_text("")
        self.open_library()

    @Slot(str)
    def _use_prompt(self, name: str) -> None:
        prompt = fill(self._prompts[name], QGuiApplication.clipboard().text(), self._page.transcript.selected_text())
        self._page.composer.set_text(prompt.text, prompt.cursor)

    @Slot(str)
    def _use_from_page(self, name: str) -> None:
        """Apply a prompt to the text of the message."""
        prompt = fill(self._prompts[name], QGuiApplication.clipboard().text(), self._page.composer.text())
        self._replace_message(prompt.text, prompt.cursor)

    @Slot(str)
    def _replace_message(self, text: str, cursor: int | None = None) -> None:
        """Replace the text of the message; Ctrl+Z brings that back."""
        self._page.composer.replace_text(text, cursor)
        self._page.composer.setFocus()

    def _selection(self) -> str:
        selection = self._page.composer.edit.textCursor().selection().toPlainText()
        return selection or self._page.transcript.selected_text()
