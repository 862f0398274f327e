"""Carries what is written in the composer to the open chat: drafts, edits, fit, sending. Knows no transcript."""

from PySide6.QtCore import QObject, QTimer, Slot

from headstart.chat.conversation import Attachment, Conversation, Role
from headstart.ui import asking
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.chat.composer import Composer
from headstart.ui.chat.token_count import Count, TokenCount
from headstart.ui.spelling import sentences, whole
from headstart.ui.widgets.notice_bar import Cause, NoticeBar

_DRAFT_MS = 500


class MessageDesk(QObject):
    """One for the window; `open` gives it another chat."""

    def __init__(self, composer: Composer, notice: NoticeBar, count: TokenCount, parent: QObject | None = None) -> None:
        """Nothing is open yet."""
        super().__init__(parent)
        self._composer, self._notice, self._count = composer, notice, count
        self._session: ChatSession | None = None
        self._editing: int | None = None
        self._drafting = QTimer(self, singleShot=True, interval=_DRAFT_MS)
        self._drafting.timeout.connect(self.save_draft)
        composer.submitted.connect(self._submit)
        composer.changed.connect(self._note_change)
        composer.troubled.connect(self._complain)
        count.counted.connect(composer.show_count)
        count.uncounted.connect(composer.hide_count)

    def open(self, session: ChatSession) -> None:
        """Go on with the draft of another chat."""
        self._session = session
        self._restore_draft()

    def leave(self) -> None:
        """Keep the draft; the chat is written to no more."""
        if self._session is None:
            return
        self.cancel_edit()
        self._count.forget()
        self._drafting.stop()
        self.save_draft()
        if self._composer.is_reading:
            lost = self.tr("A file that was still being read was not attached; attach it again there.")
            self._notice.say(lost, bad=True)
        self._session = None
        self._composer.set_attached(())

    @Slot()
    def save_draft(self) -> None:
        """Keep what stands in the composer."""
        if self._session and self._editing is None:
            self._session.save_draft(self._composer.text(), self._composer.attached)

    def recount(self) -> None:
        """Ask again how much of the context is used."""
        if self._session is None:
            return
        composer, conversation = self._composer, self._session.conversation
        if composer.text().strip() or composer.attached:
            conversation = self._after(composer.text().strip(), composer.attached)
        path = conversation.path
        messages = asking.engine_messages(path, self._session.settings) if path else ()
        self._count.count(messages, composer.attached)

    def begin_edit(self, id_: int) -> None:
        """Take up a message again, with its files."""
        assert self._session
        self.cancel_edit()
        self.save_draft()
        message = self._session.message(id_)
        is_question = message.role is Role.USER
        self._editing = id_
        self._composer.set_text(message.text)
        self._composer.set_attached(message.attachments, takes_more=is_question)
        self._composer.setFocus()
        asked = self.tr("Editing your message: sending makes a new version and asks again.")
        answered = self.tr("Editing the answer: sending keeps your words as a new version.")
        words = asked if is_question else answered
        self._notice.say(words, self.tr("Cancel"), self.cancel_edit, cause=Cause.EDIT)

    def cancel_edit(self) -> bool:
        """Leave the message as it was; False if none is being edited."""
        if self._editing is None:
            return False
        self._editing = None
        self._notice.retract(Cause.EDIT)
        self._restore_draft()
        return True

    def _restore_draft(self) -> None:
        assert self._session
        self._composer.set_text(self._session.chat.draft)
        self._composer.set_attached(self._session.draft_files)
        self.recount()

    def _after(self, text: str, files: tuple[Attachment, ...]) -> Conversation:
        """The conversation as it would be with this message."""
        assert self._session
        conversation = self._session.conversation
        return conversation.ask(text, files) if self._editing is None else conversation.edit(self._editing, text, files)

    @Slot()
    def _note_change(self) -> None:
        if self._session is not None:  # between two chats nobody is to be told
            self._notice.retract(Cause.MESSAGE)
            self._drafting.start()
            self.recount()

    @Slot(str, object)
    def _submit(self, text: str, files: tuple[Attachment, ...]) -> None:
        """Send what will be answered, and first make sure that it fits."""
        assert self._session
        after = self._after(text, files)
        if after.last and after.last.role is Role.ASSISTANT:
            self._send(text, files)
            return
        messages = asking.engine_messages(after.path, self._session.settings)
        self._count.settle(messages, files, lambda count: self._send_if_fits(text, files, count))

    def _send_if_fits(self, text: str, files: tuple[Attachment, ...], count: Count | None) -> None:
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
        self._drafting.stop()
        self._notice.hide()
        if self._editing is not None:
            edited, self._editing = self._editing, None
            if self._session.edit(edited, text, files):
                self._restore_draft()
            else:
                self._editing = edited
        elif self._session.send(text, files):
            since = self._composer.text().strip().removeprefix(text).lstrip()  # typed while it was counted
            self._composer.clear()
            self._composer.set_text(since)
            self.save_draft()

    @Slot(str)
    def _complain(self, sentence: str) -> None:
        self._notice.say(sentence, bad=True, cause=Cause.MESSAGE)
