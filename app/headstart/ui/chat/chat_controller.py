"""The controllers of the chat page: open chat, composer and prompts."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal, SignalInstance, Slot
from PySide6.QtGui import QGuiApplication

from headstart.chat.conversation import (
    Attachment,
    Chat,
    Conversation,
    Excerpt,
    Message,
    Passage,
    Role,
    State,
    ToolCall,
    file_of,
)
from headstart.chat.files.passages import MOST, PassageIndex, is_long
from headstart.chat.folders.folder_question import Question, understand
from headstart.chat.history.reader import Hit
from headstart.chat.search import ranges
from headstart.engine.engine import ConversationRequest, FinishReason, Step
from headstart.tools.servers import Offer
from headstart.ui.chat import live_answer
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.chat_session import ChatSession, PreparedMessage
from headstart.ui.chat.composer import Composer, TokenCount, TokenCounter
from headstart.ui.chat.live_answer import StoredOrigins
from headstart.ui.chat.message import WARMER, MessageAction, MessageContent, MessageState, PassageSource
from headstart.ui.chat.prompts import PromptDialog, fill, library, own_prompts
from headstart.ui.chat.transcript import Transcript, find_places
from headstart.ui.engine_link import EngineLink
from headstart.ui.formatting import listed, sentences, whole
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.progress import Cause, NoticeBar
from headstart.ui.widgets.undo_stack import Undoable


class PromptsController(QObject):
    """Controller of the library of prompts, which puts a chosen prompt into the composer."""

    changed = Signal(object)  # the user's own prompts, to be saved

    def __init__(self, page: ChatPage, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._prompts: dict[str, str] = {}
        page.prompts.chosen.connect(self._use_prompt)
        page.prompts.library_requested.connect(self._open_from_popup)
        page.empty.prompt_chosen.connect(self._use_from_page)
        page.empty.library_requested.connect(self.open_library)
        page.empty.example_chosen.connect(self._replace_message)

    def show(self, own: Mapping[str, str]) -> None:
        """Show the built-in prompts with the user's own."""
        self._prompts = library(own)
        self._page.prompts.set_prompts(self._prompts)
        self._page.empty.show_prompts(self._prompts)

    @Slot()
    def open_library(self) -> None:
        """Open the dialog that adds, changes and removes prompts."""
        dialog = PromptDialog(self._prompts, self._selection(), self._page.window())
        dialog.saved.connect(lambda prompts: self.changed.emit(own_prompts(prompts)))
        dialog.open()

    @Slot()
    def _open_from_popup(self) -> None:
        self._page.composer.set_text("")
        self.open_library()

    @Slot(str)
    def _use_prompt(self, name: str) -> None:
        prompt = fill(self._prompts[name], QGuiApplication.clipboard().text(), self._page.transcript.selected_text())
        self._page.composer.set_text(prompt.text, prompt.cursor)

    @Slot(str)
    def _use_from_page(self, name: str) -> None:
        """Apply a prompt to the text of the message."""
        prompt = fill(self._prompts[name], QGuiApplication.clipboard().text(), self._page.composer.text())
        self._replace_message(prompt.text, prompt.cursor)

    @Slot(str)
    def _replace_message(self, text: str, cursor: int | None = None) -> None:
        """Replace the text of the message; Ctrl+Z brings that back."""
        self._page.composer.replace_text(text, cursor)
        self._page.composer.setFocus()

    def _selection(self) -> str:
        selection = self._page.composer.edit.textCursor().selection().toPlainText()
        return selection or self._page.transcript.selected_text()


_STATES = MappingProxyType(
    {
        State.COMPLETE: MessageState.DONE,
        State.STOPPED: MessageState.STOPPED,
        State.STREAMING: MessageState.STREAMING,
        State.INTERRUPTED: MessageState.FAILED,
    }
)


class ContentCache:
    """The shown contents of one chat. A message that has not changed keeps its MessageContent object."""

    def __init__(self) -> None:
        # By id: the message, its version, whether it is the last one, and its content.
        self._entries: dict[int, tuple[Message, tuple[int, int], bool, MessageContent]] = {}

    def contents(self, conversation: Conversation, messages: Iterable[Message]) -> list[MessageContent]:
        """Return the contents of messages, the same objects as before where nothing has changed."""
        before, self._entries = self._entries, {}
        for message in messages:
            key = (message, conversation.version(message.id), _is_last(conversation, message))
            entry = before.get(message.id)
            is_same = entry is not None and entry[0] is message and entry[1:3] == key[1:]
            self._entries[message.id] = entry if entry and is_same else (*key, content(conversation, message))
        return [content for *_, content in self._entries.values()]


def content(conversation: Conversation, message: Message) -> MessageContent:
    """Return what is shown of `message`, which may have more text than it has in the conversation."""
    version, versions = conversation.version(message.id)
    return MessageContent(
        id=message.id,
        role=message.role.value,
        text=message.text,
        thinking=message.thinking,
        thinking_seconds=live_answer.thinking_seconds(message.stats),
        origins=StoredOrigins(message),
        author=message.model,
        version=version,
        versions=versions,
        stats=live_answer.report(message.stats),
        state=_STATES[message.state],
        notice=_end_notice(message) or _search_notice(conversation, message),
        actions=_suggested_actions(message) if _is_last(conversation, message) else (),
        attached=(*message.attachments, *map(_shown_call, message.calls)),
        sources=_sources(conversation, message) if message.role is Role.ASSISTANT else (),
        searched=_searched(conversation, message),
    )


def _shown_call(call: ToolCall) -> Attachment:
    """Return a call with its result, as it is shown: changes of a file as added and removed lines."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    match call.name, arguments:
        case "edit_file", {"path": str(path), "old": str(old), "new": str(new)}:
            lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        case "write_file", {"path": str(path), "content": str(content)}:
            lines = [f"+{line}" for line in content.splitlines()]
        case "run_command", {"command": str(command)}:
            return Attachment(call.name, f"$ {command}\n{call.result}")
        case "plan", _:
            return Attachment(call.name, call.result)
        case _:
            return Attachment(f"{call.name} {call.arguments}", call.result)
    return Attachment(f"{call.name} {path}", "\n".join((*lines, "", call.result)))


def _question(conversation: Conversation, answer: Message) -> Message | None:
    is_answer = answer.role is Role.ASSISTANT and answer.parent is not None
    return conversation.messages.get(answer.parent) if is_answer and answer.parent is not None else None


def _searched(conversation: Conversation, answer: Message) -> str:
    """Return what was looked for in the project's folders, if that is more than the question."""
    question = _question(conversation, answer)
    return question.searched if question and question.searched != question.text.strip() else ""


def _search_notice(conversation: Conversation, answer: Message) -> str:
    """Say that the project's folders have nothing on the question."""
    question = _question(conversation, answer)
    if not question or not question.searched or question.excerpts or answer.state is State.STREAMING:
        return ""
    words = shorten(" ".join(question.text.split()), _MAX_SEARCHED, placeholder="…")
    return QCoreApplication.translate("MessageContents", "Nothing in the files of the project fits “{}”.").format(words)


def _sources(conversation: Conversation, answer: Message) -> tuple[PassageSource, ...]:
    """Return the passages that went with the question."""
    messages = conversation.messages
    if answer.parent is None:
        return ()
    question = messages[answer.parent]
    files = [(passage, file_of(passage, messages)) for passage in question.passages]
    return (
        *(
            PassageSource(
                file.name, file.text[passage.start : passage.end], round(100 * passage.start / len(file.text))
            )
            for passage, file in files
            if file
        ),
        *(
            PassageSource(excerpt.name, excerpt.text, path=excerpt.path, place=_place(excerpt))
            for excerpt in question.excerpts
        ),
    )


def _place(excerpt: Excerpt) -> str:
    """Return the name of the file with the page or line."""
    name = excerpt.name.rpartition("/")[2]
    if excerpt.page:
        return QCoreApplication.translate("MessageContents", "{file}, page {page}").format(file=name, page=excerpt.page)
    if excerpt.line:
        return QCoreApplication.translate("MessageContents", "{file}, line {line}").format(file=name, line=excerpt.line)
    return name


def _is_last(conversation: Conversation, message: Message) -> bool:
    return conversation.last is not None and conversation.last.id == message.id


def _suggested_actions(message: Message) -> tuple[MessageAction, ...]:
    """Return the actions on buttons below the last message of a chat."""
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
    if not (message.text or message.thinking):
        return (MessageAction.REGENERATE,)
    return () if message.state is State.COMPLETE else (MessageAction.CONTINUE, MessageAction.REGENERATE)


def _end_notice(message: Message) -> str:
    notice = live_answer.notice(message.stats)
    if not notice and message.state is State.INTERRUPTED:
        return QCoreApplication.translate("MessageContents", "This answer was interrupted.")
    if not notice and message.edited:
        return QCoreApplication.translate("MessageContents", "Edited by you.")
    return notice


_MAX_SEARCHED = 80  # characters
_DRAFT_MS = 500
_SEARCH_MS = 300  # before the window says that it searches

# Searches the folders of a project for a question; returns False if there are none, else calls back.
Search = Callable[[str, Question, Callable[[tuple[Excerpt, ...]], None]], bool]


class ComposerController(QObject):
    """Controller of the composer, which sends, edits and counts the message for the open chat."""

    search_folders: Search = staticmethod(lambda _project, _question, _on_found: False)

    def __init__(self, composer: Composer, notice: NoticeBar, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._composer, self._notice = composer, notice
        self.count = TokenCounter(link, composer, self)
        self._session: ChatSession | None = None
        self._editing: int | None = None
        self._index = PassageIndex(())
        self._files: tuple[Attachment, ...] = ()  # the files for which the next two hold
        self._is_cut = False  # the model gets only passages of the long files
        self._num_passages = MOST  # as many have room
        self._excerpts: tuple[Excerpt, ...] = ()  # that were found for the message that is being sent
        self._searched = ""  # what was looked for
        self._search_number = 0  # of the last search, whose result counts
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

    def open(self, session: ChatSession) -> None:
        """Show the draft of another chat."""
        self._session = session
        self._restore_draft()

    def leave(self) -> None:
        """Save the draft before the chat is left."""
        if self._session is None:
            return
        self.cancel_edit()
        self.count.drop_callback()
        self._drop_search()
        self._draft_timer.stop()
        self.save_draft()
        if self._composer.is_reading:
            sentence = self.tr("A file that was still being read was not attached; attach it again there.")
            self._notice.say(sentence, bad=True)
        self._session = None
        self._composer.set_attached(())

    @Slot()
    def save_draft(self) -> None:
        """Save the text and the files in the composer."""
        if self._session and self._editing is None:
            self._session.save_draft(self._composer.text(), self._composer.attached)

    def recount(self) -> None:
        """Count soon how much of the context is used."""
        self._recount_timer.start()

    @Slot()
    def _on_recount(self) -> None:
        if self._session:
            files = self._composer.attached
            self.count.count(self.request(), files)
            self._composer.show_in_passages(filter(is_long, files) if self._is_cut else ())

    def request(self) -> ConversationRequest | None:
        """Return the request that sending the message now would make; None if there is nothing to read."""
        if self._session is None:
            return None
        text, files = self._composer.text().strip(), self._composer.attached
        if text or files:
            return self._prepare(text, files).request  # the folders are searched when the message is sent
        path = self._session.conversation.path
        return self._session.request(path) if path else None

    def begin_edit(self, id_: int) -> None:
        """Put a message and its files into the composer to edit them."""
        assert self._session
        self.cancel_edit()
        self.count.drop_callback()
        self.save_draft()
        message = self._session.message(id_)
        is_question = message.role is Role.USER
        self._editing = id_
        self._composer.set_text(message.text)
        self._composer.set_attached(message.attachments, takes_more=is_question)
        self._composer.setFocus()
        sentence = (
            self.tr("Editing: sending creates a new version.")
            if is_question
            else self.tr("Editing the answer: sending keeps your words as a new version.")
        )
        self._notice.say(sentence, self.tr("Cancel"), self.cancel_edit, cause=Cause.EDIT, dismissible=False)

    def cancel_edit(self) -> bool:
        """Stop editing without a change. Return False if no message is being edited."""
        if self._editing is None:
            return False
        self._editing = None
        self.count.drop_callback()
        self._notice.retract(Cause.EDIT)
        self._restore_draft()
        return True

    def _restore_draft(self) -> None:
        assert self._session
        self._drop_search()
        self._is_cut, self._num_passages = False, MOST
        self._composer.set_text(self._session.chat.draft)
        self._composer.set_attached(self._session.draft_files)
        self.recount()

    def _prepare(self, text: str, files: tuple[Attachment, ...]) -> PreparedMessage:
        assert self._session
        excerpts = self._excerpts[: self._num_passages]
        passages = self._passages(text, files)
        searched = self._searched if excerpts or not self._excerpts else ""  # found, but without room
        return self._session.prepare(text, files, passages, excerpts, searched, edited=self._editing)

    def _passages(self, text: str, files: tuple[Attachment, ...]) -> tuple[Passage, ...]:
        """Return the passages that match the message, from its long files and from cut files above it."""
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
        return self._index.find(text, self._num_passages)

    def _reduce_passages(self, count: TokenCount, files: tuple[Attachment, ...]) -> bool:
        """Use passages of long files, or fewer of them, if the count leaves no room for an answer; return if so."""
        assert self._session
        has_passages = self._is_cut or bool(self._index.files or self._excerpts)
        answer_tokens = min(self._session.settings.max_new_tokens, count.context // 4) if has_passages else 0
        if not count.is_exact or count.tokens < count.context - answer_tokens:
            return False
        if not self._is_cut and any(map(is_long, files)):
            self._is_cut = True
            return True
        if not has_passages or self._num_passages <= int(self._is_cut):
            return False
        self._num_passages -= 1
        return True

    @Slot(object)
    def _on_count(self, count: TokenCount) -> None:
        if self._session and self._reduce_passages(count, self._composer.attached):
            self._on_recount()

    @Slot()
    def _on_changed(self) -> None:
        if self._session is not None:  # None between two chats
            if self._composer.attached != self._files:
                self._files, self._is_cut, self._num_passages = self._composer.attached, False, MOST
            self._notice.retract(Cause.MESSAGE)
            if not self._draft_timer.isActive():  # whoever types without a pause has drafts, too
                self._draft_timer.start()
            self.recount()

    @Slot(str, object)
    def _on_submitted(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Search the project's folders for passages, then send the message if it fits into the context."""
        assert self._session
        self._recount_timer.stop()
        self._drop_search()
        edited = self._session.conversation.messages[self._editing] if self._editing is not None else None
        is_question = edited is None or edited.role is Role.USER
        question = understand(text, self._session.conversation.talk(self._editing))
        on_found = partial(self._on_excerpts, self._search_number, text, files, question.searched)
        if is_question and question.searched and self.search_folders(self._session.chat.project, question, on_found):
            self._search_timer.start()
        else:
            self._submit(text, files)

    def _on_excerpts(
        self, number: int, text: str, files: tuple[Attachment, ...], searched: str, excerpts: tuple[Excerpt, ...]
    ) -> None:
        if number == self._search_number:
            self._search_timer.stop()
            self._excerpts, self._searched, self._num_passages = excerpts, searched, MOST
            self._submit(text, files)

    def _drop_search(self) -> None:
        """Forget a search and its result."""
        self._search_number += 1
        self._search_timer.stop()
        self._excerpts, self._searched = (), ""

    @Slot()
    def _on_slow_search(self) -> None:
        self._notice.say(self.tr("Searching the files of the project…"), cause=Cause.MESSAGE, dismissible=False)

    def _submit(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Send the message if it fits into the context."""
        assert self._session
        message = self._prepare(text, files)
        if not message.is_question:
            self._send(message, text)
        elif self._must_be_cut(message, files):
            self._is_cut = True
            self._submit(text, files)
        else:
            self.count.count_for_sending(message.request, files, partial(self._send_if_fits, message, text, files))

    def _must_be_cut(self, message: PreparedMessage, files: tuple[Attachment, ...]) -> bool:
        """Return whether the message is too long with whole files."""
        can_be_cut = not self._is_cut and any(map(is_long, files))
        return can_be_cut and self.count.is_too_long(message.request, message.settings)

    def _send_if_fits(
        self, message: PreparedMessage, text: str, files: tuple[Attachment, ...], count: TokenCount | None
    ) -> None:
        assert self._session
        if (count and self._reduce_passages(count, files)) or not self._session.is_current(message):
            self._submit(text, files)
            return
        if count is None or count.fits:  # without a count, the engine reports what is wrong
            self._send(message, text)
            return
        remedy = (
            self.tr("Remove an attachment, shorten the message or start a new chat.")
            if files
            else self.tr("Shorten the message or start a new chat.")
        )
        needs = self.tr("This needs {tokens} tokens with the chat so far; the context holds {context} with the answer.")
        needs = needs.format(tokens=whole(count.tokens), context=whole(count.context))
        self._show_error(sentences(needs, remedy))

    def _send(self, message: PreparedMessage, text: str) -> None:
        assert self._session
        self._draft_timer.stop()
        self._notice.hide()
        edited, self._editing = self._editing, None
        self._excerpts, self._searched = (), ""
        if not self._session.send(message):
            self._editing = edited
        elif edited is not None:
            self._restore_draft()
        else:
            rest = self._composer.text().strip().removeprefix(text).lstrip()  # typed during the count
            self._composer.clear()
            self._composer.set_text(rest)
            self.save_draft()

    @Slot(str)
    def _show_error(self, sentence: str) -> None:
        self._notice.say(sentence, bad=True, cause=Cause.MESSAGE)


_MAX_UPDATES = 12  # if more messages differ, rebuilding the chat is faster


class ChatController(QObject):
    """Controller of the open chat, which shows its messages and carries out the actions on them."""

    fork_requested = Signal(object)
    answered = Signal(object)  # MessageContent of a complete answer
    undoable = Signal(object)  # Undoable
    model_dropped = Signal(str)  # path of a GGUF file
    updated = Signal()  # the transcript shows the messages of the chat

    def __init__(self, page: ChatPage, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._page = page
        self._session: ChatSession | None = None
        self._cache = ContentCache()
        self.composing = ComposerController(page.composer, page.notice, link, self)
        self._connect()

    @property
    def session(self) -> ChatSession:
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
        self._disconnect_session()
        self._session, self._cache = session, ContentCache()
        self._page.live.begin()  # clears the figures of another chat
        for signal, slot in self._connections(session):
            signal.connect(slot)
        self._page.transcript.show_chat(self._contents())
        self._show()
        self._show_wait(session.wait_text)
        self._show_record(session.chat)
        self._show_question()
        self._show_folder()
        self.composing.open(session)
        self._page.composer.setFocus()

    def close(self) -> None:
        """Save the draft when the window closes."""
        self._disconnect_session()
        self._session = None
        self.composing.count.close()

    def show_error(self, sentence: str, cause: Cause | None = None) -> None:
        """Show an error above the composer."""
        self._page.notice.say(sentence, bad=True, cause=cause)

    def show_hint(self, sentence: str) -> None:
        """Show a hint until the settings change or another answer begins."""
        self._page.notice.say(sentence, cause=Cause.SETTINGS)

    @Slot()
    def show_saved(self) -> None:
        """Show that everything is saved again after an error."""
        self._page.notice.say(self.tr("Everything is saved again."))

    def edit_last(self) -> None:
        questions = [message for message in self.session.path if message.role is Role.USER]
        if questions:
            self.composing.begin_edit(questions[-1].id)

    def regenerate_last(self) -> None:
        """Write another version of the last answer, or answer the last question."""
        path = self.session.path
        if path and path[-1].role is Role.ASSISTANT:
            self.session.regenerate(path[-1].id)
        elif path:
            self.session.answer_last()

    def continue_last(self) -> None:
        path = self.session.path
        if path and path[-1].role is Role.ASSISTANT:
            self.session.resume(path[-1].id)

    def copy_last(self) -> None:
        """Copy the last answer as Markdown."""
        answers = [message for message in self.session.path if message.role is Role.ASSISTANT]
        if answers:
            QGuiApplication.clipboard().setText(answers[-1].text)

    def reveal(self, hit: Hit, query: str) -> None:
        """Scroll to the message of a search hit and mark the matches."""
        self._page.find_bar.field.setText(query)
        self._page.find_bar.show()
        transcript = self._page.transcript
        contents = transcript.contents()
        index = next((number for number, item in enumerate(contents) if item.id == hit.message), 0)
        matches = find_places(contents, lambda text: ranges(text, query))
        in_message = [match for match in matches if match.message == index]
        in_same_part = [match for match in in_message if (match.file is None) == (hit.file is None)]
        transcript.reveal(index, 0, 0)
        if in_message:  # there is none if only markup or the name of a file matched
            transcript.show_places(matches, (in_same_part or in_message)[0])

    def _connect(self) -> None:
        page, transcript, composer = self._page, self._page.transcript, self._page.composer
        composer.stop_requested.connect(self.stop)
        composer.edit.recall_requested.connect(self.edit_last)
        page.files_dropped.connect(self._attach)
        transcript.action_requested.connect(self._on_action)
        page.call.decided.connect(self._on_decided)
        page.decided.connect(self._on_decided)
        page.folder.taken_back.connect(self._on_folder_taken_back)
        page.folder.opened.connect(self.open_folder_dialog)

    def _disconnect_session(self) -> None:
        if self._session is None:
            return
        self.composing.leave()
        for signal, slot in self._connections(self._session):
            signal.disconnect(slot)

    def _connections(self, session: ChatSession) -> tuple[tuple[SignalInstance, Callable[..., None]], ...]:
        """Return the signals of a chat with the slots that show them."""
        return (
            (session.reset, self._show),
            (session.began, self._on_began),
            (session.ended, self._on_ended),
            (session.chat_changed, self._show_record),
            (session.text_appended, self._on_text_appended),
            (session.wait_changed, self._show_wait),
            (session.approval_needed, self._show_question),
            (session.tool_called, self._show_calls),
            (session.folder.changed, self._show_folder),
        )

    def _contents(self) -> list[MessageContent]:
        return self._cache.contents(self.session.conversation, self.session.path)

    @Slot()
    def _show(self) -> None:
        """Update the messages that differ."""
        contents = self._contents()
        self._page.show_empty(not contents)
        self._page.composer.set_busy(self.session.is_answering)
        _update(self._page.transcript, contents)
        self._page.legend.show_origins({name for message in self.session.path for name in live_answer.origins(message)})
        self.composing.recount()
        self.updated.emit()

    @Slot(object)
    def _show_record(self, chat: Chat) -> None:
        title = chat.title or self.tr("New chat")
        self._page.show_title(f"{chat.project} · {title}" if chat.project else title)

    @Slot()
    def _on_began(self) -> None:
        self._page.live.begin()
        self._page.notice.retract(Cause.SETTINGS)

    @Slot(int, object)
    def _on_text_appended(self, id_: int, steps: Sequence[Step]) -> None:
        self._page.live.grow(steps)
        text, thinking = "".join(step.text for step in steps), "".join(step.thinking for step in steps)
        live = self.session.live
        if live and (text or thinking):
            runs, seconds = live_answer.origin_runs(steps), live_answer.thinking_seconds(live.own_stats())
            self._page.legend.add_origins({run.origin for run in runs})
            for transcript in self._page.showing(id_):
                transcript.view_of(id_).append(text, runs, thinking, seconds)

    @Slot(str)
    def _show_wait(self, words: str) -> None:
        live = self.session.live
        if live:
            for transcript in self._page.showing(live.message):
                transcript.view_of(live.message).set_notice(words)

    @Slot()
    def _show_question(self) -> None:
        self._page.ask(self.session.pending_call)

    @Slot(bool, bool)
    @Slot(bool, bool, object)
    def _on_decided(self, allowed: bool, always: bool, text: str | None = None) -> None:
        self.session.decide(allowed=allowed, always=always, text=text)
        self._page.composer.setFocus()

    @Slot()
    def _show_folder(self) -> None:
        self._page.folder.show_folder(self.session.folder)
        self.composing.recount()

    @Slot()
    def _on_folder_taken_back(self) -> None:
        """Take the folder back at once; a step that waits for approval is refused."""
        pending = self.session.pending_call
        if pending and not isinstance(pending[1], Offer):
            self.session.decide(allowed=False)
        with showing_errors(self.show_error):
            self.session.folder.take_back()
        self._page.composer.setFocus()

    @Slot()
    def open_folder_dialog(self) -> None:
        """Open the dialog of the chat's working folder."""
        from headstart.ui.workspace.folder_dialog import FolderDialog  # noqa: PLC0415 - few chats have a folder

        dialog = FolderDialog(self.session.folder, self.session.chat.project, self._page.window())
        dialog.undo_requested.connect(partial(self._undo_in_folder, self.session))
        dialog.open()

    def _undo_in_folder(self, session: ChatSession) -> None:
        """Take back what the last answer changed in the folder."""
        workspace = session.folder.workspace
        self._page.notice.hide()
        with showing_errors(self.show_error):
            if workspace is None:
                return
            restored, kept = workspace.record.undo()
            as_before = self.tr("As before: {}.").format(listed(restored))
            changed = self.tr("Changed since, and left as it is: {}.").format(listed(kept))
            words = sentences(as_before, changed) if restored and kept else changed if kept else as_before
            self._page.notice.say(words, bad=bool(kept))

    def _offer_undo(self, session: ChatSession) -> None:
        """Offer to take back what an answer changed in the folder."""
        folder, workspace = session.folder, session.folder.workspace
        before = workspace.record.latest if workspace else None
        undoable = Undoable(
            self.tr("Changes in the Folder"),
            self.tr("The answer has changed the folder."),
            partial(self._undo_in_folder, session),
            lambda: folder.workspace is workspace and workspace is not None and workspace.record.latest == before,
        )
        self._page.notice.say(undoable.sentence, self.tr("Undo"), undoable.undo)
        self.undoable.emit(undoable)

    @Slot(int)
    def _show_calls(self, id_: int) -> None:
        message = self.session.message(id_)
        attached = content(self.session.conversation, message).attached
        for transcript in self._page.showing(id_):
            transcript.view_of(id_).set_attached(attached)

    @Slot(int)
    def _on_ended(self, id_: int) -> None:
        message = self.session.message(id_)
        ended = content(self.session.conversation, message)
        self._page.live.end(message.stats)
        for transcript in self._page.showing(id_):
            transcript.end_stream(ended)
        self._show()
        if self.session.folder.has_changes:
            self._offer_undo(self.session)
        self.answered.emit(ended)

    @Slot()
    def stop(self) -> None:
        if self._session:
            self._session.stop()

    @Slot(object)
    def _attach(self, files: list[Path]) -> None:
        for model in [file for file in files if file.suffix.lower() == ".gguf"]:
            files.remove(model)
            self.model_dropped.emit(str(model))
        if not files:
            return
        self._page.composer.attach(files)
        self._page.composer.setFocus()

    @Slot(object, object)
    def _on_action(self, action: MessageAction, id_: int) -> None:
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
                self.session.switch_version(id_, -1)
            case MessageAction.NEXT:
                self.session.switch_version(id_, 1)
            case MessageAction.EDIT:
                self.composing.begin_edit(id_)
            case MessageAction.FORK:
                self.fork_requested.emit(id_)
            case MessageAction.DELETE:
                self._delete(id_)

    def _delete(self, id_: int) -> None:
        before = self.session.remove(id_)
        if before is not None:
            deletion = self._deletion(before)
            self._page.notice.say(deletion.sentence, self.tr("Undo"), deletion.undo)
            self.undoable.emit(deletion)

    def _deletion(self, before: Conversation) -> Undoable:
        """Return how to undo a deletion, until the chat changes again: that change would be lost."""
        session, after = self.session, self.session.conversation

        def is_possible() -> bool:
            return self._session is session and session.conversation is after

        def take_back() -> None:
            self._page.notice.hide()
            if is_possible():
                session.undo(before)

        return Undoable(self.tr("Delete Message"), self.tr("Message deleted."), take_back, is_possible)


def _update(transcript: Transcript, contents: Sequence[MessageContent]) -> None:
    shown = transcript.contents()
    pairs = enumerate(zip(shown, contents, strict=False))
    num_same = next((at for at, (old, new) in pairs if _differs(old, new)), min(len(shown), len(contents)))
    if len(shown) + len(contents) - 2 * num_same > 2 * _MAX_UPDATES:
        transcript.show_chat(contents)
        return
    for old in reversed(shown[len(contents) :]):
        transcript.remove(old.id)
    for old, new in zip(shown[num_same:], contents[num_same:], strict=False):
        if _differs(old, new):
            transcript.replace(new, instead_of=old.id)
    for new in contents[len(shown) :]:
        transcript.add(new)
    if contents and contents[-1].state is MessageState.STREAMING:
        transcript.view_of(contents[-1].id).begin_stream()


def _differs(old: MessageContent, new: MessageContent) -> bool:
    """Return whether contents differ in more than origins, whose runs are shorter while the text streams."""
    return old is not new and replace(old, origins=()) != replace(new, origins=())
