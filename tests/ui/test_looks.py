"""Themes and panels switched live over a chat longer than the window: nothing drawn may be taken for dead."""

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Outcome, Run
from headstart.ui.program import Program
from tests.ui.person import ask, texts

TEXT = (
    "```python\ndef add(a, b):\n    return a + b\n```\n\nSome `code`, and *words* enough to fill a few lines here. "
    * 12
)


def test_looks_change_while_messages_come_and_go(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program()
    ask(qtbot, app, "hello")
    session = app.chat_controller.session
    answer = session.conversation.begin_answer("toy")
    assert answer.last
    done = answer.finish(
        answer.last.id, Outcome(TEXT, origins=(Run(len(TEXT) // 2, "draft"), Run(len(TEXT), "n-gram")))
    )
    app.store.save(session.chat.id, session.conversation, done)
    app = open_program()
    app.window.resize(1180, 820)
    actions = app.window.actions_by_name
    actions["origins"].trigger()
    for number in range(6):
        actions["live"].trigger()
        actions["panel"].trigger()
        qtbot.wait(50)
        actions["theme_light" if number % 2 else "theme_dark"].trigger()
        qtbot.wait(150)
        assert not app.window.grab().isNull()
    assert texts(app)[-1] == TEXT.strip()
