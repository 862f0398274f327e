"""Titles of chats, written by an idle model if the first message is too long for a title."""

from dataclasses import replace

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Slot

from headstart.chat.conversation import Chat, Role, first_title, title_of
from headstart.chat.history.store import Store
from headstart.engine.engine import ConversationRequest, Message, Sampling
from headstart.engine.hardware.machine import is_on_battery
from headstart.errors import HeadstartError
from headstart.ui import engine_request
from headstart.ui.composer.composer import Composer
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.sidebar.chats_controller import ChatsController

_PAUSE_MS = 2000  # without typing, before a request
_MAX_TOKENS = 20  # of a title


class TitleController(QObject):
    """Controller that requests titles while no one types and no answer is written. Dropped requests are repeated."""

    def __init__(
        self,
        chats: ChatsController,
        composer: Composer,
        loader: ModelLoader,
        store: Store,
        settings: CurrentSettings,
    ) -> None:
        """Request nothing until an answer has ended."""
        super().__init__(composer)
        self._chats, self._composer, self._loader = chats, composer, loader
        self._store, self._settings = store, settings
        self._pending: dict[str, None] = {}  # ids of chats, in order
        self._request_sent: tuple[int, str] | None = None  # ticket, id of the chat
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._on_pause)
        chats.events.answered.connect(self._on_answered)
        composer.changed.connect(self._on_composer_changed)
        loader.link.titled.connect(self._on_titled)
        loader.link.restarted.connect(self._cancel_all)  # the request may have ended the engine

    def close(self) -> None:
        """Stop requesting titles."""
        self._cancel_all()
        self._composer.changed.disconnect(self._on_composer_changed)

    @Slot(object)
    def _on_answered(self, chat: Chat) -> None:
        self._pending[chat.id] = None
        self._pause.start()

    @Slot()
    def _on_composer_changed(self) -> None:
        if self._pending:
            self._pause.start()

    @Slot()
    def _cancel_all(self) -> None:
        self._pause.stop()
        self._pending.clear()
        self._request_sent = None

    @Slot()
    def _on_pause(self) -> None:
        choice, model_info = self._settings.now.chat_titles, self._loader.link.model_info
        if choice == "never" or (choice == "auto" and is_on_battery()) or model_info is None or model_info.server:
            self._cancel_all()
        elif self._loader.occupation:
            self._pause.start()
        elif not self._composer.text() and not self._composer.attached:  # else the prompt is about to change
            self._request_next()

    def _request_next(self) -> None:
        while self._pending:
            chat_id = next(iter(self._pending))
            request = self._request(chat_id)
            if request:
                ticket = self._loader.link.write_title(request)
                self._request_sent = None if ticket is None else (ticket, chat_id)
                if ticket is None:
                    self._pause.start()
                return
            del self._pending[chat_id]

    def _request(self, chat_id: str) -> ConversationRequest | None:
        """Build the request: the chat, which the model has just read, and an instruction. None if it needs no title."""
        try:
            chat = self._store.chat(chat_id)
            conversation = self._store.conversation(chat_id)
        except HeadstartError:
            return None
        path = conversation.path
        if chat is None or chat.deleted is not None or not path or path[-1].role is not Role.ASSISTANT:
            return None
        settings = self._settings.now.for_chat(chat.settings)
        default = first_title(conversation)
        model = self._loader.info(settings)
        if chat.title != default or default == path[0].text.strip() or model is None:
            return None
        instruction = self.tr(
            "Write a title for this conversation, in its language and in at most six words. Answer with the title "
            "alone."
        )
        request = engine_request.request(path, replace(settings, think=False, think_budget=0), model)
        messages = (*request.messages, Message("user", instruction))
        sampling = Sampling(temperature=0.0)
        return structs.replace(request, messages=messages, max_new_tokens=_MAX_TOKENS, sampling=sampling, stop=("\n",))

    @Slot(int, object)
    def _on_titled(self, ticket: int, text: str | None) -> None:
        if self._request_sent is None or self._request_sent[0] != ticket:
            return
        chat_id, self._request_sent = self._request_sent[1], None
        if text is not None and chat_id in self._pending:
            del self._pending[chat_id]
            self._rename(chat_id, text)
        if self._pending:
            self._pause.start()

    def _rename(self, chat_id: str, answer: str) -> None:
        """Rename a chat, unless the user has renamed it meanwhile."""
        try:
            chat, conversation = self._store.chat(chat_id), self._store.conversation(chat_id)
        except HeadstartError:
            return
        title = title_of(answer, conversation.path[0].text) if conversation.path else ""
        if title and chat and chat.title == first_title(conversation):
            self._chats.rename(chat_id, title)
