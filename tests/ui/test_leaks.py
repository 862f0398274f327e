"""Nothing piles up: objects, threads, timers and memory over many chats and answers."""

import gc
import threading

import psutil
import pytest
from PySide6.QtCore import QEvent, QObject, QThread, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from headstart.chat.conversation import Conversation, Outcome
from headstart.ui.program import Program
from tests.ui.person import WAIT

CHATS, WARM, OPENED, ANSWERS = 20, 40, 200, 50
MEGABYTE = 2**20


class Census:
    """What there is now."""

    def __init__(self, app: Program) -> None:
        for _ in range(3):
            QApplication.processEvents()
            QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        found = [*app.findChildren(QObject), *app.window.findChildren(QObject)]
        self.objects = len(found)
        self.timers = sum(isinstance(each, QTimer) and each.isActive() for each in found)
        self.threads = threading.active_count()
        self.qt_threads = sum(isinstance(each, QThread) and each.isRunning() for each in found)
        self.memory = psutil.Process().memory_info().rss


def fill(app: Program) -> list[str]:
    """Chats of some length, past the window."""
    ids = []
    for number in range(CHATS):
        conversation = Conversation()
        for turn in range(6):
            conversation = conversation.ask(f"question {turn} of {number}").begin_answer("toy")
            assert conversation.last
            text = f"**Answer** {turn}\n\n- one\n- two\n\n```python\nprint({number})\n```\n"
            conversation = conversation.finish(conversation.last.id, Outcome(text))
        chat = app.store.create_chat(f"chat {number}")
        app.store.save(chat.id, Conversation(), conversation)
        ids.append(chat.id)
    return ids


def go_through(app: Program, ids: list[str], times: int) -> None:
    """Open one after another."""
    for turn in range(times):
        app.chats.open(ids[turn % len(ids)])
        for _ in range(3):
            QApplication.processEvents()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def answer(qtbot: QtBot, app: Program, times: int) -> None:
    """Each in a chat of its own, begun anew after every tenth."""
    for turn in range(times):
        if turn % 10 == 0:
            app.chats.open_new()
        with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
            app.chat_controller.session.send(f"question {turn}")


@pytest.mark.slow
def test_opening_two_hundred_chats_leaves_nothing_behind(qtbot: QtBot, app: Program) -> None:
    ids = fill(app)
    go_through(app, ids, WARM)
    before = Census(app)
    go_through(app, ids, OPENED)
    after = Census(app)
    assert after.objects == before.objects
    assert after.timers <= before.timers  # one of before may have ended
    assert (after.threads, after.qt_threads) == (before.threads, before.qt_threads)
    assert after.memory - before.memory < OPENED * 0.05 * MEGABYTE


@pytest.mark.slow
def test_fifty_answers_leave_nothing_behind_but_themselves(qtbot: QtBot, app: Program) -> None:
    ids = fill(app)
    answer(qtbot, app, ANSWERS)  # a view is used again, and gets its buttons when a message of it first has some
    app.chats.open(ids[0])
    before = Census(app)
    answer(qtbot, app, ANSWERS)
    app.chats.open(ids[0])
    after = Census(app)
    assert after.objects == before.objects
    assert after.timers == before.timers
    assert (after.threads, after.qt_threads) == (before.threads, before.qt_threads)
    assert after.memory - before.memory < ANSWERS * 0.2 * MEGABYTE
