"""Announcements to a screen reader, while the focus stays where it is."""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from headstart.ui.program import Program
from headstart.ui.widgets import announcements
from headstart.ui.widgets.labels import StatusLine
from headstart.ui.widgets.progress import NoticeBar, WorkCard
from headstart.ui.window.dialogs import CommandPalette
from headstart.workspace.folder import IS_SUPPORTED
from tests.ui.person import WAIT, ask, begin, write

TEXT = "One two three four. Five six seven eight! Nine ten eleven twelve? Thirteen fourteen."


class Spoken(NamedTuple):
    words: str
    is_urgent: bool
    at: float


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch, qapp: object) -> Iterator[list[Spoken]]:
    """The sentences that a screen reader gets."""
    told: list[Spoken] = []

    def post(event: QAccessibleAnnouncementEvent) -> None:
        is_urgent = event.politeness() is QAccessible.AnnouncementPoliteness.Assertive
        told.append(Spoken(event.message(), is_urgent, time.monotonic()))

    monkeypatch.setattr(announcements, "post", post)
    QAccessible.setActive(True)
    yield told
    QAccessible.setActive(False)


def test_answer_is_announced_from_its_beginning_to_its_end(qtbot: QtBot, app: Program, spoken: list[Spoken]) -> None:
    ask(qtbot, app, TEXT)
    words = " ".join(each.words for each in spoken)
    assert words == f"The answer begins. You wrote: {TEXT} The answer is complete."
    assert not any(each.is_urgent for each in spoken)


def test_sentences_of_a_second_are_joined(
    qtbot: QtBot, open_program: Callable[..., Program], spoken: list[Spoken]
) -> None:
    app = open_program(pace=0.05)
    ask(qtbot, app, " ".join(["It goes on and on."] * 24))
    texts = [each for each in spoken if each.words.startswith(("You wrote", "It goes"))]
    assert len(texts) > 1
    assert all(after.at - before.at > 0.9 for before, after in pairwise(texts[:-1]))
    assert any(each.words.count("It goes on and on.") > 1 for each in texts)
    assert sum(each.words.count("It goes on and on.") for each in texts) == 24


def test_stopped_answer_says_so(qtbot: QtBot, open_program: Callable[..., Program], spoken: list[Spoken]) -> None:
    app = open_program(pace=0.05)
    begin(qtbot, app, "toy: words 400")
    app.chat_controller.stop()
    qtbot.waitUntil(lambda: spoken[-1].words.endswith("Stopped."), timeout=WAIT)


def test_failed_answer_is_announced_at_once(qtbot: QtBot, app: Program, spoken: list[Spoken]) -> None:
    ask(qtbot, app, "toy: refuse")
    assert spoken[-1].words == "The toy refuses; ask for something else."
    assert spoken[-1].is_urgent


def test_answer_of_another_chat_is_silent(
    qtbot: QtBot, open_program: Callable[..., Program], spoken: list[Spoken]
) -> None:
    app = open_program(pace=0.05)
    begin(qtbot, app, "toy: words 60")
    with qtbot.waitSignal(app.chats.events.answered, timeout=WAIT):
        app.chats.open_new()
        spoken.clear()
    assert not spoken


def test_approval_is_asked_at_once(qtbot: QtBot, app: Program, spoken: list[Spoken], tmp_path: Path) -> None:
    if not IS_SUPPORTED:
        pytest.skip("folders can be confined on Linux and macOS")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one", encoding="utf-8")
    app.chat_controller.session.folder.give(folder)
    write(app, 'toy: call edit_file {"path": "notes.txt", "old": "one", "new": "two"}')
    question = "The model wants to: Change notes.txt"
    qtbot.waitUntil(lambda: any(each.words.startswith(question) and each.is_urgent for each in spoken), timeout=WAIT)
    app.chat_controller.stop()


@pytest.mark.parametrize("bad", [True, False])
def test_notices_and_ends_of_long_work_are_announced(qtbot: QtBot, spoken: list[Spoken], bad: bool) -> None:
    notice, card = NoticeBar(), WorkCard()
    qtbot.addWidget(notice)
    qtbot.addWidget(card)
    notice.say("The disk is full.", bad=bad)
    card.begin("Fetching")
    card.end("The model is here.", bad=bad)
    assert [each[:2] for each in spoken] == [("The disk is full.", bad), ("The model is here.", bad)]


def test_fault_in_a_dialog_is_announced_once(qtbot: QtBot, spoken: list[Spoken]) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    line = StatusLine(window)
    line.say("This name is taken.", bad=True)
    assert not spoken, "nobody sees it either"
    line.say("")
    window.show()
    for _ in range(2):
        line.say("This name is taken.", bad=True)
    assert [each[:2] for each in spoken] == [("This name is taken.", True)]


def test_nothing_is_sent_without_a_screen_reader(qtbot: QtBot, app: Program, spoken: list[Spoken]) -> None:
    QAccessible.setActive(False)
    ask(qtbot, app, TEXT)
    assert not spoken


def test_palette_announces_what_return_would_do(app: Program, spoken: list[Spoken]) -> None:
    app.window.actions_by_name["palette"].trigger()
    (palette,) = app.window.findChildren(CommandPalette)
    QTest.keyClicks(palette.field, "zoom")
    assert spoken[-1].words.startswith("Zoom In")
    QTest.keyClick(palette.field, Qt.Key.Key_Down)
    assert spoken[-1].words.startswith("Zoom Out")
    QTest.keyClicks(palette.field, " xyz")
    assert "zoom xyz" in spoken[-1].words
    palette.close()
