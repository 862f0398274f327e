"""Buttons that go on where a chat stands still: Answer, Continue, Try again, Load, Get a model."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from bench.window.profile import toy_model
from headstart.chat.conversation import State
from headstart.engine.engine import ConversationRequest
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable, installed_model
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction, MessageState
from headstart.ui.widgets.labels import ElidedLabel
from headstart.ui.window.dialogs import CommandPalette
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, ask, begin, shown, stored, texts, write

Open = Callable[..., Program]


def offers(app: Program, message: int = -1) -> list[str]:
    """Return the buttons below a message."""
    transcript = app.window.chat.transcript
    view = transcript.view(len(transcript.contents()) + message)
    return [button.text() for button in view.findChildren(QPushButton) if button.isVisible()]


def press(qtbot: QtBot, app: Program, text: str) -> None:
    """Press a button below the last message and wait for the end of the answer."""
    transcript = app.window.chat.transcript
    view = transcript.view(len(transcript.contents()) - 1)
    button = next(each for each in view.findChildren(QPushButton) if each.text() == text)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        button.click()


def test_answer_of_the_maximum_length_can_be_continued(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("max_new_tokens", 4)
    ask(qtbot, app, "toy: words 50")
    before = texts(app)[-1]
    assert shown(app)[-1].notice == "The answer reached its longest length."
    assert offers(app) == ["Continue"]
    app.window.panel.edited.emit("max_new_tokens", 100)
    press(qtbot, app, "Continue")
    assert texts(app)[-1].startswith(before)
    assert len(texts(app)[-1]) > len(before)
    assert offers(app) == []


def test_stopped_answer_can_be_continued_or_retried(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 60")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.actions_by_name["stop"].trigger()
    assert offers(app) == ["Continue", "Try again"]
    press(qtbot, app, "Try again")
    assert len(texts(app)[-1].split()) == 60
    assert shown(app)[-1].versions == 2
    app.window.chat.transcript.action_requested.emit(MessageAction.PREVIOUS, shown(app)[-1].id)
    assert offers(app) == ["Continue", "Try again"]
    before = texts(app)[-1]
    app.window.actions_by_name["continue"].trigger()
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    assert texts(app)[-1].startswith(before)


def test_empty_answer_can_be_retried(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: refuse")
    assert "The toy refuses" in shown(app)[-1].notice
    assert offers(app) == ["Try again"]
    press(qtbot, app, "Try again")
    assert shown(app)[-1].versions == 2


def test_unanswered_question_can_be_answered(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, shown(app)[1].id)
    assert offers(app) == ["Answer"]
    press(qtbot, app, "Answer")
    assert texts(app) == ["hello", "You wrote: hello"]
    assert offers(app, -2) == offers(app) == []


def test_question_waits_for_the_answer_of_another_chat(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    ask(qtbot, app, "hello")
    asked = app.chat_controller.session.chat.id
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, shown(app)[1].id)
    app.window.sidebar.new_requested.emit()
    begin(qtbot, app, "toy: words 400")
    app.window.sidebar.list.chosen.emit(asked, None)
    app.window.actions_by_name["regenerate"].trigger()
    assert "still being written" in app.window.chat.notice.text
    assert texts(app) == ["hello"]


def test_continue_command_needs_an_answer(qtbot: QtBot, app: Program) -> None:
    command = app.window.actions_by_name["continue"]
    assert not command.isEnabled()
    ask(qtbot, app, "hello")
    assert command.isEnabled()
    app.window.actions_by_name["palette"].trigger()
    palette = app.window.findChild(CommandPalette)
    assert isinstance(palette, CommandPalette)
    palette.field.setText("continue")
    found = palette.list.topLevelItem(0)
    assert found
    assert (found.text(0), found.text(1)) == ("Continue Answer", "Ctrl+G")
    palette.close()
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        command.trigger()
    assert shown(app)[-1].versions == 1


@pytest.mark.engine_process
def test_crashed_answer_can_be_continued(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 60")
    with qtbot.waitSignal(app.link.restarted, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    assert shown(app)[-1].state is MessageState.FAILED
    assert stored(app)[-1] == (texts(app)[-1], State.INTERRUPTED)
    assert "memory ran out" in shown(app)[-1].notice
    assert app.window.chat.notice.text == ""
    partly = texts(app)[-1]
    assert offers(app) == ["Continue", "Try again"]
    assert partly.startswith("The toy engine")
    press(qtbot, app, "Continue")
    assert texts(app)[-1].startswith(partly)


def test_only_the_last_message_has_ways_on(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "toy: refuse")
    ask(qtbot, app, "hello")
    assert offers(app, -3) == []


@pytest.mark.parametrize("name", ["race", "bench", "tune"])
def test_measuring_page_leads_to_a_first_model(open_program: Open, name: str) -> None:
    app = open_program(find=installed_model, loaded=False)
    app.window.actions_by_name[name].trigger()
    page = app.window.pages.currentWidget()
    assert isinstance(page, JobPage)
    assert not page.start.isEnabled()
    assert page.sentence == "No model is installed yet."
    button(page, "Get a model").click()
    assert app.window.pages.currentWidget() is app.window.models


def test_button_leads_to_a_model_until_there_is_one(qtbot: QtBot, headstart_home: Path, open_program: Open) -> None:
    app = open_program(find=installed_model, loaded=False)
    app.window.show_page(app.window.chat)
    write(app, "hello")
    notice = app.window.chat.notice
    assert notice.text == "No model is installed yet."
    button(notice, "Get a model").click()
    assert app.window.pages.currentWidget() is app.window.models
    assert notice.text == ""
    write(app, "hello again")
    write_model(headstart_home / "models" / "smol")
    app.models.changed.emit()
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert notice.text == ""
    assert offers(app) == ["Answer"]
    press(qtbot, app, "Answer")
    assert texts(app)[-1] == "You wrote: hello hello again"


def test_failed_load_can_be_retried(qtbot: QtBot, open_program: Open) -> None:
    folder = ["broken"]

    def find(settings: Settings) -> Loadable:
        found = toy_model(settings)
        return replace(found, options=replace(found.options, target=Path(folder[0])))

    app = open_program(find=find, loaded=False)
    notice = app.window.chat.notice
    qtbot.waitUntil(lambda: "is no model" in notice.text, timeout=WAIT)
    ask(qtbot, app, "hello")
    assert shown(app)[-1].notice == "The model could not be loaded."
    assert "is no model" in notice.text
    assert offers(app) == ["Try again"]
    folder[0] = "toy"
    button(notice, "Load again").click()
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert notice.text == ""
    press(qtbot, app, "Try again")
    assert texts(app)[-1] == "You wrote: hello"


@pytest.mark.engine_process
def test_crashed_load_can_be_retried(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=lambda s: Loadable("x", replace(toy_model(s).options, target=Path("heavy"))), loaded=False)
    notice = app.window.chat.notice
    qtbot.waitUntil(lambda: "It was loading a model" in notice.text, timeout=WAIT)
    assert app.link.pid == 0
    assert "Load a model" not in notice.text
    with qtbot.waitSignal(app.link.crashed, timeout=WAIT):
        button(notice, "Load again").click()


def button(part: QWidget, text: str) -> QPushButton:
    """Return the visible button with these words."""
    return next(each for each in part.findChildren(QPushButton) if each.text() == text and each.isVisible())


def test_repetitive_answer_has_two_ways_on(qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    app.window.actions_by_name["live"].trigger()
    ask(qtbot, app, "toy: repeat 50")
    assert shown(app)[-1].notice == "The model repeats itself, so the answer was stopped."
    assert offers(app) == ["Try again", "Go on anyway"]
    stats = shown(app)[-1].stats
    assert not any(word in stats for word in ("without", "saved", "lost"))
    figures = app.window.chat.live.findChildren(ElidedLabel)
    ledger = next(each for each in figures if "saved" in each.accessibleName())
    assert ledger.text() == "–"
    few, asked, generate = texts(app)[-1], list[ConversationRequest](), app.link.generate

    def listen(request: ConversationRequest) -> int:
        asked.append(request)
        return generate(request)

    monkeypatch.setattr(app.link, "generate", listen)
    press(qtbot, app, "Go on anyway")
    assert texts(app)[-1].startswith(few)
    assert not asked[0].stop_on_repetition
    ask(qtbot, app, "toy: repeat 50")
    press(qtbot, app, "Try again")
    assert shown(app)[-1].versions == 2
    assert asked[-1].stop_on_repetition


def test_repetitive_greedy_answer_is_retried_at_a_temperature(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("temperature", 0.0)
    ask(qtbot, app, "toy: repeat 50")
    assert offers(app) == ["Try again at temperature 0.7", "Go on anyway"]
    press(qtbot, app, "Try again at temperature 0.7")
    assert app.chat_controller.session.path[-1].settings["temperature"] == 0.7
    assert app.chat_controller.session.settings.sampling.temperature == 0.0
