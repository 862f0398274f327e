"""The search in the index of folders: which passages fit a question, by words, by names and by meaning."""

import difflib
import math
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.chat.conversation import Excerpt
from headstart.chat.folders.folder_files import Unit
from headstart.chat.folders.folder_question import Question, SearchTerms

WEIGHT_OF_WORDS = 0.3  # beside the cosine; app/docs/passages.md has half and double
WEIGHT_OF_NAMES = 0.3  # of the share of the question's words that are in the file's name
# What a passage needs to fit a question; app/docs/passages.md says where the numbers come from.
MIN_SHARE = 0.42  # of the weight of the question's words, in the passage and in the name of its file; or else
MIN_GAIN = 0.09  # of the cosine above that of questions on other subjects, as a share of what is possible
MIN_SHARE_OF_PAIRS = 0.2  # of CJK characters: pairs overlap, and every other one is no word
UNKNOWN_NAME = 4.0  # times as much if the question has names, and the folders none of them
MIN_PASSAGES = 40  # as if there were so many: in fewer, a word that all have is the subject, and says something
ALONE = 0.5  # of these shares is enough without a model for the meaning
# Questions that have no answer in most folders: models and languages differ in the cosines that these have.
OTHER_SUBJECTS = (
    "How many moons does Saturn have?",
    "How are points counted in a tennis match?",
    "When was the first opera written?",
    "Wie viele Monde hat der Saturn?",
    "Wie zählt man die Punkte beim Tennis?",
    "Wann wurde die erste Oper geschrieben?",
)
OTHER_CJK_SUBJECTS = ("土星有几颗卫星？", "网球比赛怎么计分？", "第一部歌剧是什么时候写的？", "猫要打什么疫苗？")
_CANDIDATES = 200  # passages by words, and as many by meaning
_MANY = 2000  # passages
_SATURATION = 2.2  # the most that one word adds to bm25, as a multiple of its weight, with FTS5's k1 = 1.2
_BESIDE = 0.5  # of these numbers: what a passage needs beside one that has them
_EQUAL = 0.6  # of the best score: newer files go first among passages that have as much
_MAX_LISTED = 100  # files in a list
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_. ]?(0[1-9]|1[0-2])(?:[-_. ]?([0-2]\d|3[01]))?)?(?!\d)")
_MIN_STEM = 6  # letters of a word whose ending may differ in a name
_ENDING = 2  # letters
_MIN_SPELLED = 5  # letters of a name that may be misspelled, behind the first two
_SPELLED, _MIN_SIMILAR = 2, 0.8


@dataclass
class _Scores:
    """The scores that the words of a part of the question give the passages and the files."""

    texts: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # bm25 by passage
    found: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # words by passage, a bit each
    named: dict[int, int] = field(default_factory=lambda: defaultdict(int))  # words in the name, by file
    weights: list[float] = field(default_factory=list)  # of the words, the rarer the more
    bound: float = 0.0  # of bm25
    has_pairs: bool = False  # of CJK characters

    def share(self, words: int) -> float:
        """Return the share of these words in the weight of all."""
        return sum(weight for bit, weight in enumerate(self.weights) if words >> bit & 1) / (sum(self.weights) or 1.0)

    def text_share(self, passage: int) -> float:
        """Return the bm25 of a passage as a share of the highest that is possible."""
        return self.texts.get(passage, 0.0) / (self.bound or 1.0)


@dataclass(frozen=True)
class FileRow:
    rank: int
    path: str
    folder: str
    unit: str
    changed: int


class FolderSearch:
    """A search in folders of the index that a connection is open to. Raises the errors of SQLite."""

    def __init__(self, connection: sqlite3.Connection, folders: str) -> None:
        """`folders`: their ranks, for a query."""
        self._connection, self._folders = connection, folders
        rows = connection.execute(
            "SELECT file.rank, file.path, folder.path, unit, changed FROM file "  # noqa: S608
            f"JOIN folder ON folder.rank = file.folder WHERE folder IN ({folders}) AND state IN ('read', 'reading')"
        )
        self._files = {row[0]: FileRow(*row) for row in rows}
        (self._count,) = connection.execute("SELECT count(*) FROM passage").fetchone()

    def find(
        self, question: Question, cosines: Mapping[int, float] | None, most: int, usual: float = 0.0
    ) -> list[Excerpt]:
        """Return the passages that fit a question, the best first; none if nothing does.

        Each passage has a number from 0 to 1 for the words that it shares with the question: its bm25, as a share of
        what a passage could have with all words many times. Another one is for the words that its file's name has.
        With `cosines` it has one for its meaning: the cosine of its window that is nearest to the question. The
        weighted sum decides on the order. Whether a passage fits at all is decided by the words that it and the name
        have, and by how far the cosine is above the `usual` one of questions on other subjects. Words of earlier
        questions weigh less, and count for the order alone.
        """
        parts = [(self._score(part), part.weight) for part in question.parts]
        owners = self._owners(parts, cosines)
        totals = {
            passage: sum(
                weight
                * (
                    WEIGHT_OF_WORDS * scores.text_share(passage)
                    + WEIGHT_OF_NAMES * scores.share(scores.named.get(file, 0))
                )
                for scores, weight in parts
            )
            + (cosines.get(passage, 0.0) if cosines else 0.0)
            for passage, file in owners.items()
        }
        gains = cosines and {passage: (cosine - usual) / (1.0 - usual) for passage, cosine in cosines.items()}
        dated = self._dated(question)
        for passage, file in owners.items():
            totals[passage] += WEIGHT_OF_NAMES * (file in dated)
        needed = 1.0 if not question.names or any(map(self._is_known, question.names)) else UNKNOWN_NAME
        deciding = [scores for scores, _ in parts[: question.num_deciding]]
        is_relevant = any(
            file in dated or _fits(deciding, passage, file, gains, needed) for passage, file in owners.items()
        )
        fitting = [
            passage
            for passage, file in owners.items()
            if is_relevant and (file in dated or _fits(deciding, passage, file, gains, _BESIDE))
        ]
        best = sorted(fitting, key=lambda passage: (-totals[passage], passage))
        if question.is_newest and best:
            equal = [passage for passage in best if totals[passage] >= _EQUAL * totals[best[0]]]
            equal.sort(key=lambda passage: self._date(owners[passage]), reverse=True)
            best = [*equal, *best[len(equal) :]]
        listed = self._listed(question, parts, [owners[passage] for passage in best]) if question.lists else []
        return [*listed, *self._excerpts(best, owners, most - len(listed))]

    def _score(self, part: SearchTerms) -> _Scores:
        scores = _Scores(has_pairs=any(" " in term for term in part.terms))
        for bit, term in enumerate(part.terms):
            where = "FROM passage_words WHERE passage_words MATCH ?"
            (count,) = self._connection.execute(f"SELECT count(*) {where}", (f'"{term}"',)).fetchone()
            is_usual = count > max(_MANY, self._count / 2)  # bm25 gives such a word nothing, and finding it takes long
            query = f"SELECT rowid, bm25(passage_words) {where} AND NOT ?"
            rows = self._connection.execute(query, (f'"{term}"', is_usual)).fetchall()
            odds = (self._count - count + 0.5) / (count + 0.5)
            scores.bound += _SATURATION * max(math.log(odds), 1e-6)  # as FTS5 weighs it
            total = max(self._count, MIN_PASSAGES)
            scores.weights.append(math.log1p((total - count + 0.5) / (count + 0.5)))
            for passage, value in rows:
                scores.texts[passage] -= value
                scores.found[passage] |= 1 << bit
            for file in self._named(term):
                scores.named[file] |= 1 << bit
        return scores

    def _named(self, term: str) -> list[int]:
        """Return the files whose names have a word, maybe with another ending."""
        queries = [f'"{term}"']
        if len(term) >= _MIN_STEM and " " not in term:
            queries.append(f'"{term[:-_ENDING]}" *')
        query = "SELECT rowid FROM file_words WHERE file_words MATCH ?"
        return [row[0] for row in self._connection.execute(query, (" OR ".join(queries),))]

    def _is_known(self, name: str) -> bool:
        """Return whether the folders have a word, or one that is spelled nearly so."""
        words = [name, *(self._similar(name) if len(name) >= _MIN_SPELLED else ())]
        if any(file in self._files for word in words for file in self._named(word)):
            return True
        found = self._connection.execute(
            "SELECT 1 FROM passage JOIN file ON file.rank = passage.file WHERE passage.rank IN "  # noqa: S608
            f"(SELECT rowid FROM passage_words WHERE passage_words MATCH ?) AND folder IN ({self._folders}) LIMIT 1",
            (" OR ".join(f'"{word}"' for word in words),),
        )
        return bool(found.fetchone())

    def _similar(self, word: str) -> list[str]:
        """Return the words of the index that are spelled nearly as this one."""
        vocabulary = []
        for table in ("passage_words", "file_words"):
            made = f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.all_{table} USING fts5vocab(main, {table}, row)"
            self._connection.execute(made)
            query = f"SELECT term FROM all_{table} WHERE term BETWEEN ? AND ? AND abs(length(term) - ?) < 2"  # noqa: S608
            start = word[:_SPELLED]
            vocabulary += [row[0] for row in self._connection.execute(query, (start, f"{start}\U0010ffff", len(word)))]
        return difflib.get_close_matches(word, vocabulary, cutoff=_MIN_SIMILAR)

    def _dated(self, question: Question) -> set[int]:
        """Return the files that the question names by a date and by another word."""
        found: set[int] = set()
        for date in question.dates:
            of_date = set(self._named(date))
            of_words = {file for term in question.parts[0].terms for file in self._named(term)}
            found |= of_date & of_words or of_date
        return found

    def _owners(self, parts: Sequence[tuple[_Scores, float]], cosines: Mapping[int, float] | None) -> dict[int, int]:
        """Return the passages that may fit, with their files."""
        texts: dict[int, float] = defaultdict(float)
        names: dict[int, float] = defaultdict(float)
        for scores, weight in parts:
            for passage in scores.texts:
                texts[passage] += weight * scores.text_share(passage)
            for file, words in scores.named.items():
                names[file] += weight * scores.share(words)
        candidates = set(sorted(texts, key=texts.__getitem__, reverse=True)[:_CANDIDATES])
        if cosines:
            candidates.update(sorted(cosines, key=cosines.__getitem__, reverse=True)[:_CANDIDATES])
        marks = ", ".join(map(str, candidates))
        owners = dict(self._connection.execute(f"SELECT rank, file FROM passage WHERE rank IN ({marks})"))  # noqa: S608
        named = sorted((file for file in names if file in self._files), key=names.__getitem__, reverse=True)
        for file in named[:_CANDIDATES]:  # the passages of a named file that have most words, or else its first ones
            query = "SELECT rank FROM passage WHERE file = ? ORDER BY rank"
            ranks = [row[0] for row in self._connection.execute(query, (file,))]
            ranks.sort(key=lambda rank: -texts.get(rank, 0.0))
            owners.update(dict.fromkeys(ranks[:_CANDIDATES], file))
        return {passage: file for passage, file in owners.items() if file in self._files}

    def _listed(self, question: Question, parts: Sequence[tuple[_Scores, float]], rest: Iterable[int]) -> list[Excerpt]:
        """Return a passage that lists the files whose names fit, or else those whose passages do."""
        scores = parts[0][0]
        files: list[int] = []
        if question.parts[0].terms or question.dates:
            shares = {file: scores.share(words) for file, words in scores.named.items() if file in self._files}
            top = max(shares.values(), default=0.0)
            files = sorted((file for file, share in shares.items() if share >= 0.9 * top), key=self._path)
            files = files or list(dict.fromkeys(rest))
        else:
            files = sorted(self._files, key=self._path)
        if question.is_newest:
            files.sort(key=self._date, reverse=True)
        if not files:
            return []
        more = [f"and {len(files) - _MAX_LISTED} more"] if len(files) > _MAX_LISTED else []
        lines = [self._line(self._files[file]) for file in files[:_MAX_LISTED]]
        folder = Path(self._files[files[0]].folder)
        text = "\n".join([f"{len(files)} files:", *lines, *more])
        return [Excerpt(str(folder), folder.name or str(folder), 0, 0, text)]

    def _line(self, file: FileRow) -> str:
        changed = time.strftime("%Y-%m-%d", time.localtime(file.changed / 1e9))
        return f"- {file.path} (changed {changed})"

    def _path(self, file: int) -> tuple[str, str]:
        return self._files[file].folder, self._files[file].path

    def _date(self, file: int) -> tuple[str, int]:
        """Return the date in a file's name, or else of its last change."""
        row = self._files[file]
        dates = [f"{year}-{month or '00'}-{day or '00'}" for year, month, day in _DATE.findall(row.path)]
        return (dates[-1] if dates else time.strftime("%Y-%m-%d", time.localtime(row.changed / 1e9))), row.changed

    def _excerpts(self, best: Iterable[int], owners: Mapping[int, int], most: int) -> list[Excerpt]:
        found: dict[tuple[str, int], Excerpt] = {}
        for rank in best:
            if len(found) >= most:
                break
            query = "SELECT place, heading, text FROM passage WHERE rank = ?"
            row: Any = self._connection.execute(query, (rank,)).fetchone()
            file = self._files[owners[rank]]
            folder = Path(file.folder)
            path = str(folder / file.path)
            page, line = (row["place"] if file.unit == kind else 0 for kind in (Unit.PAGE, Unit.LINE))
            name = f"{folder.name}/{file.path}" if folder.name else file.path
            # A folder may be inside another one.
            found.setdefault((path, row["place"]), Excerpt(path, name, page, line, row["text"], row["heading"]))
        return list(found.values())


def _fits(deciding: Iterable[_Scores], passage: int, file: int, gains: Mapping[int, float] | None, part: float) -> bool:
    """Return whether a passage is relevant: whether words or meaning reach the share `part` of what is required."""
    if gains is not None and gains.get(passage, 0.0) >= part * MIN_GAIN:
        return True
    for scores in deciding:
        least = (MIN_SHARE_OF_PAIRS if scores.has_pairs else MIN_SHARE) * (ALONE if gains is None else 1.0)
        if scores.share(scores.found.get(passage, 0) | scores.named.get(file, 0)) >= part * least:
            return True
    return False
