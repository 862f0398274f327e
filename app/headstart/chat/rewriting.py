"""A whole database as another file, encrypted with another key or with none, compared row by row. Knows no chat."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path

from headstart.chat import cipher
from headstart.chat.cipher import Key
from headstart.chat.database import BUSY_SECONDS, SIDE_FILES, damaged
from headstart.errors import DamagedHistoryError

JOURNAL = "-journal"
_SCHEMA = "SELECT type, name, tbl_name, sql FROM {}.sqlite_schema ORDER BY type, name"
_TABLES = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"


@contextmanager
def alone(path: Path, key: Key | None) -> Iterator[sqlite3.Connection]:
    """A connection beside which there is no other, and no side files; what is in it is in the file itself.

    Raises sqlite3.Error where another program uses the file.
    """
    with closing(cipher.connect(path, key, BUSY_SECONDS)) as connection:
        connection.row_factory = None
        # A log of writes left beside the file would be taken for one of the file that replaces it.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the lock outlasts the transaction
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


def rewrite(connection: sqlite3.Connection, path: Path, key: Key | None) -> None:
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


def remove(path: Path) -> None:
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
        raise DamagedHistoryError(damaged(path, f"{faults} {differing}"))


def _has_same_rows(connection: sqlite3.Connection, table: str) -> bool:
    old, new = (connection.execute(f'SELECT * FROM {name}."{table}"') for name in ("main", "other"))  # noqa: S608
    return all(one == other for one, other in zip_longest(old, new))


def _sync(path: Path) -> None:
    """On Windows only a descriptor that may write does this."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
