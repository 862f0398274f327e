"""Reading the history: lists, chats and search. Each thread has its own reader."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headstart.chat import search
from headstart.chat.conversation import Attachment, Chat, Conversation, Edit, Project, storable
from headstart.chat.history import database
from headstart.chat.history.database import Key, read_attachments, read_chat, read_conversation, sqlite_errors

# A column of queries that read chats.
_TAG_NAMES = (
    "(SELECT json_group_array(name) FROM (SELECT tag.name FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank ORDER BY tag.name)) AS tags"
)
# The columns of a chat.
_PROJECT_NAME = "(SELECT name FROM project WHERE project.rank = chat.project) AS project_name"
_COLUMNS = f"chat.*, {_TAG_NAMES}, {_PROJECT_NAME}"
# A condition of such queries; its value is the name of a tag.
_HAS_TAG = (
    "EXISTS (SELECT 1 FROM chat_tag JOIN tag ON tag.rank = chat_tag.tag "
    "WHERE chat_tag.chat = chat.rank AND tag.name = ?)"
)
_IN_PROJECT = "chat.project = (SELECT rank FROM project WHERE name = ?)"
_CHATS = f"SELECT {_COLUMNS} FROM chat"  # noqa: S608


class Group(NamedTuple):
    """A tag or project with the number of its chats in the list. Its name is not case-sensitive."""

    name: str
    chats: int


class _SearchSpace(NamedTuple):
    table: str  # holds the texts
    text: str
    words: str  # the index of its words, by the ranks of the table
    time: str  # the column that sorts hits; `by_time` is its index
    by_time: str
    join: str
    columns: str
    ranks: str = ""  # FTS5's list of the ranks in the index, if few rows of the table are in it


_TITLES = _SearchSpace("chat", "chat.title", "title_words", "updated", "chat_by_time", "", _COLUMNS)
_CHAT = "CROSS JOIN chat ON chat.rank = message.chat"
_WRITTEN = f"message.id AS message, message.created AS time, {_COLUMNS}"
_MESSAGES = _SearchSpace(
    "message",
    "message.thinking || char(10) || message.text",
    "message_words",
    "created",
    "message_by_time",
    _CHAT,
    f"message.text AS text, message.thinking AS thinking, {_WRITTEN}",
)
_FILES = _SearchSpace(
    "message",
    "attached(message.attachments)",
    "file_words",
    "created",
    "message_by_time",
    _CHAT,
    f"message.attachments AS files, {_WRITTEN}",
    ranks="file_words_docsize",
)


@dataclass(frozen=True)
class Hit:
    """A hit of a search: in a message, in a file attached to it, or in the title if both are None."""

    chat: Chat
    message: int | None
    snippet: search.Snippet
    time: float  # of writing; for a title, of the last change of the chat
    file: str | None = None  # name of the attached file


class Reader:
    """A reader of the saved chats. Use it in the thread that opened it; every method raises HistoryError."""

    def __init__(self, path: Path, connection: sqlite3.Connection, key: Key | None = None) -> None:
        self.path = path
        self.key = key  # None: the history is not encrypted
        self._connection = connection

    def close(self) -> None:
        """Close the file; harmless twice."""
        with self._translate_errors():
            self._connection.close()

    def fingerprint(self) -> str:
        """Return a text that another history has only if it has the same chats and messages."""
        queries = (
            "SELECT count(*), total(created), total(updated), total(rank) FROM chat",
            "SELECT count(*), total(created), total(length(text)) FROM message",
        )
        return repr([tuple(row) for query in queries for row in self._rows(query, ())])

    def chats(
        self, *, archived: bool = False, deleted: bool = False, tag: str = "", project: str = "", limit: int = -1
    ) -> tuple[Chat, ...]:
        """Return the chats of the list, of the archive or of the bin, last changed or last deleted first.

        `limit` limits them to the first ones, pinned ones before others; -1: all.
        """
        where, values = ("deleted IS NOT NULL", list[str | int]())
        if not deleted:
            where, values = "archived = ? AND deleted IS NULL", [archived]
        if tag:
            where += f" AND {_HAS_TAG}"
            values.append(tag)
        if project:
            where += f" AND {_IN_PROJECT}"
            values.append(project)
        order = "deleted DESC, updated DESC, rank DESC"  # outside the bin, none was deleted
        pinned = "" if deleted else "pinned DESC, "
        ranks = f"SELECT rank FROM chat WHERE {where} ORDER BY {pinned}{order} LIMIT ?"  # noqa: S608
        rows = self._rows(f"{_CHATS} WHERE rank IN ({ranks}) ORDER BY {order}", (*values, limit))
        return tuple(read_chat(row) for row in rows)

    def num_aside(self) -> tuple[int, int]:
        """Return the numbers of chats in the archive and in the bin."""
        query = "SELECT count(*) FILTER (WHERE archived AND deleted IS NULL), count(deleted) FROM chat"
        ((archived, deleted),) = self._rows(query, ())
        return archived, deleted

    def titles(self) -> tuple[tuple[str, str], ...]:
        """Return id and title of all chats in the list, last changed first. It reads little even for ten thousand."""
        query = "SELECT id, title FROM chat WHERE NOT archived AND deleted IS NULL ORDER BY updated DESC, rank DESC"
        return tuple((row["id"], row["title"]) for row in self._rows(query, ()))

    def chat(self, chat_id: str) -> Chat | None:
        """Return a chat, also from the bin; None if it is gone."""
        rows = self._rows(f"{_CHATS} WHERE id = ?", (chat_id,))
        return read_chat(rows[0]) if rows else None

    def tags(self) -> tuple[Group, ...]:
        """Return all tags by name, with the number of their chats."""
        query = (
            "SELECT tag.name, count(chat.rank) FROM tag LEFT JOIN chat_tag ON chat_tag.tag = tag.rank "
            "LEFT JOIN chat ON chat.rank = chat_tag.chat AND chat.deleted IS NULL AND NOT chat.archived "
            "GROUP BY tag.rank ORDER BY tag.name"
        )
        return tuple(Group(*row) for row in self._rows(query, ()))

    def projects(self) -> tuple[Group, ...]:
        """Return all projects by name, with the number of their chats."""
        query = (
            "SELECT project.name, count(chat.rank) FROM project LEFT JOIN chat ON chat.project = project.rank "
            "AND chat.deleted IS NULL AND NOT chat.archived GROUP BY project.rank ORDER BY project.name"
        )
        return tuple(Group(*row) for row in self._rows(query, ()))

    def project(self, name: str) -> Project | None:
        """Return a project; None if it is gone."""
        rows = self._rows("SELECT * FROM project WHERE name = ?", (name,))
        with self._translate_errors():
            projects = [
                Project(
                    row["name"],
                    json.loads(row["settings"]),
                    read_attachments(row["files"]),
                    tuple(json.loads(row["folders"])),
                )
                for row in rows
            ]
        return projects[0] if projects else None

    def project_folders(self, project: str | None = None) -> tuple[str, ...]:
        """Return the folders of a project, or of all projects."""
        query = "SELECT folders FROM project WHERE ?1 IS NULL OR name = ?1 ORDER BY name"
        with self._translate_errors():
            folders = [path for row in self._connection.execute(query, (project,)) for path in json.loads(row[0])]
        return tuple(dict.fromkeys(folders))

    def conversation(self, chat_id: str) -> Conversation:
        """Return the conversation of a chat; empty if it is gone."""
        query = "SELECT * FROM message WHERE chat = (SELECT rank FROM chat WHERE id = ?) ORDER BY id"
        with self._translate_errors():
            return read_conversation(self._connection.execute(query, (chat_id,)))

    def draft_files(self, chat_id: str | None) -> tuple[Attachment, ...]:
        """Return the files of `Store.save_draft_files`."""
        return self._draft_files("edit IS NULL AND chat IS (SELECT rank FROM chat WHERE id = ?)", chat_id)

    def edits(self, chat_id: str) -> dict[int, Edit]:
        """Return the unsent versions of a chat's messages, by the ids of these."""
        query = "SELECT * FROM edit WHERE chat = (SELECT rank FROM chat WHERE id = ?) ORDER BY message"
        return {
            row["message"]: Edit(row["text"], self._draft_files("edit = ?", row["rank"]), bool(row["is_open"]))
            for row in self._rows(query, (chat_id,))
        }

    def _draft_files(self, where: str, value: str | int | None) -> tuple[Attachment, ...]:
        rows = self._rows(f"SELECT name, text FROM draft_file WHERE {where} ORDER BY rank", (value,))  # noqa: S608
        return tuple(Attachment(row["name"], row["text"]) for row in rows)

    def search(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> tuple[Hit, ...]:
        """Return hits with every word of the query, outside the bin: titles, then messages, then files; newest first.

        `tag` and `project` limit the search to their chats.
        """
        finds = (self.title_hits, self.message_hits, self.file_hits)
        return tuple(hit for find in finds for hit in find(query, limit, tag, project))

    def title_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Yield the hits of `search` in titles as they are found, until `interrupt` is called."""
        for row in self._find_rows(_TITLES, query, limit, tag, project):
            snippet = search.Snippet(row["title"], search.ranges(row["title"], query))
            yield Hit(read_chat(row), None, snippet, row["updated"])

    def message_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Yield the hits of `search` in messages as they are found, until `interrupt` is called."""
        for row in self._find_rows(_MESSAGES, query, limit, tag, project):
            in_text, in_thinking = (search.snippet(row[part], query) for part in ("text", "thinking"))
            snippet = in_thinking if in_thinking.ranges and not in_text.ranges else in_text
            yield Hit(read_chat(row), row["message"], snippet, row["time"])

    def file_hits(self, query: str, limit: int = 100, tag: str = "", project: str = "") -> Iterator[Hit]:
        """Yield the hits of `search` in attached files, one for each message whose files have all words together."""
        for row in self._find_rows(_FILES, query, limit, tag, project):
            name, snippet = _in_files(read_attachments(row["files"]), query)
            yield Hit(read_chat(row), row["message"], snippet, row["time"], name)

    def interrupt(self) -> None:
        """End the search in progress, if there is one. May be called from another thread."""
        self._connection.interrupt()

    def recall(self, name: str) -> str | None:
        """Return the value that `Store.remember` stored under a name; None if there is none."""
        rows = self._rows("SELECT value FROM memo WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def _find_rows(self, place: _SearchSpace, query: str, limit: int, tag: str, project: str) -> Iterator[sqlite3.Row]:
        """Yield rows whose text has the query, newest first.

        The index of times is read from its end, so the first hits come before all are found.
        """
        query = storable(query)
        words, literals = search.full_text_query(query), search.literals(query)
        if not (words or literals):
            return
        tests, values = ["chat.deleted IS NULL"], list[str | int]()
        if words:
            matching = f"SELECT rowid FROM {place.words} WHERE {place.words} MATCH ?"  # noqa: S608
            tests.append(f"{place.table}.rank IN ({matching})")
            values.append(words)
        elif place.ranks:
            tests.append(f"{place.table}.rank IN (SELECT id FROM {place.ranks})")  # noqa: S608
        tests += [f"holds({place.text}, ?)" for _ in literals]
        values += literals
        if tag:
            tests.append(_HAS_TAG)
            values.append(tag)
        if project:
            tests.append(_IN_PROJECT)
            values.append(project)
        source = f"{place.table} INDEXED BY {place.by_time} {place.join}"
        rows = f"SELECT {place.columns} FROM {source} WHERE {' AND '.join(tests)}"  # noqa: S608
        order = f"{place.table}.{place.time} DESC, {place.table}.rank DESC"
        with self._translate_errors():
            yield from self._until_interrupted(f"{rows} ORDER BY {order} LIMIT ?", (*values, limit))

    def _until_interrupted(self, query: str, values: Sequence[str | int]) -> Iterator[sqlite3.Row]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite_errors() as error:
            if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
                raise

    def _rows(self, query: str, values: Sequence[str | int | None]) -> list[sqlite3.Row]:
        with self._translate_errors():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        with database.translate_errors(self.path):
            yield


def _in_files(files: Sequence[Attachment], query: str) -> tuple[str, search.Snippet]:
    """Return the name and a snippet of the first file with a hit in its text, or else in its name."""
    snippets = [(file.name, search.snippet(file.text, query)) for file in files]
    in_text = (each for each in snippets if each[1].ranges)
    in_name = (each for each in snippets if search.ranges(each[0], query))
    return next(in_text, next(in_name, snippets[0]))


def open_reader(folder: Path, key: Key | None = None) -> Reader:
    """Open a reader for the calling thread. `open_store` must have opened the history before. Raises HistoryError."""
    path = folder / database.FILE_NAME
    with database.translate_errors(path):
        connection = database.connect(path, key)
        connection.execute("PRAGMA query_only = ON")
        return Reader(path, connection, key)
