"""The window with years of use behind it: a history of a million messages, a chat of 100,000 tokens. Prints JSON.

PYTHONPATH=app python app/bench/window/load.py [--chats 10000] [--history FOLDER] [--tokens 100000] [--repeats 5]. A
hundred messages a chat in the mean. --history keeps the profile there, and takes it as it is where there is one
already: it is written in ten minutes and has 4 GB. Needs no model.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from bench.window.history import QUERIES, RARE, HistoryMaker
from bench.window.profile import (
    Heartbeat,
    arguments,
    make_application,
    milliseconds,
    opened,
    own_home,
    resident_mb,
    summary,
)
from bench.window.ui import TranscriptCost, jumping, listing, searching, starting
from headstart import paths
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.ui.program import Program

Found = dict[str, object]
_JUMPS = 40


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--chats", type=int, default=10_000, help="0: not measured")
    parser.add_argument("--history", type=Path, help="a profile to make and keep, or one that was made")
    parser.add_argument("--long", type=int, default=1000, help="messages of the chat that is opened")
    parser.add_argument("--tokens", type=int, default=100_000, help="of the transcript; 0: not measured")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    application = make_application()
    found: Found = {}
    if given.chats:
        with own_home(given.history) as home:
            found["history"] = _made(given.chats)
            found["start"] = starting(home, given.repeats)
            with opened(application) as program:
                found |= Visit(application, program, given).measured()
    if given.tokens:
        found["transcript"] = _transcript(application, given.tokens)
    print(json.dumps(found, indent=2))


class Visit:
    """One window on a large history."""

    def __init__(self, application: QApplication, program: Program, given: argparse.Namespace) -> None:
        self._application, self._program = application, program
        self._repeats: int = given.repeats
        self._long: int = given.long

    def measured(self) -> Found:
        """Return all figures, in the order of a visit."""
        program = self._program
        last = (len(program.store.chats()) - 1) // 1000 * 1000
        queries = {**QUERIES, "a word of one chat": f"{RARE}{last}"}
        sidebar = program.window.sidebar.list
        return {
            "rss_mb": round(resident_mb()),
            "search": self._beating(lambda: searching(program, self._repeats, queries)),
            "list": listing(program, self._application, self._repeats),
            "list_scroll": summary(jumping(sidebar, _JUMPS, sidebar.grab, self._settle)),
            "long_chat": self._long_chat(),
            "asking_in_the_long_chat": self._beating(lambda: self._ask("What was the first word?")),
            "answers": self._beating(lambda: self._ask("toy: words 200", in_new_chats=True)),
            "rss_mb_at_the_end": round(resident_mb()),
        }

    def _beating(self, act: Callable[[], object]) -> Found:
        """Run an act. Return its result, and the delay of the window's thread."""
        heart = Heartbeat()
        heart.start()
        found = act()
        return {"found": found, "heartbeat": heart.stop()}

    def _long_chat(self) -> Found:
        """Return the milliseconds from choosing the chat to its paint, and of jumps in it."""
        chats, window = self._program.chats, self._program.window
        transcript = window.chat.transcript
        long = HistoryMaker(seed=6).add(self._program.store, 1, self._long, time.time())
        spent = []
        for _ in range(self._repeats):
            chats.open_new()
            self._settle()
            started = time.perf_counter()
            chats.open(long.id)
            window.grab()
            spent.append((time.perf_counter() - started) * 1000)
            self._settle()
        jumps = jumping(transcript, _JUMPS, transcript.grab, self._settle)
        return {"messages": self._long, "open": summary(spent), "scroll": summary(jumps)}

    def _ask(self, question: str, *, in_new_chats: bool = False) -> int:
        """Ask questions. In the long chat, the toy's small context refuses them after they were saved."""
        for _ in range(self._repeats):
            if in_new_chats:
                self._program.chats.open_new()
            loop = QEventLoop()
            self._program.chat_controller.answered.connect(loop.quit)
            QTimer.singleShot(0, lambda: self._program.chat_controller.session.ask(question))
            loop.exec()
        return len(self._program.chat_controller.session.path)

    def _settle(self) -> None:
        for _ in range(20):
            self._application.processEvents()


def _made(chats: int) -> Found:
    """Return a profile with the history, which is written first if it is missing."""
    store = open_store(paths.history_folder())
    written = 0.0 if store.chats() else milliseconds(lambda: HistoryMaker().fill(store, chats, time.time()))
    count = len(store.chats())
    store.close()
    opened_ms = milliseconds(lambda: open_store(paths.history_folder()).close())
    size = (paths.history_folder() / FILE_NAME).stat().st_size
    return {"chats": count, "file_mb": size >> 20, "open_store_ms": opened_ms, "made_s": round(written / 1000)}


def _transcript(application: QApplication, tokens: int) -> Found:
    """Stream a text as one message, and as many."""
    bench = TranscriptCost(application)
    many = tokens // 400
    return {
        "tokens": tokens,
        "one message": {**bench.streaming(0, 400, tokens), **bench.opening(1, tokens)},
        f"{many} messages": {**bench.streaming(many, 400), **bench.opening(many, 400)},
        "rss_mb": round(resident_mb()),
    }


if __name__ == "__main__":
    main()
