"""The encryption of a history: checking for it, encrypting, decrypting and changing the passphrase."""

# A change writes a second file beside the history and puts it in its place with one rename. The first bytes of the
# history say which kind it is, so a kill at any moment leaves one whole history, from before or after. A mark lies
# there meanwhile: the next start then removes the leftovers of the other kind.

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path

from headstart.chat.history import backups, key_file
from headstart.chat.history.database import (
    BUSY_SECONDS,
    FILE_NAME,
    FOLDERS_NAME,
    SIDE_FILES,
    Key,
    connect_with_cipher,
    damaged,
    require_cipher,
    translate_errors,
)
from headstart.errors import LockedHistoryError

MARK = "history.changing"
UNFINISHED = "history.rewritten"
_PLAIN_BEGINNING = b"SQLite format 3\0"
JOURNAL = "-journal"
_SCHEMA = "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema ORDER BY type, name"
_TABLES = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"
_TO_ENCRYPTED, _TO_PLAIN = "encrypted", "plain"


def is_encrypted(folder: Path) -> bool:
    """Return whether the history in this folder needs a passphrase.

    Do not call it while this process has the history open, because closing a file gives up the locks that SQLite has on
    it. An open store has a `key` instead.
    """
    return any(path.exists() for path in _key_files(folder)) and not _is_plain(folder / FILE_NAME)


def require_key(folder: Path, key: Key | None) -> Key | None:
    """Return the key, or None if none is needed. Raises LockedHistoryError if it is missing."""
    if not is_encrypted(folder):
        return None
    require_cipher()
    if key is None:
        raise LockedHistoryError(
            "The chat history in {folder} is encrypted; open it in the window, with its passphrase.", folder=folder
        )
    return key


def unlock(folder: Path, passphrase: str) -> Key:
    """Return the key for `open_store`. A key file that is damaged or gone is restored from its copy.

    Raises WrongPassphraseError, and HistoryError if neither file can be read.
    """
    require_cipher()
    first, copy = _key_files(folder)
    with translate_errors(folder / FILE_NAME):
        source = first if key_file.is_sound(first) or not key_file.is_sound(copy) else copy
        key = key_file.unlock(source, passphrase)
        for path in (first, copy):
            key_file.copy(source, path)
    return key


def change_passphrase(folder: Path, old: str, new: str) -> None:
    """Lock the same key with another passphrase. The history and its backups stay as they are, and may be open."""
    key = unlock(folder, old)
    first, copy = _key_files(folder)
    with translate_errors(folder / FILE_NAME):
        key_file.lock(first, key, new)
        key_file.copy(first, copy)


def encrypt(folder: Path, passphrase: str) -> Key:
    """Encrypt the history, which must not be open, and remove its backups and old files, which are not encrypted.

    Raises HistoryError; the history then stays as it was.
    """
    settle(folder)
    require_cipher()
    assert not is_encrypted(folder)
    key_file.require_long(passphrase)
    key = key_file.new_key()
    try:
        with translate_errors(folder / FILE_NAME), _exclusive_connection(folder / FILE_NAME, None) as connection:
            key_file.write_durably(folder / MARK, _TO_ENCRYPTED)
            key_file.lock(_key_files(folder)[0], key, passphrase)
            _replace(connection, folder, key)
    finally:
        settle(folder)
    return key


def decrypt(folder: Path, passphrase: str) -> None:
    """Decrypt the history, which must not be open, and remove its backups and its key.

    Raises HistoryError; the history then stays as it was.
    """
    settle(folder)
    assert is_encrypted(folder)
    key = unlock(folder, passphrase)
    try:
        with translate_errors(folder / FILE_NAME), _exclusive_connection(folder / FILE_NAME, key) as connection:
            key_file.write_durably(folder / MARK, _TO_PLAIN)
            _replace(connection, folder, None)
    finally:
        settle(folder)


def settle(folder: Path) -> None:
    """Finish or undo a change that was cut off. Raises HistoryError if another program is changing the history."""
    mark = folder / MARK
    if not mark.exists():
        return
    with (
        translate_errors(folder / FILE_NAME),
        closing(sqlite3.connect(folder / FILE_NAME, timeout=BUSY_SECONDS, isolation_level=None)) as guard,
    ):
        is_plain = _lock_plain(guard)
        if mark.read_text(encoding="ascii") == (_TO_PLAIN if is_plain else _TO_ENCRYPTED):
            backups.forget(folder)
        _remove_database(folder / UNFINISHED)
        _remove_database(folder / FOLDERS_NAME)  # made anew, as the history is
        if is_plain:
            for path in _key_files(folder):
                path.unlink(missing_ok=True)
        key_file.sync_folder(folder)  # the mark goes last
        mark.unlink(missing_ok=True)


def _replace(connection: sqlite3.Connection, folder: Path, key: Key | None) -> None:
    _rewrite(connection, folder / UNFINISHED, key)
    if sys.platform == "win32":
        connection.close()  # Windows cannot replace an open file; elsewhere the lock stays until the end
    (folder / UNFINISHED).replace(folder / FILE_NAME)
    key_file.sync_folder(folder)


def _lock_plain(guard: sqlite3.Connection) -> bool:
    """Lock a plain history against other writers and return True; return False for an encrypted one."""
    try:
        guard.execute("BEGIN IMMEDIATE")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        return False
    return True


def _is_plain(path: Path) -> bool:
    with translate_errors(path):
        try:
            with path.open("rb") as file:
                return file.read(len(_PLAIN_BEGINNING)) == _PLAIN_BEGINNING
        except FileNotFoundError:
            return False


def _key_files(folder: Path) -> tuple[Path, Path]:
    """Return the key file and its copy, which lies with the backups because they are useless without it."""
    return folder / key_file.FILE_NAME, backups.home(folder) / key_file.FILE_NAME


@contextmanager
def _exclusive_connection(path: Path, key: Key | None) -> Iterator[sqlite3.Connection]:
    """Context manager that gives the only connection to a history, without side files: everything is in the file.

    Raises sqlite3.Error if another program uses the file.
    """
    with closing(connect_with_cipher(path, key)) as connection:
        connection.row_factory = None
        # A log of writes beside the file would be taken for a log of the file that replaces it.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the lock outlasts the transaction
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


def _rewrite(connection: sqlite3.Connection, path: Path, key: Key | None) -> None:
    """Copy the database of a connection to a new file, and check the file on the disk.

    `connection` must be the only one. Raises DamagedHistoryError if the new file differs, and sqlite3.Error.
    """
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600))
    version = connection.execute("PRAGMA main.user_version").fetchone()[0]
    _attach(connection, path, key)
    connection.execute("SELECT sqlcipher_export('other')")
    connection.execute(f"PRAGMA other.user_version = {int(version)}")
    connection.execute("COMMIT")
    connection.execute("DETACH other")
    _sync(path)
    _attach(connection, path, key)
    _require_same(connection, path)
    connection.execute("DETACH other")


def _remove_database(path: Path) -> None:
    """Remove a database and its side files."""
    for suffix in ("", JOURNAL, *SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _attach(connection: sqlite3.Connection, path: Path, key: Key | None) -> None:
    connection.execute("ATTACH ? AS other KEY ?", (str(path), key.literal if key else ""))


def _require_same(connection: sqlite3.Connection, path: Path) -> None:
    faults = connection.execute("PRAGMA other.cipher_integrity_check").fetchall()
    faults += [row for row in connection.execute("PRAGMA other.quick_check(1)") if row[0] != "ok"]
    schemas = [connection.execute(_SCHEMA.format(name)).fetchall() for name in ("main", "other")]
    tables = [row[0] for row in connection.execute(_TABLES).fetchall()]
    differing = [table for table in tables if not _has_same_rows(connection, table)]
    if faults or schemas[0] != schemas[1] or differing:
        raise damaged(path, f"{faults} {differing}")


def _has_same_rows(connection: sqlite3.Connection, table: str) -> bool:
    old, new = (connection.execute(f'SELECT * FROM {name}."{table}"') for name in ("main", "other"))  # noqa: S608
    return all(one == other for one, other in zip_longest(old, new))


def _sync(path: Path) -> None:
    """Sync a file to the disk. Windows needs a descriptor with write access for it."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
