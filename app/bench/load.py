"""The window with years of use behind it: a history of a million messages, a chat of 100,000 tokens. Prints JSON.

PYTHONPATH=app python app/bench/load.py [--chats 10000] [--history FOLDER] [--tokens 100000] [--repeats 5]. A hundred
messages a chat in the mean. --history keeps the profile there, and takes it as it is where there is one already: it is
written in ten minutes and has 4 GB. Needs no model.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

from bench import history_cost, start_cost
from bench.heartbeat import Heartbeat, lateness, wait
from bench.long_history import RARE, LongHistory
from bench.profile import home, opened, own_home, toy_model
from bench.toy import PROGRAM
from bench.transcript_cost import TranscriptCost
from headstart import paths
from headstart.chat.database import FILE_NAME
from headstart.chat.store import open_store
from headstart.ui.program import EngineChoice, Program

Found = dict[str, object]
_SCROLLS = 40


def main() -> None:
    """Measure and print."""
    given = _arguments()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication(sys.argv[:1])
    found: Found = {}
    if given.chats:
        with _profile(given.history) as folder:
            found["history"] = _made(given.chats)
            found["start"] = start_cost.starting(folder, given.repeats)
            with opened(application, EngineChoice(PROGRAM, toy_model)) as program:
                wait(application, lambda: program.loader.is_ready)
                found |= Load(application, program, given).measured()
    if given.tokens:
        found["transcript"] = _transcript(application, given.tokens)
    print(json.dumps(found, indent=2))


class Load:
    """One window on a large history."""

    def __init__(self, application: QApplication, program: Program, given: argparse.Namespace) -> None:
        self._application, self._program = application, program
        self._repeats: int = given.repeats
        self._long: int = given.long

    def measured(self) -> Found:
        """Everything, in the order of a visit."""
        program = self._program
        last = (len(program.store.chats()) - 1) // 1000 * 1000
        queries = {**history_cost.QUERIES, "a word of one chat": f"{RARE}{last}"}
        return {
            "rss_mb": _rss(),
            "search": self._beating(lambda: history_cost.searching(program, self._repeats, queries)),
            "list": history_cost.listing(program, self._application, self._repeats),
            "list_scroll": history_cost.summary(self._scroll(program.window.sidebar.list)),
            "long_chat": self._long_chat(),
            "asking_in_the_long_chat": self._beating(self._ask_in_the_long_chat),
            "answers": self._beating(self._ask),
            "rss_mb_at_the_end": _rss(),
        }

    def _beating(self, act: Callable[[], object]) -> Found:
        """What comes of an act, and how late the window's thread was meanwhile."""
        heart = Heartbeat()
        heart.start()
        found = act()
        heart.stop()
        return {"found": found, "heartbeat": lateness(heart.late_ms)}

    def _long_chat(self) -> Found:
        """Milliseconds from the choice in the list to the painted chat, and of jumps in it."""
        chats, now = self._program.chats, time.time()
        long = LongHistory(6).add(self._program.store, 1, self._long, now)
        spent = []
        for _ in range(self._repeats):
            chats.open_new()
            self._settle()
            started = time.perf_counter()
            chats.open(long.id)
            self._program.window.grab()
            spent.append(_since(started))
            self._settle()
        return {
            "messages": self._long,
            "open": history_cost.summary(spent),
            "scroll": history_cost.summary(self._scroll(self._program.window.chat.transcript)),
        }

    def _scroll(self, area: QAbstractScrollArea) -> Iterator[float]:
        """Milliseconds of jumps from top to bottom, each painted."""
        bar = area.verticalScrollBar()
        for part in range(_SCROLLS + 1):
            started = time.perf_counter()
            bar.setValue(bar.maximum() * part // _SCROLLS)
            area.grab()
            yield _since(started)
            self._settle()

    def _ask(self) -> int:
        """Answers, each in a chat of its own; how many."""
        for _ in range(self._repeats):
            self._program.chats.open_new()
            self._send("toy: words 200")
        return self._repeats

    def _ask_in_the_long_chat(self) -> int:
        """Two questions that the toy's small context refuses after they were written down."""
        for _ in range(2):
            self._send("What was the first word?")
        return len(self._program.chat_controller.session.path)

    def _send(self, text: str) -> None:
        loop = QEventLoop()
        self._program.chat_controller.answered.connect(loop.quit)
        QTimer.singleShot(0, lambda: self._program.chat_controller.session.send(text))
        loop.exec()

    def _settle(self) -> None:
        for _ in range(20):
            self._application.processEvents()


def _made(chats: int) -> Found:
    """The history, written first where there is none."""
    began = time.perf_counter()
    store = open_store(paths.history_folder())
    opened_ms = _since(began)
    if not store.chats():
        LongHistory().fill(store, chats, time.time())
    count = len(store.chats())
    store.close()
    size = (paths.history_folder() / FILE_NAME).stat().st_size
    return {"chats": count, "file_mb": size >> 20, "open_store_ms": opened_ms, "made_s": round(_since(began) / 1000)}


def _transcript(application: QApplication, tokens: int) -> Found:
    """As one message, and as many."""
    bench = TranscriptCost(application, origins=False)
    bench.streaming(2, 100)  # warms lexers and fonts
    many = tokens // 400
    return {
        "tokens": tokens,
        "one message": {**bench.streaming(0, 400, tokens), **bench.opening(1, tokens)},
        f"{many} messages": {**bench.streaming(many, 400), **bench.opening(many, 400)},
        "rss_mb": _rss(),
    }


@contextmanager
def _profile(kept: Path | None) -> Iterator[Path]:
    if kept is None:
        with own_home() as folder:
            yield folder
        return
    kept.mkdir(parents=True, exist_ok=True)
    with home(kept):
        yield kept


def _rss() -> int:
    return int(psutil.Process().memory_info().rss) >> 20


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--chats", type=int, default=10_000, help="0: not measured")
    parser.add_argument("--history", type=Path, help="a profile to make and keep, or one that was made")
    parser.add_argument("--long", type=int, default=1000, help="messages of the chat that is opened")
    parser.add_argument("--tokens", type=int, default=100_000, help="of the transcript; 0: not measured")
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
