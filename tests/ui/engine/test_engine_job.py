"""Race, benchmark and tuning: they wait for chats, chats wait for them, and each ends in words."""

import re
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from headstart.ui.performance.engine_job import JobPage
from headstart.ui.program import Program
from tests.ui.person import WAIT, ask, begin, texts

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
def test_job_waits_for_the_answer_of_a_chat(qtbot: QtBot, open_program: Open, name: str) -> None:
    app = open_program(pace=0.02)
    begin(qtbot, app, "toy: words 60")
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
