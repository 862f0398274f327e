"""Stories of a working folder in the window: given, asked for, changed, undone and taken back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Project
from headstart.ui.program import Program
from headstart.ui.transcript.message import MessageState
from headstart.ui.workspace.folder_dialog import FolderDialog
from headstart.ui.workspace.proposal_bar import ProposalBar
from headstart.workspace.folder import IS_SUPPORTED
from tests.ui import reach
from tests.ui.person import WAIT, ask, shown, texts, write

Open = Callable[..., Program]
TEXT = "one\ntwo\n"


def toy(tool: str, /, **arguments: object) -> str:
    """Return the message upon which the toy model makes a call."""
    return f"toy: call {tool} {json.dumps(arguments)}"


EDIT = toy("edit_file", path="notes.txt", old="two", new="2")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    if not IS_SUPPORTED:
        pytest.skip("folders can be confined on Linux and macOS")
    place = tmp_path / "work"
    place.mkdir()
    (place / "notes.txt").write_text(TEXT, encoding="utf-8")
    return place


@pytest.fixture
def app(open_program: Open, place: Path) -> Program:
    """The window with a chat that works on a folder."""
    app = open_program()
    app.chat_controller.session.folder.give(place)
    return app


def bar(qtbot: QtBot, app: Program) -> ProposalBar:
    """Wait for a question, and return its bar."""
    page = app.window.chat
    qtbot.waitUntil(lambda: page.proposal is not None and bool(page.proposal.question), timeout=WAIT)
    assert page.proposal
    return page.proposal


def decide(qtbot: QtBot, app: Program, press: Callable[[ProposalBar], object]) -> None:
    """Answer a question, and wait for the end of the answer."""
    question = bar(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        press(question)


def dialog(app: Program) -> FolderDialog:
    app.window.actions_by_name["folder"].trigger()
    return app.window.findChildren(FolderDialog)[-1]


def test_chat_has_no_folder_at_first(open_program: Open, qtbot: QtBot) -> None:
    app = open_program()
    ask(qtbot, app, "hello")
    session = app.chat_controller.session
    assert session.request(session.path).tools is None
    assert app.window.chat.folder.isHidden()
    assert app.window.chat.proposal is None


def test_change_is_shown_and_made_when_it_is_allowed(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    question = bar(qtbot, app)
    assert question.question == "The model wants to: Change notes.txt"
    assert "-two\n+2" in question.text.toPlainText()
    assert question.text.isReadOnly()
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT
    decide(qtbot, app, lambda question: question.once.click())
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\n2\n"
    assert question.isHidden()
    (step,) = shown(app)[-1].attached
    assert (step.name, step.text) == ("edit_file notes.txt", "-two\n+2\n\nChanged notes.txt.")


@pytest.mark.parametrize(("zoom", "size"), [(100, (480, 400)), (100, (690, 470)), (200, (1100, 900))])
def test_long_change_leaves_room_for_the_answers(
    qtbot: QtBot, app: Program, place: Path, zoom: int, size: tuple[int, int]
) -> None:
    (place / "notes.txt").write_text("\n".join(map(str, range(60))), encoding="utf-8")
    app.settings.change(zoom=zoom)
    app.window.resize(*size)
    write(app, toy("write_file", path="notes.txt", content="\n".join(f"{line} of 60" for line in range(60))))
    question = bar(qtbot, app)
    answers = (question.once, question.always, question.edit, question.refuse)

    def bottom(widget: QWidget) -> int:
        return widget.mapTo(question, QPoint(0, widget.height())).y()

    qtbot.waitUntil(lambda: bottom(question.refuse) <= question.height(), timeout=WAIT)
    assert not reach.cut(question)
    assert all(each.mapTo(question, QPoint(0, 0)).y() >= bottom(question.text) for each in answers)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        question.refuse.click()
    qtbot.waitUntil(app.window.chat.folder.isVisible, timeout=WAIT)  # it gave its place in the lowest window


def test_refused_change_is_not_made(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    decide(qtbot, app, lambda question: question.refuse.click())
    assert "did not allow" in texts(app)[-1]
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT
    assert not app.window.chat.notice.text


def test_text_can_be_edited_first(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    question = bar(qtbot, app)
    question.edit.click()
    assert question.text.toPlainText() == "one\n2\n"
    question.text.setPlainText("one\nII\n")
    decide(qtbot, app, lambda question: question.once.click())
    assert (place / "notes.txt").read_text(encoding="utf-8") == "one\nII\n"


def test_always_is_for_one_kind_of_step_in_one_chat(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, toy("read_file", path="notes.txt"))
    assert bar(qtbot, app).always.text() == "Always read in this chat"
    decide(qtbot, app, lambda question: question.always.click())
    ask(qtbot, app, toy("list_files"))
    assert "notes.txt" in texts(app)[-1]
    write(app, EDIT)
    decide(qtbot, app, lambda question: question.refuse.click())
    app.window.actions_by_name["new"].trigger()
    app.chat_controller.session.folder.give(place)
    write(app, toy("list_files"))
    decide(qtbot, app, lambda question: question.refuse.click())


def test_secret_warns_and_cannot_be_allowed_for_good(qtbot: QtBot, app: Program, place: Path) -> None:
    (place / ".env").write_text("PASSWORD=x", encoding="utf-8")
    write(app, toy("read_file", path=".env"))
    question = bar(qtbot, app)
    assert question.always.isHidden()
    assert "passwords or keys" in question._warning.text()
    decide(qtbot, app, lambda question: question.refuse.click())


def test_question_shows_what_is_there(qtbot: QtBot, app: Program) -> None:
    """Marks of formatting are shown as they are, and signs that reorder others by their codes."""
    write(app, toy("write_file", path="<b>a</b>.txt", content="x = 1  # \u202egnihton"))
    question = bar(qtbot, app)
    assert question._question.textFormat() is Qt.TextFormat.PlainText
    assert "<b>a</b>.txt" in question.question
    assert "+x = 1  # \\u202egnihton" in question.text.toPlainText()
    decide(qtbot, app, lambda question: question.refuse.click())


def test_answer_is_undone_by_one_click(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    decide(qtbot, app, lambda question: question.once.click())
    notice = app.window.chat.notice
    assert notice.text == "The answer has changed the folder."
    notice._action.click()
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT
    assert notice.text == "As before: notes.txt."


def test_menu_undoes_an_answer(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    decide(qtbot, app, lambda question: question.once.click())
    (place / "notes.txt").write_text("mine\n", encoding="utf-8")
    undoable = app.undo_stack.next
    assert undoable
    assert undoable.title == "Changes in the Folder"
    undoable.undo()
    assert (place / "notes.txt").read_text(encoding="utf-8") == "mine\n"
    assert "left as it is: notes.txt" in app.window.chat.notice.text


def test_folder_is_taken_back_by_one_click(qtbot: QtBot, app: Program, place: Path) -> None:
    page = app.window.chat
    assert page.folder.text.startswith("Works on ")
    write(app, EDIT)
    bar(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        page.folder.take_back.click()
    assert page.folder.isHidden()
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT
    session = app.chat_controller.session
    assert session.request(session.path).tools is None


def test_step_for_one_folder_is_not_made_in_another(qtbot: QtBot, app: Program, place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(app, toy("write_file", path="new.txt", content="x"))
    question = bar(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        dialog(app).give(other)
    assert question.isHidden()
    assert app.chat_controller.session.folder.path == other
    assert [path.name for path in (*place.iterdir(), *other.iterdir())] == ["notes.txt"]


def test_stop_ends_a_question(qtbot: QtBot, app: Program, place: Path) -> None:
    write(app, EDIT)
    question = bar(qtbot, app)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.actions_by_name["stop"].trigger()
    assert question.isHidden()
    assert shown(app)[-1].state is MessageState.STOPPED
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT


def test_folder_stays_with_its_chat_but_permissions_do_not(
    qtbot: QtBot, app: Program, place: Path, open_program: Open
) -> None:
    write(app, toy("list_files"))
    decide(qtbot, app, lambda question: question.always.click())
    again = open_program()
    assert again.chat_controller.session.folder.path == place
    assert again.window.chat.folder.text
    write(again, toy("list_files"))
    decide(qtbot, again, lambda question: question.refuse.click())
    again.window.actions_by_name["new"].trigger()
    assert again.window.chat.folder.isHidden()


def test_folder_that_is_gone_is_named(qtbot: QtBot, app: Program, place: Path, open_program: Open) -> None:
    ask(qtbot, app, "hello")
    place.rename(place.with_name("elsewhere"))
    again = open_program()
    ask(qtbot, again, "hello")
    assert "There is no" in again.window.chat.folder.text


def test_dialog_gives_shows_and_switches(qtbot: QtBot, open_program: Open, place: Path, tmp_path: Path) -> None:
    app = open_program()
    opened = dialog(app)
    opened.give(tmp_path)  # Headstart's own files are below it
    assert "choose a smaller one" in opened.fault.text()
    opened.give(place)
    assert app.window.chat.folder.text
    names = [opened.skills.topLevelItem(row).text(0) for row in range(opened.skills.topLevelItemCount())]  # type: ignore[union-attr]
    assert "letter" in names
    item = opened.skills.topLevelItem(names.index("letter"))
    assert item
    item.setCheckState(0, item.checkState(0).Checked)
    assert "use_skill" in {tool.name for tool in app.chat_controller.session.folder.tools}
    write(app, EDIT)
    decide(qtbot, app, lambda question: question.always.click())
    opened.close()
    opened = dialog(app)
    assert "changes" in opened._allowed.text()
    row = opened.log.topLevelItem(0)
    assert row
    assert row.text(1) == "Change notes.txt"
    opened.ask_again.click()
    assert opened._allowed.text() == "You are asked before each step."
    opened.undo.click()
    assert (place / "notes.txt").read_text(encoding="utf-8") == TEXT
    opened.take_back.click()
    assert app.window.chat.folder.isHidden()
    QApplication.processEvents()


def test_project_gives_its_new_chats_the_folder(qtbot: QtBot, open_program: Open, place: Path) -> None:
    app = open_program()
    app.store.add_project(Project("Notes"))
    app.chats.filter_project("Notes")
    app.window.actions_by_name["new"].trigger()
    opened = dialog(app)
    opened.give(place)
    opened.for_project.click()
    ask(qtbot, app, "hello")
    app.window.actions_by_name["new"].trigger()
    assert app.chat_controller.session.folder.path == place
    app.window.chat.folder.take_back.click()
    assert app.window.chat.folder.isHidden()
