"""Reading the history: lists, chats and search. One reader for each thread; knows nothing of writing."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headstart.chat import database, search
from headstart.chat.conversation import Conversation
from headstart.chat.record import Chat
from headstart.chat.rows import read_chat, read_conversation
from headstart.chat.unicode import storable

_HITS = """
SELECT message.id AS message, message.text AS text, message.created AS time, chat.*
FROM message JOIN chat ON chat.rank = message.chat
"""


@dataclass(frozen=True)
class Hit:
    """Where a search found something: in a message, or in the title when `message` is None."""

    chat: Chat
    message: int | None
    snippet: search.Snippet
    time: float  # when that was written; for a title, when the chat was last changed


class Reader:
    """What is saved. Use it in the thread that opened it; every method raises HistoryError."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Use `open_reader` or `headstart.chat.store.open_store`."""
        self.path = path
        self._connection = connection

    def close(self) -> None:
        """Let go of the file; harmless twice."""
        with self._explained():
            self._connection.close()

    def chats(self, *, archived: bool = False, deleted: bool = False) -> tuple[Chat, ...]:
        """Chats of one kind, last changed first."""
        where = f"archived = ? AND deleted IS {'NOT ' if deleted else ''}NULL"
        rows = self._rows(f"SELECT * FROM chat WHERE {where} ORDER BY updated DESC, rank DESC", (archived,))  # noqa: S608
        return tuple(read_chat(row) for row in rows)

    def chat(self, chat_id: str) -> Chat | None:
        """The chat with this id, also one in the bin; None if it is gone."""
        rows = self._rows("SELECT * FROM chat WHERE id = ?", (chat_id,))
        return read_chat(rows[0]) if rows else None

    def folders(self) -> tuple[str, ...]:
        """Names of the folders that hold a chat."""
        rows = self._rows("SELECT DISTINCT folder FROM chat WHERE folder <> '' AND deleted IS NULL ORDER BY folder", ())
        return tuple(row[0] for row in rows)

    def conversation(self, chat_id: str) -> Conversation:
        """All messages of a chat; empty if it is gone."""
        query = "SELECT * FROM message WHERE chat = (SELECT rank FROM chat WHERE id = ?) ORDER BY id"
        with self._explained():
            return read_conversation(self._connection.execute(query, (chat_id,)))

    def search(self, query: str, limit: int = 100) -> tuple[Hit, ...]:
        """Titles and then messages that hold every word of the query, newest first; nothing from the bin."""
        query = storable(query)
        if not (search.full_text_query(query) or search.literals(query)):
            return ()
        titles = [
            Hit(read_chat(row), None, search.Snippet(row["title"], search.ranges(row["title"], query)), row["updated"])
            for row in self._found("title_words", "SELECT chat.* FROM chat", ("chat", "title"), query, limit)
        ]
        messages = [
            Hit(read_chat(row), row["message"], search.snippet(row["text"], query), row["time"])
            for row in self._found("message_words", _HITS, ("message", "text"), query, limit)
        ]
        return tuple(titles + messages)

    def recall(self, name: str) -> str | None:
        """What `Store.remember` put under this name."""
        rows = self._rows("SELECT value FROM memo WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def _found(self, index: str, select: str, column: tuple[str, str], query: str, limit: int) -> list[sqlite3.Row]:
        """Rows whose text holds the query. Ordered by rank, which the index gives in order: it need not find all."""
        table, text = column
        words, literals = search.full_text_query(query), search.literals(query)
        tests = ["chat.deleted IS NULL", *(f"holds({table}.{text}, ?)" for _ in literals)]
        values: list[str | int] = [*literals]
        order = f"{table}.rank"
        if words:
            select = select.replace(f"FROM {table}", f"FROM {index} CROSS JOIN {table} ON {table}.rank = {index}.rowid")
            tests.insert(0, f"{index} MATCH ?")
            values.insert(0, words)
            order = f"{index}.rowid"
        where = f"WHERE {' AND '.join(tests)} ORDER BY {order} DESC LIMIT ?"
        return self._rows(f"{select} {where}", (*values, limit))

    def _rows(self, query: str, values: Sequence[str | int]) -> list[sqlite3.Row]:
        with self._explained():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with database.explained(self.path):
            yield


def open_reader(folder: Path) -> Reader:
    """A reader for the calling thread, of a history that `open_store` has opened before. Raises HistoryError."""
    path = folder / database.FILE_NAME
    with database.explained(path):
        connection = database.connect(path)
        connection.execute("PRAGMA query_only = ON")
        return Reader(path, connection)
