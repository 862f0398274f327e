"""Announcements of the open chat's answer for those who do not see it."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from headstart.chat.conversation import State
from headstart.engine.engine import Step
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.formatting import sentences
from headstart.ui.speech.sentences import SentenceStream
from headstart.ui.transcript import live_answer
from headstart.ui.widgets.announcements import announce

_INTERVAL_MS = 1000  # between announcements of text; what came in between is joined


class Announcer(QObject):
    """Announces that an answer begins, its sentences and its end. Errors and questions announce themselves."""

    def __init__(self, page: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self._page = page
        self._session: ChatSession | None = None
        self._stream = SentenceStream()
        self._pause = QTimer(self, singleShot=True, interval=_INTERVAL_MS)
        self._pause.timeout.connect(self._announce_text)

    @Slot(object)
    def follow(self, session: ChatSession) -> None:
        """Announce the answers of another chat."""
        if session is self._session:
            return
        self.close()
        self._session = session
        self._begin()
        session.began.connect(self._on_began)
        session.text_appended.connect(self._on_text_appended)
        session.ended.connect(self._on_ended)

    def close(self) -> None:
        """Stop announcing."""
        self._pause.stop()
        session, self._session = self._session, None
        if session:
            session.began.disconnect(self._on_began)
            session.text_appended.disconnect(self._on_text_appended)
            session.ended.disconnect(self._on_ended)

    def _begin(self) -> None:
        """Begin after the text that the answer has so far."""
        text = self._session.live.text if self._session and self._session.live else ""
        self._stream = SentenceStream(text, len(text))

    @Slot()
    def _on_began(self) -> None:
        self._begin()
        announce(self._page, self.tr("The answer begins."))
        self._pause.start()

    @Slot(int, object)
    def _on_text_appended(self, _id: int, steps: Sequence[Step]) -> None:
        self._stream.append("".join(step.text for step in steps))
        if not self._pause.isActive():
            self._announce_text()

    @Slot()
    def _announce_text(self) -> None:
        if words := self._words(is_complete=False):
            announce(self._page, words)
            self._pause.start()

    def _words(self, *, is_complete: bool) -> str:
        """Return the new sentences. Nothing is parsed while no screen reader is active."""
        taken = self._stream.take(is_complete=is_complete) if QAccessible.isActive() else []
        return " ".join(sentence.text for sentence in taken)

    @Slot(int)
    def _on_ended(self, id_: int) -> None:
        assert self._session
        self._pause.stop()
        message = self._session.message(id_)
        notice, words = live_answer.notice(message.stats), self._words(is_complete=True)
        if message.state is State.INTERRUPTED:
            announce(self._page, words)
            announce(self._page, notice, urgent=True)
            return
        end = notice or self.tr("The answer is complete.")
        announce(self._page, sentences(words, end) if words else end)
