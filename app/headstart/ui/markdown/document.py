"""Blocks written into a QTextDocument, only from the first that changed on."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextDocument, QTextTable

from headstart.ui.markdown.blocks import Block, Code, Paragraph, Place, PositionMap, Rule, Span, Style, Table, spans
from headstart.ui.markdown.document_formats import INDENT, Formats

COPY = "copy:"  # scheme of the anchors that copy a code block: copy:<number>
_LINE = "\u2028"  # a line break inside a block


@dataclass(frozen=True)
class _Start:
    """Where a block was begun. `free`: an empty block that Qt keeps behind a frame waits there to be taken over."""

    position: int
    free: bool


class Quoted(NamedTuple):
    """A block in a block quote: where it begins and ends in the document."""

    start: int
    end: int
    place: Place


class DocumentWriter:
    """Keeps a document equal to a list of blocks. The result depends on the blocks alone, not on how they came."""

    def __init__(self, document: QTextDocument, formats: Formats, *, copyable: bool = True) -> None:
        """`copyable`: code has a button."""
        self._copyable = copyable
        self.map = PositionMap()
        self.source = ""  # the text that the map leads to
        self._document = document
        self._formats = formats
        self._blocks: list[Block] = []
        self._starts: list[_Start] = []
        self._lists: dict[int, int] = {}  # list -> position of its first entry
        self._codes: dict[int, int] = {}  # index of a code block -> position of its text
        self._free = True
        document.setUndoRedoEnabled(False)
        document.setIndentWidth(INDENT)

    def show(self, blocks: Sequence[Block], first: int = 0, source: str = "") -> None:
        """Make the document show `blocks` of `source`, of which those before `first` are unchanged."""
        self.source = source
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        if self._extend(cursor, blocks, first):
            first += 1
        else:
            first = self._truncate(cursor, first)
        for block in blocks[first:]:
            self._append(cursor, block)
        self._flatten_free_block(cursor)
        cursor.endEditBlock()

    def restyle(self, formats: Formats) -> None:
        """Write everything again in other formats."""
        self._formats = formats
        blocks, source = list(self._blocks), self.source
        self.show([])
        self.show(blocks, source=source)

    def code(self, number: int) -> str:
        """The text of a code block by the number in its anchor."""
        block = self._blocks[number]
        assert isinstance(block, Code)
        return block.text

    def quoted(self, first: float, last: float, top: Callable[[int], float]) -> Iterator[Quoted]:
        """What is quoted between two heights; `top` gives that of a position.

        Qt's own search for what stands at a height goes through the whole document.
        """
        index = max(0, bisect_right(self._starts, first, key=lambda start: top(start.position)) - 1)
        while index < len(self._blocks) and top(self._starts[index].position) <= last:
            start, place = self._starts[index], self._blocks[index].place
            index += 1
            end = self._starts[index].position if index < len(self._starts) else self._document.characterCount() - 1
            if place.quotes:
                yield Quoted(start.position + (not start.free), end, place)

    # Taking back

    def _truncate(self, cursor: QTextCursor, first: int) -> int:
        # Qt gives an empty block the format of the one joined to it, so empty blocks are written again.
        while 0 < first <= len(self._blocks) and _is_empty(self._blocks[first - 1]):
            first -= 1
        if first >= len(self._blocks):
            return first
        start = self._starts[first]
        cursor.setPosition(start.position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._free = start.free
        if start.free:
            self._clear_block(cursor)
        del self._blocks[first:], self._starts[first:]
        self._lists = {name: at for name, at in self._lists.items() if at < start.position}
        self._codes = {index: at for index, at in self._codes.items() if index < first}
        self.map.truncate(start.position)
        return first

    def _clear_block(self, cursor: QTextCursor) -> None:
        """An empty block must not keep the list or the looks of what stood there."""
        block_list = cursor.block().textList()
        if block_list:
            block_list.remove(cursor.block())
        cursor.setBlockFormat(QTextBlockFormat())
        cursor.setBlockCharFormat(QTextCharFormat())

    def _flatten_free_block(self, cursor: QTextCursor) -> None:
        """The empty block behind a frame takes no room until something is written into it."""
        if self._free and self._blocks:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            flat = QTextBlockFormat()
            flat.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            cursor.setBlockFormat(flat)

    # Growing

    def _extend(self, cursor: QTextCursor, blocks: Sequence[Block], first: int) -> bool:
        """Grow the last block where it stands, which is much cheaper than writing it again."""
        if first != len(self._blocks) - 1 or first >= len(blocks):
            return False
        old, new = self._blocks[first], blocks[first]
        if isinstance(old, Code) and isinstance(new, Code):
            return self._extend_code(cursor, old, new)
        if isinstance(old, Table) and isinstance(new, Table):
            return self._extend_table(cursor, old, new)
        return False

    def _extend_code(self, cursor: QTextCursor, old: Code, new: Code) -> bool:
        same = (old.language, old.place) == (new.language, new.place)
        if not same or not new.text.startswith(old.text):
            return False
        start = self._codes[len(self._blocks) - 1]
        cursor.setPosition(start)
        cursor.setPosition(cursor.currentFrame().lastPosition())
        cursor.insertText(new.text[len(old.text) :], self._formats.code())
        self._blocks[-1] = new
        self._map_code(new, start)
        return True

    def _extend_table(self, cursor: QTextCursor, old: Table, new: Table) -> bool:
        same = (old.rows[0], old.aligns, old.place) == (new.rows[0], new.aligns, new.place)
        if not same or len(new.rows) < len(old.rows):
            return False
        changed = next((i for i, row in enumerate(old.rows) if row != new.rows[i]), len(old.rows))
        cursor.setPosition(self._starts[-1].position)
        cursor.movePosition(QTextCursor.MoveOperation.NextBlock)
        table = cursor.currentTable()
        assert table is not None
        if changed < len(old.rows):
            self.map.truncate(table.cellAt(changed, 0).firstPosition())
        if len(new.rows) > len(old.rows):
            table.appendRows(len(new.rows) - len(old.rows))
        for row in range(changed, len(new.rows)):
            self._write_row(table, new, row)
        self._blocks[-1] = new
        return True

    # Writing

    def _append(self, cursor: QTextCursor, block: Block) -> None:
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._starts.append(_Start(cursor.position(), self._free))
        self._blocks.append(block)
        match block:
            case Paragraph():
                self._paragraph(cursor, block)
            case Code():
                self._code(cursor, block)
            case Table():
                self._table(cursor, block)
            case Rule():
                self._begin(cursor, self._formats.rule_block(block.place), QTextCharFormat())

    def _begin(self, cursor: QTextCursor, block: QTextBlockFormat, text: QTextCharFormat) -> None:
        if self._free:
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(text)
            cursor.setCharFormat(text)
        else:
            cursor.insertBlock(block, text)
        self._free = False

    def _paragraph(self, cursor: QTextCursor, block: Paragraph) -> None:
        formats, place = self._formats, block.place
        text = formats.display(place) if block.display else formats.body(place)
        if block.heading:
            shape, text = formats.heading_block(block.heading, place), formats.heading(block.heading, place)
        elif block.item:
            shape = formats.item_block(block.item, place)
        else:
            shape = formats.display_block(place) if block.display else formats.block(place)
        self._begin(cursor, shape, text)
        if block.item:
            self._enlist(cursor, block)
        self._spans(cursor, block.spans, text)

    def _enlist(self, cursor: QTextCursor, block: Paragraph) -> None:
        assert block.item
        first = self._lists.get(block.item.list)
        if first is None:
            self._lists[block.item.list] = cursor.position()
            cursor.createList(self._formats.list(block.item, block.place.lists))
        else:
            self._document.findBlock(first).textList().add(cursor.block())

    def _spans(self, cursor: QTextCursor, found: Sequence[Span], base: QTextCharFormat) -> None:
        for span in found:
            if span.style & Style.IMAGE:
                label = QCoreApplication.translate("DocumentWriter", "Image:")
                cursor.insertText(f"{label} ", self._formats.image_label(base))
            position = cursor.position()
            look = self._formats.span(span, base) if span.style or span.address else base
            cursor.insertText(span.text.replace("\n", _LINE), look)
            self.map.add(position, span)

    def _code(self, cursor: QTextCursor, block: Code) -> None:
        formats, number = self._formats, len(self._blocks) - 1
        self._make_way_for_frame(cursor)
        cursor.insertFrame(formats.code_frame(block.place))
        cursor.setBlockFormat(formats.code_head_block())
        language = block.language or QCoreApplication.translate("DocumentWriter", "text")
        cursor.insertText(f"{language}   " if self._copyable else language, formats.code_label())
        if self._copyable:
            button = QCoreApplication.translate("DocumentWriter", "Copy")
            cursor.insertText(button, formats.code_button(f"{COPY}{number}"))
        cursor.insertBlock(formats.code_block(number, block.language), formats.code())
        self._codes[number] = cursor.position()
        cursor.insertText(block.text, formats.code())
        self._map_code(block, self._codes[number])
        self._free = True  # Qt keeps an empty block behind a frame

    def _make_way_for_frame(self, cursor: QTextCursor) -> None:
        """A block inside a frame must not inherit the list of the free block before it."""
        if self._free:
            self._clear_block(cursor)
            self._flatten_free_block(cursor)

    def _map_code(self, block: Code, start: int) -> None:
        self.map.truncate(start)
        position = start
        for span in spans(block):
            position = self.map.add(position, span)

    def _table(self, cursor: QTextCursor, block: Table) -> None:
        self._make_way_for_frame(cursor)
        table = cursor.insertTable(len(block.rows), len(block.aligns), self._formats.table(block.place))
        for row in range(len(block.rows)):
            self._write_row(table, block, row)
        self._free = True

    def _write_row(self, table: QTextTable, block: Table, row: int) -> None:
        base = self._formats.table_head() if row == 0 else self._formats.body(block.place)
        for column, cell in enumerate(block.rows[row]):
            place = table.cellAt(row, column)
            if row == 0:
                ground = place.format()
                ground.setBackground(self._formats.head_ground())
                place.setFormat(ground)
            cursor = place.firstCursorPosition()
            cursor.setPosition(place.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            cursor.setBlockFormat(self._formats.cell_block(block.aligns[column]))
            self._spans(cursor, cell, base)


def _is_empty(block: Block) -> bool:
    return isinstance(block, Rule) or (isinstance(block, Paragraph) and not any(span.text for span in block.spans))
