"""Stories of projects: made, chosen, filled by menu and drag, changed, deleted and exported."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Attachment, Project
from headstart.chat.history.reader import Group
from headstart.chat.imports.files import read_file
from headstart.ui.program import Program
from headstart.ui.sidebar.chat_list import CHATS_MIME
from headstart.ui.sidebar.projects import ProjectDialog
from headstart.ui.sidebar.sidebar import ProjectMenu
from tests.ui.person import WAIT, ask, chat_rows, click_chat, press, texts, words

Open = Callable[..., Program]


def dialog(app: Program) -> ProjectDialog:
    """Return the open dialog."""
    return next(each for each in app.window.findChildren(ProjectDialog) if each.isVisible())


def make(app: Program, name: str, prompt: str = "", files: tuple[Path, ...] = ()) -> None:
    """Create a project with the button of the sidebar."""
    app.window.sidebar._new_project.click()
    shown = dialog(app)
    QTest.keyClicks(shown.name, name)
    shown.prompt.setPlainText(prompt)
    shown.files.attach(files)
    press(shown, "Save")


def choose(app: Program, name: str) -> None:
    """Click a project in the sidebar."""
    listing = app.window.sidebar.projects
    model = listing.model()
    row = next(row for row in range(model.rowCount()) if model.index(row, 0).data() == name)
    QTest.mouseClick(
        listing.viewport(), Qt.MouseButton.LeftButton, pos=listing.visualRect(model.index(row, 0)).center()
    )


def answer_box(button: str) -> None:
    """Click a button of the next message box."""

    def click() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        next(each for each in box.buttons() if each.text().replace("&", "") == button).click()

    QTimer.singleShot(50, click)


def test_new_chat_of_a_project_has_its_prompt_and_files(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("all rules")
    make(app, "Thesis", "Be brief.", (tmp_path / "rules.md",))
    assert app.window.sidebar.projects.isVisible()
    assert "“Thesis”" in app.window.sidebar._empty.text()
    assert app.window.chat._title.text() == "Thesis · New chat"
    assert app.window.chat.composer.attached == (Attachment("rules.md", "all rules"),)
    ask(qtbot, app, "why?")
    session = app.chat_controller.session
    assert session.settings.system_prompt == "Be brief."
    assert session.request(session.path).messages[0].content == "Be brief."
    assert session.path[0].attachments == (Attachment("rules.md", "all rules"),)
    assert app.store.projects() == (Group("Thesis", 1),)
    assert app.window.chat._title.text() == "Thesis · why?"
    choose(app, "Thesis")  # once more
    assert app.window.chat._title.text() == "Thesis · why?"
    press(app.window.sidebar.place, "All chats")
    app.window.sidebar.new_requested.emit()
    assert app.window.chat._title.text() == "New chat"
    assert app.chat_controller.session.settings.system_prompt == ""
    assert not app.window.chat.composer.attached


def test_chat_moved_out_of_a_project_loses_its_files(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("own")
    (tmp_path / "rules.md").write_text("all rules")
    make(app, "Thesis", files=(tmp_path / "rules.md",))
    app.window.chat.composer.attach([tmp_path / "own.md"])
    app.chat_controller.composing.save_draft()
    assert [file.name for file in app.window.chat.composer.attached] == ["rules.md", "own.md"]
    press(app.window.sidebar.place, "All chats")
    assert [file.name for file in app.window.chat.composer.attached] == ["own.md"]


def test_project_opens_a_chat_of_its_own_and_leads_back(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("all rules")
    ask(qtbot, app, "before")
    make(app, "Thesis", "Be brief.", (tmp_path / "rules.md",))
    assert texts(app) == []  # the old chat does not stay
    assert app.window.chat._title.text() == "Thesis · New chat"
    assert "“Thesis”, with: a system prompt," in words(app.window.chat.empty)
    ask(qtbot, app, "within")
    assert [chat.title for chat in app.store.chats(project="Thesis")] == ["within"]
    assert chat_rows(app)[-1:] == ["within"]
    press(app.window.sidebar.place, "All chats")
    assert {"before", "within"} <= set(chat_rows(app))
    assert app.window.sidebar.place.isHidden()
    click_chat(app, "before")
    choose(app, "Thesis")  # with a chat open that is not in it
    assert texts(app) == []
    assert app.window.chat._title.text() == "Thesis · New chat"
    press(app.window.chat.empty, "Edit project…")
    assert dialog(app).name.text() == "Thesis"
    dialog(app).close()
    click_chat(app, "within")
    app.projects.changed.emit({})
    assert texts(app)[0] == "within"  # a chat of the project stays open


def test_project_has_its_own_model(qtbot: QtBot, app: Program) -> None:
    app.store.add_project(Project("Thesis", {"model": "other"}))
    app.chats.refresh()
    choose(app, "Thesis")
    assert app.chat_controller.session.settings.model == "other"
    app.window.sidebar.project_edit_requested.emit("Thesis")
    shown = dialog(app)
    assert shown.model.currentText() == "other"
    shown.model.setCurrentIndex(0)
    press(shown, "Save")
    assert app.store.project("Thesis") == Project("Thesis")


def test_chats_are_moved_by_menu_and_drag(qtbot: QtBot, app: Program) -> None:
    make(app, "A & B")
    make(app, "Home")
    press(app.window.sidebar.place, "All chats")
    ids = [app.store.create_chat(title).id for title in ("one", "two")]
    app.chats.refresh()
    sidebar = app.window.sidebar
    menu = ProjectMenu(sidebar.list.chats((ids[0],)), sidebar._listing.projects, sidebar, sidebar)
    actions = {action.text(): action for action in menu.actions()}
    assert actions["No Project"].isChecked()
    actions["A && B"].trigger()
    assert [chat.title for chat in app.store.chats(project="A & B")] == ["one"]
    data = QMimeData()
    data.setData(CHATS_MIME, "\n".join(ids).encode())
    place = sidebar.projects.visualRect(sidebar.projects.model().index(1, 0)).center()
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    drop = QDropEvent(QPointF(place), Qt.DropAction.MoveAction, data, left, none)
    sidebar.projects.dropEvent(drop)
    assert app.store.projects() == (Group("A & B", 0), Group("Home", 2))
    sidebar.move_requested.emit((ids[0],), "")
    assert app.store.projects() == (Group("A & B", 0), Group("Home", 1))


def test_new_project_takes_the_selected_chats(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    sidebar = app.window.sidebar
    menu = ProjectMenu(sidebar.list.chats((app.chat_controller.session.chat.id,)), (), sidebar, sidebar)
    next(action for action in menu.actions() if action.text() == "&New Project…").trigger()
    QTest.keyClicks(dialog(app).name, "Mine")
    press(dialog(app), "Save")
    assert [chat.title for chat in app.store.chats(project="Mine")] == ["first"]
    assert app.window.chat._title.text() == "Mine · first"


def test_taken_project_name_is_refused(qtbot: QtBot, app: Program) -> None:
    make(app, "Home")
    make(app, "HOME")
    shown = dialog(app)
    assert "already is a project “HOME”" in shown._error.text()
    QTest.keyClicks(shown.name, " 2")
    assert not shown._error.text()
    press(shown, "Save")
    assert [project.name for project in app.store.projects()] == ["Home", "HOME 2"]
    choose(app, "Home")
    app.window.sidebar.projects.renamed.emit("Home", "home 2")
    assert "already is a project" in app.window.chat.notice.text
    app.window.sidebar.projects.renamed.emit("Home", "House")
    assert app.window.sidebar._listing.project == "House"


@pytest.mark.parametrize("button", ["Delete", "Cancel"])
def test_delete_project_asks_and_keeps_the_chats(qtbot: QtBot, app: Program, button: str) -> None:
    make(app, "Thesis")
    choose(app, "Thesis")
    ask(qtbot, app, "first")
    answer_box(button)
    app.window.sidebar.projects.delete_requested.emit("Thesis")
    assert [project.name for project in app.store.projects()] == ([] if button == "Delete" else ["Thesis"])
    assert "first" in chat_rows(app)
    assert texts(app)[0] == "first"
    assert app.chat_controller.session.chat.project == ("" if button == "Delete" else "Thesis")


def test_project_menu_opens_its_dialog(qtbot: QtBot, app: Program) -> None:
    make(app, "Thesis", "Be brief.")
    app.window.sidebar.projects.menu_requested.emit("Thesis", QPoint(0, 0))
    menu = QApplication.activePopupWidget()
    assert menu is not None
    next(action for action in menu.actions() if action.text() == "&Edit…").trigger()
    menu.close()
    assert dialog(app).prompt.toPlainText() == "Be brief."
    press(dialog(app), "Cancel")


def test_search_stays_within_the_project(qtbot: QtBot, app: Program) -> None:
    make(app, "Thesis")
    choose(app, "Thesis")
    ask(qtbot, app, "walrus inside")
    press(app.window.sidebar.place, "All chats")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "walrus outside")
    choose(app, "Thesis")
    with qtbot.waitSignal(app.chats.listed, timeout=WAIT):
        app.chats.search("walrus")
    qtbot.waitUntil(
        lambda: app.window.sidebar._listing.is_complete and bool(app.window.sidebar._listing.hits), timeout=WAIT
    )
    assert {hit.chat.title for hit in app.window.sidebar._listing.hits} == {"walrus inside"}
    app.chats.search("")
    assert app.window.sidebar.clear()
    assert app.window.sidebar._listing.project == ""
    assert not app.window.sidebar.clear()


def test_import_restores_the_project(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(app, "Thesis", "Be brief.")
    choose(app, "Thesis")
    ask(qtbot, app, "first")
    path = tmp_path / "kept.json"
    app.commands._import_export.write_several([app.chat_controller.session.chat.id], path)
    assert read_file(path).projects[0].settings == {"system_prompt": "Be brief."}
    app.store.delete_project("Thesis")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(path)], ""))
    app.commands._import_export.import_file()
    assert app.store.projects() == (Group("Thesis", 1),)
    project = app.store.project("Thesis")
    assert project
    assert project.settings == {"system_prompt": "Be brief."}
    assert len(app.store.chats()) == 1


def test_projects_survive_a_restart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    make(app, "Thesis")
    choose(app, "Thesis")
    ask(qtbot, app, "first")
    again = open_program()
    assert again.chat_controller.session.chat.project == "Thesis"
    assert again.window.sidebar.projects.isVisible()
