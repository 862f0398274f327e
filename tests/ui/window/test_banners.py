"""Banners above the message box, which go with their cause."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from headstart import remotes
from headstart.engine.engine import Remote
from headstart.errors import Translatable
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, begin

Open = Callable[..., Program]


def banner(app: Program) -> str:
    return app.window.chat.notice.text


def test_banner_of_a_refused_file_ends_with_a_good_one(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    picture, text = tmp_path / "picture.ico", tmp_path / "notes.txt"
    picture.write_bytes(bytes(range(256)))
    text.write_text("walrus")
    composer = app.window.chat.composer
    composer.attach([picture, text])
    assert "picture.ico" in banner(app)  # of the same batch the refusal is told last
    text.with_name("more.txt").write_text("crab")
    composer.attach([text.with_name("more.txt")])
    assert banner(app) == ""


def test_banner_of_a_long_message_ends_when_shortened(qtbot: QtBot, app: Program) -> None:
    composer = app.window.chat.composer
    composer.set_text("word " * 3000)
    composer.submit()
    qtbot.waitUntil(lambda: "the context holds 2,048" in banner(app), timeout=WAIT)
    composer.set_text("word")
    assert banner(app) == ""


def test_banner_of_a_running_answer_ends_with_it(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 90")
    app.window.sidebar.new_requested.emit()
    app.chat_controller.session.ask("not now")
    assert "still being written" in banner(app)
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    assert banner(app) == ""


@pytest.mark.engine_process
def test_banner_of_a_stopped_engine_ends_with_its_restart(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    with qtbot.waitSignal(app.link.crashed, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: "memory ran out" in banner(app), timeout=WAIT)
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    assert banner(app) == ""


def test_banner_of_advice_ends_with_a_change_of_settings(qtbot: QtBot, app: Program) -> None:
    app.settings.change(temperature=0.0)
    ask(qtbot, app, "hello")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.chat_controller.regenerate_last()
    assert "temperature 0" in banner(app)
    app.window.panel.edited.emit("temperature", 0.7)
    assert banner(app) == ""


def test_banner_of_a_refused_tag_ends_with_another_name(qtbot: QtBot, app: Program) -> None:
    app.tags.create("one")
    app.tags.create("two")
    app.tags.rename("two", "one")
    assert "already is a tag" in banner(app)
    app.tags.rename("two", "three")
    assert banner(app) == ""


def test_banner_of_a_remote_model_stays_while_it_is_used(app: Program) -> None:
    remotes.add(Remote("office", "https://elsewhere.example/v1", "qwen"))
    app.models.servers.changed.emit()
    app.window.panel.edited.emit("model", "remote:office/qwen")
    assert "leave this computer" in banner(app)
    app.window.panel.edited.emit("model", "")
    assert banner(app) == ""


def test_banner_of_a_wrong_server_ends_with_typing(qtbot: QtBot, app: Program) -> None:
    form = app.window.models.servers.form
    form.name.setText("no good name/")
    form.address.setText("https://host:8000/v1")
    form._on_submit()
    assert form._state.text()
    QTest.keyClicks(form.name, "x")
    assert form._state.text() == ""


def test_slow_answers_are_reported_once_a_load(qtbot: QtBot, app: Program) -> None:
    model_info = app.link.model_info
    assert model_info
    assert banner(app) == ""
    sentence = Translatable("Answers are about half as fast as they could be.")
    app.link.loaded.emit(replace(model_info, slowness=sentence))
    assert banner(app) == sentence
    dismiss = app.window.chat.notice.findChildren(QToolButton)[0]
    assert dismiss.accessibleName() == "Dismiss"
    dismiss.click()
    ask(qtbot, app, "hello")
    assert banner(app) == ""
    app.link.loaded.emit(replace(model_info, slowness=sentence))
    assert banner(app) == sentence
    app.link.loaded.emit(model_info)
    assert banner(app) == ""


def test_banner_of_another_cause_stays(app: Program) -> None:
    app.chat_controller.show_error("The disk is full.")
    app.window.chat.composer.set_text("typed")
    app.window.panel.edited.emit("temperature", 0.7)
    app.loader.changed.emit()
    assert banner(app) == "The disk is full."
