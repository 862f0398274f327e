"""SQLCipher: SQLite whose files are encrypted, where its package is installed. Knows no passphrase and no chat."""

# The whole file rather than the texts in it: titles, drafts, attachments and above all the words of the search index
# are then encrypted with it, and the search stays what it is.

import importlib.util
import sqlite3
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import cast

from headstart.errors import HistoryError

_PACKAGES = ("sqlcipher3", "cryptography")
KEY_BYTES = 32


@dataclass(frozen=True)
class Key:
    """What a file is encrypted with; in no text made of it."""

    raw: bytes = field(repr=False)

    def __post_init__(self) -> None:
        assert len(self.raw) == KEY_BYTES

    @property
    def literal(self) -> str:
        """As SQLCipher takes a key that is used as it is."""
        return f"x'{self.raw.hex()}'"


def is_installed() -> bool:
    """Whether histories can be encrypted and such ones opened here."""
    return all(importlib.util.find_spec(name) for name in _PACKAGES)


def require() -> None:
    """Raises HistoryError with the remedy where it is not installed."""
    if not is_installed():
        raise HistoryError(
            f"Encrypted chat histories need packages that are not installed: pip install {' '.join(_PACKAGES)}, then "
            "start Headstart again."
        )


def connect(path: Path, key: Key | None, timeout: float) -> sqlite3.Connection:
    """A connection to an encrypted file, or by this library to a plain one. Transactions are the caller's."""
    require()
    # The package has no types; its connections, rows and errors are made and named like those of sqlite3.
    connection = cast("sqlite3.Connection", _library().connect(path, timeout=timeout, isolation_level=None))
    connection.execute("PRAGMA cipher_log_level = NONE")  # else it writes to the terminal what is raised anyway
    if key:
        connection.execute(f'PRAGMA key = "{key.literal}"')
    connection.row_factory = _library().Row
    return connection


def errors() -> tuple[type[sqlite3.Error], ...]:
    """What SQLite raises here: SQLCipher's package has classes of its own, and may never have been needed."""
    library = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error, library.Error) if library else (sqlite3.Error,)


def _library() -> ModuleType:
    import sqlcipher3.dbapi2  # noqa: PLC0415 - most histories need none of it

    return cast("ModuleType", sqlcipher3.dbapi2)
