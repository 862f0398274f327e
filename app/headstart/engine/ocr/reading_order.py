"""The order in which the lines of a page are read: columns one after the other, a table row by row."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headstart.engine.ocr.boxes import Box

_MIN_GUTTER = 0.8  # width of the space between columns, in heights of a line
_MIN_LINES = 3  # of a column
_MIN_FILL = 0.6  # median width of a column's lines, as a share of the column: cells of a table are shorter
_MIN_WIDTH = 6  # of a column's lines, in heights of a line
_SAME_ROW = 0.5  # distance of two lines' centres, in heights of a line, up to which they stand side by side
_PARAGRAPH = 1.2  # empty space between paragraphs, in heights of a line


class Line(NamedTuple):
    """A line of text and its place."""

    text: str
    box: Box


class _Piece(NamedTuple):
    """A line on the page as it would be without its turn."""

    text: str
    left: float
    right: float
    y: float  # of the centre
    height: float


def page_text(lines: Sequence[Line]) -> str:
    """Return the text of a page: a line for each row, an empty line between paragraphs."""
    if not lines:
        return ""
    widest = sorted(lines, key=lambda line: line.box.width)[-len(lines) // 2 :]
    angles = sorted(line.box.angle for line in widest)
    angle = angles[len(angles) // 2]
    cosine, sine = math.cos(angle), math.sin(angle)
    pieces = []
    for text, box in lines:
        x, y = box.x * cosine + box.y * sine, box.y * cosine - box.x * sine
        pieces.append(_Piece(text, x - box.width / 2, x + box.width / 2, y, box.height))
    return "\n\n".join(filter(None, map(_block_text, _blocks(pieces))))


def _blocks(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Yield the pieces column by column: a page is cut between columns, or where a line crosses all of them."""
    gutter = _gutter(pieces)
    if gutter is None:
        yield pieces
        return
    crossing = sorted((piece for piece in pieces if piece.left < gutter < piece.right), key=lambda piece: piece.y)
    rest = [piece for piece in pieces if not piece.left < gutter < piece.right]
    for end in (*crossing, None):
        above = [piece for piece in rest if end is None or piece.y < end.y]
        rest = [piece for piece in rest if piece not in above]
        for side in ([p for p in above if p.right <= gutter], [p for p in above if p.left >= gutter]):
            if side:
                yield from _blocks(side)
        if end:
            yield [end]


def _gutter(pieces: list[_Piece]) -> float | None:
    """Return the middle of the gap between two columns; None if there is no gap. A few lines may cross it."""
    if len(pieces) < 2 * _MIN_LINES:
        return None
    height = _median([piece.height for piece in pieces])
    best: tuple[int, float, float] | None = None
    for start in sorted({piece.right for piece in pieces}):
        left = [piece for piece in pieces if piece.right <= start]
        right = [piece for piece in pieces if piece.left > start]
        if len(left) < _MIN_LINES or len(right) < _MIN_LINES:
            continue
        end = min(piece.left for piece in right)
        num_crossing = len(pieces) - len(left) - len(right)
        is_wide = end - start >= _MIN_GUTTER * height
        if is_wide and num_crossing <= len(pieces) // 4 and _is_column(left, height) and _is_column(right, height):
            candidate = (num_crossing, start - end, (start + end) / 2)
            best = min(best, candidate) if best else candidate
    return best[2] if best else None


def _is_column(pieces: list[_Piece], height: float) -> bool:
    width = max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
    return _median([piece.right - piece.left for piece in pieces]) >= max(_MIN_FILL * width, _MIN_WIDTH * height)


def _block_text(pieces: list[_Piece]) -> str:
    rows: list[list[_Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.y):
        row = rows[-1] if rows else []
        if row and piece.y - _mean_y(row) < _SAME_ROW * min(piece.height, row[-1].height):
            row.append(piece)
        else:
            rows.append([piece])
    text = ""
    for number, row in enumerate(rows):
        if number:
            above = rows[number - 1]
            gap = _mean_y(row) - _mean_y(above) - (row[0].height + above[0].height) / 2
            text += "\n\n" if gap > _PARAGRAPH * min(row[0].height, above[0].height) else "\n"
        text += " ".join(piece.text for piece in sorted(row, key=lambda piece: piece.left))
    return text


def _mean_y(row: list[_Piece]) -> float:
    return sum(piece.y for piece in row) / len(row)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
