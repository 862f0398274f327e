"""Saving a chat as a file and bringing chats in, with the file dialogs. Knows no page."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from headstart.chat.exchange.html import to_html
from headstart.chat.exchange.markdown import to_markdown
from headstart.chat.exchange.own import to_json
from headstart.chat.exchange.reading import read_chats
from headstart.chat.exchange.wording import Wording
from headstart.chat.exchange.writing import write_export
from headstart.chat.store import Store
from headstart.errors import HeadstartError


class Exchange(QObject):
    """One for the window."""

    imported = Signal()

    def __init__(self, window: QWidget, store: Store, say: Callable[[str], None], parent: QObject) -> None:
        """`say` tells what went wrong."""
        super().__init__(parent)
        self._window, self._store, self._say = window, store, say

    def export(self, *chat_ids: str) -> None:
        """Ask for a file and write the chats into it, a single one in the format that its name asks for."""
        if len(chat_ids) > 1:
            self._export_several(chat_ids)
            return
        (chat_id,) = chat_ids
        chat = self._store.chat(chat_id)
        if not chat:
            return
        kinds = self.tr("Markdown (*.md);;Web page (*.html);;JSON with all versions (*.json)")
        name = "".join(letter if letter.isalnum() else "-" for letter in chat.title).strip("-") or "chat"
        chosen, _ = QFileDialog.getSaveFileName(self._window, self.tr("Export chat"), f"{name}.md", kinds)
        if chosen:
            self.write(chat_id, Path(chosen))

    def write(self, chat_id: str, path: Path) -> None:
        """Write the chat; unknown endings get Markdown."""
        try:
            chat, conversation = self._store.chat(chat_id), self._store.conversation(chat_id)
            assert chat
            text = {
                ".html": lambda: to_html(chat, conversation, self._wording()),
                ".json": lambda: to_json([(chat, conversation)]),
            }.get(path.suffix.lower(), lambda: to_markdown(chat, conversation, self._wording()))()
            write_export(path, text)
        except HeadstartError as error:
            self._say(str(error))

    def write_several(self, chat_ids: Sequence[str], path: Path) -> None:
        """Write chats into one file that can be imported again."""
        try:
            chats = [chat for chat in map(self._store.chat, chat_ids) if chat]
            write_export(path, to_json([(chat, self._store.conversation(chat.id)) for chat in chats]))
        except HeadstartError as error:
            self._say(str(error))

    def _export_several(self, chat_ids: Sequence[str]) -> None:
        kinds = self.tr("JSON with all versions (*.json)")
        chosen, _ = QFileDialog.getSaveFileName(self._window, self.tr("Export chats"), "chats.json", kinds)
        if chosen:
            self.write_several(chat_ids, Path(chosen))

    def bring_in(self) -> None:
        """Ask for a file and add its chats."""
        kinds = self.tr("Chats of Headstart or ChatGPT (*.json)")
        chosen, _ = QFileDialog.getOpenFileName(self._window, self.tr("Import chats"), "", kinds)
        if chosen:
            self.read(Path(chosen))

    def read(self, path: Path) -> None:
        """Add the chats of a file."""
        try:
            for chat, conversation in read_chats(path):
                self._store.add(chat, conversation)
        except HeadstartError as error:
            self._say(str(error))
        self.imported.emit()

    def _wording(self) -> Wording:
        return Wording(
            user=self.tr("You"),
            assistant=self.tr("Assistant"),
            untitled=self.tr("Chat"),
            attachment=self.tr("Attachment"),
            settings=self.tr("Settings"),
            statistics=self.tr("Statistics"),
            thinking=self.tr("Thinking"),
            stopped=self.tr("stopped"),
            interrupted=self.tr("interrupted"),
        )
