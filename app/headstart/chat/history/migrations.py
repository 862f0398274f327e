"""The schema of the history as numbered steps. A released step is never changed."""

import json
import sqlite3
from pathlib import Path

from headstart.chat import search
from headstart.chat.conversation import ChatMessage, Role, Run, ToolCall
from headstart.chat.history import backups
from headstart.chat.history.database import INDEX_FAULT, Key, calls_to_json, runs_to_json, to_json, transaction
from headstart.chat.tagged_thinking import separated
from headstart.errors import HistoryError

_CHATS_AND_MESSAGES = (
    """CREATE TABLE chat (
        rank INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        pinned INTEGER NOT NULL,
        folder TEXT NOT NULL,
        archived INTEGER NOT NULL,
        deleted REAL,
        draft TEXT NOT NULL,
        settings TEXT NOT NULL
    )""",
    "CREATE INDEX chat_by_time ON chat (updated)",
    """CREATE TABLE message (
        rank INTEGER PRIMARY KEY,
        chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
        id INTEGER NOT NULL,
        parent INTEGER,
        shown INTEGER NOT NULL,
        role TEXT NOT NULL,
        text TEXT NOT NULL,
        created REAL NOT NULL,
        state TEXT NOT NULL,
        model TEXT NOT NULL,
        settings TEXT NOT NULL,
        stats TEXT NOT NULL,
        origins TEXT NOT NULL,
        attachments TEXT NOT NULL,
        edited INTEGER NOT NULL,
        UNIQUE (chat, id),
        FOREIGN KEY (chat, parent) REFERENCES message (chat, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
    )""",
    "CREATE INDEX message_by_parent ON message (chat, parent)",
    "CREATE INDEX message_by_state ON message (state) WHERE state = 'streaming'",
    "CREATE TABLE memo (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

# The index has no copy of the texts, so removing words needs the old text. Triggers see every change. A text in
# progress is not indexed, because every second of an answer would index it again.
_FULL_TEXT = (
    "CREATE VIRTUAL TABLE title_words USING fts5 (words, content = '', tokenize = 'unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE message_words USING fts5 (words, content = '', tokenize = 'unicode61 remove_diacritics 2')",
    "INSERT INTO title_words (rowid, words) SELECT rank, words(title) FROM chat",
    "INSERT INTO message_words (rowid, words) SELECT rank, words(text) FROM message WHERE state <> 'streaming'",
    """CREATE TRIGGER title_added AFTER INSERT ON chat BEGIN
        INSERT INTO title_words (rowid, words) VALUES (new.rank, words(new.title));
    END""",
    """CREATE TRIGGER title_removed AFTER DELETE ON chat BEGIN
        INSERT INTO title_words (title_words, rowid, words) VALUES ('delete', old.rank, words(old.title));
    END""",
    """CREATE TRIGGER title_changed AFTER UPDATE OF title ON chat WHEN old.title <> new.title BEGIN
        INSERT INTO title_words (title_words, rowid, words) VALUES ('delete', old.rank, words(old.title));
        INSERT INTO title_words (rowid, words) VALUES (new.rank, words(new.title));
    END""",
    """CREATE TRIGGER text_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_words (rowid, words) VALUES (new.rank, words(new.text));
    END""",
    """CREATE TRIGGER text_removed AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_words (message_words, rowid, words) VALUES ('delete', old.rank, words(old.text));
    END""",
    """CREATE TRIGGER text_changed AFTER UPDATE OF text, state ON message
    WHEN old.text <> new.text OR (old.state = 'streaming') <> (new.state = 'streaming') BEGIN
        INSERT INTO message_words (message_words, rowid, words)
            SELECT 'delete', old.rank, words(old.text) WHERE old.state <> 'streaming';
        INSERT INTO message_words (rowid, words)
            SELECT new.rank, words(new.text) WHERE new.state <> 'streaming';
    END""",
    f"INSERT INTO memo (name, value) VALUES ('words', {search.VERSION})",  # noqa: S608
)

# Folders hide chats from the days they belong to, and a chat can be in only one. Tags have neither problem.
_TAGS = (
    "CREATE TABLE tag (rank INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE)",
    """CREATE TABLE chat_tag (
        chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,
        tag INTEGER NOT NULL REFERENCES tag ON DELETE CASCADE,
        PRIMARY KEY (chat, tag)
    ) WITHOUT ROWID""",
    "CREATE INDEX chat_by_tag ON chat_tag (tag)",
    "INSERT OR IGNORE INTO tag (name) SELECT folder FROM chat WHERE folder <> ''",
    "INSERT INTO chat_tag SELECT chat.rank, tag.rank FROM chat JOIN tag ON tag.name = chat.folder",
    "ALTER TABLE chat DROP COLUMN folder",
)

# The first letters of a word that is being typed stand for thousands of words, each with a list to be merged.
_PREFIXES = (
    "DROP TABLE message_words",
    """CREATE VIRTUAL TABLE message_words
        USING fts5 (words, content = '', prefix = '1 2', tokenize = 'unicode61 remove_diacritics 2')""",
    "INSERT INTO message_words (rowid, words) SELECT rank, words(text) FROM message WHERE state <> 'streaming'",
)

# A table of its own, because lists of chats are read whole and a file may be large. Without a chat, the file belongs to
# the chat that is not yet begun.
_DRAFT_FILES = (
    """CREATE TABLE draft_file (
        rank INTEGER PRIMARY KEY,
        chat INTEGER REFERENCES chat ON DELETE CASCADE,
        name TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    "CREATE INDEX draft_file_by_chat ON draft_file (chat)",
)

# An index of its own, so that a hit can name its place, and an answer in progress does not touch it.
_ATTACHED_WORDS = (
    """CREATE VIRTUAL TABLE file_words
        USING fts5 (words, content = '', prefix = '1 2', tokenize = 'unicode61 remove_diacritics 2')""",
    "INSERT INTO file_words (rowid, words) SELECT rank, words(attached(attachments)) FROM message "
    "WHERE attachments <> '[]'",
    """CREATE TRIGGER files_added AFTER INSERT ON message WHEN new.attachments <> '[]' BEGIN
        INSERT INTO file_words (rowid, words) VALUES (new.rank, words(attached(new.attachments)));
    END""",
    """CREATE TRIGGER files_removed AFTER DELETE ON message WHEN old.attachments <> '[]' BEGIN
        INSERT INTO file_words (file_words, rowid, words)
            VALUES ('delete', old.rank, words(attached(old.attachments)));
    END""",
    """CREATE TRIGGER files_changed AFTER UPDATE OF attachments ON message
    WHEN old.attachments <> new.attachments BEGIN
        INSERT INTO file_words (file_words, rowid, words)
            SELECT 'delete', old.rank, words(attached(old.attachments)) WHERE old.attachments <> '[]';
        INSERT INTO file_words (rowid, words)
            SELECT new.rank, words(attached(new.attachments)) WHERE new.attachments <> '[]';
    END""",
)

# A column beside the text, because a search for words of an answer should not find results of tools.
_CALLS = ("ALTER TABLE message ADD COLUMN calls TEXT NOT NULL DEFAULT '[]'",)

_PASSAGES = ("ALTER TABLE message ADD COLUMN passages TEXT NOT NULL DEFAULT '[]'",)

# A chat is in one project, and stays when the project is deleted.
_PROJECTS = (
    """CREATE TABLE project (
        rank INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE COLLATE NOCASE,
        settings TEXT NOT NULL,
        files TEXT NOT NULL
    )""",
    "ALTER TABLE chat ADD COLUMN project INTEGER REFERENCES project ON DELETE SET NULL",
    "CREATE INDEX chat_by_project ON chat (project)",
)

_INDEXED_WORDS = (
    "INSERT INTO message_words (rowid, words) SELECT rank, words(thinking || char(10) || text) FROM message "
    "WHERE state <> 'streaming'"
)


def _separate_thinking(connection: sqlite3.Connection) -> None:
    ranks = connection.execute("SELECT rank FROM message WHERE role = 'assistant' AND text LIKE '%<%'").fetchall()
    for (rank,) in ranks:
        query = "SELECT text, origins, stats, calls FROM message WHERE rank = ?"
        text, origins, stats, calls = connection.execute(query, (rank,)).fetchone()
        try:
            runs = tuple(Run(*run) for run in json.loads(origins))
            made = tuple(ToolCall(**call) for call in json.loads(calls))
            before = ChatMessage(
                rank, None, Role.ASSISTANT, text, 0.0, stats=json.loads(stats), origins=runs, calls=made
            )
            after = separated(before)
        except (ValueError, TypeError):  # a damaged row is reported when its chat is opened
            continue
        if after is not before:
            values = (after.text, after.thinking, runs_to_json(after.origins), to_json(after.stats))
            connection.execute(
                "UPDATE message SET text = ?, thinking = ?, origins = ?, stats = ?, calls = ? WHERE rank = ?",
                (*values, calls_to_json(after.calls), rank),
            )


# Thinking stood between tags at the beginning of the text. It is still found by the search.
_THINKING = (
    "ALTER TABLE message ADD COLUMN thinking TEXT NOT NULL DEFAULT ''",
    "DROP TRIGGER text_added",
    "DROP TRIGGER text_removed",
    "DROP TRIGGER text_changed",
    """CREATE TRIGGER text_added AFTER INSERT ON message WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_words (rowid, words) VALUES (new.rank, words(new.thinking || char(10) || new.text));
    END""",
    """CREATE TRIGGER text_removed AFTER DELETE ON message WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_words (message_words, rowid, words)
            VALUES ('delete', old.rank, words(old.thinking || char(10) || old.text));
    END""",
    """CREATE TRIGGER text_changed AFTER UPDATE OF text, thinking, state ON message
    WHEN old.text <> new.text OR old.thinking <> new.thinking
        OR (old.state = 'streaming') <> (new.state = 'streaming')
    BEGIN
        INSERT INTO message_words (message_words, rowid, words)
            SELECT 'delete', old.rank, words(old.thinking || char(10) || old.text) WHERE old.state <> 'streaming';
        INSERT INTO message_words (rowid, words)
            SELECT new.rank, words(new.thinking || char(10) || new.text) WHERE new.state <> 'streaming';
    END""",
    _separate_thinking,
)

# Hits of a search are shown by time, which an import does not follow.
_TIMES = ("CREATE INDEX message_by_time ON message (created)",)

# Passages of files in the folders of a project lie beside the message, because the files change.
_FOLDERS = (
    "ALTER TABLE project ADD COLUMN folders TEXT NOT NULL DEFAULT '[]'",
    "ALTER TABLE message ADD COLUMN excerpts TEXT NOT NULL DEFAULT '[]'",
)

# What was looked for in these folders stands beside it, also when nothing was found.
_SEARCHED = ("ALTER TABLE message ADD COLUMN searched TEXT NOT NULL DEFAULT ''",)

# Where imported chats came from, so that a later export adds only what is new. Keys are hashes: they keep no words of a
# chat that was deleted, and say that it was.
_SOURCES = (
    """CREATE TABLE source (
        rank INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        chat INTEGER REFERENCES chat ON DELETE SET NULL
    )""",
    "CREATE INDEX source_by_chat ON source (chat)",
    """CREATE TABLE source_message (
        source INTEGER NOT NULL REFERENCES source ON DELETE CASCADE,
        key BLOB NOT NULL,
        message INTEGER NOT NULL,
        PRIMARY KEY (source, key)
    ) WITHOUT ROWID""",
)

# New versions of messages that are not sent yet. Their files lie beside those of drafts, because a text that is being
# typed is written twice a second.
_EDITS = (
    """CREATE TABLE edit (
        rank INTEGER PRIMARY KEY,
        chat INTEGER NOT NULL,
        message INTEGER NOT NULL,
        text TEXT NOT NULL,
        is_open INTEGER NOT NULL,
        UNIQUE (chat, message),
        FOREIGN KEY (chat, message) REFERENCES message (chat, id) ON DELETE CASCADE
    )""",
    "ALTER TABLE draft_file ADD COLUMN edit INTEGER REFERENCES edit ON DELETE CASCADE",
    "CREATE INDEX draft_file_by_edit ON draft_file (edit)",
)

# Step n leads from version n to n + 1, by statements and functions.
STEPS = (
    _CHATS_AND_MESSAGES,
    _FULL_TEXT,
    _TAGS,
    _PREFIXES,
    _DRAFT_FILES,
    _ATTACHED_WORDS,
    _CALLS,
    _PASSAGES,
    _PROJECTS,
    _THINKING,
    _TIMES,
    _FOLDERS,
    _SEARCHED,
    _SOURCES,
    _EDITS,
)
NEWEST = len(STEPS)


def migrate(connection: sqlite3.Connection, path: Path, key: Key | None = None) -> None:
    """Migrate the file to the newest version, after a backup. Raises HistoryError for a file of a newer program."""
    version = schema_version(connection)
    if version > NEWEST:
        raise HistoryError(
            "The chat history {path} was written by a newer version of Headstart (schema {version}, this one knows "
            "{newest}); update Headstart to open it.",
            path=path,
            version=version,
            newest=NEWEST,
        )
    if 0 < version < NEWEST:
        backups.back_up(connection, path.parent, f"before-{NEWEST}", key)
    for number in range(version, NEWEST):
        with transaction(connection):
            _step(connection, number)


def create(connection: sqlite3.Connection, version: int) -> None:
    """Create the schema of a version in an empty file."""
    for number in range(version):
        with transaction(connection):
            _step(connection, number)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the schema; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refresh_index(connection: sqlite3.Connection, path: Path) -> None:
    """Rebuild the index if it was damaged, or if this program cuts texts into words in another way."""
    row = connection.execute("SELECT value FROM memo WHERE name = 'words'").fetchone()
    fault = path.with_name(INDEX_FAULT)
    if row is None or row[0] != str(search.VERSION) or fault.exists():
        with transaction(connection):
            rebuild_index(connection)
        fault.unlink(missing_ok=True)


def rebuild_index(connection: sqlite3.Connection) -> None:
    """Delete the index and build it from the texts."""
    for statement in (
        "INSERT INTO title_words (title_words) VALUES ('delete-all')",
        "INSERT INTO message_words (message_words) VALUES ('delete-all')",
        "INSERT INTO file_words (file_words) VALUES ('delete-all')",
        "INSERT INTO title_words (rowid, words) SELECT rank, words(title) FROM chat",
        _INDEXED_WORDS,
        _ATTACHED_WORDS[1],
    ):
        connection.execute(statement)
    connection.execute("REPLACE INTO memo (name, value) VALUES ('words', ?)", (str(search.VERSION),))


def _step(connection: sqlite3.Connection, number: int) -> None:
    if schema_version(connection) != number:
        return  # another process was faster
    for statement in STEPS[number]:
        if isinstance(statement, str):
            connection.execute(statement)
        else:
            statement(connection)
    connection.execute(f"PRAGMA user_version = {number + 1}")
