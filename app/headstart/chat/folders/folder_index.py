"""The index of the folders of projects: the passages of their files, found by words and by meaning."""

# The index is derived from the folders and lies in a file of its own beside the history, with the same key. It can be
# deleted at any time and is made anew: after damage, after a change of the encryption, and by another version.

import hashlib
import json
import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from headstart.chat import search
from headstart.chat.conversation import BETWEEN_HEADINGS, HEAD_OF_SHEET, TABLE_ENDINGS, Excerpt, storable
from headstart.chat.files.attachments import ILLUSTRATED_ENDINGS
from headstart.chat.files.passages import MOST, TOKENIZER, cut
from headstart.chat.folders import folder_search
from headstart.chat.folders.folder_files import (
    SMALL,
    CancelledError,
    FileSection,
    FileStat,
    Listing,
    NoTextError,
    ReaderDiedError,
    Unit,
    list_files,
    unopened,
)
from headstart.chat.folders.folder_question import Question, understand
from headstart.chat.folders.folder_search import FolderSearch
from headstart.chat.history import database, erasing
from headstart.chat.history.database import FOLDERS_NAME, Key
from headstart.errors import AttachmentError, HistoryError, Translatable

if TYPE_CHECKING:
    from headstart.chat.folders.vectors import StoredVectors

VERSION = 7
WINDOW = 400  # bytes of text for one vector; windows overlap by half
_LONG = 0.01  # share of a file; if its first piece has less, such as a page of 200, it takes long whatever its size
_BATCH = 2  # passages that get their vectors at a time; a question waits as long
_MAX_NAMED = 100  # unreadable files of a folder
MOMENT_S = 3.0  # in which two changes may have one time: FAT counts in steps of two seconds
_SCHEMA = (
    # No rank is used again: another thread may still have one that is gone.
    """CREATE TABLE folder (
        rank INTEGER PRIMARY KEY AUTOINCREMENT,
        path TEXT NOT NULL UNIQUE,
        skipped INTEGER NOT NULL DEFAULT 0,
        problem TEXT NOT NULL DEFAULT 'unread'
    )""",
    """CREATE TABLE file (
        rank INTEGER PRIMARY KEY AUTOINCREMENT,
        folder INTEGER NOT NULL REFERENCES folder ON DELETE CASCADE,
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        hash BLOB,
        state TEXT NOT NULL,
        unit TEXT NOT NULL DEFAULT '',
        next INTEGER NOT NULL DEFAULT 0,
        share REAL NOT NULL DEFAULT 1,
        title TEXT NOT NULL DEFAULT '',
        headings TEXT NOT NULL DEFAULT '[]',
        reason TEXT NOT NULL DEFAULT '""',
        UNIQUE (folder, path)
    )""",
    """CREATE TABLE passage (
        rank INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL REFERENCES file ON DELETE CASCADE,
        place INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX passage_by_file ON passage (file)",
    """CREATE TABLE vectors (
        rank INTEGER PRIMARY KEY AUTOINCREMENT,
        passage INTEGER NOT NULL REFERENCES passage ON DELETE CASCADE,
        windows INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX vectors_by_passage ON vectors (passage)",
    "CREATE TABLE memo (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO memo VALUES ('identity', hex(randomblob(16)))",
    f"CREATE VIRTUAL TABLE passage_words USING fts5 (words, content = '', tokenize = '{TOKENIZER}')",
    """CREATE TRIGGER passage_added AFTER INSERT ON passage BEGIN
        INSERT INTO passage_words (rowid, words) VALUES (new.rank, words(new.heading || char(10) || new.text));
    END""",
    """CREATE TRIGGER passage_removed AFTER DELETE ON passage BEGIN
        INSERT INTO passage_words (passage_words, rowid, words)
            VALUES ('delete', old.rank, words(old.heading || char(10) || old.text));
    END""",
    f"CREATE VIRTUAL TABLE file_words USING fts5 (words, content = '', tokenize = '{TOKENIZER}')",
    """CREATE TRIGGER file_added AFTER INSERT ON file BEGIN
        INSERT INTO file_words (rowid, words) VALUES (new.rank, name_words(new.path || char(10) || new.title));
    END""",
    """CREATE TRIGGER file_renamed AFTER UPDATE OF path, title ON file BEGIN
        INSERT INTO file_words (file_words, rowid, words)
            VALUES ('delete', old.rank, name_words(old.path || char(10) || old.title));
        INSERT INTO file_words (rowid, words) VALUES (new.rank, name_words(new.path || char(10) || new.title));
    END""",
    """CREATE TRIGGER file_removed AFTER DELETE ON file BEGIN
        INSERT INTO file_words (file_words, rowid, words)
            VALUES ('delete', old.rank, name_words(old.path || char(10) || old.title));
    END""",
    f"PRAGMA user_version = {VERSION}",
)
_SAMPLE = 200  # passages that tell the language of a folder
_ENGLISH = re.compile(r"\b(?:the|and|to|that|this|with|from|are|not)\b", re.IGNORECASE)  # hardly in other languages
_MIN_ENGLISH = 0.004  # of these words for each character: English texts have 0.016 and more, code 0.004 and more
_UNWRITABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
_DAMAGED = f"{FOLDERS_NAME}.damaged"  # a file beside an index in which damage was seen
_NEVER = FileStat(-1, -1)  # of a file that is tried again each time
_MODEL = "model"  # name of the memo with the model of the vectors
_RECOGNITION = "recognition"  # name of the memo with the model that reads pictures
_READ, _READING, _SKIPPED = "read", "reading", "skipped"  # states of a file
_UNREADABLE, _DIED = "unreadable", "died"  # likewise; the process that read it died
_NO_REASON = Translatable()
MISSING, LOCKED, CUT = "missing", "locked", "cut"  # problems of a folder
UNREAD = "unread"  # likewise, until all files were read once
_log = logging.getLogger(__name__)

IsWanted = Callable[[], bool]


class FileReader(Protocol):
    def read(self, path: Path, start: int, is_wanted: IsWanted) -> Iterator[FileSection]:
        """Yield the text of a file from a place on. Raises AttachmentError, NoTextError and CancelledError."""


class Embedder(Protocol):
    """A model that turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """The model's name."""

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        """Return a vector of 32-bit floats for each text, which is a passage or a question. Raises HeadstartError."""


@dataclass(frozen=True)
class FolderState:
    """The content of the index for one folder."""

    path: str
    files: int = 0  # with text
    skipped: int = 0  # without text, hidden, links, or too large
    unreadable: Mapping[str, Translatable] = field(default_factory=dict)  # paths in the folder, and why
    passages: int = 0
    embedded: int = 0  # passages with vectors
    problem: str = ""  # MISSING, LOCKED, CUT, UNREAD, or none
    is_english: bool = True  # most of what is read
    total: int | None = None  # files to read in all; None unless they are being read
    reading: str = ""  # the large file that is being read
    share: float = 0.0  # of that file that is read
    seconds_left: float | None = None  # until all is read; None while that is unknown


class FolderIndex:
    """An open index. Use it in the thread that opened it; every method raises HistoryError."""

    def __init__(self, folder: Path, key: Key | None) -> None:
        """Open the index beside the history in `folder`, or make an empty one."""
        self._folder, self._key = folder, key
        self._embedded = 0  # rank up to which `embed` has come
        self.path = folder / FOLDERS_NAME
        with _translate_errors(self.path):
            try:
                if (folder / _DAMAGED).exists():
                    forget(folder)
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
        """Erase the remaining text of removed folders and of removed or changed files, by rewriting the database."""
        with _translate_errors(self.path):
            all(erasing.erase_in_steps(self._connection, self._folder, self._key))

    def update(
        self, folder: str, reader: FileReader, is_wanted: IsWanted = lambda: True, *, large: bool = True
    ) -> Iterator[FolderState]:
        """Read what has changed in a folder since, small and new files first; yield the state after each piece.

        It can be cut off anywhere: it ends early if it is not wanted, and what was read is kept. Renamed files are
        settled first. Without `large`, large files, those of many pages and those that an update was cut off in are
        left for later, and the last state is left out: it takes long.
        """
        rank = self._rank(folder)
        if not rank:
            return
        try:
            listing = self._list(rank, folder, is_wanted)
        except CancelledError:
            return
        if listing is None:
            yield self.state(folder)
            return
        changed = self._settle(rank, Path(folder), listing, is_wanted)
        begun = self._begun(rank)
        changed.sort(key=lambda path: _urgency(listing.files[path], is_begun=path in begun))
        work = _Work(sum(listing.files[path].size for path in changed), len(listing.files) - len(changed))
        is_left = False
        for path in changed:
            size = listing.files[path].size
            is_large = size > SMALL or path in begun
            if not is_wanted() or (is_large and not large):
                return
            is_read = False
            for share, is_read in self._read(rank, Path(folder), path, reader, is_wanted, large=large):
                work.share = share
                if is_large and not is_read:
                    left = work.seconds_left(size)
                    yield FolderState(
                        folder, work.files, total=len(listing.files), reading=path, share=share, seconds_left=left
                    )
            if not is_read:
                if large or not is_wanted():
                    return
                is_left = True
                continue
            work.end_file(size)
            yield FolderState(folder, work.files, total=len(listing.files), seconds_left=work.seconds_left())
        if is_left:
            return
        self._note_unreadable(rank, listing)
        self._set_folder(rank, CUT if listing.is_cut else "", listing.skipped)
        if large:
            yield self.state(folder)

    def try_again(self) -> None:
        """Have the next update read the files at which the reading process died: it may have lacked memory."""
        again = "UPDATE file SET size = ?, changed = ? WHERE state = ?"
        with _translate_errors(self.path), database.transaction(self._connection):
            self._connection.execute(again, (*_NEVER, _DIED))

    def follow_recognition(self, model: str) -> None:
        """Have files read again that may hold pictures of text, if another model reads them than before."""
        query = "SELECT ifnull((SELECT value FROM memo WHERE name = ?), '')"
        with _translate_errors(self.path):
            if self._connection.execute(query, (_RECOGNITION,)).fetchone()[0] == model:
                return
            with database.transaction(self._connection):
                illustrated = " OR ".join(f"path LIKE '%{ending}'" for ending in ILLUSTRATED_ENDINGS)
                gone = f"DELETE FROM file WHERE state IN (?, ?, ?) OR {illustrated}"  # noqa: S608 - endings of ours
                if model and self._connection.execute(gone, (_SKIPPED, _UNREADABLE, _DIED)).rowcount:
                    erasing.add_order(self._connection)
                self._connection.execute("REPLACE INTO memo VALUES (?, ?)", (_RECOGNITION, model))

    def embed(self, folders: Iterable[str], embedder: Embedder) -> bool:
        """Compute the vectors of a few passages; return whether there were any without. Raises HeadstartError."""
        with _translate_errors(self.path):
            self._follow_model(embedder.name)
            query = (
                "SELECT passage.rank, text, heading, path FROM passage JOIN file ON file.rank = passage.file "  # noqa: S608
                f"WHERE passage.rank > ? AND folder IN ({self._ranks(folders)}) "
                "AND NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passage.rank) ORDER BY passage.rank LIMIT ?"
            )
            found = self._connection.execute(query, (self._embedded, _BATCH))
            rows = [(row["rank"], _framed(row["text"], row["heading"], row["path"])) for row in found]
        self._embedded = rows[-1][0] if rows else 0
        if not rows:
            return False
        from headstart.chat.folders.vectors import rounded  # noqa: PLC0415 - without a model, NumPy is not needed

        computed = iter(embedder.embed([text for _, texts in rows for text in texts]))
        values = [(rank, len(texts), b"".join(rounded(next(computed)) for _ in texts)) for rank, texts in rows]
        with _translate_errors(self.path), database.transaction(self._connection):
            # A passage may have gone meanwhile.
            insert = "INSERT INTO vectors (passage, windows, data) SELECT ?1, ?2, ?3 "
            insert += "WHERE EXISTS (SELECT 1 FROM passage WHERE rank = ?1)"
            self._connection.executemany(insert, values)
        return True

    def state(self, folder: str) -> FolderState:
        files = "SELECT count(*) FROM file WHERE folder = folder.rank AND state = ?"
        passages = "passage JOIN file ON file.rank = passage.file WHERE file.folder = folder.rank"
        query = (
            f"SELECT rank, problem, ({files}) AS files, skipped + ({files}) AS skipped, "  # noqa: S608
            f"(SELECT count(*) FROM {passages}) AS passages, "
            f"(SELECT count(*) FROM vectors JOIN passage ON passage.rank = vectors.passage "
            "JOIN file ON file.rank = passage.file WHERE file.folder = folder.rank) AS embedded "
            "FROM folder WHERE path = ?"
        )
        unreadable = "SELECT path, reason FROM file WHERE folder = ? AND state IN (?, ?) ORDER BY path LIMIT ?"
        with _translate_errors(self.path):
            row = self._connection.execute(query, (_READ, _SKIPPED, folder)).fetchone()
            if row is None:
                return FolderState(folder, problem=UNREAD)
            found = self._connection.execute(unreadable, (row["rank"], _UNREADABLE, _DIED, _MAX_NAMED))
            reasons = {path: Translatable.from_data(json.loads(reason)) for path, reason in found}
            is_english = self._is_english(row["rank"])
        return FolderState(
            folder, row["files"], row["skipped"], reasons, row["passages"], row["embedded"], row["problem"], is_english
        )

    def problem(self, folder: str) -> str:
        """Return the problem of a folder, as in its state."""
        with _translate_errors(self.path):
            row = self._connection.execute("SELECT problem FROM folder WHERE path = ?", (folder,)).fetchone()
        return row[0] if row else UNREAD

    def find(
        self,
        folders: Sequence[str],
        question: str | Question,
        embedder: Embedder | None = None,
        most: int = MOST,
        vectors: "StoredVectors | None" = None,
    ) -> list[Excerpt]:
        """Return the passages that fit a question, the best first; none if nothing does. Raises HeadstartError.

        `vectors`: what `ready` returned for this question; without them, all are read from the disk.
        """
        asked = understand(question) if isinstance(question, str) else question
        ranks, cosines, usual = self._ranks(folders), None, 0.0
        with _translate_errors(self.path):
            is_current = embedder is not None and self._model() == embedder.name
        if embedder and is_current:
            from headstart.chat.folders.vectors import mean  # noqa: PLC0415

            vectors = vectors or self.ready(embedder)
            is_cjk = search.CJK_LETTER.search(asked.texts[0])
            others = folder_search.OTHER_CJK_SUBJECTS if is_cjk else folder_search.OTHER_SUBJECTS
            meaning = mean(embedder.embed(asked.texts, are_questions=True))
            questions = [meaning, *_vectors_of(embedder, others)]
            with _translate_errors(self.path):
                cosines, usual = vectors.cosines(self._connection, ranks, questions)
        with _translate_errors(self.path):
            return FolderSearch(self._connection, ranks).find(asked, cosines or None, most, usual)

    def ready(self, embedder: Embedder, vectors: "StoredVectors | None" = None) -> "StoredVectors":
        """Prepare a search by meaning: return the vectors of the index, and embed the questions on other subjects.

        Of `vectors`, which an earlier search has read, only changes are read again.
        """
        from headstart.chat.folders.vectors import StoredVectors  # noqa: PLC0415

        for texts in (folder_search.OTHER_SUBJECTS, folder_search.OTHER_CJK_SUBJECTS):
            _vectors_of(embedder, texts)
        vectors = vectors or StoredVectors()
        with _translate_errors(self.path):
            vectors.refresh(self._connection)
        return vectors

    def _is_english(self, folder: int) -> bool:
        """Return whether most passages of a sample have English words; so has code, in its comments."""
        query = "SELECT text FROM passage WHERE file IN (SELECT rank FROM file WHERE folder = ?) LIMIT ?"
        texts = [row[0] for row in self._connection.execute(query, (folder, _SAMPLE))]
        return 2 * sum(len(_ENGLISH.findall(text)) < _MIN_ENGLISH * len(text) for text in texts) <= len(texts)

    def _open(self) -> sqlite3.Connection:
        connection = _connect(self.path, self._key)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                connection.close()
                forget(self._folder)
                connection = _connect(self.path, self._key)
                version = 0
            if not version:
                with database.transaction(connection):  # a question and an update may both find no index
                    is_empty = not connection.execute("PRAGMA user_version").fetchone()[0]
                    for statement in _SCHEMA if is_empty else ():
                        connection.execute(statement)
        except database.sqlite_errors():
            connection.close()
            raise
        return connection

    def _ranks(self, folders: Iterable[str]) -> str:
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

    def _list(self, rank: int, folder: str, is_wanted: IsWanted) -> Listing | None:
        """List a folder, and note whether it is there; return None if it is not. Raises CancelledError."""
        try:
            listing = list_files(Path(folder), is_wanted)
        except OSError as error:
            _log.info("%s: %s", folder, error)
            self._set_folder(rank, LOCKED if isinstance(error, PermissionError) else MISSING)
            return None
        if self.problem(folder) in (MISSING, LOCKED):
            self._set_folder(rank, UNREAD)
        return listing

    def _settle(self, rank: int, folder: Path, listing: Listing, is_wanted: IsWanted) -> list[str]:
        """Note renamed and touched files, forget those that are gone, and return those that have to be read."""
        query = "SELECT path, size, changed, hash, state FROM file WHERE folder = ?"
        with _translate_errors(self.path):
            rows = {row["path"]: row for row in self._connection.execute(query, (rank,))}
        hidden = tuple(path for path in listing.unreadable if path.endswith("/"))  # what is in them is kept
        noted = set(listing.unreadable)
        gone = [
            path
            for path, row in rows.items()
            if path not in listing.files and not (path in noted if row["size"] < 0 else path.startswith(hidden))
        ]
        changed = []
        for path, state in listing.files.items():
            row = rows.get(path)
            if row and FileStat(row["size"], row["changed"]) == state and row["state"] != _READING:
                continue
            others = [
                old
                for old in (path, *gone)
                if old in rows and rows[old]["size"] == state.size and _suffix(old) == _suffix(path)
                if old == path or rows[old]["state"] not in (_UNREADABLE, _DIED)  # their reasons have their names
            ]
            old = _same(others, rows, folder / path) if others and is_wanted() else None
            if old is None:
                changed.append(path)
            else:
                gone = [name for name in gone if name != old]
                self._rename(rank, old, path, state)
        self._remove(rank, gone)
        return changed

    def _begun(self, rank: int) -> set[str]:
        """Return the files that have been read in part: they take long, whatever their size."""
        query = "SELECT path FROM file WHERE folder = ? AND state = ? AND next > 0"
        with _translate_errors(self.path):
            return {row["path"] for row in self._connection.execute(query, (rank, _READING))}

    def _rename(self, rank: int, old: str, path: str, state: FileStat) -> None:
        with _translate_errors(self.path), database.transaction(self._connection):
            if old != path:
                self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path))
                erasing.add_order(self._connection)
            statement = "UPDATE file SET path = ?, size = ?, changed = ? WHERE folder = ? AND path = ?"
            self._connection.execute(statement, (path, *_distinct(state), rank, old))

    def _read(
        self, rank: int, folder: Path, path: str, reader: FileReader, is_wanted: IsWanted, *, large: bool
    ) -> Iterator[tuple[float, bool]]:
        """Read a file into the index; yield the share that is read after each piece, and whether that is all.

        If the last is not all, the reading was cancelled, or the file takes long and `large` is false.
        """
        before = _NEVER
        try:
            before = _stat(folder / path)
            file, start, above = self._begin(rank, path, before, folder)
            headings = _Headings(path, above)
            for piece in reader.read(folder / path, start, is_wanted):
                if _stat(folder / path) != before:  # it is being written: the next update reads it
                    self._remove(rank, [path])
                    yield 1.0, True
                    return
                self._append(file, before, piece, headings)
                yield piece.share, not piece.next
                if piece.next and not (is_wanted() and (large or piece.share >= _LONG)):
                    return
        except CancelledError:
            return
        except NoTextError:
            self._write(rank, path, before, _SKIPPED)
        except (AttachmentError, OSError) as error:
            if os.access(folder / path, os.F_OK):
                _log.info("%s: %s", folder / path, error)
                is_locked = isinstance(error, OSError) or not os.access(folder / path, os.R_OK)
                kind = _DIED if isinstance(error, ReaderDiedError) else _UNREADABLE
                reason = unopened(path, error) if isinstance(error, OSError) else error.text
                self._write(rank, path, _NEVER if is_locked else before, kind, reason=reason)
            else:  # deleted meanwhile
                self._remove(rank, [path])
        yield 1.0, True

    def _begin(self, rank: int, path: str, state: FileStat, folder: Path) -> tuple[int, int, str]:
        """Return the rank of a file that is going to be read, where to begin, and the headings above as JSON."""
        query = "SELECT rank, next, headings FROM file "
        query += "WHERE folder = ? AND path = ? AND size = ? AND changed = ? AND state = ?"
        with _translate_errors(self.path):
            row = self._connection.execute(query, (rank, path, *state, _READING)).fetchone()
        if row:
            return row["rank"], row["next"], row["headings"]
        return self._write(rank, path, state, _READING, _hash(folder / path)), 0, "[]"

    def _append(self, file: int, state: FileStat, piece: FileSection, headings: "_Headings") -> None:
        """Write a piece of a file, and where to continue."""
        passages = [(file, place, storable(head), storable(text)) for place, head, text in _passages(piece, headings)]
        insert = "INSERT INTO passage (file, place, heading, text) SELECT ?1, ?2, ?3, ?4 "
        insert += "WHERE EXISTS (SELECT 1 FROM file WHERE rank = ?1)"  # removed meanwhile
        update = "UPDATE file SET state = ?, changed = ?, unit = ?, next = ?, share = ?, headings = ?, reason = ? "
        update += "WHERE rank = ?"
        kind, changed, above, why = _READING, state.changed, headings.to_json(), _NO_REASON
        with _translate_errors(self.path), database.transaction(self._connection):
            self._connection.executemany(insert, passages)
            if not piece.next:
                has_text = self._connection.execute("SELECT 1 FROM passage WHERE file = ?", (file,)).fetchone()
                kind, changed, above = _READ if has_text else _UNREADABLE, _distinct(state).changed, "[]"
                why = _NO_REASON if has_text else _scan(headings.path)
            values = (kind, changed, piece.unit, piece.next, piece.share, above, json.dumps(why.as_data()), file)
            self._connection.execute(update, values)
            if headings.title:
                title = "UPDATE file SET title = ? WHERE rank = ? AND title = ''"
                self._connection.execute(title, (storable(headings.title), file))

    def _write(
        self,
        rank: int,
        path: str,
        state: FileStat,
        kind: str,
        digest: bytes | None = None,
        reason: Translatable = _NO_REASON,
    ) -> int:
        """Note a file without its text; passages that were read before a fault stay. Return its rank."""
        insert = "INSERT INTO file (folder, path, size, changed, state, reason, hash) "
        insert += "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM folder WHERE rank = ?1)"  # removed
        update = "UPDATE file SET size = ?, changed = ?, state = ?, reason = ? "
        update += "WHERE folder = ? AND path = ? AND state = ?"
        why = json.dumps(reason.as_data())
        with _translate_errors(self.path), database.transaction(self._connection):
            if kind != _READING:
                state = _distinct(state)
                values = (*state, kind, why, rank, path, _READING)
                if self._connection.execute(update, values).rowcount:
                    return 0
            if self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path)).rowcount:
                erasing.add_order(self._connection)
            made = self._connection.execute(insert, (rank, path, *state, kind, why, digest))
            return made.lastrowid or 0 if made.rowcount else 0

    def _remove(self, rank: int, paths: Iterable[str]) -> None:
        with _translate_errors(self.path), database.transaction(self._connection):
            for path in paths:
                self._connection.execute("DELETE FROM file WHERE folder = ? AND path = ?", (rank, path))
                erasing.add_order(self._connection)

    def _note_unreadable(self, rank: int, listing: Listing) -> None:
        """Name the folders that cannot be listed like the files that cannot be read."""
        insert = (
            "INSERT OR IGNORE INTO file (folder, path, size, changed, state, reason) SELECT ?1, ?2, -1, -1, ?3, ?4 "
        )
        insert += "WHERE EXISTS (SELECT 1 FROM folder WHERE rank = ?1)"  # removed meanwhile
        with _translate_errors(self.path), database.transaction(self._connection):
            rows = [(rank, path, _UNREADABLE, json.dumps(why.as_data())) for path, why in listing.unreadable.items()]
            self._connection.executemany(insert, rows)

    def _follow_model(self, name: str) -> None:
        """Delete the vectors of any other model."""
        if self._model() != name:
            with database.transaction(self._connection):
                self._connection.execute("DELETE FROM vectors")
                self._connection.execute("REPLACE INTO memo VALUES (?, ?)", (_MODEL, name))

    def _model(self) -> str:
        row = self._connection.execute("SELECT value FROM memo WHERE name = ?", (_MODEL,)).fetchone()
        return str(row[0]) if row else ""


def _vectors_of(embedder: Embedder, texts: tuple[str, ...]) -> Sequence[bytes]:
    """Return the vectors of questions on other subjects, which are computed once for a model."""
    key = embedder.name, texts
    if key not in _others:
        _others[key] = embedder.embed(texts, are_questions=True)
    return _others[key]


_others: dict[tuple[str, tuple[str, ...]], Sequence[bytes]] = {}


def windows(text: str) -> list[str]:
    """Return overlapping parts of a passage, each for one vector: one vector says too little about 1,200 bytes."""
    pieces = cut(text, WINDOW // 2)
    return [text[first[0] : second[1]] for first, second in pairwise(pieces)] or [text]


def forget(folder: Path) -> None:
    """Delete the index beside the history in `folder`. It must not be open."""
    for suffix in ("", "-journal", *database.SIDE_FILES):
        (folder / f"{FOLDERS_NAME}{suffix}").unlink(missing_ok=True)
    (folder / _DAMAGED).unlink(missing_ok=True)


def _passages(piece: FileSection, headings: "_Headings") -> Iterator[tuple[int, str, str]]:
    """Yield the passages of a piece, each with its page or line and its headings."""
    headings.begin(piece)
    line, counted = piece.place, 0
    for start, end in cut(piece.text):
        line += piece.text.count("\n", counted, start)
        counted = start
        place = piece.place if piece.unit is Unit.PAGE else line
        yield place, headings.above(start), piece.text[start:end]
    headings.above(len(piece.text))


def _scan(path: str) -> Translatable:
    return Translatable(
        "{name} holds no text; if it is a scan, get PP-OCRv6 on the page of models: it reads text in pictures.",
        name=PurePosixPath(path).name,
    )


class _Headings:
    """The headings of a text, found while it is read, in the notation of its kind of file."""

    def __init__(self, path: str, above: str = "[]") -> None:
        """`above`: what `to_json` returned for the text so far."""
        self.path = path
        self._has_marks = PurePosixPath(path).suffix.lower() in (".md", ".markdown")
        self._is_prose = self._has_marks or PurePosixPath(path).suffix.lower() in (".txt", ".rst", ".adoc", "")
        self._is_table = path.lower().endswith(TABLE_ENDINGS)
        self._open: list[tuple[int, str]] = [(level, words) for level, words in json.loads(above)]  # those that hold
        self._coming: list[tuple[int, int, str]] = []  # with their places, of this piece
        self.title = ""

    def begin(self, piece: FileSection) -> None:
        """Find the headings of a piece."""
        self._coming = []
        if self._has_marks or piece.unit is Unit.NONE:
            found = _MARKED.finditer(piece.text)
            self._coming = [(match.start(), len(match["marks"]), match["words"].strip()) for match in found]
        if piece.unit is Unit.NONE:  # the first row of a sheet has the names of its columns
            heads = HEAD_OF_SHEET.finditer(piece.text)
            self._coming += [(match.start("columns"), _LEVEL_OF_COLUMNS, match["columns"]) for match in heads]
            self._coming.sort()
        if self._is_table and piece.place == 1:
            self._coming = [(0, _LEVEL_OF_COLUMNS, piece.text.partition("\n")[0])]
        if self._is_prose:
            for match in _UNDERLINED.finditer(piece.text):
                self._coming.append((match.start(), 1 + _LINES.find(match["line"][0]), match["words"].strip()))
            for match in _ALONE.finditer(piece.text):
                self._coming.append((match.start("words"), 2, match["words"].strip()))
            self._coming.sort()
        if not self.title and self._coming and piece.place == 1 and not self._is_table:
            self.title = self._coming[0][2]

    def above(self, place: int) -> str:
        """Return the headings that hold at a place, which lies behind the last one asked for."""
        while self._coming and self._coming[0][0] <= place:
            _, level, words = self._coming.pop(0)
            self._open = [*(each for each in self._open if each[0] < level), (level, words[:_MAX_HEADING])]
        return BETWEEN_HEADINGS.join(words for _, words in self._open)

    def to_json(self) -> str:
        """Return the headings that hold at the end of what was read."""
        return json.dumps(self._open)


_MAX_HEADING = 200  # characters
_LEVEL_OF_COLUMNS = 7  # below all headings
_LINES = "=*-~^"  # that stand under headings, the highest level first
_MARKED = re.compile(r"^(?P<marks>#{1,6})[ \t]+(?P<words>\S.*?)[ \t]*#*$", re.MULTILINE)
_UNDERLINED = re.compile(rf"^(?P<words>\S.{{0,98}}\S)\n(?P<line>[{_LINES}])(?P=line){{2,}}[ \t]*$", re.MULTILINE)
_CHAPTER, _CAPITAL_WORDS = r"第.{1,3}[章节][^\n]{0,40}", r"[^\W\d_a-z][^\Wa-z]*(?:[ ,'&-]+[^\Wa-z]+){0,6}"
_ALONE = re.compile(rf"(?:\A|\n[ \t]*\n)(?P<words>{_CHAPTER}|{_CAPITAL_WORDS})(?=\n[ \t]*\n)")


class _Work:
    """The amount of work of an update, by the bytes of files."""

    def __init__(self, size: int, files: int) -> None:
        self.files = files  # that are read
        self.share = 0.0  # of the file in progress
        self._size, self._done, self._started = size, 0, time.monotonic()

    def end_file(self, size: int) -> None:
        self.files += 1
        self.share = 0.0
        self._done += size

    def seconds_left(self, size: int = 0) -> float | None:
        """Return the time left while a file of this size is read; None before it can be known."""
        done, passed = self._done + self.share * size, time.monotonic() - self._started
        return passed * (self._size - done) / done if done and passed > _MIN_PASSED_S else None


_MIN_PASSED_S = 3.0


def _urgency(state: FileStat, *, is_begun: bool) -> tuple[bool, int]:
    """Return the place of a file in the order of reading: small and new ones first, then the others by size."""
    is_large = state.size > SMALL or is_begun
    return is_large, state.size if is_large else -state.changed


def _framed(text: str, heading: str, path: str) -> list[str]:
    """Return the windows of a passage, each with the name of its file and its headings."""
    frame = BETWEEN_HEADINGS.join(filter(None, (PurePosixPath(path).stem, heading)))
    return [f"{frame}\n{window}" for window in windows(text)]


def _connect(path: Path, key: Key | None) -> sqlite3.Connection:
    connection = database.connect(path, key)
    connection.create_function("name_words", 1, name_words, deterministic=True)
    return connection


def name_words(name: str) -> str:
    """Return the name of a file as words for the index: those that are written together by capitals apart, too."""
    apart = _CAPITALS.sub(" ", name)
    return search.words(name if apart == name else f"{name} {apart}")


_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _same(names: Iterable[str], rows: Mapping[str, sqlite3.Row], path: Path) -> str | None:
    """Return which of these names belongs to a file with the same content as the one at `path`."""
    try:
        digest = _hash(path)
    except OSError:
        return None
    return next((name for name in names if rows[name]["hash"] == digest and rows[name]["state"] != _READING), None)


def _suffix(path: str) -> str:
    """Return the ending of a name, which says how to read the file."""
    return PurePosixPath(path).suffix.lower()


def _distinct(state: FileStat) -> FileStat:
    """Return what is stored of a file, so that a change is seen.

    A file that was changed just now may be changed again without another time: it gets one that it cannot have, and the
    next update compares its content.
    """
    is_new = abs(time.time() - state.changed / 1e9) < MOMENT_S
    return state._replace(changed=state.changed - 1) if is_new else state


def _stat(path: Path) -> FileStat:
    return FileStat.of(path.stat())


def _hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=16)).digest()


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Context manager that turns errors of SQLite and the file system into HistoryError."""
    errors: tuple[type[Exception], ...] = (*database.sqlite_errors(), OSError)
    try:
        yield
    except errors as error:
        _log.warning("%s: %s", path, error)
        if isinstance(error, database.sqlite_errors()) and database.is_damage(error):
            with suppress(OSError):
                path.with_name(_DAMAGED).touch(mode=0o600)
        if isinstance(error, OSError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNWRITABLE:
            raise HistoryError(
                "The index of your projects' folders in {path} cannot be written ({reason}); it goes on by itself once "
                "there is room and you may write there, and nothing is lost.",
                path=path.parent,
                reason=getattr(error, "strerror", None) or error,
            ) from error
        raise HistoryError(
            "The index of your projects' folders cannot be used ({error}); start Headstart again: it is made anew if "
            "it is damaged, and nothing is lost.",
            error=error,
        ) from error
