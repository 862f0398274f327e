"""Whether a history is encrypted, and the ways into it, out of it and to another passphrase."""

# A change writes a second file beside the history and puts it in its place with one rename. What the history is, its
# own first bytes say; so a kill at any moment leaves one whole history, from before or after. A mark lies there
# meanwhile: the next start then removes what is left of the other kind.

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path

from headstart.chat import backups, key_file
from headstart.chat.database import (
    BUSY_SECONDS,
    FILE_NAME,
    SIDE_FILES,
    Key,
    connect_with_cipher,
    damaged,
    explained,
    require_cipher,
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
    """Whether a passphrase is needed to open the history in this folder.

    Not while this process has it open: to close a file gives up the locks that SQLite has on it (a store has a `key`).
    """
    return any(path.exists() for path in _key_files(folder)) and not _is_plain(folder / FILE_NAME)


def require_key(folder: Path, key: Key | None) -> Key | None:
    """The key, or None where none is needed. Raises LockedHistoryError where it is missing."""
    if not is_encrypted(folder):
        return None
    require_cipher()
    if key is None:
        raise LockedHistoryError(
            "The chat history in {folder} is encrypted; open it in the window, with its passphrase.", folder=folder
        )
    return key


def unlock(folder: Path, passphrase: str) -> Key:
    """The key for `open_store`; a key file that is damaged or gone is made again from its copy.

    Raises WrongPassphraseError, and HistoryError where neither can be read.
    """
    require_cipher()
    first, copy = _key_files(folder)
    with explained(folder / FILE_NAME):
        found = first if key_file.is_sound(first) or not key_file.is_sound(copy) else copy
        key = key_file.unlock(found, passphrase)
        for path in (first, copy):
            key_file.copy(found, path)
    return key


def change_passphrase(folder: Path, old: str, new: str) -> None:
    """Lock the same key with another passphrase; the history and its backups stay as they are, and may be open."""
    key = unlock(folder, old)
    first, copy = _key_files(folder)
    with explained(folder / FILE_NAME):
        key_file.lock(first, key, new)
        key_file.copy(first, copy)


def encrypt(folder: Path, passphrase: str) -> Key:
    """Encrypt the history, which must not be open, and remove all backups and files put aside: they are not encrypted.

    Raises HistoryError; the history is then as it was.
    """
    settle(folder)
    require_cipher()
    assert not is_encrypted(folder)
    key_file.require_long(passphrase)
    key = key_file.new_key()
    try:
        with explained(folder / FILE_NAME), _alone(folder / FILE_NAME, None) as connection:
            key_file.write_durably(folder / MARK, _TO_ENCRYPTED)
            key_file.lock(_key_files(folder)[0], key, passphrase)
            _replace(connection, folder, key)
    finally:
        settle(folder)
    return key


def decrypt(folder: Path, passphrase: str) -> None:
    """Decrypt the history, which must not be open; its backups are removed with its key.

    Raises HistoryError; the history is then as it was.
    """
    settle(folder)
    assert is_encrypted(folder)
    key = unlock(folder, passphrase)
    try:
        with explained(folder / FILE_NAME), _alone(folder / FILE_NAME, key) as connection:
            key_file.write_durably(folder / MARK, _TO_PLAIN)
            _replace(connection, folder, None)
    finally:
        settle(folder)


def settle(folder: Path) -> None:
    """Finish or undo a change that was cut off. Raises HistoryError where another program is at one."""
    mark = folder / MARK
    if not mark.exists():
        return
    with (
        explained(folder / FILE_NAME),
        closing(sqlite3.connect(folder / FILE_NAME, timeout=BUSY_SECONDS, isolation_level=None)) as guard,
    ):
        is_plain = _is_taken(guard)
        if mark.read_text(encoding="ascii") == (_TO_PLAIN if is_plain else _TO_ENCRYPTED):
            backups.forget(folder)
        _remove(folder / UNFINISHED)
        if is_plain:
            for path in _key_files(folder):
                path.unlink(missing_ok=True)
        key_file.sync_folder(folder)  # the mark goes last
        mark.unlink(missing_ok=True)


def _replace(connection: sqlite3.Connection, folder: Path, key: Key | None) -> None:
    _rewrite(connection, folder / UNFINISHED, key)
    if sys.platform == "win32":
        connection.close()  # Windows replaces no open file; elsewhere the lock is kept until the end
    (folder / UNFINISHED).replace(folder / FILE_NAME)
    key_file.sync_folder(folder)


def _is_taken(guard: sqlite3.Connection) -> bool:
    """Nobody else writes from now on: True. False for an encrypted file, of which this connection reads nothing."""
    try:
        guard.execute("BEGIN IMMEDIATE")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        return False
    return True


def _is_plain(path: Path) -> bool:
    with explained(path):
        try:
            with path.open("rb") as file:
                return file.read(len(_PLAIN_BEGINNING)) == _PLAIN_BEGINNING
        except FileNotFoundError:
            return False


def _key_files(folder: Path) -> tuple[Path, Path]:
    """The second lies with the backups, which are worth nothing without it."""
    return folder / key_file.FILE_NAME, backups.home(folder) / key_file.FILE_NAME


@contextmanager
def _alone(path: Path, key: Key | None) -> Iterator[sqlite3.Connection]:
    """A connection beside which there is no other, and no side files; what is in it is in the file itself.

    Raises sqlite3.Error where another program uses the file.
    """
    with closing(connect_with_cipher(path, key)) as connection:
        connection.row_factory = None
        # A log of writes left beside the file would be taken for one of the file that replaces it.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the lock outlasts the transaction
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


def _rewrite(connection: sqlite3.Connection, path: Path, key: Key | None) -> None:
    """Write what the only connection to a database sees to a new file, which is then on the disk and checked.

    Raises DamagedHistoryError where the new file is not the same, and sqlite3.Error.
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


def _remove(path: Path) -> None:
    """A database with what may lie beside it."""
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
    """On Windows only a descriptor that may write does this."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
