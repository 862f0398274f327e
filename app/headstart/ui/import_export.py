"""Export of chats to files, PDF included, and import from files, with their dialogs."""

import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
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
from PySide6.QtWidgets import QCheckBox, QFileDialog, QGridLayout

from headstart.chat.conversation import Chat, ChatMessage, Conversation, Project
from headstart.chat.documents import (
    Wording,
    message_blocks,
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
from headstart.chat.history.store import Store
from headstart.chat.imports.files import ENDINGS, read_file
from headstart.chat.json_chats import Imported, to_json
from headstart.chat.merging import Import
from headstart.markdown.blocks import Block, Code, Nesting, Paragraph, Rule, Span, Style
from headstart.markdown.parser import parse
from headstart.settings import about
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.formatting import sentences, titled, whole
from headstart.ui.markdown.document import DocumentWriter, Formats
from headstart.ui.markdown.highlighting import Highlighter
from headstart.ui.settings.settings_form import label, switched, title
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.message import attached_blocks
from headstart.ui.translation import showing_errors, translate, translate_error
from headstart.ui.widgets import theme
from headstart.ui.widgets.layouts import initial_path, remember_folder, style_dialog
from headstart.ui.widgets.progress import Cause, show_saved
from headstart.ui.widgets.theme import LIGHT
from headstart.ui.widgets.undo_stack import Undoable, UndoStack

_MAX_LISTS = 1_000_000  # more than one message has: lists of two messages must not become one
_REMARK = Nesting(quotes=1)


def chat_sections(
    chat: Chat, conversation: Conversation, words: Wording, *, with_remarks: bool = False
) -> list[Iterable[Block]]:
    """Return the title and then each message as sections; a message's Markdown is parsed when its section is read.

    `with_remarks` adds the settings and the statistics of each answer.
    """
    title = " ".join(chat.title.split()) or words.untitled
    head = (_line(title, heading=1), _line(moment(chat.created, words), _REMARK))
    path = conversation.path
    return [head, *(_section(number, message, words, with_remarks) for number, message in enumerate(path))]


def _section(number: int, message: ChatMessage, words: Wording, with_remarks: bool) -> Iterator[Block]:
    yield Rule()
    yield _line(" ".join(speaker(message, words).split()), heading=3)
    for block in _message(message, words):
        yield _with_own_lists(block, number)
    if with_remarks:
        yield from (_line(line, _REMARK) for line in remarks(message, words))


def _message(message: ChatMessage, words: Wording) -> Iterator[Block]:
    if message.attachments:
        yield from attached_blocks(message.attachments)[1]
    if message.thinking.strip():
        yield _line(f"{words.thinking}:", _REMARK, Style.ITALIC)
        for block in parse(message.thinking):
            yield replace(block, place=replace(block.place, quotes=block.place.quotes + 1))
    yield from message_blocks(message)


def _with_own_lists(block: Block, message: int) -> Block:
    if not isinstance(block, Paragraph) or block.item is None:
        return block
    return replace(block, item=replace(block.item, list=message * _MAX_LISTS + block.item.list))


def _line(text: str, place: Nesting = Nesting(), style: Style = Style.PLAIN, *, heading: int = 0) -> Paragraph:  # noqa: B008
    return Paragraph((Span(text, 0, 0, exact=False, style=style),), place, heading)


_MAX_CODE = 3000  # characters of code that are laid out at a time, about a page
_POINTS, _SMALL = 10.0, 8.0
_MARGIN, _FOOT = 18.0, 8.0  # millimetres
_LAYING_OUT = 0.6  # the share of this work; the rest is painting
_DOTS = 96  # per inch, which the formats' margins assume; letters are placed between dots too
_RULER = QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value
_BREAK = QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore

PdfSteps = Generator[float, None, bytes]  # yields the share that is done, after each short step


def generate_pdf(title: str, sections: Sequence[Iterable[Block]], locale: QLocale | None = None) -> PdfSteps:
    """Generate the content of a PDF in short steps, so that the window can go on meanwhile.

    The share that is done grows from 0 to 1; closing the generator cancels the work. The paper is the usual one where
    `locale` is spoken.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setCreator("Headstart")
    writer.setResolution(_DOTS)
    writer.setPageLayout(_layout(locale or QLocale()))
    pages = _PdfPages(writer)
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


class _PdfPages:
    """A document on pages. No page ends with a heading, a rule or the upper edge of a box."""

    def __init__(self, writer: QPdfWriter) -> None:
        room = writer.pageLayout().paintRectPixels(_DOTS)
        self.width, self.height = room.width(), int(room.height() - _dots(_FOOT))
        self.document = QTextDocument()
        font = theme.text_font(_POINTS)
        self.document.setDefaultFont(font)
        self.document.setDocumentMargin(0)
        self.document.setUseDesignMetrics(True)
        wrapping = QTextOption()
        wrapping.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)  # paper has no scroll bar
        self.document.setDefaultTextOption(wrapping)
        self.document.documentLayout().setPaintDevice(writer)
        self.document.setPageSize(QSizeF(self.width, self.height))
        self._highlighter = Highlighter(self.document, LIGHT)
        self._out = DocumentWriter(self.document, Formats(LIGHT, font), on_paper=True)
        self._blocks: list[Block] = []
        self._checked = 0  # position up to which the ends of pages are right
        self._first_heading: int | None = None  # position of the first of the headings and rules above the next block

    def add(self, block: Block) -> Iterator[None]:
        """Write one more block, long code in short steps."""
        self._blocks.append(block)
        for part in _in_parts(block):
            self._blocks[-1] = part
            self._out.show(self._blocks, len(self._blocks) - 1)
            yield
        self._keep_together(self.document.lastBlock().position())  # the last block may be written again with the next

    def finish(self) -> None:
        """Set the last page breaks, once all blocks are written."""
        self._keep_together(self.document.characterCount())

    def paint(self, painter: QPainter, number: int) -> None:
        """Paint one page without its foot."""
        top = number * self.height
        context = QAbstractTextDocumentLayout.PaintContext()
        context.clip = QRectF(0, top + 1, self.width, self.height - 2)  # the neighbouring pages touch its edges
        painter.save()
        painter.translate(0, -top)
        painter.setClipRect(QRectF(0, top, self.width, self.height))
        self.document.documentLayout().draw(painter, context)
        painter.restore()

    def _keep_together(self, end: int) -> None:
        block = self.document.findBlock(self._checked)
        while block.isValid() and block.position() < end:
            shape = block.blockFormat()
            if shape.headingLevel() > 0 or shape.hasProperty(_RULER):
                self._first_heading = block.position() if self._first_heading is None else self._first_heading
            else:
                self._keep_start(block)
                self._first_heading = None
            self._checked = block.position() + block.length()
            block = block.next()

    def _keep_start(self, block: QTextBlock) -> None:
        """Break the page before the headings, rules or box above a block if it would break below them."""
        cursor, layout = QTextCursor(block), self.document.documentLayout()
        frame = cursor.currentFrame()
        begins_box = frame.parentFrame() is not None and frame.firstCursorPosition().block() == block
        is_code = begins_box and cursor.currentTable() is None
        page = self._page_of(block.next() if is_code else block)  # the first block in a box of code is its label
        if self._first_heading is not None:
            first = self.document.findBlock(self._first_heading)
            if self._page_of(first) < page:
                shape = QTextBlockFormat()
                shape.setPageBreakPolicy(_BREAK)
                QTextCursor(first).mergeBlockFormat(shape)
        elif begins_box and int(layout.frameBoundingRect(frame).top() // self.height) < page:
            box = frame.frameFormat()
            box.setPageBreakPolicy(_BREAK)
            frame.setFrameFormat(box)

    def _page_of(self, block: QTextBlock) -> int:
        """Return the page of a block's first line."""
        top = self.document.documentLayout().blockBoundingRect(block).top()
        return int((top + block.layout().lineAt(0).y()) // self.height)


def _in_parts(block: Block) -> Iterator[Block]:
    """Yield long code with more and more of its lines, so that each step is short."""
    end = 0
    while isinstance(block, Code) and len(block.text) - end > _MAX_CODE:
        end = block.text.find("\n", end + _MAX_CODE) if "\n" in block.text[end + _MAX_CODE :] else len(block.text)
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


_SLICE_S = 0.012  # of work before the window gets its turn
OWN_ENDING = ".headstart.json"  # desktops that know this ending open such files with Headstart
_PART = re.compile(r"conversations-\d+\.json")  # of an export of ChatGPT
_JOINABLE = (".md", ".html", OWN_ENDING)  # formats that hold several chats


class ImportExport(QObject):
    """The export of chats to files and their import, with dialogs and error messages."""

    imported = Signal()

    def __init__(
        self, page: ChatPage, store: Store, undo_stack: UndoStack, settle: Callable[[], bool], parent: QObject
    ) -> None:
        """`page` shows the progress of a PDF, and the last error until something succeeds.

        `settle` saves what is open; it returns False, and says why, while chats may not change.
        """
        super().__init__(parent)
        self._page, self._store, self._undo_stack, self._settle = page, store, undo_stack, settle
        self._pdf: PdfSteps | None = None
        self._path = Path()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_timer)
        page.work.cancel_requested.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        """True while a PDF is being written."""
        return self._pdf is not None

    def export(self, *chat_ids: str) -> None:
        """Ask for a file and write the chats to it, in the format of the file's name."""
        chats = [chat for chat in map(self._store.chat, chat_ids) if chat]
        if not chats:
            return
        is_one = len(chats) == 1
        kinds = {kind: ending for kind, ending in self._kinds().items() if is_one or ending in _JOINABLE}
        name = "".join(letter if letter.isalnum() else "-" for letter in chats[0].title).strip("-") or "chat"
        dialog = QFileDialog(self._page.window(), self.tr("Export chat") if is_one else self.tr("Export chats"))
        style_dialog(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)  # it has no room for a check box
        with_remarks = QCheckBox(self.tr("Include settings and statistics"), dialog)
        layout = dialog.layout()
        assert isinstance(layout, QGridLayout)
        layout.addWidget(with_remarks, layout.rowCount(), 1)
        dialog.setNameFilters(list(kinds))
        dialog.filterSelected.connect(lambda kind: self._on_kind_selected(dialog, kind, with_remarks))
        dialog.setDirectory(initial_path())
        dialog.selectFile(name if is_one else "chats")
        first = next(kind for kind, ending in kinds.items() if ending == (".md" if is_one else OWN_ENDING))
        dialog.selectNameFilter(first)
        self._on_kind_selected(dialog, first, with_remarks)

        def write(path: str) -> None:
            remember_folder(path)
            if is_one:
                self.write(chats[0].id, Path(path), with_remarks=with_remarks.isChecked())
            else:
                self.write_several(chat_ids, Path(path), with_remarks=with_remarks.isChecked())

        dialog.fileSelected.connect(write)
        dialog.open()

    def _say(self, sentence: str) -> None:
        self._page.notice.say(sentence, bad=True, cause=Cause.FILE)

    def write(self, chat_id: str, path: Path, *, with_remarks: bool = False) -> None:
        """Write a chat in the format of the ending, Markdown if unknown. A PDF is written after this returns."""
        ending = path.suffix.lower()
        self._page.notice.retract(Cause.FILE)
        with showing_errors(self._say):
            if ending == ".pdf":
                self._write_pdf(chat_id, path, with_remarks)
            else:
                self._write(path, self._content(chat_id, ending, with_remarks))

    def write_several(self, chat_ids: Sequence[str], path: Path, *, with_remarks: bool = False) -> None:
        """Write several chats to one file: HTML, Markdown, or for unknown endings JSON that can be imported."""
        self._page.notice.retract(Cause.FILE)
        with showing_errors(self._say):
            stored = [chat for chat in map(self._store.chat, chat_ids) if chat]
            chats = [(chat, self._store.conversation(chat.id)) for chat in stored]
            self._write(path, self._joined(chats, path.suffix.lower(), with_remarks))

    def _write_pdf(self, chat_id: str, path: Path, with_remarks: bool) -> None:
        if self.is_busy:
            self._say(self.tr("Another chat is being written as PDF; wait until that is done."))
            return
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        sections = chat_sections(chat, conversation, words, with_remarks=with_remarks)
        self._pdf, self._path = generate_pdf(chat.title or words.untitled, sections), path
        self._page.work.begin(self.tr("Writing {}").format(path.name))
        self._timer.start(0)

    @Slot()
    def cancel(self) -> None:
        """Cancel the PDF that is being written; the file is not touched."""
        if self._pdf:
            self._pdf.close()
            self._end()

    @Slot()
    def _on_timer(self) -> None:
        assert self._pdf
        deadline, share = time.perf_counter() + _SLICE_S, 0.0
        try:
            while time.perf_counter() < deadline:
                share = next(self._pdf)
        except StopIteration as stop:
            self._end()
            with showing_errors(self._say):
                self._write(self._path, stop.value)
        else:
            self._page.work.show_progress(round(share * 1000), 1000)

    def _end(self) -> None:
        self._pdf = None
        self._timer.stop()
        self._page.work.end()

    def _write(self, path: Path, content: str | bytes) -> None:
        """Write a file and show that it is saved. Raise ExchangeError."""
        write_export(path, content)
        show_saved(self._page.notice, path)

    def _joined(self, chats: Sequence[tuple[Chat, Conversation]], ending: str, with_remarks: bool) -> str:
        match ending:
            case ".html":
                return to_html_all(chats, self._wording(), with_remarks=with_remarks)
            case ".md":
                return to_markdown_all(chats, self._wording(), with_remarks=with_remarks)
            case _:
                return to_json(chats, self._projects(chat for chat, _ in chats))

    def _content(self, chat_id: str, ending: str, with_remarks: bool) -> str:
        chat, conversation, words = self._store.chat(chat_id), self._store.conversation(chat_id), self._wording()
        assert chat
        match ending:
            case ".html":
                return to_html(chat, conversation, words, with_remarks=with_remarks)
            case ".json":
                return to_json([(chat, conversation)], self._projects([chat]))
            case _:
                return to_markdown(chat, conversation, words, with_remarks=with_remarks)

    def _projects(self, chats: Iterable[Chat]) -> list[Project]:
        names = sorted({chat.project for chat in chats if chat.project})
        return [project for project in map(self._store.project, names) if project]

    def _kinds(self) -> dict[str, str]:
        """Return the file filter of each format with the ending of its files."""
        return {
            self.tr("Markdown (*.md)"): ".md",
            self.tr("Web page (*.html)"): ".html",
            self.tr("PDF (*.pdf)"): ".pdf",
            self.tr("JSON with all versions (*.json)"): OWN_ENDING,
        }

    def _on_kind_selected(self, dialog: QFileDialog, kind: str, with_remarks: QCheckBox) -> None:
        """Give the name the ending of the chosen format, so that the dialog asks before it overwrites a file."""
        endings = self._kinds()
        ending, name = endings.get(kind, ""), Path(dialog.selectedFiles()[0]).name
        old = next((old for old in endings.values() if name.endswith(old)), "")
        dialog.setDefaultSuffix(ending)
        dialog.selectFile(name.removesuffix(old) + ending)
        with_remarks.setEnabled(ending != OWN_ENDING)  # such a file has everything

    def import_file(self) -> None:
        """Ask for files and import their chats."""
        kinds = self.tr("Chats of Headstart, ChatGPT, Claude and others ({})")
        endings = " ".join(f"*{ending}" for ending in ENDINGS)
        chosen, _ = QFileDialog.getOpenFileNames(
            self._page.composer, self.tr("Import chats"), initial_path(), kinds.format(endings)
        )
        if chosen:
            remember_folder(chosen[0])
            self.read(*map(Path, chosen))

    def read(self, *paths: Path, show: Callable[[str], object] = lambda _: None) -> None:
        """Import the chats of files, `show` the first one, and say what came and what did not."""
        imports: list[Import] = []
        reports: list[str] = []
        refused: list[str] = []
        self._page.notice.retract(Cause.FILE)
        if not self._settle():
            return
        for path in paths:
            with showing_errors(refused.append):
                imported_file = read_file(path)
                imports.append(self._store.import_chats(imported_file.chats, imported_file.projects))
                reports.append(self._report(imported_file, imports[-1]))
        self.imported.emit()
        shown = [chat for each in imports for chat in (*each.added, *each.extended)]
        if shown:
            show(shown[0])
        undoable = None
        if shown or any(each.projects for each in imports):
            undoable = self._push_undoable(imports)
        if missing := _other_parts(paths):
            further = self.tr("The export has further parts, import them too: {}.")
            reports.append(further.format(", ".join(path.name for path in missing)))
        if reports or refused:
            words, action = "\n".join([*refused, *reports]), self.tr("Undo") if undoable else ""
            undo = partial(self._undo_stack.undo_action, undoable) if undoable else None
            self._page.notice.say(words, action, undo, bad=bool(refused), cause=Cause.FILE)

    def _push_undoable(self, imports: Sequence[Import]) -> Undoable:
        undoable = Undoable(self.tr("Import"), self.tr("Imported chats"), partial(self._undo, imports))
        self._undo_stack.push(undoable)
        return undoable

    def _undo(self, imports: Sequence[Import]) -> None:
        if not self._settle():
            self._push_undoable(imports)
            return
        kept = 0
        with showing_errors(self._say):
            for done in reversed(imports):
                kept += self._store.undo_import(done)
        self.imported.emit()
        if kept:
            words = self.tr("Chats that stay, because you changed them: {count}.").format(count=whole(kept))
            self._page.notice.say(words, cause=Cause.FILE)

    def _report(self, imported_file: Imported, done: Import) -> str:
        """Say how many chats and projects came from a program, what was here already, and what was left out."""
        count = len(done.added)
        came = (
            self.tr("Imported 1 chat from {program}.")
            if count == 1
            else self.tr("Imported {count} chats from {program}.")
            if count or not imported_file.chats
            else self.tr("Nothing is new in the chats from {program}.")
            if not done.extended
            else self.tr("No chat from {program} is new.")
        )
        came = came.format(count=whole(count), program=imported_file.program)
        more = (
            (self.tr("Chats with new messages: {}."), len(done.extended)),
            (self.tr("Here already: {}."), done.known),
            (self.tr("Deleted here, and left out: {}."), done.deleted),
            (self.tr("Projects: {}."), len(done.projects)),
        )
        came = reduce(sentences, (words.format(whole(number)) for words, number in more if number), came)
        if imported_file.left_out:
            kinds = "; ".join(map(translate_error, imported_file.left_out))
            came = self.tr("{came} Left out: {kinds}.").format(came=came, kinds=kinds)
        return came

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


def _other_parts(paths: Iterable[Path]) -> list[Path]:
    """Return the other parts of a split export that lie beside the given ones."""
    chosen = [path for path in paths if _PART.fullmatch(path.name)]
    beside = {path for part in chosen for path in part.parent.glob("*.json") if _PART.fullmatch(path.name)}
    return sorted(beside.difference(chosen))


def _settings(values: Mapping[str, object]) -> str:
    """Return settings and their values as text, named as in the panel."""
    declared = about()
    texts = {name: switched(value) if isinstance(value, bool) else short(value) for name, value in values.items()}
    pairs = ((title(name), label(name, text)) if name in declared else (name, text) for name, text in texts.items())
    return ", ".join(titled(name, value) for name, value in pairs if value)
