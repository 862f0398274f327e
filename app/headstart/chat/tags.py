"""Tags of chats in the tables of the history: made, renamed, removed, given and taken. Knows no transaction."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from headstart.chat.unicode import storable
from headstart.errors import HistoryError

LONGEST = 40  # characters

# A column for queries that read chats.
NAMES = (
    "(SELECT json_group_array(name) FROM (SELECT tag.name FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank ORDER BY tag.name)) AS tags"
)
# A test of such queries; its value is the name of a tag.
HAS_TAG = (
    "EXISTS (SELECT 1 FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank AND tag.name = ?)"
)
_CHAT, _TAG = "(SELECT rank FROM chat WHERE id = ?)", "(SELECT rank FROM tag WHERE name = ?)"


class Tag(NamedTuple):
    """A name, and how many chats outside the bin have it. Small and large letters make no difference."""

    name: str
    chats: int


def named(name: str) -> str:
    """The name as it is kept: one line, not too long. Raises HistoryError where nothing is left."""
    kept = " ".join(storable(name).split())[:LONGEST].rstrip()
    if not kept:
        raise HistoryError("A tag needs a name; type one.")
    return kept


def listed(connection: sqlite3.Connection) -> tuple[Tag, ...]:
    """All tags by name, also those that no chat has."""
    query = (
        "SELECT tag.name, count(chat.rank) FROM tag LEFT JOIN chat_tag ON chat_tag.tag = tag.rank "
        "LEFT JOIN chat ON chat.rank = chat_tag.chat AND chat.deleted IS NULL GROUP BY tag.rank ORDER BY tag.name"
    )
    return tuple(Tag(*row) for row in connection.execute(query))


def create(connection: sqlite3.Connection, name: str) -> None:
    """A tag of this name, unless there is one."""
    connection.execute("INSERT OR IGNORE INTO tag (name) VALUES (?)", (name,))


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Raises HistoryError where another tag has the name."""
    query = "SELECT EXISTS (SELECT 1 FROM tag WHERE name = ? AND rank <> ?)"
    (rank,) = connection.execute("SELECT rank FROM tag WHERE name = ?", (old,)).fetchone() or (None,)
    if rank is None:
        raise HistoryError(f"There is no tag “{old}” any more; make a new one.")
    if connection.execute(query, (new, rank)).fetchone()[0]:
        raise HistoryError(f"There already is a tag “{new}”; choose another name.")
    connection.execute("UPDATE tag SET name = ? WHERE rank = ?", (new, rank))


def remove(connection: sqlite3.Connection, name: str) -> tuple[str, ...]:
    """Without this tag; ids of the chats that had it. The chats stay."""
    query = f"SELECT id FROM chat WHERE rank IN (SELECT chat FROM chat_tag WHERE tag = {_TAG})"  # noqa: S608
    had = tuple(row[0] for row in connection.execute(query, (name,)))
    connection.execute("DELETE FROM tag WHERE name = ?", (name,))
    return had


def give(connection: sqlite3.Connection, name: str, chats: Iterable[str]) -> None:
    """Chats with this tag, which is made if need be; a chat that is gone is passed over."""
    create(connection, name)
    pairs = "INSERT OR IGNORE INTO chat_tag SELECT chat.rank, tag.rank FROM chat, tag WHERE chat.id = ? AND name = ?"
    connection.executemany(pairs, [(chat, name) for chat in chats])


def take(connection: sqlite3.Connection, name: str, chats: Iterable[str]) -> None:
    """Chats without this tag."""
    statement = f"DELETE FROM chat_tag WHERE chat = {_CHAT} AND tag = {_TAG}"  # noqa: S608
    connection.executemany(statement, [(chat, name) for chat in chats])
