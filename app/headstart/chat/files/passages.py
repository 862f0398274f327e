"""The passages of long files that fit a question, found by SQLite's full-text search in memory."""

import re
import sqlite3
from collections.abc import Iterable

from headstart.chat import search
from headstart.chat.conversation import Attachment, Passage

SIZE = 1200  # maximum bytes of UTF-8 in a passage: about 300 tokens of English, 400 of Chinese
MOST = 5  # passages for one question
TOKENIZER = "porter unicode61 remove_diacritics 2"  # with Porter, "charge" finds "charged"
# Places to cut, the best first: between paragraphs, lines, sentences, words.
_BREAKS = tuple(re.compile(pattern) for pattern in (r"\n[ \t]*\n\s*", r"\n", r"(?<=[.!?;])\s+|(?<=[。！？；])", r"\s+"))

File = tuple[int, int, Attachment]  # id of its message, its number there, and the file


def is_long(file: Attachment) -> bool:
    """Return whether a file is too long to be given to the model whole."""
    return len(file.text.encode(errors="replace")) > MOST * SIZE


def cut(text: str, size: int = SIZE) -> list[tuple[int, int]]:
    """Return ranges of at most `size` bytes that cover a text, without the white space between them."""
    passages, start = [], 0
    while start < len(text):
        end = start + _passage_length(text[start : start + size], size)
        lead, piece = len(text[start:end]) - len(text[start:end].lstrip("\n")), text[start:end].rstrip()
        if piece.strip():
            passages.append((start + lead, start + len(piece)))
        start = end
    return passages


def _passage_length(text: str, size: int) -> int:
    """Return the number of characters of the first passage of a text."""
    piece = text.encode(errors="replace")[:size].decode(errors="ignore")
    if len(piece) == len(text) < size:
        return len(text)
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(piece) if match.end() > len(piece) // 2]
        if ends:
            return ends[-1]
    return len(piece)


class PassageIndex:
    """An index of files. It is only in memory, so nothing readable lies beside an encrypted history."""

    def __init__(self, files: Iterable[File], size: int = SIZE, tokenizer: str = TOKENIZER) -> None:
        """Index the files. Two megabytes take a fifth of a second."""
        self.files = tuple(files)
        self._passages = [
            (Passage(message, number, *place), file)
            for message, number, file in self.files
            for place in cut(file.text, size)
        ]
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE passage USING fts5 (words, content = '', tokenize = '{tokenizer}')"
        )
        rows = (
            (rank, search.words(file.text[place.start : place.end]))
            for rank, (place, file) in enumerate(self._passages)
        )
        self._connection.executemany("INSERT INTO passage (rowid, words) VALUES (?, ?)", rows)

    def best(self, question: str, most: int = MOST) -> list[Passage]:
        """Return the passages that fit the question, the best first; none if no word of it is in the files."""
        words = search.any_word_query(question)
        query = "SELECT rowid FROM passage WHERE passage MATCH ? ORDER BY bm25(passage) LIMIT ?"
        rows = self._connection.execute(query, (words, most)) if words else ()
        return [self._passages[row[0]][0] for row in rows]

    def find(self, question: str, most: int = MOST) -> tuple[Passage, ...]:
        """Return `most` passages in reading order: those that fit the question, then the beginning of the files."""
        passages = self.best(question, most)
        rest = [place for place, _ in self._passages[: 2 * most] if place not in passages]
        return tuple(sorted([*passages, *rest[: most - len(passages)]]))
