"""Reading the history: lists, chats and search. One reader for each thread."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headstart.chat import database, search
from headstart.chat.conversation import Attachment, Chat, Conversation, Project, storable
from headstart.chat.database import Key, read_attachments, read_chat, read_conversation, sqlite_errors

# A column for queries that read chats.
_TAG_NAMES = (
    "(SELECT json_group_array(name) FROM (SELECT tag.name FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank ORDER BY tag.name)) AS tags"
)
# Columns of a chat.
_PROJECT_NAME = "(SELECT name FROM project WHERE project.rank = chat.project) AS project_name"
_COLUMNS = f"chat.*, {_TAG_NAMES}, {_PROJECT_NAME}"
# A test of such queries; its value is the name of a tag.
_HAS_TAG = (
    "EXISTS (SELECT 1 FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank AND tag.name = ?)"
)
_IN_PROJECT = "chat.project = (SELECT rank FROM project WHERE name = ?)"
_CHATS = f"SELECT {_COLUMNS} FROM chat"  # noqa: S608


class Group(NamedTuple):
    """A tag or project: its name, and how many chats outside the bin have it. Small and large letters are the same."""

    name: str
    chats: int


class _Place(NamedTuple):
    """Where to search: the table with the texts, the index that holds its ranks, what to join and what to select.

    `listed`: FTS5's own list of the ranks in the index, where few rows of the table are in it.
    """

    table: str
    text: str
    words: str
    joined: str
    columns: str
    test: str = "chat.deleted IS NULL"
    listed: str = ""


_TITLES = _Place("chat", "chat.title", "title_words", "", _COLUMNS)
_CHAT = "JOIN chat ON chat.rank = message.chat"
_WRITTEN = f"message.id AS message, message.created AS time, {_COLUMNS}"
_MESSAGES = _Place("message", "message.text", "message_words", _CHAT, f"message.text AS text, {_WRITTEN}")
_FILES = _Place(
    "message",
    "attached(message.attachments)",
    "file_words",
    _CHAT,
    f"message.attachments AS files, {_WRITTEN}",
    listed="file_words_docsize",
)


@dataclass(frozen=True)
class Hit:
    """Where a search found something: in a message, in a file attached to it, or in the title when both are None."""

    chat: Chat
    message: int | None
    snippet: search.Snippet
    time: float  # when that was written; for a title, when the chat was last changed
    file: str | None = None  # the name of the attached file


class Reader:
    """What is saved. Use it in the thread that opened it; every method raises HistoryError."""

    def __init__(self, path: Path, connection: sqlite3.Connection, key: Key | None = None) -> None:
        """Use `open_reader` or `headstart.chat.store.open_store`."""
        self.path = path
        self.key = key  # None: the history is not encrypted
        self._connection = connection

    def close(self) -> None:
        """Let go of the file; harmless twice."""
        with self._explained():
            self._connection.close()

    def chats(
        self, *, archived: bool = False, deleted: bool = False, tag: str = "", project: str = "", most: int = -1
    ) -> tuple[Chat, ...]:
        """Chats of one kind, last changed first; only `most` of them, the pinned ones before others. -1: all."""
        where = f"archived = ? AND deleted IS {'NOT ' if deleted else ''}NULL"
        values: list[str | int] = [archived]
        if tag:
            where += f" AND {_HAS_TAG}"
            values.append(tag)
        if project:
            where += f" AND {_IN_PROJECT}"
            values.append(project)
        wanted = f"SELECT rank FROM chat WHERE {where} ORDER BY pinned DESC, updated DESC, rank DESC LIMIT ?"  # noqa: S608
        rows = self._rows(f"{_CHATS} WHERE rank IN ({wanted}) ORDER BY updated DESC, rank DESC", (*values, most))
        return tuple(read_chat(row) for row in rows)

    def titles(self) -> tuple[tuple[str, str], ...]:
        """Id and title of all chats that are listed, last changed first: of ten thousand this reads little."""
        query = "SELECT id, title FROM chat WHERE NOT archived AND deleted IS NULL ORDER BY updated DESC, rank DESC"
        return tuple((row["id"], row["title"]) for row in self._rows(query, ()))

    def chat(self, chat_id: str) -> Chat | None:
        """The chat with this id, also one in the bin; None if it is gone."""
        rows = self._rows(f"{_CHATS} WHERE id = ?", (chat_id,))
        return read_chat(rows[0]) if rows else None

    def tags(self) -> tuple[Group, ...]:
        """All tags by name, and how many chats have each."""
        query = (
            "SELECT tag.name, count(chat.rank) FROM tag LEFT JOIN chat_tag ON chat_tag.tag = tag.rank "
            "LEFT JOIN chat ON chat.rank = chat_tag.chat AND chat.deleted IS NULL GROUP BY tag.rank ORDER BY tag.name"
        )
        return tuple(Group(*row) for row in self._rows(query, ()))

    def projects(self) -> tuple[Group, ...]:
        """All projects by name, and how many chats are in each."""
        query = (
            "SELECT project.name, count(chat.rank) FROM project LEFT JOIN chat ON chat.project = project.rank "
            "AND chat.deleted IS NULL GROUP BY project.rank ORDER BY project.name"
        )
        return tuple(Group(*row) for row in self._rows(query, ()))

    def project(self, name: str) -> Project | None:
        """The project of this name; None if it is gone."""
        rows = self._rows("SELECT * FROM project WHERE name = ?", (name,))
        with self._explained():
            found = [Project(row["name"], json.loads(row["settings"]), read_attachments(row["files"])) for row in rows]
        return found[0] if found else None

    def conversation(self, chat_id: str) -> Conversation:
        """All messages of a chat; empty if it is gone."""
        query = "SELECT * FROM message WHERE chat = (SELECT rank FROM chat WHERE id = ?) ORDER BY id"
        with self._explained():
            return read_conversation(self._connection.execute(query, (chat_id,)))

    def draft_files(self, chat_id: str | None) -> tuple[Attachment, ...]:
        """What `Store.save_draft_files` kept."""
        query = "SELECT name, text FROM draft_file WHERE chat IS (SELECT rank FROM chat WHERE id = ?) ORDER BY rank"
        return tuple(Attachment(row["name"], row["text"]) for row in self._rows(query, (chat_id,)))

    def search(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> tuple[Hit, ...]:
        """Titles, then messages, then attached files that hold every word of the query, newest first; not from the bin.

        With a tag or project: only in chats that have it.
        """
        finds = (self.title_hits, self.message_hits, self.file_hits)
        return tuple(hit for find in finds for hit in find(query, limit, tag, project))

    def title_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Those of `search` in titles, each as soon as it is found, until `interrupt` is called."""
        for row in self._found(_TITLES, query, limit, tag, project):
            snippet = search.Snippet(row["title"], search.ranges(row["title"], query))
            yield Hit(read_chat(row), None, snippet, row["updated"])

    def message_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Those in messages, likewise."""
        for row in self._found(_MESSAGES, query, limit, tag, project):
            yield Hit(read_chat(row), row["message"], search.snippet(row["text"], query), row["time"])

    def file_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Those in attached files, one for each message whose files hold every word between them."""
        for row in self._found(_FILES, query, limit, tag, project):
            name, snippet = _in_files(read_attachments(row["files"]), query)
            yield Hit(read_chat(row), row["message"], snippet, row["time"], name)

    def interrupt(self) -> None:
        """End the search that runs now, if one does; may be called from another thread."""
        self._connection.interrupt()

    def recall(self, name: str) -> str | None:
        """What `Store.remember` put under this name."""
        rows = self._rows("SELECT value FROM memo WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def _found(self, place: _Place, query: str, limit: int, tag: str, project: str) -> Iterator[sqlite3.Row]:
        """Rows whose text holds the query. Ordered by rank, which the index gives in order: it need not find all."""
        source, order, query = place.table, f"{place.table}.rank", storable(query)
        words, literals = search.full_text_query(query), search.literals(query)
        if not (words or literals):
            return
        tests = [place.test, *(f"holds({place.text}, ?)" for _ in literals)]
        values: list[str | int] = [*literals]
        if tag:
            tests.append(_HAS_TAG)
            values.append(tag)
        if project:
            tests.append(_IN_PROJECT)
            values.append(project)
        if words:
            order = f"{place.words}.rowid"
            source = f"{place.words} CROSS JOIN {place.table} ON {place.table}.rank = {order}"
            tests.insert(0, f"{place.words} MATCH ?")
            values.insert(0, words)
        elif place.listed:
            order = f"{place.listed}.id"
            source = f"{place.listed} CROSS JOIN {place.table} ON {place.table}.rank = {order}"
        rows = f"SELECT {place.columns} FROM {source} {place.joined} WHERE {' AND '.join(tests)}"  # noqa: S608
        query = f"{rows} ORDER BY {order} DESC LIMIT ?"
        with self._explained():
            yield from self._until_interrupted(query, (*values, limit))

    def _until_interrupted(self, query: str, values: Sequence[str | int]) -> Iterator[sqlite3.Row]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite_errors() as error:
            if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
                raise

    def _rows(self, query: str, values: Sequence[str | int | None]) -> list[sqlite3.Row]:
        with self._explained():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with database.explained(self.path):
            yield


def _in_files(files: Sequence[Attachment], query: str) -> tuple[str, search.Snippet]:
    """The first file with a hit in its text, or else in its name, and the neighbourhood of that."""
    found = [(file.name, search.snippet(file.text, query)) for file in files]
    inside = (each for each in found if each[1].ranges)
    named = (each for each in found if search.ranges(each[0], query))
    return next(inside, next(named, found[0]))


def open_reader(folder: Path, key: Key | None = None) -> Reader:
    """A reader for the calling thread, of a history that `open_store` has opened with this key. Raises HistoryError."""
    path = folder / database.FILE_NAME
    with database.explained(path):
        connection = database.connect(path, key)
        connection.execute("PRAGMA query_only = ON")
        return Reader(path, connection, key)
