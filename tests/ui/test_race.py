"""Stories of the race: both lanes, the proof, the replay, the numerics before and after, and what is refused."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from headstart.engine.engine import LoadOptions, Numerics
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable, installed_model
from headstart.ui.performance.race_page import RacePage, RaceResult
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, begin, texts, write

Open = Callable[..., Program]


def toy_with_numerics(settings: Settings) -> Loadable:
    """The toy takes note of the numerics it was loaded with."""
    return Loadable("toy", LoadOptions(Path("toy"), numerics=Numerics(settings.numerics)))


def numerics(app: Program) -> str:
    return app.link.facts.numerics if app.link.facts else ""


def button(page: RacePage, name: str) -> QPushButton:
    return next(each for each in page.findChildren(QPushButton) if each.text() == name)


def start(app: Program, prompt: str = "toy: words 40") -> RacePage:
    """Go to the page and press its button."""
    app.window.actions_by_name["race"].trigger()
    page = app.window.race
    page.form.prompt.setPlainText(prompt)
    button(page, "Start the race").click()
    return page


def end(qtbot: QtBot, page: RacePage) -> None:
    qtbot.waitUntil(lambda: not page._verdict.isHidden(), timeout=WAIT)


def test_both_lanes_are_run_with_exact_numerics_and_proven_equal(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01, find=toy_with_numerics)
    assert numerics(app) == "fast"
    page = start(app)
    end(qtbot, page)
    assert numerics(app) == "exact"
    assert page._proof.text() == "40 of 40 tokens equal: both wrote the same."
    assert "exact numerics" in page.run.sentence or app.race._replay.is_running
    plain, speculative = (app.race._lanes[leg] for leg in app.race._lanes)
    assert {step.round.drafted for step in plain.steps} == {0}
    assert max(step.round.drafted for step in speculative.steps) > 0
    assert page._speedup.text() == f"{RaceResult(plain, speculative).speedup:.2f}×"


def test_leaving_the_page_brings_the_usual_numerics_back(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=toy_with_numerics)
    end(qtbot, start(app))
    QTest.keyClick(app.window, Qt.Key.Key_Escape)
    assert app.window.pages.currentWidget() is app.window.chat
    qtbot.waitUntil(lambda: numerics(app) == "fast", timeout=WAIT)
    ask(qtbot, app, "hello")
    assert texts(app)[-1] == "You wrote: hello"


def test_both_lanes_are_replayed_at_their_times(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page, replay = start(app), app.race._replay
    end(qtbot, page)
    qtbot.waitUntil(lambda: not replay.is_running, timeout=WAIT)
    assert page.lanes[0].text.toPlainText() == page.lanes[1].text.toPlainText()
    button(page, "Replay both at once").click()
    assert [lane.tokens for lane in page.lanes] == [0, 0]
    replay.stop()
    plain, speculative = app.race._lanes.values()
    replay._show(speculative.total_ms)
    assert page.lanes[1].tokens == 40
    assert 0 < page.lanes[0].tokens < 40
    assert page.lanes[1].clock.text() == f"{speculative.total_ms / 1000:.2f} s"
    replay._show(plain.total_ms)
    assert page.lanes[0].tokens == 40


def test_a_replay_can_be_cut_short(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = start(app)
    end(qtbot, page)
    button(page, "Stop").click()
    assert not app.race._replay.is_running
    assert [lane.tokens for lane in page.lanes] == [40, 40]


def test_with_reduced_motion_nothing_is_replayed_by_itself(qtbot: QtBot, app: Program) -> None:
    app.settings.change(reduced_motion=True)
    page = start(app)
    end(qtbot, page)
    assert not app.race._replay.is_running
    assert [lane.tokens for lane in page.lanes] == [40, 40]
    button(page, "Replay both at once").click()
    assert app.race._replay.is_running


def test_a_race_can_be_stopped_and_the_engine_is_free_again(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    page = start(app, "toy: words 200")
    qtbot.waitUntil(lambda: page.lanes[0].tokens > 0, timeout=WAIT)
    button(page, "Stop").click()
    qtbot.waitUntil(lambda: not app.loader.occupation, timeout=WAIT)
    assert page.run.sentence == "Stopped."
    assert page._verdict.isHidden()
    app.window.actions_by_name["write"].trigger()
    ask(qtbot, app, "still there?")


def test_a_chat_is_told_why_it_must_wait(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    app.window.chat.composer.set_text("a question")
    page = start(app, "toy: words 200")
    assert not app.window.chat.composer._send.isEnabled()
    assert "race is running" in app.window.chat.composer._send.toolTip()
    assert not app.chat_controller.session.send("now")
    assert "race is running" in app.window.chat.notice.text
    qtbot.waitUntil(lambda: page.lanes[0].tokens > 0, timeout=WAIT)
    app.window.actions_by_name["write"].trigger()  # leaving the page ends the race
    qtbot.waitUntil(app.window.chat.composer._send.isEnabled, timeout=WAIT)
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        write(app, "")


def test_a_race_waits_for_the_answer_of_a_chat(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 60")
    app.window.actions_by_name["race"].trigger()
    button_ = button(app.window.race, "Start the race")
    assert not button_.isEnabled()
    assert "still being written" in app.window.race.run.sentence
    qtbot.waitUntil(button_.isEnabled, timeout=WAIT)
    assert not app.window.race.run.sentence


def test_without_a_model_the_page_says_so(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=installed_model, loaded=False)
    page = start(app)
    assert not button(page, "Start the race").isEnabled()
    assert page.run.sentence == "No model is installed yet."


@pytest.mark.parametrize(("prompt", "words"), [("toy: refuse", "The toy refuses"), ("toy: bug", "The engine failed")])
def test_what_the_engine_refuses_is_said(qtbot: QtBot, app: Program, prompt: str, words: str) -> None:
    page = start(app, prompt)
    qtbot.waitUntil(lambda: words in page.notice.text, timeout=WAIT)
    assert not app.loader.occupation
    end(qtbot, start(app))


@pytest.mark.engine_process
def test_a_dead_engine_ends_the_race_in_words(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    page = start(app, "toy: words 400")
    qtbot.waitUntil(lambda: page.lanes[0].tokens > 0, timeout=WAIT)
    with qtbot.waitSignal(app.link.restarted, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    assert "unexpectedly" in page.notice.text
    assert not app.loader.occupation


def test_control_enter_in_the_prompt_starts_and_examples_fill_it(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["race"].trigger()
    form = app.window.race.form
    form.examples.setCurrentIndex(2)
    form.examples.activated.emit(2)
    assert "hash table" in form.wish().prompt
    QTest.keyClick(form.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert app.loader.occupation
    end(qtbot, app.window.race)


def test_an_empty_prompt_starts_nothing(qtbot: QtBot, app: Program) -> None:
    start(app, "  ")
    assert not app.loader.occupation
