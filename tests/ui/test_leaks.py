"""Objects, threads, timers and memory over many chats and answers."""

import gc
import threading
from dataclasses import dataclass, field

import psutil
import pytest
from PySide6.QtCore import QEvent, QObject, QThread, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import AnswerOutcome, Conversation
from headstart.ui.program import Program
from tests.ui.person import WAIT

CHATS, WARM, OPENED, ANSWERS = 20, 40, 200, 50
MEGABYTE = 2**20
QUIET = 500  # ms


@dataclass(frozen=True)
class Census:
    """The counts of objects at a moment."""

    objects: int
    timers: int
    threads: int
    qt_threads: int
    memory: int = field(compare=False)


def census(app: Program) -> Census:
    for _ in range(3):
        QApplication.processEvents()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    found = [*app.findChildren(QObject), *app.window.findChildren(QObject)]
    return Census(
        objects=len(found),
        timers=sum(isinstance(each, QTimer) and each.isActive() for each in found),
        threads=threading.active_count(),
        qt_threads=sum(isinstance(each, QThread) and each.isRunning() for each in found),
        memory=psutil.Process().memory_info().rss,
    )


def at_rest(qtbot: QtBot, app: Program) -> Census:
    """Wait until the counts no longer change, and return them."""
    seen = [census(app)]

    def is_same() -> bool:
        seen.append(census(app))
        return seen[-1] == seen[-2]

    qtbot.wait(QUIET)
    qtbot.waitUntil(is_same, timeout=WAIT)
    return seen[-1]


def nothing_more(qtbot: QtBot, app: Program, before: Census, room: float) -> None:
    """Wait until the counts are no higher than before, except some memory."""

    def check() -> None:
        after = census(app)
        assert after.objects == before.objects
        assert after.threads <= before.threads
        assert after.qt_threads <= before.qt_threads
        assert after.timers <= before.timers
        assert after.memory - before.memory < room * MEGABYTE

    qtbot.waitUntil(check, timeout=WAIT)


def fill(app: Program) -> list[str]:
    """Save chats of some length, without the window."""
    ids = []
    for number in range(CHATS):
        conversation = Conversation()
        for turn in range(6):
            conversation = conversation.ask(f"question {turn} of {number}").begin_answer("toy")
            assert conversation.last
            text = f"**Answer** {turn}\n\n- one\n- two\n\n```python\nprint({number})\n```\n"
            conversation = conversation.finish(conversation.last.id, AnswerOutcome(text))
        chat = app.store.create_chat(f"chat {number}")
        app.store.save(chat.id, Conversation(), conversation)
        ids.append(chat.id)
    return ids


def go_through(app: Program, ids: list[str], times: int) -> None:
    """Open chats one after another."""
    for turn in range(times):
        app.chats.open(ids[turn % len(ids)])
        for _ in range(3):
            QApplication.processEvents()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def answer(qtbot: QtBot, app: Program, times: int) -> None:
    """Ask for answers, each in a new chat; begin again after every tenth."""
    for turn in range(times):
        if turn % 10 == 0:
            app.chats.open_new()
        with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
            app.chat_controller.session.ask(f"question {turn}")


@pytest.mark.slow
def test_two_hundred_opened_chats_leak_nothing(qtbot: QtBot, app: Program) -> None:
    ids = fill(app)
    go_through(app, ids, WARM)
    before = at_rest(qtbot, app)
    go_through(app, ids, OPENED)
    nothing_more(qtbot, app, before, OPENED * 0.05)


@pytest.mark.slow
def test_fifty_answers_leak_nothing(qtbot: QtBot, app: Program) -> None:
    ids = fill(app)
    answer(qtbot, app, ANSWERS)  # a view is used again, and gets its buttons when a message of it first has some
    app.chats.open(ids[0])
    before = at_rest(qtbot, app)
    answer(qtbot, app, ANSWERS)
    app.chats.open(ids[0])
    nothing_more(qtbot, app, before, ANSWERS * 0.2)
