"""What stands above the message box goes with its cause."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from headstart import remotes
from headstart.engine.engine import Remote
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, begin

Open = Callable[..., Program]


def banner(app: Program) -> str:
    return app.window.chat.notice.text


def test_a_refused_file_is_forgotten_with_the_next_good_one(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    picture, text = tmp_path / "picture.png", tmp_path / "notes.txt"
    picture.write_bytes(bytes(range(256)))
    text.write_text("walrus")
    composer = app.window.chat.composer
    composer.attach([picture, text])
    assert "picture.png" in banner(app)  # of the same batch the refusal is told last
    text.with_name("more.txt").write_text("crab")
    composer.attach([text.with_name("more.txt")])
    assert banner(app) == ""


def test_what_was_too_long_is_forgotten_when_it_is_shortened(qtbot: QtBot, app: Program) -> None:
    composer = app.window.chat.composer
    composer.set_text("word " * 3000)
    composer.submit()
    qtbot.waitUntil(lambda: "the context holds 2,048" in banner(app), timeout=WAIT)
    composer.set_text("word")
    assert banner(app) == ""


def test_that_an_answer_is_being_written_holds_until_its_end(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 90")
    app.window.sidebar.new_requested.emit()
    app.chat_controller.session.send("not now")
    assert "still being written" in banner(app)
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    assert banner(app) == ""


@pytest.mark.engine_process
def test_a_stopped_engine_is_forgotten_when_it_is_back(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    with qtbot.waitSignal(app.link.crashed, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: "memory ran out" in banner(app), timeout=WAIT)
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert banner(app) == ""


def test_advice_on_a_setting_goes_when_settings_change(qtbot: QtBot, app: Program) -> None:
    app.settings.change(temperature=0.0)
    ask(qtbot, app, "hello")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.chat_controller.regenerate_last()
    assert "temperature 0" in banner(app)
    app.window.panel.edited.emit("temperature", 0.7)
    assert banner(app) == ""


def test_a_refused_name_of_a_tag_is_forgotten_when_another_is_taken(qtbot: QtBot, app: Program) -> None:
    app.tags.create("one")
    app.tags.create("two")
    app.tags.rename("two", "one")
    assert "already is a tag" in banner(app)
    app.tags.rename("two", "three")
    assert banner(app) == ""


def test_that_messages_leave_is_said_as_long_as_they_do(app: Program) -> None:
    remotes.add(Remote("office", "https://elsewhere.example/v1", "qwen"))
    app.models.servers.changed.emit()
    app.window.panel.edited.emit("model", "remote:office/qwen")
    assert "leave this computer" in banner(app)
    app.window.panel.edited.emit("model", "")
    assert banner(app) == ""


def test_what_was_wrong_with_a_server_is_forgotten_when_it_is_typed_anew(qtbot: QtBot, app: Program) -> None:
    form = app.window.models.servers.form
    form.name.setText("no good name/")
    form.address.setText("https://host:8000/v1")
    form._submit()
    assert form._state.text()
    QTest.keyClicks(form.name, "x")
    assert form._state.text() == ""


def test_what_has_another_cause_stays(app: Program) -> None:
    app.chat_controller.show_error("The disk is full.")
    app.window.chat.composer.set_text("typed")
    app.window.panel.edited.emit("temperature", 0.7)
    app.loader.changed.emit()
    assert banner(app) == "The disk is full."
