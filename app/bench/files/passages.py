"""The search for passages: how often the one with the answer is found, by tokenizer and size, words and meaning.

PYTHONPATH=app python app/bench/files/passages.py [--markdown] [--folders]

With --folders the texts are files in folders, and the model all-MiniLM-L6-v2, which must be installed, finds passages
by their meaning, too.

The questions are in passages.toml. Two of the texts are in long_texts/, one is the GNU licence that Headstart carries,
and two come with Python: its reference and a module's source. The window's Chinese texts follow the Chinese one, which
is short. Prints JSON: of how many questions the best passage holds the answer, or one of the best three or five.
The first 40 questions are asked as people ask them; the others avoid the words of the text.
"""

import argparse
import importlib.util
import json
import pydoc_data.topics
import re
import sqlite3
import statistics
import tempfile
import time
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from headstart.chat.conversation import Attachment, Passage
from headstart.chat.files.passages import MOST, SIZE, TOKENIZER, PassageIndex, cut
from headstart.chat.folders import folder_files
from headstart.chat.folders.folder_index import FolderIndex
from headstart.ui.folders.embedder import EngineEmbedder, find_model

FOLDER = Path(__file__).parent
HEADSTART = FOLDER.parents[1] / "headstart"
LONG_TEXTS = FOLDER.with_name("long_texts")
RANKS = (1, 3, MOST)
_RUN = re.compile(r"\w{3,}")


class Trigrams:
    """The search with FTS5's tokenizer for texts without spaces: each three characters are a word."""

    def __init__(self, file: Attachment, size: int = SIZE) -> None:
        """Index the file in memory."""
        self._places = cut(file.text, size)
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE VIRTUAL TABLE passage USING fts5 (words, tokenize = 'trigram')")
        texts = ((rank, file.text[start:end]) for rank, (start, end) in enumerate(self._places))
        self._connection.executemany("INSERT INTO passage (rowid, words) VALUES (?, ?)", texts)

    def best(self, question: str, most: int = MOST) -> list[Passage]:
        """Return the passages with most of the question's words, or of its trigrams if it has no spaces."""
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
    """Return the five texts, by the names that the questions use."""
    window = ET.parse(HEADSTART / "ui" / "i18n" / "headstart_zh_CN.ts").iter("translation")  # noqa: S314 - our own
    workshop = (LONG_TEXTS / "workshop.txt").read_text(encoding="utf-8")
    turtle = importlib.util.find_spec("turtle")
    assert turtle
    assert turtle.origin
    found = {
        "island": (LONG_TEXTS / "island.txt").read_text(encoding="utf-8"),
        "licence": (HEADSTART / "licence_texts" / "GPL-3.0.txt").read_text(encoding="utf-8"),
        "manual": "\n\n".join(pydoc_data.topics.topics.values()),
        "code": Path(turtle.origin).read_text(encoding="utf-8"),
        "chinese": "\n".join([workshop, *(each.text or "" for each in window)]),
    }
    return {name: Attachment(name, text) for name, text in found.items()}


def questions() -> list[dict[str, Any]]:
    """Return text, question, and words that only a passage with the answer has."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / "passages.toml").read_text(encoding="utf-8"))["question"]
    return found


def measure(make: Make) -> dict[str, Any]:
    """Return how many answers are in the best passage, the best three and five, by wording and by text."""
    known, asked = texts(), [question for question in questions() if not question.get("other_words")]
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
        held = [_has_answer(question, known[name].text[place.start : place.end]) for place in found]
        ranks[name].append(held.index(True) + 1 if True in held else max(RANKS) + 1)
    return {
        "questions": len(asked),
        "found": _counts([rank for each in ranks.values() for rank in each]),
        "by_text": {name: _counts(each) for name, each in ranks.items()},
        "index_ms": round(indexing * 1000),
        "search_ms": round(statistics.median(times), 2),
    }


def _has_answer(question: dict[str, Any], passage: str) -> bool:
    answers = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
    return any(_flat(answer) in _flat(passage) for answer in answers)


class _Direct:
    """A reader of files in this process."""

    def read(self, path: Path, start: int, _is_wanted: Callable[[], bool]) -> Iterator[folder_files.FileSection]:
        return folder_files.pieces(path, start)


def measure_folders() -> dict[str, Any]:
    """Return how many answers are in the best five passages: in all, by text, and for questions in other words."""
    model = find_model()
    assert model, "install all-minilm-l6-v2 first"
    embedder, counts = EngineEmbedder(model, in_background=False), dict[str, Counter[str]]()
    with tempfile.TemporaryDirectory() as name, FolderIndex(Path(name), None) as index:
        folders = {text: str(Path(name) / text) for text in texts()}
        index.keep(folders.values())
        for text, file in texts().items():
            Path(folders[text]).mkdir()
            (Path(folders[text]) / "text.txt").write_text(file.text, encoding="utf-8", newline="")
            all(index.update(folders[text], _Direct()))
        embedder.start()
        started = time.perf_counter()
        while index.embed(folders.values(), embedder):
            pass
        seconds = time.perf_counter() - started
        for question in questions():
            own = [folders[question["text"]]]
            rankings = {
                "words": index.find(own, question["ask"]),
                "meaning": index.find(own, "", _Asking(embedder, question["ask"])),
                "both": index.find(own, question["ask"], embedder),
                "both, in all texts at once": index.find(list(folders.values()), question["ask"], embedder),
            }
            for way, found in rankings.items():
                is_found = any(_has_answer(question, excerpt.text) for excerpt in found[:MOST])
                kind = "in other words" if question.get("other_words") else question["text"]
                counts.setdefault(way, Counter()).update({"all": is_found, kind: is_found})
    embedder.close()
    return {"questions": len(questions()), "found": counts, "embedding_s": round(seconds, 1)}


class _Asking:
    """An embedder that replaces the given text by another one, for a search without words."""

    def __init__(self, embedder: EngineEmbedder, question: str) -> None:
        self.name, self._embedder, self._question = embedder.name, embedder, question

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        return self._embedder.embed([text or self._question for text in texts], are_questions=are_questions)


def _counts(ranks: list[int]) -> list[int]:
    return [sum(rank <= most for rank in ranks) for most in RANKS]


def _flat(text: str) -> str:
    """Join the lines of a text, as lines and Chinese texts break anywhere."""
    return " ".join(text.split())


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown row for each way."""
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
    parser.add_argument("--folders", action="store_true", help="by words and by meaning, in folders")
    given = parser.parse_args()
    if given.folders:
        print(json.dumps(measure_folders(), indent=1))
        return
    sizes = {name: len(file.text.encode()) for name, file in texts().items()}
    found = {way: measure(make) for way, make in WAYS.items()}
    print(table(found) if given.markdown else json.dumps({"bytes": sizes, "ways": found}, indent=1))


if __name__ == "__main__":
    main()
