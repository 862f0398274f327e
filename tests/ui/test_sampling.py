"""What an answer is sampled with: left to the model, whose values are shown, or set by a person."""

import json
from collections.abc import Callable

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from headstart import paths
from headstart.engine.engine import Sampling
from headstart.ui.engine_request import installed_model, request
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import NumberEditor
from tests.model_folders import write_model
from tests.ui.person import ask

Open = Callable[..., Program]
NAMES = ("temperature", "top_p", "top_k", "repetition_penalty")


def field(app: Program, name: str) -> NumberEditor:
    found = app.window.panel._form._editors[name]
    assert isinstance(found, NumberEditor)
    return found


def told(app: Program, *names: str) -> list[str]:
    """What stands in the fields."""
    return [field(app, name)._spin.text() for name in names]


def install(name: str, **values: float) -> None:
    folder = paths.models_folder() / name
    write_model(folder)
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": True, **values}))


def test_what_is_left_to_the_model_shows_the_models_values(open_program: Open) -> None:
    install("one", temperature=0.2, top_p=0.9, repetition_penalty=1.1)
    install("two", temperature=0.6, top_k=20)
    app = open_program(find=installed_model)
    app.window.panel.edited.emit("model", "one")
    assert told(app, *NAMES) == ["0.20", "0.90", "0", "1.10"]
    assert not field(app, "temperature")._spin.isEnabled()
    app.window.panel.edited.emit("model", "two")
    assert told(app, *NAMES) == ["0.60", "1.00", "20", "1.00"]
    assert request(
        app.chat_controller.session.conversation.ask("x").path, app.chat_controller.session.settings
    ).sampling == (Sampling(automatic=("temperature", "top_p", "top_k", "min_p", "repetition_penalty")))


def test_where_nobody_knows_the_models_values_none_is_shown(app: Program) -> None:
    assert told(app, "temperature", "num_assistant_tokens", "context") == ["–", "–", "–"]
    field(app, "temperature")._automatic.click()
    assert told(app, "temperature") == ["0.70"]
    assert app.chat_controller.session.settings.sampling.temperature == 0.7


def test_who_sets_a_value_begins_at_that_of_the_model_and_can_leave_it_again(open_program: Open) -> None:
    install("one", temperature=0.2)
    app = open_program(find=installed_model)
    field(app, "temperature")._automatic.click()
    assert app.chat_controller.session.settings.sampling.temperature == 0.2
    assert field(app, "temperature")._spin.isEnabled()
    field(app, "temperature")._automatic.click()
    assert "temperature" in app.chat_controller.session.settings.sampling.automatic


def test_greedy_is_one_click_away(qtbot: QtBot, app: Program) -> None:
    next(each for each in app.window.panel.findChildren(QPushButton) if each.text() == "Greedy").click()
    assert app.chat_controller.session.settings.sampling.temperature == 0.0
    assert told(app, "temperature") == ["0.00"]
    assert not field(app, "temperature")._automatic.isChecked()
    ask(qtbot, app, "hello")
    assert app.chat_controller.session.path[-1].settings["temperature"] == 0.0


def test_a_typed_value_holds(app: Program) -> None:
    edit = field(app, "temperature")
    edit._automatic.click()
    edit._spin.lineEdit().selectAll()
    QTest.keyClicks(edit._spin, "0.55\r")
    assert app.chat_controller.session.settings.sampling.temperature == 0.55
