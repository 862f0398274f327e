"""Writing the history. Every change is saved, whole, when the method returns."""

import json
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from headstart.chat.conversation import (
    Attachment,
    Chat,
    ChatMessage,
    Conversation,
    Edit,
    Json,
    Project,
    Run,
    clean_name,
    storable,
)
from headstart.chat.history import database, encryption, erasing, migrations, rescue
from headstart.chat.history.database import Key
from headstart.chat.history.reader import Reader
from headstart.chat.merging import Import, merged, message_keys, source_key
from headstart.errors import DamagedHistoryError, HistoryError

UNSENT = "draft"  # name of the memo with the draft of the chat that is not yet begun
UNBEGUN = "new chat in {}"  # name of the memo with the id and the settings of a project's chat that is not yet begun
FOLDER = "folder of chat {}"  # name of the memo with the folder that a chat works on, which no file of chats has
_OUTDATED = "outdated caches"  # name of the memo of `Store.outdated_caches`


class Store(Reader):
    """The only writer of a history. Use it in the thread that opened it; every method raises HistoryError."""

    was_repaired = False  # when it was opened; no chat was lost

    def __init__(self, path: Path, connection: sqlite3.Connection, key: Key | None = None) -> None:
        super().__init__(path, connection, key)
        self._file = _identity(path)

    @property
    def changes(self) -> int:
        """The number of rows that this store has written."""
        return self._connection.total_changes

    def create_chat(self, title: str = "", *, settings: Json | None = None) -> Chat:
        """Save a new chat without messages."""
        now = _now()
        return self.add(Chat(new_id(), title, now, now, settings=settings or {}), Conversation())

    def add(self, chat: Chat, conversation: Conversation) -> Chat:
        """Save a chat with all its messages: an imported one, or a fork with a `new_id`."""
        with self._saving():
            self._add(chat, conversation)
        return chat

    def begin(self, chat: Chat, conversation: Conversation) -> None:
        """Save the chat that is not yet begun, now that it has messages, and remove its draft and its settings."""
        now = _now()
        with self._saving():
            self._add(replace(chat, created=now, updated=now, draft=""), conversation)
            self._remember(UNSENT, None)
            self._remember(UNBEGUN.format(chat.project), None)
            self._set_draft_files(None, ())

    def save(self, chat_id: str, before: Conversation, after: Conversation) -> None:
        """Write the difference between the saved conversation and the present one."""
        with self._saving():
            self._set(chat_id, updated=_now())
            self._write(chat_id, before, after)

    def save_partial(
        self, chat_id: str, message_id: int, text: str, origins: Iterable[Run] = (), thinking: str = ""
    ) -> None:
        """Save the text and thinking so far of an answer in progress. A crash loses only what came since."""
        columns = "text = ?, origins = ?, thinking = ?"
        statement = f"UPDATE message SET {columns} WHERE {_THIS_MESSAGE} AND state = 'streaming'"  # noqa: S608
        with self._saving():
            values = (storable(text), database.runs_to_json(origins), storable(thinking), chat_id, message_id)
            self._connection.execute(statement, values)

    def rename(self, chat_id: str, title: str) -> None:
        self._change(chat_id, title=storable(title))

    def pin(self, *chat_ids: str, pinned: bool) -> None:
        """Pin chats to the top, or unpin them."""
        self._change(*chat_ids, pinned=pinned)

    def create_tag(self, name: str, chat_ids: Iterable[str] = ()) -> str:
        """Create a tag if it is new, and give it to chats. Return its stored name."""
        stored_name = _tag_name(name)
        with self._saving():
            self._give_tag(stored_name, chat_ids)
        return stored_name

    def rename_tag(self, name: str, new: str) -> str:
        """Rename a tag and return its stored name. Raises HistoryError if another tag has that name."""
        stored_name = _tag_name(new)
        query = "SELECT EXISTS (SELECT 1 FROM tag WHERE name = ? AND rank <> ?)"
        with self._saving():
            row = self._connection.execute("SELECT rank FROM tag WHERE name = ?", (name,)).fetchone()
            if row is None:
                raise HistoryError("There is no tag “{name}” any more; make a new one.", name=name)
            if self._connection.execute(query, (stored_name, row[0])).fetchone()[0]:
                raise HistoryError("There already is a tag “{kept}”; choose another name.", kept=stored_name)
            self._connection.execute("UPDATE tag SET name = ? WHERE rank = ?", (stored_name, row[0]))
            erasing.add_order(self._connection)
        return stored_name

    def delete_tag(self, name: str) -> tuple[str, ...]:
        """Delete a tag. Return the ids of the chats that had it, so that `create_tag` can undo this."""
        query = f"SELECT id FROM chat WHERE rank IN (SELECT chat FROM chat_tag WHERE tag = {_TAG})"  # noqa: S608
        with self._saving():
            chat_ids = tuple(row[0] for row in self._connection.execute(query, (name,)))
            self._connection.execute("DELETE FROM tag WHERE name = ?", (name,))
            erasing.add_order(self._connection)
        return chat_ids

    def untag(self, name: str, chat_ids: Iterable[str]) -> None:
        """Remove a tag from chats."""
        statement = f"DELETE FROM chat_tag WHERE chat = {_CHAT} AND tag = {_TAG}"  # noqa: S608
        with self._saving():
            self._connection.executemany(statement, [(chat, name) for chat in chat_ids])

    def add_project(self, project: Project) -> str:
        """Save a new project and return its stored name. Raises HistoryError if there is one with that name."""
        stored_name = _project_name(project.name)
        with self._saving():
            if not self._add_project(replace(project, name=stored_name)):
                raise _project_exists(stored_name)
        return stored_name

    def import_chats(self, chats: Iterable[tuple[Chat, Conversation]], projects: Iterable[Project] = ()) -> Import:
        """Save imported chats, and of those that are here already what is new; and the projects whose names are new.

        Titles, tags and places of chats stay as they are here, and what was deleted here stays so. A chat that is in no
        project goes into its own if that is new: it was in it before the project was deleted here.
        """
        result, seen = Import(), Counter[bytes]()
        with self._saving():
            for project in projects:
                name = _project_name(project.name)
                if self._add_project(replace(project, name=name)):
                    result.projects.append(name)
            for chat, conversation in chats:
                key = source_key(chat, conversation)
                seen[key] += 1
                if seen[key] > 1:  # an export may have equal chats
                    key += bytes([seen[key] % 256])
                self._import(chat, conversation, key, result)
        return result

    def undo_import(self, done: Import) -> int:
        """Remove what an import added, so that it can be imported again.

        What you went on with stays: new chats with messages or unsent words of your own, in their projects, and new
        messages above such. Return in how many chats.
        """
        with self._saving():
            extended = done.extended.items()
            undone = {chat_id: ids for chat_id, ids in extended if not self._has_own_below(chat_id, ids)}
            for chat_id, messages in undone.items():
                before = after = self.conversation(chat_id)
                for id_ in sorted(messages, reverse=True):
                    after = after.remove(id_) if id_ in after.messages else after
                self._write(chat_id, before, after)
                for id_ in messages:
                    query = f"DELETE FROM source_message WHERE message = ? AND source IN ({_SOURCES_OF})"  # noqa: S608
                    self._connection.execute(query, (id_, chat_id))
            kept = [chat for chat in map(self.chat, done.added) if chat and self._goes_on(chat)]
            unchanged = set(done.added) - {chat.id for chat in kept}
            for chat_id in unchanged:
                self._connection.execute(f"DELETE FROM source WHERE rank IN ({_SOURCES_OF})", (chat_id,))  # noqa: S608
            self._destroy(unchanged)
            for name in set(done.projects) - {chat.project for chat in kept}:
                self._connection.execute("DELETE FROM project WHERE name = ?", (name,))
        return len(kept) + len(done.extended) - len(undone)

    def change_project(self, name: str, changed: Project) -> str:
        """Replace a project and return its stored name. Raises HistoryError if another project has that name."""
        stored_name = _project_name(changed.name)
        clash = "SELECT 1 FROM project WHERE name = ? AND rank IS NOT (SELECT rank FROM project WHERE name = ?)"
        values = (stored_name, *_project_values(changed), name)
        with self._saving():
            if self._connection.execute(clash, (stored_name, name)).fetchone():
                raise _project_exists(stored_name)
            update = "UPDATE project SET name = ?, settings = ?, files = ?, folders = ? WHERE name = ?"
            if not self._connection.execute(update, values).rowcount:
                raise HistoryError("There is no project “{name}” any more; make a new one.", name=name)
            memos = (UNBEGUN.format(stored_name), UNBEGUN.format(name))
            self._connection.execute("UPDATE OR REPLACE memo SET name = ? WHERE name = ?", memos)
            erasing.add_order(self._connection)
        return stored_name

    def delete_project(self, name: str) -> None:
        """Delete a project; its chats stay."""
        with self._saving():
            self._connection.execute("DELETE FROM project WHERE name = ?", (name,))
            self._remember(UNBEGUN.format(name), None)
            erasing.add_order(self._connection)

    def move(self, chat_ids: Iterable[str], project: str) -> None:
        """Move chats into a project, which is created if it is new; "" removes them from theirs."""
        stored_name = _project_name(project) if project else ""
        with self._saving():
            self._move(chat_ids, stored_name)

    def delete(self, *chat_ids: str) -> None:
        """Put chats in the bin: they leave lists and search until `restore` or `purge`."""
        self._change(*chat_ids, deleted=_now())

    def restore(self, *chat_ids: str) -> None:
        self._change(*chat_ids, deleted=None)

    def archive(self, *chat_ids: str, archived: bool = True) -> None:
        """Put chats into the archive, or take them out of it. The search finds them there, too."""
        self._change(*chat_ids, archived=archived)

    def purge(self, older_than: float = 0.0) -> int:
        """Destroy the chats that have been in the bin for `older_than` seconds, and return their number."""
        query = "SELECT id FROM chat WHERE deleted IS NOT NULL AND deleted <= ?"
        with self._saving():
            chat_ids = [row[0] for row in self._connection.execute(query, (_now() - older_than,))]
            self._destroy(chat_ids)
        return len(chat_ids)

    def destroy(self, *chat_ids: str) -> None:
        """Destroy these chats for good, and order to forget damaged histories, which may have them, too."""
        with self._saving():
            self._destroy(chat_ids, forgets_damaged=True)

    def copy_into(self, other: "Store") -> None:
        """Replace the content of another history by that of this one."""
        with self._translate_errors():
            self._connection.backup(other._connection)  # noqa: SLF001 - of the same class

    def outdated_caches(self) -> tuple[str, ...]:
        """Return the ids of chats that lost messages, which models may have read."""
        return tuple(json.loads(self.recall(_OUTDATED) or "[]"))

    def forget_outdated_caches(self) -> None:
        """Note that the prompt caches of `outdated_caches` are deleted."""
        self.remember(_OUTDATED, None)

    def unbegun(self, project: Project | None) -> Chat:
        """Return the chat that is not yet begun in a project, or in none: its draft, and the settings chosen for it."""
        project = project or Project("")
        memo = json.loads(self.recall(UNBEGUN.format(project.name)) or "{}")
        before, own = memo.get("project", {}), memo.get("settings", project.settings)
        if before != project.settings:  # it was changed meanwhile
            own = {**project.settings, **{name: value for name, value in own.items() if before.get(name) != value}}
        draft = self.recall(UNSENT) or ""
        return Chat(memo.get("id") or new_id(), "", 0.0, 0.0, draft=draft, project=project.name, settings=own)

    def save_unbegun(self, chat: Chat) -> None:
        """Save id and settings of the chat that is not yet begun in a project."""
        project = self.project(chat.project) if chat.project else None
        memo = {"id": chat.id, "settings": chat.settings, "project": project.settings if project else {}}
        self.remember(UNBEGUN.format(chat.project), database.to_json(memo))

    def save_draft(self, chat_id: str, draft: str) -> None:
        """Save the unsent text of the composer."""
        self._change(chat_id, draft=storable(draft))

    def save_draft_files(self, chat_id: str | None, files: Iterable[Attachment]) -> None:
        """Save the files of a draft; None is the chat that is not yet begun."""
        with self._saving():
            self._set_draft_files(None if chat_id is None else self._rank(chat_id), files)

    def save_edits(self, chat_id: str, before: Mapping[int, Edit], after: Mapping[int, Edit]) -> None:
        """Write the difference between the saved unsent versions of messages and the present ones."""
        with self._saving():
            chat = self._rank(chat_id)
            for message in before.keys() - after.keys():
                self._write_edit(chat, message, before[message], None)
            for message, edit in after.items():
                self._write_edit(chat, message, before.get(message), edit)

    def save_settings(self, chat_id: str, settings: Json) -> None:
        self._change(chat_id, settings=database.to_json(settings))

    def remember(self, name: str, value: str | None) -> None:
        """Save a value of the program itself, such as the chat last open; None deletes it."""
        with self._saving():
            self._remember(name, value)

    def rebuild_index(self) -> None:
        with self._saving():
            migrations.rebuild_index(self._connection)

    def _add(self, chat: Chat, conversation: Conversation) -> None:
        row = database.chat_row(chat)
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        self._connection.execute(f"INSERT INTO chat ({names}) VALUES ({values})", row)  # noqa: S608
        self._write(chat.id, Conversation(), conversation)
        for name in chat.tags:
            self._give_tag(_tag_name(name), (chat.id,))
        if chat.project:
            self._move((chat.id,), _project_name(chat.project))

    def _import(self, chat: Chat, conversation: Conversation, key: bytes, result: Import) -> None:
        query = "SELECT source.rank, chat.id FROM source LEFT JOIN chat ON chat.rank = source.chat WHERE key = ?"
        row = self._connection.execute(query, (key,)).fetchone()
        if row and row["id"] is None:
            result.deleted += 1
            return
        chat_id = row["id"] if row else chat.source if self._exists(chat.source) else ""
        project = _project_name(chat.project) if chat.project else ""
        if not chat_id:
            if project and self._add_project(Project(project)):
                result.projects.append(project)
            is_own = len(chat.source) == len(chat.id) and chat.source.isalnum()  # it keeps its id on other computers
            chat = replace(chat, id=chat.source) if is_own else chat
            self._add(chat, conversation)
            result.added.append(chat.id)
            self._note_source(key, chat.id, {key: id_ for id_, key in message_keys(conversation).items()})
            return
        if project in result.projects and (kept := self.chat(chat_id)) and not kept.project:
            self._move((chat_id,), project)
        here = self.conversation(chat_id)
        known = {key: id_ for id_, key in message_keys(here).items()}
        if row:
            notes = "SELECT key, message FROM source_message WHERE source = ?"
            known |= dict(self._connection.execute(notes, (row["rank"],)).fetchall())
        after, new = merged(here, known, conversation)
        if not new:
            result.known += 1
            return
        self._write(chat_id, here, after)
        self._set(chat_id, updated=max(chat.updated, *(after.messages[id_].created for id_ in new.values())))
        self._note_source(key, chat_id, new)
        result.extended[chat_id] = tuple(new.values())

    def _goes_on(self, chat: Chat) -> bool:
        """Return whether a chat has messages that no import brought, or unsent words."""
        if chat.draft or self.draft_files(chat.id) or self.edits(chat.id):
            return True
        query = f"SELECT key FROM source_message WHERE source IN ({_SOURCES_OF})"  # noqa: S608
        brought = {row["key"] for row in self._connection.execute(query, (chat.id,))}
        return not brought.issuperset(message_keys(self.conversation(chat.id)).values())

    def _has_own_below(self, chat_id: str, messages: Collection[int]) -> bool:
        """Return whether a chat has other messages below these, or unsent versions of these."""
        conversation = self.conversation(chat_id)
        branches = [conversation.branch(id_) for id_ in messages if id_ in conversation.messages]
        return bool(set().union(*branches).difference(messages) or self.edits(chat_id).keys() & set(messages))

    def _exists(self, chat_id: str) -> bool:
        return bool(self._connection.execute("SELECT 1 FROM chat WHERE id = ?", (chat_id,)).fetchone())

    def _note_source(self, key: bytes, chat_id: str, messages: Mapping[bytes, int]) -> None:
        """Note where messages of a chat came from."""
        insert = f"INSERT OR IGNORE INTO source (key, chat) VALUES (?, {_CHAT})"  # noqa: S608
        self._connection.execute(insert, (key, chat_id))
        (source,) = self._connection.execute("SELECT rank FROM source WHERE key = ?", (key,)).fetchone()
        rows = [(source, message, id_) for message, id_ in messages.items()]
        self._connection.executemany("REPLACE INTO source_message VALUES (?, ?, ?)", rows)

    def _add_project(self, project: Project) -> bool:
        """Save a project and return True, unless there is one with its name."""
        values = (project.name, *_project_values(project))
        insert = "INSERT OR IGNORE INTO project (name, settings, files, folders) VALUES (?, ?, ?, ?)"
        return bool(self._connection.execute(insert, values).rowcount)

    def _move(self, chat_ids: Iterable[str], project: str) -> None:
        """Move chats into a project; skip chats that are gone."""
        if project:
            self._add_project(Project(project))
        statement = "UPDATE chat SET project = (SELECT rank FROM project WHERE name = ?) WHERE id = ?"
        self._connection.executemany(statement, [(project, chat) for chat in chat_ids])

    def _give_tag(self, name: str, chat_ids: Iterable[str]) -> None:
        """Give a tag to chats, and create it if it is new; skip chats that are gone."""
        self._connection.execute("INSERT OR IGNORE INTO tag (name) VALUES (?)", (name,))
        pairs = (
            "INSERT OR IGNORE INTO chat_tag SELECT chat.rank, tag.rank FROM chat, tag WHERE chat.id = ? AND name = ?"
        )
        self._connection.executemany(pairs, [(chat, name) for chat in chat_ids])

    def _set_draft_files(self, chat: int | None, files: Iterable[Attachment], edit: int | None = None) -> None:
        """Replace the files of a draft, or of an unsent version of a message."""
        if self._connection.execute("DELETE FROM draft_file WHERE chat IS ? AND edit IS ?", (chat, edit)).rowcount:
            erasing.add_order(self._connection)
        values = [(chat, edit, storable(file.name), storable(file.text)) for file in files]
        self._connection.executemany("INSERT INTO draft_file (chat, edit, name, text) VALUES (?, ?, ?, ?)", values)

    def _write_edit(self, chat: int, message: int, before: Edit | None, after: Edit | None) -> None:
        if before == after:
            return
        if after:
            self._connection.execute(_UPSERT_EDIT, (chat, message, storable(after.text), after.is_open))
        old_files, files = (edit.files if edit else () for edit in (before, after))
        query = "SELECT rank FROM edit WHERE chat = ? AND message = ?"
        for (edit,) in self._connection.execute(query, (chat, message)).fetchall():  # none if the message is gone
            if files != old_files:
                self._set_draft_files(chat, files, edit)
            if not after:
                self._connection.execute("DELETE FROM edit WHERE rank = ?", (edit,))

    def _remember(self, name: str, value: str | None) -> None:
        if value is None:
            self._connection.execute("DELETE FROM memo WHERE name = ?", (name,))
        else:
            self._connection.execute("REPLACE INTO memo VALUES (?, ?)", (name, storable(value)))

    def _write(self, chat_id: str, before: Conversation, after: Conversation) -> None:
        removed = [(chat_id, id_) for id_ in before.messages if id_ not in after.messages]
        # Children get their new parents first, because removing a row removes the rows below it.
        for message in after.messages.values():
            old, shown = before.messages.get(message.id), _is_shown(after, message)
            if old is not message and old != message:
                row = database.message_row(message, shown=shown)
                self._connection.execute(_upsert_message(row), {**row, "chat": chat_id})
            elif _is_shown(before, message) != shown:
                # Not the whole row: the file has more of a text in progress than the value.
                update = f"UPDATE message SET shown = ? WHERE {_THIS_MESSAGE}"  # noqa: S608
                self._connection.execute(update, (shown, chat_id, message.id))
        self._connection.executemany(f"DELETE FROM message WHERE {_THIS_MESSAGE}", removed)  # noqa: S608
        if removed:
            erasing.add_order(self._connection)
            self._remember(_OUTDATED, json.dumps(sorted({*self.outdated_caches(), chat_id})))

    def _change(self, *chat_ids: str, **columns: database.Value) -> None:
        with self._saving():
            for chat_id in chat_ids:
                self._set(chat_id, **columns)

    def _set(self, chat_id: str, **columns: database.Value) -> None:
        """Change columns of a chat. Their names come from this file only."""
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        query = f"UPDATE chat SET {assignments} WHERE id = :chat_id"  # noqa: S608
        if not self._connection.execute(query, {**columns, "chat_id": chat_id}).rowcount:
            raise _missing_chat()

    def _destroy(self, chat_ids: Iterable[str], *, forgets_damaged: bool = False) -> None:
        chat_ids = tuple(chat_ids)
        self._connection.executemany("DELETE FROM chat WHERE id = ?", [(chat_id,) for chat_id in chat_ids])
        names = [(FOLDER.format(chat_id),) for chat_id in chat_ids]
        self._connection.executemany("DELETE FROM memo WHERE name = ?", names)
        if chat_ids:
            erasing.add_order(self._connection, chat_ids, forgets_damaged=forgets_damaged)

    def _rank(self, chat_id: str) -> int:
        row = self._connection.execute("SELECT rank FROM chat WHERE id = ?", (chat_id,)).fetchone()
        if row is None:
            raise _missing_chat()
        return int(row[0])

    @contextmanager
    def _saving(self) -> Iterator[None]:
        with self._translate_errors():
            self._follow_disk()
            with database.transaction(self._connection):
                yield

    def _follow_disk(self) -> None:
        """Open the file again if its disk was gone and is back. What is written to the old one would be lost."""
        if (file := _identity(self.path)) != self._file:
            with suppress(*database.sqlite_errors()):  # it may want to write to a disk that is no longer there
                self._connection.close()
            self._connection, self._file = database.connect(self.path, self.key), file


def open_store(folder: Path, key: Key | None = None) -> Store:
    """Check the history in this folder, migrate it and open it. Answers cut short are marked as such.

    Damage that costs no chat is repaired. Raises HistoryError; DamagedHistoryError, for which `backups` has
    replacements; ReadableHistoryError if a part can be read; and LockedHistoryError if it is encrypted and there is
    no key, which `encryption.unlock` returns.
    """
    path = folder / database.FILE_NAME
    with database.translate_errors(path):  # the folder may not be readable
        encryption.settle(folder)
        key = encryption.require_key(folder, key)
    try:
        return _open(path, key)
    except DamagedHistoryError as error:
        found = rescue.rescue(folder, key)
        if not found.is_whole:
            raise rescue.ReadableHistoryError(path, found) from error
        rescue.adopt(folder, found)
    store = _open(path, key)
    store.was_repaired = True
    return store


def _open(path: Path, key: Key | None) -> Store:
    with database.translate_errors(path), ExitStack() as stack:
        connection = stack.enter_context(closing(database.connect(path, key)))
        _prepare(connection, path, key)
        stack.pop_all()
        return Store(path, connection, key)


def _identity(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino


def new_id() -> str:
    return uuid.uuid4().hex


def _prepare(connection: sqlite3.Connection, path: Path, key: Key | None) -> None:
    if database.is_read_at_start(path):
        database.require_sound(connection, path)
    rescue.discard(path.with_name(rescue.NEW))
    migrations.migrate(connection, path, key)
    migrations.refresh_index(connection, path)
    connection.execute("UPDATE message SET state = 'interrupted' WHERE state = 'streaming'")


_CHAT, _TAG = "(SELECT rank FROM chat WHERE id = ?)", "(SELECT rank FROM tag WHERE name = ?)"
_SOURCES_OF = f"SELECT rank FROM source WHERE chat = {_CHAT}"  # noqa: S608
_THIS_MESSAGE = "chat = (SELECT rank FROM chat WHERE id = ?) AND id = ?"
_UPSERT_EDIT = (
    "INSERT INTO edit (chat, message, text, is_open) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (chat, message) DO UPDATE SET text = excluded.text, is_open = excluded.is_open"
)


def _missing_chat() -> HistoryError:
    return HistoryError("This chat no longer exists in the history; start a new one.")


def _tag_name(name: str) -> str:
    """Return the stored form of a tag's name. Raises HistoryError if nothing is left."""
    stored_name = clean_name(name)
    if not stored_name:
        raise HistoryError("A tag needs a name; type one.")
    return stored_name


def _project_values(project: Project) -> tuple[str, str, str]:
    """Return the columns of table project after the name."""
    return (
        database.to_json(project.settings),
        database.attachments_to_json(project.files),
        database.to_json(project.folders),
    )


def _project_exists(stored_name: str) -> HistoryError:
    return HistoryError("There already is a project “{kept}”; choose another name.", kept=stored_name)


def _project_name(name: str) -> str:
    """Return the stored form of a project's name. Raises HistoryError if nothing is left."""
    stored_name = clean_name(name)
    if not stored_name:
        raise HistoryError("A project needs a name; type one.")
    return stored_name


def _upsert_message(columns: Iterable[str]) -> str:
    names = list(columns)
    values = ", ".join(f":{name}" for name in names)
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    return (
        f"INSERT INTO message (chat, {', '.join(names)}) VALUES "  # noqa: S608
        f"((SELECT rank FROM chat WHERE id = :chat), {values}) ON CONFLICT (chat, id) DO UPDATE SET {changes}"
    )


def _is_shown(conversation: Conversation, message: ChatMessage) -> bool:
    return conversation.chosen.get(message.parent) == message.id


def _now() -> float:
    return round(time.time(), 3)
