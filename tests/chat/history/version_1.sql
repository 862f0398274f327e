-- A history as schema 1 left it: before full-text search. Never altered: people have such files.
CREATE TABLE chat (
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
);
CREATE INDEX chat_by_time ON chat (updated);
CREATE TABLE message (
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
);
CREATE INDEX message_by_parent ON message (chat, parent);
CREATE INDEX message_by_state ON message (state) WHERE state = 'streaming';
CREATE TABLE memo (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO chat VALUES (1, 'old', '老虎 and others', 1.5, 2.5, 1, 'zoo', 0, NULL, 'half', '{"seed":3}');
INSERT INTO message VALUES
    (1, 1, 1, NULL, 1, 'user', '老虎睡觉吗', 1.5, 'complete', '', '{}', '{}', '[]', '[["a.txt","A"]]', 0),
    (2, 1, 2, 1, 0, 'assistant', 'It sleeps.', 2.0, 'complete', 'pair', '{}', '{"rounds":2}', '[[10,"draft"]]', '[]', 0),
    (3, 1, 3, 1, 1, 'assistant', 'It sle', 2.5, 'streaming', 'pair', '{}', '{}', '[]', '[]', 0);
PRAGMA user_version = 1;
