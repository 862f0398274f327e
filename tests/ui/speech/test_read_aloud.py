"""Stories of answers that are read aloud by a speech service that makes no sound."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.speech import voice
from headstart.ui.widgets.progress import NoticeBar
from tests.ui.person import WAIT, ask, begin

TEXT = "One two three. Four five six. Seven eight nine."


class SpeechService(QObject):
    """A speech service with the protocol SSIP. A sentence is spoken until `finish` is called, unless `is_fast`."""

    def __init__(self, address: Path, *, is_fast: bool = False, has_voice: bool = True) -> None:
        super().__init__()
        self._server = QLocalServer(self)
        assert self._server.listen(str(address))
        self._server.newConnection.connect(self._on_connection)
        self._client: QLocalSocket | None = None
        self._is_fast, self._has_voice = is_fast, has_voice
        self._text: list[str] | None = None  # of the sentence that is being received
        self.orders: list[str] = []
        self.spoken: list[str] = []
        self.is_speaking = False

    def finish(self, event: str = "702") -> None:
        """End the current sentence."""
        self.is_speaking = False
        number = len(self.spoken)
        self._send(f"{event}-{number}", f"{event}-1", f"{event} END")

    def close(self) -> None:
        self._server.close()
        if self._client:
            self._client.abort()

    def _send(self, *lines: str) -> None:
        assert self._client
        self._client.write("".join(f"{line}\r\n" for line in lines).encode())

    def _on_connection(self) -> None:
        self._client = self._server.nextPendingConnection()
        self._client.readyRead.connect(self._on_data)

    def _on_data(self) -> None:
        assert self._client
        while self._client.canReadLine():
            line = bytes(self._client.readLine().data()).decode().removesuffix("\r\n")
            if self._text is None:
                self._obey(line)
            elif line == ".":
                self.spoken.append("\n".join(self._text))
                self._text, self.is_speaking = None, True
                self._send(f"225-{len(self.spoken)}", "225 OK MESSAGE QUEUED")
                if self._is_fast:
                    self.finish()
            else:
                self._text.append(line[1:] if line.startswith(".") else line)

    def _obey(self, order: str) -> None:
        self.orders.append(order)
        if order == "SPEAK" and not self._has_voice:
            self._send("401 ERR NO OUTPUT MODULE")
        elif order == "SPEAK":
            self._text = []
            self._send("230 OK RECEIVING DATA")
        elif order == "CANCEL SELF":
            self._send("210 OK CANCELED")
            if self.is_speaking:
                self.finish("703")
        else:
            self._send("208 OK SET")


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    address = tmp_path / "speech.sock"
    monkeypatch.setenv("SPEECHD_ADDRESS", f"unix_socket:{address}")
    monkeypatch.setattr(voice, "PROGRAM", "no-such-speech-service")
    return address


@pytest.fixture
def service(qtbot: QtBot, address: Path) -> SpeechService:
    return SpeechService(address)


def toggle(app: Program) -> None:
    app.window.actions_by_name["read_aloud"].trigger()


def spoken_part(app: Program) -> str:
    """Return the highlighted text of the last answer."""
    transcript = app.window.chat.transcript
    view = transcript.view_of(transcript.contents()[-1].id)
    text = view._text
    marked = text._highlighter._spoken
    return text.toPlainText()[slice(*marked)] if marked else ""


def test_answer_is_read_sentence_by_sentence_and_marked(qtbot: QtBot, app: Program, service: SpeechService) -> None:
    ask(qtbot, app, TEXT)
    toggle(app)
    sentences = ("You wrote: One two three.", "Four five six.", "Seven eight nine.")
    bar: NoticeBar | None = None
    for sentence in sentences:
        qtbot.waitUntil(lambda sentence=sentence: service.spoken[-1:] == [sentence], timeout=WAIT)  # type: ignore[misc]
        assert spoken_part(app) == sentence
        bar = app.window.chat.reading
        assert bar
        assert bar.text == "Reading aloud"
        service.finish()
    qtbot.waitUntil(lambda: not app.read_aloud.is_reading, timeout=WAIT)
    assert bar
    assert bar.isHidden()
    assert not spoken_part(app)


def test_escape_silences_at_once(qtbot: QtBot, app: Program, service: SpeechService) -> None:
    ask(qtbot, app, TEXT)
    toggle(app)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not service.is_speaking, timeout=WAIT)
    assert service.orders[-1] == "CANCEL SELF"
    assert not app.read_aloud.is_reading
    toggle(app)
    qtbot.waitUntil(lambda: len(service.spoken) == 2, timeout=WAIT)
    assert service.spoken[-1] == "You wrote: One two three."


def test_answer_is_read_while_it_is_written(qtbot: QtBot, open_program: Callable[..., Program], address: Path) -> None:
    service = SpeechService(address, is_fast=True)
    app = open_program(pace=0.05)
    app.settings.change(read_aloud=True, speech_rate=40)
    begin(qtbot, app, " ".join(["Again and again."] * 20))
    qtbot.waitUntil(lambda: len(service.spoken) >= 2, timeout=WAIT)
    assert app.chat_controller.session.is_answering
    qtbot.waitUntil(lambda: len(service.spoken) == 20 and not app.read_aloud.is_reading, timeout=WAIT)
    assert "SET SELF RATE 40" in service.orders
    assert "SET SELF LANGUAGE en" in service.orders


def test_chinese_is_spoken_by_a_chinese_voice(qtbot: QtBot, app: Program, service: SpeechService) -> None:
    app.window.chat.composer.set_text("你好。")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Return)
    toggle(app)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    assert "SET SELF LANGUAGE zh" in service.orders


def test_other_chat_and_new_question_end_the_reading(qtbot: QtBot, app: Program, service: SpeechService) -> None:
    ask(qtbot, app, TEXT)
    toggle(app)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    ask(qtbot, app, "and more")
    qtbot.waitUntil(lambda: not service.is_speaking, timeout=WAIT)
    toggle(app)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    app.chats.open_new()
    qtbot.waitUntil(lambda: not service.is_speaking, timeout=WAIT)
    assert not app.read_aloud.is_reading


def test_menu_of_an_answer_reads_it(qtbot: QtBot, app: Program, service: SpeechService) -> None:
    ask(qtbot, app, TEXT)
    transcript = app.window.chat.transcript
    question, answer = (transcript.view_of(content.id).menu() for content in transcript.contents())
    assert not [each for each in question.actions() if each.text() == "Read Aloud"]
    next(each for each in answer.actions() if each.text() == "Read Aloud").trigger()
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    again = transcript.view_of(transcript.contents()[-1].id).menu()
    next(each for each in again.actions() if each.text() == "Stop Reading").trigger()
    qtbot.waitUntil(lambda: not service.is_speaking, timeout=WAIT)


def test_absent_service_is_said_with_the_remedy(qtbot: QtBot, app: Program, address: Path) -> None:
    ask(qtbot, app, TEXT)
    toggle(app)
    qtbot.waitUntil(lambda: "speech-dispatcher" in app.window.chat.notice.text, timeout=WAIT)
    assert not app.read_aloud.is_reading


def test_service_without_a_voice_is_said(qtbot: QtBot, app: Program, address: Path) -> None:
    service = SpeechService(address, has_voice=False)
    ask(qtbot, app, TEXT)
    toggle(app)
    qtbot.waitUntil(lambda: "speech-dispatcher" in app.window.chat.notice.text, timeout=WAIT)
    service.close()


@pytest.mark.parametrize("ends", [SpeechService.close, partial(SpeechService.finish, event="703")])
def test_service_that_dies_or_is_silenced_by_somebody_else_ends_the_reading(
    qtbot: QtBot, app: Program, service: SpeechService, ends: Callable[[SpeechService], None]
) -> None:
    ask(qtbot, app, TEXT)
    toggle(app)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    ends(service)
    qtbot.waitUntil(lambda: not app.read_aloud.is_reading, timeout=WAIT)


def test_line_that_begins_with_a_dot_is_spoken(qtbot: QtBot, service: SpeechService) -> None:
    speaker = voice.Voice()
    speaker.say(".gitignore", "en", 0)
    qtbot.waitUntil(lambda: service.is_speaking, timeout=WAIT)
    assert service.spoken == [".gitignore"]
    speaker.close()
    qtbot.waitUntil(lambda: not service.is_speaking, timeout=WAIT)
