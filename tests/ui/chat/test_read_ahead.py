"""Reading ahead: its occasions, its obstacles, and the mark at its end."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QRect
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from headstart.engine.engine import ConversationRequest, FinishReason, LoadOptions, Message
from headstart.engine.protocol import ReadAhead, TurnTaken
from headstart.settings import Settings
from headstart.ui.chat import read_ahead
from headstart.ui.composer.composer import Composer, TokenCount
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Loadable
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.theme import LIGHT
from tests.ui.engine_in_process import note_orders
from tests.ui.person import WAIT, Power, ask, begin, click_chat, settle, shown, write

Open = Callable[..., Program]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate mains power, and shorten the pause."""
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    monkeypatch.setattr(read_ahead, "_PAUSE_MS", 30)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ReadAhead]:
    """The orders to read ahead."""
    return note_orders(monkeypatch, ReadAhead)


def texts(request: ConversationRequest) -> list[str]:
    """Return the texts of its messages."""
    return [message.content.strip() for message in request.messages]


def mark(app: Program) -> QLabel:
    """Return the mark beside the count."""
    return next(label for label in app.window.chat.composer.findChildren(QLabel) if label.accessibleName() == "Ready")


def is_ready(app: Program) -> bool:
    """Return whether the mark is shown."""
    return mark(app).isVisible()


def wait_ready(qtbot: QtBot, app: Program) -> None:
    """Wait until the mark is shown."""
    qtbot.waitUntil(lambda: is_ready(app), timeout=WAIT)


def type_in(app: Program, text: str) -> None:
    """Type a text without sending it."""
    QTest.keyClicks(app.window.chat.composer.edit, text)


def test_typed_text_is_read_after_a_pause(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    type_in(app, "one two three")
    assert not asked
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert [texts(order.request) for order in asked] == [["one two three"]]


def test_opened_chat_is_read(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    ask(qtbot, app, "hello")
    app.window.sidebar.new_requested.emit()
    settle(qtbot, app.window.chat.composer)
    asked.clear()
    click_chat(app, "hello")
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert texts(asked[-1].request) == ["hello", "You wrote: hello"]
    keep = asked[-1].request.keep
    assert keep
    assert keep.chat == app.chat_controller.session.chat.id


def test_opened_chat_is_read_with_its_unsent_message(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    ask(qtbot, app, "hello")
    type_in(app, "more")
    app.window.sidebar.new_requested.emit()
    settle(qtbot, app.window.chat.composer)
    asked.clear()
    click_chat(app, "hello")
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert texts(asked[-1].request)[-1] == "more"


def test_empty_chat_is_not_read(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    app.settings.change(system_prompt="Be brief.")
    settle(qtbot, app.window.chat.composer)
    assert not asked
    assert not is_ready(app)


def test_loaded_model_reads(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    app.loader.unload()
    type_in(app, "hello")
    settle(qtbot, app.window.chat.composer)
    assert not asked
    app.model_in_use.load_again()
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert texts(asked[-1].request) == ["hello"]


def test_attached_file_is_read(qtbot: QtBot, asked: list[ReadAhead], app: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("alpha beta", encoding="utf-8")
    app.window.chat.files_dropped.emit([tmp_path / "notes.md"])
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert "alpha beta" in texts(asked[-1].request)[0]


def test_read_text_is_not_requested_again(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    type_in(app, "hello")
    wait_ready(qtbot, app)
    type_in(app, " ")
    assert not is_ready(app)
    wait_ready(qtbot, app)
    assert len(asked) == 1


def test_read_ahead_waits_for_the_answer(qtbot: QtBot, asked: list[ReadAhead], open_program: Open) -> None:
    app = open_program(pace=0.05)
    begin(qtbot, app, "toy: words 1500")
    asked.clear()
    type_in(app, "next")
    settle(qtbot, app.window.chat.composer)
    assert not asked
    app.chat_controller.stop()
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    assert texts(asked[-1].request)[-1] == "next"


def test_read_ahead_waits_for_a_job(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    app.loader.occupy("A race is running.")
    type_in(app, "hello")
    settle(qtbot, app.window.chat.composer)
    assert not asked
    app.loader.release()
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)


def test_other_model_of_the_chat_reads_nothing(qtbot: QtBot, asked: list[ReadAhead], open_program: Open) -> None:
    def find(settings: Settings) -> Loadable:
        name = settings.model or "toy"
        return Loadable(name, LoadOptions(Path(name)))

    app = open_program(find=find)
    ask(qtbot, app, "hello")
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    app.store.save_settings(chat, {"model": "other"})
    app.window.sidebar.list.chosen.emit(chat, None)
    type_in(app, "more")
    settle(qtbot, app.window.chat.composer)
    assert not asked


def test_remote_model_reads_nothing(qtbot: QtBot, asked: list[ReadAhead], app: Program) -> None:
    assert app.link.model_info
    app.link._session.model_info = replace(app.link.model_info, server="attic")
    type_in(app, "hello")
    settle(qtbot, app.window.chat.composer)
    assert not asked


@pytest.mark.parametrize(
    ("choice", "power", "reads"),
    [
        ("auto", None, True),
        ("auto", Power(power_plugged=True), True),
        ("auto", Power(power_plugged=False), False),
        ("always", Power(power_plugged=False), True),
        ("never", None, False),
    ],
)
def test_read_ahead_follows_setting_and_battery(
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[ReadAhead],
    app: Program,
    choice: str,
    power: Power | None,
    reads: bool,
) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: power)
    app.settings.change(read_ahead=choice)
    type_in(app, "hello")
    if reads:
        wait_ready(qtbot, app)
    else:
        settle(qtbot, app.window.chat.composer)
        assert not is_ready(app)
    assert bool(asked) == reads


def test_ready_mark_ends_with_the_setting(qtbot: QtBot, app: Program) -> None:
    type_in(app, "hello")
    wait_ready(qtbot, app)
    app.settings.change(read_ahead="never")
    qtbot.waitUntil(lambda: not is_ready(app), timeout=WAIT)


def test_ready_mark_ends_with_the_message(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.05)
    type_in(app, "toy: words 400")
    wait_ready(qtbot, app)
    write(app, "")
    qtbot.waitUntil(lambda: app.link.generation is not None, timeout=WAIT)
    assert not is_ready(app)


def test_ready_mark_ends_with_another_version(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    ask(qtbot, app, "toy: words 40")
    wait_ready(qtbot, app)
    app.window.chat.transcript.action_requested.emit(MessageAction.REGENERATE, shown(app)[-1].id)
    assert not is_ready(app)


def test_ready_mark_ends_with_another_chat(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    wait_ready(qtbot, app)
    app.window.sidebar.new_requested.emit()
    assert not is_ready(app)
    settle(qtbot, app.window.chat.composer)
    assert not is_ready(app)
    click_chat(app, "hello")
    wait_ready(qtbot, app)


def test_ready_mark_ignores_late_reports(qtbot: QtBot, asked: list[ReadAhead], open_program: Open) -> None:
    app = open_program(pace=0.2)
    type_in(app, "one two three four")
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT)
    type_in(app, " five")
    with qtbot.waitSignal(app.link.prompt_read, timeout=WAIT) as read:
        pass
    assert texts(read.args[0]) == ["one two three four five"]
    assert is_ready(app)


def test_ready_mark_has_a_description(qtbot: QtBot, app: Program) -> None:
    type_in(app, "hello")
    wait_ready(qtbot, app)
    meaning = "The model has read this chat and your message so far: its answer begins at once."
    assert (mark(app).toolTip(), mark(app).accessibleDescription()) == (meaning, meaning)
    (send,) = (each for each in app.window.chat.composer.findChildren(QToolButton) if each.accessibleName() == "Send")
    assert send.accessibleDescription() == meaning  # where the keyboard leads
    type_in(app, "!")
    assert not send.accessibleDescription()


@pytest.mark.parametrize("points", [11, 22])
def test_ready_mark_moves_nothing(qtbot: QtBot, points: int) -> None:
    composer = Composer()
    qtbot.addWidget(composer)
    font = composer.font()
    font.setPointSize(points)
    composer.setFont(font)
    composer.setStyleSheet(stylesheet.sheet(LIGHT, font))
    composer.show_model("a model", "")
    composer.show_reach("Offline", "", leaves_computer=False)
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), 7315, 8192))
    composer.show()

    def places() -> list[QRect]:
        QApplication.processEvents()
        return [part.geometry() for part in (composer.model_button, composer._reach, composer._count, composer._send)]

    composer.resize(4 * composer.sizeHint().width(), composer.sizeHint().height())
    composer.show_ready(ready=True)
    assert composer._ready.isVisible()
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), 8315, 8192))
    assert not composer._ready.isVisible()  # what is too long cannot be sent
    composer.show_count(TokenCount(ConversationRequest((Message("user", "Hi"),)), 7315, 8192))
    was_shown = set()
    for width in range(4 * composer.sizeHint().width(), composer.minimumSizeHint().width(), -7):
        composer.show_ready(ready=False)
        composer.resize(width, composer.sizeHint().height())
        before = places()
        composer.show_ready(ready=True)
        assert places() == before, width
        assert composer.width() == width
        was_shown.add(composer._ready.isVisible())
    assert was_shown == {True, False}


def test_crashed_engine_reads_nothing_by_itself(qtbot: QtBot, asked: list[ReadAhead], open_program: Open) -> None:
    app = open_program()
    begin(qtbot, app, "hello over there, you toy")
    type_in(app, "more")
    wait_ready(qtbot, app)
    asked.clear()
    with qtbot.waitSignal(app.link.restarted, timeout=WAIT):
        assert app.link._session.process
        app.link._session.process.end()
    settle(qtbot, app.window.chat.composer)
    assert not asked
    assert not is_ready(app)
    type_in(app, "!")
    wait_ready(qtbot, app)


def prompt(words: int) -> ConversationRequest:
    """Return a prompt that takes the toy a while."""
    return ConversationRequest((Message("user", "word " * words),))


def test_only_the_newest_prompt_is_reported(qtbot: QtBot, loaded_link: EngineLink) -> None:
    read: list[ConversationRequest] = []
    loaded_link.prompt_read.connect(read.append)
    loaded_link.read_ahead(prompt(3))
    loaded_link.read_ahead(prompt(20))
    qtbot.waitUntil(lambda: bool(read), timeout=WAIT)
    assert read == [prompt(20)]
    loaded_link.read_ahead(prompt(20))  # it is there already
    assert read == [prompt(20)] * 2


def test_answer_interrupts_reading_ahead(qtbot: QtBot, loaded_link: EngineLink) -> None:
    read: list[ConversationRequest] = []
    loaded_link.prompt_read.connect(read.append)
    loaded_link.read_ahead(prompt(1000))
    with qtbot.waitSignal(loaded_link.finished, timeout=WAIT) as finished:
        loaded_link.generate(prompt(3))
        loaded_link.read_ahead(prompt(4))
    assert finished.args[1].reason is FinishReason.STOP
    assert not read


@pytest.mark.parametrize("in_between", ["chat deleted", "program asked"])
def test_forgotten_prompt_is_read_again(qtbot: QtBot, loaded_link: EngineLink, in_between: str) -> None:
    with qtbot.waitSignal(loaded_link.prompt_read, timeout=WAIT):
        loaded_link.read_ahead(prompt(3))
    if in_between == "chat deleted":
        loaded_link.forget_chats("some chat")
    else:
        loaded_link._handle(TurnTaken())
    read: list[ConversationRequest] = []
    loaded_link.prompt_read.connect(read.append)
    loaded_link.read_ahead(prompt(3))
    assert not read
    qtbot.waitUntil(lambda: read == [prompt(3)], timeout=WAIT)


def test_read_ahead_without_a_model_sends_nothing(qtbot: QtBot, link: EngineLink) -> None:
    link.read_ahead(prompt(3))
    assert link.pid == 0


def test_read_ahead_after_close_sends_nothing(loaded_link: EngineLink) -> None:
    loaded_link.close()
    loaded_link.read_ahead(prompt(3))
    assert loaded_link.pid == 0
