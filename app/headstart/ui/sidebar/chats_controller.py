"""The controllers of chats and tags, and the search in chats."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from headstart import paths
from headstart.chat import standby
from headstart.chat.conversation import Chat
from headstart.chat.history.database import Key
from headstart.chat.history.reader import Group, Hit, Reader, open_reader
from headstart.chat.history.store import Store
from headstart.engine import prompt_cache_files
from headstart.errors import HistoryError
from headstart.settings import Settings
from headstart.ui.chat.chat_session import ChatEvents, ChatSession
from headstart.ui.chat.tools import ToolsController
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.undo_stack import Undoable
from headstart.ui.workspace import chat_folder

_BATCH = 25  # hits shown at a time; more than a sidebar has room for


@dataclass(frozen=True)
class SearchResults:
    """The hits of a search so far."""

    query: str
    hits: tuple[Hit, ...]
    is_complete: bool


class ChatSearch(QObject):
    """A search in the history, in a thread of its own.

    `found` follows each `start`, several times if there are many hits, unless another `start` comes first.
    """

    found = Signal(object)  # SearchResults
    error_occurred = Signal(str)
    _requested = Signal(int, str, str, str)

    def __init__(self, folder: Path, parent: QObject | None = None, key: Key | None = None) -> None:
        """Search the history in `folder`, encrypted with `key`. The first search starts the thread."""
        super().__init__(parent)
        self._number = 0
        self._worker = _SearchWorker(folder, key)
        self._thread = QThread(self)
        self._worker.moveToThread(self._thread)
        self._requested.connect(self._worker.search)
        self._worker.found.connect(self._on_found)
        self._worker.failed.connect(self._on_failed)
        # Direct, because the connection must be closed in the thread itself.
        self._thread.finished.connect(self._worker.close, Qt.ConnectionType.DirectConnection)

    def start(self, query: str, tag: str = "", project: str = "") -> None:
        """Search all chats, or those with a tag or in a project. A running search ends."""
        self.cancel()
        if not self._thread.isRunning():
            self._thread.start()
        self._requested.emit(self._number, query, tag, project)

    def cancel(self) -> None:
        """End the running search; it emits nothing more."""
        self._number += 1
        self._worker.abandon(self._number)

    def close(self) -> None:
        """End the thread. It can be called twice."""
        self.cancel()
        self._thread.quit()
        self._thread.wait()

    @Slot(int, object)
    def _on_found(self, number: int, results: SearchResults) -> None:
        if number == self._number:
            self.found.emit(results)

    @Slot(int, str)
    def _on_failed(self, number: int, sentence: str) -> None:
        if number == self._number:
            self.error_occurred.emit(sentence)


class _SearchWorker(QObject):
    """The search in its thread. Only `abandon` may be called from another thread."""

    found = Signal(int, object)
    failed = Signal(int, str)

    def __init__(self, folder: Path, key: Key | None) -> None:
        super().__init__()
        self._folder, self._key = folder, key
        self._reader: Reader | None = None
        self._latest = 0

    def abandon(self, latest: int) -> None:
        """End all searches before this number."""
        self._latest = latest
        if self._reader:
            self._reader.interrupt()

    @Slot(int, str, str, str)
    def search(self, number: int, query: str, tag: str, project: str) -> None:
        """Emit hits until another search is requested."""
        if number != self._latest:
            return
        with showing_errors(partial(self.failed.emit, number)):
            self._search_hits(number, query, tag, project)

    @Slot()
    def close(self) -> None:
        if self._reader:
            self._reader.close()
            self._reader = None

    def _search_hits(self, number: int, query: str, tag: str, project: str) -> None:
        self._reader = self._reader or open_reader(self._folder, self._key)
        hits: list[Hit] = []
        for find in (self._reader.title_hits, self._reader.message_hits, self._reader.file_hits):
            for hit in find(query, tag=tag, project=project):
                hits.append(hit)
                if len(hits) % _BATCH == 0:
                    self.found.emit(number, SearchResults(query, tuple(hits), is_complete=False))
            if number != self._latest:
                return
        self.found.emit(number, SearchResults(query, tuple(hits), is_complete=True))


LAST_CHAT = "last chat"  # the memo with the id of the chat that was open last, which may not be stored
BIN_DAYS = 30
_MAX_TITLE = 40  # characters in a menu
_PAGE_SIZE = 400  # chats; ten times as many as a screen shows, listed in a few milliseconds


class ChatPlace(StrEnum):
    LIST = "list"
    ARCHIVE = "archive"
    BIN = "bin"


@dataclass(frozen=True)
class SidebarContent:
    """The content of the sidebar: chats or search hits, tags and projects."""

    chats: tuple[Chat, ...]
    tags: tuple[Group, ...] = ()
    tag: str = ""  # the filter, or ""
    projects: tuple[Group, ...] = ()
    project: str = ""  # the filter, or ""
    query: str = ""
    hits: tuple[Hit, ...] = ()
    is_complete: bool = True  # the search has ended
    has_more: bool = False  # there are older chats
    place: ChatPlace = ChatPlace.LIST  # of the chats
    num_archived: int = 0
    num_deleted: int = 0


class ChatsController(QObject):
    """Controller of all chats. One is open; others stay in memory only while they get an answer."""

    changed = Signal()  # a chat has another title, settings or time
    leaving = Signal()  # another chat is about to be opened: what is typed must be saved
    opened = Signal(object)  # ChatSession
    listed = Signal(object)  # Listing
    undoable = Signal(object)  # Undoable
    destroyed_chats = Signal(int)  # how many, for good
    all_saved = Signal()  # earlier attempts to save had failed

    def __init__(
        self,
        store: Store,
        loader: ModelLoader,
        settings: Settings,
        tools: ToolsController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._loader, self._settings, self._tools = store, loader, settings, tools
        self.events = ChatEvents(self)
        self.events.saved.connect(self._drop_idle_sessions)
        self.events.saved.connect(self._on_saved)
        self.events.still_unsaved.connect(self._save_into_copy)
        self._sessions: dict[str, ChatSession] = {}
        self._copy: Store | None = None  # of the history, with what this does not take
        self._query, self._tag, self._project, self._place = "", "", "", ChatPlace.LIST
        self._destroyed: set[str] = set()
        self._limit = _PAGE_SIZE
        self._results = SearchResults("", (), is_complete=True)
        self._search = ChatSearch(store.path.parent, self, store.key)
        self._search.found.connect(self._on_search_results)
        self._search.error_occurred.connect(self._on_error)
        self._list_timer = QTimer(self, singleShot=True, interval=0)
        self._list_timer.timeout.connect(self.refresh)
        self.current: ChatSession | None = None

    def start(self) -> None:
        """Show the list, and the chat that was open last if the settings say so."""
        self._try(lambda: self._store.purge(BIN_DAYS * 24 * 3600.0))
        self._try(self._delete_orphaned_caches)
        last = self._store.recall(LAST_CHAT) if self._settings.restore_chat else None
        self.refresh()
        self.open(last) if last else self.open_new()

    def set_settings(self, settings: Settings) -> None:
        """Apply changed settings of the program."""
        if self._settings.prompt_cache_gb and not settings.prompt_cache_gb:
            self._loader.link.forget_chats()
            prompt_cache_files.delete_all()
        self._settings = settings
        for session in self._sessions.values():
            session.program_settings = settings

    def open_new(self) -> None:
        """Open a chat without messages, in the listed project. Its first message stores it."""
        if self.current is None or self.current.is_stored or self.current.chat.project != self._project:
            self._open_unbegun()
        else:
            self.opened.emit(self.current)

    def open(self, chat_id: str, message: int | None = None) -> None:
        """Open a chat, or a new one if it is gone. `message` chooses the versions that show it."""
        session = self._sessions.get(chat_id) or self._restore_session(chat_id)
        if session is None:
            self.open_new()
            return
        if session is not self.current:
            self.leaving.emit()
        if message is not None:
            session.show_message(message)
        self._open_session(session)

    def ask(self, question: str) -> ChatSession | None:
        """Ask a question in a new chat without opening it. Return None, and report why, if that is impossible now."""
        chats: list[Chat] = []
        if not self._try(lambda: chats.append(self._store.create_chat())):
            return None
        session = self._new_session(chats[0])
        if session.ask(question):
            self._sessions[session.chat.id] = session
            return session
        session.deleteLater()
        self._try(lambda: self._store.delete(session.chat.id))
        return None

    def search(self, query: str) -> None:
        """List the hits of a query, or all chats for "". The list stays until there are hits."""
        self._query = query.strip()
        self.refresh()

    def filter(self, tag: str) -> None:
        """List only chats with this tag; "" lists all."""
        self._tag, self._limit = tag, _PAGE_SIZE
        self._leave_bin()
        self.refresh()

    def filter_project(self, name: str) -> None:
        """List only chats in this project, and put new ones into it; "" lists all."""
        self._project, self._limit = name, _PAGE_SIZE
        self._leave_bin()
        self.refresh()
        if self.current and not self.current.is_stored:
            self.open_new()

    def show_project(self, name: str) -> None:
        """List only chats in this project, and open a new one unless one of them is open; "" lists all."""
        self.filter_project(name)
        if name and self.current and self.current.chat.project != name:
            self.open_new()

    def show_place(self, place: ChatPlace) -> None:
        """List the chats of another place."""
        self._place, self._limit = place, _PAGE_SIZE
        self.refresh()

    def move(self, chat_ids: Sequence[str], project: str) -> None:
        """Move chats into a project, or out of theirs for ""."""
        self._change(*chat_ids, write=lambda: self._store.move(chat_ids, project))

    @Slot(object)
    def follow_projects(self, renamed: dict[str, str]) -> None:
        """Update chats after projects were renamed: old names to new ones, "" for deleted ones."""
        self._try(lambda: chat_folder.follow_projects(self._store, renamed))
        self.follow_tags({})
        self.filter_project(renamed.get(self._project, self._project))
        if self.current and not self.current.is_stored and self._project and self._project in renamed.values():
            self._open_unbegun()  # it begins with what the project has now

    @Slot()
    def list_more(self) -> None:
        """List twice as many chats, after the list was scrolled to its end."""
        self._limit *= 2
        self.refresh()

    @Slot(object)
    def follow_tags(self, renamed: dict[str, str]) -> None:
        """Update chats after tags were renamed: old names to new ones, "" for deleted ones."""
        self._tag = renamed.get(self._tag, self._tag)
        for session in self._sessions.values():
            self._refresh_session(session)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self._try(self._list)

    def settle(self) -> bool:
        """Save every chat in memory. Return False if that fails or an answer is being written, and say so."""
        return all(session.settle() for session in self._sessions.values())

    @Slot()
    def reload(self) -> None:
        """Take over what an import added to chats, or what its undo removed."""
        for key, session in list(self._sessions.items()):
            if session.is_stored and self._store.chat(key):
                self._try(session.reload)
            elif session.is_stored and session is self.current:
                self.open_new()
        self.refresh()

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        if title.strip():
            self._change(chat_id, write=lambda: self._store.rename(chat_id, title.strip()))

    def pin(self, *chat_ids: str, pinned: bool) -> None:
        self._change(*chat_ids, write=lambda: self._store.pin(*chat_ids, pinned=pinned))

    def delete(self, *chat_ids: str) -> None:
        """Move chats to the bin; `undoable` follows."""
        chats = self._chats(chat_ids)
        for chat in chats:
            if session := self._sessions.get(chat.id):
                session.stop()
        if not chats or not self._try(lambda: self._store.delete(*(chat.id for chat in chats))):
            return
        self._loader.link.forget_chats(*(chat.id for chat in chats))
        prompt_cache_files.delete(*(chat.id for chat in chats))
        was_open = self.current.chat.id if self.current and self.current.chat.id in chat_ids else ""
        if was_open:
            self.open_new()
        self.undoable.emit(self._deletion(chats, was_open))
        self.refresh()

    def archive(self, *chat_ids: str, archived: bool = True) -> None:
        """Move chats to the archive, or back; `undoable` follows."""
        chats = [chat for chat in self._chats(chat_ids) if chat.archived != archived]
        chat_ids = tuple(chat.id for chat in chats)
        is_done = self._change(*chat_ids, write=lambda: self._store.archive(*chat_ids, archived=archived))
        words = (
            (self.tr("Archive"), self.tr("Archived {}"))
            if archived
            else (self.tr("Unarchive"), self.tr("Unarchived {}"))
        )

        def take_back() -> None:
            self._change(*chat_ids, write=lambda: self._store.archive(*chat_ids, archived=not archived))

        if chats and is_done:
            self.undoable.emit(self._undoable(chats, words, take_back))

    def offer_settings(self, session: ChatSession, own: dict[str, object], title: str, sentence: str) -> None:
        """Have `undoable` bring back the settings that a chat had of its own."""
        id_ = session.chat.id

        def take_back() -> None:
            if session := self._sessions.get(id_):
                session.change_settings(own)
            else:
                self._try(lambda: self._store.save_settings(id_, own))

        self.undoable.emit(
            Undoable(title, sentence, take_back, lambda: id_ in self._sessions or self._store.chat(id_) is not None)
        )

    def restore(self, *chat_ids: str) -> None:
        """Move chats from the bin to where they were; `undoable` follows."""
        chats = self._chats(chat_ids)
        is_done = self._change(*chat_ids, write=lambda: self._store.restore(*chat_ids))

        def take_back() -> None:
            self._change(*chat_ids, write=lambda: self._store.delete(*chat_ids))

        if chats and is_done:
            self.undoable.emit(self._undoable(chats, (self.tr("Restore"), self.tr("Restored {}")), take_back))

    def destroy(self, *chat_ids: str) -> None:
        """Delete chats of the bin for good; without ids, all that are in it."""
        chat_ids = chat_ids or tuple(chat.id for chat in self._store.chats(deleted=True))
        if chat_ids and self._try(lambda: self._store.destroy(*chat_ids)):
            self._destroyed.update(chat_ids)
            self.destroyed_chats.emit(len(chat_ids))
        self.refresh()

    def fork(self, message: int) -> None:
        """Open a copy of the open chat up to a message."""
        copy = self.current.fork(message) if self.current else None
        if copy:
            self.refresh()
            self.open(copy.id)

    def delete_outdated_caches(self) -> None:
        """Delete the prompt caches of chats that lost messages. The engine must have ended."""
        chat_ids = self._store.outdated_caches()
        if chat_ids:
            prompt_cache_files.delete(*chat_ids)
            self._try(self._store.forget_outdated_caches)

    def close(self) -> None:
        """Save unfinished answers and stop; what the history does not take goes into a copy for the next start."""
        self._list_timer.stop()
        self._search.close()
        for session in self._sessions.values():
            session.close()
        self._save_into_copy()
        if self._copy:
            self._try(self._copy.close)
            self._copy = None

    @Slot()
    def _save_into_copy(self) -> None:
        """Save what the history does not take in a copy, which the next start brings back, even after a crash."""
        unsaved = [session for session in self._sessions.values() if session.has_unsaved]
        if unsaved and self._copy is None:
            self._copy = standby.open_copy(self._store.path.parent, self._store.key)
        if self._copy:
            with suppress(HistoryError):  # the fault of the history is shown already
                for session in unsaved:
                    session.save_into(self._copy)

    @Slot()
    def _on_saved(self) -> None:
        """Remove the copy once the history has everything, and say so."""
        if any(session.has_unsaved for session in self._sessions.values()):
            return
        if self._copy:
            self._try(partial(standby.drop, self._copy))
            self._copy = None
        self.all_saved.emit()

    def _delete_orphaned_caches(self) -> None:
        """Delete the prompt caches of chats that are gone, after a kill or after a backup replaced the history."""
        if self._store.path.parent != paths.history_folder():  # a self-check of the window
            return
        self.delete_outdated_caches()
        if not self._settings.prompt_cache_gb:
            prompt_cache_files.delete_all()
        for chat_id in prompt_cache_files.chats():
            if chat_id == prompt_cache_files.TERMINAL and paths.last_chat().exists():
                continue
            chat = self._store.chat(chat_id)
            if chat is None or chat.deleted is not None:
                prompt_cache_files.delete(chat_id)

    def _chats(self, chat_ids: Sequence[str]) -> list[Chat]:
        """Return the chats that still exist."""
        chats: list[Chat] = []
        self._try(lambda: chats.extend(chat for chat in map(self._store.chat, chat_ids) if chat))
        return chats

    def _leave_bin(self) -> None:
        if self._place is ChatPlace.BIN:
            self._place = ChatPlace.LIST

    def _open_unbegun(self) -> None:
        self.leaving.emit()  # what is typed goes along
        self._open_session(self._unsaved_new_session() or self._new_session(None))

    def _open_session(self, session: ChatSession) -> None:
        before, self.current = self.current, session
        self._sessions[session.chat.id] = session
        self._try(lambda: self._store.remember(LAST_CHAT, session.chat.id))
        self.opened.emit(session)
        if before is not None and before is not session:
            self._drop_idle_sessions()
        self.refresh()

    @Slot()
    def _drop_idle_sessions(self) -> None:
        """Drop sessions that are neither open nor busy, and have everything on the disk."""
        for key, session in list(self._sessions.items()):
            if session is not self.current and not session.is_answering and not session.has_unsaved:
                del self._sessions[key]
                session.folder.close()
                session.deleteLater()

    def _restore_session(self, chat_id: str) -> ChatSession | None:
        with showing_errors(self._on_error):
            chat = self._store.chat(chat_id)
            if chat and chat.deleted is None:
                return self._new_session(chat)
        return None

    def _unsaved_new_session(self) -> ChatSession | None:
        """Return the chat without messages whose draft could not be saved."""
        unsaved = (each for each in self._sessions.values() if not each.is_stored and each.has_unsaved)
        return next((each for each in unsaved if each.chat.project == self._project), None)

    def _new_session(self, chat: Chat | None) -> ChatSession:
        project = self._store.project(self._project) if chat is None and self._project else None
        session = ChatSession(self._store, self._loader, self.events, chat, self._settings, self._tools, self, project)
        session.chat_changed.connect(self._list_soon)
        session.chat_changed.connect(self.changed)
        session.ended.connect(self._drop_idle_sessions)
        return session

    def _change(self, *chat_ids: str, write: Callable[[], None]) -> bool:
        """Change chats in the store; return whether that succeeded."""
        is_done = self._try(write)
        if is_done:
            for session in [self._sessions[key] for key in chat_ids if key in self._sessions]:
                self._refresh_session(session)
        self.refresh()
        return is_done

    def _refresh_session(self, session: ChatSession) -> None:
        """Update a session after its chat was changed in the store."""
        chat = self._store.chat(session.chat.id)
        if chat:
            session.refresh(chat)
            session.chat_changed.emit(session.chat)

    @Slot()
    def _list_soon(self) -> None:
        self._list_timer.start()

    def _list(self) -> None:
        if self._query:
            self._search.start(self._query, self._tag, self._project)
            return
        self._search.cancel()
        self._results = SearchResults("", (), is_complete=True)
        self._emit_listing()

    @Slot(object)
    def _on_search_results(self, results: SearchResults) -> None:
        self._results = results
        self._try(self._emit_listing)

    @Slot(str)
    def _on_error(self, sentence: str) -> None:
        self.events.error_occurred.emit(sentence, None)

    def _emit_listing(self) -> None:
        results = self._results
        chats = () if results.query else self._list_chats()
        has_more = len(chats) == self._limit
        tags, projects = self._store.tags(), self._store.projects()
        filters = (tags, self._tag, projects, self._project)
        found = (results.query, results.hits, results.is_complete)
        self.listed.emit(SidebarContent(chats, *filters, *found, has_more, self._place, *self._store.num_aside()))

    def _list_chats(self) -> tuple[Chat, ...]:
        if self._place is ChatPlace.BIN:
            return self._store.chats(deleted=True, limit=self._limit)
        is_archive = self._place is ChatPlace.ARCHIVE
        return self._store.chats(archived=is_archive, tag=self._tag, project=self._project, limit=self._limit)

    def _deletion(self, chats: list[Chat], was_open: str) -> Undoable:
        def take_back() -> None:
            ids = [chat.id for chat in chats]
            self._change(*ids, write=lambda: self._store.restore(*ids))
            if was_open:
                self.open(was_open)

        return self._undoable(chats, (self.tr("Delete"), self.tr("Deleted {}")), take_back)

    def _undoable(self, chats: list[Chat], words: tuple[str, str], take_back: Callable[[], object]) -> Undoable:
        """Return how to undo a change of chats. `words`: a verb, and a sentence with a place for the chats."""
        verb, sentence = words
        title = chats[0].title or self.tr("New chat")
        title = title if len(title) <= _MAX_TITLE else f"{title[: _MAX_TITLE - 1]}…"
        them = self.tr("{} chats").format(len(chats)) if len(chats) > 1 else self.tr("“{}”").format(title)
        ids = {chat.id for chat in chats}
        name = self.tr("{verb} {chats}").format(verb=verb, chats=them)
        return Undoable(name, sentence.format(them), take_back, lambda: not ids & self._destroyed)

    def _try(self, act: Callable[[], object]) -> bool:
        with showing_errors(self._on_error):
            act()
            return True
        return False


class TagsController(QObject):
    """Controller of the tags. Every change is on disk when its method returns."""

    changed = Signal(object)  # dict[str, str]: old names to new ones, "" for a tag that is gone
    undoable = Signal(object)  # Undoable
    error_occurred = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store

    def create(self, name: str, chats: Sequence[str] = ()) -> None:
        """Create a tag if it is new, and give it to chats."""
        with showing_errors(self.error_occurred.emit):
            self._store.create_tag(name, chats)
            self.changed.emit({})

    def rename(self, name: str, new: str) -> None:
        """Rename a tag; the name of another tag is refused."""
        if new.strip() and new.strip() != name:
            with showing_errors(self.error_occurred.emit):
                self.changed.emit({name: self._store.rename_tag(name, new)})

    def delete(self, name: str) -> None:
        """Delete a tag; its chats stay."""
        with showing_errors(self.error_occurred.emit):
            chats = self._store.delete_tag(name)
            self.changed.emit({name: ""})
            title, sentence = self.tr("Delete Tag “{}”").format(name), self.tr("Deleted tag “{}”").format(name)
            self.undoable.emit(Undoable(title, sentence, partial(self.create, name, chats)))

    def set_tag(self, chats: Sequence[str], name: str, tagged: bool) -> None:
        """Give a tag to chats, or take it from them."""
        if tagged:
            self.create(name, chats)
            return
        with showing_errors(self.error_occurred.emit):
            self._store.untag(name, chats)
            self.changed.emit({})
