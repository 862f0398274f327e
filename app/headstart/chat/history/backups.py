"""Backups of the history, which replace a damaged file.

They are made after the first chat, whenever the history has become twice as long, daily, and before a migration.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headstart.chat.history.database import (
    FILE_NAME,
    READ_AT_START,
    SIDE_FILES,
    Key,
    connect,
    open_file,
    require_sound,
    sqlite_errors,
    translate_errors,
)
from headstart.errors import DamagedHistoryError

MAX_COPIES, MAX_COPIES_OF_LARGE = 5, 2
DAY = 24 * 3600.0
KEEP_DAMAGED = 30 * DAY  # seconds for which a damaged history is kept beside the one that took its place
_GROWTH = 2  # times the size of the newest backup, at which the history gets another one
_PAGES, _STEPS = 1000, 100_000  # pages copied, and virtual machine steps run, between two checks for cancelling


@dataclass(frozen=True)
class Backup:
    """A complete copy of the history."""

    path: Path
    created: float  # seconds since 1970


def home(folder: Path) -> Path:
    """Return the folder of the backups of a history folder."""
    return folder / "backups"


def list_backups(folder: Path) -> tuple[Backup, ...]:
    """Return the backups of a history folder, newest first."""
    backups = [Backup(path, path.stat().st_mtime) for path in home(folder).glob("*.db")]
    return tuple(sorted(backups, key=lambda backup: backup.created, reverse=True))


class BackupCancelledError(Exception):
    """The copy was cancelled."""


def keep_up(folder: Path, key: Key | None, is_wanted: Callable[[], bool] = lambda: True) -> Backup | None:
    """Check a large history and copy it, if a backup is due. Call it in a thread of its own.

    Return None if nothing is copied, or `is_wanted` returned False. Raises HistoryError, and DamagedHistoryError before
    anything is copied.
    """
    path = folder / FILE_NAME
    with translate_errors(path), closing(connect(path, key)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: int(not is_wanted()), _STEPS)
        connection.execute("BEGIN")  # without it, every write by others would restart the copy
        try:
            if not is_due(folder) or not connection.execute("SELECT EXISTS (SELECT 1 FROM chat)").fetchone()[0]:
                return None
            if path.stat().st_size > READ_AT_START:
                require_sound(connection, path)
            return back_up(connection, folder, "daily", key, is_wanted)
        except BackupCancelledError:
            return None
        except sqlite_errors():
            if is_wanted():
                raise
            return None


def back_up(
    connection: sqlite3.Connection,
    folder: Path,
    label: str,
    key: Key | None = None,
    is_wanted: Callable[[], bool] | None = None,
) -> Backup:
    """Copy the database, encrypted with its key if it has one, and remove all but the newest copies.

    Raises BackupCancelledError when `is_wanted` returns False.
    """
    copies = home(folder)
    copies.mkdir(mode=0o700, exist_ok=True)
    _remove_leftovers(copies)
    path = copies / f"{_stamp()}-{label}.db"
    unfinished = path.with_suffix(".new")
    unfinished.touch(mode=0o600)
    try:
        _copy(connection, unfinished, key, is_wanted)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    others = [backup for backup in list_backups(folder) if backup.path != path]
    max_copies = MAX_COPIES if path.stat().st_size <= READ_AT_START else MAX_COPIES_OF_LARGE
    for old in others[max_copies - 1 :]:  # never this one, even if a wrong clock made the others later
        old.path.unlink(missing_ok=True)
    return Backup(path, path.stat().st_mtime)


def _remove_leftovers(copies: Path) -> None:
    """Remove copies that a killed program left unfinished. A recent one may be in progress in another thread."""
    for leftover in copies.glob("*.new*"):
        with suppress(FileNotFoundError):  # the other thread may have finished
            if time.time() - leftover.stat().st_mtime > DAY:
                leftover.unlink()


def is_due(folder: Path) -> bool:
    """Return whether the last day has no backup, or none with half of the history.

    A backup from the future is ignored: the clock was wrong.
    """
    now, size = time.time(), (folder / FILE_NAME).stat().st_size
    recent = (backup.path for backup in list_backups(folder) if 0.0 <= now - backup.created <= DAY)
    return not any(size <= _GROWTH * path.stat().st_size for path in recent)


def restore(folder: Path, backup: Backup | None, key: Key | None = None) -> Path:
    """Put the history aside and a backup in its place (None: an empty history). Return the path of the old history.

    The history must not be open; `key` opens an encrypted history and its backups. Raises HistoryError, and
    DamagedHistoryError for a backup that is damaged, too; then nothing is changed.
    """
    fresh = _copy_if_sound(backup, folder / FILE_NAME, key) if backup else None
    return replace(folder, fresh)


def replace(folder: Path, fresh: Path | None) -> Path:
    """Put the history aside and a new file in its place (None: an empty history). Return the path of the old history.

    The history must not be open. Raises HistoryError.
    """
    history = folder / FILE_NAME
    aside = folder / f"damaged-{_stamp()}.db"
    with translate_errors(history):
        for suffix in ("", *SIDE_FILES):
            part = history.with_name(history.name + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix)).touch()  # it is kept from now on
        if fresh:
            fresh.replace(history)
    return aside


def forget(folder: Path) -> None:
    """Remove all backups, and all damaged histories that were put aside."""
    for path in (*home(folder).glob("*.db*"), *home(folder).glob("*.new*"), *replaced_files(folder)):
        path.unlink(missing_ok=True)


def forget_damaged(folder: Path, older_than: float) -> None:
    """Remove the damaged histories that were put aside `older_than` seconds ago."""
    for path in folder.glob("damaged-*.db*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime >= older_than:
                path.unlink()


def replaced_files(folder: Path) -> tuple[Path, ...]:
    """Return the damaged histories that were put aside, their side files, and unfinished replacements."""
    return tuple(folder.glob("damaged-*.db*")) + tuple(folder.glob("history.new*"))


def _copy_if_sound(backup: Backup, history: Path, key: Key | None) -> Path:
    unfinished = history.with_suffix(".new")
    with translate_errors(backup.path), closing(open_file(backup.path, key)) as source:
        unfinished.touch(mode=0o600)
        broken: tuple[type[Exception], ...] = (*sqlite_errors(), DamagedHistoryError)
        try:
            require_sound(source, backup.path)
            _copy(source, unfinished, key)
        except broken:
            unfinished.unlink()
            raise
    return unfinished


def _copy(source: sqlite3.Connection, path: Path, key: Key | None, is_wanted: Callable[[], bool] | None = None) -> None:
    def check(_status: int, _left: int, _pages: int) -> None:
        if is_wanted and not is_wanted():
            raise BackupCancelledError

    target = open_file(path, key)
    try:
        source.backup(target, pages=_PAGES if is_wanted else -1, progress=check)
        # A copy is one file; in WAL mode even reading it would create side files.
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()


def _stamp() -> str:
    return datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
