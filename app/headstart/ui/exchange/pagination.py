"""Where the pages of a document end: between lines, rows of tables and code, and never behind a heading.

The document is one endless strip, because Qt's own pages cut lines behind tables (6.11). Knows no printer.
"""

from collections.abc import Iterable, Iterator

from PySide6.QtGui import QTextBlock, QTextCursor, QTextDocument, QTextFormat, QTextTable

_RULER = QTextFormat.Property.BlockTrailingHorizontalRulerWidth.value
_EDGE = 10.0  # dots above the first line in a box that belong to it
Piece = tuple[float, float]  # top and bottom in the strip


def cut(pieces: Iterable[Piece], end: float, height: float) -> list[Piece]:
    """Pages of at most `height`, cut between pieces; a piece higher than a page is cut where the page ends."""
    pages: list[Piece] = []
    start = 0.0
    for top, bottom in pieces:
        if bottom - start > height and top > start:
            pages.append((start, top))
            start = top
        while bottom - start > height:
            pages.append((start, start + height))
            start += height
    return [*pages, (start, end)]


def whole_pieces(document: QTextDocument) -> Iterator[Piece]:
    """What must not be cut, from top to bottom: pieces side by side are one."""
    held: Piece | None = None
    for top, bottom in sorted(_pieces(document)):
        if held is None:
            held = (top, bottom)
        elif top < held[1]:
            held = (held[0], max(held[1], bottom))
        else:
            yield held
            held = (top, bottom)
    if held:
        yield held


def _pieces(document: QTextDocument) -> Iterator[Piece]:
    cling: float | None = None  # top of headings and rules that belong to what follows
    block = document.begin()
    while block.isValid():
        lines = list(_lines(document, block))
        if lines and _clings(block):
            cling = lines[0][0] if cling is None else cling
        elif lines:
            yield from lines if cling is None else [(cling, lines[0][1]), *lines[1:]]
            cling = None
        block = block.next()


def _lines(document: QTextDocument, block: QTextBlock) -> Iterator[Piece]:
    above = document.documentLayout().blockBoundingRect(block).top()
    layout, edge = block.layout(), _EDGE if _begins_box(block) else 0.0
    for number in range(layout.lineCount()):
        line = layout.lineAt(number)
        yield above + line.y() - (0.0 if number else edge), above + line.y() + line.height()


def _begins_box(block: QTextBlock) -> bool:
    frame = QTextCursor(block).currentFrame()
    in_table = isinstance(frame, QTextTable)
    return frame.parentFrame() is not None and (in_table or frame.firstCursorPosition().block() == block)


def _clings(block: QTextBlock) -> bool:
    look = block.blockFormat()
    return look.headingLevel() > 0 or look.hasProperty(_RULER)
