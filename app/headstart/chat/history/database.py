"""A connection to the history, encrypted or not, its rows, and its errors as sentences."""

import dataclasses
import importlib.util
import json
import logging
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import msgspec

from headstart import private_files
from headstart.chat import search
from headstart.chat.conversation import (
    Attachment,
    Chat,
    ChatMessage,
    Conversation,
    Excerpt,
    Passage,
    Role,
    Run,
    State,
    ToolCall,
    storable,
)
from headstart.errors import DamagedHistoryError, HistoryError, UnwritableHistoryError

FILE_NAME = "history.db"
FOLDERS_NAME = "folders.db"  # the index of the folders of projects
SIDE_FILES = ("-wal", "-shm")  # suffixes of SQLite's files
INDEX_FAULT = "index-is-damaged"  # a file that has the next start rebuild the full-text index
DAMAGE = "history-is-damaged"  # a file that has the next start check the whole history
READ_AT_START = 64 * 2**20  # a larger history is checked later, beside the window (`backups.keep_up`)
BUSY_SECONDS = 5.0
_PACKAGES = ("sqlcipher3", "cryptography")
KEY_BYTES = 32
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # with WAL a power cut may lose the last writes, never the file
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # overwrites deleted text
    "PRAGMA temp_store = MEMORY",
    # Copying the log of changes into the file waits for the disk, so it is done beside the window (`settle`). At this
    # length, 64 MB, SQLite does it anyway.
    "PRAGMA wal_autocheckpoint = 16000",
)

Value = str | float | int | None
_CALLS = msgspec.json.Decoder(tuple[ToolCall, ...])
_RUNS = msgspec.json.Decoder(tuple[Run, ...])  # a long chat has 100,000 runs, and this decoder is four times as fast
_PASSAGES = msgspec.json.Decoder(tuple[Passage, ...])
_EXCERPTS = msgspec.json.Decoder(tuple[Excerpt, ...])
_log = logging.getLogger(__name__)


# The whole file is encrypted instead of the texts in it. This includes titles, drafts, attachments and above all the
# words of the search index, and the search stays the same.
@dataclass(frozen=True)
class Key:
    """The key of an encrypted file. It does not appear in its repr."""

    raw: bytes = field(repr=False)

    def __post_init__(self) -> None:
        assert len(self.raw) == KEY_BYTES

    @property
    def literal(self) -> str:
        """The key in SQLCipher's syntax for a raw key."""
        return f"x'{self.raw.hex()}'"

    def derived(self, purpose: str, length: int) -> bytes:
        """Return a key for another purpose. It reveals nothing about this key or other derived keys."""
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - most histories are not encrypted
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

        return HKDF(SHA256(), length, salt=None, info=purpose.encode()).derive(self.raw)


def open_file(path: Path, key: Key | None) -> sqlite3.Connection:
    """Open a plain or an encrypted database without changing it. The caller begins and ends transactions."""
    if key:
        return connect_with_cipher(path, key)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def connect(path: Path, key: Key | None = None) -> sqlite3.Connection:
    """Open the history for the calling thread, and create it for its owner only. The caller does the transactions."""
    _make_private(path)
    connection = open_file(path, key)
    try:
        add_functions(connection)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except sqlite_errors():
        connection.close()
        raise
    return connection


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the functions that the schema and the search use."""
    connection.create_function("words", 1, search.words, deterministic=True)
    connection.create_function("attached", 1, attached_text, deterministic=True)
    connection.create_function("holds", 2, search.holds, deterministic=True)


def settle(path: Path, key: Key | None) -> None:
    """Checkpoint: write the write-ahead log into the database file. It is slow but blocks no others."""
    with translate_errors(path), closing(open_file(path, key)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def sync(path: Path) -> None:
    """Flush the write-ahead log to the disk, so that a power cut loses no change. It may take 0.1 s."""
    # SQLite locks the history itself and its index in memory, but never the log: closing this does no harm.
    with suppress(FileNotFoundError), path.with_name(path.name + SIDE_FILES[0]).open("r+b") as log:
        os.fsync(log.fileno())


def require_sound(connection: sqlite3.Connection, path: Path) -> None:
    """Read the whole file once, and every message if damage was seen. Raises DamagedHistoryError at the first fault."""
    was_seen = path.with_name(DAMAGE).exists()
    result = connection.execute(f"PRAGMA {'integrity' if was_seen else 'quick'}_check(1)").fetchone()[0]
    if (
        was_seen
        and result == "ok"
        and connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'message'").fetchone()
    ):
        for row in connection.execute("SELECT * FROM message"):
            read_message(
                {
                    **dict.fromkeys(("thinking", "searched"), ""),
                    **dict.fromkeys(("calls", "passages", "excerpts"), "[]"),
                    **dict(row),
                }
            )
    if result != "ok":
        _mark_damaged(path)
        raise damaged(path, str(result))
    path.with_name(DAMAGE).unlink(missing_ok=True)


def is_read_at_start(path: Path) -> bool:
    """Return whether to check the history at the start: a large one only if it was damaged before."""
    return path.stat().st_size <= READ_AT_START or path.with_name(DAMAGE).exists()


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Context manager that turns errors of SQLite and the file system into HistoryError and DamagedHistoryError."""
    try:
        yield
    except sqlite_errors() as error:
        code = getattr(error, "sqlite_errorname", "no code")
        _log.warning("%s: %s (%s)", path, "a text" if _is_no_text(error) else error, code)
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
            with suppress(OSError):
                path.with_name(INDEX_FAULT).touch()
        elif is_damage(error):
            _mark_damaged(path)
        raise _history_error(path, error) from error
    except (ValueError, msgspec.DecodeError) as error:
        # Damage in a row, which the check of the file's structure cannot see.
        _mark_damaged(path)
        raise damaged(path, str(error)) from error
    except OSError as error:
        _log.warning("%s: %s", path, error)
        raise _unusable(path, error.strerror or str(error)) from error


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that a file is damaged, or no history at all."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE or _is_no_text(error)


def _is_no_text(error: sqlite3.Error) -> bool:
    """Return whether a column is not text. The error quotes the column, which must not get into a log."""
    return str(error).startswith("Could not decode to UTF-8")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Context manager that saves all changes of its block, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def damaged(path: Path, reason: str) -> DamagedHistoryError:
    """Return the error of a damaged file. The log has the reason, which nobody else understands."""
    _log.warning("%s is damaged: %s", path, " ".join(reason.split())[:200])
    return DamagedHistoryError(
        "The chat history {path} is damaged; start Headstart again: it saves everything that can be read.", path=path
    )


def _mark_damaged(path: Path) -> None:
    if path.name == FILE_NAME:  # not a backup: there are others
        with suppress(OSError):
            path.with_name(DAMAGE).touch(mode=0o600)


def _make_private(path: Path) -> None:
    private_files.make(path.parent)
    if not path.exists():
        # SQLite gives its side files the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if path.parent.stat().st_mode & 0o077:
        path.parent.chmod(0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    # Files made while the history was read-only would stay read-only.
    for side in (path.with_name(path.name + suffix) for suffix in SIDE_FILES):
        if side.exists() and os.access(path, os.W_OK) and not os.access(side, os.W_OK):
            side.chmod(0o600)


def _history_error(path: Path, error: sqlite3.Error) -> HistoryError:
    extended_code = getattr(error, "sqlite_errorcode", 0)
    code = extended_code & 0xFF
    if extended_code == sqlite3.SQLITE_CORRUPT_VTAB:
        return HistoryError("The index of the search is damaged; start Headstart again to rebuild it; no chat is lost.")
    if is_damage(error):
        return damaged(path, getattr(error, "sqlite_errorname", "no text"))
    if code == sqlite3.SQLITE_FULL or extended_code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return UnwritableHistoryError(
            "The disk is full, so the last change was not saved in {path}; free some space and try again: "
            "everything saved before is still there.",
            path=path,
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return _unusable(path, _obstacle(path) or str(error))
    if code == sqlite3.SQLITE_IOERR:
        return UnwritableHistoryError(
            "The chat history in {path} cannot be used ({reason}); see that its disk is there and has room, then try "
            "again: everything saved before is still there.",
            path=path.parent,
            reason=_obstacle(path) or error,
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return HistoryError("Another program is using the chat history {path}; close it and try again.", path=path)
    return HistoryError(
        "The chat history {path} could not be used ({error}); try again, then restart the program.",
        path=path,
        error=error,
    )


def _unusable(path: Path, reason: str) -> UnwritableHistoryError:
    return UnwritableHistoryError(
        "The chat history in {path} cannot be used ({reason}); make the folder readable and writable for you, then try "
        "again.",
        path=path.parent,
        reason=reason,
    )


def _obstacle(path: Path) -> str:
    """Return the system's reason why nothing can be written beside a history, which SQLite keeps to itself."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def has_cipher() -> bool:
    """Return whether the packages for encrypted histories are installed."""
    return all(importlib.util.find_spec(name) for name in _PACKAGES)


def require_cipher() -> None:
    """Raise HistoryError with the remedy if the packages for encrypted histories are missing."""
    if not has_cipher():
        raise HistoryError(
            "Encrypted chat histories need packages that are not installed: pip install {packages}, then "
            "start Headstart again.",
            packages=" ".join(_PACKAGES),
        )


def connect_with_cipher(path: Path, key: Key | None) -> sqlite3.Connection:
    """Open a file with SQLCipher: encrypted, or plain without a key. The caller does the transactions."""
    require_cipher()
    # The package has no types. Its connections, rows and errors have the interface of those of sqlite3.
    connection = cast("sqlite3.Connection", _sqlcipher().connect(path, timeout=BUSY_SECONDS, isolation_level=None))
    connection.execute("PRAGMA cipher_log_level = NONE")  # errors are raised; this keeps them from being printed, too
    if key:
        connection.execute(f'PRAGMA key = "{key.literal}"')
    connection.row_factory = _sqlcipher().Row
    return connection


def sqlite_errors() -> tuple[type[sqlite3.Error], ...]:
    """Return the error classes of SQLite, and those of SQLCipher's package if it is loaded."""
    library = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error, library.Error) if library else (sqlite3.Error,)


def _sqlcipher() -> ModuleType:
    import sqlcipher3.dbapi2  # noqa: PLC0415 - most histories are not encrypted

    return cast("ModuleType", sqlcipher3.dbapi2)


def chat_row(chat: Chat) -> dict[str, Value]:
    """Return the columns of table chat. Tags and projects have tables of their own."""
    return {
        "id": chat.id,
        "title": storable(chat.title),
        "created": chat.created,
        "updated": chat.updated,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "deleted": chat.deleted,
        "draft": storable(chat.draft),
        "settings": to_json(chat.settings),
    }


def read_chat(row: sqlite3.Row) -> Chat:
    return Chat(
        id=row["id"],
        title=row["title"],
        created=row["created"],
        updated=row["updated"],
        pinned=bool(row["pinned"]),
        tags=tuple(json.loads(row["tags"])),
        archived=bool(row["archived"]),
        deleted=row["deleted"],
        draft=row["draft"],
        settings=json.loads(row["settings"]),
        project=row["project_name"] or "",
    )


def message_row(message: ChatMessage, *, shown: bool) -> dict[str, Value]:
    """Return the columns of table message, without the chat."""
    return {
        "id": message.id,
        "parent": message.parent,
        "shown": shown,
        "role": message.role.value,
        "text": storable(message.text),
        "created": message.created,
        "state": message.state.value,
        "model": storable(message.model),
        "settings": to_json(message.settings),
        "stats": to_json(message.stats),
        "origins": runs_to_json(message.origins),
        "attachments": attachments_to_json(message.attachments),
        "edited": message.edited,
        "calls": calls_to_json(message.calls),
        "passages": to_json(message.passages),
        "excerpts": to_json(message.excerpts),
        "thinking": storable(message.thinking),
        "searched": storable(message.searched),
    }


def read_message(row: Mapping[str, Any] | sqlite3.Row) -> ChatMessage:
    return ChatMessage(
        id=row["id"],
        parent=row["parent"],
        role=Role(row["role"]),
        text=row["text"],
        created=row["created"],
        state=State(row["state"]),
        model=row["model"],
        settings=json.loads(row["settings"]),
        stats=json.loads(row["stats"]),
        origins=_RUNS.decode(row["origins"]),
        attachments=read_attachments(row["attachments"]),
        edited=bool(row["edited"]),
        calls=_CALLS.decode(row["calls"]),
        passages=_PASSAGES.decode(row["passages"]),
        excerpts=_EXCERPTS.decode(row["excerpts"]),
        thinking=row["thinking"],
        searched=row["searched"],
    )


def attachments_to_json(files: Iterable[Attachment]) -> str:
    return to_json([[file.name, file.text] for file in files])


def read_attachments(column: str) -> tuple[Attachment, ...]:
    return tuple(Attachment(*attachment) for attachment in json.loads(column))


def attached_text(column: str) -> str:
    """Return the names and texts of the files for the search.

    Empty if the column is damaged, which `read_attachments` reports.
    """
    try:
        return "\n".join(f"{file.name}\n{file.text}" for file in read_attachments(column))
    except (ValueError, TypeError):
        return ""


def read_conversation(rows: Iterable[sqlite3.Row]) -> Conversation:
    """Return the conversation of a chat's rows, which are sorted by id."""
    pairs = [(read_message(row), bool(row["shown"])) for row in rows]
    chosen = {message.parent: message.id for message, shown in pairs if shown}
    return Conversation({message.id: message for message, _ in pairs}, chosen)


def runs_to_json(runs: Iterable[Run]) -> str:
    """Encode runs as [[characters, origin], ...]."""
    return to_json([[run.characters, run.origin] for run in runs])


def calls_to_json(calls: Iterable[ToolCall]) -> str:
    """Encode calls of tools as [{"at": ..., "name": ...}, ...]."""
    return to_json([dataclasses.asdict(call) for call in calls])


def to_json(value: object) -> str:
    """Encode compact JSON with readable characters beyond ASCII."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
