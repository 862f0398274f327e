"""The text formats of a message for one theme and font."""

from dataclasses import dataclass
from functools import cached_property

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTableFormat,
)

from headstart.ui.markdown.blocks import Item, Place, Span, Style
from headstart.ui.widgets import theme as appearance
from headstart.ui.widgets.theme import Theme

CODE_ID = QTextFormat.Property.UserProperty.value + 1  # of a line of code: number of its code block
LANGUAGE = CODE_ID + 1  # of a line of code
QUOTES = CODE_ID + 2  # of any block: how many block quotes it stands in
INDENT = 24
QUOTE_INDENT = 16
_HEADING_SCALE = (1.5, 1.3, 1.15, 1.05, 1.0, 1.0)
_BULLETS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)
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

    @cached_property
    def _math(self) -> list[str]:
        return appearance.math_families()

    def body(self, place: Place) -> QTextCharFormat:
        """Running text."""
        made = QTextCharFormat()
        made.setForeground(QColor(self.theme.muted if place.quotes else self.theme.text))
        return made

    def display(self, place: Place) -> QTextCharFormat:
        """A formula on lines of its own."""
        made = self.body(place)
        made.setFontPointSize(self.font.pointSizeF() * 1.15)
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
            made.setFontFamilies([*self._math, *self.font.families()])
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
        """The anchor that copies the code."""
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
        made.setLeftMargin(made.leftMargin() + INDENT)
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
        made.setCellPadding(6)
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
