"""Every waiting moment says what it waits for: a model being loaded, a conversation being read."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from headstart.engine.engine import Phase, Prefill
from headstart.engine.protocol import Loading
from headstart.errors import Translatable
from headstart.ui.engine_request import installed_model
from headstart.ui.local_server.server_page import ServerState
from headstart.ui.models.model_loader import LoadTest
from headstart.ui.program import Program
from headstart.ui.widgets import progress
from tests.stand_ins.model_folders import write_model
from tests.ui.person import WAIT, ask, shown, write

Open = Callable[..., Program]


def heading(app: Program) -> str:
    """Return the words beside the name above the last message."""
    view = app.window.chat.transcript.view(len(shown(app)) - 1)
    return view._header.findChildren(QLabel)[1].text()


def test_prefill_is_shown_until_the_first_words(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.05)
    write(app, "toy: words 400")
    qtbot.waitUntil(lambda: app.link.generation is not None, timeout=WAIT)
    app.link.prefill.emit(app.link.generation, Prefill(0, 55))  # what is told last need not be the whole
    assert "0 of 55 tokens" in shown(app)[-1].notice
    assert heading(app) == ""
    qtbot.waitUntil(lambda: bool(shown(app)[-1].text), timeout=WAIT)
    assert shown(app)[-1].notice == ""
    assert heading(app) == "writing…"


def test_reason_for_reading_again_is_shown(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=0.5)
    write(app, "toy: words 400")
    qtbot.waitUntil(lambda: app.link.generation is not None, timeout=WAIT)
    app.link.prefill.emit(app.link.generation, Prefill(10, 1055, Translatable("The device changed.")))
    assert "10 of 1,055 tokens" in shown(app)[-1].notice


def test_waiting_answer_says_so_after_reopening(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=60.0)
    write(app, "hello")
    qtbot.waitUntil(lambda: bool(shown(app)) and "of 2 tokens" in shown(app)[-1].notice, timeout=WAIT)
    chat = app.chat_controller.session.chat.id
    app.window.sidebar.new_requested.emit()
    app.window.sidebar.list.chosen.emit(chat, None)
    assert "of 2 tokens" in shown(app)[-1].notice


def test_loading_shows_step_seconds_and_the_last_duration(qtbot: QtBot, app: Program) -> None:
    composer = app.window.chat.composer
    app.link.loading.emit(None)
    assert composer.model_button.text() == "Loading toy"
    assert re.fullmatch(r"starting the engine · \d+ s", composer._count.text())
    app.link.loading.emit(Loading(Phase.MODEL, 41.6))
    assert re.search(r" · \d+ s, usually about 42 s$", composer._count.text())
    assert composer.model_button.toolTip().startswith("Loading toy: checking")
    qtbot.waitUntil(lambda: " · 0 s," not in composer._count.text(), timeout=WAIT)
    app.link.loading.emit(Loading(Phase.DRAFT, 41.6))
    words = r"checking and compiling the draft model · [1-9]\d* s, usually about 42 s"  # of the load, not of the step
    assert re.fullmatch(words, composer._count.text())
    app.link.loading.emit(Loading(Phase.PROOF, None))
    seen = []
    for width in range(900, 300, -40):
        composer.setFixedWidth(width)
        QApplication.processEvents()
        seen.append(re.sub(r"\d+", "1", composer._count.text()))
    full = "testing the fastest way to compute, only the first time · 1 s"
    assert list(dict.fromkeys(seen)) == [full, "only the first time · 1 s", "1 s"]
    assert app.link.model_info
    app.link.loaded.emit(app.link.model_info)
    assert composer.model_button.text() == "toy"
    assert "usually" not in composer._count.text()


def test_waiting_message_shows_the_progress_of_loading(qtbot: QtBot, open_program: Open) -> None:
    app = open_program(pace=60.0)
    write(app, "hello")
    qtbot.waitUntil(lambda: app.link.generation is not None, timeout=WAIT)
    app.link.loading.emit(Loading(Phase.WARM_UP, 12.0))
    assert re.search(r" · \d+ s, usually about 12 s$", shown(app)[-1].notice)
    assert "warming up" not in app.window.chat.composer._count.text()  # once is enough


def test_narrow_composer_keeps_the_seconds_of_loading(app: Program) -> None:
    composer = app.window.chat.composer
    app.link.loading.emit(Loading(Phase.DRAFT, 60.0))
    app.window.resize(480, 500)
    composer.resize(330, composer.height())
    assert re.fullmatch(r"\d+ s", composer._count.text())


def test_long_step_shows_its_seconds(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SHOW_TIME_AFTER", 1)
    card = progress.WorkCard()
    qtbot.addWidget(card)
    card.begin("Exporting tiny")
    card.show_step("Reading the tokenizer")
    assert card.text.endswith("Reading the tokenizer")
    qtbot.waitUntil(lambda: re.search(r"Reading the tokenizer · [1-9]\d* s$", card.text) is not None, timeout=WAIT)
    card.show_step("Writing")
    assert card.text.endswith("Writing")
    card.end("Cancelled.", bad=False)
    assert not any(timer.isActive() for timer in card.findChildren(QTimer))
    assert card.text.endswith("Cancelled.")


def test_download_shows_bytes_rate_and_time_left(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    card = progress.WorkCard()
    qtbot.addWidget(card)
    card.begin("Exporting tiny")
    card.show_step("Fetching")
    card.show_progress(30_000_000, 120_000_000)
    assert card.text.endswith(" · 30 MB of 120 MB")
    monkeypatch.setattr(card._clock, "elapsed", lambda: 10_000)
    card.show_progress(60_000_000, 120_000_000)
    assert card.text.endswith(" · 3.0 MB/s · 20 s left")
    monkeypatch.setattr(card._clock, "elapsed", lambda: 300_000)
    card.show_progress(61_000_000, 120_000_000)
    assert card.text.endswith(" · 0.1 MB/s · 10 min left")
    card.show_step("Converting")
    card.end("Done.", bad=False)
    card.show_progress(1, 2)
    assert card.text.endswith("Done.")


def test_counted_step_shows_share_and_time_left(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    card = progress.WorkCard()
    qtbot.addWidget(card)
    card.begin("Exporting tiny")
    card.show_step("3 of 8: Compressing")
    monkeypatch.setattr(card._clock, "elapsed", lambda: 10_000)
    card.show_share(25)
    assert card.text.endswith(" · 25 % · 30 s left")
    assert card._bar.value() == 250
    card.show_share(100)
    assert card.text.endswith(" · 100 %")


def test_verification_shows_the_step_of_loading(
    qtbot: QtBot, headstart_home: Path, open_program: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(headstart_home / "models" / "smol")
    app = open_program(find=installed_model)
    page = app.window.models
    app.window.show_page(page)
    begin = LoadTest.start
    begun: list[LoadTest] = []

    def wait(test: LoadTest) -> None:  # until it was looked at
        begun.append(test)

    monkeypatch.setattr(LoadTest, "start", wait)
    page.action_requested.emit("check", "smol")
    qtbot.waitUntil(lambda: bool(begun), timeout=WAIT)
    card = page.card("smol")
    assert card
    begun[0].loading.note(Loading(Phase.MODEL, 30.0))
    begun[0].loading.changed.emit()
    assert re.search(r" · \d+ s, usually about 30 s$", card._state.text())
    begin(begun[0])
    qtbot.waitUntil(lambda: "it loads and answers" in card._state.text(), timeout=WAIT)


def test_local_server_shows_the_seconds_of_loading(qtbot: QtBot, app: Program) -> None:
    app.loader.unload()
    app.window.show_page(app.server.page)
    app.server.page.card.switch.click()
    qtbot.waitUntil(
        lambda: app.server.state is ServerState.STARTING and bool(re.search(r" · \d+ s", app.server.sentence)),
        timeout=WAIT,
    )
    qtbot.waitUntil(lambda: app.server.state is ServerState.READY, timeout=WAIT)
    app.server.page.card.switch.click()
    qtbot.waitUntil(lambda: app.server.state is ServerState.OFF, timeout=WAIT)


def test_message_is_sent_though_its_chat_is_left_at_once(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    session = app.chat_controller.session
    write(app, "while it is counted")
    assert app.window.chat.composer.text()
    app.window.sidebar.new_requested.emit()
    assert [each.text for each in session.path][2:3] == ["while it is counted"]
    assert not app.window.chat.composer.text()
    qtbot.waitUntil(lambda: not session.is_answering, timeout=WAIT)
    assert session.path[-1].text.strip() == "You wrote: while it is counted"


def test_message_that_waits_for_a_search_says_that_it_was_not_sent(qtbot: QtBot, app: Program) -> None:
    ask(qtbot, app, "hello")
    app.chat_controller.composing.search_folders = lambda *_: True
    write(app, "what does the contract say about the rent")
    app.window.sidebar.new_requested.emit()
    assert "Your message was not sent" in app.window.chat.notice.text
