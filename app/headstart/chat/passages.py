"""The passages of long files that fit a question, found by SQLite's full-text search in memory."""

import re
import sqlite3
from collections.abc import Iterable

from headstart.chat import search
from headstart.chat.conversation import Attachment, Passage

SIZE = 1200  # bytes of UTF-8 in a passage at most: about 300 tokens of English, 400 of Chinese
MOST = 5  # passages for one question
TOKENIZER = "porter unicode61 remove_diacritics 2"  # with Porter, "charge" finds "charged"
# Where to cut, the best place first: between paragraphs, lines, sentences, words.
_BREAKS = tuple(re.compile(pattern) for pattern in (r"\n[ \t]*\n\s*", r"\n", r"(?<=[.!?;])\s+|(?<=[。！？；])", r"\s+"))

File = tuple[int, int, Attachment]  # id of its message, its number there, and the file


def is_long(file: Attachment) -> bool:
    """Whether passages say less than the whole."""
    return len(file.text.encode(errors="replace")) > MOST * SIZE


def cut(text: str, size: int = SIZE) -> list[tuple[int, int]]:
    """Ranges of at most `size` bytes, from the first to the last, without the white space between them."""
    found, start = [], 0
    while start < len(text):
        end = start + _length(text[start : start + size], size)
        lead, piece = len(text[start:end]) - len(text[start:end].lstrip("\n")), text[start:end].rstrip()
        if piece.strip():
            found.append((start + lead, start + len(piece)))
        start = end
    return found


def _length(text: str, size: int) -> int:
    """Characters of the first passage of a text."""
    piece = text.encode(errors="replace")[:size].decode(errors="ignore")
    if len(piece) == len(text) < size:
        return len(text)
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(piece) if match.end() > len(piece) // 2]
        if ends:
            return ends[-1]
    return len(piece)


class PassageIndex:
    """An index of some files. It is in memory alone, so beside an encrypted history nothing readable is kept."""

    def __init__(self, files: Iterable[File], size: int = SIZE, tokenizer: str = TOKENIZER) -> None:
        """Two megabytes take a fifth of a second."""
        self.files = tuple(files)
        self._places = [
            (Passage(message, number, *place), file)
            for message, number, file in self.files
            for place in cut(file.text, size)
        ]
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE passage USING fts5 (words, content = '', tokenize = '{tokenizer}')"
        )
        rows = (
            (rank, search.words(file.text[place.start : place.end])) for rank, (place, file) in enumerate(self._places)
        )
        self._connection.executemany("INSERT INTO passage (rowid, words) VALUES (?, ?)", rows)

    def best(self, question: str, most: int = MOST) -> list[Passage]:
        """Those that fit the question, the best first; none where no word of it is in the files."""
        wanted = search.any_word_query(question)
        query = "SELECT rowid FROM passage WHERE passage MATCH ? ORDER BY bm25(passage) LIMIT ?"
        rows = self._connection.execute(query, (wanted, most)) if wanted else ()
        return [self._places[row[0]][0] for row in rows]

    def find(self, question: str, most: int = MOST) -> tuple[Passage, ...]:
        """`most` passages in the order of reading: those that fit the question, and else the beginning."""
        found = self.best(question, most)
        rest = [place for place, _ in self._places[: 2 * most] if place not in found]
        return tuple(sorted([*found, *rest[: most - len(found)]]))
