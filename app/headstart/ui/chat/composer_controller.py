"""The controller of the composer, which attaches, counts and sends."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from headstart.chat.conversation import Attachment, ChatMessage, Edit, Excerpt, Passage, Role
from headstart.chat.files.passages import MOST, SIZE, PassageIndex, is_long
from headstart.chat.folders.folder_question import Question, understand
from headstart.engine.engine import ConversationRequest
from headstart.ui.chat.chat_session import ChatSession, PreparedMessage
from headstart.ui.composer.composer import Composer, TokenCount, TokenCounter
from headstart.ui.engine_link import EngineLink
from headstart.ui.folders.folders_controller import FolderFindings
from headstart.ui.formatting import sentences, whole
from headstart.ui.widgets.progress import Cause, NoticeBar
from headstart.ui.widgets.undo_stack import Undoable

_DRAFT_MS = 500
_SEARCH_MS = 300  # before the window says that it searches

# Searches the folders of a project for a question; returns False if there are none, else calls back.
Search = Callable[[str, Question, Callable[[FolderFindings], None]], bool]


@dataclass(frozen=True)
class ComposerState:
    """The message in the composer, besides its text."""

    editing: int | None = None  # the message of which it is a new version
    files: tuple[Attachment, ...] = ()  # the attached files for which the next two hold
    is_cut: bool = False  # the model gets only passages of the long files
    num_passages: int = MOST  # as many have room
    excerpts: tuple[Excerpt, ...] = ()  # that were found for the message that is being sent
    searched: str = ""  # what was looked for; empty if nothing was found because not all files were searched
    gap: str = ""  # a sentence about files that were not searched

    def with_files(self, files: tuple[Attachment, ...]) -> "ComposerState":
        """Return the state with these files, for which there may be room."""
        return self if files == self.files else replace(self, files=files, is_cut=False, num_passages=MOST)

    def found(self, findings: FolderFindings | None = None, searched: str = "") -> "ComposerState":
        """Return the state with what a search found, or without."""
        findings = findings or FolderFindings()
        searched = searched if findings.excerpts or not findings.gap else ""
        return replace(self, excerpts=findings.excerpts, searched=searched, gap=findings.gap)

    def reduced(self, count: TokenCount, room: int, *, can_cut: bool, has_passages: bool) -> "ComposerState":
        """Return the state with passages of long files, or fewer of them; the same if the message fits into `room`."""
        if not count.is_exact or count.tokens < room:
            return self
        if not self.is_cut and can_cut:
            return replace(self, is_cut=True)
        if not has_passages:
            return self
        size = sum(len(message.content.encode(errors="replace")) for message in count.request.messages)
        largest = SIZE * count.tokens / size  # tokens of a passage
        num_excess = max(1, int((count.tokens - room) / largest))
        return replace(self, num_passages=max(int(self.is_cut), self.num_passages - num_excess))


class ComposerController(QObject):
    """Controller of the composer, which sends, edits and counts the message for the open chat."""

    undoable = Signal(object)  # Undoable
    question_begun = Signal(str)  # in a chat of this project
    model_requested = Signal(str)  # the name of one that reads a file
    search_folders: Search = staticmethod(lambda _project, _question, _on_found: False)

    def __init__(self, composer: Composer, notice: NoticeBar, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._composer, self._notice = composer, notice
        self.count = TokenCounter(link, composer, self)
        self._session: ChatSession | None = None
        self._state = ComposerState()
        self._index = PassageIndex(())
        self._search_number = 0  # of the last search, whose result counts
        self._is_searching = False  # a message waits for it
        self._search_timer = QTimer(self, singleShot=True, interval=_SEARCH_MS)
        self._search_timer.timeout.connect(self._on_slow_search)
        self._draft_timer = QTimer(self, singleShot=True, interval=_DRAFT_MS)
        self._draft_timer.timeout.connect(self.save_draft)
        self._recount_timer = QTimer(self, singleShot=True, interval=0)  # several changes are counted once
        self._recount_timer.timeout.connect(self._on_recount)
        self.count.counted.connect(self._on_count)
        composer.submitted.connect(self._on_submitted)
        composer.changed.connect(self._on_changed)
        composer.error_occurred.connect(self._show_error)
        notice.closed.connect(self._on_notice_closed)

    def open(self, session: ChatSession) -> None:
        """Show the draft of another chat, or the edited message that was left there."""
        self._session = session
        self._restore_draft()
        for id_ in (id_ for id_, edit in session.edits.items() if edit.is_open):
            self._show_edit(id_)
        self.question_begun.emit(session.chat.project)

    def leave(self) -> None:
        """Send what waits for its count, and save what is in the composer, before the chat is left."""
        if self._session is None:
            return
        self.save()
        was_searching = self._is_searching
        self._drop_search()
        self._state = ComposerState()
        self._notice.retract(Cause.EDIT)
        if was_searching:
            sentence = self.tr(
                "Your message was not sent: files were still searched for it. Send it again in its chat."
            )
            self._notice.say(sentence, bad=True)
        if self._composer.is_reading:
            sentence = self.tr("A file that was still being read was not attached; attach it again there.")
            self._notice.say(sentence, bad=True)
        self._session = None
        self._composer.set_attached(())

    @Slot()
    def save(self) -> None:
        """Send what waits for its count, and save what is in the composer."""
        if self._session:
            self.count.hurry()
            self._draft_timer.stop()
            self.save_draft()

    @Slot()
    def save_draft(self) -> None:
        """Save the text and the files in the composer, as a draft or as a new version of the edited message."""
        if self._session and self._state.editing is None:
            self._session.save_draft(self._composer.text(), self._composer.attached)
        elif self._session:
            self._session.save_edits({**self._other_edits(), **self._changed_edit()})

    def follow_messages(self) -> None:
        """Handle other messages in the open chat. What was typed for one that is gone becomes part of the draft."""
        editing = self._state.editing
        if self._session and editing is not None and editing not in self._session.conversation.messages:
            text, files = self._composer.text(), self._composer.attached
            self._end_edit()
            self._add_to_draft(text, files)
        self.recount()

    def _add_to_draft(self, text: str, files: tuple[Attachment, ...] = ()) -> None:
        self._composer.set_text("\n\n".join(filter(None, (self._composer.text(), text))))
        self._composer.set_attached(dict.fromkeys((*self._composer.attached, *files)))
        self.save_draft()

    def recount(self) -> None:
        """Count soon how much of the context is used."""
        self._recount_timer.start()

    @Slot()
    def _on_recount(self) -> None:
        if self._session:
            files = self._composer.attached
            self.count.count(self.request(), files)
            self._composer.show_in_passages(filter(is_long, files) if self._state.is_cut else ())

    def request(self) -> ConversationRequest | None:
        """Return the request that sending the message now would make; None if there is nothing to read."""
        if self._session is None:
            return None
        text, files = self._composer.text().strip(), self._composer.attached
        if text or files:
            return self._prepare(text, files).request  # the folders are searched when the message is sent
        return self._session.last_request()

    def begin_edit(self, id_: int) -> None:
        """Put a message and its files into the composer to edit them. Words for another one stay with that one."""
        assert self._session
        is_empty = not self._composer.text().strip() and not self._composer.attached
        if id_ == self._state.editing and not is_empty:
            self._composer.setFocus()
            return
        self.count.drop_callback()
        self._drop_search()
        self.save_draft()
        left = {} if is_empty else {at: replace(edit, is_open=False) for at, edit in self._changed_edit().items()}
        is_reading = self._composer.is_reading
        self._session.save_edits({**self._other_edits(), **left})
        self._show_edit(
            id_,
            self.tr("You had begun this version before.") if id_ in self._session.edits else "",
            self.tr("Your words for the other message stay with it.") if left else "",
            self.tr("A file that was still being read was not attached.") if is_reading else "",
        )
        self.save_draft()

    def _show_edit(self, id_: int, *more: str) -> None:
        assert self._session
        message = self._session.message(id_)
        edit = self._session.edits.get(id_) or Edit(message.text, message.attachments)
        self._state = ComposerState(id_)
        self._composer.set_text(edit.text)
        self._composer.set_attached(edit.files, takes_more=message.role is Role.USER)
        self._composer.setFocus()
        self._say_edited(message, *more)

    def _say_edited(self, message: ChatMessage, *more: str) -> None:
        sentence = (
            self.tr("Editing: sending creates a new version.")
            if message.role is Role.USER
            else self.tr("Editing the answer: sending keeps your words as a new version.")
        )
        sentence = reduce(sentences, filter(None, more), sentence)
        self._notice.say(sentence, self.tr("Cancel"), self.cancel_edit, cause=Cause.EDIT, dismissible=False)

    @Slot()
    def _on_notice_closed(self) -> None:
        """Say again that a message is being edited, once something else has been read."""
        if self._session and self._state.editing is not None:
            self._say_edited(self._session.message(self._state.editing))

    def _changed_edit(self) -> dict[int, Edit]:
        """Return what is in the composer by the id of its message; nothing if none is edited or it is as it was."""
        id_ = self._state.editing
        if self._session is None or id_ is None:
            return {}
        edit, message = Edit(self._composer.text(), self._composer.attached), self._session.message(id_)
        return {} if (message.text, message.attachments) == (edit.text, edit.files) else {id_: edit}

    def _other_edits(self) -> dict[int, Edit]:
        """Return the unsent versions of messages except the one in the composer."""
        assert self._session
        return {id_: edit for id_, edit in self._session.edits.items() if id_ != self._state.editing}

    def cancel_edit(self) -> bool:
        """Stop editing without a change; `undoable` follows. Return False if no message is being edited."""
        if self._state.editing is None:
            return False
        assert self._session
        dropped = self._changed_edit()
        self._session.save_edits(self._other_edits())
        self._end_edit()
        for id_, edit in dropped.items():
            undoable = self._cancellation(self._session, id_, edit)
            self._notice.say(undoable.sentence, self.tr("Undo"), undoable.undo, cause=Cause.MESSAGE)
            self.undoable.emit(undoable)
        return True

    def _cancellation(self, session: ChatSession, id_: int, edit: Edit) -> Undoable:
        """Return an action that undoes a Cancel, until the message is edited again or gone."""

        def is_possible() -> bool:
            is_free = id_ not in session.edits and self._state.editing != id_
            return self._session is session and is_free and id_ in session.conversation.messages

        def take_back() -> None:
            if is_possible():
                session.save_edits({**session.edits, id_: replace(edit, is_open=False)})
                self.begin_edit(id_)

        return Undoable(self.tr("Cancel Editing"), self.tr("What you had changed is dropped."), take_back, is_possible)

    def _end_edit(self) -> None:
        self._state = replace(self._state, editing=None)
        self.count.drop_callback()
        self._notice.retract(Cause.EDIT)
        self._restore_draft()

    def _restore_draft(self) -> None:
        assert self._session
        self._drop_search()
        self._state = ComposerState()
        self._composer.set_text(self._session.chat.draft)
        self._composer.set_attached(self._session.draft_files)
        self.recount()

    def _prepare(self, text: str, files: tuple[Attachment, ...]) -> PreparedMessage:
        assert self._session
        state = self._state
        excerpts = state.excerpts[: state.num_passages]
        passages = self._passages(text, files)
        searched = state.searched if excerpts or not state.excerpts else ""  # found, but without room
        return self._session.prepare(text, files, passages, excerpts, searched, edited=state.editing)

    def _passages(self, text: str, files: tuple[Attachment, ...]) -> tuple[Passage, ...]:
        """Return the passages that match the message, from its long files and from shortened files before it."""
        assert self._session
        conversation, state = self._session.conversation, self._state
        above = conversation.path if state.editing is None else conversation.path_to(state.editing)[:-1]
        if state.editing is not None and conversation.messages[state.editing].role is Role.ASSISTANT:
            return ()
        cut = [
            (message.id, number, file)
            for message in above
            for number, file in enumerate(message.attachments)
            if number in message.in_parts
        ]
        if state.is_cut:
            cut += [(conversation.next_id, number, file) for number, file in enumerate(files) if is_long(file)]
        if self._index.files != tuple(cut):
            self._index = PassageIndex(cut)
        return self._index.find(text, state.num_passages)

    def _reduce_passages(self, count: TokenCount, files: tuple[Attachment, ...]) -> bool:
        """Use fewer passages if the count leaves no room for an answer; return if so."""
        assert self._session
        state = self._state
        has_passages = state.is_cut or bool(self._index.files or state.excerpts)
        answer_tokens = min(self._session.settings.max_new_tokens, count.context // 4) if has_passages else 0
        room, can_cut = count.context - answer_tokens, any(map(is_long, files))
        self._state = state.reduced(count, room, can_cut=can_cut, has_passages=has_passages)
        return self._state != state

    @Slot(object)
    def _on_count(self, count: TokenCount) -> None:
        if self._session and self._reduce_passages(count, self._composer.attached):
            self._on_recount()

    @Slot()
    def _on_changed(self) -> None:
        if self._session is not None:  # None between two chats
            self._state = self._state.with_files(self._composer.attached)
            self._notice.retract(Cause.MESSAGE)
            if not self._draft_timer.isActive():  # whoever types without a pause has drafts, too
                self._draft_timer.start()
            self.recount()
            if self._composer.text():
                self.question_begun.emit(self._session.chat.project)

    @Slot(str, object)
    def _on_submitted(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Search the project's folders for passages, then send the message if it fits into the context."""
        assert self._session
        self._recount_timer.stop()
        self._drop_search()
        conversation, editing = self._session.conversation, self._state.editing
        is_question = editing is None or conversation.messages[editing].role is Role.USER
        question = understand(text, conversation.questions_and_answers(editing))
        on_found = partial(self._on_excerpts, self._search_number, text, files, question.searched)
        if is_question and question.searched and self.search_folders(self._session.chat.project, question, on_found):
            self._search_timer.start()
            self._is_searching = True
        else:
            self._submit(text, files)

    def _on_excerpts(
        self, number: int, text: str, files: tuple[Attachment, ...], searched: str, findings: FolderFindings
    ) -> None:
        if number == self._search_number:
            self._search_timer.stop()
            self._is_searching = False
            self._state = replace(self._state.found(findings, searched), num_passages=MOST)
            self._submit(text, files)

    def _drop_search(self) -> None:
        """Drop a running search and its result."""
        self._search_number += 1
        self._is_searching = False
        self._search_timer.stop()
        self._state = self._state.found()

    @Slot()
    def _on_slow_search(self) -> None:
        self._notice.say(self.tr("Searching the files of the project…"), cause=Cause.MESSAGE, dismissible=False)

    def _submit(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Send the message if it fits into the context."""
        assert self._session
        message = self._prepare(text, files)
        if not message.is_question:
            self._send(message, text, files)
        elif self._must_be_cut(message, files):
            self._state = replace(self._state, is_cut=True)
            self._submit(text, files)
        else:
            self.count.count_for_sending(message.request, files, partial(self._send_if_fits, message, text, files))

    def _must_be_cut(self, message: PreparedMessage, files: tuple[Attachment, ...]) -> bool:
        """Return whether the message exceeds the context with whole files."""
        can_be_cut = not self._state.is_cut and any(map(is_long, files))
        return can_be_cut and self.count.is_too_long(message.request, message.settings)

    def _send_if_fits(
        self, message: PreparedMessage, text: str, files: tuple[Attachment, ...], count: TokenCount | None
    ) -> None:
        assert self._session
        if (count and self._reduce_passages(count, files)) or not self._session.is_current(message):
            self._submit(text, files)
            return
        if count is None or count.fits:  # without a count, the engine reports what is wrong
            self._send(message, text, files)
            return
        remedy = (
            self.tr("Remove an attachment, shorten the message or start a new chat.")
            if files
            else self.tr("Shorten the message or start a new chat.")
        )
        needs = self.tr("This needs {tokens} tokens with the chat so far; the context holds {context} with the answer.")
        needs = needs.format(tokens=whole(count.tokens), context=whole(count.context))
        self._show_error(sentences(needs, remedy))

    def _send(self, message: PreparedMessage, text: str, files: tuple[Attachment, ...]) -> None:
        assert self._session
        self._draft_timer.stop()
        self._notice.hide()
        editing, gap = self._state.editing, self._state.gap
        self._state = replace(self._state.found(), editing=None)
        if self._session.send(message):
            # What was typed and attached during the count is for the next message.
            rest = self._composer.text().strip().removeprefix(text).lstrip()
            further = tuple(file for file in self._composer.attached if file not in files)
            is_reading = self._composer.is_reading
            if editing is None:
                self._session.save_draft("")
            self._restore_draft()
            if rest or further:
                self._add_to_draft(rest, further)
            if is_reading:
                self._notice.say(self.tr("A file that was still being read was not attached."), bad=True)
        else:
            self._state = replace(self._state, editing=editing)
            self.save_draft()
        if gap:
            self._notice.say(gap, cause=Cause.MESSAGE)

    @Slot(str, str)
    def _show_error(self, sentence: str, missing_model: str = "") -> None:
        show = partial(self.model_requested.emit, missing_model) if missing_model else None
        action = self.tr("Get {model}").format(model=missing_model) if missing_model else ""
        self._notice.say(sentence, action, show, bad=True, cause=Cause.MESSAGE)
