"""One open chat: its messages, settings and draft, and the operations on them."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import (
    AnswerOutcome,
    Attachment,
    Chat,
    ChatMessage,
    Conversation,
    Edit,
    Excerpt,
    Passage,
    Project,
    Role,
    State,
    first_title,
)
from headstart.chat.history.store import UNSENT, Store, new_id
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, ConversationRequest, Finish, FinishReason, Keep, Prefill, Step
from headstart.engine.protocol import Failed, Load
from headstart.engine.stats import merge_stats
from headstart.errors import EngineBusyError, HeadstartError, HistoryError
from headstart.settings import Settings
from headstart.tools.loop import REFUSED, ToolLoop, ToolResult, offering, unknown
from headstart.tools.servers import ServerTool
from headstart.ui import engine_request
from headstart.ui.chat.tools import ToolsController
from headstart.ui.formatting import decimal, sentences, whole
from headstart.ui.models.model_loader import ModelLoader
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.live_answer import NOTICE, LiveAnswer
from headstart.ui.transcript.message import WARMER
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.progress import Cause
from headstart.ui.workspace.chat_folder import ChatFolder

if TYPE_CHECKING:
    from headstart.workspace.tools import Proposal, Workspace

_SAVE_MS = 700  # a kill must cost less than a second of text, and timers fire late
_RETRY_MS = 4000

_WITHOUT_EFFECT = ("seed", "model", "draft")  # on a greedy answer whose model is known by name


@dataclass(frozen=True)
class PreparedMessage:
    """A message that is ready to be sent, with the request for its answer."""

    before: Conversation  # the chat without the message
    settings: Settings
    conversation: Conversation  # the chat with the message
    request: ConversationRequest
    edited: int | None = None  # the message of which it is a new version

    @property
    def is_question(self) -> bool:
        """True unless it is an edited answer, which the model does not answer."""
        last = self.conversation.last
        return last is not None and last.role is Role.USER


class ChatEvents(QObject):
    """Events of every chat, open or not."""

    answered = Signal(object, str, float)  # Chat, the text, seconds that it took
    error_occurred = Signal(str, object)  # a sentence, and its Cause or None
    hint_shown = Signal(str)  # a sentence; nothing went wrong
    saved = Signal()  # earlier attempts to save had failed
    still_unsaved = Signal()  # another attempt to save has failed
    sent = Signal()  # a message was saved


class ChatSession(QObject):
    """One chat that saves itself. A change is on disk when its method returns, streamed text within a second."""

    reset = Signal()  # `path` has other messages
    began = Signal(int)  # id of the answer that is being written
    wait_changed = Signal(str)  # what the answer waits for; empty while it is written
    text_appended = Signal(int, object)  # id of the answer, tuple[Step, ...]
    approval_needed = Signal()  # `pending_call` waits for approval, or no longer does
    tool_called = Signal(int)  # id of the answer that called it
    ended = Signal(int)  # id of the answer, which is complete
    chat_changed = Signal(object)  # Chat with another title, settings or time

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
        """Open `chat`, or a new one (in `project` if given) that is stored with its first message."""
        super().__init__(parent)
        self._store, self._loader, self._events, self._tools = store, loader, events, tools
        self.is_stored = chat is not None
        self.chat = chat or store.unbegun(project)
        self._asked_at = 0.0
        self.conversation = store.conversation(self.chat.id) if chat else Conversation()
        self._stored_conversation = self.conversation  # differs from `conversation` only while saving fails
        self._has_reported_failure = False  # to save an answer
        self._retry = QTimer(self, singleShot=True, interval=_RETRY_MS)
        self._retry.timeout.connect(self._on_retry)
        self.draft_files = store.draft_files(self.chat.id if chat else None)
        self._project_files = project.files if project else ()  # not saved with the draft
        if project:
            self.draft_files = (
                *self._project_files,
                *(file for file in self.draft_files if file not in self._project_files),
            )
        self._stored_draft = self.chat.draft, self.draft_files  # differs from them only while saving fails
        self._stored_settings = self.chat.settings  # likewise
        self.edits: Mapping[int, Edit] = store.edits(self.chat.id) if chat else {}  # by the ids of their messages
        self._stored_edits: Mapping[int, Edit] = self.edits
        self.program_settings = settings
        self.live: LiveAnswer | None = None  # the answer being written; `ended` always follows
        self.folder = ChatFolder(store, self.chat.id, self.chat.project, self)
        self.folder.leaving.connect(self._on_folder_leaving)
        self.folder.changed.connect(self._keep_unbegun)
        self.pending_call: tuple[Call, ServerTool | Proposal] | None = None  # waits for `decide`
        self._cancel_call: CancelEvent | None = None  # cancels the tool that runs
        # Tools that need no approval. They are not saved, because a chat can come from somebody else's file.
        self._allowed_tools: set[tuple[str, str]] = set()
        self.wait_text = ""  # what the answer waits for
        self._save_timer = QTimer(self, interval=_SAVE_MS)
        self._save_timer.timeout.connect(self._save_partial)
        loader.link.steps.connect(self._on_steps)
        loader.link.prefill.connect(self._on_prefill)
        loader.link.finished.connect(self._on_finished)
        loader.link.failed.connect(self._on_failed)
        loader.link.crashed.connect(self._on_crashed)
        loader.changed.connect(self._on_loading)

    @property
    def has_unsaved_answer(self) -> bool:
        """True while a shown answer could not be saved."""
        return self._stored_conversation is not self.conversation

    @property
    def has_unsaved(self) -> bool:
        """True while a shown answer, a setting, or what is in the message box could not be saved."""
        return self.has_unsaved_answer or self._has_unsaved_draft

    @property
    def path(self) -> tuple[ChatMessage, ...]:
        """The messages shown; the one being written has its text so far."""
        return tuple(self._with_live_text(message) for message in self.conversation.path)

    @property
    def is_answering(self) -> bool:
        return self.live is not None

    @property
    def settings(self) -> Settings:
        """The program's settings, overridden by those of this chat."""
        return self.program_settings.for_chat(self.chat.settings)

    def message(self, id_: int) -> ChatMessage:
        """Return a message with the text that it has now."""
        return self._with_live_text(self.conversation.messages[id_])

    def change_settings(self, own: dict[str, object]) -> None:
        """Save the chat's own settings, which apply from the next message on; try again later if that is impossible."""
        self.chat = replace(self.chat, settings=own)
        self._save_behind(is_asked=True)
        self.chat_changed.emit(self.chat)

    def prepare(
        self,
        text: str,
        attachments: Iterable[Attachment] = (),
        passages: Iterable[Passage] = (),
        excerpts: Iterable[Excerpt] = (),
        searched: str = "",
        *,
        edited: int | None = None,
    ) -> PreparedMessage:
        """Return a new message at the end of the chat, or a new version of the message `edited`."""
        before, settings = self.conversation, self.settings
        after = (
            before.ask(text, attachments, passages, excerpts, searched)
            if edited is None
            else before.edit(edited, text, attachments, passages, excerpts, searched)
        )
        return PreparedMessage(before, settings, after, self.request(after.path, settings), edited)

    def is_current(self, message: PreparedMessage) -> bool:
        """Return whether the chat and its settings are still those that the message was prepared for."""
        return message.before is self.conversation and message.settings == self.settings

    def ask(self, text: str) -> bool:
        """Prepare and send a question."""
        return self.send(self.prepare(text))

    def send(self, message: PreparedMessage) -> bool:
        """Save a message and start the answer. Return False, and report why, if that is impossible now."""
        if not self._is_free():
            return False
        model = self._require(message.settings) if message.is_question else None
        if model is not None:
            answered = message.conversation.begin_answer(model, message.settings.chat_values())
            is_saved = self._start(answered, message.request, message.settings)
        elif is_saved := self._commit(message.conversation):
            self.reset.emit()
        if is_saved:
            if message.edited in self.edits:
                self.save_edits({id_: edit for id_, edit in self.edits.items() if id_ != message.edited})
            self._propose_title()
            self._events.sent.emit()
        return is_saved

    def answer_last(self) -> None:
        """Start the answer to the last question, which has none yet."""
        if not self._is_free():
            return
        settings = self.settings
        self._answer(self.conversation.begin_answer(self._loader.name(settings), settings.chat_values()), settings)

    def last_request(self) -> ConversationRequest | None:
        """Return a request with all messages shown; None if there is no question among them."""
        path = self.conversation.path
        return self.request(path) if _has_question(path) else None

    def request(self, messages: Iterable[ChatMessage], settings: Settings | None = None) -> ConversationRequest:
        """Build the request for an answer, or for the rest of one if the messages end with it."""
        settings = settings or self.settings
        request = engine_request.request(messages, settings, self._loader.info(settings))
        request = structs.replace(request, keep=self._prompt_cache(settings))
        if workspace := self.folder.workspace:
            workspace.find_passages = self._tools.search_in(self.chat.project, workspace.folder.path)
        own = self.folder.tools
        names = {tool.name for tool in own}
        return offering(request, (*own, *(tool for tool in self._tools.offered if tool.name not in names)))

    def stop(self) -> None:
        """Stop the answer being written and keep its text."""
        if self.live and (self.pending_call or self._cancel_call):
            self._finish(State.STOPPED, {**self.live.earlier, live_answer.FINISH: FinishReason.CANCELLED.value})
        elif self.live:
            self._loader.link.cancel()

    def decide(self, *, allowed: bool, always: bool = False, text: str | None = None) -> None:
        """Make the pending call or refuse it. `always` approves later calls of its kind in this chat.

        `text` is what a file is to have, if you have changed it.
        """
        if self.pending_call is None:
            return
        (call, asked), self.pending_call = self.pending_call, None
        self.approval_needed.emit()
        if not isinstance(asked, ServerTool):
            self._decide_on_folder(call, asked, allowed=allowed, always=always, text=text)
            return
        if always:
            self._allowed_tools.add(asked.key)
        if allowed:
            cancel = self._begin_call(call)
            self._tools.call(asked, call.arguments, cancel, partial(self._on_tool_result, call, cancel))
        else:
            self._add_result(call, REFUSED)

    def regenerate(self, id_: int, temperature: float | None = None) -> None:
        """Write another version of this answer with the next seed, and with `temperature` if given.

        Where that would be the same answer once more, as it is at temperature 0, the temperature is raised.
        """
        if not self._is_free():
            return
        versions = self.conversation.versions(id_)
        settings = self.settings.with_values({"seed": self.settings.sampling.seed + len(versions)})
        model = self._loader.name(settings)
        is_known = any(self._has_same_input(version, model, settings.chat_values()) for version in versions)
        if is_repeated := temperature is None and self._temperature(settings) == 0 and is_known:
            temperature = WARMER
        if temperature is not None:
            settings = settings.with_values({"temperature": temperature})
        self._answer(self.conversation.regenerate(id_, model, settings.chat_values()), settings)
        if is_repeated:
            words = self.tr("At temperature 0 the answer would be the same; this one is written at temperature {}.")
            self._events.hint_shown.emit(words.format(decimal(WARMER, 1)))

    def answer_with(self, id_: int, changed: Mapping[str, object]) -> None:
        """Write another version of this answer with its settings and seed, except those in `changed`."""
        if self._is_free():
            settings = self.settings.with_values({**self.message(id_).settings, **changed})
            model = self._loader.name(settings)
            self._answer(self.conversation.regenerate(id_, model, settings.chat_values()), settings)

    def _temperature(self, settings: Settings) -> float | None:
        """Return the temperature in use: the model's own if it is automatic, None if that is unknown."""
        own = self._loader.link.model_info.sampling if self._loader.link.model_info else None
        default = own.temperature if own else None
        return default if "temperature" in settings.sampling.automatic else settings.sampling.temperature

    def _has_same_input(self, message: ChatMessage, model: str, values: dict[str, object]) -> bool:
        """Check whether the complete answer was generated by the same model with the same relevant settings."""
        same = {name: values[name] for name in _WITHOUT_EFFECT}
        is_complete = message.state is State.COMPLETE and not message.edited
        return is_complete and message.model == model and {**message.settings, **same} == values

    def resume(self, id_: int, *, stop_on_repetition: bool = True) -> None:
        """Continue this answer from its end."""
        if self._is_free():
            resumed = self.conversation.resume(id_, NOTICE, live_answer.FINISH)
            self._answer(resumed, self.settings, stop_on_repetition=stop_on_repetition)

    def switch_version(self, id_: int, by: int) -> None:
        """Show the next version (`by` = 1) or the previous one (-1)."""
        if self._is_editable() and self._commit(self.conversation.switch_version(id_, by)):
            self.reset.emit()

    def show_message(self, id_: int) -> None:
        """Choose the versions that show this message."""
        is_hidden = id_ in self.conversation.messages and id_ not in {message.id for message in self.conversation.path}
        if is_hidden and self._is_editable() and self._commit(self.conversation.show(id_)):
            self.reset.emit()

    def remove(self, id_: int) -> tuple[Conversation, Mapping[int, Edit]] | None:
        """Delete one message; return the conversation before that and its unsent versions of messages, for `undo`."""
        before = self.conversation, self.edits
        if not self._is_editable() or not self._commit(self.conversation.remove(id_)):
            return None
        self.reset.emit()
        return before

    def undo(self, before: Conversation, edits: Mapping[int, Edit]) -> None:
        """Go back to an earlier conversation, and to the unsent versions of messages that are gone now."""
        # What was in the composer went into the draft.
        gone = {id_: edit for id_, edit in edits.items() if id_ not in self.conversation.messages and not edit.is_open}
        if self._is_editable() and self._commit(before):
            self.save_edits({**self.edits, **gone})
            self.reset.emit()

    def fork(self, id_: int) -> Chat | None:
        """Store a copy of this chat up to a message and return it; None if it could not be saved."""
        title = self.tr("{} (fork)").format(self.chat.title)
        chat = replace(self.chat, id=new_id(), title=title, pinned=False, draft="")
        is_saved = self._try_save(lambda: self._store.add(chat, self.conversation.fork(id_)))
        return self._store.chat(chat.id) if is_saved else None

    def save_draft(self, draft: str, files: tuple[Attachment, ...] = ()) -> None:
        """Save the unsent text and its files; try again later if that is impossible now."""
        self.chat, self.draft_files = replace(self.chat, draft=draft), files
        self._save_behind()

    def save_edits(self, edits: Mapping[int, Edit]) -> None:
        """Save the unsent versions of messages; try again later if that is impossible now."""
        self.edits = edits
        self._save_behind()

    def refresh(self, chat: Chat) -> None:
        """Take over what was changed elsewhere, such as the title, but keep the draft and the settings."""
        self.chat = replace(chat, draft=self.chat.draft, settings=self.chat.settings)

    def settle(self) -> bool:
        """Save what could not be saved before. Return False if that fails or an answer is being written, and say so."""
        if not self._is_editable():
            return False
        is_saved = self._try_save(self._write_unsaved)
        self._report_success()
        return is_saved

    def reload(self) -> None:
        """Take over the messages that an import added to the chat or removed from it. Nothing may be unsaved."""
        self.conversation = self._stored_conversation = self._store.conversation(self.chat.id)
        self.edits = self._stored_edits = self._store.edits(self.chat.id)
        self.reset.emit()

    def close(self) -> None:
        """Save the text of an answer being written; the next start marks that as interrupted."""
        self._save_partial()
        self._save_timer.stop()
        self._retry.stop()
        self._abandon_call()
        self.folder.close()
        self.live = None
        if self.has_unsaved:
            self._try_save_again(self._write_unsaved)

    def save_into(self, copy: Store) -> None:
        """Save in a copy of the history what cannot be saved in the history itself. Raises HistoryError."""
        if self.is_stored and not copy.chat(self.chat.id):  # the disk was gone when the copy was made
            copy.add(self.chat, self.conversation)
        elif self.has_unsaved_answer or self.edits:
            copy.save(self.chat.id, copy.conversation(self.chat.id), self.conversation)
        copy.save_draft_files(self.chat.id if self.is_stored else None, self._own_draft_files)
        if self.is_stored:
            copy.save_draft(self.chat.id, self.chat.draft)
            copy.save_settings(self.chat.id, self.chat.settings)
            copy.save_edits(self.chat.id, copy.edits(self.chat.id), self.edits)
        else:
            copy.save_unbegun(self.chat)
            copy.remember(UNSENT, self.chat.draft or None)

    def _answer(self, conversation: Conversation, settings: Settings, *, stop_on_repetition: bool = True) -> None:
        """Have the last message of `conversation` written: an answer that is empty or has a beginning."""
        if not _has_question(conversation.path):
            words = self.tr("The question of this answer was deleted. Edit the answer, or ask again.")
            self._events.error_occurred.emit(words, Cause.MESSAGE)
        elif self._require(settings) is not None:
            request = structs.replace(self.request(conversation.path, settings), stop_on_repetition=stop_on_repetition)
            self._start(conversation, request, settings)

    def _require(self, settings: Settings) -> str | None:
        """Load the model if needed, and return its name; report an error and return None if that is impossible."""
        try:
            return self._loader.require(settings)
        except HeadstartError as error:
            cause = Cause.BUSY if isinstance(error, EngineBusyError) else Cause.MODEL
            self._events.error_occurred.emit(translate_error(error), cause)
            return None

    def _start(self, conversation: Conversation, request: ConversationRequest, settings: Settings) -> bool:
        """Save `conversation`, and have its last message written by `request`. Return False if it cannot be saved."""
        message = conversation.last
        assert message
        if not self._commit(conversation):
            return False
        self._asked_at = time.monotonic()
        loop = ToolLoop(request, message.text, message.calls, message.thinking, self.folder.max_calls)
        if workspace := self.folder.workspace:
            workspace.record.begin_answer()
        self.live = live_answer.resume(message, self._loader.link.generate(request), loop, settings)
        self._save_timer.start()
        self.reset.emit()
        self.began.emit(message.id)
        self._set_wait_text(self._loader.progress or self.tr("Waiting for the model…"))
        return True

    def _prompt_cache(self, settings: Settings) -> Keep | None:
        """Return how the engine saves the prompt cache: encrypted if the history is; None if it saves nothing."""
        if not settings.prompt_cache_gb:
            return None
        key = self._store.key.derived("kept prompts", 64).hex() if self._store.key else ""
        return Keep(self.chat.id, round(settings.prompt_cache_gb * 1e9), key)

    @Slot()
    def _on_loading(self) -> None:
        if self.is_answering and self._loader.progress:
            self._set_wait_text(self._loader.progress)

    @Slot(int, object)
    def _on_prefill(self, generation: int, progress: Prefill) -> None:
        if self._is_mine(generation):
            words = self.tr("Reading the conversation: {done} of {total} tokens").format(
                done=whole(progress.done), total=whole(progress.total)
            )
            note = translate_error(progress.note)
            self._set_wait_text(sentences(words, note) if note and progress.total else note or words)

    @Slot(int, object)
    def _on_steps(self, generation: int, steps: tuple[Step, ...]) -> None:
        if self.live and self._is_mine(generation):
            self._set_wait_text("")
            self._append(tuple(map(self.live.loop.take, steps)))

    @Slot(int, object)
    def _on_finished(self, generation: int, finish: Finish) -> None:
        if self.live and self._is_mine(generation):
            stopped = finish.reason is FinishReason.CANCELLED
            rest, call = self.live.loop.end()
            if rest:
                self._append((rest,))
            stats = live_answer.stored_stats(merge_stats(finish.stats, self.live.earlier), finish.reason)
            if call and not stopped:
                self.live.earlier = stats
                self._ask_for_approval(call)
                return
            self._finish(State.STOPPED if stopped else State.COMPLETE, stats)

    def _append(self, steps: tuple[Step, ...]) -> None:
        assert self.live
        self.live.grow(steps)
        self.text_appended.emit(self.live.message, steps)

    def _ask_for_approval(self, call: Call) -> None:
        """Make the call at once if it is approved, else wait for `decide`."""
        workspace = self.folder.workspace
        if workspace and workspace.has(call.name):
            cancel = self._begin_call(call)
            self.folder.propose(call, partial(self._on_proposal, call, cancel, workspace))
            return
        offer = self._tools.offer(call.name)
        if offer is None:
            self._add_result(call, unknown(call))
            return
        self._wait_for_approval(call, offer, is_approved=offer.key in self._allowed_tools)

    def _wait_for_approval(self, call: Call, asked: "ServerTool | Proposal", *, is_approved: bool) -> None:
        self.pending_call = call, asked
        if is_approved:
            self.decide(allowed=True)
        else:
            self._set_wait_text(self.tr("Waiting for you: may {} be called?").format(call.name))
            self.approval_needed.emit()

    def _begin_call(self, call: Call) -> CancelEvent:
        self._set_wait_text(self.tr("Calling {}…").format(call.name))
        self._cancel_call = cancel = CancelEvent()
        return cancel

    def _on_proposal(
        self, call: Call, cancel: CancelEvent, workspace: "Workspace", proposal: "Proposal | ToolResult"
    ) -> None:
        if self._cancel_call is not cancel:  # the answer was stopped
            return
        self._cancel_call = None
        if workspace is not self.folder.workspace:
            self._add_result(call, REFUSED)
        elif isinstance(proposal, ToolResult):
            self._add_result(call, proposal)
        else:
            self._wait_for_approval(call, proposal, is_approved=not proposal.needs_question)

    @Slot()
    def _on_folder_leaving(self) -> None:
        """Refuse a step that waits for approval: it was meant for that folder."""
        if self.pending_call and not isinstance(self.pending_call[1], ServerTool):
            self.decide(allowed=False)

    def _decide_on_folder(
        self, call: Call, proposal: "Proposal", *, allowed: bool, always: bool, text: str | None
    ) -> None:
        workspace = self.folder.workspace
        assert workspace
        if not allowed:
            self._add_result(call, workspace.refuse(proposal))
        else:
            if always:
                workspace.allow(proposal)
            if text is not None and text != proposal.new_text:
                proposal = proposal.edited(text)
            cancel = self._begin_call(call)
            self.folder.run(proposal, cancel, partial(self._on_tool_result, call, cancel))

    def _on_tool_result(self, call: Call, cancel: CancelEvent, result: ToolResult) -> None:
        if self._cancel_call is cancel:  # else the answer was stopped
            self._cancel_call = None
            self._add_result(call, result)

    def _add_result(self, call: Call, result: ToolResult) -> None:
        """Save the result of a tool and let the model continue."""
        live = self.live
        assert live
        tool_call = live.loop.give(call, result)
        written = self.conversation.write(live.message, live.text, live.runs, live.thinking)
        self.conversation, live.saved = written.call(live.message, tool_call), live.length
        self._try_save_again(lambda: self._write(self.conversation))
        self.tool_called.emit(live.message)
        try:
            if self._loader.link.generation is not None:
                raise EngineBusyError("Another answer was begun meanwhile; continue this one when that has ended.")
            self._loader.require(live.settings)
        except HeadstartError as error:
            self._finish(State.INTERRUPTED, {**live.earlier, NOTICE: translate_error(error)})
            return
        live.generation = self._loader.link.generate(live.loop.request)
        self._set_wait_text(self._loader.progress or self.tr("Waiting for the model…"))

    def _abandon_call(self) -> None:
        cancel, self._cancel_call = self._cancel_call, None
        if cancel:
            cancel.set()
        if self.pending_call:
            self.pending_call = None
            self.approval_needed.emit()

    @Slot(str, object)
    def _on_failed(self, sentence: str, failed: Failed) -> None:
        if self.live and failed.order == Load.__name__:  # a notice above the message box says why
            self._finish(State.INTERRUPTED, {NOTICE: self.tr("The model could not be loaded.")})
        elif self._is_mine(failed.generation):
            self._finish(State.INTERRUPTED, {NOTICE: sentence})

    @Slot(str, object)
    def _on_crashed(self, sentence: str, generation: int | None) -> None:
        if self._is_mine(generation):
            self._finish(State.INTERRUPTED, {NOTICE: sentence})

    def _is_mine(self, generation: int | None) -> bool:
        return self.live is not None and generation == self.live.generation

    def _set_wait_text(self, words: str) -> None:
        if words != self.wait_text:
            self.wait_text = words
            self.wait_changed.emit(words)

    def _is_free(self) -> bool:
        if self.live is None and self._loader.link.generation is None and not self._loader.occupation:
            return True
        writing = self.tr("An answer is still being written; stop it or wait for its end.")
        self._events.error_occurred.emit(self._loader.occupation or writing, Cause.BUSY)
        return False

    def _is_editable(self) -> bool:
        return not self.is_answering or self._is_free()

    def _with_live_text(self, message: ChatMessage) -> ChatMessage:
        live = self.live
        if live is None or live.message != message.id:
            return message
        return replace(message, text=live.text, thinking=live.thinking, origins=live.runs, stats=live.own_stats())

    @Slot()
    def _save_partial(self) -> None:
        live = self.live
        if live and live.saved < live.length:
            parts = (live.text, live.runs, live.thinking)
            self._try_save_again(lambda: self._store.save_partial(self.chat.id, live.message, *parts))
            live.saved = live.length

    def _finish(self, state: State, stats: dict[str, object]) -> None:
        assert self.live
        live, self.live = self.live, None
        self._abandon_call()
        self._save_timer.stop()
        self._set_wait_text("")
        stats = {**stats, **live.own_stats()}
        outcome = AnswerOutcome(live.text, state, live.runs, stats, live.loop.calls, live.thinking)
        self.conversation = self.conversation.finish(live.message, outcome)
        self._save_behind()
        self.ended.emit(live.message)
        self._events.answered.emit(self.chat, live.text, time.monotonic() - self._asked_at)

    def _commit(self, after: Conversation) -> bool:
        """Save a conversation, then show it; return whether it could be saved."""
        if not self._try_save(lambda: self._write(after)):
            return False
        self.conversation, self.edits = after, _of(after, self.edits)
        self._report_success()
        self.chat_changed.emit(self.chat)
        return True

    def _write(self, after: Conversation) -> None:
        if self.is_stored:
            self._store.save(self.chat.id, self._stored_conversation, after)
        else:
            self._store.begin(self.chat, after)
            self.is_stored, self._stored_draft, self._stored_settings = True, ("", ()), self.chat.settings
        self._stored_conversation, self._stored_edits = after, _of(after, self._stored_edits)
        self.refresh(self._store.chat(self.chat.id) or self.chat)

    @property
    def _has_unsaved_draft(self) -> bool:
        stored = self._stored_draft, self._stored_settings, self._stored_edits
        return stored != ((self.chat.draft, self.draft_files), self.chat.settings, self.edits)

    @property
    def _own_draft_files(self) -> tuple[Attachment, ...]:
        """The files of the draft, of a new chat without those of its project."""
        return tuple(file for file in self.draft_files if self.is_stored or file not in self._project_files)

    def _write_unsaved(self) -> None:
        if self.has_unsaved_answer:
            self._write(self.conversation)
        if self._has_unsaved_draft:
            self._write_draft()

    def _write_settings(self) -> None:
        if self.is_stored:
            self._store.save_settings(self.chat.id, self.chat.settings)
        else:
            self._store.save_unbegun(self.chat)
        self._stored_settings = self.chat.settings

    @Slot()
    def _keep_unbegun(self) -> None:
        """Have the next session of a chat that is not yet begun find the folder that was given to it."""
        if not self.is_stored:
            self._try_save(self._write_settings)

    def _write_draft(self) -> None:
        if self._stored_settings != self.chat.settings:
            self._write_settings()
        draft, files = self.chat.draft, self.draft_files
        stored_draft, stored_files = self._stored_draft
        if files != stored_files:
            self._store.save_draft_files(self.chat.id if self.is_stored else None, self._own_draft_files)
        if draft != stored_draft and self.is_stored:
            self._store.save_draft(self.chat.id, draft)
        elif draft != stored_draft:
            self._store.remember(UNSENT, draft or None)
        self._stored_draft = draft, files
        if self._stored_edits != self.edits:
            self._store.save_edits(self.chat.id, self._stored_edits, self.edits)
            self._stored_edits = self.edits

    def _save_behind(self, *, is_asked: bool = False) -> None:
        """Save what is shown and not on the disk, or schedule another try. `is_asked`: report each failure."""
        is_answer = self.has_unsaved_answer
        if not self.has_unsaved:
            self._report_success()
        elif not self._try_save_again(self._write_unsaved, is_asked=is_asked):
            if not self._retry.isActive():  # whoever types without a pause is tried again, too
                self._retry.start()
        elif is_answer:
            self.chat_changed.emit(self.chat)

    @Slot()
    def _on_retry(self) -> None:
        self._save_behind()
        if self.has_unsaved:
            self._events.still_unsaved.emit()

    def _try_save(self, write: Callable[[], object]) -> bool:
        with showing_errors(lambda sentence: self._events.error_occurred.emit(sentence, None)):
            write()
            return True
        return False

    def _try_save_again(self, write: Callable[[], object], *, is_asked: bool = False) -> bool:
        """Save what could not be saved. Report the first failure, or each, and the first success after it."""
        try:
            write()
        except HistoryError as error:
            if is_asked or not self._has_reported_failure:
                self._has_reported_failure = True
                words = self.tr("{fault} What is not saved stays here, and saving is tried again.")
                self._events.error_occurred.emit(words.format(fault=translate_error(error)), Cause.SAVING)
            return False
        self._report_success()
        return True

    def _report_success(self) -> None:
        if self._has_reported_failure and not self.has_unsaved:
            self._has_reported_failure = False
            self._events.saved.emit()

    def _propose_title(self) -> None:
        title = first_title(self.conversation)
        if self.chat.title or not title:
            return
        if self._try_save(lambda: self._store.rename(self.chat.id, title)):
            self.chat = replace(self.chat, title=title)
            self.chat_changed.emit(self.chat)


def _has_question(path: Iterable[ChatMessage]) -> bool:
    return any(message.role is Role.USER for message in path)


def _of(conversation: Conversation, edits: Mapping[int, Edit]) -> Mapping[int, Edit]:
    """Return the unsent versions of messages that a conversation has."""
    return {id_: edit for id_, edit in edits.items() if id_ in conversation.messages}
