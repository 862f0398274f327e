"""Rescue of a damaged history: a new file gets everything that can still be read of it."""

# The full-text index and the other indexes are made anew from the chats, so damage in them costs nothing. Repairing the
# file itself is no way: SQLite cannot even delete an index whose pages it cannot read.

import logging
import sqlite3
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headstart.chat.conversation import Chat, Role, State, propose_title
from headstart.chat.history import backups, database, database_pages, migrations
from headstart.chat.history.database import FILE_NAME, Key
from headstart.errors import DamagedHistoryError

NEW = "history.new"
_Row = Mapping[str, object]
_TABLES = ("project", "chat", "message", "tag", "chat_tag", "edit", "draft_file", "memo", "source", "source_message")
# This table is an index itself, and its other index has the same columns.
_SOURCES = {"chat_tag": ("chat_tag ORDER BY chat, tag", "chat_tag INDEXED BY chat_by_tag")}
# What a column of a message has at first.
_FIRST = {
    **dict.fromkeys(("settings", "stats"), "{}"),
    **dict.fromkeys(("attachments", "calls", "passages", "excerpts", "origins"), "[]"),
    "thinking": "",
    "searched": "",
    "role": Role.ASSISTANT.value,
    "state": State.INTERRUPTED.value,
}
# By the tables and columns that they need.
_MEND = {
    ("edit", "message"): "DELETE FROM edit WHERE (chat, message) NOT IN (SELECT chat, id FROM message)",
    ("draft_file", "chat"): "DELETE FROM draft_file WHERE chat IS NOT NULL AND chat NOT IN (SELECT rank FROM chat)",
    ("draft_file", "edit"): "DELETE FROM draft_file WHERE edit IS NOT NULL AND edit NOT IN (SELECT rank FROM edit)",
    ("chat_tag", "chat"): "DELETE FROM chat_tag WHERE chat NOT IN (SELECT rank FROM chat)",
    ("chat_tag", "tag"): "DELETE FROM chat_tag WHERE tag NOT IN (SELECT rank FROM tag)",
    ("chat", "settings"): "UPDATE chat SET settings = '{}' WHERE NOT json_valid(settings)",
    ("project", "settings"): "UPDATE project SET settings = '{}' WHERE NOT json_valid(settings)",
    ("project", "files"): "UPDATE project SET files = '[]' WHERE NOT json_valid(files)",
    ("project", "folders"): "UPDATE project SET folders = '[]' WHERE NOT json_valid(folders)",
    ("source", "chat"): "DELETE FROM source WHERE chat IS NOT NULL AND chat NOT IN (SELECT rank FROM chat)",
    ("source_message", "source"): "DELETE FROM source_message WHERE source NOT IN (SELECT rank FROM source)",
    ("chat", "project"): "UPDATE chat SET project = NULL WHERE project NOT IN (SELECT rank FROM project)",
}
Lost = tuple[tuple[str, int], ...]  # titles of chats, and how many of their messages are lost or changed
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rescue:
    path: Path  # the new file
    chats: int
    messages: int
    lost: Lost
    needs_original: bool  # a table itself was damaged, so that not everything lost need be known

    @property
    def is_whole(self) -> bool:
        return not self.lost and not self.needs_original


class ReadableHistoryError(DamagedHistoryError):
    """The history is damaged, and what could be read of it is in a new file."""

    def __init__(self, history: Path, found: Rescue) -> None:
        self.rescue = found
        super().__init__(
            "The chat history {path} is damaged; open Headstart's window, which saves what can be read.", path=history
        )


def rescue(folder: Path, key: Key | None) -> Rescue:
    """Write everything that is readable of a history to a new file. Raises DamagedHistoryError if nothing is."""
    path, new = folder / FILE_NAME, folder / NEW
    discard(new)
    with database.translate_errors(new), closing(database.connect(new, key)) as target:
        target.execute("PRAGMA foreign_keys = OFF")
        damaged, known = _copy_by_query(path, key, target)
        if damaged:
            _log.warning("%s: %s cannot be read whole", path, ", ".join(damaged))
            _copy_by_page(path, key, target, damaged)
        with database.transaction(target):
            lost = _connect_rows(target, known)
        chats, messages = (target.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _TABLES[1:3])  # noqa: S608
    if not chats and not messages and damaged:
        discard(new)
        raise DamagedHistoryError(
            "The chat history {path} is damaged, and nothing of it can be read; restore a backup.", path=path
        )
    return Rescue(new, chats, messages, lost, bool(damaged))


def adopt(folder: Path, found: Rescue) -> Path | None:
    """Put the new file in the place of the history, and the history aside. Return its path, None if it was not kept.

    It is kept unless nothing was lost.
    """
    history = folder / FILE_NAME
    if not found.is_whole:
        return backups.replace(folder, found.path)
    with database.translate_errors(history):
        for suffix in database.SIDE_FILES:
            history.with_name(history.name + suffix).unlink(missing_ok=True)
        found.path.replace(history)
    return None


def discard(path: Path) -> None:
    """Remove an unfinished new file."""
    for suffix in ("", "-journal", *database.SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _copy_by_query(path: Path, key: Key | None, target: sqlite3.Connection) -> tuple[list[str], dict[int, set[int]]]:
    """Copy the tables as far as SQLite can read them.

    Return the names of those that it does not read whole, and the ranks of each chat's messages that an index names.
    """
    version, names = migrations.NEWEST, set[str]()
    with _reading(path, key) as source:
        version = migrations.schema_version(source)
        names = {row[0] for row in source.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    migrations.create(target, version if 0 < version <= migrations.NEWEST else migrations.NEWEST)
    with database.transaction(target):
        target.execute("DELETE FROM memo")
        present = [table for table in _TABLES if _columns(target, table)]
        damaged = [table for table in present if table not in names or not _copy_table(path, key, target, table)]
    return damaged, _known_messages(path, key)


@contextmanager
def _reading(path: Path, key: Key | None) -> Iterator[sqlite3.Connection]:
    """Context manager with a connection, which ends at damage. SQLCipher reads nothing more with it afterwards."""
    with suppress(*database.sqlite_errors()), closing(database.open_file(path, key)) as source:
        source.text_factory = lambda content: content.decode(errors="replace")  # a text may be damaged, too
        yield source


def _copy_table(path: Path, key: Key | None, target: sqlite3.Connection, table: str) -> bool:
    """Copy the rows up to the first that cannot be read. Return whether all could."""
    columns = _columns(target, table)
    for source_of_rows in _SOURCES.get(table, (f"{table} NOT INDEXED",)):
        with _reading(path, key) as source:
            for row in source.execute(f"SELECT * FROM {source_of_rows}"):  # noqa: S608
                _insert(target, table, {name: row[name] for name in row.keys() if name in columns})  # noqa: SIM118
            return True
    return False


def _copy_by_page(path: Path, key: Key | None, target: sqlite3.Connection, damaged: Iterable[str]) -> None:
    """Add the rows of damaged tables that SQLite did not reach."""
    columns = {table: _columns(target, table) for table in damaged if table in _SHAPES}
    with database.transaction(target):
        for rank, values in database_pages.read_rows(path, key):
            for table, names in columns.items():
                if len(values) <= len(names) and _SHAPES[table](values):
                    _insert(target, table, {**dict(zip(names, values, strict=False)), "rank": rank})


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _insert(target: sqlite3.Connection, table: str, row: _Row) -> None:
    names, values = ", ".join(row), ", ".join("?" * len(row))
    target.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({values})", tuple(row.values()))  # noqa: S608


def _is_message(values: tuple[object, ...]) -> bool:
    match values:
        case (None, int(), int(), int() | None, int(), str(role), str(), float() | int(), str(state), *rest):
            return role in set(Role) and state in set(State) and len(rest) >= 6
    return False


def _is_chat(values: tuple[object, ...]) -> bool:
    match values:
        case (
            None,
            str(),
            str(),
            float() | int(),
            float() | int(),
            0 | 1,
            0 | 1,
            float() | int() | None,
            str(),
            str(),
            *_,
        ):
            return True
    return False


def _is_project(values: tuple[object, ...]) -> bool:
    match values:
        case (None, str(), str(settings), str(files)):
            return settings.startswith("{") and files.startswith("[")
    return False


def _is_draft_file(values: tuple[object, ...]) -> bool:
    match values:
        case (None, int() | None, str(), str()) | (None, int() | None, str(), str(), int() | None):
            return True
    return False


def _is_edit(values: tuple[object, ...]) -> bool:
    match values:
        case (None, int(), int(), str(), 0 | 1):
            return True
    return False


def _is_tag(values: tuple[object, ...]) -> bool:
    match values:
        case (None, str()):
            return True
    return False


# How a row of each table is told from those of others. The rank is stored as NULL.
_SHAPES: dict[str, Callable[[tuple[object, ...]], bool]] = {
    "message": _is_message,
    "chat": _is_chat,
    "project": _is_project,
    "edit": _is_edit,
    "draft_file": _is_draft_file,
    "tag": _is_tag,
}


def _known_messages(path: Path, key: Key | None) -> dict[int, set[int]]:
    """Return the ranks of messages by the ranks of their chats, from the readable parts of the indexes."""
    known = defaultdict[int, set[int]](set)
    for index in ("sqlite_autoindex_message_1", "message_by_parent"):
        with _reading(path, key) as source:
            for chat, rank in source.execute(f"SELECT chat, rank FROM message INDEXED BY {index}"):  # noqa: S608
                known[chat].add(rank)
    return known


def _connect_rows(target: sqlite3.Connection, known: Mapping[int, set[int]]) -> Lost:
    """Restore the references between the rows, and return what is lost."""
    lost = Counter[int](_mend_messages(target))
    for chat, ranks in known.items():
        rows = target.execute("SELECT rank FROM message WHERE chat = ?", (chat,))
        lost[chat] += len(ranks - {row[0] for row in rows})
    for chat in _lift_orphans(target):
        lost[chat] = lost[chat] or 1
    _add_lost_chats(target, [chat for chat, count in lost.items() if count])
    for (table, column), statement in _MEND.items():
        if column in _columns(target, table):
            target.execute(statement)
    titles = dict(tuple(row) for row in target.execute("SELECT rank, title FROM chat"))
    return tuple((titles[chat], count) for chat, count in lost.items() if count)


def _mend_messages(target: sqlite3.Connection) -> Iterator[int]:
    """Give columns that cannot be decoded their first values. Yield the rank of the chat of each such message."""
    for (rank,) in target.execute("SELECT rank FROM message").fetchall():
        row = {**_FIRST, **dict(target.execute("SELECT * FROM message WHERE rank = ?", (rank,)).fetchone())}
        if _is_readable(row):
            continue
        broken = [name for name in _FIRST if not _is_readable({**row, **_FIRST, name: row[name]})]
        changes = ", ".join(f"{name} = ?" for name in broken)
        values = (*(_FIRST[name] for name in broken), rank)
        target.execute(f"UPDATE message SET {changes} WHERE rank = ?", values)  # noqa: S608
        yield row["chat"]


def _is_readable(row: Mapping[str, Any]) -> bool:
    with suppress(ValueError, TypeError, msgspec.DecodeError):
        database.read_message(row)
        return True
    return False


def _lift_orphans(target: sqlite3.Connection) -> list[int]:
    """Move messages whose parents are lost below the last message before them. Return the ranks of their chats."""
    query = (
        "SELECT rank, chat, parent FROM message AS child WHERE parent IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM message WHERE chat = child.chat AND id = child.parent)"
    )
    orphans = target.execute(query).fetchall()
    update = "UPDATE message SET parent = (SELECT max(id) FROM message WHERE chat = ? AND id < ?) WHERE rank = ?"
    target.executemany(update, [(chat, parent, rank) for rank, chat, parent in orphans])
    return [chat for _, chat, _ in orphans]


def _add_lost_chats(target: sqlite3.Connection, damaged: Iterable[int]) -> None:
    """Make chats for messages whose chats are lost."""
    known = {row[0] for row in target.execute("SELECT rank FROM chat")}
    query = "SELECT text, created FROM message WHERE chat = ? ORDER BY id"
    for chat in {*damaged, *(row[0] for row in target.execute("SELECT DISTINCT chat FROM message"))} - known:
        messages = target.execute(query, (chat,)).fetchall()
        title = propose_title(messages[0][0]) if messages else ""
        times = [message[1] for message in messages] or [time.time()]
        row = database.chat_row(Chat(uuid.uuid4().hex, title, min(times), max(times)))
        _insert(target, "chat", {**row, "rank": chat})
