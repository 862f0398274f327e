"""The race: both lanes, the comparison and the replay."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.engine.engine import (
    Finish,
    FinishReason,
    Origin,
    Piece,
    Round,
    Stats,
    Step,
    Timing,
    Token,
)
from headstart.ui.performance.race_page import Lane, RaceLane, RacePage, RaceResult
from headstart.ui.program import Program
from headstart.ui.widgets.legend import Swatch
from tests.ui.person import WAIT, press

Open = Callable[..., Program]


def start(app: Program, prompt: str = "toy: words 40") -> RacePage:
    """Open the page and press its button."""
    app.window.actions_by_name["race"].trigger()
    page = app.race.page
    page.form.prompt.setPlainText(prompt)
    page.start.click()
    return page


def end(qtbot: QtBot, page: RacePage) -> None:
    qtbot.waitUntil(lambda: not page._verdict.isHidden(), timeout=WAIT)


def test_race_runs_both_lanes_and_compares_them(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = start(app)
    end(qtbot, page)
    assert page._proof.text() == "Identical: 40 of 40 tokens."
    plain, speculative = (app.race._lanes[leg] for leg in app.race._lanes)
    assert {step.round.drafted for step in plain.steps} == {0}
    assert max(step.round.drafted for step in speculative.steps) > 0
    qtbot.waitUntil(lambda: not app.race._replay.is_running, timeout=WAIT)
    before, after = (float(lane.clock.text().removesuffix(" s")) for lane in page.lanes)
    assert page._speedup.text() in {f"{before / after:.2f}×", "No clear difference"}  # on a machine that others use
    assert "run twice" in page._measured.text()
    marked = {piece.origin.value for step in speculative.steps for piece in step.pieces}
    legend = {swatch.origin for swatch in page.legend.findChildren(Swatch) if not swatch.isHidden()}
    assert marked <= legend == {*marked, "n-gram", "target"}


def test_large_text_needs_no_scrolling_sideways(qtbot: QtBot, app: Program) -> None:
    app.settings.change(zoom=200)
    app.window.resize(1180, 780)
    QApplication.processEvents()  # the window has the font then, and so has a page that is made later
    page = start(app)
    end(qtbot, page)
    area, (plain, speculative) = page.scroll_area, page.lanes
    qtbot.waitUntil(lambda: area.viewport().width() > 600 and not area.horizontalScrollBar().maximum(), timeout=WAIT)
    assert plain.geometry().bottom() < speculative.geometry().top()
    app.settings.change(zoom=100)
    qtbot.waitUntil(lambda: plain.y() == speculative.y(), timeout=WAIT)


def test_race_replays_both_lanes(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page, replay = start(app), app.race._replay
    end(qtbot, page)
    qtbot.waitUntil(lambda: not replay.is_running, timeout=WAIT)
    assert page.lanes[0].text.toPlainText() == page.lanes[1].text.toPlainText()
    press(page, "Replay both at once")
    assert [lane.tokens for lane in page.lanes] == [0, 0]
    replay.stop()
    plain, speculative = app.race._lanes.values()
    replay.show(speculative.total_ms)
    assert page.lanes[1].tokens == 40
    assert 0 < page.lanes[0].tokens < 40
    assert page.lanes[1].clock.text() == f"{speculative.total_ms / 1000:.2f} s"
    replay.show(plain.total_ms)
    assert page.lanes[0].tokens == 40


def test_replay_can_be_skipped(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = start(app)
    end(qtbot, page)
    press(page, "Stop")
    assert not app.race._replay.is_running
    assert [lane.tokens for lane in page.lanes] == [40, 40]


def test_reduced_motion_starts_no_replay(qtbot: QtBot, app: Program) -> None:
    app.settings.change(reduced_motion=True)
    page = start(app)
    end(qtbot, page)
    assert not app.race._replay.is_running
    assert [lane.tokens for lane in page.lanes] == [40, 40]
    press(page, "Replay both at once")
    assert app.race._replay.is_running


@pytest.mark.parametrize(("prompt", "words"), [("toy: refuse", "The toy refuses"), ("toy: bug", "The engine failed")])
def test_refused_race_is_reported(qtbot: QtBot, app: Program, prompt: str, words: str) -> None:
    page = start(app, prompt)
    qtbot.waitUntil(lambda: words in page.notice.text, timeout=WAIT)
    assert not app.loader.occupation
    end(qtbot, start(app))


def test_faster_run_without_speedup_counts(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    app.settings.change(reduced_motion=True)
    page = start(app)
    end(qtbot, page)
    faster, slower = map(float, re.findall(r"(\d+\.\d\d) s", page._measured.text()))
    assert faster <= slower
    assert page.lanes[0].clock.text() == f"{faster:.2f} s"
    other = float(page.lanes[1].clock.text().removesuffix(" s"))
    assert page._speedup.text() in (f"{faster / other:.2f}×", "No clear difference")


def test_typing_replaces_the_example(app: Program) -> None:
    app.window.actions_by_name["race"].trigger()
    QTest.keyClicks(app.race.page.form.prompt, "my own words")
    assert app.race.page.form.prompt.toPlainText() == "my own words"


def test_lane_stays_at_the_end_of_its_text_unless_it_is_scrolled(qtbot: QtBot) -> None:
    lane = RaceLane("lane")
    qtbot.addWidget(lane)
    lane.resize(400, 400)
    lane.show()
    bar = lane.text.verticalScrollBar()
    made = Round((Token(1, Origin.TARGET),), 0, 0, Origin.TARGET, Timing(verify_ms=1.0))
    lane.grow([Step("", made, tuple(Piece(f"line {number}\n", Origin.TARGET) for number in range(60)))])
    assert bar.value() == bar.maximum() > 0
    lane.resize(400, 300)
    QApplication.processEvents()
    assert bar.value() == bar.maximum()
    bar.setValue(3)
    lane.resize(400, 250)
    QApplication.processEvents()
    assert bar.value() == 3


@pytest.mark.parametrize("keys", [Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier])
def test_enter_starts_the_race(qtbot: QtBot, app: Program, keys: Qt.KeyboardModifier) -> None:
    app.window.actions_by_name["race"].trigger()
    form = app.race.page.form
    form.examples.setCurrentIndex(2)
    form.examples.activated.emit(2)
    assert "hash table" in form.prompt.toPlainText()
    lines = form.prompt.toPlainText().count("\n")
    QTest.keyClick(form.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert not app.loader.occupation
    assert form.prompt.toPlainText().count("\n") == lines + 1
    QTest.keyClick(form.prompt, Qt.Key.Key_Return, keys)
    assert app.loader.occupation
    end(qtbot, app.race.page)


def test_race_needs_a_prompt_and_can_be_stopped(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    start(app, "  ")
    assert not app.loader.occupation
    page = start(app, "toy: words 200")
    qtbot.waitUntil(lambda: page.lanes[0].tokens > 0, timeout=WAIT)
    press(page, "Stop")
    qtbot.waitUntil(lambda: not app.loader.occupation, timeout=WAIT)
    assert page.sentence == "Stopped."
    assert page._verdict.isHidden()


def test_race_continues_behind_other_pages(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = start(app)
    line = app.window.activity[page]
    qtbot.waitUntil(lambda: page.lanes[0].tokens > 0, timeout=WAIT)
    assert line.text == ""  # the page itself says it
    app.window.actions_by_name["write"].trigger()
    assert line.text == "Race · Without speed-up: one token at a time…"
    app.window.actions_by_name["bench"].trigger()
    assert line.text.startswith("Race · ")
    qtbot.waitUntil(lambda: line.text == "Race · ended", timeout=WAIT)
    assert not page._verdict.isHidden()
    press(line, "Show")
    assert app.window.pages.currentWidget() is page
    app.window.actions_by_name["write"].trigger()
    assert line.text == ""


STATS = Stats(9, 9, 4, 3, 3, 1, 100.0, 60.0, {}, {}, 0.0, None, 13, 4096)


def lane(milliseconds: Sequence[float], ids: Sequence[int] = (1, 2, 3, 4), decode_ms: float = 60.0) -> Lane:
    """Return a lane whose rounds took these times; the first came with the prompt."""
    rounds = [Round((Token(1, Origin.TARGET),), 0, 0, Origin.TARGET, Timing(verify_ms=ms)) for ms in milliseconds]
    stats = replace(STATS, output_tokens=len(ids), decode_ms=decode_ms)
    return Lane(tuple(Step("x", made) for made in rounds), Finish(FinishReason.STOP, stats, tuple(ids)))


def test_race_times_run_from_request_to_end() -> None:
    assert lane((80.0, 20.0, 30.0)).moments == pytest.approx((100.0, 124.0, 160.0))
    assert lane((80.0, 20.0, 30.0)).total_ms == 160.0
    assert lane((0.3,), ids=(1,), decode_ms=0.0).moments == (100.0,)
    assert lane((), ids=()).moments == ()


def timed(seconds: float, ids: Sequence[int] = (1, 2, 3)) -> Lane:
    """Return a lane of this duration."""
    return lane((1.0, 30.0), ids=ids, decode_ms=1000 * seconds - 100.0)


def test_speedup_is_the_ratio_of_the_clocks() -> None:
    assert RaceResult(timed(4.0), timed(2.0), timed(4.1)).speedup == pytest.approx(2.0)
    assert RaceResult(timed(11.13), timed(11.98), timed(11.2)).speedup == pytest.approx(11.13 / 11.98)
    short, looped = timed(1.0, ids=(1,)), timed(2.0)
    assert RaceResult(short, short, short).speedup is None
    assert RaceResult(timed(4.0), timed(2.0, ids=(1, 2)), timed(4.0)).speedup is None
    looped = replace(looped, finish=replace(looped.finish, stats=replace(looped.finish.stats, repeats=4)))
    assert RaceResult(timed(4.0), looped, timed(4.0)).speedup is None


@pytest.mark.parametrize(
    ("plain", "other", "again", "headline"),
    [
        (4.0, 2.0, 4.1, "2.00×"),
        (4.0, 5.0, 4.1, "0.80×"),
        (11.98, 11.13, 15.0, "No clear difference"),  # the two plain ones differ more
        (16.35, 9.6, 27.82, "1.70×"),  # of the faster one
        (4.0, 3.9, 4.0, "No clear difference"),
    ],
)
def test_headline_needs_more_than_noise(qtbot: QtBot, plain: float, other: float, again: float, headline: str) -> None:
    page = RacePage()
    qtbot.addWidget(page)
    page.show_result(RaceResult(timed(plain), timed(other), timed(again)))
    assert page._speedup.text() == headline
    assert f"{plain:.2f} s, which counts, and {again:.2f} s" in page._measured.text()


@pytest.mark.parametrize(
    ("other", "matches"), [((1, 2, 3), [1, 1, 1]), ((1, 9, 3), [1, 0, 1]), ((1, 2), [1, 1, 0]), ((), [0, 0, 0])]
)
def test_texts_are_compared_token_by_token(other: Sequence[int], matches: Sequence[bool]) -> None:
    same = lane((1.0,), ids=(1, 2, 3))
    assert RaceResult(same, lane((1.0,), ids=other), same).matches == tuple(map(bool, matches))
