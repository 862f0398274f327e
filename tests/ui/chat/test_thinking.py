"""Answers of a model that thinks: shown, stopped, continued and kept apart, and its switch in the message box."""

from collections.abc import Callable
from pathlib import Path

from pytestqt.qtbot import QtBot

from headstart.chat.conversation import ChatMessage, State
from headstart.engine.engine import ConversationRequest, LoadOptions
from headstart.engine.protocol import Generate, Order, ReadAhead, WriteTitle
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import SwitchEditor
from headstart.ui.transcript.message import MessageAction
from tests.ui.history.test_titles import LONG
from tests.ui.person import WAIT, ask, begin, setting, shown, write

Open = Callable[..., Program]
TALE = "The toy engine guesses a few words ahead and keeps those that hold."


def _thinker(_settings: Settings) -> Loadable:
    return Loadable("thinker", LoadOptions(Path("thinker")))


def _requests(
    orders: list[Order], kind: type[Generate | ReadAhead | WriteTitle] = Generate
) -> list[ConversationRequest]:
    requests = [order.request for order in orders if isinstance(order, kind)]
    return [request for request in requests if isinstance(request, ConversationRequest)]


def _last(app: Program) -> ChatMessage:
    """Return the answer as the history has it."""
    return app.store.conversation(app.chat_controller.session.chat.id).path[-1]


def _press(app: Program, action: MessageAction) -> None:
    view = app.window.chat.transcript.view_of(shown(app)[-1].id)
    view.perform(action)


def test_thinking_and_answer_are_shown_and_kept_apart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=_thinker)
    ask(qtbot, app, "toy: think 13")
    answer = shown(app)[-1]
    assert (answer.thinking, answer.text.strip()) == (TALE, "You wrote: toy: think 13")
    assert "Thinking: 13 tokens" in answer.stats
    assert sum(run.length for run in answer.origins) == len(answer.text)
    message = _last(app)
    assert (message.thinking, message.text) == (TALE, answer.text)
    assert sum(run.characters for run in message.origins) == len(message.text)
    view = app.window.chat.transcript.view_of(message.id)
    view._fold.click()
    assert view._unfolded
    assert view._unfolded.toPlainText() == TALE


def test_stopped_thinking_is_continued(qtbot: QtBot, open_program: Open, orders: list[Order]) -> None:
    app = open_program(0.02, _thinker)
    write(app, "toy: think 400")
    qtbot.waitUntil(lambda: len(shown(app)) == 2 and len(shown(app)[-1].thinking) > 20, timeout=WAIT)
    view = app.window.chat.transcript.view_of(shown(app)[-1].id)
    assert view._fold.text().startswith("Thinking…")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.chat_controller.stop()
    before = _last(app)
    assert before.state is State.STOPPED
    assert (before.text, len(before.thinking) > 20, before.origins) == ("", True, ())
    assert MessageAction.CONTINUE in shown(app)[-1].actions
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        _press(app, MessageAction.CONTINUE)
    asked = _requests(orders)[-1].messages[-1]
    assert (asked.role, asked.content, asked.thinking) == ("assistant", "", before.thinking)
    message = _last(app)
    assert message.thinking == f"{before.thinking}The toy engine guesses a"
    assert message.text.strip() == "You wrote:"
    assert message.stats["thinking_tokens"] == before.stats["thinking_tokens"] + 5  # type: ignore[operator]


def test_thinking_is_saved_on_the_way(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(0.02, _thinker)
    write(app, "toy: think 400")
    qtbot.waitUntil(lambda: len(shown(app)) == 2, timeout=WAIT)
    qtbot.waitUntil(lambda: bool(_last(app).thinking), timeout=WAIT)
    assert _last(app).state is State.STREAMING
    assert TALE.startswith(_last(app).thinking[:20])


def test_versions_of_an_answer_have_their_thinking(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=_thinker)
    ask(qtbot, app, "toy: think 13")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        _press(app, MessageAction.REGENERATE)
    assert (shown(app)[-1].thinking, shown(app)[-1].versions) == (TALE, 2)
    _press(app, MessageAction.EDIT)
    composer = app.window.chat.composer
    assert composer.text().strip() == "You wrote: toy: think 13"
    composer.set_text("My words")
    composer.submit()
    assert (shown(app)[-1].thinking, shown(app)[-1].text) == (TALE, "My words")
    _press(app, MessageAction.FORK)
    assert _last(app).thinking == TALE


def test_switch_is_shown_for_models_that_have_one(qtbot: QtBot, open_program: Open, orders: list[Order]) -> None:
    assert open_program().window.chat.composer._think.isHidden()
    app = open_program(find=_thinker)
    switch = app.window.chat.composer._think
    assert not switch.isHidden()
    assert switch.isChecked()
    ask(qtbot, app, "toy: think 3")
    switch.click()
    assert not switch.isChecked()
    editor = setting(app, "think")
    assert isinstance(editor, SwitchEditor)
    assert editor._box.currentText() == "Off"
    assert not setting(app, "think_budget").isEnabled()
    ask(qtbot, app, "toy: think 3 more")
    assert [request.thinking for request in _requests(orders)] == [None, False]
    assert shown(app)[-1].thinking == ""
    assert app.chat_controller.session.chat.settings["think"] is False
    app.chats.open_new()
    assert switch.isChecked()


def test_budget_goes_with_the_question(qtbot: QtBot, open_program: Open, orders: list[Order]) -> None:
    app = open_program(find=_thinker)
    setting(app, "think_budget").edited.emit("think_budget", 64)
    app.window.chat.composer._think.click()
    app.window.chat.composer._think.click()
    ask(qtbot, app, "hi")
    (request,) = _requests(orders)
    assert (request.thinking, request.thinking_budget) == (True, 64)
    assert all(each.thinking_budget == 64 for each in _requests(orders, ReadAhead)[-1:])


def test_model_without_a_switch_is_not_asked(qtbot: QtBot, open_program: Open, orders: list[Order]) -> None:
    app = open_program()
    app.settings.change(think=True, think_budget=64)
    ask(qtbot, app, "hi")
    (request,) = _requests(orders)
    assert (request.thinking, request.thinking_budget) == (None, None)


def test_title_is_no_thought(qtbot: QtBot, open_program: Open, orders: list[Order]) -> None:
    app = open_program(find=_thinker)
    ask(qtbot, app, LONG)
    qtbot.waitUntil(lambda: bool(_requests(orders, WriteTitle)), timeout=WAIT)
    (request,) = _requests(orders, WriteTitle)
    assert (request.thinking, request.thinking_budget) == (False, 0)


def test_thinking_is_found_from_the_sidebar(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=_thinker)
    ask(qtbot, app, "toy: think 13")
    begin(qtbot, app, "more")
    (hit,) = app.store.search("guesses ahead")
    app.chat_controller.reveal(hit, "guesses ahead")
    assert app.window.chat.transcript.view_of(hit.message)._unfolded
