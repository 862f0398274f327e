"""Choosing a model: from the composer's menu, a draft with its reason, one that is too big loaded anyway."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from bench.window.profile import toy_model
from headstart import settings
from headstart.engine.engine import Unset
from headstart.errors import BrokenModelError
from headstart.library import manifest
from headstart.settings import Settings
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_request import Loadable, installed_model
from headstart.ui.program import Program
from headstart.ui.settings.settings_form import ChoiceEditor
from tests.stand_ins.model_folders import describe, write_model, write_pair
from tests.ui.person import WAIT, ask, press, setting, shown

Open = Callable[..., Program]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    """The folder of the library."""
    return headstart_home / "models"


def heavy(folder: Path) -> Path:
    """Create a model of 30 GB by its manifest."""
    write_model(folder)
    manifest.write(folder, replace(describe(folder), size_bytes=30_000_000_000))
    return folder


def drafts(app: Program) -> dict[str, tuple[bool, str]]:
    """Return for each draft whether it can be chosen, and its words."""
    field = setting(app, "draft")
    assert isinstance(field, ChoiceEditor)
    box = field._box
    rows = range(box.count())
    return {
        str(box.itemData(row)): (bool(box.model().flags(box.model().index(row, 0)).value & 32), box.itemText(row))
        for row in rows
    }


def menu(app: Program) -> dict[str, str]:
    """Return for each model the text at the right edge."""
    app.switch.menu.aboutToShow.emit()
    return dict((action.text().partition("\t")[::2]) for action in app.switch.menu.actions() if action.text())


def choose(app: Program, name: str) -> None:
    app.switch.menu.aboutToShow.emit()
    next(action for action in app.switch.menu.actions() if action.text().startswith(name)).trigger()


def large_model(settings: Settings) -> Loadable:
    found = toy_model(settings)
    return replace(found, options=replace(found.options, target=Path("large")))


def test_composer_switches_the_model_of_the_chat(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    button = app.window.chat.composer.model_button
    assert (button.text(), button.accessibleName()) == ("both", "Model: both")
    assert menu(app) == {"both": "4.0 GB of memory", "smol": "2.1 GB of memory", "All Models…": ""}
    choose(app, "smol")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "smol"), timeout=WAIT)
    assert button.text() == "smol"
    assert app.chat_controller.session.settings.model == "smol"
    assert app.settings.now.model == "smol"
    app.window.sidebar.new_requested.emit()
    choose(app, "All Models")
    assert app.window.pages.currentWidget() is app.window.models


def test_unnamed_device_is_left_to_tuning(root: Path, tmp_path: Path) -> None:
    write_model(root / "smol")
    automatic = installed_model(Settings()).options
    assert automatic.device == "CPU"
    assert {Unset.DEVICE, Unset.DRAFT_DEVICE} <= set(automatic.unset)
    older = tmp_path / "settings.toml"
    older.write_text('version = 1\n[model]\ndevice = "GPU"\ndraft_device = "NPU"\n')
    chosen = installed_model(settings.load(older)).options
    assert (chosen.device, chosen.draft_device) == ("GPU", "NPU")
    assert not {Unset.DEVICE, Unset.DRAFT_DEVICE} & set(chosen.unset)
    placed = installed_model(Settings().for_chat({"device": "CPU"})).options  # of a chat that asked for it
    assert placed.device == "CPU"
    assert Unset.DEVICE not in placed.unset


def test_device_may_be_auto(open_program: Open) -> None:
    app = open_program()
    for name in ("device", "draft_device"):
        field = setting(app, name)
        assert isinstance(field, ChoiceEditor)
        assert (field._box.currentText(), field._box.currentData()) == ("Automatic", "")


def test_too_large_model_says_what_it_needs(root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    heavy(root / "giant")
    app = open_program(find=installed_model)
    app.choices.free = lambda: 10_000_000_000
    assert re.findall(r"[\d.]+ GB", menu(app)["giant"]) == ["28 GB", "18 GB"]
    app.window.panel.edited.emit("model", "smol")
    assert (drafts(app)["giant"][0], "19.97 GB" in drafts(app)["giant"][1]) == (False, True)
    assert not drafts(app)["smol"][0]


def test_long_model_name_is_elided_in_the_middle(root: Path, open_program: Open) -> None:
    name = "an-unusually-long-name-of-a-model-that-nobody-would-type-by-hand-instruct-int8"
    write_model(root / name)
    app = open_program(find=installed_model)
    button = app.window.chat.composer.model_button
    assert "…" in button.text()
    assert button.text().endswith("int8")
    assert name in button.toolTip()
    assert button.accessibleName() == f"Model: {name}"


def test_too_large_model_is_loaded_on_demand(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=large_model, loaded=False)
    notice = app.window.chat.notice
    qtbot.waitUntil(lambda: "90.0 GB of memory, but 8.0 GB is free" in notice.text, timeout=WAIT)
    button = next(b for b in notice.findChildren(QPushButton) if b.text() == "Load anyway")
    button.click()
    qtbot.waitUntil(lambda: app.loader.is_ready, timeout=WAIT)
    app.model_in_use.load()
    assert app.loader.is_ready


def test_other_refusal_has_no_override(qtbot: QtBot, open_program: Open) -> None:
    broken = Path("broken")
    app = open_program(find=lambda s: Loadable("x", replace(toy_model(s).options, target=broken)), loaded=False)
    notice = app.window.chat.notice
    qtbot.waitUntil(lambda: "is no model" in notice.text, timeout=WAIT)
    assert not [b for b in notice.findChildren(QPushButton) if b.text() == "Load anyway"]


def test_task_reports_its_end_unless_cancelled(qtbot: QtBot) -> None:
    def fail(_task: BackgroundTask) -> None:
        raise BrokenModelError("Broken.")

    good, bad = BackgroundTask(lambda task: 7), BackgroundTask(fail)
    with qtbot.waitSignals(
        [good.done, bad.failed], timeout=WAIT, check_params_cbs=[lambda n: n == 7, lambda s: s == "Broken."]
    ):
        good.start()
        bad.start()
    late = BackgroundTask(lambda task: 7)
    late.cancel()
    with qtbot.assertNotEmitted(late.done, wait=100):
        late.start()


def model_box(app: Program) -> str:
    return app.window.chat.composer.model_button.text()


def test_new_chat_has_the_last_model(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    ask(qtbot, app, "with the pair")
    first = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    choose(app, "smol")
    app.window.sidebar.new_requested.emit()
    ask(qtbot, app, "with the small one")
    assert shown(app)[-1].author == "smol"
    app.window.sidebar.new_requested.emit()
    assert model_box(app) == "smol"
    pid = app.link.pid
    app.window.sidebar.list.chosen.emit(first, None)  # it has no model of its own, so nothing is loaded for it
    ask(qtbot, app, "again")
    assert (shown(app)[-1].author, app.link.pid) == ("smol", pid)
    again = open_program(find=installed_model)
    again.window.sidebar.new_requested.emit()
    assert model_box(again) == "smol"


def test_model_of_an_older_chat_becomes_the_last_one(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    choose(app, "both")
    ask(qtbot, app, "with the pair")
    pair = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    choose(app, "smol")
    ask(qtbot, app, "with the small one")
    app.window.sidebar.list.chosen.emit(pair, None)
    ask(qtbot, app, "with the pair again")
    assert shown(app)[-1].author == "both"
    app.window.sidebar.new_requested.emit()
    assert model_box(app) == "both"


def test_unloaded_model_is_marked_and_count_estimated(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    choose(app, "both")
    ask(qtbot, app, "one two three")
    pair, count = app.chat_controller.session.chat.id, app.window.chat.composer._count
    qtbot.waitUntil(lambda: count.accessibleDescription() == "10 of 2,048 tokens", timeout=WAIT)
    app.window.sidebar.new_requested.emit()
    choose(app, "smol")
    qtbot.waitUntil(lambda: bool(app.link.model_info and app.link.model_info.model == "smol"), timeout=WAIT)
    app.window.sidebar.list.chosen.emit(pair, None)
    assert model_box(app).startswith("both · ")
    assert "smol is in memory" in app.window.chat.composer.model_button.toolTip()
    qtbot.waitUntil(lambda: count.accessibleDescription() == "about 10 tokens", timeout=WAIT)
    ask(qtbot, app, "four")
    assert model_box(app) == "both"
    qtbot.waitUntil(lambda: count.accessibleDescription() == "16 of 2,048 tokens", timeout=WAIT)


def test_count_of_another_model_refuses_nothing(qtbot: QtBot, root: Path, open_program: Open) -> None:
    write_model(root / "smol")
    write_pair(root / "both")
    app = open_program(find=installed_model)
    choose(app, "both")
    app.chat_controller.session.change_settings({"model": "smol"})
    app.model_in_use.show()
    text = "long " * 3000
    app.window.chat.composer.set_text(text)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.composer.submit()
    assert "The conversation has 3001 tokens" in shown(app)[-1].notice  # says the one that was to answer


def test_unloaded_model_loads_with_the_next_message(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["unload"].trigger()
    assert model_box(app).startswith("toy · ")
    ask(qtbot, app, "hello")
    assert model_box(app) == "toy"


def test_message_after_a_crash_waits_for_the_load_under_way(qtbot: QtBot, app: Program) -> None:
    pids: list[int] = []

    def send(stage: object) -> None:
        if stage and not pids:
            pids.append(app.link.pid)
            assert app.chat_controller.session.ask("still there?")

    app.link.loading.connect(send)
    assert app.link._session.process
    app.link._session.process.end()
    qtbot.waitUntil(lambda: len(shown(app)) == 2 and bool(shown(app)[-1].text), timeout=WAIT)
    assert [app.link.pid] == pids


def test_panel_shows_the_model_that_is_used_for_all_chats(qtbot: QtBot, root: Path, open_program: Open) -> None:
    for name in ("one", "two"):
        write_model(root / name)
    app = open_program(find=installed_model)
    app.settings.change(model="two")
    ask(qtbot, app, "hello")
    app.window.panel.edited.emit("model", "two")
    model = setting(app, "model")
    assert isinstance(model, ChoiceEditor)
    assert model._box.currentData() == "two"
    press(app.window.models, "Use one")
    assert model._box.currentData() == "one"
