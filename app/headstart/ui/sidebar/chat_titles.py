"""Has a model with nothing to do name the chats whose first message is too long for a title."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Slot

from headstart.chat.conversation import Chat, Role, first_title, title_of
from headstart.chat.store import Store
from headstart.computer import is_on_battery
from headstart.engine.engine import Message, Request, Sampling
from headstart.errors import HeadstartError
from headstart.ui import engine_request
from headstart.ui.chat.composer import Composer
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.sidebar.chats_controller import ChatsController

_PAUSE = 2000  # ms of rest before the model is asked
_LONGEST = 20  # tokens of a title


class TitleController(QObject):
    """Asks while nobody writes and nothing is answered; what is given up for something else is asked for again."""

    def __init__(
        self,
        chats: ChatsController,
        composer: Composer,
        loader: ModelLoader,
        store: Store,
        settings: CurrentSettings,
    ) -> None:
        """Asks nothing before an answer has ended."""
        super().__init__(composer)
        self._chats, self._composer, self._loader = chats, composer, loader
        self._store, self._settings = store, settings
        self._waiting: dict[str, None] = {}  # ids of chats, in order
        self._asked: tuple[int, str] | None = None  # ticket, id of the chat
        self._rest = QTimer(self, singleShot=True, interval=_PAUSE)
        self._rest.timeout.connect(self._ask)
        chats.events.answered.connect(self._note_answer)
        composer.changed.connect(self._begin_anew)
        loader.link.titled.connect(self._take)
        loader.link.restarted.connect(self._give_up)  # what was asked for may be what ended the engine

    def close(self) -> None:
        """Ask nothing more."""
        self._give_up()
        self._composer.changed.disconnect(self._begin_anew)

    @Slot(object)
    def _note_answer(self, chat: Chat) -> None:
        self._waiting[chat.id] = None
        self._rest.start()

    @Slot()
    def _begin_anew(self) -> None:
        if self._waiting:
            self._rest.start()

    @Slot()
    def _give_up(self) -> None:
        self._rest.stop()
        self._waiting.clear()
        self._asked = None

    @Slot()
    def _ask(self) -> None:
        choice, facts = self._settings.now.chat_titles, self._loader.link.facts
        if choice == "never" or (choice == "auto" and is_on_battery()) or facts is None or facts.server:
            self._give_up()
        elif self._loader.occupation:
            self._rest.start()
        elif not self._composer.text() and not self._composer.attached:  # else it changes once more
            self._ask_next()

    def _ask_next(self) -> None:
        while self._waiting:
            chat_id = next(iter(self._waiting))
            request = self._request(chat_id)
            if request:
                ticket = self._loader.link.write_title(request)
                self._asked = None if ticket is None else (ticket, chat_id)
                if ticket is None:
                    self._rest.start()
                return
            del self._waiting[chat_id]

    def _request(self, chat_id: str) -> Request | None:
        """The chat, which the model has just read, and the wish for a title behind it; None where none is wanted."""
        try:
            chat = self._store.chat(chat_id)
            conversation = self._store.conversation(chat_id)
        except HeadstartError:
            return None
        path = conversation.path
        if chat is None or chat.deleted is not None or not path or path[-1].role is not Role.ASSISTANT:
            return None
        settings = self._settings.now.for_chat(chat.settings)
        proposed = first_title(conversation)
        if chat.title != proposed or proposed == path[0].text.strip() or not self._loader.has_loaded(settings):
            return None
        wish = self.tr(
            "Write a title for this conversation, in its language and in at most six words. Answer with the title "
            "alone."
        )
        request = engine_request.request(path, settings)
        messages = (*request.messages, Message("user", wish))
        greedy = Sampling(temperature=0.0)
        return replace(request, messages=messages, max_new_tokens=_LONGEST, sampling=greedy, stop=("\n",))

    @Slot(int, object)
    def _take(self, ticket: int, text: str | None) -> None:
        if self._asked is None or self._asked[0] != ticket:
            return
        chat_id, self._asked = self._asked[1], None
        if text is not None and chat_id in self._waiting:
            del self._waiting[chat_id]
            self._rename(chat_id, text)
        if self._waiting:
            self._rest.start()

    def _rename(self, chat_id: str, answer: str) -> None:
        """Unless a person was quicker."""
        try:
            chat, conversation = self._store.chat(chat_id), self._store.conversation(chat_id)
        except HeadstartError:
            return
        title = title_of(answer, conversation.path[0].text) if conversation.path else ""
        if title and chat and chat.title == first_title(conversation):
            self._chats.rename(chat_id, title)
