"""The model names chats when it has nothing else to do: which chats, which moments, and who comes first."""

from collections.abc import Callable

import psutil
import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart.engine.protocol import WriteTitle
from headstart.ui.program import Program
from headstart.ui.sidebar import chat_titles
from tests.ui.engine_in_process import note_orders
from tests.ui.person import WAIT, Power, ask, begin, chat_rows, settle, write

Open = Callable[..., Program]
LONG = "Tell me all about lighthouses and those who kept them through the storms of three centuries"
CUT = "Tell me all about lighthouses and those who…"
NAMED = "You wrote: Write a title for this conversation…"  # as a toy answers


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate mains power, shorten the pause, and make room for a toy's answers."""
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    monkeypatch.setattr(chat_titles, "_PAUSE_MS", 30)
    monkeypatch.setattr(chat_titles, "_MAX_TOKENS", 40)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[WriteTitle]:
    """The requested titles."""
    return note_orders(monkeypatch, WriteTitle)


def test_long_first_message_gets_a_title(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, LONG)
    assert CUT in chat_rows(app)
    qtbot.waitUntil(lambda: NAMED in chat_rows(app), timeout=WAIT)
    assert [message.content.strip() for message in asked[0].request.messages[:2]] == [LONG, f"You wrote: {LONG}"]
    assert asked[0].request.keep is None
    ask(qtbot, app, "more")
    settle(qtbot, app.window.chat.composer)
    assert len(asked) == 1
    assert app.store.chat(app.chat_controller.session.chat.id).title == NAMED  # type: ignore[union-attr]


def test_short_question_is_the_title(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "Who kept lighthouses?")
    settle(qtbot, app.window.chat.composer)
    assert not asked
    assert "Who kept lighthouses?" in chat_rows(app)


def test_title_of_the_user_is_kept(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program(pace=0.03)
    app.settings.change(read_ahead="never")  # it would interrupt the title
    ask(qtbot, app, LONG)
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    app.chats.rename(app.chat_controller.session.chat.id, "mine")
    with qtbot.waitSignal(app.link.titled, timeout=WAIT) as told:
        pass
    assert told.args[1]
    assert "mine" in chat_rows(app)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("choice", "on_battery", "wanted"),
    [("auto", True, False), ("auto", False, True), ("always", True, True), ("never", False, False)],
)
def test_title_follows_setting_and_battery(
    qtbot: QtBot,
    asked: list[WriteTitle],
    open_program: Open,
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    on_battery: bool,
    wanted: bool,
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: Power(not on_battery), raising=False)
    app = open_program()
    app.settings.change(chat_titles=choice)
    ask(qtbot, app, LONG)
    if wanted:
        qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    else:
        settle(qtbot, app.window.chat.composer)
        assert not asked


def test_title_waits_for_the_next_answer(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program(pace=0.03)
    ask(qtbot, app, LONG)
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    with qtbot.waitSignal(app.link.titled, timeout=WAIT) as told:
        write(app, "more")
    assert told.args[1] is None
    qtbot.waitUntil(lambda: NAMED in chat_rows(app), timeout=WAIT)
    assert len(app.chat_controller.session.path) == 4
    assert len(asked[-1].request.messages) == 5


def test_title_waits_for_typing(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, LONG)
    QTest.keyClicks(app.window.chat.composer.edit, "mo")
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
    settle(qtbot, app.window.chat.composer)
    assert not asked
    app.window.chat.composer.clear()
    qtbot.waitUntil(lambda: NAMED in chat_rows(app), timeout=WAIT)


def test_deleted_chat_gets_no_title(qtbot: QtBot, asked: list[WriteTitle], open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, LONG)
    app.chats.delete(app.chat_controller.session.chat.id)
    settle(qtbot, app.window.chat.composer)
    assert not asked
