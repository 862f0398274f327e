"""One SQLite connection to the history: how it is opened, and what its faults mean to a person. Knows no chat."""

import contextlib
import json
import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from headstart import own_folder
from headstart.chat import cipher, rows, search
from headstart.chat.cipher import Key
from headstart.errors import DamagedHistoryError, HistoryError

FILE_NAME = "history.db"
SIDE_FILES = ("-wal", "-shm")  # names that SQLite appends
INDEX_FAULT = "index-is-damaged"  # a file that asks the next start to make the full-text index again
DAMAGE = "history-is-damaged"  # a file that has the next start read the whole history
READ_AT_START = 64 * 2**20  # bytes: a larger history is read through later, beside the window (`backups.keep_up`)
BUSY_SECONDS = 5.0
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # with WAL a power cut may lose the last writes, never the file
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = FAST",  # what a person deletes is overwritten, where that costs no extra write
    "PRAGMA temp_store = MEMORY",
    # Bringing the log of changes into the file waits for the disk, so that is done beside the window (`settle`). At
    # this length, 64 MB, it is done all the same.
    "PRAGMA wal_autocheckpoint = 16000",
)

_log = logging.getLogger(__name__)


def bare(path: Path, key: Key | None) -> sqlite3.Connection:
    """A connection to a file of either kind that changes nothing by itself. Transactions are the caller's."""
    if key:
        return cipher.connect(path, key, BUSY_SECONDS)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def connect(path: Path, key: Key | None = None) -> sqlite3.Connection:
    """A connection for the calling thread; makes the file, for its owner alone. Transactions are the caller's."""
    _make_private(path)
    connection = bare(path, key)
    try:
        connection.create_function("words", 1, search.words, deterministic=True)
        connection.create_function("attached", 1, rows.attached_text, deterministic=True)
        connection.create_function("holds", 2, search.holds, deterministic=True)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except cipher.errors():
        connection.close()
        raise
    return connection


def settle(path: Path, key: Key | None) -> None:
    """Bring the log of changes into the file; in a thread of its own, for the disk takes its time. Hinders nobody."""
    with explained(path), closing(bare(path, key)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def require_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Read the whole file once. Raises DamagedHistoryError with the first fault found."""
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        _note_damage(path)
        raise DamagedHistoryError(damaged(path, str(found)))
    path.with_name(DAMAGE).unlink(missing_ok=True)


def is_read_at_start(path: Path) -> bool:
    """Whether the check may take its time: of a large history only where something was wrong with it."""
    return path.stat().st_size <= READ_AT_START or path.with_name(DAMAGE).exists()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns what SQLite and the file system raise into HistoryError and DamagedHistoryError."""
    try:
        yield
    except cipher.errors() as error:
        _log.warning("%s: %s (%s)", path, error, getattr(error, "sqlite_errorname", "no code"))
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
            path.with_name(INDEX_FAULT).touch()
        elif getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            _note_damage(path)
        raise _explanation(path, error) from error
    except (json.JSONDecodeError, msgspec.DecodeError) as error:
        # In a row: damage that the check of the file's structure cannot see.
        raise DamagedHistoryError(damaged(path, str(error))) from error
    except OSError as error:
        _log.warning("%s: %s", path, error)
        reason = error.strerror or str(error)
        raise HistoryError(f"The chat history in {path.parent} cannot be used ({reason}); {_MAKE_WRITABLE}") from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing of it is saved."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def damaged(path: Path, reason: str) -> str:
    """The sentence for a broken file; `headstart.chat.backups` knows what it can be replaced by."""
    fault = " ".join(reason.split())[:200]
    return f"The chat history {path} is damaged ({fault}): restore a backup; the damaged file is kept beside it."


def _note_damage(path: Path) -> None:
    if path.name == FILE_NAME:  # and no backup, of which there are others
        with contextlib.suppress(OSError):
            path.with_name(DAMAGE).touch(mode=0o600)


_MAKE_WRITABLE = "make the folder readable and writable for you, then try again."


def _make_private(path: Path) -> None:
    own_folder.make(path.parent)
    if not path.exists():
        # SQLite gives its side files the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if path.parent.stat().st_mode & 0o077:
        path.parent.chmod(0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    # Made while the file was read-only, they would stay so when it no longer is.
    for side in (path.with_name(path.name + suffix) for suffix in SIDE_FILES):
        if side.exists() and os.access(path, os.W_OK) and not os.access(side, os.W_OK):
            side.chmod(0o600)


def _explanation(path: Path, error: sqlite3.Error) -> HistoryError:
    whole = getattr(error, "sqlite_errorcode", 0)
    code = whole & 0xFF
    if whole == sqlite3.SQLITE_CORRUPT_VTAB:
        return HistoryError(
            "The index of the search is damaged; start Headstart again to have it made anew: no chat is lost."
        )
    if code in _DAMAGE:
        return DamagedHistoryError(damaged(path, str(error)))
    if code == sqlite3.SQLITE_FULL:
        return HistoryError(
            f"The disk is full, so the last change was not saved in {path}; free some space and try again: "
            "everything saved before is still there."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return HistoryError(f"The chat history in {path.parent} cannot be written; {_MAKE_WRITABLE}")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return HistoryError(f"Another program is using the chat history {path}; close it and try again.")
    return HistoryError(f"The chat history {path} could not be used ({error}); try again, then restart the program.")
