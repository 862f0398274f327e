"""A model on another computer in the window: chosen, told apart, asked, and said to be elsewhere."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart import remotes
from headstart.chat.history.store import open_store
from headstart.engine.engine import Remote
from headstart.settings import Settings
from headstart.ui.engine_request import installed_model
from headstart.ui.models import model_choices
from headstart.ui.program import EngineSource, Program
from tests.stand_ins.model_folders import write_model
from tests.stand_ins.model_server import Script, serving
from tests.ui.person import WAIT as SHORT

OFFICE = Remote("office", "https://office.example/v1", "large")
HOME = Remote("home", "http://10.0.0.2:8000/v1")
WAIT = 3 * SHORT  # ms; the real program of the engine is started
Open = Callable[..., Program]


@pytest.fixture
def script() -> Script:
    return Script(pause=0.02)


@pytest.fixture
def program(qtbot: QtBot, script: Script, history: Path) -> Iterator[Program]:
    """The window with the real engine's process, a server, and a model of this computer."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    with serving(script) as address:
        remotes.add(Remote("office", address))
        opened = Program(application, open_store(history), EngineSource(None, installed_model))
        opened.settings.change(model="remote:office")
        opened.start()
        opened.window.show()
        qtbot.waitUntil(lambda: opened.loader.is_ready, timeout=WAIT)
        yield opened
        opened.window.close()
        opened.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def ask(app: Program, text: str) -> None:
    app.window.chat.composer.set_text(text)
    app.window.chat.composer.submit()


def answers(app: Program) -> list[str]:
    assert app.chats.current
    return [message.text for message in app.chats.current.path[1::2]]


def test_remote_model_answers_in_the_window(program: Program, qtbot: QtBot) -> None:
    session = program.chats.current
    assert session
    with qtbot.waitSignal(session.ended, timeout=WAIT):
        ask(program, "Hi")
    assert answers(program) == ["Hello there!"]
    assert session.path[-1].model == "remote:office"
    assert program.window.chat.composer._count.text() == ""
    assert "small of the server office" in program.window.chat.composer.model_button.toolTip()
    assert program.window.chat.composer._reach.text() == "On this computer"  # the test's server is here


def test_stopped_remote_answer_keeps_its_part(program: Program, script: Script, qtbot: QtBot) -> None:
    script.words = ("word ",) * 10_000
    session = program.chats.current
    assert session
    ask(program, "Hi")
    qtbot.waitUntil(lambda: "word word" in answers(program)[0], timeout=WAIT)
    with qtbot.waitSignal(session.ended, timeout=WAIT):
        session.stop()
    assert script.gone.wait(WAIT / 1000)
    assert answers(program)[0].startswith("word word")


def test_broken_remote_answer_keeps_its_part(program: Program, script: Script, qtbot: QtBot) -> None:
    script.breaks_after = 2
    session = program.chats.current
    assert session
    with qtbot.waitSignal(session.ended, timeout=WAIT):
        ask(program, "Hi")
    assert answers(program) == ["Hello there"]
    assert "broke in the middle of the answer" in str(session.path[-1].stats)


def test_menu_marks_remote_models(open_program: Open) -> None:
    remotes.add(OFFICE)
    app = open_program()
    app.switch.menu.aboutToShow.emit()
    texts = [action.text() for action in app.switch.menu.actions()]
    assert "office/large\tanother computer" in texts
    models = {value: words for value, words, _ in app.choices.by_setting(app.settings.now)["model"]}
    assert models["remote:office/large"] == "office/large (another computer)"


def test_remote_model_warns_once(open_program: Open, headstart_home: Path) -> None:
    remotes.add(HOME)
    app = open_program()
    composer, notice = app.window.chat.composer, app.window.chat.notice
    assert composer._reach.text() == "On this computer"
    app.switch.chosen.emit("remote:home")
    assert ("home" in notice.text, "http://10.0.0.2:8000/v1" in notice.text) == (True, True)
    assert composer._reach.text() == "Leaves this computer"
    assert "http://10.0.0.2:8000/v1" in composer._reach.toolTip()
    notice.hide()
    app.switch.chosen.emit("")
    app.switch.chosen.emit("remote:home")
    assert notice.text == ""
    remotes.add(Remote("home", "https://elsewhere.example/v1"))
    app.model_in_use.show_installed()
    app.model_in_use.show()
    assert "https://elsewhere.example/v1" in notice.text


def test_offline_label_is_for_local_models(open_program: Open) -> None:
    assert open_program().window.chat.composer._reach.text() == "Offline"
    here = Remote("here", "http://127.0.0.1:1/v1")
    assert model_choices.reach(Settings(), [here]).text == "Offline"
    assert model_choices.reach(Settings(), [here, OFFICE]).text == "On this computer"
    assert model_choices.reach(Settings(), [here], fetching=True).text == "On this computer"
    assert model_choices.reach(Settings(model="remote:office"), [here, OFFICE]).leaves_computer
    assert not model_choices.reach(Settings(model="remote:here"), [here, OFFICE]).leaves_computer
    assert model_choices.reach(Settings(model="remote:gone"), [here]).text == ""


def test_remote_model_is_never_chosen_automatically(headstart_home: Path) -> None:
    remotes.add(OFFICE)
    write_model(headstart_home / "models" / "small")
    assert installed_model(Settings()).name == "small"
    assert installed_model(Settings(model="remote:office")).options.remote == OFFICE


def test_measuring_pages_refuse_a_remote_model(open_program: Open) -> None:
    app = open_program()
    assert "choose one of them" in app.loader.unavailable_reason(Settings(model="remote:office"))
