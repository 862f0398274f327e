"""Stories of an answer: asked, streamed, stopped, cut short by a dead engine or a closed window."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import State
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageState
from headstart.ui.transcript.text_view import TextView
from tests.ui.person import WAIT, ask, begin, shown, stored, texts

Open = Callable[..., Program]


def test_enter_sends_and_the_answer_is_stored(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello there")
    assert texts(app) == ["hello there", "You wrote: hello there"]
    assert stored(app) == [("hello there", State.COMPLETE), ("You wrote: hello there", State.COMPLETE)]
    assert app.window.chat.composer.text() == ""
    assert shown(app)[1].author == "toy"
    assert "accepted" in shown(app)[1].stats
    assert {run.origin for run in shown(app)[1].origins} == {"target", "draft"}
    assert app.chats.current
    assert app.chats.current.chat.title == "hello there"


def test_text_is_on_screen_with_its_frame(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    late: list[int] = []

    def note(message: int, _steps: object) -> None:
        view = app.window.chat.transcript.view_of(message)
        late.append(len(view.content.text) - len(view.findChildren(TextView)[0].toPlainText()))

    app.chat_controller.session.text_appended.connect(note)
    ask(qtbot, app, "toy: words 60")
    assert len(late) > 3
    assert max(late) <= 1  # a space at the end


def test_escape_stops_and_keeps_the_part(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    stop = app.window.actions_by_name["stop"]
    assert not stop.isEnabled()
    begin(qtbot, app, "toy: words 4000")
    qtbot.waitUntil(stop.isEnabled, timeout=WAIT)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert not stop.isEnabled()
    text, state = stored(app)[-1]
    assert state is State.STOPPED
    assert text.startswith("The toy engine")
    assert len(text.split()) < 4000
    assert shown(app)[-1].state is MessageState.STOPPED
    ask(qtbot, app, "go on")
    assert texts(app)[-1] == "You wrote: go on"


def test_button_sends_and_stops(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    button = app.window.chat.composer._send
    assert not button.isEnabled()
    QTest.keyClicks(app.window.chat.composer.edit, "toy: words 4000")
    assert button.isEnabled()
    button.click()
    qtbot.waitUntil(lambda: button.accessibleName() == "Stop", timeout=WAIT)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        button.click()
    assert button.accessibleName() == "Send"


def test_streamed_text_is_on_disk_before_its_end(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.05)
    begin(qtbot, app, "toy: words 4000")
    qtbot.waitUntil(lambda: len(stored(app)[-1][0].split()) > 10, timeout=WAIT)
    assert stored(app)[-1][1] is State.STREAMING


def test_closing_during_an_answer_keeps_its_part(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 4000")
    again = open_program()
    text, state = stored(again)[-1]
    assert state is State.INTERRUPTED
    assert text.startswith("The toy engine")
    assert "interrupted" in shown(again)[-1].notice


def test_answer_continues_behind_another_chat(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    begin(qtbot, app, "toy: words 90")
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    assert not shown(app)
    assert not app.chat_controller.session.ask("not now")
    assert "still being written" in app.window.chat.notice.text
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    app.window.sidebar.list.chosen.emit(chat, None)
    assert len(texts(app)[-1].split()) == 90
    assert shown(app)[-1].state is MessageState.DONE
