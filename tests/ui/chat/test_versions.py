"""Stories of second thoughts: editing, regenerating, continuing, deleting, forking, walking through versions."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment, Edit
from headstart.chat.history.reader import open_reader
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageAction
from tests.ui.person import WAIT, ask, begin, press, shown, texts, write


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


def leave(app: Program) -> str:
    """Open a new chat, and return the id of the one that was open."""
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    assert app.window.chat.composer.text() == ""
    assert app.window.chat.notice.text == ""
    return chat


def test_edit_goes_on_after_another_chat(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    composer = app.window.chat.composer
    for draft in ("half a thought", ""):
        composer.set_text(draft)
        app.chat_controller.edit_last()
        composer.set_text("second")
        composer.set_attached((Attachment("a.py", "x = 1"),))
        app.chats.open(leave(app))
        assert composer.text() == "second"
        assert composer.attached == (Attachment("a.py", "x = 1"),)
        assert app.window.chat.notice.text.startswith("Editing")
        QTest.keyClick(app.window, Qt.Key.Key_Escape)
        assert composer.text() == draft
        assert not composer.attached
        app.chats.open(leave(app))
        assert (composer.text(), app.window.chat.notice.text) == (draft, "")
    app.chat_controller.edit_last()
    composer.set_text("third")
    app.chats.open(leave(app))
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        composer.submit()
    assert texts(app) == ["third", "You wrote: third"]
    assert (shown(app)[0].version, shown(app)[0].versions) == (2, 2)
    assert composer.text() == ""


def test_unchanged_edit_ends_with_another_chat(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.edit_last()
    app.chats.open(leave(app))
    assert (app.window.chat.composer.text(), app.window.chat.notice.text) == ("half a thought", "")


def test_edit_goes_on_while_an_answer_is_written(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 400")
    app.chat_controller.edit_last()
    app.window.chat.composer.set_text("toy: words 5")
    app.chats.open(leave(app))
    assert app.chat_controller.session.is_answering
    assert app.window.chat.composer.text() == "toy: words 5"
    assert app.window.chat.notice.text.startswith("Editing")


def test_edit_goes_on_after_an_undone_deletion(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.chat_controller.edit_last()
    app.window.chat.composer.set_text("second")
    app.chats.delete(app.chat_controller.session.chat.id)
    assert app.window.chat.composer.text() == ""
    app.window.actions_by_name["undo"].trigger()
    assert app.window.chat.composer.text() == "second"
    assert app.window.chat.notice.text.startswith("Editing")


@pytest.mark.parametrize("draft", ["half a thought", ""])
def test_edit_goes_on_at_the_next_start(qtbot: QtBot, open_program: Callable[..., Program], draft: str) -> None:
    app = open_program()
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text(draft)
    app.chat_controller.edit_last()
    app.window.chat.composer.set_text("second")
    app.window.chat.composer.set_attached((Attachment("a.py", "x = 1"),))
    again = open_program()
    composer = again.window.chat.composer
    assert (composer.text(), composer.attached) == ("second", (Attachment("a.py", "x = 1"),))
    press(again.window.chat.notice, "Cancel")
    assert (composer.text(), composer.attached) == (draft, ())
    assert texts(open_program()) == ["first", "You wrote: first"]
    assert not open_program().chat_controller.session.edits


def test_edit_of_the_last_start_is_sent_as_a_version(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program()
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[0].id)
    app.window.chat.composer.set_text("second")
    again = open_program()
    with qtbot.waitSignal(again.chat_controller.answered, timeout=WAIT):
        again.window.chat.composer.submit()
    assert texts(again) == ["second", "You wrote: second"]
    assert (shown(again)[0].version, shown(again)[0].versions) == (2, 2)
    assert (again.window.chat.composer.text(), again.window.chat.notice.text) == ("half a thought", "")
    assert open_program().window.chat.composer.text() == "half a thought"


def kept(history: Path, app: Program) -> tuple[str, dict[int, Edit]]:
    """Return the draft and the edits that another window would find if this one was killed."""
    chat_id = app.chat_controller.session.chat.id
    with closing(open_reader(history)) as left:
        chat = left.chat(chat_id)
        return chat.draft if chat else "", left.edits(chat_id)


def test_edit_that_is_typed_is_on_the_disk_at_once(qtbot: QtBot, app: Program, history: Path) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.edit_last()
    assert kept(history, app) == ("half a thought", {})  # nothing is typed yet
    QTest.keyClicks(app.window.chat.composer.edit, " and")
    qtbot.waitUntil(lambda: kept(history, app) == ("half a thought", {1: Edit("first and")}), timeout=WAIT)
    app.window.chat.composer.set_text("")
    qtbot.waitUntil(lambda: kept(history, app)[1] == {1: Edit("")}, timeout=WAIT)
    app.window.chat.composer.set_text("first")
    qtbot.waitUntil(lambda: kept(history, app)[1] == {}, timeout=WAIT)
    app.window.chat.composer.set_text("second")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.composer.submit()
    assert kept(history, app) == ("half a thought", {})


def test_each_message_keeps_the_words_for_it(qtbot: QtBot, open_program: Callable[..., Program]) -> None:
    app = open_program()
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    edit(app, 1)
    composer, notice = app.window.chat.composer, app.window.chat.notice
    plain = notice.text
    composer.set_text("other first")
    composer.set_attached((Attachment("a.py", "x = 1"),))
    edit(app, 4)  # the answer
    assert (composer.text().strip(), composer.attached) == ("You wrote: second", ())
    composer.set_text("other answer")
    edit(app, 4)
    assert composer.text() == "other answer"
    edit(app, 1)
    assert (composer.text(), composer.attached) == ("other first", (Attachment("a.py", "x = 1"),))
    assert notice.text.startswith(plain)
    assert notice.text != plain  # it says whose words these are
    again = open_program()
    composer = again.window.chat.composer
    assert (composer.text(), composer.attached) == ("other first", (Attachment("a.py", "x = 1"),))
    QTest.keyClick(again.window, Qt.Key.Key_Escape)
    edit(again, 1)
    assert composer.text() == "first"
    edit(again, 4)
    assert composer.text() == "other answer"
    composer.submit()
    assert texts(again)[-1] == "other answer"
    assert not again.chat_controller.session.edits


def edit(app: Program, message: int) -> None:
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, message)


def test_edit_can_be_cancelled_after_another_notice(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    edit(app, 1)
    composer, notice = app.window.chat.composer, app.window.chat.notice
    said = notice.text
    composer.attach([tmp_path])  # is a folder
    assert notice.text != said
    QTest.keyClicks(composer.edit, "!")
    assert notice.text == said
    app.chat_controller.show_error("Something else.")
    notice._close.click()
    assert notice.text == said
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, 2)
    press(notice, "Undo")
    assert notice.text == said
    press(notice, "Cancel")
    assert composer.text() == "half a thought"
    assert notice.text != said


def test_cancel_can_be_undone(qtbot: QtBot, app: Program, history: Path) -> None:
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    composer, notice = app.window.chat.composer, app.window.chat.notice
    composer.set_text("half a thought")
    edit(app, 1)
    composer.set_text("other first")
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert (composer.text(), kept(history, app)[1]) == ("half a thought", {})
    press(notice, "Undo")
    assert composer.text() == "other first"
    assert kept(history, app)[1] == {1: Edit("other first")}
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    QTest.keyClicks(composer.edit, "!")
    assert notice.text == ""
    app.undo_stack.undo()
    assert composer.text() == "other first"
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert composer.text() == "half a thought!"
    edit(app, 1)
    app.undo_stack.undo()  # the message is edited again
    assert composer.text() == "first"
    QTest.keyClick(app.window, Qt.Key.Key_Escape)  # nothing was changed
    assert notice.text == ""


def test_emptied_edit_begins_anew(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    for _ in range(2):
        QTest.keyClick(app.window.chat.composer.edit, Qt.Key.Key_Up)
        assert app.window.chat.composer.text() == "first"
        app.window.chat.composer.set_text("")


def test_words_for_a_deleted_message_come_back_with_it(
    qtbot: QtBot, open_program: Callable[..., Program], history: Path
) -> None:
    app = open_program()
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    edit(app, 1)
    app.window.chat.composer.set_text("other first")
    edit(app, 3)
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, 1)
    assert kept(history, app) == ("", {})
    assert app.window.chat.composer.text() == ""
    app.window.actions_by_name["undo"].trigger()
    assert kept(history, app)[1] == {1: Edit("other first", is_open=False)}
    again = open_program()
    edit(again, 1)
    assert again.window.chat.composer.text() == "other first"


def test_next_message_does_not_get_the_words_for_a_deleted_one(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    ask(qtbot, app, "second")
    edit(app, 4)
    app.window.chat.composer.set_text("other answer")
    edit(app, 1)
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    for message in (4, 3):
        app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, message)
    ask(qtbot, app, "third")
    edit(app, app.chat_controller.session.path[-1].id)
    assert app.window.chat.composer.text().strip() == "You wrote: third"


def test_fork_has_no_unsent_words(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    edit(app, 1)
    app.window.chat.composer.set_text("other first")
    app.window.chat.transcript.action_requested.emit(MessageAction.FORK, 2)
    assert (app.window.chat.composer.text(), app.window.chat.notice.text) == ("", "")
    assert not app.chat_controller.session.edits


def test_words_typed_while_an_edit_is_counted_become_the_draft(
    qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    edit(app, 1)
    app.window.chat.composer.set_text("second")
    counted: list[Callable[[None], None]] = []
    counter = app.chat_controller.composing.count
    monkeypatch.setattr(counter, "count_for_sending", lambda _request, _files, then: counted.append(then))
    app.window.chat.composer.submit()
    QTest.keyClicks(app.window.chat.composer.edit, " more")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        counted[0](None)
    assert texts(app)[0] == "second"
    assert app.window.chat.composer.text() == "half a thought\n\nmore"


def test_text_for_a_deleted_message_stays(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.window.chat.composer.set_text("half a thought")
    app.chat_controller.edit_last()
    edited = shown(app)[0].id
    app.window.chat.composer.set_text("second")
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, edited)
    assert app.window.chat.composer.text() == "half a thought\n\nsecond"
    assert app.window.chat.notice.text == "Message deleted."
    ask(qtbot, app, "!")
    assert texts(app)[-2] == "half a thought\n\nsecond!"


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


def test_messages_move_up_when_one_is_deleted(qtbot: QtBot, app: Program) -> None:
    for text in ("first", "second"):
        ask(qtbot, app, text)
    first, answer, second, other = texts(app)
    app.window.chat.transcript.action_requested.emit(MessageAction.DELETE, shown(app)[0].id)
    assert texts(app) == [answer, second, other]
    app.window.chat.transcript.action_requested.emit(MessageAction.REGENERATE, shown(app)[0].id)
    assert "question of this answer was deleted" in app.window.chat.notice.text
    app.undo_stack.undo()
    assert texts(app) == [first, answer, second, other]
