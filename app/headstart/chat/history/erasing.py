"""Erasing of deleted texts: none of their words can be found in the files of the history any more."""

# SQLite overwrites what is deleted, but the full-text index keeps deleted words until its parts are merged, cells that
# moved leave copies in their old pages, and the log of changes and the backups have their own. A memo says what is yet
# to be erased. It is written with the deletion and removed last, so the next start goes on after a crash.

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headstart.chat.history import backups, database
from headstart.chat.history.database import FILE_NAME, READ_AT_START, Key

MEMO = "erase"
_INDEXES = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'"


@dataclass(frozen=True)
class Order:
    """An order to erase texts that were deleted."""

    memo: str  # the order as JSON
    since: float  # time of the last deletion
    chats: tuple[str, ...] = ()  # ids, to be erased from the backups, too
    forgets_damaged: bool = False  # damaged histories that were put aside are deleted, whatever their age


def add_order(connection: sqlite3.Connection, chats: Iterable[str] = (), *, forgets_damaged: bool = False) -> None:
    """Record, in the current transaction, that the texts it deletes must be erased."""
    before = _order(connection) or Order("", 0.0)
    order = {
        "since": time.time(),
        "chats": sorted({*before.chats, *chats}),
        "forgets_damaged": forgets_damaged or before.forgets_damaged,
    }
    connection.execute("REPLACE INTO memo VALUES (?, ?)", (MEMO, json.dumps(order)))


def erase(folder: Path, key: Key | None, quiet_seconds: float = 0.0) -> bool:
    """Erase the texts of all orders, and return whether all is done.

    With `quiet_seconds`, wait for another call if others would notice: something was deleted just now, an answer is
    being written, or the history is large. Always wait for other connections that read.
    """
    path = folder / FILE_NAME
    with database.translate_errors(path), closing(database.connect(path, key)) as connection:
        order = _order(connection)
        if order and quiet_seconds and not _can_pause(connection, path, order, quiet_seconds):
            return False
        return all(erase_in_steps(connection, folder, key))


def erase_in_steps(connection: sqlite3.Connection, folder: Path, key: Key | None) -> Iterator[bool]:
    """Erase step by step; the last one yields whether all is done. It can be cut off anywhere, and begun again."""
    order = _order(connection)
    if order is None:
        return
    yield from _rewrite(connection)
    for backup in backups.list_backups(folder) if order.chats else ():
        _erase_from_backup(backup, order.chats, key)
        yield True
    if order.chats:
        backups.forget_damaged(folder, 0.0 if order.forgets_damaged else backups.KEEP_DAMAGED)
        yield True
    is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if is_busy:
        yield False
        return
    # Unless more was deleted meanwhile.
    connection.execute("DELETE FROM memo WHERE name = ? AND value = ?", (MEMO, order.memo))
    yield True


def _can_pause(connection: sqlite3.Connection, path: Path, order: Order, seconds: float) -> bool:
    """Return whether saving can be blocked unnoticed while the file is rewritten, which takes 1 s for 100 MB."""
    is_recent = 0.0 <= time.time() - order.since < seconds
    is_answering = connection.execute("SELECT 1 FROM message WHERE state = 'streaming'").fetchone()
    return not is_recent and not is_answering and path.stat().st_size <= READ_AT_START


def _rewrite(connection: sqlite3.Connection) -> Iterator[bool]:
    """Merge the full-text indexes, and rewrite the whole file."""
    for (name,) in connection.execute(_INDEXES).fetchall():
        connection.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')  # noqa: S608
        yield True
    connection.execute("VACUUM")
    yield True


def _erase_from_backup(backup: backups.Backup, chats: Iterable[str], key: Key | None) -> None:
    """Erase chats from a backup, or delete it if it is damaged."""
    times = backup.path.stat()
    try:
        with closing(database.open_file(backup.path, key)) as connection:
            database.add_functions(connection)
            for pragma in ("foreign_keys = ON", "secure_delete = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {pragma}")
            with database.transaction(connection):
                connection.executemany("DELETE FROM chat WHERE id = ?", [(chat,) for chat in chats])
            all(_rewrite(connection))
    except database.sqlite_errors() as error:
        if not database.is_damage(error):
            raise
        backup.path.unlink()
    else:
        os.utime(backup.path, ns=(times.st_atime_ns, times.st_mtime_ns))  # it is as old as before


def _order(connection: sqlite3.Connection) -> Order | None:
    row = connection.execute("SELECT value FROM memo WHERE name = ?", (MEMO,)).fetchone()
    if row is None:
        return None
    value = json.loads(row[0])
    return Order(row[0], value["since"], tuple(value["chats"]), value["forgets_damaged"])
