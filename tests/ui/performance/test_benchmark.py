"""The benchmark: its page, what is kept of it, and what is drawn of it."""

import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Heat, TimedAnswer
from headstart.engine.bench.result import (
    ALL,
    Advice,
    BenchResult,
    Memory,
    Setting,
    as_json,
    hindsight,
    prompt_results,
    standings,
)
from headstart.engine.hardware.devices import Machine
from headstart.ui.performance import benchmark_chart, benchmark_page
from headstart.ui.performance.benchmark_chart import Bar, advice_text
from headstart.ui.performance.benchmark_page import CSV, JSON, PNG, BenchmarkPage
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, cells, press, texts

Open = Callable[..., Program]


def go(app: Program, tokens: int = 16, repeats: int = 1) -> BenchmarkPage:
    """Open the page, choose the size, and press the button."""
    app.window.actions_by_name["bench"].trigger()
    page = app.bench.page
    page.form.extent.setCurrentIndex(1)
    page.form.tokens.setValue(tokens)
    page.form.repeats.setValue(repeats)
    page.start.click()
    return page


def end(qtbot: QtBot, app: Program) -> None:
    qtbot.waitUntil(lambda: not app.loader.occupation, timeout=WAIT)


def test_benchmark_page_describes_the_first_run(qtbot: QtBot, app: Program) -> None:
    app.window.actions_by_name["bench"].trigger()
    page = app.bench.page
    assert not page._empty.isHidden()
    assert page.report.isHidden()
    assert page.form.extent.currentText() == "Quick (2 minutes)"
    assert page.form.prompts.isVisibleTo(page) is False
    assert "2 prompts (code, explanation)" in page.form._extent.text()
    assert "about 2 minutes" in page.form._extent.text()
    page.form.extent.setCurrentIndex(1)
    page.form.prompts.setValue(2)
    page.form.repeats.setValue(3)
    page.form.tokens.setValue(100)
    page.form.peer.setChecked(False)
    text = page.form._extent.text()
    assert "10 prompts" in text
    assert "about 20 minutes" in text
    page.form.peer.setChecked(True)
    assert "about 210 answers" in page.form._extent.text()


def test_kinds_and_contestants_can_be_chosen(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.001)
    app.window.actions_by_name["bench"].trigger()
    page = app.bench.page
    page.form.extent.setCurrentIndex(1)
    page.form.peer.setChecked(False)
    for kind in ("edit", "explanation", "summary", "story"):
        assert page.form.kinds[kind].isEnabled()
        page.form.kinds[kind].setChecked(False)
    assert not page.form.kinds["code"].isEnabled()
    assert page.form.bench_size().kinds == ("code",)
    page.form.kinds["math"].setChecked(True)
    assert page.form.kinds["code"].isEnabled()
    assert "about 16 answers" in page.form._extent.text()
    page.form.sweep.setChecked(True)
    assert "about 48 answers" in page.form._extent.text()
    go(app)
    end(qtbot, app)
    assert [row[0] for row in cells(page.report.table)] == ["all prompts", "code", "math"]
    assert "fixed 8" in page.report.chart.accessibleDescription()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Advice("code", "draft", (5, 8), 2.1, 2.2), "draft, 5–8"),
        (Advice("edit", "ngram", None, 2.5, None), "n-gram"),
        (Advice("story", "off", None, 1.0, 1.1), "off"),
        (Advice("math", "draft", (3, 3), 1.4, 1.5), "draft, 3"),
    ],
)
def test_advice_is_that_of_the_terminal(given: Advice, words: str) -> None:
    assert advice_text(given) == words == given.words.replace("-8", "–8")


def test_benchmark_shows_its_progress(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = go(app, tokens=60, repeats=9)
    assert not page.stop.isHidden()
    qtbot.waitUntil(lambda: page.bar.value() > 0, timeout=WAIT)
    assert "of 180 answers" in page.sentence
    assert "left" in page.sentence
    assert "tokens/s" in page.heat.text()
    app.window.actions_by_name["write"].trigger()
    line = app.window.activity[page]
    assert line.text.startswith("Benchmark · ")
    page.stop.click()
    end(qtbot, app)
    assert line.text == "Benchmark · ended"
    assert page.stop.isHidden()
    assert page.bar.isHidden()


def test_benchmark_shows_results_and_advice(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    page = go(app, repeats=3)
    end(qtbot, app)
    report, classes = page.report, ["code", "edit", "explanation", "summary", "story"]
    shown, advised = cells(report.table), cells(report.advice.table)
    assert [row[0] for row in shown] == ["all prompts", *classes]
    assert all(float(cell.rstrip("×")) > 0.0 for row in shown for cell in row[1:])
    assert report._headline.text() == f"Automatic: {shown[0][-1]} as fast as without speed-up"
    assert "the same texts" in report._remarks.text()
    assert "An engine without a model" in report._machine.text()
    assert "auto" in report.chart.accessibleDescription()
    assert [row[0] for row in advised] == classes
    assert all(re.fullmatch(r"off|n-gram, [35](–5)?", row[1]) for row in advised)


def test_large_text_needs_no_scrolling_sideways(qtbot: QtBot, app: Program) -> None:
    app.settings.change(zoom=200)
    app.window.resize(1180, 780)
    QApplication.processEvents()  # the window has the font then, and so has a page that is made later
    page = go(app)
    end(qtbot, app)
    assert page.report.isVisible()
    area = page.scroll_area
    qtbot.waitUntil(lambda: area.viewport().width() > 600 and not area.horizontalScrollBar().maximum(), timeout=WAIT)


def test_quick_benchmark_gives_no_advice(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    app.window.actions_by_name["bench"].trigger()
    page = app.bench.page
    page.start.click()
    end(qtbot, app)
    assert page.report._headline.text().endswith("as fast as without speed-up")
    advised = cells(page.report.advice.table)
    assert advised == [[kind, "too little to tell: measure more"] for kind in ("code", "explanation")]


@pytest.mark.parametrize(("ms", "kinds", "tokens"), [(1.0, 2, 160), (400.0, 2, 31), (1000.0, 1, 24), (9000.0, 1, 16)])
def test_quick_benchmark_fits_the_speed_of_the_model(app: Program, ms: float, kinds: int, tokens: int) -> None:
    form = app.bench.page.form
    form.ms_per_token = ms
    size = form.bench_size()
    assert (len(size.kinds), size.tokens, size.repeats, size.with_peer) == (kinds, tokens, 1, False)


def test_last_benchmark_is_shown_after_a_restart(qtbot: QtBot, open_program: Open) -> None:
    app = open_program()
    page = go(app)
    end(qtbot, app)
    before, when = cells(page.report.table), page.report._machine.text()
    again = open_program()
    again.window.actions_by_name["bench"].trigger()
    assert cells(again.bench.page.report.table) == before
    assert again.bench.page.report._machine.text() == when
    assert "last measured" in again.bench.page.form._extent.text()


def test_cancelled_benchmark_keeps_the_last_result(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.002)
    page = go(app)
    end(qtbot, app)
    before = cells(page.report.table)
    go(app, tokens=400, repeats=9)
    qtbot.waitUntil(lambda: app.bench._num_done > 0, timeout=WAIT)
    page.stop.click()
    assert "Ends with the answer" in page.sentence
    end(qtbot, app)
    assert "Cancelled" in page.notice.text
    assert cells(page.report.table) == before
    app.window.actions_by_name["write"].trigger()
    ask(qtbot, app, "still there?")
    assert texts(app)[-1] == "You wrote: still there?"


def test_unload_ends_the_benchmark(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.01)
    page = go(app, tokens=400)
    qtbot.waitUntil(lambda: app.bench._num_planned > 0, timeout=WAIT)
    app.window.actions_by_name["unload"].trigger()
    assert not app.loader.occupation
    assert "Cancelled" in page.notice.text


def test_benchmark_is_exported_to_files(
    qtbot: QtBot, app: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = go(app)
    end(qtbot, app)
    for place in (tmp_path / "figures", tmp_path / "nowhere" / "figures"):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, place=place: (str(place), ""))
        for kind in (PNG, CSV, JSON):
            page.notice.hide()
            press(page, kind)
            assert ("cannot be written; choose another place" in page.notice.text) == (place.parent != tmp_path)
    assert QImage(str(tmp_path / "figures.png")).width() > 2000
    written = (tmp_path / "figures.csv").read_text(encoding="utf-8")
    assert len(list(csv.DictReader(written.splitlines()))) == 20
    assert json.loads((tmp_path / "figures.json").read_bytes())["result"]["setting"]["target"] == "toy"


MACHINE = Machine("A processor", 2, "Linux x86_64", "3.13", "1.0", "2026.4.1-abc", "2026.4.1")
CODE, MORE_CODE, STORY = (BenchPrompt(id_, id_[:-2], "?") for id_ in ("code-1", "code-2", "story-1"))
TIMES = {  # milliseconds per token by prompt and contestant, two repeats
    CODE: {"plain": (80.0, 80.0), "auto": (40.0, 20.0), "genai 3": (80.0, 40.0)},
    MORE_CODE: {"plain": (80.0, 80.0), "auto": (80.0, 80.0), "genai 3": (80.0, 80.0)},
    STORY: {"plain": (40.0, 60.0), "auto": (80.0, 120.0), "genai 3": (80.0, 60.0)},
}


def result() -> BenchResult:
    """Return a result with two prompts of one class and one of another."""
    heats = [
        Heat(prompt, name, repeat, TimedAnswer((1, 2, 3, 4, 5 if name == "plain" else 6), 100.0, 4 * ms, 7))
        for prompt, scores in TIMES.items()
        for name, times in scores.items()
        for repeat, ms in enumerate(times)
    ]
    prompts = prompt_results(heats)
    return BenchResult(
        machine=MACHINE,
        setting=Setting("big", "small", {}, {}, 160, 2),
        prompts=prompts,
        standings=standings(prompts, ["plain", "auto", "genai 3"]),
        memory=Memory(0, 0, None),
        hindsight=hindsight(prompts, ["genai 3"]),
    )


def record() -> benchmark_page.BenchmarkRecord:
    """Return a result as the engine's process sends it."""
    return benchmark_page.record("2026-01-02T03:04:05Z", json.loads(json.dumps(as_json(result()))))


def test_chart_has_a_group_for_each_kind() -> None:
    groups = benchmark_chart.groups(result())
    assert [group.kind for group in groups] == [ALL, "code", "story"]
    assert [bar.contestant for bar in groups[0].bars] == ["auto", "genai 3"]
    code = groups[1].bars[0]
    assert code.mean == pytest.approx(3.0**0.5)
    assert (code.low, code.high) == (1.0, 4.0)
    assert groups[2].bars[0] == Bar("auto", 0.5, 0.5, 0.5)
    assert (groups[0].bars[0].low, groups[0].bars[0].high) == (0.5, 4.0)
    assert groups[2].plain_ms == 50.0


def test_short_answer_has_no_bar() -> None:
    whole = result()
    scores = {name: dataclasses.replace(score, speedup=None) for name, score in whole.prompts[2].scores.items()}
    prompts = (*whole.prompts[:2], dataclasses.replace(whole.prompts[2], scores=scores))
    cut = dataclasses.replace(whole, prompts=prompts, standings=standings(prompts, ["plain", "auto"]))
    assert benchmark_chart.groups(cut)[2].bars == (Bar("auto", None, None, None),)


def test_differing_texts_are_counted() -> None:
    assert benchmark_chart.differing(result()) == {"auto": 3, "genai 3": 3}


def test_table_has_a_row_for_each_answer() -> None:
    rows = list(csv.DictReader(io.StringIO(benchmark_page.as_csv(record()))))
    assert len(rows) == 18
    first = next(row for row in rows if row["contestant"] == "auto")
    assert (first["class"], first["prompt"], first["repeat"], first["ms_per_token"]) == ("code", "code-1", "1", "40.0")
    assert (first["speedup_median"], first["speedup_low"], first["speedup_high"]) == ("3.0", "2.0", "4.0")
    assert first["same_text_as_plain"] == "False"


@pytest.mark.parametrize("content", ["", "[]", '{"when": "now"}', '{"when": "now", "result": {"prompts": 3}}'])
def test_damaged_result_is_ignored(tmp_path: Path, content: str) -> None:
    path = tmp_path / "last.json"
    path.write_text(content, encoding="utf-8")
    assert benchmark_page.read(path) is None


def test_unwritable_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    benchmark_page.save(tmp_path / "file" / "last.json", record())
    assert benchmark_page.read(tmp_path / "file" / "last.json") is None
