"""Answers read aloud, sentence by sentence, also while they are written."""

import re
import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QLocale, QObject, Signal, Slot

from headstart.chat.conversation import Role, State
from headstart.engine.engine import Step
from headstart.ui.chat.chat_page import ChatPage
from headstart.ui.chat.chat_session import ChatSession
from headstart.ui.settings_controller import CurrentSettings
from headstart.ui.speech.sentences import Sentence, SentenceStream
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.progress import NoticeBar

if TYPE_CHECKING:
    from headstart.ui.speech.voice import Voice

_HAN = re.compile("[\u3400-\u9fff]")


class ReadAloudController(QObject):
    """Reads one answer of the open chat aloud and marks the sentence that is spoken."""

    error_occurred = Signal(str)

    def __init__(self, page: ChatPage, settings: CurrentSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._page, self._settings = page, settings
        self._session: ChatSession | None = None
        self._voice: Voice | None = None  # is made when something is read
        self._bar: NoticeBar | None = None  # likewise
        self._message: int | None = None  # that is read
        self._is_complete = False
        self._stream = SentenceStream()
        self._sentences: deque[Sentence] = deque()
        self._is_speaking = False
        page.transcript.menu_opening.connect(self._on_menu_opening)

    @property
    def is_reading(self) -> bool:
        return self._message is not None

    @Slot(object)
    def follow(self, session: ChatSession) -> None:
        """Read the answers of another chat; what is being read ends."""
        if session is self._session:
            return
        self._leave()
        self._session = session
        session.began.connect(self._on_began)
        session.text_appended.connect(self._on_text_appended)
        session.ended.connect(self._on_ended)

    def close(self) -> None:
        """Stop, and disconnect from the speech service."""
        self._leave()
        if self._voice:
            self._voice.close()

    def _leave(self) -> None:
        self.stop()
        session, self._session = self._session, None
        if session:
            session.began.disconnect(self._on_began)
            session.text_appended.disconnect(self._on_text_appended)
            session.ended.disconnect(self._on_ended)

    @Slot()
    def toggle(self) -> None:
        """Read the last answer, or stop reading."""
        path = self._session.path if self._session else ()
        if self.is_reading:
            self.stop()
        elif path and path[-1].role is Role.ASSISTANT:
            self.read(path[-1].id)

    def read(self, id_: int) -> None:
        """Read an answer from its beginning."""
        assert self._session
        self._begin(id_, self._session.message(id_).text, 0)
        live = self._session.live
        self._is_complete = live is None or live.message != id_
        self._go_on()

    @Slot()
    def stop(self) -> None:
        """Stop at once."""
        if self._voice and self._is_speaking:
            self._voice.stop()
        self._end()

    def _begin(self, id_: int, text: str, start: int) -> None:
        self.stop()
        self._message, self._is_complete = id_, False
        self._stream = SentenceStream(text, start)
        self._show_bar()

    def _end(self) -> None:
        self._mark(None)
        self._message, self._is_speaking = None, False
        self._sentences.clear()
        if self._bar:
            self._bar.hide()

    @Slot(int)
    def _on_began(self, id_: int) -> None:
        self.stop()
        if self._settings.now.read_aloud and self._session:
            text = self._session.message(id_).text
            self._begin(id_, text, len(text))

    @Slot(int, object)
    def _on_text_appended(self, id_: int, steps: Sequence[Step]) -> None:
        if id_ == self._message:
            self._stream.append("".join(step.text for step in steps))
            self._go_on()

    @Slot(int)
    def _on_ended(self, id_: int) -> None:
        if id_ != self._message or self._session is None:
            return
        self._is_complete = True
        if self._session.message(id_).state is State.STOPPED:
            self.stop()
        else:
            self._go_on()

    @Slot()
    def _on_spoken(self) -> None:
        self._is_speaking = False
        self._go_on()

    @Slot()
    def _on_failed(self) -> None:
        self._end()
        remedy = self.tr(
            "No speech service answers: install speech-dispatcher with a voice, such as the packages "
            "speech-dispatcher and speech-dispatcher-espeak-ng, and try again."
        )
        elsewhere = self.tr("Answers are read aloud on Linux only: use the screen reader of your system.")
        self.error_occurred.emit(remedy if sys.platform == "linux" else elsewhere)

    def _go_on(self) -> None:
        """Speak the next complete sentence."""
        if self._message is None or self._is_speaking:
            return
        if not self._sentences:
            self._sentences.extend(self._stream.take(is_complete=self._is_complete))
        if self._sentences:
            sentence = self._sentences.popleft()
            self._is_speaking = True
            self._mark(sentence)
            self._speaker().say(sentence.text, _language_of(sentence.text), self._settings.now.speech_rate)
        elif self._is_complete:
            self._end()

    def _speaker(self) -> "Voice":
        if self._voice is None:
            from headstart.ui.speech.voice import Voice  # noqa: PLC0415 - most chats are silent

            self._voice = Voice(self)
            self._voice.ended.connect(self._on_spoken)
            self._voice.cancelled.connect(self._end)
            self._voice.failed.connect(self._on_failed)
        return self._voice

    def _mark(self, sentence: Sentence | None) -> None:
        if self._message is not None:
            for transcript in self._page.showing(self._message):
                transcript.view_of(self._message).mark_spoken((sentence.start, sentence.end) if sentence else None)

    def _show_bar(self) -> None:
        if self._bar is None:
            self._bar = NoticeBar(self._page)
            self._page.add_reading_bar(self._bar)
        self._bar.say(self.tr("Reading aloud"), self.tr("Stop"), self.stop, dismissible=False)

    @Slot(object, object)
    def _on_menu_opening(self, menu: Menu, id_: int) -> None:
        """Add reading to the menu of an answer."""
        if self._session and self._session.message(id_).role is Role.ASSISTANT:
            before = menu.actions()[1]
            is_read = id_ == self._message
            action = menu.addAction(self.tr("Stop Reading") if is_read else self.tr("Read Aloud"))
            action.triggered.connect(self.stop if is_read else lambda: self.read(id_))
            menu.insertAction(before, action)


def _language_of(text: str) -> str:
    """Return the language in which to speak a sentence: Chinese, or the window's."""
    if _HAN.search(text):
        return "zh"
    window = QLocale().name().partition("_")[0]
    return "en" if window == "zh" else window
