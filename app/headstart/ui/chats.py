"""The chats of the window: which is open, which still gets an answer, and what the sidebar does to them. No widget."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.reader import Hit
from headstart.chat.record import Chat
from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.settings import Settings
from headstart.ui.chat_session import ChatSession
from headstart.ui.model_loader import ModelLoader

LAST = "last chat"  # the memo that keeps the chat last open
_BIN_DAYS = 30


@dataclass(frozen=True)
class Listing:
    """What the sidebar shows: chats, or what a search found."""

    chats: tuple[Chat, ...]
    hits: tuple[Hit, ...] = ()
    query: str = ""


class Chats(QObject):
    """One chat is open; others live on only while an answer is written into them."""

    opened = Signal(object)  # ChatSession
    listed = Signal(object)  # Listing
    answered = Signal(str, str, float)  # in whichever chat: its title, the text, seconds it took
    removed = Signal(object)  # Chat that is in the bin now
    troubled = Signal(str)

    def __init__(self, store: Store, loader: ModelLoader, settings: Settings, parent: QObject | None = None) -> None:
        """Opens nothing yet."""
        super().__init__(parent)
        self._store, self._loader, self._settings = store, loader, settings
        self._sessions: dict[str, ChatSession] = {}
        self._query = ""
        self._listing = QTimer(self, singleShot=True, interval=0)
        self._listing.timeout.connect(self.refresh)
        self.current: ChatSession | None = None

    def start(self) -> None:
        """Show the list and the chat last open, if that is wanted."""
        self._attempt(lambda: self._store.purge(_BIN_DAYS * 24 * 3600.0))
        last = self._store.recall(LAST) if self._settings.restore_chat else None
        self.refresh()
        self.open(last) if last else self.open_new()

    def set_settings(self, settings: Settings) -> None:
        """The program's settings have changed."""
        self._settings = settings
        for session in self._sessions.values():
            session.program_settings = settings

    def open_new(self) -> None:
        """A chat without messages; the history gets it with the first."""
        if self.current is None or self.current.is_stored:
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

    def search(self, query: str) -> None:
        """List what holds these words; all chats when there are none."""
        self._query = query.strip()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """List again."""
        self._attempt(self._list)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title."""
        if title.strip():
            self._change(chat_id, lambda: self._store.rename(chat_id, title.strip()))

    def pin(self, chat_id: str, *, pinned: bool) -> None:
        """Keep a chat on top, or not."""
        self._change(chat_id, lambda: self._store.pin(chat_id, pinned=pinned))

    def delete(self, chat_id: str) -> None:
        """Put a chat in the bin; `removed` follows, and `restore` takes it out again."""
        chat = self._store.chat(chat_id)
        session = self._sessions.get(chat_id)
        if session:
            session.stop()
        if chat and self._attempt(lambda: self._store.delete(chat_id)):
            if self.current and self.current.chat.id == chat_id:
                self.open_new()
            self.removed.emit(chat)
        self.refresh()

    def restore(self, chat_id: str) -> None:
        """Take a chat out of the bin and open it."""
        self._change(chat_id, lambda: self._store.restore(chat_id))
        self.open(chat_id)

    def fork(self, message: int) -> None:
        """Open a new chat that begins like the one open, up to a message."""
        made = self.current.fork(message) if self.current else None
        if made:
            self.refresh()
            self.open(made.id)

    def close(self) -> None:
        """The window closes: keep what came of answers being written."""
        self._listing.stop()
        for session in self._sessions.values():
            session.close()

    def _show(self, session: ChatSession) -> None:
        before, self.current = self.current, session
        self._sessions[session.chat.id] = session
        self._attempt(lambda: self._store.remember(LAST, session.chat.id if session.is_stored else None))
        self.opened.emit(session)
        if before is not None and before is not session:
            self._forget_idle()
        self.refresh()

    @Slot()
    def _forget_idle(self) -> None:
        """Sessions that are neither open nor busy have nothing that is not on disk."""
        for key, session in list(self._sessions.items()):
            if session is not self.current and not session.is_answering:
                del self._sessions[key]
                session.deleteLater()

    def _restored(self, chat_id: str) -> ChatSession | None:
        found: list[ChatSession] = []

        def read() -> None:
            chat = self._store.chat(chat_id)
            if chat and chat.deleted is None:
                found.append(self._session(chat))

        self._attempt(read)
        return found[0] if found else None

    def _session(self, chat: Chat | None) -> ChatSession:
        session = ChatSession(self._store, self._loader, chat, self._settings, self)
        session.recorded.connect(self._note_record)
        session.troubled.connect(self.troubled)
        session.ended.connect(self._forget_idle)
        session.answered.connect(self.answered)
        return session

    @Slot(object)
    def _note_record(self, chat: Chat) -> None:
        if chat.id not in self._sessions:  # its first message gave it a place in the history, and an id
            self._sessions = {session.chat.id: session for session in self._sessions.values()}
            self._attempt(lambda: self._store.remember(LAST, chat.id))
        self._listing.start()

    def _change(self, chat_id: str, write: Callable[[], None]) -> None:
        if self._attempt(write):
            session, chat = self._sessions.get(chat_id), self._store.chat(chat_id)
            if session and chat:
                session.refresh(chat)
                session.recorded.emit(session.chat)
        self.refresh()

    def _list(self) -> None:
        hits = self._store.search(self._query) if self._query else ()
        self.listed.emit(Listing(self._store.chats(), hits, self._query))

    def _attempt(self, act: Callable[[], object]) -> bool:
        try:
            act()
        except HistoryError as error:
            self.troubled.emit(str(error))
            return False
        return True
