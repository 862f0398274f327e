"""The page of the local server: switched on, asked, switched off, and what it says where it cannot be."""

import json
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from headstart import paths, settings_file
from headstart.server import keys, telling
from headstart.ui import serve_child
from headstart.ui.asking import installed_model
from headstart.ui.background_task import BackgroundTask
from headstart.ui.program import Program
from headstart.ui.serve_view import ServeState
from tests.model_folders import write_model
from tests.ui.conftest import WAIT, Speak

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
import sys, time
from headstart.cli import main
from headstart.errors import DeviceError
from tests.fakes import ScriptedEngine

def load(options):
    if options.device == "GPU":
        raise DeviceError("There is no device GPU here; present: CPU. Choose one with --device.")
    return ScriptedEngine(["word " * 8, "word " * 400], pause=0.01)

sys.exit(main(["serve", "--lines", *sys.argv[1:]], load=load))
"""
Open = Callable[..., Program]


@pytest.fixture
def app(open_program: Open, headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The window with one model in its library; what serves it has a scripted engine."""
    write_model(headstart_home / "models" / "smol")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "app"), str(ROOT)]))
    program = open_program(find=installed_model)
    program.server.program = (sys.executable, "-c", SERVE)
    program.change(server_port=free_port())
    program.window.show_page(program.window.server)
    return program


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def words(widget: QWidget) -> str:
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if not label.isHidden())


def press(widget: QWidget, name: str) -> None:
    next(each for each in widget.findChildren(QPushButton) if each.text() == name).click()


def switch(qtbot: QtBot, app: Program, wanted: ServeState) -> None:
    """As a person does with the keyboard, until it is so."""
    QTest.keyClick(app.window.server.card.switch, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: app.server.state is wanted, timeout=WAIT)


def post(url: str, key: str, text: str) -> tuple[int, str]:
    body = json.dumps({"model": "smol", "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", body, headers)  # noqa: S310 - this computer
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def ask(qtbot: QtBot, app: Program, key: str) -> tuple[int, str]:
    """In a thread: the window must not wait."""
    task = BackgroundTask(lambda _: post(app.window.server.door.url.text, key, "Hi"), app)
    with qtbot.waitSignal(task.done, timeout=WAIT) as done:
        task.start()
    assert done.args
    status, text = done.args[0]
    return status, text


def rows(app: Program) -> list[list[str]]:
    table = app.window.server.requests.table
    found = [table.topLevelItem(row) for row in range(table.topLevelItemCount())]
    return [[item.text(column) for column in range(5)] for item in found if item]


@pytest.mark.slow
def test_it_is_off_until_it_is_switched_on_and_answers_who_has_the_key(qtbot: QtBot, app: Program) -> None:
    page = app.window.server
    assert app.server.state is ServeState.OFF
    assert not page.card.switch.isChecked()
    assert not paths.server_key().exists()
    switch(qtbot, app, ServeState.READY)
    assert page.card.switch.isChecked()
    assert "Model: smol" in words(page)
    assert page.door.url.text == f"http://127.0.0.1:{app.settings.server_port}/v1"
    key = page.door.key.text
    assert keys.fits(key, paths.server_key().read_text(encoding="ascii").strip())
    assert ask(qtbot, app, "wrong")[0] == 401
    status, text = ask(qtbot, app, key)
    assert (status, "word" in text) == (200, True)
    qtbot.waitUntil(lambda: len(rows(app)) == 2 and rows(app)[0][2] == "200", timeout=WAIT)
    newest, refused = rows(app)
    assert newest[1] == refused[1] == "POST /v1/chat/completions"
    assert "+" in newest[3]
    assert refused[2:4] == ["401", ""]
    switch(qtbot, app, ServeState.OFF)
    assert rows(app), "what was asked stays to be read"
    log = app.server.journal.path.read_text(encoding="utf-8")
    assert "Serving" in log
    assert key not in log


@pytest.mark.slow
def test_a_line_to_copy_asks_it(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServeState.READY)
    door = app.window.server.door
    for line, start in ((door.url, "http://"), (door.key, "hs-"), (door.curl, "curl http://")):
        press(line, "Copy")
        assert QGuiApplication.clipboard().text() == line.text
        assert line.text.startswith(start)
    assert door.key.text in door.curl.text
    assert '"model": "smol"' in door.curl.text.replace("\\", "")


@pytest.mark.slow
def test_it_says_when_it_is_busy_and_ends_with_the_window(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServeState.READY)
    key = app.window.server.door.key.text
    assert ask(qtbot, app, key)[0] == 200  # the short one of the script
    task = BackgroundTask(lambda _: post(app.window.server.door.url.text, key, "Hi"), app)
    task.start()
    qtbot.waitUntil(lambda: app.server.state is ServeState.BUSY, timeout=WAIT)
    assert "being answered" in words(app.window.server.card)
    child = app.server._child
    assert child
    server = psutil.Process(int(child._process.processId()))
    app.window.close()
    assert not server.is_running()
    task.cancel()


@pytest.mark.slow
def test_the_key_is_shown_once_and_made_anew_on_request(
    qtbot: QtBot, app: Program, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch(qtbot, app, ServeState.READY)
    first = app.window.server.door.key.text
    app.window.close()
    again = open_program(find=installed_model)
    again.server.program = app.server.program
    again.window.show_page(again.window.server)
    door = again.window.server.door
    assert door.key.text == ""
    assert "was shown when it was made" in words(door)
    assert "Bearer KEY" in door.curl.text
    switch(qtbot, again, ServeState.READY)
    monkeypatch.setattr(QMessageBox, "exec", lambda box: box.buttons()[0].click())
    press(door, "New key")
    assert again.server.state is ServeState.STOPPING
    qtbot.waitUntil(lambda: again.server.state is ServeState.READY, timeout=WAIT)
    second = door.key.text
    assert second.startswith("hs-")
    assert second != first
    assert ask(qtbot, again, first)[0] == 401
    assert ask(qtbot, again, second)[0] == 200


@pytest.mark.slow
def test_a_port_that_is_taken_is_said_and_another_one_helps(qtbot: QtBot, app: Program) -> None:
    page = app.window.server
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        page.card.port.edited.emit("server_port", other.getsockname()[1])
        switch(qtbot, app, ServeState.FAILED)
        assert f"Port {other.getsockname()[1]} is taken" in words(page.card)
        assert not page.card.switch.isChecked()
        page.card.port.edited.emit("server_port", port := free_port())
        assert settings_file.load().server_port == port
        switch(qtbot, app, ServeState.READY)
    assert "is taken" not in words(page.card)
    assert not page.card.port.isEnabled()


def test_more_memory_than_is_free_is_refused_with_both_numbers(
    qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = app.window.server
    monkeypatch.setattr("headstart.ui.serve_desk.free_memory", lambda: 700_000_000)
    app.server.show()
    assert "takes about 1.9" in words(page.card)
    assert "700 MB is free" in words(page.card)
    switch(qtbot, app, ServeState.FAILED)
    assert "Serving smol takes about 1.9" in words(page.card)
    assert app.server._child is None
    assert not paths.server_key().exists()


@pytest.mark.slow
def test_what_keeps_the_engine_from_loading_is_said(qtbot: QtBot, app: Program) -> None:
    app.change(device="GPU")
    switch(qtbot, app, ServeState.FAILED)
    assert "There is no device GPU here" in words(app.window.server.card)


def test_a_refusal_is_said_in_the_windows_language(qtbot: QtBot, app: Program, speak: Speak) -> None:
    sentence = (
        "Loading a with 4096 tokens of context takes about 9.0 GB of memory, but 2.0 GB is free: choose a smaller "
        "context, INT4 weights, or a smaller model."
    )
    line = telling.encode(telling.Failed("MemoryBudgetError", sentence))
    app.server.program = (sys.executable, "-c", f"import os, sys; os.write(1, {line!r}); sys.exit(1)")
    speak("zh_CN")
    switch(qtbot, app, ServeState.FAILED)
    assert "约需 9.0 GB 内存" in words(app.window.server.card)


def test_it_starts_in_a_frozen_program_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve_child.command()[1:] == ("-P", "-m", "headstart", "serve", "--lines")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert serve_child.command() == (sys.executable, "serve", "--lines")


@pytest.mark.slow
def test_a_server_that_dies_is_said_and_can_be_started_again(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServeState.READY)
    child = app.server._child
    assert child
    psutil.Process(int(child._process.processId())).kill()
    qtbot.waitUntil(lambda: app.server.state is ServeState.FAILED, timeout=WAIT)
    assert "stopped unexpectedly" in words(app.window.server.card)
    switch(qtbot, app, ServeState.READY)


def test_a_program_that_is_not_there_is_said(qtbot: QtBot, app: Program) -> None:
    app.server.program = ("/no/such/program",)
    switch(qtbot, app, ServeState.FAILED)
    assert "cannot be started" in words(app.window.server.card)


def test_what_is_no_message_ends_it(qtbot: QtBot, app: Program) -> None:
    app.server.program = (sys.executable, "-c", "print('Hello'); input()")
    switch(qtbot, app, ServeState.FAILED)
    assert "no message of Headstart: Hello" in words(app.window.server.card)


def test_a_model_of_another_computer_is_not_served(qtbot: QtBot, app: Program) -> None:
    app.change(model="remote:office")
    app.server.show()
    assert "is on another computer" in words(app.window.server.card)
    switch(qtbot, app, ServeState.FAILED)
    assert app.server._child is None


@pytest.mark.slow
def test_another_model_is_served_from_the_next_start_on(qtbot: QtBot, app: Program, headstart_home: Path) -> None:
    switch(qtbot, app, ServeState.READY)
    write_model(headstart_home / "models" / "other")
    app.model_in_use.show_installed()
    app.change(model="other")
    assert "Model: smol" in words(app.window.server.card)
    assert "switch off and on" in words(app.window.server.card)
    switch(qtbot, app, ServeState.OFF)
    assert "Model: other" in words(app.window.server.card)


def test_the_page_is_reached_from_menu_and_page_of_models(app: Program) -> None:
    app.window.show_page(app.window.chat)
    app.window.actions_by_name["server"].trigger()
    assert app.window.pages.currentWidget() is app.window.server
    app.window.show_page(app.window.models)
    press(app.window.models.serve, "Local server…")
    assert app.window.pages.currentWidget() is app.window.server
