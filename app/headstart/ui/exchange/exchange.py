"""Saving a chat as a file and bringing chats in, with the file dialogs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from headstart.ui.chat.message_text import attached_blocks, split
from headstart.ui.exchange.pdf_export import PdfSaving, writing_pdf
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from headstart.chat.conversation import Chat, Conversation, Message, Role
from headstart.chat.documents import (
    Wording,
    listed,
    moment,
    speaker,
    to_html,
    to_html_all,
    to_markdown,
    to_markdown_all,
    write_export,
)
from headstart.chat.json_chats import read_chats, to_json
from headstart.chat.store import Store
from headstart.errors import HeadstartError
from headstart.ui.markdown.blocks import Block, Paragraph, Place, Rule, Span, Style
from headstart.ui.markdown.markdown import parse, parse_literal
from headstart.ui.translation import said
from headstart.ui.widgets.progress import Cause, NoticeBar

_LISTS = 1_000_000  # more than one message has: lists of two messages must not become one
_REMARK = Place(quotes=1)


def chat_sections(chat: Chat, conversation: Conversation, words: Wording) -> list[Iterable[Block]]:
    """The title and then each message shown, whose Markdown is read when its section is."""
    title = " ".join(chat.title.split()) or words.untitled
    head = (_line(title, heading=1), _line(moment(chat.created, words), _REMARK))
    return [head, *(_section(number, message, words) for number, message in enumerate(conversation.path))]


def _section(number: int, message: Message, words: Wording) -> Iterator[Block]:
    yield Rule()
    yield _line(" ".join(speaker(message, words).split()), heading=3)
    for block in _message(message, words):
        yield _apart(block, number)


def _message(message: Message, words: Wording) -> Iterator[Block]:
    if message.attachments:
        yield from attached_blocks(message.attachments)[1]
    yield from _answer(message.text, words) if message.role is Role.ASSISTANT else parse_literal(message.text)
    for name, values in ((words.settings, message.settings), (words.statistics, message.stats)):
        line = listed(values)
        if line:
            yield _line(f"{name}: {line}", _REMARK)


def _answer(text: str, words: Wording) -> Iterator[Block]:
    parts = split(text)
    if parts.thought:
        start, end = parts.thought
        yield _line(f"{words.thinking}:", _REMARK, Style.ITALIC)
        yield from _quoted(parse(text[start:end], start))
    yield from parse(text[parts.body :], parts.body)


def _quoted(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield replace(block, place=replace(block.place, quotes=block.place.quotes + 1))


def _apart(block: Block, message: int) -> Block:
    if not isinstance(block, Paragraph) or block.item is None:
        return block
    return replace(block, item=replace(block.item, list=message * _LISTS + block.item.list))


def _line(text: str, place: Place = Place(), style: Style = Style.PLAIN, *, heading: int = 0) -> Paragraph:  # noqa: B008
    return Paragraph((Span(text, 0, 0, exact=False, style=style),), place, heading)


OWN_ENDING = ".headstart.json"  # a desktop that was told of it opens such files with Headstart
_JOINABLE = (".md", ".html", OWN_ENDING)  # formats that hold several chats


class Exchange(QObject):
    """One for the window."""

    imported = Signal()

    def __init__(self, window: QWidget, store: Store, notice: NoticeBar, parent: QObject) -> None:
        """`notice` tells what went wrong, until something goes well."""
        super().__init__(parent)
        self._window, self._store, self._notice = window, store, notice
        self.pdf = PdfSaving(self)
        self.pdf.failed.connect(self._say)

    def export(self, *chat_ids: str) -> None:
        """Ask for a file and write the chats into it, a single one in the format that its name asks for."""
        if len(chat_ids) > 1:
            self._export_several(chat_ids)
            return
        (chat_id,) = chat_ids
        chat = self._store.chat(chat_id)
        if not chat:
            return
        dialog = QFileDialog(self._window, self.tr("Export chat"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(self._kinds()))
        dialog.filterSelected.connect(lambda kind: self._follow_kind(dialog, kind))
        name = "".join(letter if letter.isalnum() else "-" for letter in chat.title).strip("-") or "chat"
        dialog.selectFile(f"{name}.md")
        dialog.fileSelected.connect(lambda path: self.write(chat_id, Path(path)))
        dialog.open()

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self._notice.say(sentence, bad=True, cause=Cause.FILE)

    def write(self, chat_id: str, path: Path) -> None:
        """Write the chat, a PDF after this returns; unknown endings get Markdown."""
        ending = path.suffix.lower()
        self._notice.retract(Cause.FILE)
        try:
            if ending == ".pdf":
                self._write_pdf(chat_id, path)
            else:
                write_export(path, self._content(chat_id, ending))
        except HeadstartError as error:
            self._say(said(error))

    def write_several(self, chat_ids: Sequence[str], path: Path) -> None:
        """Write chats into one file: to be read, or with unknown endings one that can be imported again."""
        self._notice.retract(Cause.FILE)
        try:
            found = [chat for chat in map(self._store.chat, chat_ids) if chat]
            chats = [(chat, self._store.conversation(chat.id)) for chat in found]
            write_export(path, self._joined(chats, path.suffix.lower()))
        except HeadstartError as error:
            self._say(said(error))

    def _write_pdf(self, chat_id: str, path: Path) -> None:
        if self.pdf.is_busy:
            self._say(self.tr("Another chat is being written as PDF; wait until that is done."))
            return
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        sections = chat_sections(chat, conversation, words)
        self.pdf.start(writing_pdf(chat.title or words.untitled, sections), path)

    def _export_several(self, chat_ids: Sequence[str]) -> None:
        kinds = {kind: ending for kind, ending in self._kinds().items() if ending in _JOINABLE}
        first = next(kind for kind, ending in kinds.items() if ending == OWN_ENDING)
        chosen, kind = QFileDialog.getSaveFileName(
            self._window, self.tr("Export chats"), f"chats{OWN_ENDING}", ";;".join(kinds), first
        )
        if chosen:
            self.write_several(chat_ids, Path(_named(chosen, kinds.get(kind, OWN_ENDING))))

    def _joined(self, chats: Sequence[tuple[Chat, Conversation]], ending: str) -> str:
        match ending:
            case ".html":
                return to_html_all(chats, self._wording())
            case ".md":
                return to_markdown_all(chats, self._wording())
            case _:
                return to_json(chats)

    def _content(self, chat_id: str, ending: str) -> str:
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        match ending:
            case ".html":
                return to_html(chat, conversation, words)
            case ".json":
                return to_json([(chat, conversation)])
            case _:
                return to_markdown(chat, conversation, words)

    def _kinds(self) -> dict[str, str]:
        """What is shown of each format, and the ending of its files."""
        return {
            self.tr("Markdown (*.md)"): ".md",
            self.tr("Web page (*.html)"): ".html",
            self.tr("PDF (*.pdf)"): ".pdf",
            self.tr("JSON with all versions (*.json)"): OWN_ENDING,
        }

    def _follow_kind(self, dialog: QFileDialog, kind: str) -> None:
        """The name ends as the chosen format does, so that what would be overwritten is asked about."""
        kinds = self._kinds()
        path = Path(dialog.selectedFiles()[0])
        stem = path.name.removesuffix(OWN_ENDING) if path.name.endswith(OWN_ENDING) else path.stem
        dialog.setDefaultSuffix(kinds.get(kind, ""))
        dialog.selectFile(stem + kinds.get(kind, ""))

    def bring_in(self) -> None:
        """Ask for a file and add its chats."""
        kinds = self.tr("Chats of Headstart or ChatGPT (*.json)")
        chosen, _ = QFileDialog.getOpenFileName(self._window, self.tr("Import chats"), "", kinds)
        if chosen:
            self.read(Path(chosen))

    def read(self, path: Path) -> tuple[str, ...]:
        """Add the chats of a file. Returns their ids."""
        added: list[str] = []
        self._notice.retract(Cause.FILE)
        try:
            for chat, conversation in read_chats(path):
                added.append(self._store.add(chat, conversation).id)
        except HeadstartError as error:
            self._say(said(error))
        self.imported.emit()
        return tuple(added)

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


def _named(chosen: str, ending: str) -> str:
    """The name as a person left it where it says the format, else with the ending of the format that was chosen."""
    if chosen.endswith(OWN_ENDING):  # as proposed
        return chosen.removesuffix(OWN_ENDING) + ending
    return chosen if Path(chosen).suffix.lower() in {".md", ".html", ".json"} else chosen + ending
