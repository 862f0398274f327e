"""Race, benchmark and tuning: they wait for chats, chats wait for them, and each ends in words."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.ui.engine_request import installed_model
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.program import Program
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, ask, texts

Open = Callable[..., Program]
JOBS = {"race": "A race is running", "bench": "A benchmark is running", "tune": "A tuning is running"}
each_job = pytest.mark.parametrize("name", JOBS)


def show(app: Program, name: str) -> JobPage:
    """Open the page of a job."""
    app.window.actions_by_name[name].trigger()
    page = app.window.pages.currentWidget()
    assert isinstance(page, JobPage)
    return page


def begin_long(qtbot: QtBot, app: Program, name: str) -> JobPage:
    """Start a job that takes longer than its test."""
    app.window.activateWindow()
    page = show(app, name)
    app.race.page.form.prompt.setPlainText("toy: words 400")
    app.bench.page.form.extent.setCurrentIndex(1)
    app.bench.page.form.tokens.setValue(24)
    app.bench.page.form.repeats.setValue(9)
    page.start.setFocus()
    page.start.click()
    begun = {"race": "one token at a time", "bench": "of 180 answers", "tune": "against"}[name]
    qtbot.waitUntil(lambda: begun in page.sentence, timeout=WAIT)
    return page


@each_job
@pytest.mark.parametrize("question", ["toy: words 60", "toy: refuse"], ids=["written", "failed"])
def test_job_waits_for_the_answer_of_a_chat(qtbot: QtBot, open_program: Open, name: str, question: str) -> None:
    app = open_program(pace=0.02)
    assert app.chat_controller.session.ask(question)
    page = show(app, name)
    assert not page.start.isEnabled()
    assert "still being written" in page.sentence
    qtbot.waitUntil(page.start.isEnabled, timeout=WAIT)
    assert not page.sentence


@each_job
def test_job_makes_chats_wait_and_says_why(qtbot: QtBot, open_program: Open, name: str) -> None:
    app = open_program(pace=0.05)
    begin_long(qtbot, app, name)
    app.window.chat.composer.set_text("a question")
    assert not app.window.chat.composer._send.isEnabled()
    assert JOBS[name] in app.window.chat.composer._send.toolTip()
    assert not app.chat_controller.session.ask("now")
    assert JOBS[name] in app.window.chat.notice.text
    app.window.panel.edited.emit("kv_precision", "u8")  # asks for the model to be loaded anew
    assert JOBS[name] in app.window.chat.notice.text
    assert JOBS[name] in show(app, "tune" if name == "bench" else "bench").sentence


@each_job
def test_stopped_job_frees_the_engine_and_keeps_the_focus(qtbot: QtBot, open_program: Open, name: str) -> None:
    app = open_program(pace=0.05)
    page = begin_long(qtbot, app, name)
    qtbot.waitUntil(page.stop.hasFocus, timeout=WAIT)
    page.stop.click()
    qtbot.waitUntil(lambda: not app.loader.occupation and app.loader.is_ready, timeout=WAIT)
    qtbot.waitUntil(page.start.hasFocus, timeout=WAIT)
    assert page.stop.isHidden()
    assert any(word in page.notice.text + page.sentence for word in ("Stopped", "Cancelled"))
    app.window.actions_by_name["write"].trigger()
    ask(qtbot, app, "still there?")
    assert texts(app)[-1] == "You wrote: still there?"


@each_job
def test_stopped_engine_ends_the_job_with_a_sentence(qtbot: QtBot, open_program: Open, name: str) -> None:
    app = open_program(pace=0.1)
    page = begin_long(qtbot, app, name)
    assert app.link._session.process
    app.link._session.process.end()
    qtbot.waitUntil(lambda: not app.loader.occupation and app.loader.is_ready, timeout=WAIT)
    assert re.search("unexpectedly|memory ran out", page.notice.text)
    assert page.start.isVisible()


@each_job
def test_refusal_during_a_job_goes_with_it(qtbot: QtBot, open_program: Open, name: str) -> None:
    app = open_program(pace=0.05)
    page = begin_long(qtbot, app, name)
    app.window.actions_by_name["load"].trigger()
    assert JOBS[name] in app.window.chat.notice.text
    page.stop.click()
    qtbot.waitUntil(lambda: not app.loader.occupation, timeout=WAIT)
    assert not app.window.chat.notice.text


@each_job
def test_page_says_why_the_model_of_the_chat_cannot_be_used(
    headstart_home: Path, open_program: Open, name: str
) -> None:
    write_model(headstart_home / "models" / "smol")
    app = open_program(find=installed_model)
    app.chat_controller.session.change_settings({"model": "gone"})
    page = show(app, name)
    assert page.sentence == "There is no model 'gone'; installed are smol."
    assert page._get_model.isHidden()


def test_race_and_tuning_go_on_with_the_model_that_they_began_with(
    qtbot: QtBot, headstart_home: Path, open_program: Open
) -> None:
    for model in ("one", "two"):
        write_model(headstart_home / "models" / model)
    app = open_program(find=installed_model)
    app.settings.change(reduced_motion=True, model="one")
    qtbot.waitUntil(lambda: app.loader.is_ready and not app.loader.status, timeout=WAIT)
    page = show(app, "race")
    page.start.click()
    app.window.panel.edited.emit("model", "two")
    qtbot.waitUntil(lambda: not app.race.page._verdict.isHidden(), timeout=WAIT)
    assert "one on CPU" in app.race.page._measured.text()
    app.window.panel.edited.emit("model", "one")
    page = show(app, "tune")
    page.start.click()
    app.window.panel.edited.emit("model", "two")
    qtbot.waitUntil(lambda: len(app.tune.page.report.tables()) == 2, timeout=WAIT)
    assert app.tune.page.report.text().startswith("one")
