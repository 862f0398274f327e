"""The search for passages: how often the one with the answer is found, by tokenizer and size.

PYTHONPATH=app python app/bench/passages.py [--markdown]

The questions are in passages.toml. Two of the texts are in long_texts/, one is the GNU licence that Headstart carries,
and two come with Python: its reference and a module's source. The window's Chinese texts follow the Chinese one, which
is short. Prints JSON: of how many questions the best passage holds the answer, or one of the best three or five.
"""

import argparse
import importlib.util
import json
import pydoc_data.topics
import re
import sqlite3
import statistics
import time
import tomllib
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from headstart.chat.conversation import Attachment, Passage
from headstart.chat.passages import MOST, SIZE, TOKENIZER, PassageIndex, cut

BENCH = Path(__file__).parent
HEADSTART = BENCH.parent / "headstart"
RANKS = (1, 3, MOST)
_RUN = re.compile(r"\w{3,}")


class Trigrams:
    """The search with FTS5's tokenizer for texts without spaces: each three characters are a word."""

    def __init__(self, file: Attachment, size: int = SIZE) -> None:
        """An index in memory."""
        self._places = cut(file.text, size)
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE passage USING fts5 (words, tokenize = 'trigram')")
        texts = ((rank, file.text[start:end]) for rank, (start, end) in enumerate(self._places))
        self._connection.executemany("INSERT INTO passage (rowid, words) VALUES (?, ?)", texts)

    def best(self, question: str, most: int = MOST) -> list[Passage]:
        """Return the passages that hold most of the question's words, or of its trigrams where it has no spaces."""
        runs = _RUN.findall(unicodedata.normalize("NFKC", question))
        terms = [term for run in runs for term in ([run] if run.isascii() else _trigrams(run))]
        query = "SELECT rowid FROM passage WHERE passage MATCH ? ORDER BY bm25(passage) LIMIT ?"
        rows = self._connection.execute(query, (" OR ".join(f'"{term}"' for term in terms), most))
        return [Passage(1, 0, *self._places[row[0]]) for row in rows]


def _trigrams(run: str) -> list[str]:
    return [run[start : start + 3] for start in range(len(run) - 2)]


Make = Callable[[Attachment], PassageIndex | Trigrams]


def _usual(file: Attachment, size: int = SIZE, tokenizer: str = TOKENIZER) -> PassageIndex:
    return PassageIndex([(1, 0, file)], size, tokenizer)


WAYS: dict[str, Make] = {
    f"Porter, {SIZE} bytes": _usual,
    "unicode61": partial(_usual, tokenizer="unicode61 remove_diacritics 2"),
    "trigram": Trigrams,
    **{f"Porter, {size} bytes": partial(_usual, size=size) for size in (SIZE // 2, SIZE * 3 // 4, SIZE * 2)},
}


def texts() -> dict[str, Attachment]:
    """The five texts by the names that the questions call them."""
    window = ET.parse(HEADSTART / "ui" / "i18n" / "headstart_zh_CN.ts").iter("translation")  # noqa: S314 - our own
    workshop = (BENCH / "long_texts" / "workshop.txt").read_text(encoding="utf-8")
    turtle = importlib.util.find_spec("turtle")
    assert turtle
    assert turtle.origin
    found = {
        "island": (BENCH / "long_texts" / "island.txt").read_text(encoding="utf-8"),
        "licence": (HEADSTART / "licence_texts" / "GPL-3.0.txt").read_text(encoding="utf-8"),
        "manual": "\n\n".join(pydoc_data.topics.topics.values()),
        "code": Path(turtle.origin).read_text(encoding="utf-8"),
        "chinese": "\n".join([workshop, *(each.text or "" for each in window)]),
    }
    return {name: Attachment(name, text) for name, text in found.items()}


def questions() -> list[dict[str, str]]:
    """Text, question, and words that only the passage with the answer holds."""
    found: list[dict[str, str]] = tomllib.loads((BENCH / "passages.toml").read_text(encoding="utf-8"))["question"]
    return found


def measure(make: Make) -> dict[str, Any]:
    """Answers found among the best one, three and five, of all questions and of those on each text."""
    known, asked = texts(), questions()
    started = time.perf_counter()
    indexes = {name: make(file) for name, file in known.items()}
    indexing = time.perf_counter() - started
    ranks: dict[str, list[int]] = {name: [] for name in known}
    times = []
    for question in asked:
        name = question["text"]
        started = time.perf_counter()
        found = indexes[name].best(question["ask"], max(RANKS))
        times.append((time.perf_counter() - started) * 1000)
        held = [_flat(question["answer"]) in _flat(known[name].text[place.start : place.end]) for place in found]
        ranks[name].append(held.index(True) + 1 if True in held else max(RANKS) + 1)
    return {
        "questions": len(asked),
        "found": _counts([rank for each in ranks.values() for rank in each]),
        "by_text": {name: _counts(each) for name, each in ranks.items()},
        "index_ms": round(indexing * 1000),
        "search_ms": round(statistics.median(times), 2),
    }


def _counts(ranks: list[int]) -> list[int]:
    return [sum(rank <= most for rank in ranks) for most in RANKS]


def _flat(text: str) -> str:
    """Lines and Chinese texts are broken anywhere."""
    return " ".join(text.split())


def table(found: dict[str, dict[str, Any]]) -> str:
    """A row for each way, in Markdown."""
    heads = [f"in the best {most}" if most > 1 else "in the best" for most in RANKS]
    lines = [f"| | {' | '.join(heads)} |", f"| :-- |{' --: |' * len(heads)}"]
    for way, figures in found.items():
        shares = (f"{count} of {figures['questions']}" for count in figures["found"])
        lines.append(f"| {way} | {' | '.join(shares)} |")
    return "\n".join(lines)


def main() -> None:
    """Search in every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="a table in place of JSON")
    given = parser.parse_args()
    sizes = {name: len(file.text.encode()) for name, file in texts().items()}
    found = {way: measure(make) for way, make in WAYS.items()}
    print(table(found) if given.markdown else json.dumps({"bytes": sizes, "ways": found}, indent=1))


if __name__ == "__main__":
    main()
