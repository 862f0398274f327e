"""Whether a history is encrypted, and the ways into it, out of it and to another passphrase. Knows no chat."""

# A change writes a second file beside the history and puts it in its place with one rename. What the history is, its
# own first bytes say; so a kill at any moment leaves one whole history, from before or after. A mark lies there
# meanwhile: the next start then removes what is left of the other kind.

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from headstart.chat import backups, cipher, key_file, rewriting
from headstart.chat.cipher import Key
from headstart.chat.database import BUSY_SECONDS, FILE_NAME, explained
from headstart.errors import LockedHistoryError

MARK = "history.changing"
UNFINISHED = "history.rewritten"
_PLAIN_BEGINNING = b"SQLite format 3\0"
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
    cipher.require()
    if key is None:
        raise LockedHistoryError(
            f"The chat history in {folder} is encrypted; open it in the window, with its passphrase."
        )
    return key


def unlock(folder: Path, passphrase: str) -> Key:
    """The key for `open_store`; a key file that is damaged or gone is made again from its copy.

    Raises WrongPassphraseError, and HistoryError where neither can be read.
    """
    cipher.require()
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
    cipher.require()
    assert not is_encrypted(folder)
    key_file.require_long(passphrase)
    key = key_file.new_key()
    try:
        with explained(folder / FILE_NAME), rewriting.alone(folder / FILE_NAME, None) as connection:
            key_file.write_durably(folder / MARK, _TO_ENCRYPTED)
            key_file.lock(_key_files(folder)[0], key, passphrase)
            _replace(connection, folder, key)
    finally:
        settle(folder)
    return key


def decrypt(folder: Path, passphrase: str) -> None:
    """Write the history, which must not be open, as anybody can read it; its backups are removed with its key.

    Raises HistoryError; the history is then as it was.
    """
    settle(folder)
    assert is_encrypted(folder)
    key = unlock(folder, passphrase)
    try:
        with explained(folder / FILE_NAME), rewriting.alone(folder / FILE_NAME, key) as connection:
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
        rewriting.remove(folder / UNFINISHED)
        if is_plain:
            for path in _key_files(folder):
                path.unlink(missing_ok=True)
        key_file.sync_folder(folder)  # the mark goes last
        mark.unlink(missing_ok=True)


def _replace(connection: sqlite3.Connection, folder: Path, key: Key | None) -> None:
    rewriting.rewrite(connection, folder / UNFINISHED, key)
    if sys.platform == "win32":
        connection.close()  # no file is replaced there while it is open; elsewhere nobody gets in between
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
