"""Tuning: run, progress, result, cancel, the next start, forgetting, and the reasons it gives."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.cli.performance.tune import reason
from headstart.engine.bench.result import Spread
from headstart.engine.engine import LoadOptions, Unset
from headstart.engine.tuning.messages import DEFAULT, DRAFTS, TARGET, Row, Stage, TuningStep
from headstart.engine.tuning.search import Hardware, drafts, settings
from headstart.errors import Translatable
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable
from headstart.ui.performance import tuning_page
from headstart.ui.performance.tuning_page import TuningPage
from headstart.ui.program import Program
from tests.ui.conftest import Speak
from tests.ui.person import WAIT, ask, cells, press, texts

Opened = Callable[..., Program]


def go(app: Program) -> TuningPage:
    """Open the page and press its button."""
    app.window.actions_by_name["tune"].trigger()
    app.tune.page.start.click()
    return app.tune.page


def end(qtbot: QtBot, app: Program) -> None:
    """Wait until the model is loaded again."""
    qtbot.waitUntil(lambda: not app.loader.occupation and app.loader.is_ready, timeout=WAIT)


def test_tuning_page_describes_the_first_run(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["tune"].trigger()
    page = app.tune.page
    qtbot.waitUntil(lambda: "has not been tuned" in page._empty.text(), timeout=WAIT)
    assert page.report.isHidden()
    assert "1. toy: in other precisions" in page._plan.text()
    assert "2. Speed-up: with earlier text" in page._plan.text()


def test_tuning_shows_measurements_and_reasons(qtbot: QtBot, open_program: Opened) -> None:
    app = open_program(pace=0.01)
    page = go(app)
    qtbot.waitUntil(lambda: len(page.report.tables()) == 1, timeout=WAIT)  # stage by stage
    assert page.stop.isVisible()
    assert not page.bar.isHidden()
    end(qtbot, app)
    said = page.report.text()
    assert "1.33×" in said
    assert "9 of 9 runs" in said
    assert "as it is, because" in said
    assert "An engine without a model" in said
    rows = cells(page.report.tables()[0])
    assert rows[1] == ["1 thread", "60.0", "1.33× (1.20–1.40)", "9 / 9", "chosen"]
    assert rows[2][-1] == "The toy has no NPU."
    assert rows[3][-1] == "no time left"


def test_tuning_is_shown_after_a_restart_until_forgotten(qtbot: QtBot, open_program: Opened) -> None:
    app = open_program()
    go(app)
    end(qtbot, app)
    again = open_program()
    again.window.actions_by_name["tune"].trigger()
    page = again.tune.page
    qtbot.waitUntil(lambda: len(page.report.tables()) == 2, timeout=WAIT)
    with qtbot.waitSignal(again.link.loaded, timeout=WAIT):  # without what was found
        press(page, "Forget")
    qtbot.waitUntil(lambda: "has not been tuned" in page._empty.text(), timeout=WAIT)
    assert page.report.isHidden()


def test_forgetting_ends_no_answer(qtbot: QtBot, open_program: Opened) -> None:
    app = open_program(pace=0.01)
    page = go(app)
    end(qtbot, app)
    app.window.actions_by_name["load"].trigger()  # the order waits for the process
    press(page, "Forget")
    assert app.chat_controller.session.ask("toy: words 60")
    qtbot.waitUntil(lambda: not app.chat_controller.session.is_answering, timeout=WAIT)
    assert len(texts(app)[-1].split()) == 60
    assert "has not been tuned" in page._empty.text()
    with qtbot.waitSignal(app.link.loaded, timeout=WAIT):
        ask(qtbot, app, "and now without")


def test_tuning_page_can_cancel(qtbot: QtBot, open_program: Opened) -> None:
    app = open_program(pace=0.3)
    page = go(app)
    qtbot.waitUntil(lambda: "Model: as it is (f32) against 1 thread" in page.sentence, timeout=WAIT)
    app.window.actions_by_name["write"].trigger()
    assert "(f32) against 1 thread" in app.window.activity[page].text
    page.stop.click()
    end(qtbot, app)
    assert "Cancelled; nothing was changed." in page.notice.text
    qtbot.waitUntil(page.report.isHidden, timeout=WAIT)


def test_chosen_settings_are_not_tuned(qtbot: QtBot, open_program: Opened) -> None:
    def find(_: Settings) -> Loadable:
        return Loadable("toy", LoadOptions(Path("toy"), Path("small"), "GPU", unset=(Unset.PROPERTIES,)))

    app = open_program(find=find)
    app.window.actions_by_name["tune"].trigger()
    said = app.tune.page._plan.text()
    assert "settings name GPU" in said
    assert "draft model" in said
    assert "other installed draft models" not in said


def test_tuned_settings_are_translated(speak: Speak) -> None:
    hardware = Hardware(logical=16, physical=8, devices=("CPU", "GPU.1"), pinning=True)
    load = LoadOptions(Path("t"), Path("d"))
    names = [*settings(hardware, load, ("f32", "bf16")), *drafts(load, {"small/draft": Path("s")}, rows=4000)]
    names += [DEFAULT, "1 thread"]
    speak("zh_CN")
    assert not [name for name in names if tuning_page.setting_text(name) == name]
    assert "GPU.1" in tuning_page.setting_text("on GPU.1")
    assert tuning_page.setting_text("by magic") == "by magic"


def kept(*tried: Row, subject: str = TARGET) -> Stage:
    """Return a stage that keeps the default."""
    return Stage(subject, (Row(DEFAULT, {}, chosen=True), *tried))


WON = Row("1 thread", {"token of an answer": 60.0}, Spread(1.3, 1.2, 1.4), 9, 9, chosen=True)
STAGES = (
    Stage(TARGET, (Row(DEFAULT, {"token of an answer": 80.0}), WON)),
    Stage(TARGET, (Row(DEFAULT, {"token of an answer": 80.0}, chosen=True),)),
    kept(Row("no draft model", {}), subject=DRAFTS),
    kept(Row("no draft model", {}, failure=Translatable("No.")), subject=DRAFTS),
    kept(Row("1 thread", {}, Spread(0.9, 0.8, 1.0), 0, 3)),
    kept(Row("1 thread", {}, Spread(1.01, 0.8, 1.2), 2, 3)),
    kept(Row("1 thread", {}, Spread(1.2, 0.8, 1.4), 2, 3), Row("2 threads", {})),
)
CASES = (
    "because", "as there is nothing else", "was over", "nothing else runs", "was not faster", "too little", "chance",
    "not all were timed",
)  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
def test_reasons_are_those_of_the_terminal(stage: Stage) -> None:
    terminal, window = reason(stage), tuning_page.decision_text(stage)
    for words in CASES:
        assert (words in terminal) == (words in window), words
    for row in stage.rows:
        assert (row.name in window) <= (row.name in terminal)


@pytest.mark.parametrize("subject", [TARGET, DRAFTS])
def test_tuning_shows_its_step(subject: str) -> None:
    assert tuning_page.step_text(TuningStep(subject)).startswith("Loading the ")
    assert tuning_page.step_text(TuningStep(subject, against=())).endswith("as it is against nothing else")
