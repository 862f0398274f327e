"""One open chat: what it holds and what can be done to it."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import (
    Attachment,
    Chat,
    Conversation,
    Message,
    Outcome,
    Passage,
    Project,
    Role,
    State,
    first_title,
)
from headstart.chat.store import UNSENT, Store, new_id
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, Finish, FinishReason, Keep, Prefill, Request, Step
from headstart.engine.protocol import Failed, Load
from headstart.engine.stats import merge_stats
from headstart.errors import EngineBusyError, HeadstartError, HistoryError
from headstart.settings import Settings
from headstart.tools.loop import REFUSED, Result, ToolLoop, offering, unknown
from headstart.tools.servers import Offer
from headstart.ui import engine_request
from headstart.ui.chat import live_answer
from headstart.ui.chat.live_answer import NOTICE, ROUNDS, LiveAnswer
from headstart.ui.chat.tools import ToolsController
from headstart.ui.formatting import sentences, whole
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.progress import Cause

_SAVE_EVERY = 700  # ms: a kill must cost less than a second of text, and timers come late
_RETRY_MS = 4000


class ChatEvents(QObject):
    """What happens in any chat, open or not."""

    answered = Signal(object, str, float)  # Chat, the text, seconds it took
    error_occurred = Signal(str, object)  # a sentence, and its Cause or None
    hint_shown = Signal(str)  # a sentence on what nothing went wrong with
    saved = Signal()  # what could not be saved is saved now


class ChatSession(QObject):
    """Changes and saves one chat. A change is on disk when its method returns, streamed text within a second."""

    reset = Signal()  # other messages are shown: ask `path`
    began = Signal(int)  # the answer with this id is being written
    waiting = Signal(str)  # what the answer waits for; empty when it is being written
    text_appended = Signal(int, object)  # its id, tuple[Step, ...]
    approval_needed = Signal()  # whether a tool may be called, or no longer: see `asked`
    tool_called = Signal(int)  # a tool, by the answer with this id
    ended = Signal(int)  # nothing more will come to it
    recorded = Signal(object)  # Chat: title, settings or time changed

    def __init__(
        self,
        store: Store,
        loader: ModelLoader,
        events: ChatEvents,
        chat: Chat | None,
        settings: Settings,
        tools: ToolsController,
        parent: QObject,
        project: Project | None = None,
    ) -> None:
        """Without `chat` it is a new one, in `project` if that is given, which is stored with its first message."""
        super().__init__(parent)
        self._store, self._loader, self._events, self._tools = store, loader, events, tools
        self._is_stored = chat is not None
        self.chat = chat or Chat(new_id(), "", 0.0, 0.0, draft=store.recall(UNSENT) or "")
        self._asked = 0.0
        self.conversation = store.conversation(self.chat.id) if chat else Conversation()
        self._saved = self.conversation  # behind what is shown only while an answer cannot be saved
        self._is_told = False  # that saving goes wrong
        self._retrying = QTimer(self, singleShot=True, interval=_RETRY_MS)
        self._retrying.timeout.connect(self._catch_up)
        self.draft_files = store.draft_files(self.chat.id if chat else None)
        self._given = project.files if project else ()  # files that need not be kept with the draft
        if project:
            self.chat = replace(self.chat, project=project.name, settings=project.settings)
            self.draft_files = (*self._given, *(file for file in self.draft_files if file not in self._given))
        self.program_settings = settings
        self.live: LiveAnswer | None = None  # the answer being written; however the engine fares, `ended` follows
        self.pending_call: tuple[Call, Offer] | None = None  # waits for a person's word: see `decide`
        self._calling: CancelEvent | None = None  # of the tool that is being called
        # Tools that are called without asking; not kept, as chats come from files, too.
        self._allowed: set[tuple[str, str]] = set()
        self.wait = ""  # what it waits for, in words
        self._saving = QTimer(self, interval=_SAVE_EVERY)
        self._saving.timeout.connect(self._save_partial)
        loader.link.steps.connect(self._take_steps)
        loader.link.prefill.connect(self._note_reading)
        loader.link.finished.connect(self._take_finish)
        loader.link.failed.connect(self._take_failure)
        loader.link.crashed.connect(self._take_crash)
        loader.changed.connect(self._note_loading)

    @property
    def is_stored(self) -> bool:
        """Whether the history has this chat."""
        return self._is_stored

    @property
    def is_behind(self) -> bool:
        """Whether the history lacks an answer that is shown."""
        return self._saved is not self.conversation

    @property
    def path(self) -> tuple[Message, ...]:
        """The messages shown. The one being written has its text so far."""
        return tuple(self._as_it_is(message) for message in self.conversation.path)

    @property
    def is_answering(self) -> bool:
        """Whether an answer is being written into this chat."""
        return self.live is not None

    @property
    def settings(self) -> Settings:
        """The program's settings with this chat's own over them."""
        return self.program_settings.for_chat(self.chat.settings)

    def message(self, id_: int) -> Message:
        """A message as it is now."""
        return self._as_it_is(self.conversation.messages[id_])

    def change_settings(self, own: dict[str, object]) -> None:
        """Give the chat its own settings, used from the next message on."""
        self.chat = replace(self.chat, settings=own)
        if self._is_stored:
            self._keep(lambda: self._store.save_settings(self.chat.id, own))
        self.recorded.emit(self.chat)

    def send(self, text: str, attachments: Iterable[Attachment] = (), passages: Iterable[Passage] = ()) -> bool:
        """Ask a question and start the answer. Returns False if that is not possible now; `troubled` says why."""
        if not self._is_free() or not self._commit(self.conversation.ask(text, attachments, passages)):
            return False
        self._propose_title()
        self.reset.emit()
        self.answer_last()
        return True

    def answer_last(self) -> None:
        """Start the answer to the last question, which has none yet."""
        if not self._is_free():
            return
        settings = self.settings
        self._answer(self.conversation.begin_answer(self._loader.name(settings), settings.chat_values()), settings)

    def request(self, messages: Iterable[Message], settings: Settings | None = None) -> Request:
        """What the engine is asked for an answer, or for the rest of one if the messages end with it."""
        settings = settings or self.settings
        request = replace(engine_request.request(messages, settings), keep=self._on_disk(settings))
        return offering(request, self._tools.offered)

    def stop(self) -> None:
        """Stop the answer being written and keep its text."""
        if self.live and (self.pending_call or self._calling):
            self._finish(State.STOPPED, {**self.live.earlier, live_answer.FINISH: FinishReason.CANCELLED.value})
        elif self.live:
            self._loader.link.cancel()

    def decide(self, *, allowed: bool, always: bool = False) -> None:
        """Call the tool that was asked about, or do not; `always`: and do not ask again in this chat."""
        if self.pending_call is None:
            return
        (call, offer), self.pending_call = self.pending_call, None
        self.approval_needed.emit()
        if always:
            self._allowed.add(offer.key)
        if allowed:
            self._set_wait(self.tr("Calling {}…").format(call.name))
            self._calling = cancel = CancelEvent()
            self._tools.call(offer, call.arguments, cancel, partial(self._take_called, call, cancel))
        else:
            self._take_result(call, REFUSED)

    def regenerate(self, id_: int, temperature: float | None = None) -> None:
        """Write another version of this answer with the next seed, and with `temperature` if given."""
        if not self._is_free():
            return
        usual, tries = self.settings, len(self.conversation.versions(id_))
        changed: dict[str, object] = {"seed": usual.sampling.seed + tries}
        settings = usual.with_values(changed if temperature is None else changed | {"temperature": temperature})
        model, values = self._loader.name(settings), settings.chat_values()
        stays_same = self._temperature(settings) == 0 and self._is_made_so(self.message(id_), model, values)
        self._answer(self.conversation.regenerate(id_, model, values), settings)
        if stays_same:
            self._events.hint_shown.emit(
                self.tr("At temperature 0 the same question gets the same answer; raise it to see others.")
            )

    def answer_otherwise(self, id_: int, changed: Mapping[str, object]) -> None:
        """Write another version of this answer with its own settings and seed but for what is `changed`."""
        if self._is_free():
            settings = self.settings.with_values({**self.message(id_).settings, **changed})
            model = self._loader.name(settings)
            self._answer(self.conversation.regenerate(id_, model, settings.chat_values()), settings)

    def _temperature(self, settings: Settings) -> float | None:
        """The temperature used: the model's own if it is automatic, None if that is unknown."""
        own = self._loader.link.facts.sampling if self._loader.link.facts else None
        usual = own.temperature if own else None
        return usual if "temperature" in settings.sampling.automatic else settings.sampling.temperature

    def _is_made_so(self, message: Message, model: str, values: dict[str, object]) -> bool:
        """Whether this is a whole answer of the same model with the same settings except the seed."""
        made = {**message.settings, "seed": values["seed"]}
        is_whole = message.state is State.COMPLETE and not message.edited
        return is_whole and message.model == model and made == values

    def resume(self, id_: int, *, stop_on_repetition: bool = True) -> None:
        """Continue this answer from its end."""
        if self._is_free():
            resumed = self.conversation.resume(id_, NOTICE, live_answer.FINISH)
            self._answer(resumed, self.settings, stop_on_repetition=stop_on_repetition)

    def edit(
        self, id_: int, text: str, attachments: Iterable[Attachment] = (), passages: Iterable[Passage] = ()
    ) -> bool:
        """Add a version with this text; a question is answered again. Returns False if that is not possible now."""
        if not self._is_free() or not self._commit(self.conversation.edit(id_, text, attachments, passages)):
            return False
        self.reset.emit()
        if self.conversation.messages[id_].role is Role.USER:
            self.answer_last()
        return True

    def walk(self, id_: int, by: int) -> None:
        """Show a neighbouring version."""
        if self._is_at_rest() and self._commit(self.conversation.walk(id_, by)):
            self.reset.emit()

    def show_message(self, id_: int) -> None:
        """Choose the versions in which this message is shown."""
        known = self.conversation.messages
        shown = {message.id for message in self.conversation.path}
        if id_ in known and id_ not in shown and self._is_at_rest() and self._commit(self.conversation.show(id_)):
            self.reset.emit()

    def remove(self, id_: int) -> Conversation | None:
        """Delete one message. Returns the conversation before it, for `undo`."""
        before = self.conversation
        if not self._is_at_rest() or not self._commit(self.conversation.remove(id_)):
            return None
        self.reset.emit()
        return before

    def undo(self, before: Conversation) -> None:
        """Go back to an earlier conversation."""
        if self._is_at_rest() and self._commit(before):
            self.reset.emit()

    def fork(self, id_: int) -> Chat | None:
        """A new chat that begins like this one up to a message."""
        title = self.tr("{} (fork)").format(self.chat.title)
        chat = replace(self.chat, id=new_id(), title=title, pinned=False, draft="")
        made = self._keep(lambda: self._store.add(chat, self.conversation.fork(id_)))
        return self._store.chat(chat.id) if made else None

    def save_draft(self, draft: str, files: tuple[Attachment, ...] = ()) -> None:
        """Save the unsent text and its files."""
        chat_id = self.chat.id if self._is_stored else None
        kept = files if self._is_stored else tuple(file for file in files if file not in self._given)
        if files != self.draft_files and self._keep(lambda: self._store.save_draft_files(chat_id, kept)):
            self.draft_files = files
        if draft == self.chat.draft:
            return
        self.chat = replace(self.chat, draft=draft)
        if self._is_stored:
            self._keep(lambda: self._store.save_draft(self.chat.id, draft))
        else:
            self._keep(lambda: self._store.remember(UNSENT, draft or None))

    def refresh(self, chat: Chat) -> None:
        """Take over a title or pin that was changed elsewhere."""
        self.chat = replace(chat, draft=self.chat.draft)

    def close(self) -> None:
        """Save the text of an answer being written; the next start marks it as interrupted."""
        self._save_partial()
        self._saving.stop()
        self._retrying.stop()
        self._give_up_call()
        self.live = None
        if self.is_behind:
            self._keep_trying(lambda: self._write(self.conversation))

    def _answer(self, conversation: Conversation, settings: Settings, *, stop_on_repetition: bool = True) -> None:
        """`conversation` has the answer to be written as its last message, empty or with a beginning."""
        message = conversation.last
        assert message
        try:
            request = self.request(conversation.upto(message.id), settings)
            request = replace(request, stop_on_repetition=stop_on_repetition)
            self._loader.require(settings)
        except HeadstartError as error:
            self._events.error_occurred.emit(
                translate_error(error), Cause.BUSY if isinstance(error, EngineBusyError) else Cause.MODEL
            )
            return
        if self._commit(conversation):
            self._asked = time.monotonic()
            loop = ToolLoop(request, message.text, message.calls)
            self.live = live_answer.resumed(message, self._loader.link.generate(request), loop, settings)
            self._saving.start()
            self.reset.emit()
            self.began.emit(message.id)
            self._set_wait(self._loader.progress or self.tr("Waiting for the model…"))

    def _on_disk(self, settings: Settings) -> Keep | None:
        """Beside an encrypted history nothing readable is kept."""
        if not settings.prompt_cache_gb:
            return None
        key = self._store.key.derived("kept prompts", 64).hex() if self._store.key else ""
        return Keep(self.chat.id, round(settings.prompt_cache_gb * 1e9), key, settings.learn_from_answers)

    @Slot()
    def _note_loading(self) -> None:
        if self.is_answering and self._loader.progress:
            self._set_wait(self._loader.progress)

    @Slot(int, object)
    def _note_reading(self, generation: int, progress: Prefill) -> None:
        if self._is_mine(generation):
            words = self.tr("Reading the conversation: {done} of {total} tokens").format(
                done=whole(progress.done), total=whole(progress.total)
            )
            note = translate_error(progress.note)
            self._set_wait(sentences(words, note) if note and progress.total else note or words)

    @Slot(int, object)
    def _take_steps(self, generation: int, steps: tuple[Step, ...]) -> None:
        if self.live and self._is_mine(generation):
            self._grow(tuple(map(self.live.loop.take, steps)))
            self._set_wait("")

    @Slot(int, object)
    def _take_finish(self, generation: int, finish: Finish) -> None:
        if self.live and self._is_mine(generation):
            stopped = finish.reason is FinishReason.CANCELLED
            rest, call = self.live.loop.end()
            if rest:
                self._grow((rest,))
            kept = live_answer.keep(merge_stats(finish.stats, self.live.earlier), finish.reason)
            if call and not stopped:
                self.live.earlier = kept
                self._ask(call)
                return
            self._finish(State.STOPPED if stopped else State.COMPLETE, kept)

    def _grow(self, steps: tuple[Step, ...]) -> None:
        assert self.live
        self.live.grow(steps)
        self.text_appended.emit(self.live.message, steps)

    def _ask(self, call: Call) -> None:
        """About a call, unless that was answered before."""
        offer = self._tools.offer(call.name)
        if offer is None:
            self._take_result(call, unknown(call))
            return
        self.pending_call = call, offer
        if offer.key in self._allowed:
            self.decide(allowed=True)
        else:
            self._set_wait(self.tr("Waiting for you: may {} be called?").format(call.name))
            self.approval_needed.emit()

    def _take_called(self, call: Call, cancel: CancelEvent, result: Result) -> None:
        if self._calling is cancel:  # else the answer was stopped meanwhile
            self._calling = None
            self._take_result(call, result)

    def _take_result(self, call: Call, result: Result) -> None:
        """Keep what a tool gave, and let the model go on."""
        live = self.live
        assert live
        made = live.loop.give(call, result)
        written = self.conversation.write(live.message, live.text, live.runs)
        self.conversation, live.saved = written.call(live.message, made), len(live.text)
        self._keep_trying(lambda: self._write(self.conversation))
        self.tool_called.emit(live.message)
        try:
            if self._loader.link.generation is not None:
                raise EngineBusyError("Another answer was begun meanwhile; continue this one when that has ended.")
            self._loader.require(live.settings)
        except HeadstartError as error:
            self._finish(State.INTERRUPTED, {**live.earlier, NOTICE: translate_error(error)})
            return
        live.generation = self._loader.link.generate(live.loop.request)
        self._set_wait(self._loader.progress or self.tr("Waiting for the model…"))

    def _give_up_call(self) -> None:
        cancel, self._calling = self._calling, None
        if cancel:
            cancel.set()
        if self.pending_call:
            self.pending_call = None
            self.approval_needed.emit()

    @Slot(str, object)
    def _take_failure(self, sentence: str, failed: Failed) -> None:
        if self.live and failed.order == Load.__name__:  # why is told above the message box, with what can be done
            self._finish(State.INTERRUPTED, {NOTICE: self.tr("The model could not be loaded.")})
        elif self._is_mine(failed.generation):
            self._finish(State.INTERRUPTED, {NOTICE: sentence})

    @Slot(str, object)
    def _take_crash(self, sentence: str, generation: int | None) -> None:
        if self._is_mine(generation):
            self._finish(State.INTERRUPTED, {NOTICE: sentence})

    def _is_mine(self, generation: int | None) -> bool:
        return self.live is not None and generation == self.live.generation

    def _set_wait(self, words: str) -> None:
        if words != self.wait:
            self.wait = words
            self.waiting.emit(words)

    def _is_free(self) -> bool:
        if self.live is None and self._loader.link.generation is None and not self._loader.occupation:
            return True
        writing = self.tr("An answer is still being written; stop it or wait for its end.")
        self._events.error_occurred.emit(self._loader.occupation or writing, Cause.BUSY)
        return False

    def _is_at_rest(self) -> bool:
        return not self.is_answering or self._is_free()

    def _as_it_is(self, message: Message) -> Message:
        live = self.live
        if live is None or live.message != message.id:
            return message
        return replace(message, text=live.text, origins=live.runs, stats={ROUNDS: live.rounds})

    @Slot()
    def _save_partial(self) -> None:
        live = self.live
        if live and live.saved < len(live.text):
            self._keep_trying(lambda: self._store.save_partial(self.chat.id, live.message, live.text, live.runs))
            live.saved = len(live.text)

    def _finish(self, state: State, kept: dict[str, object]) -> None:
        assert self.live
        live, self.live = self.live, None
        self._give_up_call()
        self._saving.stop()
        self._set_wait("")
        outcome = Outcome(live.text, state, live.runs, {**kept, ROUNDS: live.rounds}, live.loop.calls)
        self.conversation = self.conversation.finish(live.message, outcome)
        self._catch_up()
        self.ended.emit(live.message)
        self._events.answered.emit(self.chat, live.text, time.monotonic() - self._asked)

    def _commit(self, after: Conversation) -> bool:
        """Save, then show: what is on screen is on disk."""
        if not self._keep(lambda: self._write(after)):
            return False
        self.conversation = after
        self._note_success()
        self.recorded.emit(self.chat)
        return True

    def _write(self, after: Conversation) -> None:
        if self._is_stored:
            self._store.save(self.chat.id, self._saved, after)
        else:
            self._store.begin(self.chat, after)
            self._is_stored = True
        self._saved = after
        self.refresh(self._store.chat(self.chat.id) or self.chat)

    @Slot()
    def _catch_up(self) -> None:
        """Save the answer that is shown, or try again later."""
        if not self.is_behind:
            return
        if self._keep_trying(lambda: self._write(self.conversation)):
            self.recorded.emit(self.chat)
        else:
            self._retrying.start()

    def _keep(self, write: Callable[[], object]) -> bool:
        with showing_errors(lambda sentence: self._events.error_occurred.emit(sentence, None)):
            write()
            return True
        return False

    def _keep_trying(self, write: Callable[[], object]) -> bool:
        """Save what is tried again and again; a failure is reported once, and the success after it."""
        try:
            write()
        except HistoryError as error:
            if not self._is_told:
                self._is_told = True
                words = self.tr("{fault} The answer stays here, and saving is tried again.")
                self._events.error_occurred.emit(words.format(fault=translate_error(error)), None)
            return False
        self._note_success()
        return True

    def _note_success(self) -> None:
        if self._is_told and not self.is_behind:
            self._is_told = False
            self._events.saved.emit()

    def _propose_title(self) -> None:
        title = first_title(self.conversation)
        if self.chat.title or not title:
            return
        if self._keep(lambda: self._store.rename(self.chat.id, title)):
            self.chat = replace(self.chat, title=title)
            self.recorded.emit(self.chat)
