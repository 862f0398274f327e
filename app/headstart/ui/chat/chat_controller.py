"""The controller of the open chat."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtGui import QGuiApplication

from headstart.chat.conversation import Chat, Conversation, Edit, Role
from headstart.chat.history.reader import Hit
from headstart.chat.search import ranges
from headstart.engine.engine import Step
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.chat.composer_controller import ComposerController
from headstart.ui.engine_link import EngineLink
from headstart.ui.formatting import listed, sentences
from headstart.ui.transcript import live_answer
from headstart.ui.transcript.message import WARMER, MessageAction, MessageContent, MessageState
from headstart.ui.transcript.message_contents import ContentCache, content
from headstart.ui.transcript.transcript import Transcript, find_places
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.progress import Cause
from headstart.ui.widgets.undo_stack import Undoable

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
        self.composing.count.drop_callback()  # nobody would see the answer
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
        self._page.unsaved.hide()
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
        self.composing.undoable.connect(self.undoable)
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
        self.composing.follow_messages()
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
        self._page.notice.dismiss()
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
            deletion = self._deletion(*before)
            self._page.notice.say(deletion.sentence, self.tr("Undo"), deletion.undo)
            self.undoable.emit(deletion)

    def _deletion(self, before: Conversation, edits: Mapping[int, Edit]) -> Undoable:
        """Return an action that undoes a deletion. It does nothing once the chat has changed again."""
        session, after = self.session, self.session.conversation

        def is_possible() -> bool:
            return self._session is session and session.conversation is after

        def take_back() -> None:
            self._page.notice.dismiss()
            if is_possible():
                session.undo(before, edits)

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
    for index, (old, new) in enumerate(zip(shown[num_same:], contents[num_same:], strict=False), num_same):
        if _differs(old, new):
            transcript.replace(index, new)
    for new in contents[len(shown) :]:
        transcript.add(new)
    if contents and contents[-1].state is MessageState.STREAMING:
        transcript.view_of(contents[-1].id).begin_stream()


def _differs(old: MessageContent, new: MessageContent) -> bool:
    """Return whether contents differ in more than origins, whose runs are shorter while the text streams."""
    return old is not new and replace(old, origins=()) != replace(new, origins=())
