"""Backups of the history: made daily and before a migration, restored in place of a damaged file."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headstart.chat.database import (
    FILE_NAME,
    READ_AT_START,
    SIDE_FILES,
    Key,
    bare,
    connect,
    explained,
    require_sound,
    sqlite_errors,
)
from headstart.errors import DamagedHistoryError

KEPT, KEPT_OF_LARGE = 5, 2
DAY = 24 * 3600.0
_PAGES, _STEPS = 1000, 100_000  # copied, and gone through, between two looks at whether that is still wanted


@dataclass(frozen=True)
class Backup:
    """One copy, whole and unchanged since."""

    path: Path
    created: float  # seconds since 1970


def home(folder: Path) -> Path:
    """The folder of the copies of this history folder."""
    return folder / "backups"


def list_backups(folder: Path) -> tuple[Backup, ...]:
    """Those of this history folder, newest first."""
    found = [Backup(path, path.stat().st_mtime) for path in home(folder).glob("*.db")]
    return tuple(sorted(found, key=lambda backup: backup.created, reverse=True))


class GivenUpError(Exception):
    """The copy is not wanted any more."""


def keep_up(folder: Path, key: Key | None, is_wanted: Callable[[], bool] = lambda: True) -> Backup | None:
    """Read a large history through and copy it, if the newest copy is older than a day, in a thread of its own.

    Ends early, with None, when it is not wanted any more. Raises HistoryError, and DamagedHistoryError before anything
    is copied.
    """
    path = folder / FILE_NAME
    with explained(path), closing(connect(path, key)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(lambda: int(not is_wanted()), _STEPS)
        connection.execute("BEGIN")  # without it, every write meanwhile would restart the copy
        try:
            if not is_due(folder) or not connection.execute("SELECT EXISTS (SELECT 1 FROM chat)").fetchone()[0]:
                return None
            if path.stat().st_size > READ_AT_START:
                require_sound(connection, path)
            return back_up(connection, folder, "daily", key, is_wanted)
        except GivenUpError:
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
    """Copy the database as it is now, encrypted with its key if it has one, and drop all but the newest few copies.

    Raises GivenUpError when it is not wanted any more.
    """
    copies = home(folder)
    copies.mkdir(mode=0o700, exist_ok=True)
    _sweep(copies)
    path = copies / f"{_stamp()}-{label}.db"
    unfinished = path.with_suffix(".new")
    unfinished.touch(mode=0o600)
    try:
        _copy(connection, unfinished, key, is_wanted)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    others = [backup for backup in list_backups(folder) if backup.path != path]
    kept = KEPT if path.stat().st_size <= READ_AT_START else KEPT_OF_LARGE
    for old in others[kept - 1 :]:  # never this one, however late a clock made the others
        old.path.unlink(missing_ok=True)
    return Backup(path, path.stat().st_mtime)


def _sweep(copies: Path) -> None:
    """Remove half a copy that a killed program left; a young one may still be at work in another thread."""
    for left in copies.glob("*.new*"):
        with suppress(FileNotFoundError):  # that other thread may have done with it
            if time.time() - left.stat().st_mtime > DAY:
                left.unlink()


def is_due(folder: Path) -> bool:
    """Whether no copy is of the last day; one of days to come is of a clock that was wrong."""
    now = time.time()
    return not any(0.0 <= now - backup.created <= DAY for backup in list_backups(folder))


def restore(folder: Path, backup: Backup | None, key: Key | None = None) -> Path:
    """Put the history aside and a backup in its place (None: an empty history); the path of what was put aside.

    The history must not be open; `key` is that of an encrypted one and of its backups. Raises HistoryError, and
    DamagedHistoryError for a backup that is broken too; then nothing was changed.
    """
    history = folder / FILE_NAME
    aside = folder / f"damaged-{_stamp()}.db"
    fresh = _sound_copy(backup, history, key) if backup else None
    with explained(history):
        for suffix in ("", *SIDE_FILES):
            part = history.with_name(history.name + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix))
        if fresh:
            fresh.replace(history)
    return aside


def forget(folder: Path) -> None:
    """Remove every copy, and every damaged history that was put aside."""
    for path in (*home(folder).glob("*.db*"), *home(folder).glob("*.new*"), *put_aside(folder)):
        path.unlink(missing_ok=True)


def put_aside(folder: Path) -> tuple[Path, ...]:
    """The damaged histories that something else has replaced, with their side files, and what was to replace them."""
    return tuple(folder.glob("damaged-*.db*")) + tuple(folder.glob("history.new*"))


def _sound_copy(backup: Backup, history: Path, key: Key | None) -> Path:
    unfinished = history.with_suffix(".new")
    with explained(backup.path), closing(bare(backup.path, key)) as source:
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
    def look(_status: int, _left: int, _pages: int) -> None:
        if is_wanted and not is_wanted():
            raise GivenUpError

    target = bare(path, key)
    try:
        source.backup(target, pages=_PAGES if is_wanted else -1, progress=look)
        # A copy is one file; in WAL mode even reading it would make side files.
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()


def _stamp() -> str:
    return datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
