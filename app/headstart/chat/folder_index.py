"""The index of the folders of projects: the passages of their files, found by words and by meaning."""

# The index is derived from the folders and lies in a file of its own beside the history, with the same key. It can be
# deleted at any time and is made anew: after damage, after a change of the encryption, and by another version.

import hashlib
import logging
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headstart.chat import database, erasing, search
from headstart.chat.conversation import Excerpt, storable
from headstart.chat.database import FOLDERS_NAME, Key
from headstart.chat.folder_files import (
    CancelledError,
    FileStat,
    Listing,
    NoTextError,
    Text,
    Unit,
    list_files,
)
from headstart.chat.passages import MOST, TOKENIZER, cut
from headstart.errors import AttachmentError, HistoryError

if TYPE_CHECKING:
    import numpy as np

VERSION = 1
WINDOW = 400  # bytes of text for one vector; windows overlap by half
_BATCH = 8  # passages that get their vectors at a time
_CANDIDATES = 200  # passages by words, and as many by meaning
_MAX_NAMED = 100  # unreadable files of a folder
_WEIGHT_OF_WORDS = 0.5  # beside the cosine; app/docs/passages.md has half and double
_ROWS = 8192  # vectors that are compared at a time
_SATURATION = 2.2  # the most that one word adds to bm25, as a multiple of its weight, with FTS5's k1 = 1.2
_SCHEMA = (
    """CREATE TABLE folder (
        rank INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        skipped INTEGER NOT NULL DEFAULT 0,
        problem TEXT NOT NULL DEFAULT 'unread'
    )""",
    """CREATE TABLE file (
        rank INTEGER PRIMARY KEY,
        folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        hash BLOB,
        state TEXT NOT NULL,
        unit TEXT NOT NULL DEFAULT '',
        UNIQUE (folder, path)
    )""",
    """CREATE TABLE passage (
        rank INTEGER PRIMARY KEY,
        file INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        place INTEGER NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX passage_by_file ON passage (file)",
    """CREATE TABLE vectors (
        passage INTEGER PRIMARY KEY REFERENCES passage ON DELETE CASCADE,
        data BLOB NOT NULL
    )""",
    "CREATE TABLE memo (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    f"CREATE VIRTUAL TABLE passage_words USING fts5 (words, content = '', tokenize = '{TOKENIZER}')",
    """CREATE TRIGGER passage_added AFTER INSERT ON passage BEGIN
        INSERT INTO passage_words (rowid, words) VALUES (new.rank, words(new.text));
    END""",
    """CREATE TRIGGER passage_removed AFTER DELETE ON passage BEGIN
        INSERT INTO passage_words (passage_words, rowid, words) VALUES ('delete', old.rank, words(old.text));
    END""",
    f"PRAGMA user_version = {VERSION}",
)
_NEVER = FileStat(-1, -1)  # of a file that is tried again each time
_MODEL = "model"  # name of the memo with the model of the vectors
_READ, _SKIPPED, _UNREADABLE = "read", "skipped", "unreadable"  # states of a file
MISSING, CUT, UNREAD = "missing", "cut", "unread"  # problems of a folder; the last until all files were read once
_log = logging.getLogger(__name__)

IsWanted = Callable[[], bool]


class Reader(Protocol):
    """Reads the text of files."""

    def read(self, path: Path, is_wanted: IsWanted) -> Text:
        """Return the text of a file. Raises AttachmentError, NoTextError and CancelledError."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors of the length 1."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[bytes]:
        """Return a vector of 32-bit floats for each text. Raises HeadstartError."""
        ...


@dataclass(frozen=True)
class FolderState:
    """The content of the index for one folder."""

    path: str
    files: int = 0  # with text
    skipped: int = 0  # without text, hidden, links, or too large
    unreadable: tuple[str, ...] = ()  # paths in the folder
    passages: int = 0
    embedded: int = 0  # passages with vectors
    problem: str = ""  # MISSING, CUT, UNREAD, or none
    total: int | None = None  # files to read in all; None unless they are being read


class FolderIndex:
    """An open index. Use it in the thread that opened it; every method raises HistoryError."""

    def __init__(self, folder: Path, key: Key | None) -> None:
        """Open the index beside the history in `folder`, or make an empty one."""
        self._folder, self._key = folder, key
        self._embedded = 0  # rank up to which `embed` has come
        self.path = folder / FOLDERS_NAME
        with _translate_errors(self.path):
            try:
                self._connection = self._open()
            except database.sqlite_errors() as error:
                if not database.is_damage(error):
                    raise
                _log.warning("%s is damaged and is made anew", self.path)
                forget(folder)
                self._connection = self._open()

    def __enter__(self) -> "FolderIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def keep(self, folders: Iterable[str]) -> None:
        """Add new folders, and erase all others, so that no word of them remains."""
        kept = list(dict.fromkeys(folders))
        marks = ", ".join("?" * len(kept))
        with _translate_errors(self.path):
            with database.transaction(self._connection):
                rows = [(folder,) for folder in kept]
                self._connection.executemany("INSERT OR IGNORE INTO folder (path) VALUES (?)", rows)
                gone = self._connection.execute(f"DELETE FROM folder WHERE path NOT IN ({marks})", kept).rowcount  # noqa: S608
                if gone:
                    erasing.add_order(self._connection)
            if gone:
                self.erase()

    def erase(self) -> None:
        """Erase what is left of removed folders, and of files that were removed or changed. It writes the file anew."""
        with _translate_errors(self.path):
            all(erasing.steps(self._connection, self._folder, self._key))

    def update(self, folder: str, reader: Reader, is_wanted: IsWanted = lambda: True) -> Iterator[FolderState]:
        """Read what has changed in a folder since; yield the state after each file. Ends early if it is not wanted."""
        rank = self._rank(folder)
        if not rank:
            return
        try:
            listing = list_files(Path(folder), is_wanted)
        except CancelledError:
            return
        except OSError as error:
            _log.info("%s: %s", folder, error)
            self._set_folder(rank, MISSING)
            yield self.state(folder)
            return
        changed, gone = self._compare(rank, listing)
        total = len(listing.files)
        done = total - len(changed)
        for path in changed:
            if not is_wanted() or not self._read(rank, Path(folder), path, reader, gone, is_wanted):
                return
            done += 1
            yield FolderState(folder, done, total=total)
        self._remove(rank, gone)
        self._note_unreadable(rank, listing)
        self._set_folder(rank, CUT if listing.is_cut else "", listing.skipped)
        yield self.state(folder)

    def embed(self, folders: Iterable[str], embedder: Embedder) -> bool:
        """Compute the vectors of a few passages; return whether there were any without. Raises HeadstartError."""
        with _translate_errors(self.path):
            self._follow_model(embedder.name)
            query = (
                "SELECT passage.rank, text FROM passage JOIN file ON file.rank = passage.file "  # noqa: S608
                f"WHERE passage.rank > ? AND folder IN ({self._ranks(folders)}) "
                "AND NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passage.rank) ORDER BY passage.rank LIMIT ?"
            )
            rows = [(row[0], windows(row[1])) for row in self._connection.execute(query, (self._embedded, _BATCH))]
        self._embedded = rows[-1][0] if rows else 0
        computed = iter(embedder.embed([text for _, texts in rows for text in texts]))
        values = [(rank, b"".join(_rounded(next(computed)) for _ in texts)) for rank, texts in rows]
        with _translate_errors(self.path), database.transaction(self._connection):
            # A passage may have gone meanwhile.
            insert = "INSERT INTO vectors SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM passage WHERE rank = ?1)"
            self._connection.executemany(insert, values)
        return bool(rows)

    def state(self, folder: str) -> FolderState:
        """Return what the index has of a folder."""
        files = "SELECT count(*) FROM file WHERE folder = folder.rank AND state = ?"
        passages = "passage JOIN file ON file.rank = passage.file WHERE file.folder = folder.rank"
        query = (
            f"SELECT rank, problem, ({files}) AS files, skipped + ({files}) AS skipped, "  # noqa: S608
            f"(SELECT count(*) FROM {passages}) AS passages, "
            f"(SELECT count(*) FROM vectors JOIN passage ON passage.rank = vectors.passage "
            "JOIN file ON file.rank = passage.file WHERE file.folder = folder.rank) AS embedded "
            "FROM folder WHERE path = ?"
        )
        unreadable = "SELECT path FROM file WHERE folder = ? AND state = ? ORDER BY path LIMIT ?"
        with _translate_errors(self.path):
            row = self._connection.execute(query, (_READ, _SKIPPED, folder)).fetchone()
            if row is None:
                return FolderState(folder)
            values = (row["rank"], _UNREADABLE, _MAX_NAMED)
            names = tuple(name[0] for name in self._connection.execute(unreadable, values))
        return FolderState(
            folder, row["files"], row["skipped"], names, row["passages"], row["embedded"], row["problem"]
        )

    def find(
        self, folders: Sequence[str], question: str, embedder: Embedder | None = None, most: int = MOST
    ) -> list[Excerpt]:
        """Return the passages that fit a question, the best first. Raises HeadstartError.

        Each passage has a number from 0 to 1 for the words that it shares with the question: its bm25, as a share of
        what a passage could have with all words many times. With an embedder it has another one for its meaning: the
        cosine of its window that is nearest to the question. The weighted sum decides.
        """
        ranks = self._ranks(folders)
        with _translate_errors(self.path):
            scores = self._word_scores(ranks, question)
        if embedder:
            (vector,) = embedder.embed([question])
            with _translate_errors(self.path):
                cosines = self._cosines(ranks, embedder.name, vector)
            usual = sum(cosines.values()) / max(len(cosines), 1)  # for passages that have no vectors yet
            nearest = sorted(cosines, key=cosines.__getitem__, reverse=True)[:_CANDIDATES]
            candidates = {*scores, *nearest}
            scores = {rank: _WEIGHT_OF_WORDS * scores.get(rank, 0.0) + cosines.get(rank, usual) for rank in candidates}
        best = sorted(scores, key=lambda rank: (-scores[rank], rank))
        with _translate_errors(self.path):
            return self._excerpts(best, most)

    def _open(self) -> sqlite3.Connection:
        connection = database.connect(self.path, self._key)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                connection.close()
                forget(self._folder)
                connection = database.connect(self.path, self._key)
                version = 0
            if not version:
                with database.transaction(connection):
                    for statement in _SCHEMA:
                        connection.execute(statement)
        except database.sqlite_errors():
            connection.close()
            raise
        return connection

    def _ranks(self, folders: Iterable[str]) -> str:
        """Return the ranks of folders for a query."""
        return ", ".join(str(self._rank(folder)) for folder in folders) or "NULL"

    def _rank(self, folder: str) -> int:
        """Return the rank of a folder; 0 for one that is not in the index."""
        with _translate_errors(self.path):
            row = self._connection.execute("SELECT rank FROM folder WHERE path = ?", (folder,)).fetchone()
        return int(row[0]) if row else 0

    def _set_folder(self, rank: int, problem: str, skipped: int | None = None) -> None:
        statement = "UPDATE folder SET problem = ?1, skipped = ifnull(?2, skipped) WHERE rank = ?3"
        with _translate_errors(self.path), database.transaction(self._connection):
            self._connection.execute(statement, (problem, skipped, rank))

    def _compare(self, rank: int, listing: Listing) -> tuple[list[str], dict[str, bytes | None]]:
        """Return the files that are new or changed, and those that are gone, with their hashes."""
        query = "SELECT path, size, changed, hash, state FROM file WHERE folder = ?"
        with _translate_errors(self.path):
            rows = {row["path"]: row for row in self._connection.execute(query, (rank,))}
        known = {path: FileStat(row["size"], row["changed"]) for path, row in rows.items()}
        changed = [path for path, state in listing.files.items() if known.get(path) != state]
        hidden = tuple(path for path in listing.unreadable if path.endswith("/"))  # what is in them is kept
        gone = {
            path: row["hash"] for path, row in rows.items() if path not in listing.files and not path.startswith(hidden)
        }
        return changed, gone

    def _read(
        self, rank: int, folder: Path, path: str, reader: Reader, gone: dict[str, bytes | None], is_wanted: IsWanted
    ) -> bool:
        """Read a file into the index; return False if that was cancelled."""
        text, state, digest = Text((), Unit.NONE), _READ, None
        before = _NEVER
        try:
            before = _stat(folder / path)
            text = reader.read(folder / path, is_wanted)
            if _stat(folder / path) != before:
                return True  # it is being written: the next update reads it
            digest = _hash(text)
            if self._is_renamed_or_same(rank, path, before, digest, gone):
                return True
        except CancelledError:
            return False
        except NoTextError:
            state = _SKIPPED
        except FileNotFoundError:
            return True
        except (AttachmentError, OSError) as error:
            _log.info("%s: %s", folder / path, error)
            is_locked = not os.access(folder / path, os.R_OK)
            state, before = _UNREADABLE, _NEVER if is_locked else before
        self._write(rank, path, before, digest, state, text)
        return True

    def _is_renamed_or_same(
        self, rank: int, path: str, state: FileStat, digest: bytes, gone: dict[str, bytes | None]
    ) -> bool:
        """Note the new name or time of a file whose content is in the index; return whether it is."""
        old = next((name for name, known in gone.items() if known == digest), path)
        statement = "UPDATE file SET path = ?, size = ?, changed = ? WHERE folder = ? AND path = ? AND hash = ?"
        with _translate_errors(self.path), database.transaction(self._connection):
            if old != path:
                self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path))
            values = (path, *state, rank, old, digest)
            is_known = self._connection.execute(statement, values).rowcount > 0
        if is_known:
            gone.pop(old, None)
        return is_known

    def _write(self, rank: int, path: str, state: FileStat, digest: bytes | None, kind: str, text: Text) -> None:
        insert = "INSERT INTO file (folder, path, size, changed, hash, state, unit) VALUES (?, ?, ?, ?, ?, ?, ?)"
        with _translate_errors(self.path), database.transaction(self._connection):
            if self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path)).rowcount:
                erasing.add_order(self._connection)
            if not self._connection.execute("SELECT 1 FROM folder WHERE rank = ?", (rank,)).fetchone():
                return  # removed meanwhile
            values = (rank, path, *state, digest, kind, text.unit)
            file = self._connection.execute(insert, values).lastrowid
            rows = ((file, place, storable(passage)) for place, passage in _passages(text))
            self._connection.executemany("INSERT INTO passage (file, place, text) VALUES (?, ?, ?)", rows)

    def _remove(self, rank: int, paths: Iterable[str]) -> None:
        with _translate_errors(self.path), database.transaction(self._connection):
            for path in paths:
                self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path))
                erasing.add_order(self._connection)

    def _note_unreadable(self, rank: int, listing: Listing) -> None:
        """Name the folders that cannot be listed like the files that cannot be read."""
        insert = "INSERT OR IGNORE INTO file (folder, path, size, changed, state) VALUES (?, ?, -1, -1, ?)"
        with _translate_errors(self.path), database.transaction(self._connection):
            rows = [(rank, path, _UNREADABLE) for path in listing.unreadable]
            self._connection.executemany(insert, rows)

    def _follow_model(self, name: str) -> None:
        """Forget the vectors of another model."""
        if self._model() != name:
            with database.transaction(self._connection):
                self._connection.execute("DELETE FROM vectors")
                self._connection.execute("REPLACE INTO memo VALUES (?, ?)", (_MODEL, name))

    def _model(self) -> str:
        row = self._connection.execute("SELECT value FROM memo WHERE name = ?", (_MODEL,)).fetchone()
        return str(row[0]) if row else ""

    def _word_scores(self, ranks: str, question: str) -> dict[int, float]:
        query = search.any_word_query(question)
        if not query:
            return {}
        (count,) = self._connection.execute("SELECT count(*) FROM passage").fetchone()
        bound = 0.0
        for word in query.split(" OR "):
            matches = "SELECT count(*) FROM passage_words WHERE passage_words MATCH ?"
            (having,) = self._connection.execute(matches, (word,)).fetchone()
            bound += _SATURATION * max(math.log((count - having + 0.5) / (having + 0.5)), 1e-6)  # as FTS5 weighs it
        rows = self._connection.execute(
            "SELECT passage.rank, bm25(passage_words) FROM passage_words "  # noqa: S608
            "JOIN passage ON passage.rank = passage_words.rowid JOIN file ON file.rank = passage.file "
            f"WHERE passage_words MATCH ? AND folder IN ({ranks}) ORDER BY 2 LIMIT ?",
            (query, _CANDIDATES),
        )
        return {rank: -value / bound for rank, value in rows}

    def _cosines(self, ranks: str, model: str, vector: bytes) -> dict[int, float]:
        """Return the cosine of each passage with vectors of this model."""
        import numpy as np  # noqa: PLC0415 - most programs that import this need no vectors

        if self._model() != model:
            return {}
        asked = np.frombuffer(vector, "<f4")
        kind = _vector_kind(len(asked))
        rows = self._connection.execute(
            "SELECT vectors.passage, data FROM vectors JOIN passage ON passage.rank = vectors.passage "  # noqa: S608
            f"JOIN file ON file.rank = passage.file WHERE folder IN ({ranks})"
        )
        cosines: dict[int, float] = {}
        while batch := rows.fetchmany(_ROWS // 4):
            counts = [len(data) // kind.itemsize for _, data in batch]
            stored = np.frombuffer(b"".join(data for _, data in batch), kind)
            products = stored["values"].astype(np.float32) @ asked * stored["scale"]
            starts = np.cumsum([0, *counts[:-1]])
            nearest = np.maximum.reduceat(products, starts)
            cosines.update(zip((rank for rank, _ in batch), nearest.tolist(), strict=True))
        return cosines

    def _excerpts(self, best: Iterable[int], most: int) -> list[Excerpt]:
        query = (
            "SELECT folder.path AS folder, file.path AS path, unit, place, text FROM passage "
            "JOIN file ON file.rank = passage.file JOIN folder ON folder.rank = file.folder WHERE passage.rank = ?"
        )
        found: dict[tuple[str, int], Excerpt] = {}
        for rank in best:
            row: Any = self._connection.execute(query, (rank,)).fetchone()
            folder = Path(row["folder"])
            path, unit = str(folder / row["path"]), row["unit"]
            page, line = (row["place"] if unit == kind else 0 for kind in (Unit.PAGE, Unit.LINE))
            name = f"{folder.name}/{row['path']}" if folder.name else row["path"]
            # A folder may be inside another one.
            found.setdefault((path, row["place"]), Excerpt(path, name, page, line, row["text"]))
            if len(found) == most:
                break
        return list(found.values())


def _vector_kind(dimensions: int) -> "np.dtype[np.void]":
    """Return the layout of a stored vector: bytes, of which the largest is 127, and their scale."""
    import numpy as np  # noqa: PLC0415

    return np.dtype([("scale", "<f4"), ("values", "i1", (dimensions,))])


def _rounded(vector: bytes) -> bytes:
    """Return a vector as it is stored, in a quarter of the space."""
    import numpy as np  # noqa: PLC0415

    numbers = np.frombuffer(vector, "<f4")
    scale = max(float(np.abs(numbers).max()) / 127, 1e-9)
    row = np.array([(scale, np.rint(numbers / scale))], _vector_kind(len(numbers)))
    return bytes(row.tobytes())


def windows(text: str) -> list[str]:
    """Return overlapping parts of a passage, each for one vector: one vector says too little about 1,200 bytes."""
    pieces = cut(text, WINDOW // 2)
    return [text[first[0] : second[1]] for first, second in pairwise(pieces)] or [text]


def forget(folder: Path) -> None:
    """Delete the index beside the history in `folder`. It must not be open."""
    for suffix in ("", "-journal", *database.SIDE_FILES):
        (folder / f"{FOLDERS_NAME}{suffix}").unlink(missing_ok=True)


def _passages(text: Text) -> Iterator[tuple[int, str]]:
    """Yield the passages of a text, each with its page or line."""
    for page, content in enumerate(text.pages, start=1):
        line, counted = 1, 0
        for start, end in cut(content):
            line += content.count("\n", counted, start)
            counted = start
            yield (page if text.unit is Unit.PAGE else line), content[start:end]


def _stat(path: Path) -> FileStat:
    state = path.stat()
    return FileStat(state.st_size, state.st_mtime_ns)


def _hash(text: Text) -> bytes:
    return hashlib.blake2b("\f".join(text.pages).encode(errors="replace"), digest_size=16).digest()


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Context manager that turns errors of SQLite and the file system into HistoryError."""
    errors: tuple[type[Exception], ...] = (*database.sqlite_errors(), OSError)
    try:
        yield
    except errors as error:
        _log.warning("%s: %s", path, error)
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL:
            raise HistoryError(
                "The disk is full, so the folders of your projects are not indexed further; free some space: nothing "
                "is lost."
            ) from error
        raise HistoryError(
            "The index of your projects' folders cannot be used ({error}); start Headstart again: it is made anew if "
            "it is damaged, and nothing is lost.",
            error=error,
        ) from error
