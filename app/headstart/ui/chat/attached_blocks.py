"""The files of a message as blocks: each name with its text below, as code. Pure: knows nothing of Qt."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

from headstart.chat.conversation import Attachment
from headstart.ui.markdown.blocks import Block, Code, Paragraph, Span, Style

_CUT = "…"


class Piece(NamedTuple):
    """[start, end) of a file's text, and where that begins in the text that the blocks refer to."""

    start: int
    end: int
    source: int


class Attached(NamedTuple):
    """The text that the blocks refer to, the blocks, and the piece of each file that is in them."""

    source: str
    blocks: list[Block]
    pieces: tuple[Piece, ...]

    def place(self, file: int, start: int, end: int) -> tuple[int, int] | None:
        """Where a range of a file's text is in `source`; None if it is not wholly shown."""
        piece = self.pieces[file]
        shift = piece.source - piece.start
        return (start + shift, end + shift) if piece.start <= start and end <= piece.end else None


def attached_blocks(
    files: Iterable[Attachment], most: int | None = None, around: tuple[int, int] | None = None
) -> Attached:
    """At most about `most` characters of each file, cut at lines: its beginning, or those around (file, offset)."""
    source, blocks, pieces = "", list[Block](), list[Piece]()
    for number, file in enumerate(files):
        name = Span(file.name, len(source), len(source) + len(file.name), style=Style.BOLD)
        blocks.append(Paragraph((name,)))
        source += f"{file.name}\n"
        start, end = _extent(file.text, most, around[1] if around and around[0] == number else 0)
        before = f"{_CUT}\n" if start > _after_newlines(file.text) else ""
        text = before + file.text[start:end] + (f"\n{_CUT}" if end < len(file.text.rstrip("\n")) else "")
        pieces.append(Piece(start, end, len(source) + len(before)))
        if text:
            language = PurePath(file.name).suffix.removeprefix(".").lower()
            blocks.append(Code(text, language, ((0, len(source)),)))
            source += f"{text}\n"
    return Attached(source, blocks, tuple(pieces))


def _extent(text: str, most: int | None, offset: int) -> tuple[int, int]:
    """The lines of a text to be shown, without empty ones around them."""
    start, last = _after_newlines(text), len(text.rstrip("\n"))
    if most is None or len(text) <= most:
        return start, max(start, last)
    if offset >= most:
        start = offset - most // 2
        start = max(text.rfind("\n", 0, start), start - most // 4) + 1
    end = start + most
    return start, (last if end >= last else max(text.rfind("\n", start, end), start + most // 2))


def _after_newlines(text: str) -> int:
    return len(text) - len(text.lstrip("\n"))
