"""Controllers of the chat page: the open chat, the composer and the prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal, SignalInstance, Slot
from PySide6.QtGui import QGuiApplication

from headstart.chat.conversation import Attachment, Chat, Conversation, Message, Passage, Role, State, file_of
from headstart.chat.passages import MOST, PassageIndex, is_long
from headstart.chat.reader import Hit
from headstart.chat.search import ranges
from headstart.engine.engine import FinishReason, Request, Step
from headstart.ui.chat import live_answer
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.chat.composer import Composer, Count, TokenCount
from headstart.ui.chat.live_answer import KeptOrigins
from headstart.ui.chat.message import WARMER, MessageAction, MessageContent, MessageState, Source
from headstart.ui.chat.prompts import PromptDialog, filled, library, own_part
from headstart.ui.chat.transcript import places
from headstart.ui.engine_link import EngineLink
from headstart.ui.formatting import sentences, whole
from headstart.ui.widgets.progress import Cause, NoticeBar
from headstart.ui.widgets.undo_stack import Undoable


class PromptsController(QObject):
    """Opens the library of prompts and puts a chosen prompt into the composer."""

    changed = Signal(object)  # one's own prompts, to be kept

    def __init__(self, page: ChatPage, parent: QObject | None = None) -> None:
        """No prompts yet."""
        super().__init__(parent)
        self._page = page
        self._prompts: dict[str, str] = {}
        page.prompts.chosen.connect(self._use)
        page.prompts.library_requested.connect(self._open_from_popup)
        page.empty.prompt_chosen.connect(self._use_from_page)
        page.empty.library_requested.connect(self.open_library)
        page.empty.example_chosen.connect(self._put)

    def show(self, own: Mapping[str, str]) -> None:
        """Use these prompts of the user's own."""
        self._prompts = library(own)
        self._page.prompts.set_prompts(self._prompts)
        self._page.empty.show_prompts(self._prompts)

    @Slot()
    def open_library(self) -> None:
        """Open the dialog that adds, changes and removes prompts."""
        dialog = PromptDialog(self._prompts, self._selection(), self._page.window())
        dialog.saved.connect(lambda prompts: self.changed.emit(own_part(prompts)))
        dialog.open()

    @Slot()
    def _open_from_popup(self) -> None:
        self._page.composer.set_text("")
        self.open_library()

    @Slot(str)
    def _use(self, name: str) -> None:
        prompt = filled(self._prompts[name], QGuiApplication.clipboard().text(), self._page.transcript.selected_text())
        self._page.composer.set_text(prompt.text, prompt.cursor)

    @Slot(str)
    def _use_from_page(self, name: str) -> None:
        """What stands in the message is what the prompt is about."""
        prompt = filled(self._prompts[name], QGuiApplication.clipboard().text(), self._page.composer.text())
        self._put(prompt.text, prompt.cursor)

    @Slot(str)
    def _put(self, text: str, cursor: int | None = None) -> None:
        """In place of the message; Ctrl+Z brings that back."""
        self._page.composer.replace_text(text, cursor)
        self._page.composer.setFocus()

    def _selection(self) -> str:
        written = self._page.composer.edit.textCursor().selection().toPlainText()
        return written or self._page.transcript.selected_text()


_STATES = MappingProxyType(
    {
        State.COMPLETE: MessageState.DONE,
        State.STOPPED: MessageState.STOPPED,
        State.STREAMING: MessageState.STREAMING,
        State.INTERRUPTED: MessageState.FAILED,
    }
)


class Contents:
    """The shown contents of one chat. A message that has not changed keeps its MessageContent."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Message, tuple[int, int], bool, MessageContent]] = {}

    def of(self, conversation: Conversation, messages: Iterable[Message]) -> list[MessageContent]:
        """`content` of all of them, as the same values as before where nothing has changed."""
        before, self._made = self._made, {}
        for message in messages:
            seen = (message, conversation.version(message.id), _is_last(conversation, message))
            known = before.get(message.id)
            same = known is not None and known[0] is message and known[1:3] == seen[1:]
            self._made[message.id] = known if known and same else (*seen, content(conversation, message))
        return [made for *_, made in self._made.values()]


def content(conversation: Conversation, message: Message) -> MessageContent:
    """What is shown of `message`, which may have more text than the same message in the conversation."""
    version, versions = conversation.version(message.id)
    return MessageContent(
        id=message.id,
        role=message.role.value,
        text=message.text,
        origins=KeptOrigins(message),
        author=message.model,
        version=version,
        versions=versions,
        stats=live_answer.lines(message.stats),
        state=_STATES[message.state],
        notice=_notice(message),
        offers=_offers(message) if _is_last(conversation, message) else (),
        attached=(
            *message.attachments,
            *(Attachment(f"{call.name} {call.arguments}", call.result) for call in message.calls),
        ),
        sources=_sources(conversation, message) if message.role is Role.ASSISTANT else (),
    )


def _sources(conversation: Conversation, answer: Message) -> tuple[Source, ...]:
    """The passages that its question was asked with."""
    known = conversation.messages
    asked = known[answer.parent].passages if answer.parent is not None else ()
    found = [(passage, file_of(passage, known)) for passage in asked]
    return tuple(
        Source(file.name, file.text[passage.start : passage.end], round(100 * passage.start / len(file.text)))
        for passage, file in found
        if file
    )


def _is_last(conversation: Conversation, message: Message) -> bool:
    return conversation.last is not None and conversation.last.id == message.id


def _offers(message: Message) -> tuple[MessageAction, ...]:
    """The buttons below the last message of a chat."""
    if message.role is Role.USER:
        return (MessageAction.ANSWER,)
    if message.state is State.STREAMING or message.edited:
        return ()
    finish = message.stats.get(live_answer.FINISH)
    if finish == FinishReason.LENGTH:
        return (MessageAction.CONTINUE,)
    if finish == FinishReason.REPETITION:
        is_greedy = message.settings.get("temperature") == 0
        return (MessageAction.REGENERATE_WARMER if is_greedy else MessageAction.REGENERATE, MessageAction.GO_ON)
    if not message.text:
        return (MessageAction.REGENERATE,)
    return () if message.state is State.COMPLETE else (MessageAction.CONTINUE, MessageAction.REGENERATE)


def _notice(message: Message) -> str:
    found = live_answer.notice(message.stats)
    if not found and message.state is State.INTERRUPTED:
        return QCoreApplication.translate("MessageContents", "This answer was interrupted.")
    if not found and message.edited:
        return QCoreApplication.translate("MessageContents", "Edited by you.")
    return found


_DRAFT_MS = 500


class ComposerController(QObject):
    """Sends, edits and counts what is written in the composer, for the chat given to `open`."""

    def __init__(self, composer: Composer, notice: NoticeBar, link: EngineLink, parent: QObject | None = None) -> None:
        """Nothing is open yet."""
        super().__init__(parent)
        self._composer, self._notice = composer, notice
        self.count = TokenCount(link, composer, self)
        self._session: ChatSession | None = None
        self._editing: int | None = None
        self._index = PassageIndex(())
        self._files: tuple[Attachment, ...] = ()  # those that the next two are about
        self._is_cut = False  # the model gets passages of the long ones
        self._most = MOST  # passages that have room
        self._drafting = QTimer(self, singleShot=True, interval=_DRAFT_MS)
        self._drafting.timeout.connect(self.save_draft)
        self.count.counted.connect(self._take_count)
        composer.submitted.connect(self._submit)
        composer.changed.connect(self._note_change)
        composer.error_occurred.connect(self._complain)

    def open(self, session: ChatSession) -> None:
        """Show the draft of another chat."""
        self._session = session
        self._restore_draft()

    def leave(self) -> None:
        """Save the draft before the chat is left."""
        if self._session is None:
            return
        self.cancel_edit()
        self.count.forget()
        self._drafting.stop()
        self.save_draft()
        if self._composer.is_reading:
            lost = self.tr("A file that was still being read was not attached; attach it again there.")
            self._notice.say(lost, bad=True)
        self._session = None
        self._composer.set_attached(())

    @Slot()
    def save_draft(self) -> None:
        """Save the text and the files in the composer."""
        if self._session and self._editing is None:
            self._session.save_draft(self._composer.text(), self._composer.attached)

    def recount(self) -> None:
        """Count again how much of the context is used."""
        if self._session is None:
            return
        files = self._composer.attached
        self.count.count(self.request(), files)
        self._composer.show_in_passages(filter(is_long, files) if self._is_cut else ())

    def request(self) -> Request | None:
        """What the model would be asked if the message were sent as it is; None where there is nothing to read."""
        path = self._path() if self._session else ()
        return self._session.request(path) if self._session and path else None

    def begin_edit(self, id_: int) -> None:
        """Put a message and its files into the composer to edit them."""
        assert self._session
        self.cancel_edit()
        self.save_draft()
        message = self._session.message(id_)
        is_question = message.role is Role.USER
        self._editing = id_
        self._composer.set_text(message.text)
        self._composer.set_attached(message.attachments, takes_more=is_question)
        self._composer.setFocus()
        asked = self.tr("Editing: sending creates a new version.")
        answered = self.tr("Editing the answer: sending keeps your words as a new version.")
        words = asked if is_question else answered
        self._notice.say(words, self.tr("Cancel"), self.cancel_edit, cause=Cause.EDIT, dismissible=False)

    def cancel_edit(self) -> bool:
        """Stop editing without a change. Returns False if no message is being edited."""
        if self._editing is None:
            return False
        self._editing = None
        self._notice.retract(Cause.EDIT)
        self._restore_draft()
        return True

    def _restore_draft(self) -> None:
        assert self._session
        self._is_cut, self._most = False, MOST
        self._composer.set_text(self._session.chat.draft)
        self._composer.set_attached(self._session.draft_files)
        self.recount()

    def _path(self) -> tuple[Message, ...]:
        """The messages shown, with the one that is being written."""
        assert self._session
        text, files = self._composer.text().strip(), self._composer.attached
        return (self._after(text, files) if text or files else self._session.conversation).path

    def _after(self, text: str, files: tuple[Attachment, ...]) -> Conversation:
        """The conversation as it would be with this message."""
        assert self._session
        conversation, passages = self._session.conversation, self._passages(text, files)
        if self._editing is None:
            return conversation.ask(text, files, passages)
        return conversation.edit(self._editing, text, files, passages)

    def _passages(self, text: str, files: tuple[Attachment, ...]) -> tuple[Passage, ...]:
        """Those that fit the message, of its own long files and of those above that the model got in passages."""
        assert self._session
        conversation = self._session.conversation
        above = conversation.path if self._editing is None else conversation.upto(self._editing)[:-1]
        if self._editing is not None and conversation.messages[self._editing].role is Role.ASSISTANT:
            return ()
        cut = [
            (message.id, number, file)
            for message in above
            for number, file in enumerate(message.attachments)
            if number in message.in_parts
        ]
        if self._is_cut:
            cut += [(conversation.next_id, number, file) for number, file in enumerate(files) if is_long(file)]
        if self._index.files != tuple(cut):
            self._index = PassageIndex(cut)
        return self._index.find(text, self._most)

    def _cuts_more(self, count: Count, files: tuple[Attachment, ...]) -> bool:
        """Give the model passages of long files, or fewer of them, if what was counted leaves no room for an answer."""
        assert self._session
        has_passages = self._is_cut or bool(self._index.files)
        answer = min(self._session.settings.max_new_tokens, count.context // 4) if has_passages else 0
        if not count.is_exact or count.tokens < count.context - answer:
            return False
        if not self._is_cut and any(map(is_long, files)):
            self._is_cut = True
            return True
        if not has_passages or self._most <= int(self._is_cut):
            return False
        self._most -= 1
        return True

    @Slot(object)
    def _take_count(self, count: Count) -> None:
        if self._session and self._cuts_more(count, self._composer.attached):
            self.recount()

    @Slot()
    def _note_change(self) -> None:
        if self._session is not None:  # None between two chats
            if self._composer.attached != self._files:
                self._files, self._is_cut, self._most = self._composer.attached, False, MOST
            self._notice.retract(Cause.MESSAGE)
            self._drafting.start()
            self.recount()

    @Slot(str, object)
    def _submit(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Send the message if it fits into the context."""
        assert self._session
        after = self._after(text, files)
        if after.last and after.last.role is Role.ASSISTANT:
            self._send(text, files)
            return
        request = self._session.request(after.path)
        if self.count.is_hopeless(request, self._session.settings) and any(map(is_long, files)) and not self._is_cut:
            self._is_cut = True
            self._submit(text, files)
            return
        self.count.settle(request, files, lambda count: self._send_if_fits(text, files, count))

    def _send_if_fits(self, text: str, files: tuple[Attachment, ...], count: Count | None) -> None:
        if count and self._cuts_more(count, files):
            self._submit(text, files)
            return
        if count is None or count.fits:  # uncounted, it is the engine that says what is wrong
            self._send(text, files)
            return
        remedy = (
            self.tr("Remove an attachment, shorten the message or start a new chat.")
            if files
            else self.tr("Shorten the message or start a new chat.")
        )
        needs = self.tr("This needs {tokens} tokens with the chat so far; the context holds {context}.")
        needs = needs.format(tokens=whole(count.tokens), context=whole(count.context))
        self._complain(sentences(needs, remedy))

    def _send(self, text: str, files: tuple[Attachment, ...]) -> None:
        assert self._session
        passages = self._passages(text, files)
        self._drafting.stop()
        self._notice.hide()
        if self._editing is not None:
            edited, self._editing = self._editing, None
            if self._session.edit(edited, text, files, passages):
                self._restore_draft()
            else:
                self._editing = edited
        elif self._session.send(text, files, passages):
            since = self._composer.text().strip().removeprefix(text).lstrip()  # typed while it was counted
            self._composer.clear()
            self._composer.set_text(since)
            self.save_draft()

    @Slot(str)
    def _complain(self, sentence: str) -> None:
        self._notice.say(sentence, bad=True, cause=Cause.MESSAGE)


_MANY = 12  # messages that differ: showing the chat anew is then quicker


class ChatController(QObject):
    """Shows the chat given to `open` and carries out what is asked for on its page."""

    fork_requested = Signal(object)
    answered = Signal(object)  # MessageContent that has come to its end
    undoable = Signal(object)  # Undoable
    updated = Signal()  # the messages shown are those of the chat

    def __init__(self, page: ChatPage, link: EngineLink, parent: QObject | None = None) -> None:
        """Nothing is open yet."""
        super().__init__(parent)
        self._page = page
        self._session: ChatSession | None = None
        self._made = Contents()
        self.composing = ComposerController(page.composer, page.notice, link, self)
        self._connect_page()

    @property
    def session(self) -> ChatSession:
        """The open chat."""
        assert self._session, "a chat is opened at start"
        return self._session

    @Slot(object)
    def open(self, session: ChatSession) -> None:
        """Show another chat."""
        if session is self._session:
            self._page.composer.setFocus()
            return
        self._page.notice.hide()
        self._page.find_bar.close_find()
        self._leave()
        self._session, self._made = session, Contents()
        self._page.live.begin()  # the figures were those of another chat
        for signal, slot in self._slots(session):
            signal.connect(slot)
        self._page.transcript.show_chat(self._contents())
        self._show()
        self._show_wait(session.wait)
        self._show_record(session.chat)
        self._show_question()
        self.composing.open(session)
        self._page.composer.setFocus()

    def close(self) -> None:
        """Save the draft when the window closes."""
        self._leave()
        self._session = None
        self.composing.count.close()

    def say(self, sentence: str, cause: Cause | None = None) -> None:
        """Show an error above the composer."""
        self._page.notice.say(sentence, bad=True, cause=cause)

    def advise(self, sentence: str) -> None:
        """Show advice until the settings change or another answer begins."""
        self._page.notice.say(sentence, cause=Cause.SETTINGS)

    @Slot()
    def reassure(self) -> None:
        """Say that what could not be saved is saved now."""
        self._page.notice.say(self.tr("Everything is saved again."))

    def edit_last(self) -> None:
        """Edit the last question."""
        asked = [message for message in self.session.path if message.role is Role.USER]
        if asked:
            self.composing.begin_edit(asked[-1].id)

    def regenerate_last(self) -> None:
        """Write another version of the last answer, or the first one."""
        path = self.session.path
        if path and path[-1].role is Role.ASSISTANT:
            self.session.regenerate(path[-1].id)
        elif path:
            self.session.answer_last()

    def continue_last(self) -> None:
        """Continue the last answer."""
        path = self.session.path
        if path and path[-1].role is Role.ASSISTANT:
            self.session.resume(path[-1].id)

    def copy_last(self) -> None:
        """Copy the last answer as Markdown."""
        answers = [message for message in self.session.path if message.role is Role.ASSISTANT]
        if answers:
            QGuiApplication.clipboard().setText(answers[-1].text)

    def reveal(self, hit: Hit, query: str) -> None:
        """Scroll to the message of a search hit and mark the words found."""
        self._page.find_bar.field.setText(query)
        self._page.find_bar.show()
        transcript = self._page.transcript
        contents = transcript.contents()
        index = next((number for number, item in enumerate(contents) if item.id == hit.message), 0)
        found = places(contents, lambda text: ranges(text, query))
        here = [place for place in found if place.message == index]
        wanted = [place for place in here if (place.file is None) == (hit.file is None)]
        transcript.reveal(index, 0, 0)
        if here:  # words of markup and of the names of files can lead to a message without one
            transcript.show_places(found, (wanted or here)[0])

    def _connect_page(self) -> None:
        page, transcript, composer = self._page, self._page.transcript, self._page.composer
        composer.stop_requested.connect(self.stop)
        composer.edit.recall_requested.connect(self.edit_last)
        page.files_dropped.connect(self._attach)
        transcript.action_requested.connect(self._act)
        page.call.decided.connect(self._decide)

    def _leave(self) -> None:
        if self._session is None:
            return
        self.composing.leave()
        for signal, slot in self._slots(self._session):
            signal.disconnect(slot)

    def _slots(self, session: ChatSession) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        """The signals of the chat and what shows them."""
        return (
            (session.reset, self._show),
            (session.began, self._begin),
            (session.ended, self._end),
            (session.recorded, self._show_record),
            (session.text_appended, self._grow),
            (session.waiting, self._show_wait),
            (session.approval_needed, self._show_question),
            (session.tool_called, self._show_calls),
        )

    def _contents(self) -> list[MessageContent]:
        return self._made.of(self.session.conversation, self.session.path)

    @Slot()
    def _show(self) -> None:
        """Bring the transcript up to date, touching only what differs."""
        wanted = self._contents()
        self._page.show_empty(not wanted)
        self._page.composer.set_busy(self.session.is_answering)
        _update(self._page, wanted)
        self._page.legend.show_origins({name for message in self.session.path for name in live_answer.origins(message)})
        self.composing.recount()
        self.updated.emit()

    @Slot(object)
    def _show_record(self, chat: Chat) -> None:
        title = chat.title or self.tr("New chat")
        self._page.show_title(f"{chat.project} · {title}" if chat.project else title)

    @Slot()
    def _begin(self) -> None:
        self._page.live.begin()
        self._page.notice.retract(Cause.SETTINGS)

    @Slot(int, object)
    def _grow(self, id_: int, steps: Sequence[Step]) -> None:
        self._page.live.grow(steps)
        text = "".join(step.text for step in steps)
        if text:
            runs = live_answer.origin_runs(steps)
            self._page.legend.add_origins({run.origin for run in runs})
            for transcript in self._page.showing(id_):
                transcript.view_of(id_).append(text, runs)

    @Slot(str)
    def _show_wait(self, words: str) -> None:
        live = self.session.live
        if live:
            for transcript in self._page.showing(live.message):
                transcript.view_of(live.message).set_notice(words)

    @Slot()
    def _show_question(self) -> None:
        self._page.call.ask(self.session.pending_call)

    @Slot(bool, bool)
    def _decide(self, allowed: bool, always: bool) -> None:
        self.session.decide(allowed=allowed, always=always)
        self._page.composer.setFocus()

    @Slot(int)
    def _show_calls(self, id_: int) -> None:
        message = self.session.message(id_)
        attached = content(self.session.conversation, message).attached
        for transcript in self._page.showing(id_):
            transcript.view_of(id_).set_attached(attached)

    @Slot(int)
    def _end(self, id_: int) -> None:
        message = self.session.message(id_)
        ended = content(self.session.conversation, message)
        self._page.live.end(message.stats)
        for transcript in self._page.showing(id_):
            transcript.end_stream(ended)
        self._show()
        self.answered.emit(ended)

    @Slot()
    def stop(self) -> None:
        """End the answer being written."""
        if self._session:
            self._session.stop()

    @Slot(object)
    def _attach(self, files: list[Path]) -> None:
        self._page.composer.attach(files)
        self._page.composer.setFocus()

    @Slot(object, object)
    def _act(self, action: MessageAction, id_: int) -> None:
        match action:
            case MessageAction.ANSWER:
                self.session.answer_last()
            case MessageAction.CONTINUE:
                self.session.resume(id_)
            case MessageAction.GO_ON:
                self.session.resume(id_, stop_on_repetition=False)
            case MessageAction.REGENERATE:
                self.session.regenerate(id_)
            case MessageAction.REGENERATE_WARMER:
                self.session.regenerate(id_, temperature=WARMER)
            case MessageAction.PREVIOUS:
                self.session.walk(id_, -1)
            case MessageAction.NEXT:
                self.session.walk(id_, 1)
            case MessageAction.EDIT:
                self.composing.begin_edit(id_)
            case MessageAction.FORK:
                self.fork_requested.emit(id_)
            case MessageAction.DELETE:
                self._delete(id_)

    def _delete(self, id_: int) -> None:
        before = self.session.remove(id_)
        if before is not None:
            done = self._deletion(before)
            self._page.notice.say(done.sentence, self.tr("Undo"), done.undo)
            self.undoable.emit(done)

    def _deletion(self, before: Conversation) -> Undoable:
        """Undoing is possible until the chat changes again, because it would take that change away."""
        session, after = self.session, self.session.conversation

        def is_possible() -> bool:
            return self._session is session and session.conversation is after

        def take_back() -> None:
            self._page.notice.hide()
            if is_possible():
                session.undo(before)

        return Undoable(self.tr("Delete Message"), self.tr("Message deleted."), take_back, is_possible)


def _update(page: ChatPage, wanted: Sequence[MessageContent]) -> None:
    transcript = page.transcript
    shown = transcript.contents()
    pairs = enumerate(zip(shown, wanted, strict=False))
    same = next((at for at, (old, new) in pairs if _differ(old, new)), None)
    same = min(len(shown), len(wanted)) if same is None else same
    if len(shown) + len(wanted) - 2 * same > 2 * _MANY:
        transcript.show_chat(wanted)
        return
    for gone in reversed(shown[len(wanted) :]):
        transcript.remove(gone.id)
    for old, new in zip(shown[same:], wanted[same:], strict=False):
        if _differ(old, new):
            transcript.replace(new, instead_of=old.id)
    for new in wanted[len(shown) :]:
        transcript.add(new)
    if wanted and wanted[-1].state is MessageState.STREAMING:
        transcript.view_of(wanted[-1].id).begin_stream()


def _differ(old: MessageContent, new: MessageContent) -> bool:
    """Whether they differ in more than their origins, which have shorter runs while they stream."""
    return old is not new and replace(old, origins=()) != replace(new, origins=())
