"""Stories of the benchmark's page: run, progress, result, cancel, files, the next start, and what is refused."""

import csv
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from headstart.engine.bench.result import Advice
from headstart.ui.engine_request import installed_model
from headstart.ui.performance.benchmark_chart import advice_word
from headstart.ui.performance.benchmark_page import CSV, JSON, PNG, BenchmarkPage
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, begin, texts

Open = Callable[..., Program]
START, CANCEL = "Start the benchmark", "Cancel"


def button(page: BenchmarkPage, name: str) -> QPushButton:
    return next(each for each in page.findChildren(QPushButton) if name in (each.text(), each.objectName()))


def go(app: Program, tokens: int = 16, repeats: int = 1) -> BenchmarkPage:
    """Go to the page, choose and press its button."""
    app.window.actions_by_name["bench"].trigger()
    page = app.window.bench
    page.form.tokens.setValue(tokens)
    page.form.repeats.setValue(repeats)
    button(page, START).click()
    return page


def end(qtbot: QtBot, app: Program) -> None:
    qtbot.waitUntil(lambda: not app.loader.occupation, timeout=WAIT)


def rows(page: BenchmarkPage) -> list[list[str]]:
    table = page.report.table
    items = [table.topLevelItem(row) for row in range(table.topLevelItemCount())]
    return [[item.text(column) for column in range(table.columnCount())] for item in items if item]


def test_before_the_first_run_it_says_what_will_be_measured(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["bench"].trigger()
    page = app.window.bench
    assert not page._empty.isHidden()
    assert page.report.isHidden()
    page.form.prompts.setValue(2)
    page.form.repeats.setValue(3)
    page.form.tokens.setValue(100)
    page.form.peer.setChecked(False)
    text = page.form._extent.text()
    assert "10 prompts (code, edit, explanation, summary, story), about 120 answers of at most 100 tokens" in text
    assert "about 20 minutes at ten tokens a second" in text
    page.form.peer.setChecked(True)
    assert "about 210 answers" in page.form._extent.text()


def test_classes_and_ways_can_be_chosen_and_one_class_stays(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.001)
    app.window.actions_by_name["bench"].trigger()
    page = app.window.bench
    page.form.peer.setChecked(False)
    for kind in ("edit", "explanation", "summary", "story"):
        assert page.form.kinds[kind].isEnabled()
        page.form.kinds[kind].setChecked(False)
    assert not page.form.kinds["code"].isEnabled()
    assert page.form.size_wanted().kinds == ("code",)
    page.form.kinds["math"].setChecked(True)
    assert page.form.kinds["code"].isEnabled()
    assert "2 prompts (code, math), about 16 answers" in page.form._extent.text()
    page.form.sweep.setChecked(True)
    assert "about 48 answers" in page.form._extent.text()
    go(app)
    end(qtbot, app)
    assert [row[0] for row in rows(page)] == ["all prompts", "code", "math"]
    assert "fixed 8" in page.report.chart.accessibleDescription()


def test_it_advises_what_to_set_for_each_class(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    page = go(app)
    end(qtbot, app)
    table = page.report.advice.table
    shown = [table.topLevelItem(row) for row in range(table.topLevelItemCount())]
    assert [item.text(0) for item in shown if item] == ["code", "edit", "explanation", "summary", "story"]
    assert all(re.fullmatch(r"off|n-gram, [35](–5)?", item.text(1)) for item in shown if item)
    assert all(item.text(2).endswith("×") and item.text(3).endswith("×") for item in shown if item)
    page.report.advice.show_result({"prompts": []})  # of an older version
    assert page.report.advice.isHidden()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Advice("code", "draft", (5, 8), 2.1, 2.2), "draft, 5–8"),
        (Advice("edit", "ngram", None, 2.5, None), "n-gram"),
        (Advice("story", "off", None, 1.0, 1.1), "off"),
        (Advice("math", "draft", (3, 3), 1.4, 1.5), "draft, 3"),
    ],
)
def test_advice_is_worded_as_in_the_terminal(given: Advice, words: str) -> None:
    assert advice_word(given) == words == given.words.replace("-8", "–8")


def test_a_run_shows_its_progress(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = go(app, tokens=60, repeats=9)
    assert not button(page, CANCEL).isHidden()
    qtbot.waitUntil(lambda: page._bar.value() > 0, timeout=WAIT)
    assert page._bar.maximum() == 180
    assert "of 180 answers" in page.run.sentence
    assert "left" in page.run.sentence
    assert "ms/token" in page._heat.text()
    button(page, CANCEL).click()
    end(qtbot, app)
    assert button(page, CANCEL).isHidden()
    assert page._bar.isHidden()


def test_a_run_shows_what_it_found(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    page = go(app)
    end(qtbot, app)
    shown = rows(page)
    assert [row[0] for row in shown] == ["all prompts", "code", "edit", "explanation", "summary", "story"]
    assert all(float(cell.rstrip("×")) > 0.0 for row in shown for cell in row[1:])
    assert "Everyone wrote the same texts" in page.report._remarks.text()
    assert "An engine without a model" in page.report._where.text()
    assert "auto" in page.report.chart.accessibleDescription()


def test_the_next_start_shows_the_last_result(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    page = go(app)
    end(qtbot, app)
    before, when = rows(page), page.report._where.text()
    again = open_program()
    again.window.actions_by_name["bench"].trigger()
    assert rows(again.window.bench) == before
    assert again.window.bench.report._where.text() == when
    assert "at the speed last measured here" in again.window.bench.form._extent.text()


def test_a_run_can_be_cancelled_and_the_result_before_stays(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    page = go(app)
    end(qtbot, app)
    before = rows(page)
    go(app, tokens=400, repeats=9)
    qtbot.waitUntil(lambda: app.bench._done > 0, timeout=WAIT)
    button(page, CANCEL).click()
    assert "Ends with the answer being written" in page.run.sentence
    end(qtbot, app)
    assert "Cancelled" in page.notice.text
    assert rows(page) == before
    app.window.actions_by_name["write"].trigger()
    ask(qtbot, app, "still there?")
    assert texts(app)[-1] == "You wrote: still there?"


def test_chats_wait_and_are_told_why(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.005)
    go(app, tokens=400, repeats=9)
    app.window.actions_by_name["write"].trigger()
    app.window.chat.composer.set_text("a question")
    assert not app.window.chat.composer._send.isEnabled()
    assert "benchmark is running" in app.window.chat.composer._send.toolTip()
    assert not app.chat_controller.session.send("now")
    assert "benchmark is running" in app.window.chat.notice.text
    app.window.panel.edited.emit("numerics", "exact")  # asks for the model to be loaded anew
    assert "benchmark is running" in app.window.chat.notice.text
    app.window.actions_by_name["race"].trigger()
    assert "benchmark is running" in app.window.race.run.sentence
    app.window.actions_by_name["bench"].trigger()
    assert app.link._job is not None
    button(app.window.bench, CANCEL).click()
    end(qtbot, app)


def test_the_keyboard_stays_on_the_page(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    app.window.activateWindow()
    page = go(app, tokens=400)
    qtbot.waitUntil(lambda: app.bench._planned > 0, timeout=WAIT)
    assert button(page, CANCEL).hasFocus()
    button(page, CANCEL).click()
    end(qtbot, app)
    assert button(page, START).hasFocus()


def test_it_waits_for_the_answer_of_a_chat(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 60")
    app.window.actions_by_name["bench"].trigger()
    assert not button(app.window.bench, START).isEnabled()
    assert "still being written" in app.window.bench.run.sentence
    qtbot.waitUntil(button(app.window.bench, START).isEnabled, timeout=WAIT)


def test_without_a_model_the_page_says_so(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(find=installed_model, loaded=False)
    page = go(app)
    assert not button(page, START).isEnabled()
    assert page.run.sentence == "No model is installed yet."


@pytest.mark.engine_process
def test_a_dead_engine_ends_it_in_words(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = go(app, tokens=400)
    qtbot.waitUntil(lambda: app.bench._planned > 0, timeout=WAIT)
    with qtbot.waitSignal(app.link.restarted, timeout=WAIT):
        os.kill(app.link.pid, signal.SIGKILL)
    assert "unexpectedly" in page.notice.text
    assert not app.loader.occupation
    go(app)
    end(qtbot, app)
    assert rows(page)


def test_unloading_the_model_ends_it(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = go(app, tokens=400)
    qtbot.waitUntil(lambda: app.bench._planned > 0, timeout=WAIT)
    app.window.actions_by_name["unload"].trigger()
    assert not app.loader.occupation
    assert "Cancelled" in page.notice.text


@pytest.mark.parametrize("kind", [PNG, CSV, JSON])
def test_what_was_found_is_written_to_files(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    page = go(app)
    end(qtbot, app)
    target = tmp_path / "figures"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    button(page, kind).click()
    written = target.with_suffix(f".{kind}")
    if kind == PNG:
        assert QImage(str(written)).width() > 2000
    elif kind == CSV:
        assert len(list(csv.DictReader(written.read_text(encoding="utf-8").splitlines()))) == 20
    else:
        assert json.loads(written.read_text(encoding="utf-8"))["result"]["setting"]["target"] == "toy"


@pytest.mark.parametrize("kind", [PNG, JSON])
def test_a_place_that_cannot_be_written_is_said(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    page = go(app)
    end(qtbot, app)
    place = tmp_path / "nowhere" / f"figures.{kind}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(place), ""))
    button(page, kind).click()
    assert "cannot be written; choose another place" in page.notice.text
