"""Blocks written into a QTextDocument, and their formats."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextOption,
    QTextTable,
    QTextTableFormat,
)

from headstart.ui.markdown.blocks import (
    Block,
    Code,
    Item,
    Paragraph,
    Place,
    PositionMap,
    Rule,
    Span,
    Style,
    Table,
    spans,
)
from headstart.ui.markdown.mathematics import OBJECT, SIGN, FormulaObject
from headstart.ui.widgets import theme as appearance
from headstart.ui.widgets.theme import Theme

CODE_ID = QTextFormat.Property.UserProperty.value + 1  # of a line of code: number of its code block
LANGUAGE = CODE_ID + 1  # of a line of code
QUOTES = CODE_ID + 2  # of any block: how many block quotes it stands in
INDENT = 24
QUOTE_INDENT = 16
_HEADING_SCALE = (1.5, 1.3, 1.15, 1.05, 1.0, 1.0)
_BULLETS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)
_PADDING = 6  # of the cell of a table
# Usual letters in a column: as many as it should have at least, if its cells do, and as many as it gets in a table that
# scrolls sideways.
_LEAST_LETTERS, _MOST_LETTERS = 18, 40
_ALIGNMENTS = {
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute,
    "center": Qt.AlignmentFlag.AlignHCenter,
}


@dataclass
class Formats:
    """Formats made from a theme; `font` is that of running text."""

    theme: Theme
    font: QFont

    @cached_property
    def _mono(self) -> list[str]:
        return appearance.mono_families()

    def body(self, place: Place) -> QTextCharFormat:
        """Running text."""
        made = QTextCharFormat()
        made.setForeground(QColor(self.theme.muted if place.quotes else self.theme.text))
        return made

    def heading(self, level: int, place: Place) -> QTextCharFormat:
        """The text of a heading of level 1 to 6."""
        made = self.body(place)
        made.setFontWeight(QFont.Weight.DemiBold)
        made.setFontPointSize(self.font.pointSizeF() * _HEADING_SCALE[level - 1])
        return made

    def span(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        """`base` with the looks of a span."""
        made = QTextCharFormat(base)
        style = span.style
        if style & Style.BOLD:
            made.setFontWeight(QFont.Weight.Bold)
        if style & Style.ITALIC:
            made.setFontItalic(True)
        if style & Style.STRIKE:
            made.setFontStrikeOut(True)
        if style & Style.CODE:
            made.setFontFamilies(self._mono)
            made.setBackground(QColor(self.theme.inline_code))
        if style & Style.MATH:
            made.setFontFamilies(self._mono)
        if span.address:
            self._link(made, span)
        return made

    def _link(self, made: QTextCharFormat, span: Span) -> None:
        made.setAnchor(True)
        made.setAnchorHref(span.address)
        made.setForeground(QColor(self.theme.link))
        made.setFontUnderline(True)

    def image_label(self, base: QTextCharFormat) -> QTextCharFormat:
        """The word before the description of a picture that is not shown."""
        made = QTextCharFormat(base)
        made.setForeground(QColor(self.theme.muted))
        return made

    def code(self) -> QTextCharFormat:
        """A line of code."""
        made = QTextCharFormat()
        made.setFontFamilies(self._mono)
        made.setFontFixedPitch(True)
        made.setFontPointSize(self.font.pointSizeF() * 0.94)
        made.setForeground(QColor(self.theme.text))
        return made

    def code_label(self) -> QTextCharFormat:
        """The language above the code."""
        made = QTextCharFormat()
        made.setForeground(QColor(self.theme.muted))
        made.setFontPointSize(self.font.pointSizeF() * 0.86)
        return made

    def code_button(self, address: str) -> QTextCharFormat:
        """The anchor that copies, saves or shows the code."""
        made = self.code_label()
        made.setAnchor(True)
        made.setAnchorHref(address)
        made.setForeground(QColor(self.theme.link))
        return made

    def table_head(self) -> QTextCharFormat:
        """Text in the first row of a table."""
        made = self.body(Place())
        made.setFontWeight(QFont.Weight.DemiBold)
        return made

    def block(self, place: Place, top: float = 0.0, bottom: float = appearance.SMALL) -> QTextBlockFormat:
        """Any block of running text."""
        made = QTextBlockFormat()
        made.setTopMargin(top)
        made.setBottomMargin(bottom)
        made.setLeftMargin(place.quotes * QUOTE_INDENT)
        made.setRightMargin(place.quotes * QUOTE_INDENT)  # text that runs from right to left has its bar there
        made.setIndent(place.lists)
        made.setLineHeight(appearance.LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if place.quotes:
            made.setProperty(QUOTES, place.quotes)
        return made

    def heading_block(self, level: int, place: Place) -> QTextBlockFormat:
        """The block of a heading."""
        made = self.block(place, appearance.MEDIUM if level < 3 else appearance.SMALL, appearance.SMALL)
        made.setHeadingLevel(level)
        return made

    def item_block(self, item: Item, place: Place) -> QTextBlockFormat:
        """The block that begins a list entry. Its list brings the indent."""
        made = self.block(place, 0, appearance.TINY)
        made.setIndent(0)
        if item.checked is not None:
            marker = QTextBlockFormat.MarkerType
            made.setMarker(marker.Checked if item.checked else marker.Unchecked)
        return made

    def display_block(self, place: Place) -> QTextBlockFormat:
        """A formula on lines of its own."""
        made = self.block(place, appearance.TINY, appearance.MEDIUM)
        made.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        made.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
        return made

    def rule_block(self, place: Place) -> QTextBlockFormat:
        """A horizontal line."""
        made = self.block(place, appearance.TINY, appearance.TINY)
        made.setLineHeight(appearance.SMALL, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        width = QTextLength(QTextLength.Type.PercentageLength, 100)
        made.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value, width)
        made.setBackground(QBrush(QColor(self.theme.border)))
        return made

    def code_head_block(self) -> QTextBlockFormat:
        """The line with language and button."""
        made = QTextBlockFormat()
        made.setBottomMargin(appearance.TINY)
        made.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        return made

    def code_block(self, number: int, language: str) -> QTextBlockFormat:
        """A line of code: left to right whatever the language around it."""
        made = QTextBlockFormat()
        made.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        made.setLineHeight(appearance.CODE_LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        made.setProperty(CODE_ID, number)
        made.setProperty(LANGUAGE, language)
        return made

    def code_frame(self, place: Place) -> QTextFrameFormat:
        """The box around code."""
        made = QTextFrameFormat()
        made.setBackground(QColor(self.theme.code_ground))
        made.setBorder(1)
        made.setBorderBrush(QColor(self.theme.border))
        made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        made.setPadding(appearance.SMALL)
        made.setTopMargin(appearance.TINY)
        made.setBottomMargin(appearance.SMALL)
        made.setLeftMargin(place.quotes * QUOTE_INDENT + place.lists * INDENT)
        return made

    def table(self, place: Place) -> QTextTableFormat:
        """A table with a head."""
        made = QTextTableFormat()
        made.setCellPadding(_PADDING)
        made.setCellSpacing(0)
        made.setBorder(1)
        made.setBorderCollapse(True)
        made.setBorderBrush(QColor(self.theme.border))
        made.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        made.setHeaderRowCount(1)
        made.setTopMargin(appearance.TINY)
        made.setBottomMargin(appearance.SMALL)
        made.setLeftMargin(place.quotes * QUOTE_INDENT + place.lists * INDENT)
        return made

    def head_ground(self) -> QBrush:
        """Behind the first row of a table."""
        return QBrush(QColor(self.theme.table_head))

    def cell_block(self, align: str) -> QTextBlockFormat:
        """The paragraph in a cell."""
        made = QTextBlockFormat()
        if align in _ALIGNMENTS:
            made.setAlignment(_ALIGNMENTS[align])
        return made

    def list(self, item: Item, depth: int) -> QTextListFormat:
        """The list that `item` begins."""
        made = QTextListFormat()
        made.setIndent(depth)
        if item.number is None:
            made.setStyle(_BULLETS[min(depth, len(_BULLETS)) - 1])
        else:
            made.setStyle(QTextListFormat.Style.ListDecimal)
            made.setStart(item.number)
        return made


# Schemes of the anchors above a code block, as in copy:<number>.
COPY, SAVE, PREVIEW = "copy:", "save:", "preview:"
CODE_ANCHORS = (COPY, SAVE, PREVIEW)
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
        """`copyable`: code has buttons."""
        self._copyable = copyable
        self.map = PositionMap()
        self.source = ""  # the text that the map leads to
        self._document = document
        self._formats = formats
        self._blocks: list[Block] = []
        self._starts: list[_Start] = []
        self._lists: dict[int, int] = {}  # list -> position of its first entry
        self._codes: dict[int, int] = {}  # index of a code block -> position of its text
        self._fitted: dict[int, int] = {}  # index of code or a table -> the width that it was fitted into
        self._free = True
        document.setUndoRedoEnabled(False)
        document.documentLayout().registerHandler(OBJECT, FormulaObject(document))
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

    def fit(self, width: int) -> None:
        """Put the buttons of code at its end, and have tables that would be too narrow to read reach beyond it."""
        for index, block in enumerate(self._blocks):
            if isinstance(block, Code | Table) and self._fitted.get(index) != width:
                self._fitted[index] = width
                if isinstance(block, Table):
                    self._fit_table(self._table_at(index), width)
                elif self._copyable:
                    self._fit_code(self._codes[index], width)

    def _fit_code(self, start: int, width: int) -> None:
        head = QTextCursor(self._document.findBlock(start).previous())
        frame, form = head.currentFrame().frameFormat(), head.blockFormat()
        end = width - frame.leftMargin() - 2 * (frame.padding() + frame.border())
        form.setTabPositions([QTextOption.Tab(end, QTextOption.TabType.RightTab)])
        head.setBlockFormat(form)

    def _fit_table(self, table: QTextTable, width: int) -> None:
        self._document.size()  # lays out what is new, which measures the cells
        cells = [[table.cellAt(row, column) for row in range(table.rows())] for column in range(table.columns())]
        needed = [
            max(cell.firstCursorPosition().block().layout().maximumWidth() for cell in column) for column in cells
        ]
        letter = QFontMetricsF(self._formats.font, self._document.documentLayout().paintDevice()).averageCharWidth()
        frame = 2 * _PADDING + 4  # with both borders, and what is lost where widths are rounded
        form = table.format()
        least = sum(min(each, _LEAST_LETTERS * letter) + frame for each in needed)
        widths = (
            [min(each, _MOST_LETTERS * letter) + frame for each in needed] if least > width - form.leftMargin() else []
        )
        form.setColumnWidthConstraints([QTextLength(QTextLength.Type.FixedLength, each) for each in widths])
        if form != table.format():
            table.setFormat(form)

    def _table_at(self, index: int) -> QTextTable:
        cursor = QTextCursor(self._document)
        cursor.setPosition(self._starts[index].position)
        cursor.movePosition(QTextCursor.MoveOperation.NextBlock)
        table = cursor.currentTable()
        assert table is not None
        return table

    def code(self, number: int) -> Code:
        """A code block by the number in its anchors."""
        block = self._blocks[number]
        assert isinstance(block, Code)
        return block

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
        self._fitted = {index: width for index, width in self._fitted.items() if index < first}
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
            return self._extend_table(old, new)
        return False

    def _extend_code(self, cursor: QTextCursor, old: Code, new: Code) -> bool:
        same = (old.language, old.place, old.preview) == (new.language, new.place, new.preview)
        if not same or not new.text.startswith(old.text):
            return False
        start = self._codes[len(self._blocks) - 1]
        cursor.setPosition(start)
        cursor.setPosition(cursor.currentFrame().lastPosition())
        cursor.insertText(new.text[len(old.text) :], self._formats.code())
        self._blocks[-1] = new
        self._map_code(new, start)
        return True

    def _extend_table(self, old: Table, new: Table) -> bool:
        same = (old.rows[0], old.aligns, old.place) == (new.rows[0], new.aligns, new.place)
        if not same or len(new.rows) < len(old.rows):
            return False
        changed = next((i for i, row in enumerate(old.rows) if row != new.rows[i]), len(old.rows))
        table = self._table_at(len(self._blocks) - 1)
        self._fitted.pop(len(self._blocks) - 1, None)
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
        text = formats.body(place)
        if block.heading:
            shape, text = formats.heading_block(block.heading, place), formats.heading(block.heading, place)
        elif block.item:
            shape = formats.item_block(block.item, place)
        else:
            shape = formats.display_block(place) if block.display else formats.block(place)
        if not block.display and any(span.style & Style.MATH for span in block.spans):
            # In proportion, a line with a fraction would get far more room below it than others.
            metrics = QFontMetricsF(self._formats.font, self._document.documentLayout().paintDevice())
            room = metrics.height() * (appearance.LINE_HEIGHT / 100 - 1)
            shape.setLineHeight(room, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        self._begin(cursor, shape, text)
        if block.item:
            self._enlist(cursor, block)
        self._spans(cursor, block.spans, text, display=block.display)

    def _enlist(self, cursor: QTextCursor, block: Paragraph) -> None:
        assert block.item
        first = self._lists.get(block.item.list)
        if first is None:
            self._lists[block.item.list] = cursor.position()
            cursor.createList(self._formats.list(block.item, block.place.lists))
        else:
            self._document.findBlock(first).textList().add(cursor.block())

    def _spans(
        self, cursor: QTextCursor, found: Sequence[Span], base: QTextCharFormat, *, display: bool = False
    ) -> None:
        for span in found:
            if span.style & Style.IMAGE:
                label = QCoreApplication.translate("DocumentWriter", "Image:")
                cursor.insertText(f"{label} ", self._formats.image_label(base))
            look = self._formats.span(span, base) if span.style or span.address else base
            if span.style & Style.MATH and (formula := FormulaObject.format_of(span.text, base, display=display)):
                self.map.add(cursor.position(), replace(span, text=SIGN, exact=False))
                cursor.insertText(SIGN, formula)
                continue
            self.map.add(cursor.position(), span)
            cursor.insertText(span.text.replace("\n", _LINE), look)

    def _code(self, cursor: QTextCursor, block: Code) -> None:
        formats, number = self._formats, len(self._blocks) - 1
        self._make_way_for_frame(cursor)
        cursor.insertFrame(formats.code_frame(block.place))
        cursor.setBlockFormat(formats.code_head_block())
        language = block.language or QCoreApplication.translate("DocumentWriter", "text")
        cursor.insertText(language, formats.code_label())
        if self._copyable:
            for before, (scheme, label) in zip(chain("\t", repeat("   ")), _code_buttons(block), strict=False):
                cursor.insertText(before, formats.code_label())
                cursor.insertText(label, formats.code_button(f"{scheme}{number}"))
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


def _code_buttons(block: Code) -> Iterator[tuple[str, str]]:
    yield COPY, QCoreApplication.translate("DocumentWriter", "Copy")
    yield SAVE, QCoreApplication.translate("DocumentWriter", "Save as file…")
    if block.preview:
        yield PREVIEW, QCoreApplication.translate("DocumentWriter", "Preview")


def _is_empty(block: Block) -> bool:
    return isinstance(block, Rule) or (isinstance(block, Paragraph) and not any(span.text for span in block.spans))
