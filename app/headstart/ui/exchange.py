"""Chats written into files, as PDF too, and read from files, with their dialogs."""

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QLocale, QMarginsF, QObject, QRectF, QSizeF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFont,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QFileDialog

from headstart.chat.conversation import Chat, Conversation, Message, Project, Role
from headstart.chat.documents import (
    Wording,
    moment,
    remarks,
    short,
    speaker,
    to_html,
    to_html_all,
    to_markdown,
    to_markdown_all,
    write_export,
)
from headstart.chat.json_chats import read_file, to_json
from headstart.chat.store import Store
from headstart.settings import about
from headstart.ui.chat import live_answer
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.message import attached_blocks, split_thinking
from headstart.ui.markdown.blocks import Block, Code, Paragraph, Place, Rule, Span, Style
from headstart.ui.markdown.document import DocumentWriter, Formats
from headstart.ui.markdown.highlighting import Highlighter
from headstart.ui.markdown.markdown import parse, parse_literal
from headstart.ui.settings.settings_form import title, word
from headstart.ui.spelling import titled
from headstart.ui.translation import telling, translate
from headstart.ui.widgets import theme
from headstart.ui.widgets.layouts import initial_path, remember_folder, style_dialog
from headstart.ui.widgets.progress import Cause, show_saved
from headstart.ui.widgets.theme import LIGHT

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
    yield from (_line(line, _REMARK) for line in remarks(message, words))


def _answer(text: str, words: Wording) -> Iterator[Block]:
    parts = split_thinking(text)
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


_MOST = 3000  # characters of code that are laid out at a time, about a page
_POINTS, _SMALL = 10.0, 8.0
_MARGIN, _FOOT = 18.0, 8.0  # millimetres
_LAYING_OUT = 0.6  # of the work; the rest is painting
_DOTS = 96  # in an inch, as the margins of the formats are meant; letters stand between dots too
_RULER = QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value
_BREAK = QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore

Working = Generator[float, None, bytes]  # yields the share that is done, after each moment of work


def writing_pdf(title: str, sections: Sequence[Iterable[Block]], locale: QLocale | None = None) -> Working:
    """The file's content, on the paper that is usual where `locale` is spoken, in moments: a window must not wait.

    The share grows from 0 to 1. Closing the generator gives the work up.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("Headstart")
    writer.setResolution(_DOTS)
    writer.setPageLayout(_layout(locale or QLocale()))
    pages = _Pages(writer)
    for number, section in enumerate(sections):
        for block in section:
            for _ in pages.add(block):
                yield _LAYING_OUT * number / len(sections)
    pages.finish()
    painter = QPainter(writer)
    try:
        count = pages.document.pageCount()
        for number in range(count):
            if number:
                writer.newPage()
            pages.paint(painter, number)
            _paint_foot(painter, QRectF(0, pages.height, pages.width, _dots(_FOOT)), title, number, count)
            yield _LAYING_OUT + (1 - _LAYING_OUT) * (number + 1) / count
    finally:
        painter.end()
    buffer.close()
    return bytes(buffer.data().data())


class _Pages:
    """A document on pages. Neither a heading or a rule nor the upper edge of a box is the last thing on a page."""

    def __init__(self, writer: QPdfWriter) -> None:
        room = writer.pageLayout().paintRectPixels(_DOTS)
        self.width, self.height = room.width(), int(room.height() - _dots(_FOOT))
        self.document = QTextDocument()
        font = theme.text_font(_POINTS)
        self.document.setDefaultFont(font)
        self.document.setDocumentMargin(0)
        self.document.setUseDesignMetrics(True)
        breaking = QTextOption()
        breaking.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)  # paper has no scroll bar
        self.document.setDefaultTextOption(breaking)
        self.document.documentLayout().setPaintDevice(writer)
        self.document.setPageSize(QSizeF(self.width, self.height))
        self._highlighter = Highlighter(self.document, LIGHT)
        self._out = DocumentWriter(self.document, Formats(LIGHT, font), has_buttons=False)
        self._blocks: list[Block] = []
        self._kept = 0  # position up to which no page ends where it should not
        self._clinging: int | None = None  # position of the first heading or rule that belongs to what follows

    def add(self, block: Block) -> Iterator[None]:
        """Write one more block, long code in moments."""
        self._blocks.append(block)
        for part in _growing(block):
            self._blocks[-1] = part
            self._out.show(self._blocks, len(self._blocks) - 1)
            yield
        self._keep_together(self.document.lastBlock().position())  # the last may be written again with the next

    def finish(self) -> None:
        """Nothing more is added."""
        self._keep_together(self.document.characterCount())

    def paint(self, painter: QPainter, number: int) -> None:
        """One page, its foot apart."""
        top = number * self.height
        context = QAbstractTextDocumentLayout.PaintContext()
        context.clip = QRectF(0, top + 1, self.width, self.height - 2)  # the neighbours of a page touch its edges
        painter.save()
        painter.translate(0, -top)
        painter.setClipRect(QRectF(0, top, self.width, self.height))
        self.document.documentLayout().draw(painter, context)
        painter.restore()

    def _keep_together(self, end: int) -> None:
        block = self.document.findBlock(self._kept)
        while block.isValid() and block.position() < end:
            shape = block.blockFormat()
            if shape.headingLevel() > 0 or shape.hasProperty(_RULER):
                self._clinging = block.position() if self._clinging is None else self._clinging
            else:
                self._keep_start(block)
                self._clinging = None
            self._kept = block.position() + block.length()
            block = block.next()

    def _keep_start(self, block: QTextBlock) -> None:
        """Break the page before the headings and rules above a block, or above its box, if it would break below."""
        cursor, layout = QTextCursor(block), self.document.documentLayout()
        frame = cursor.currentFrame()
        begins_box = frame.parentFrame() is not None and frame.firstCursorPosition().block() == block
        is_code = begins_box and cursor.currentTable() is None
        page = self._page_of(block.next() if is_code else block)  # the first block in a box of code is its label
        if self._clinging is not None:
            first = self.document.findBlock(self._clinging)
            if self._page_of(first) < page:
                shape = QTextBlockFormat()
                shape.setPageBreakPolicy(_BREAK)
                QTextCursor(first).mergeBlockFormat(shape)
        elif begins_box and int(layout.frameBoundingRect(frame).top() // self.height) < page:
            box = frame.frameFormat()
            box.setPageBreakPolicy(_BREAK)
            frame.setFrameFormat(box)

    def _page_of(self, block: QTextBlock) -> int:
        """Where its first line stands."""
        top = self.document.documentLayout().blockBoundingRect(block).top()
        return int((top + block.layout().lineAt(0).y()) // self.height)


def _growing(block: Block) -> Iterator[Block]:
    """Long code with more and more of its lines, so that each step is short."""
    end = 0
    while isinstance(block, Code) and len(block.text) - end > _MOST:
        end = block.text.find("\n", end + _MOST) if "\n" in block.text[end + _MOST :] else len(block.text)
        yield replace(block, text=block.text[:end], runs=((0, 0),))
    yield block


def _layout(locale: QLocale) -> QPageLayout:
    american = locale.measurementSystem() == QLocale.MeasurementSystem.ImperialUSSystem
    size = QPageSize(QPageSize.PageSizeId.Letter if american else QPageSize.PageSizeId.A4)
    margins = QMarginsF(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
    return QPageLayout(size, QPageLayout.Orientation.Portrait, margins, QPageLayout.Unit.Millimeter)


def _paint_foot(painter: QPainter, room: QRectF, title: str, number: int, count: int) -> None:
    small = QFont(theme.text_font(_SMALL))
    painter.setFont(small)
    painter.setPen(QColor(LIGHT.muted))
    label = translate("PdfExport", "{page} / {pages}").format(page=number + 1, pages=count)
    free = room.width() - 2 * painter.fontMetrics().horizontalAdvance(label)
    shown = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, int(free))
    bottom = Qt.AlignmentFlag.AlignBottom
    painter.drawText(room, Qt.AlignmentFlag.AlignLeft | bottom, shown)
    painter.drawText(room, Qt.AlignmentFlag.AlignRight | bottom, label)


def _dots(millimetres: float) -> float:
    return millimetres / 25.4 * _DOTS


_SLICE = 0.012  # seconds of work before the window gets its turn
OWN_ENDING = ".headstart.json"  # a desktop that was told of it opens such files with Headstart
_JOINABLE = (".md", ".html", OWN_ENDING)  # formats that hold several chats


class Exchange(QObject):
    """Exports chats into files and imports them, with dialogs and error messages."""

    imported = Signal()

    def __init__(self, page: ChatPage, store: Store, parent: QObject) -> None:
        """The page shows how a PDF goes on, and what went wrong until something goes well."""
        super().__init__(parent)
        self._page, self._store = page, store
        self._pdf: Working | None = None
        self._path = Path()
        self._turns = QTimer(self)
        self._turns.timeout.connect(self._go_on)
        page.work.cancel_requested.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        """Whether a PDF is being written."""
        return self._pdf is not None

    def export(self, *chat_ids: str) -> None:
        """Ask for a file and write the chats into it, a single one in the format that its name asks for."""
        if len(chat_ids) > 1:
            self._export_several(chat_ids)
            return
        (chat_id,) = chat_ids
        chat = self._store.chat(chat_id)
        if not chat:
            return
        dialog = QFileDialog(self._page.window(), self.tr("Export chat"))
        style_dialog(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(self._kinds()))
        dialog.filterSelected.connect(lambda kind: self._follow_kind(dialog, kind))
        name = "".join(letter if letter.isalnum() else "-" for letter in chat.title).strip("-") or "chat"
        dialog.setDirectory(initial_path())
        dialog.selectFile(f"{name}.md")
        dialog.fileSelected.connect(remember_folder)
        dialog.fileSelected.connect(lambda path: self.write(chat_id, Path(path)))
        dialog.open()

    def _say(self, sentence: str) -> None:
        self._page.notice.say(sentence, bad=True, cause=Cause.FILE)

    def write(self, chat_id: str, path: Path) -> None:
        """Write the chat, a PDF after this returns; unknown endings get Markdown."""
        ending = path.suffix.lower()
        self._page.notice.retract(Cause.FILE)
        with telling(self._say):
            if ending == ".pdf":
                self._write_pdf(chat_id, path)
            else:
                self._write(path, self._content(chat_id, ending))

    def write_several(self, chat_ids: Sequence[str], path: Path) -> None:
        """Write chats into one file: to be read, or with unknown endings one that can be imported again."""
        self._page.notice.retract(Cause.FILE)
        with telling(self._say):
            found = [chat for chat in map(self._store.chat, chat_ids) if chat]
            chats = [(chat, self._store.conversation(chat.id)) for chat in found]
            self._write(path, self._joined(chats, path.suffix.lower()))

    def _write_pdf(self, chat_id: str, path: Path) -> None:
        if self.is_busy:
            self._say(self.tr("Another chat is being written as PDF; wait until that is done."))
            return
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        sections = chat_sections(chat, conversation, words)
        self._pdf, self._path = writing_pdf(chat.title or words.untitled, sections), path
        self._page.work.begin(self.tr("Writing {}").format(path.name))
        self._turns.start(0)

    @Slot()
    def cancel(self) -> None:
        """Give up the PDF that is being written; nothing of it is in the file."""
        if self._pdf:
            self._pdf.close()
            self._end()

    @Slot()
    def _go_on(self) -> None:
        assert self._pdf
        until, share = time.perf_counter() + _SLICE, 0.0
        try:
            while time.perf_counter() < until:
                share = next(self._pdf)
        except StopIteration as made:
            self._end()
            with telling(self._say):
                self._write(self._path, made.value)
        else:
            self._page.work.show_progress(round(share * 1000), 1000)

    def _end(self) -> None:
        self._pdf = None
        self._turns.stop()
        self._page.work.end()

    def _write(self, path: Path, content: str | bytes) -> None:
        """Raises ExchangeError."""
        write_export(path, content)
        show_saved(self._page.notice, path)

    def _export_several(self, chat_ids: Sequence[str]) -> None:
        kinds = {kind: ending for kind, ending in self._kinds().items() if ending in _JOINABLE}
        first = next(kind for kind, ending in kinds.items() if ending == OWN_ENDING)
        chosen, kind = QFileDialog.getSaveFileName(
            self._page.composer, self.tr("Export chats"), initial_path(f"chats{OWN_ENDING}"), ";;".join(kinds), first
        )
        if chosen:
            remember_folder(chosen)
            self.write_several(chat_ids, Path(_named(chosen, kinds.get(kind, OWN_ENDING))))

    def _joined(self, chats: Sequence[tuple[Chat, Conversation]], ending: str) -> str:
        match ending:
            case ".html":
                return to_html_all(chats, self._wording())
            case ".md":
                return to_markdown_all(chats, self._wording())
            case _:
                return to_json(chats, self._projects(chat for chat, _ in chats))

    def _content(self, chat_id: str, ending: str) -> str:
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        match ending:
            case ".html":
                return to_html(chat, conversation, words)
            case ".json":
                return to_json([(chat, conversation)], self._projects([chat]))
            case _:
                return to_markdown(chat, conversation, words)

    def _projects(self, chats: Iterable[Chat]) -> list[Project]:
        """Those that the chats are in."""
        names = sorted({chat.project for chat in chats if chat.project})
        return [project for project in map(self._store.project, names) if project]

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
        chosen, _ = QFileDialog.getOpenFileName(self._page.composer, self.tr("Import chats"), initial_path(), kinds)
        if chosen:
            remember_folder(chosen)
            self.read(Path(chosen))

    def read(self, path: Path) -> tuple[str, ...]:
        """Add the chats of a file. Returns their ids."""
        added: list[str] = []
        self._page.notice.retract(Cause.FILE)
        with telling(self._say):
            found = read_file(path)
            self._store.import_projects(found.projects)
            for chat, conversation in found.chats:
                added.append(self._store.add(chat, conversation).id)
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
            tool=self.tr("Tool"),
            stopped=self.tr("stopped"),
            interrupted=self.tr("interrupted"),
            list_settings=_settings,
            list_statistics=lambda stats: " · ".join(live_answer.report(stats).splitlines()),
        )


def _settings(values: Mapping[str, object]) -> str:
    """As the panel names them."""
    known = about()
    told = ((title(name) if name in known else name, word(short(value))) for name, value in values.items())
    return ", ".join(titled(name, value) for name, value in told if value)


def _named(chosen: str, ending: str) -> str:
    """The name as a person left it where it says the format, else with the ending of the format that was chosen."""
    if chosen.endswith(OWN_ENDING):  # as proposed
        return chosen.removesuffix(OWN_ENDING) + ending
    return chosen if Path(chosen).suffix.lower() in {".md", ".html", ".json"} else chosen + ending
