"""Stories of second thoughts: editing, regenerating, continuing, deleting, forking, walking through versions."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from tests.ui.person import WAIT, ask, shown, texts, write


def test_edited_question_makes_a_branch(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[0].id)
    assert app.window.chat.composer.text() == "first"
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "second")
    assert texts(app) == ["second", "You wrote: second"]
    assert (shown(app)[0].version, shown(app)[0].versions) == (2, 2)
    app.window.chat.transcript.action_requested.emit(MessageAction.PREVIOUS, shown(app)[0].id)
    assert texts(app) == ["first", "You wrote: first"]


def test_edited_answer_keeps_the_words_of_the_user(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[1].id)
    app.window.chat.composer.set_text("")
    write(app, "better words")
    assert texts(app) == ["first", "better words"]
    assert shown(app)[1].notice == "Edited by you."
    assert (shown(app)[1].version, shown(app)[1].versions) == (2, 2)


def test_cancelled_edit_restores_the_draft(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.edit_last()
    assert app.window.chat.composer.text() == "first"
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert app.window.chat.composer.text() == "half a thought"
    assert texts(app)[0] == "first"


def test_regenerate_shows_another_version(qtbot: QtBot, app: Program) -> None:
    app.window.panel.edited.emit("temperature", 0.0)
    ask(qtbot, app, "again")
    regenerate(qtbot, app)
    assert (shown(app)[1].version, shown(app)[1].versions) == (2, 2)
    assert "temperature 0" in app.window.chat.notice.text


def test_regenerated_greedy_answer_varies(qtbot: QtBot, app: Program) -> None:
    app.settings.change(temperature=0.0)
    ask(qtbot, app, "again")
    app.settings.change(model="toy")  # as after a first load; the same model answers
    for version in (2, 3):
        regenerate(qtbot, app)
        message = app.chat_controller.session.path[-1]
        assert message.settings["temperature"] == 0.7
        assert message.settings["seed"] == version - 1
        assert "would be the same" in app.window.chat.notice.text
    ask(qtbot, app, "and on")
    assert app.chat_controller.session.path[-1].settings["temperature"] == 0.0


def test_regenerate_hint_is_for_greedy_sampling(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "with a temperature of the model's own")
    regenerate(qtbot, app)
    assert app.window.chat.notice.text == ""
    app.window.panel.edited.emit("temperature", 0.0)
    ask(qtbot, app, "toy: refuse")  # has no text
    regenerate(qtbot, app)
    assert app.window.chat.notice.text == ""
    ask(qtbot, app, "with other settings")
    app.window.panel.edited.emit("max_new_tokens", 2)
    regenerate(qtbot, app)
    assert app.window.chat.notice.text == ""
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[-1].id)
    app.window.chat.composer.set_text("my own words")
    app.window.chat.composer.submit()
    regenerate(qtbot, app)
    assert "would be the same" in app.window.chat.notice.text  # as the one before the edit


def regenerate(qtbot: QtBot, app: Program) -> None:
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.actions_by_name["regenerate"].trigger()


def test_fork_opens_a_new_chat(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    app.window.chat.transcript.action_requested.emit(MessageAction.FORK, shown(app)[1].id)
    assert texts(app) == ["first", "You wrote: first"]
    assert len(app.store.chats()) == 2


def test_up_arrow_edits_the_last_question(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Up)
    assert app.window.chat.composer.text() == "first"
