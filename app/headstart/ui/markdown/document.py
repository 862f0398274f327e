"""The writer of blocks into a QTextDocument, and their formats."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextOption,
    QTextTable,
    QTextTableFormat,
)

from headstart.markdown.blocks import (
    Block,
    Code,
    ListItem,
    Nesting,
    Paragraph,
    PositionMap,
    Rule,
    Span,
    Style,
    TableBlock,
    spans,
)
from headstart.ui.markdown.mathematics import OBJECT, SIGN, FormulaObject
from headstart.ui.widgets import theme as appearance
from headstart.ui.widgets.theme import Theme

CODE_ID = QTextFormat.Property.UserProperty.value + 1  # property of a line of code: number of its code block
LANGUAGE = CODE_ID + 1  # property of a line of code
QUOTES = CODE_ID + 2  # property of a block: number of quotes around it
QUOTE_INDENT = 16
_HEADING_SCALE = (1.5, 1.3, 1.15, 1.05, 1.0, 1.0)
_BULLETS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)
_PADDING = 6  # of a table cell
# A table scrolls sideways if its columns would get fewer letters of mean width than the first number; then they get at
# most the second.
_MIN_LETTERS, _MAX_LETTERS = 18, 40
_ALIGNMENTS = {
    "right": Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignAbsolute,
    "center": Qt.AlignmentFlag.AlignHCenter,
}


@dataclass
class Formats:
    """The formats of blocks and spans in one theme; `font` is the font of running text."""

    theme: Theme
    font: QFont

    @cached_property
    def indent(self) -> float:
        """The indent of a list, in pixels: a marker of two digits fits in."""
        return QFontMetricsF(self.font).horizontalAdvance("00. ")

    @cached_property
    def _mono(self) -> list[str]:
        return appearance.mono_families()

    def body(self, place: Nesting) -> QTextCharFormat:
        fmt = QTextCharFormat()
        fmt.setForeground(QColor(self.theme.muted if place.quotes else self.theme.text))
        return fmt

    def heading(self, level: int, place: Nesting) -> QTextCharFormat:
        """Return the format of the text of a heading, level 1 to 6."""
        fmt = self.body(place)
        fmt.setFontWeight(QFont.Weight.DemiBold)
        fmt.setFontPointSize(self.font.pointSizeF() * _HEADING_SCALE[level - 1])
        return fmt

    def span(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        fmt = QTextCharFormat(base)
        style = span.style
        if style & Style.BOLD:
            fmt.setFontWeight(QFont.Weight.Bold)
        if style & Style.ITALIC:
            fmt.setFontItalic(True)
        if style & Style.STRIKE:
            fmt.setFontStrikeOut(True)
        if style & Style.CODE:
            fmt.setFontFamilies(self._mono)
            fmt.setBackground(QColor(self.theme.inline_code))
        if style & Style.MATH:
            fmt.setFontFamilies(self._mono)
        if span.address:
            self._link(fmt, span)
        return fmt

    def _link(self, fmt: QTextCharFormat, span: Span) -> None:
        fmt.setAnchor(True)
        fmt.setAnchorHref(span.address)
        fmt.setForeground(QColor(self.theme.link))
        fmt.setFontUnderline(True)

    def image_label(self, base: QTextCharFormat) -> QTextCharFormat:
        """Return the format of the word before the description of an image."""
        fmt = QTextCharFormat(base)
        fmt.setForeground(QColor(self.theme.muted))
        return fmt

    def code(self) -> QTextCharFormat:
        fmt = QTextCharFormat()
        fmt.setFontFamilies(self._mono)
        fmt.setFontFixedPitch(True)
        fmt.setFontPointSize(self.font.pointSizeF() * 0.94)
        fmt.setForeground(QColor(self.theme.text))
        return fmt

    def code_label(self) -> QTextCharFormat:
        """Return the format of the language above code."""
        fmt = QTextCharFormat()
        fmt.setForeground(QColor(self.theme.muted))
        fmt.setFontPointSize(self.font.pointSizeF() * 0.86)
        return fmt

    def code_button(self, address: str) -> QTextCharFormat:
        """Return the format of an anchor that copies, saves or previews code."""
        fmt = self.code_label()
        fmt.setAnchor(True)
        fmt.setAnchorHref(address)
        fmt.setForeground(QColor(self.theme.link))
        return fmt

    def table_head(self) -> QTextCharFormat:
        """Return the format of text in the first row of a table."""
        fmt = self.body(Nesting())
        fmt.setFontWeight(QFont.Weight.DemiBold)
        return fmt

    def block(self, place: Nesting, top: float = 0.0, bottom: float = appearance.SMALL) -> QTextBlockFormat:
        fmt = QTextBlockFormat()
        fmt.setTopMargin(top)
        fmt.setBottomMargin(bottom)
        fmt.setLeftMargin(place.quotes * QUOTE_INDENT)
        fmt.setRightMargin(place.quotes * QUOTE_INDENT)  # right-to-left text has its bar there
        fmt.setIndent(place.lists)
        fmt.setLineHeight(appearance.LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if place.quotes:
            fmt.setProperty(QUOTES, place.quotes)
        return fmt

    def heading_block(self, level: int, place: Nesting) -> QTextBlockFormat:
        fmt = self.block(place, appearance.MEDIUM if level < 3 else appearance.SMALL, appearance.SMALL)
        fmt.setHeadingLevel(level)
        return fmt

    def item_block(self, item: ListItem, place: Nesting) -> QTextBlockFormat:
        """Return the format of a block that begins a list item. A list sets the indent."""
        fmt = self.block(place, 0, appearance.TINY)
        if _has_marker(item):
            fmt.setIndent(0)
        else:
            fmt.setTextIndent(-QFontMetricsF(self.font).horizontalAdvance(_box(item)))
        return fmt

    def display_block(self, place: Nesting) -> QTextBlockFormat:
        fmt = self.block(place, appearance.TINY, appearance.MEDIUM)
        fmt.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        fmt.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
        return fmt

    def rule_block(self, place: Nesting) -> QTextBlockFormat:
        """Return the format of a horizontal line."""
        fmt = self.block(place, appearance.TINY, appearance.TINY)
        fmt.setLineHeight(appearance.SMALL, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        width = QTextLength(QTextLength.Type.PercentageLength, 100)
        fmt.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value, width)
        fmt.setBackground(QBrush(QColor(self.theme.border)))
        return fmt

    def code_head_block(self) -> QTextBlockFormat:
        """Return the format of the line with language and buttons above code."""
        fmt = QTextBlockFormat()
        fmt.setBottomMargin(appearance.TINY)
        fmt.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        return fmt

    def code_block(self, number: int, language: str, *, wraps: bool) -> QTextBlockFormat:
        """Return the format of a line of code: left to right in every language."""
        fmt = QTextBlockFormat()
        fmt.setNonBreakableLines(not wraps)
        fmt.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        fmt.setLineHeight(appearance.CODE_LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        fmt.setProperty(CODE_ID, number)
        fmt.setProperty(LANGUAGE, language)
        return fmt

    def code_frame(self, place: Nesting, top: float) -> QTextFrameFormat:
        fmt = QTextFrameFormat()
        fmt.setBackground(QColor(self.theme.code_ground))
        fmt.setBorder(1)
        fmt.setBorderBrush(QColor(self.theme.border))
        fmt.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        fmt.setPadding(appearance.SMALL)
        fmt.setTopMargin(top)
        fmt.setBottomMargin(appearance.SMALL)
        fmt.setLeftMargin(place.quotes * QUOTE_INDENT + place.lists * self.indent)
        return fmt

    def table(self, place: Nesting, top: float) -> QTextTableFormat:
        fmt = QTextTableFormat()
        fmt.setCellPadding(_PADDING)
        fmt.setCellSpacing(0)
        fmt.setBorder(1)
        fmt.setBorderCollapse(True)
        fmt.setBorderBrush(QColor(self.theme.border))
        fmt.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        fmt.setHeaderRowCount(1)
        fmt.setTopMargin(top)
        fmt.setBottomMargin(appearance.SMALL)
        fmt.setLeftMargin(place.quotes * QUOTE_INDENT + place.lists * self.indent)
        return fmt

    def cell_block(self, align: str) -> QTextBlockFormat:
        """Return the format of the paragraph in a table cell."""
        fmt = QTextBlockFormat()
        if align in _ALIGNMENTS:
            fmt.setAlignment(_ALIGNMENTS[align])
        return fmt

    def list(self, item: ListItem, depth: int) -> QTextListFormat:
        """Return the format of the list that `item` begins."""
        fmt = QTextListFormat()
        fmt.setIndent(depth)
        if item.number is None:
            fmt.setStyle(_BULLETS[min(depth, len(_BULLETS)) - 1])
        else:
            fmt.setStyle(QTextListFormat.Style.ListDecimal)
            fmt.setStart(item.number)
        return fmt


# Schemes of the anchors above a code block, as in copy:<number>.
COPY, SAVE, PREVIEW = "copy:", "save:", "preview:"
CODE_ANCHORS = (COPY, SAVE, PREVIEW)
_MAX_LINE = 2000  # characters of a line of code that scrolls; with a longer one, code wraps
_LINE_SEPARATOR = "\u2028"  # a line break inside a block


@dataclass(frozen=True)
class _BlockStart:
    """The place where a block begins."""

    position: int
    has_free_block: bool  # the empty block that Qt keeps after a frame is there, to be used

    @property
    def inside(self) -> int:
        """The first position in the block."""
        return self.position + (not self.has_free_block)


class QuotedBlock(NamedTuple):
    """The range of a block quote in the document."""

    start: int
    end: int
    place: Nesting


class WideBlock(NamedTuple):
    """Code or a table that is wider than the text. Of its `room`, `scrolled` moves: all but the heading of code."""

    id: int  # stays while the block grows
    room: QRectF  # without margins
    scrolled: QRectF
    is_code: bool


class DocumentWriter:
    """A writer that keeps a document equal to a list of blocks, however often that changes."""

    def __init__(self, document: QTextDocument, formats: Formats, *, on_paper: bool = False) -> None:
        """`on_paper`, code has no buttons, and its lines wrap."""
        self._on_paper = on_paper
        self.map = PositionMap()
        self.source = ""  # the offsets in `map` count in it
        self._document = document
        self._formats = formats
        self._blocks: list[Block] = []
        self._starts: list[_BlockStart] = []
        self._lists: dict[int, int] = {}  # list -> position of its first item
        self._codes: dict[int, int] = {}  # index of a code block -> position of its text
        self._fitted_widths: dict[int, int] = {}  # index of code or a table -> width to which it was fitted
        self._has_free_block = True
        document.setUndoRedoEnabled(False)
        document.documentLayout().registerHandler(OBJECT, FormulaObject(document))
        document.setIndentWidth(formats.indent)

    def show(self, blocks: Sequence[Block], first: int = 0, source: str = "") -> None:
        """Show `blocks` of `source`; those before `first` are unchanged."""
        self.source = source
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        if self._extend_last(cursor, blocks, first):
            first += 1
        else:
            first = self._truncate(cursor, first)
        for block in blocks[first:]:
            self._write_block(cursor, block)
        self._flatten_free_block(cursor)
        cursor.endEditBlock()

    def restyle(self, formats: Formats) -> None:
        """Rewrite everything in the current formats."""
        self._formats = formats
        self._document.setIndentWidth(formats.indent)
        blocks, source = list(self._blocks), self.source
        self.show([])
        self.show(blocks, source=source)

    def fit(self, width: int) -> None:
        """Fit code and tables to a width: buttons move to its end, and tables that would be too narrow exceed it."""
        for index, block in enumerate(self._blocks):
            if isinstance(block, Code | TableBlock) and self._fitted_widths.get(index) != width:
                self._fitted_widths[index] = width
                if isinstance(block, TableBlock):
                    self._fit_table(self._table_at(index), width)
                elif not self._on_paper:
                    self._fit_code(self._codes[index], width)

    def _fit_code(self, start: int, width: int) -> None:
        head = QTextCursor(self._document.findBlock(start).previous())
        frame, fmt = head.currentFrame().frameFormat(), head.blockFormat()
        end = width - frame.leftMargin() - 2 * (frame.padding() + frame.border())
        fmt.setTabPositions([QTextOption.Tab(end, QTextOption.TabType.RightTab)])
        head.setBlockFormat(fmt)

    def _fit_table(self, table: QTextTable, width: int) -> None:
        self._document.size()  # lays out new cells, which measures them
        cells = [[table.cellAt(row, column) for row in range(table.rows())] for column in range(table.columns())]
        needed = [
            max(cell.firstCursorPosition().block().layout().maximumWidth() for cell in column) for column in cells
        ]
        letter = QFontMetricsF(self._formats.font, self._document.documentLayout().paintDevice()).averageCharWidth()
        frame = 2 * _PADDING + 4  # with both borders and losses by rounding
        fmt = table.format()
        min_width = sum(min(each, _MIN_LETTERS * letter) + frame for each in needed)
        widths = (
            [min(each, _MAX_LETTERS * letter) + frame for each in needed]
            if min_width > width - fmt.leftMargin()
            else []
        )
        fmt.setBottomMargin(appearance.LARGE if widths else appearance.SMALL)  # room for a scroll bar
        fmt.setColumnWidthConstraints([QTextLength(QTextLength.Type.FixedLength, each) for each in widths])
        if fmt != table.format():
            table.setFormat(fmt)

    def _frame_at(self, index: int) -> QTextFrame:
        """Return the frame of code or of a table."""
        cursor = QTextCursor(self._document)
        cursor.setPosition(self._starts[index].position)
        cursor.movePosition(QTextCursor.MoveOperation.NextBlock)
        return cursor.currentFrame()

    def _table_at(self, index: int) -> QTextTable:
        table = self._frame_at(index)
        assert isinstance(table, QTextTable)
        return table

    def wide_blocks(self, width: int) -> Iterator[WideBlock]:
        """Yield the blocks that exceed a width, from top to bottom."""
        layout = self._document.documentLayout()
        for index, block in enumerate(self._blocks):
            if isinstance(block, Code | TableBlock):
                frame = self._frame_at(index)
                room = frame_rect(layout, frame)
                if room.right() > width + 1:
                    scrolled = QRectF(room)
                    if isinstance(block, Code):
                        scrolled.setTop(layout.blockBoundingRect(self._document.findBlock(self._codes[index])).top())
                    yield WideBlock(frame.objectIndex(), room, scrolled, isinstance(block, Code))

    def code(self, number: int) -> Code:
        """Return a code block by the number in its anchors."""
        block = self._blocks[number]
        assert isinstance(block, Code)
        return block

    def quoted(self, first: float, last: float, top: Callable[[int], float]) -> Iterator[QuotedBlock]:
        """Yield the quoted blocks between two heights; `top` returns the height of a position.

        Qt's own search for a height goes through the whole document.
        """
        index = max(0, bisect_right(self._starts, first, key=lambda start: top(start.inside)) - 1)
        while index < len(self._blocks) and top(self._starts[index].inside) <= last:
            start, place = self._starts[index], self._blocks[index].place
            index += 1
            following = self._starts[index] if index < len(self._starts) else None
            end = following.position if following else self._document.characterCount() - 1
            if following.has_free_block if following else self._has_free_block:
                end -= 1  # the block behind a frame is not quoted
            if place.quotes:
                yield QuotedBlock(start.inside, end, place)

    # Removing

    def _truncate(self, cursor: QTextCursor, first: int) -> int:
        # Qt gives an empty block the format of the block joined to it, so empty blocks are written again.
        while 0 < first <= len(self._blocks) and _is_empty(self._blocks[first - 1]):
            first -= 1
        if first >= len(self._blocks):
            return first
        start = self._starts[first]
        cursor.setPosition(start.position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._has_free_block = start.has_free_block
        if start.has_free_block:
            self._clear_block(cursor)
        del self._blocks[first:], self._starts[first:]
        self._lists = {name: at for name, at in self._lists.items() if at < start.position}
        self._codes = {index: at for index, at in self._codes.items() if index < first}
        self._fitted_widths = {index: width for index, width in self._fitted_widths.items() if index < first}
        self.map.truncate(start.position)
        return first

    def _clear_block(self, cursor: QTextCursor) -> None:
        """Remove the list and the formats of an empty block."""
        block_list = cursor.block().textList()
        if block_list:
            block_list.remove(cursor.block())
        cursor.setBlockFormat(QTextBlockFormat())
        cursor.setBlockCharFormat(QTextCharFormat())

    def _flatten_free_block(self, cursor: QTextCursor) -> None:
        """Give the empty block after a frame a height of zero until it is used."""
        if self._has_free_block and self._blocks:
            cursor.movePosition(QTextCursor.MoveOperation.End)
            flat = QTextBlockFormat()
            flat.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
            cursor.setBlockFormat(flat)

    # Extending

    def _extend_last(self, cursor: QTextCursor, blocks: Sequence[Block], first: int) -> bool:
        """Extend the last block in place if possible, which is cheaper than writing it again; return if it was."""
        if first != len(self._blocks) - 1 or first >= len(blocks):
            return False
        old, new = self._blocks[first], blocks[first]
        if isinstance(old, Code) and isinstance(new, Code):
            return self._extend_code(cursor, old, new)
        if isinstance(old, TableBlock) and isinstance(new, TableBlock):
            return self._extend_table(old, new)
        return False

    def _extend_code(self, cursor: QTextCursor, old: Code, new: Code) -> bool:
        is_same = (old.language, old.place, old.preview) == (new.language, new.place, new.preview)
        is_same = is_same and self._wraps(old) == self._wraps(new)
        if not is_same or not new.text.startswith(old.text):
            return False
        start = self._codes[len(self._blocks) - 1]
        cursor.setPosition(start)
        cursor.setPosition(cursor.currentFrame().lastPosition())
        cursor.insertText(new.text[len(old.text) :], self._formats.code())
        self._blocks[-1] = new
        self._map_code(new, start)
        return True

    def _extend_table(self, old: TableBlock, new: TableBlock) -> bool:
        is_same = (old.rows[0], old.aligns, old.place) == (new.rows[0], new.aligns, new.place)
        if not is_same or len(new.rows) < len(old.rows):
            return False
        changed = next((i for i, row in enumerate(old.rows) if row != new.rows[i]), len(old.rows))
        table = self._table_at(len(self._blocks) - 1)
        self._fitted_widths.pop(len(self._blocks) - 1, None)
        if changed < len(old.rows):
            self.map.truncate(table.cellAt(changed, 0).firstPosition())
        if len(new.rows) > len(old.rows):
            table.appendRows(len(new.rows) - len(old.rows))
        for row in range(changed, len(new.rows)):
            self._write_row(table, new, row)
        self._blocks[-1] = new
        return True

    # Writing

    def _write_block(self, cursor: QTextCursor, block: Block) -> None:
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._starts.append(_BlockStart(cursor.position(), self._has_free_block))
        self._blocks.append(block)
        match block:
            case Paragraph():
                self._write_paragraph(cursor, block)
            case Code():
                self._write_code(cursor, block)
            case TableBlock():
                self._write_table(cursor, block)
            case Rule():
                self._begin_block(cursor, self._formats.rule_block(block.place), QTextCharFormat())

    def _begin_block(self, cursor: QTextCursor, block: QTextBlockFormat, text: QTextCharFormat) -> None:
        if self._has_free_block:
            cursor.setBlockFormat(block)
            cursor.setBlockCharFormat(text)
            cursor.setCharFormat(text)
        else:
            cursor.insertBlock(block, text)
        self._has_free_block = False

    def _write_paragraph(self, cursor: QTextCursor, block: Paragraph) -> None:
        formats, place = self._formats, block.place
        text = formats.body(place)
        if block.heading:
            shape, text = formats.heading_block(block.heading, place), formats.heading(block.heading, place)
        elif block.item:
            shape = formats.item_block(block.item, place)
        else:
            shape = formats.display_block(place) if block.display else formats.block(place)
        if not block.display and any(span.style & Style.MATH for span in block.spans):
            # With a proportional height, a line with a fraction would get far more room below it than others.
            metrics = QFontMetricsF(self._formats.font, self._document.documentLayout().paintDevice())
            room = metrics.height() * (appearance.LINE_HEIGHT / 100 - 1)
            shape.setLineHeight(room, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        self._begin_block(cursor, shape, text)
        if block.item and _has_marker(block.item):
            self._add_to_list(cursor, block)
        if block.item:
            cursor.insertText(_box(block.item), text)
        self._write_spans(cursor, block.spans, text, display=block.display)

    def _add_to_list(self, cursor: QTextCursor, block: Paragraph) -> None:
        assert block.item
        first = self._lists.get(block.item.list)
        if first is None:
            self._lists[block.item.list] = cursor.position()
            cursor.createList(self._formats.list(block.item, block.place.lists))
        else:
            self._document.findBlock(first).textList().add(cursor.block())

    def _write_spans(
        self, cursor: QTextCursor, spans: Sequence[Span], base: QTextCharFormat, *, display: bool = False
    ) -> None:
        for span in spans:
            if span.style & Style.IMAGE:
                label = QCoreApplication.translate("DocumentWriter", "Image:")
                cursor.insertText(f"{label} ", self._formats.image_label(base))
            fmt = self._formats.span(span, base) if span.style or span.address else base
            if span.style & Style.MATH and (formula := FormulaObject.format_of(span.text, base, display=display)):
                self.map.add(cursor.position(), replace(span, text=SIGN, exact=False))
                cursor.insertText(SIGN, formula)
                continue
            self.map.add(cursor.position(), span)
            cursor.insertText(span.text.replace("\n", _LINE_SEPARATOR), fmt)

    def _write_code(self, cursor: QTextCursor, block: Code) -> None:
        formats, number = self._formats, len(self._blocks) - 1
        self._prepare_for_frame(cursor)
        cursor.insertFrame(formats.code_frame(block.place, self._top_margin()))
        cursor.setBlockFormat(formats.code_head_block())
        language = block.language or QCoreApplication.translate("DocumentWriter", "text")
        cursor.insertText(language, formats.code_label())
        if not self._on_paper:
            for before, (scheme, label) in zip(chain("\t", repeat("   ")), _code_buttons(block), strict=False):
                cursor.insertText(before, formats.code_label())
                cursor.insertText(label, formats.code_button(f"{scheme}{number}"))
        shape = formats.code_block(number, block.language, wraps=self._wraps(block))
        cursor.insertBlock(shape, formats.code())
        self._codes[number] = cursor.position()
        cursor.insertText(block.text, formats.code())
        self._map_code(block, self._codes[number])
        self._has_free_block = True  # Qt keeps an empty block after a frame

    def _wraps(self, code: Code) -> bool:
        return self._on_paper or code.is_prose or max(map(len, code.text.split("\n"))) > _MAX_LINE

    def _top_margin(self) -> float:
        """Return the margin above the frame of the last block: Qt ignores that below a formula."""
        above = self._blocks[-2] if len(self._blocks) > 1 else None
        return appearance.MEDIUM if isinstance(above, Paragraph) and above.display else appearance.TINY

    def _prepare_for_frame(self, cursor: QTextCursor) -> None:
        """Clear a free block, so that the blocks in the frame do not inherit its list."""
        if self._has_free_block:
            self._clear_block(cursor)
            self._flatten_free_block(cursor)

    def _map_code(self, block: Code, start: int) -> None:
        self.map.truncate(start)
        position = start
        for span in spans(block):
            position = self.map.add(position, span)

    def _write_table(self, cursor: QTextCursor, block: TableBlock) -> None:
        self._prepare_for_frame(cursor)
        table = cursor.insertTable(
            len(block.rows), len(block.aligns), self._formats.table(block.place, self._top_margin())
        )
        for row in range(len(block.rows)):
            self._write_row(table, block, row)
        self._has_free_block = True

    def _write_row(self, table: QTextTable, block: TableBlock, row: int) -> None:
        base = self._formats.table_head() if row == 0 else self._formats.body(block.place)
        for column, cell in enumerate(block.rows[row]):
            place = table.cellAt(row, column)
            if row == 0:
                ground = place.format()
                ground.setBackground(QColor(self._formats.theme.table_head))
                place.setFormat(ground)
            cursor = place.firstCursorPosition()
            cursor.setPosition(place.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            cursor.setBlockFormat(self._formats.cell_block(block.aligns[column]))
            self._write_spans(cursor, cell, base)


def _code_buttons(block: Code) -> Iterator[tuple[str, str]]:
    yield COPY, QCoreApplication.translate("DocumentWriter", "Copy")
    yield SAVE, QCoreApplication.translate("DocumentWriter", "Save as file…")
    if block.preview:
        yield PREVIEW, QCoreApplication.translate("DocumentWriter", "Preview")


def _has_marker(item: ListItem) -> bool:
    """Return whether a bullet or a number stands before an item; a check box takes the place of a bullet."""
    return item.checked is None or item.number is not None


def _box(item: ListItem) -> str:
    """Return the check box of a task. Qt's own shows a cross for done tasks, which looks wrong."""
    return "" if item.checked is None else "☑ " if item.checked else "☐ "


def frame_rect(layout: QAbstractTextDocumentLayout, frame: QTextFrame) -> QRectF:
    """Return where code or a table is, without its margins."""
    fmt, rect = frame.frameFormat(), layout.frameBoundingRect(frame)
    width, height = rect.width() - fmt.leftMargin(), rect.height() - fmt.topMargin() - fmt.bottomMargin()
    if isinstance(frame, QTextTable):
        # WORKAROUND Qt 6.11: it begins with the text of the first cell.
        return QRectF(rect.left() - _PADDING - 2, rect.top() - _PADDING - 1, width, height)
    return QRectF(rect.left() + fmt.leftMargin(), rect.top() + fmt.topMargin(), width, height)


def _is_empty(block: Block) -> bool:
    return isinstance(block, Rule) or (isinstance(block, Paragraph) and not any(span.text for span in block.spans))
