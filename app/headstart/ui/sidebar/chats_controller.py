"""The chats and tags of the window, and the search in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QThread, QTimer, Signal, Slot

from headstart import kept_prompts, paths
from headstart.chat.conversation import Chat
from headstart.chat.database import Key
from headstart.chat.reader import Group, Hit, Reader, open_reader
from headstart.chat.store import Store
from headstart.settings import Settings
from headstart.ui.chat.chat_session import ChatEvents, ChatSession
from headstart.ui.chat.tools import ToolsController
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.undo_stack import Undoable

_AT_ONCE = 25  # hits shown together: more than a sidebar shows


@dataclass(frozen=True)
class Findings:
    """What a search has found so far."""

    query: str
    hits: tuple[Hit, ...]
    is_complete: bool


class Searching(QObject):
    """`found` follows each `begin`, several times if there are many hits, unless another `begin` comes first."""

    found = Signal(object)  # Findings
    error_occurred = Signal(str)
    _ordered = Signal(int, str, str, str)

    def __init__(self, folder: Path, parent: QObject | None = None, key: Key | None = None) -> None:
        """`folder` has the history, `key` is what it is encrypted with; the first search starts the thread."""
        super().__init__(parent)
        self._number = 0
        self._seeker = _Seeker(folder, key)
        self._thread = QThread(self)
        self._seeker.moveToThread(self._thread)
        self._ordered.connect(self._seeker.search)
        self._seeker.found.connect(self._take)
        self._seeker.failed.connect(self._take_fault)
        # In the thread itself: only there may its connection be closed.
        self._thread.finished.connect(self._seeker.close, Qt.ConnectionType.DirectConnection)

    def begin(self, query: str, tag: str = "", project: str = "") -> None:
        """Search, with a tag or project only in chats that have it; a search that is running ends."""
        self.forget()
        if not self._thread.isRunning():
            self._thread.start()
        self._ordered.emit(self._number, query, tag, project)

    def forget(self) -> None:
        """End the search that is running."""
        self._number += 1
        self._seeker.give_up(self._number)

    def close(self) -> None:
        """End the thread; harmless twice."""
        self.forget()
        self._thread.quit()
        self._thread.wait()

    @Slot(int, object)
    def _take(self, number: int, findings: Findings) -> None:
        if number == self._number:
            self.found.emit(findings)

    @Slot(int, str)
    def _take_fault(self, number: int, sentence: str) -> None:
        if number == self._number:
            self.error_occurred.emit(sentence)


class _Seeker(QObject):
    """Lives in the thread; only `give_up` is called from another."""

    found = Signal(int, object)
    failed = Signal(int, str)

    def __init__(self, folder: Path, key: Key | None) -> None:
        super().__init__()
        self._folder, self._key = folder, key
        self._reader: Reader | None = None
        self._newest = 0

    def give_up(self, newest: int) -> None:
        """End all searches before this number."""
        self._newest = newest
        if self._reader:
            self._reader.interrupt()

    @Slot(int, str, str, str)
    def search(self, number: int, query: str, tag: str, project: str) -> None:
        """Emit what is found, until another search is asked for."""
        if number != self._newest:
            return
        with showing_errors(partial(self.failed.emit, number)):
            self._search(number, query, tag, project)

    @Slot()
    def close(self) -> None:
        """Close the file."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def _search(self, number: int, query: str, tag: str, project: str) -> None:
        self._reader = self._reader or open_reader(self._folder, self._key)
        hits: list[Hit] = []
        for find in (self._reader.title_hits, self._reader.message_hits, self._reader.file_hits):
            for hit in find(query, tag=tag, project=project):
                hits.append(hit)
                if len(hits) % _AT_ONCE == 0:
                    self.found.emit(number, Findings(query, tuple(hits), is_complete=False))
            if number != self._newest:
                return
        self.found.emit(number, Findings(query, tuple(hits), is_complete=True))


LAST = "last chat"  # the memo with the chat that was open last; it may not be stored yet
_BIN_DAYS = 30
_LONGEST_TITLE = 40  # in a menu
_LISTED = 400  # chats; ten times as many rows as a screen shows, listed in a few milliseconds


@dataclass(frozen=True)
class Listing:
    """What the sidebar shows: chats, or what a search found, and the tags there are."""

    chats: tuple[Chat, ...]
    tags: tuple[Group, ...] = ()
    tag: str = ""  # only chats with this one are listed
    projects: tuple[Group, ...] = ()
    project: str = ""  # only chats in this one are listed
    query: str = ""
    hits: tuple[Hit, ...] = ()
    is_complete: bool = True  # whether the search has ended
    has_more: bool = False  # whether there are older chats than these


class ChatsController(QObject):
    """One chat is open; others are kept only while they get an answer."""

    opened = Signal(object)  # ChatSession
    listed = Signal(object)  # Listing
    undoable = Signal(object)  # Undoable

    def __init__(
        self,
        store: Store,
        loader: ModelLoader,
        settings: Settings,
        tools: ToolsController,
        parent: QObject | None = None,
    ) -> None:
        """Opens nothing yet."""
        super().__init__(parent)
        self._store, self._loader, self._settings, self._tools = store, loader, settings, tools
        self.events = ChatEvents(self)
        self.events.saved.connect(self._forget_idle)
        self._sessions: dict[str, ChatSession] = {}
        self._query, self._tag, self._project = "", "", ""
        self._room = _LISTED
        self._findings = Findings("", (), is_complete=True)
        self._searching = Searching(store.path.parent, self, store.key)
        self._searching.found.connect(self._take_findings)
        self._searching.error_occurred.connect(self._note_trouble)
        self._listing = QTimer(self, singleShot=True, interval=0)
        self._listing.timeout.connect(self.refresh)
        self.current: ChatSession | None = None

    def start(self) -> None:
        """Show the list, and the chat that was open last if the settings say so."""
        self._attempt(lambda: self._store.purge(_BIN_DAYS * 24 * 3600.0))
        self._attempt(self._delete_left)
        last = self._store.recall(LAST) if self._settings.restore_chat else None
        self.refresh()
        self.open(last) if last else self.open_new()

    def set_settings(self, settings: Settings) -> None:
        """The program's settings have changed."""
        if self._settings.prompt_cache_gb and not settings.prompt_cache_gb:
            self._loader.link.forget_chats()
            kept_prompts.delete_all()
        if self._settings.learn_from_answers and not settings.learn_from_answers:
            kept_prompts.delete_learned()
        self._settings = settings
        for session in self._sessions.values():
            session.program_settings = settings

    def open_new(self) -> None:
        """A chat without messages, in the project that is listed; the history gets it with the first."""
        if self.current is None or self.current.is_stored or self.current.chat.project != self._project:
            self._show(self._session(None))
        elif self.current:
            self.opened.emit(self.current)

    def open(self, chat_id: str, message: int | None = None) -> None:
        """Open a chat, with the versions in which `message` is shown; a new chat if it is gone."""
        session = self._sessions.get(chat_id) or self._restored(chat_id)
        if session is None:
            self.open_new()
            return
        if message is not None:
            session.show_message(message)
        self._show(session)

    def ask(self, question: str) -> ChatSession | None:
        """Ask in a chat of its own, which is not opened. None if that is not possible now: the events say why."""
        chats: list[Chat] = []
        if not self._attempt(lambda: chats.append(self._store.create_chat())):
            return None
        session = self._session(chats[0])
        if session.send(question):
            self._sessions[session.chat.id] = session
            return session
        session.deleteLater()
        self._attempt(lambda: self._store.delete(session.chat.id))
        return None

    def search(self, query: str) -> None:
        """List what contains these words, or all chats without words. The list stays until something is found."""
        self._query = query.strip()
        self.refresh()

    def filter(self, tag: str) -> None:
        """List only chats with this tag; "" lists all."""
        self._tag, self._room = tag, _LISTED
        self.refresh()

    def filter_project(self, name: str) -> None:
        """List only chats in this project, and put new ones into it; "" lists all."""
        self._project, self._room = name, _LISTED
        self.refresh()
        if self.current and not self.current.is_stored:
            self.open_new()

    def move(self, chat_ids: Sequence[str], project: str) -> None:
        """Put chats into a project; "": into none."""
        self._change(*chat_ids, write=lambda: self._store.move(chat_ids, project))

    @Slot(object)
    def follow_projects(self, renamed: dict[str, str]) -> None:
        """Projects were changed: see `follow_tags`."""
        self.follow_tags({})
        self.filter_project(renamed.get(self._project, self._project))

    @Slot()
    def list_more(self) -> None:
        """The list was scrolled to its end."""
        self._room *= 2
        self.refresh()

    @Slot(object)
    def follow_tags(self, renamed: dict[str, str]) -> None:
        """Tags were changed: old names to new ones, "" for those that are gone."""
        self._tag = renamed.get(self._tag, self._tag)
        for session in self._sessions.values():
            self._tell(session)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """List again."""
        self._attempt(self._list)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        if title.strip():
            self._change(chat_id, write=lambda: self._store.rename(chat_id, title.strip()))

    def pin(self, *chat_ids: str, pinned: bool) -> None:
        """Pin chats, or unpin them."""
        self._change(*chat_ids, write=lambda: self._store.pin(*chat_ids, pinned=pinned))

    def delete(self, *chat_ids: str) -> None:
        """Put chats in the bin; `undoable` follows."""
        chats: list[Chat] = []
        self._attempt(lambda: chats.extend(chat for chat in map(self._store.chat, chat_ids) if chat))
        for chat in chats:
            if session := self._sessions.get(chat.id):
                session.stop()
        if not chats or not self._attempt(lambda: self._store.delete(*(chat.id for chat in chats))):
            return
        self._loader.link.forget_chats(*(chat.id for chat in chats))
        kept_prompts.delete(*(chat.id for chat in chats))
        was_open = self.current.chat.id if self.current and self.current.chat.id in chat_ids else ""
        if was_open:
            self.open_new()
        self.undoable.emit(self._deletion(chats, was_open))
        self.refresh()

    def fork(self, message: int) -> None:
        """Open a new chat that begins like the one open, up to a message."""
        made = self.current.fork(message) if self.current else None
        if made:
            self.refresh()
            self.open(made.id)

    def close(self) -> None:
        """The window closes: save unfinished answers."""
        self._listing.stop()
        self._searching.close()
        for session in self._sessions.values():
            session.close()

    def _delete_left(self) -> None:
        """What models keep of chats that are gone: after a kill, or in a history that an older backup has replaced."""
        if self._store.path.parent != paths.history_folder():  # the window tries itself out
            return
        if not self._settings.prompt_cache_gb:
            kept_prompts.delete_all()
        if not self._settings.learn_from_answers:
            kept_prompts.delete_learned()
        for chat_id in kept_prompts.chats():
            if chat_id == kept_prompts.TERMINAL and paths.last_chat().exists():
                continue
            chat = self._store.chat(chat_id)
            if chat is None or chat.deleted is not None:
                kept_prompts.delete(chat_id)

    def _show(self, session: ChatSession) -> None:
        before, self.current = self.current, session
        self._sessions[session.chat.id] = session
        self._attempt(lambda: self._store.remember(LAST, session.chat.id))
        self.opened.emit(session)
        if before is not None and before is not session:
            self._forget_idle()
        self.refresh()

    @Slot()
    def _forget_idle(self) -> None:
        """Drop sessions that are neither open nor busy: all they have is on disk."""
        for key, session in list(self._sessions.items()):
            if session is not self.current and not session.is_answering and not session.is_behind:
                del self._sessions[key]
                session.deleteLater()

    def _restored(self, chat_id: str) -> ChatSession | None:
        with showing_errors(self._note_trouble):
            chat = self._store.chat(chat_id)
            if chat and chat.deleted is None:
                return self._session(chat)
        return None

    def _session(self, chat: Chat | None) -> ChatSession:
        project = self._store.project(self._project) if chat is None and self._project else None
        session = ChatSession(self._store, self._loader, self.events, chat, self._settings, self._tools, self, project)
        session.recorded.connect(self._list_soon)
        session.ended.connect(self._forget_idle)
        return session

    def _change(self, *chat_ids: str, write: Callable[[], None]) -> None:
        if self._attempt(write):
            for session in [self._sessions[key] for key in chat_ids if key in self._sessions]:
                self._tell(session)
        self.refresh()

    def _tell(self, session: ChatSession) -> None:
        """Update a session whose chat was changed in the store."""
        chat = self._store.chat(session.chat.id)
        if chat:
            session.refresh(chat)
            session.recorded.emit(session.chat)

    @Slot()
    def _list_soon(self) -> None:
        self._listing.start()

    def _list(self) -> None:
        if self._query:
            self._searching.begin(self._query, self._tag, self._project)
            return
        self._searching.forget()
        self._findings = Findings("", (), is_complete=True)
        self._emit_listing()

    @Slot(object)
    def _take_findings(self, findings: Findings) -> None:
        self._findings = findings
        self._attempt(self._emit_listing)

    @Slot(str)
    def _note_trouble(self, sentence: str) -> None:
        self.events.error_occurred.emit(sentence, None)

    def _emit_listing(self) -> None:
        found = self._findings
        chats = () if found.query else self._store.chats(tag=self._tag, project=self._project, most=self._room)
        has_more = len(chats) == self._room
        tags, projects = self._store.tags(), self._store.projects()
        within = (tags, self._tag, projects, self._project)
        self.listed.emit(Listing(chats, *within, found.query, found.hits, found.is_complete, has_more))

    def _deletion(self, chats: list[Chat], was_open: str) -> Undoable:
        def take_back() -> None:
            ids = [chat.id for chat in chats]
            self._change(*ids, write=lambda: self._store.restore(*ids))
            if was_open:
                self.open(was_open)

        if len(chats) > 1:
            words, told = self.tr("Delete {} Chats"), self.tr("Deleted {} chats")
            return Undoable(words.format(len(chats)), told.format(len(chats)), take_back)
        title = chats[0].title or self.tr("New chat")
        title = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
        words, told = self.tr("Delete “{}”"), self.tr("Deleted “{}”")
        return Undoable(words.format(title), told.format(title), take_back)

    def _attempt(self, act: Callable[[], object]) -> bool:
        with showing_errors(self._note_trouble):
            act()
            return True
        return False


class TagsController(QObject):
    """Every change is on disk when its method returns."""

    changed = Signal(object)  # dict[str, str]: old names to new ones, "" for a tag that is gone
    undoable = Signal(object)  # Undoable
    error_occurred = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        """Reads nothing yet."""
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
        """Remove a tag; its chats stay."""
        with showing_errors(self.error_occurred.emit):
            had = self._store.delete_tag(name)
            self.changed.emit({name: ""})
            words, told = self.tr("Delete Tag “{}”").format(name), self.tr("Deleted tag “{}”").format(name)
            self.undoable.emit(Undoable(words, told, partial(self.create, name, had)))

    def mark(self, chats: Sequence[str], name: str, given: bool) -> None:
        """Give a tag to chats, or take it from them."""
        if given:
            self.create(name, chats)
            return
        with showing_errors(self.error_occurred.emit):
            self._store.untag(name, chats)
            self.changed.emit({})
