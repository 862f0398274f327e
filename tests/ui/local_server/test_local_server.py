"""The page of the local server: switched on, asked, switched off, and what it says where it cannot be."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from headstart import paths, settings
from headstart.server import keys
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_request import installed_model
from headstart.ui.local_server.server_page import ServerState
from headstart.ui.program import Program
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, cells, press, words

Open = Callable[..., Program]


@pytest.fixture
def app(qtbot: QtBot, open_program: Open, headstart_home: Path) -> Program:
    """The window on the page of the server, with one model, for which a toy stands."""
    write_model(headstart_home / "models" / "smol")
    program = open_program(pace=0.01, find=installed_model)
    program.settings.change(server_port=free_port())
    program.window.show_page(program.server.page)
    return program


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def live(app: Program) -> str:
    answer = app.chat_controller.session.live
    return answer.text if answer else ""


def refuses(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def switch(qtbot: QtBot, app: Program, wanted: ServerState) -> None:
    """Toggle by keyboard until the switch is in this state."""
    QTest.keyClick(app.server.page.card.switch, Qt.Key.Key_Space)
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


def ask(qtbot: QtBot, app: Program, key: str, text: str = "Hi") -> tuple[int, str]:
    """Send a request in a thread, as the window must not wait."""
    task = BackgroundTask(lambda _: post(app.server.page.address.url.text, key, text), app)
    with qtbot.waitSignal(task.done, timeout=WAIT) as done:
        task.start()
    assert done.args
    status, text = done.args[0]
    return status, text


def rows(app: Program) -> list[list[str]]:
    return cells(app.server.page.requests.table)


@pytest.mark.slow
def test_local_server_is_off_by_default(qtbot: QtBot, app: Program) -> None:
    page = app.server.page
    assert app.server.state is ServerState.OFF
    assert not page.card.switch.isChecked()
    assert not paths.server_key().exists()
    switch(qtbot, app, ServerState.READY)
    assert page.card.switch.isChecked()
    assert "Model: smol" in words(page)
    assert page.address.url.text == f"http://127.0.0.1:{app.settings.now.server_port}/v1"
    key = page.address.key.text
    assert keys.matches(key, paths.server_key().read_text(encoding="ascii").strip())
    assert ask(qtbot, app, "wrong")[0] == 401
    status, text = ask(qtbot, app, key)
    assert (status, "You wrote: Hi" in text) == (200, True)
    qtbot.waitUntil(lambda: len(rows(app)) == 2 and rows(app)[0][2] == "200", timeout=WAIT)
    newest, refused = rows(app)
    assert newest[1] == refused[1] == "POST /v1/chat/completions"
    assert "+" in newest[3]
    assert refused[2:4] == ["401", ""]
    switch(qtbot, app, ServerState.OFF)
    assert rows(app), "what was asked stays to be read"
    log = app.server.journal.path.read_text(encoding="utf-8")
    assert "Serving" in log
    assert key not in log


@pytest.mark.slow
def test_copied_command_asks_the_server(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServerState.READY)
    address = app.server.page.address
    for line, start in ((address.url, "http://"), (address.key, "hs-"), (address.curl, "curl http://")):
        press(line, "Copy")
        assert QGuiApplication.clipboard().text() == line.text
        assert line.text.startswith(start)
    assert address.key.text in address.curl.text
    assert '"model": "smol"' in address.curl.text.replace("\\", "")


@pytest.mark.slow
def test_local_server_shows_activity_and_ends_with_the_window(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServerState.READY)
    key = app.server.page.address.key.text
    task = BackgroundTask(lambda _: post(app.server.page.address.url.text, key, "toy: words 2000"), app)
    task.start()
    qtbot.waitUntil(lambda: app.server.state is ServerState.BUSY, timeout=WAIT)
    assert "being answered" in words(app.server.page.card)
    app.window.close()
    qtbot.waitUntil(lambda: refuses(app.settings.now.server_port), timeout=WAIT)
    task.cancel()


@pytest.mark.slow
def test_server_key_is_shown_once(
    qtbot: QtBot, app: Program, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch(qtbot, app, ServerState.READY)
    first = app.server.page.address.key.text
    app.window.close()
    again = open_program(find=installed_model)
    again.window.show_page(again.server.page)
    address = again.server.page.address
    assert address.key.text == ""
    assert "was shown when it was made" in words(address)
    assert "Bearer KEY" in address.curl.text
    switch(qtbot, again, ServerState.READY)
    monkeypatch.setattr(QMessageBox, "exec", lambda box: press(box, "Make another key"))
    press(address, "New key")
    assert again.server.state is ServerState.STOPPING
    qtbot.waitUntil(lambda: again.server.state is ServerState.READY, timeout=WAIT)
    second = address.key.text
    assert second.startswith("hs-")
    assert second != first
    assert ask(qtbot, again, first)[0] == 401
    assert ask(qtbot, again, second)[0] == 200


@pytest.mark.slow
def test_taken_port_is_reported(qtbot: QtBot, app: Program) -> None:
    page = app.server.page
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        page.card.port.edited.emit("server_port", other.getsockname()[1])
        switch(qtbot, app, ServerState.FAILED)
        assert f"Port {other.getsockname()[1]} is taken" in words(page.card)
        assert not page.card.switch.isChecked()
        page.card.port.edited.emit("server_port", port := free_port())
        assert settings.load().server_port == port
        switch(qtbot, app, ServerState.READY)
    assert "is taken" not in words(page.card)
    assert not page.card.port.isEnabled()


def test_load_error_is_shown_on_the_server_page(qtbot: QtBot, app: Program, headstart_home: Path) -> None:
    write_model(headstart_home / "models" / "broken")
    app.settings.change(model="broken")
    switch(qtbot, app, ServerState.FAILED)
    assert "is no model" in words(app.server.page.card)


def test_window_and_local_server_take_turns(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServerState.READY)
    key, engine = app.server.page.address.key.text, app.link.pid
    session = app.chat_controller.session
    session.ask("toy: words 600")
    qtbot.waitUntil(lambda: "toy" in live(app), timeout=WAIT)
    waiting = BackgroundTask(lambda _: post(app.server.page.address.url.text, key, "Hi"), app)
    with qtbot.waitSignal(waiting.done, timeout=WAIT) as done:
        waiting.start()
        qtbot.waitUntil(lambda: app.server.state is ServerState.BUSY, timeout=WAIT)
        assert app.link.generation is not None
    assert done.args
    assert done.args[0][0] == 200
    session.ask("toy: words 200")
    qtbot.waitUntil(lambda: app.link.generation is not None, timeout=WAIT)
    switch(qtbot, app, ServerState.OFF)
    assert app.link.generation is not None, "the answer of the window is not disturbed"
    qtbot.waitUntil(lambda: app.link.generation is None, timeout=WAIT)
    assert app.link.pid == engine


def test_local_server_returns_with_the_next_model(qtbot: QtBot, app: Program, headstart_home: Path) -> None:
    switch(qtbot, app, ServerState.READY)
    key, url = app.server.page.address.key.text, app.server.page.address.url.text
    write_model(headstart_home / "models" / "other")
    app.model_in_use.show_installed()
    app.settings.change(model="other")
    app.loader.require(app.settings.now)
    assert app.server.state is ServerState.STARTING
    qtbot.waitUntil(lambda: app.server.state is ServerState.READY, timeout=WAIT)
    assert app.server.page.address.url.text == url
    assert "Model: other" in words(app.server.page.card)
    assert ask(qtbot, app, key)[0] == 404, "it is asked for the model of before"


def test_local_server_ends_with_unload(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServerState.READY)
    app.loader.unload()
    assert app.server.state is ServerState.FAILED
    assert "The model was unloaded" in words(app.server.page.card)
    switch(qtbot, app, ServerState.READY)


@pytest.mark.slow
@pytest.mark.engine_process
def test_local_server_returns_after_a_crash(qtbot: QtBot, app: Program) -> None:
    switch(qtbot, app, ServerState.READY)
    psutil.Process(app.link.pid).kill()
    qtbot.waitUntil(lambda: app.server.state is ServerState.STARTING, timeout=WAIT)
    qtbot.waitUntil(lambda: app.server.state is ServerState.READY, timeout=WAIT)
    assert ask(qtbot, app, app.server.page.address.key.text)[0] == 200


def test_remote_model_is_not_served(qtbot: QtBot, app: Program) -> None:
    app.settings.change(model="remote:office")
    app.server.show()
    assert "is on another computer" in words(app.server.page.card)
    switch(qtbot, app, ServerState.FAILED)


@pytest.mark.slow
def test_another_model_is_served_after_the_next_start(qtbot: QtBot, app: Program, headstart_home: Path) -> None:
    switch(qtbot, app, ServerState.READY)
    write_model(headstart_home / "models" / "other")
    app.model_in_use.show_installed()
    app.settings.change(model="other")
    assert "Model: smol" in words(app.server.page.card)
    assert "switch off and on" in words(app.server.page.card)
    switch(qtbot, app, ServerState.OFF)
    assert "Model: other" in words(app.server.page.card)


def test_server_page_is_reached_from_the_menu(app: Program) -> None:
    app.window.show_page(app.window.chat)
    app.window.actions_by_name["server"].trigger()
    assert app.window.pages.currentWidget() is app.server.page
    app.window.show_page(app.window.models)
    press(app.window.models.serve, "Local server…")
    assert app.window.pages.currentWidget() is app.server.page
