"""The chat that is not yet begun: what was typed and chosen for it stays until it is sent."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Project
from headstart.ui.program import Program
from headstart.workspace.folder import IS_SUPPORTED
from tests.ui.person import WAIT, ask

Open = Callable[..., Program]


def leave(app: Program) -> None:
    """Open the newest chat, then a new one."""
    app.chats.open(app.store.chats()[0].id)
    app.window.sidebar.new_requested.emit()


def own_settings(app: Program) -> dict[str, object]:
    return dict(app.chat_controller.session.chat.settings)


def test_settings_of_a_new_chat_are_kept(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    ask(qtbot, app, "first")
    app.window.sidebar.new_requested.emit()
    app._change_chat({"temperature": 0.25, "system_prompt": "Be brief."})
    leave(app)
    assert own_settings(app) == {"temperature": 0.25, "system_prompt": "Be brief."}
    app = open_program()
    app.window.sidebar.new_requested.emit()
    assert app.chat_controller.session.settings.system_prompt == "Be brief."
    ask(qtbot, app, "second")
    assert app.store.chats()[0].settings == {"temperature": 0.25, "system_prompt": "Be brief."}
    app.window.sidebar.new_requested.emit()
    assert own_settings(app) == {}


def test_each_project_has_a_new_chat_of_its_own(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    app.store.add_project(Project("Garden", {"system_prompt": "Be green."}))
    app.chats.show_project("Garden")
    app._change_chat({"temperature": 0.25})
    app.chats.show_project("")
    leave(app)
    assert own_settings(app) == {}
    app.projects.rename("Garden", "Orchard")
    app.chats.show_project("Orchard")
    assert own_settings(app) == {"system_prompt": "Be green.", "temperature": 0.25}
    app._change_chat({})
    leave(app)
    assert own_settings(app) == {}, "it was reset"
    app.store.delete_project("Orchard")
    app.store.add_project(Project("Orchard", {"system_prompt": "Be green."}))
    app.chats.filter_project("")
    app.chats.show_project("Orchard")
    assert own_settings(app) == {"system_prompt": "Be green."}


def test_changed_project_is_that_of_its_new_chat(app: Program) -> None:
    project = Project("Garden", {"system_prompt": "Be green."})
    app.store.add_project(project)
    app.chats.show_project("Garden")
    app.store.change_project("Garden", replace(project, settings={"system_prompt": "Be red."}))
    app.projects.changed.emit({"Garden": "Garden"})
    assert own_settings(app) == {"system_prompt": "Be red."}


def test_text_goes_along_to_another_project(app: Program) -> None:
    app.store.add_project(Project("Garden"))
    app.window.chat.composer.set_text("a question")
    app.chats.filter_project("Garden")
    assert app.window.chat.composer.text() == "a question"


@pytest.mark.skipif(not IS_SUPPORTED, reason="folders to work on need the functions of Unix")
def test_working_folder_of_a_new_chat_is_kept(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    ask(qtbot, app, "first")
    app.window.sidebar.new_requested.emit()
    work = tmp_path / "work"
    work.mkdir()
    app.chat_controller.session.folder.give(work)
    leave(app)
    assert app.chat_controller.session.folder.path == work


def test_settings_that_cannot_be_saved_are_tried_again(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "first")
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    app.store._connection.execute("PRAGMA query_only = 1")
    app._change_chat({"temperature": 0.25})
    app.chats.open(chat)
    app._change_chat({"temperature": 0.5})
    app.window.sidebar.new_requested.emit()
    assert own_settings(app) == {"temperature": 0.25}
    app.store._connection.execute("PRAGMA query_only = 0")
    with qtbot.waitSignal(app.chats.events.saved, timeout=WAIT):
        app.chats._sessions[chat]._retry.timeout.emit()
    leave(app)
    assert own_settings(app) == {"temperature": 0.25}
    saved = app.store.chat(chat)
    assert saved
    assert saved.settings == {"temperature": 0.5}
