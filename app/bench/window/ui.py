"""The cost of the window, as JSON or as a table: updates, opening, search, lists, start, memory, lateness.

PYTHONPATH=app python app/bench/window/ui.py [--messages 10 100 200 1000] [--tokens 400] [--history 10000] [--model
NAME] [--markdown]. Needs no model but for --model, which needs it in $HEADSTART_HOME.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QEventLoop
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QAbstractScrollArea, QApplication

from bench.window.history import PATTERN, QUERIES, HistoryMaker, contents, message, pieces
from bench.window.profile import (
    Figures,
    Heartbeat,
    arguments,
    make_application,
    opened,
    own_home,
    resident_mb,
    summary,
    timed,
)
from bench.window.start_cost import starts
from headstart import paths
from headstart.chat.history.store import open_store
from headstart.ui.program import Program
from headstart.ui.sidebar.chats_controller import ChatSearch, SearchResults
from headstart.ui.transcript.message import MessageContent, OriginRun, RoundNote
from headstart.ui.transcript.transcript import Transcript
from headstart.ui.widgets import theme

_CHUNK = 500  # tokens that come at once of what an answer had before
PROMPT = (
    "Write a Python class for a binary search tree with insert, delete, search and in-order traversal. Explain each "
    "method in a sentence, add type hints, and end with a table of the complexities."
)


class UpdateCost(NamedTuple):
    """The cost of one update. Processor time stays comparable on a busy machine."""

    wall_ms: float
    cpu_ms: float


class TranscriptCost:
    """Costs of updates while an answer grows, of opening a chat, and of jumps in it."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self._theme = theme.apply(application, theme.ThemeChoice.LIGHT)
        self._canvas = QPixmap(900, 700)  # offscreen windows repaint only now and then, so everything is painted here
        self.streaming(2, 100)  # warms lexers and fonts

    def opening(self, count: int, tokens: int) -> Figures:
        """Return the milliseconds to the first paint of a chat, and until everything near is built."""
        window, chat = self._window(), contents(count, tokens)
        started, spent = time.perf_counter(), time.process_time()
        window.show_chat(chat)
        window.render(self._canvas)
        first, cpu = _since(started), round((time.process_time() - spent) * 1000, 2)
        self._settle()
        settled = _since(started)
        jumps = jumping(window, 19, lambda: window.render(self._canvas))
        window.deleteLater()
        self._settle()
        return {"first_paint_ms": first, "first_paint_cpu_ms": cpu, "settled_ms": settled, "jump_ms_max": max(jumps)}

    def streaming(self, count: int, tokens: int, already: int = 0) -> Figures:
        """Return the milliseconds of each update while an answer grows that had `already` tokens."""
        window = self._window()
        window.show_chat([*contents(count, tokens), MessageContent("live", "assistant", "")])
        self._settle()
        window.view_of("live").begin_stream()
        for start in range(0, already, _CHUNK):
            self._update(window, message(start, min(_CHUNK, already - start)) + "\n\n", 0)
        updates = [self._update(window, piece, n) for n, piece in enumerate(pieces(message(7, tokens)))]
        started = time.perf_counter()
        window.end_stream(MessageContent("live", "assistant", "", stats="18 tok/s"))
        window.render(self._canvas)
        final = _since(started)
        window.deleteLater()
        self._settle()
        cpu = sorted(cost.cpu_ms for cost in updates)
        costs = sorted(cost.wall_ms for cost in updates)
        return {
            "updates": len(costs),
            "p50_ms": costs[len(costs) // 2],
            "p95_ms": costs[int(len(costs) * 0.95)],
            "p99_ms": costs[int(len(costs) * 0.99)],
            "max_ms": costs[-1],
            "cpu_p50_ms": cpu[len(cpu) // 2],
            "cpu_p99_ms": cpu[int(len(cpu) * 0.99)],
            "cpu_max_ms": cpu[-1],
            "over_16_ms": sum(cost > 16 for cost in costs),
            "end_ms": final,
        }

    def _window(self) -> Transcript:
        made = Transcript(self._theme, theme.text_font(10.5))
        made.resize(900, 700)
        made.show()
        self._settle()
        return made

    def _update(self, window: Transcript, piece: str, number: int) -> UpdateCost:
        started, spent = time.perf_counter(), time.process_time()
        window.view_of("live").append(piece, (OriginRun(len(piece), PATTERN[number % 5], RoundNote("draft", 4, 3)),))
        self._application.processEvents()
        window.render(self._canvas)
        return UpdateCost(_since(started), round((time.process_time() - spent) * 1000, 2))

    def _settle(self) -> None:
        for _ in range(50):
            self._application.processEvents()
            self._application.sendPostedEvents(None, 52)  # QEvent.Type.DeferredDelete
        gc.collect()


def jumping(
    area: QAbstractScrollArea, jumps: int, paint: Callable[[], object], rest: Callable[[], object] = lambda: None
) -> list[float]:
    """Return the milliseconds of each painted jump from top to bottom, without the `rest` between two."""
    bar, spent = area.verticalScrollBar(), []
    for part in range(jumps + 1):
        started = time.perf_counter()
        bar.setValue(bar.maximum() * part // jumps)
        paint()
        spent.append(_since(started))
        rest()
    return spent


def searching(program: Program, repeats: int, queries: Mapping[str, str] = QUERIES) -> dict[str, Figures]:
    """Return the milliseconds from a query to its last hit, by kind of query."""
    found = ChatSearch(program.store.path.parent)

    def search(query: str) -> None:
        loop = QEventLoop()

        def take(findings: SearchResults) -> None:
            if findings.is_complete:
                loop.quit()

        found.found.connect(take)
        found.start(query)
        loop.exec()
        found.found.disconnect(take)

    search("warm")
    spent = {kind: timed(partial(search, query), repeats) for kind, query in queries.items()}
    found.close()
    return spent


def listing(program: Program, application: QApplication, repeats: int) -> dict[str, Figures]:
    """Return the milliseconds to read, list and paint all chats, one more chat, and those with a tag."""
    sidebar, chats, store = program.window.sidebar, program.chats, program.store

    def show(act: Callable[[], object]) -> None:
        act()
        application.processEvents()
        sidebar.grab()

    tags = iter(["work", ""] * repeats)
    titles = iter(range(10**6))
    some = store.chats()[-1].id
    return {
        "list unchanged": timed(lambda: show(chats.refresh), repeats),
        "one more chat": timed(lambda: show(lambda: (store.create_chat("new"), chats.refresh())), repeats),
        "a title changed": timed(lambda: show(lambda: chats.rename(some, f"title {next(titles)}")), repeats),
        "filtered by a tag, and not": timed(lambda: show(lambda: chats.filter(next(tags))), 2 * repeats),
    }


def starting(home: Path, repeats: int) -> Figures:
    """Return the times of starts on this profile."""
    runs = starts(home, repeats)
    return {**summary(run["ready_ms"] for run in runs), "rss_mb": max(run["rss_mb"] for run in runs)}


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--messages", type=int, nargs="*", default=[10, 100, 200, 1000], help="none: not measured")
    parser.add_argument("--tokens", type=int, default=400, help="in a message, and in an answer of --model")
    parser.add_argument("--history", type=int, default=10_000, help="messages in all chats; 0: not measured")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", help="measure the window's lateness while this one streams")
    parser.add_argument("--markdown", action="store_true", help="a table instead of JSON")
    given = parser.parse_args()
    application = make_application()
    found: dict[str, object] = {"python": sys.version.split()[0], "tokens": given.tokens}
    if given.messages:
        bench = TranscriptCost(application)
        found["messages"] = {
            str(count): {
                **bench.streaming(count, given.tokens),
                **bench.opening(count, given.tokens),
                "rss_mb": round(resident_mb()),
            }
            for count in given.messages
        }
    if given.history:
        found |= _history(application, given)
    if given.model:
        with own_home(with_models=True), opened(application, given.model, given.tokens) as program:
            found["heartbeat"] = {"model": given.model, **_streaming(program)}
    print(table(found) if given.markdown else json.dumps(found, indent=2))


def _history(application: QApplication, given: argparse.Namespace) -> dict[str, object]:
    with own_home() as home:
        store = open_store(paths.history_folder())
        HistoryMaker(240, 1600).fill(store, given.history // 10, time.time(), (10,))
        chats = len(store.chats())
        store.close()
        with opened(application) as program:
            searches = searching(program, given.repeats)
            lists = listing(program, application, given.repeats)
        start = starting(home, given.repeats)
    return {"history": given.history, "chats": chats, "search": searches, "list": lists, "start": start}


def _streaming(program: Program) -> dict[str, float | int]:
    """Measure how late the window's thread is while a real model reads and answers."""
    heart, loop = Heartbeat(), QEventLoop()
    program.chat_controller.answered.connect(loop.quit)
    heart.start()
    program.chat_controller.session.ask(PROMPT)
    loop.exec()
    return {**heart.stop(), "characters": len(program.chat_controller.session.path[-1].text)}


def table(found: Mapping[str, Any]) -> str:
    """Return a table of the results beside the requirements."""
    lines = ["| measured | asked for | found |", "| :-- | --: | --: |"]
    lines += [f"| {what} | {goal} | {value} |" for what, goal, value in _rows(found)]
    return "\n".join(lines)


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    messages = found.get("messages", {})
    for count, figures in messages.items():
        yield f"update while streaming into {count} messages, 99 of 100", "16 ms", f"{figures['p99_ms']:.1f} ms"
    for count, figures in messages.items():
        goal = "300 ms" if str(count) == "1000" else ""
        yield f"opening a chat of {count} messages", goal, f"{figures['first_paint_ms']:.0f} ms"
    if "search" in found:
        kind, slowest = max(found["search"].items(), key=lambda each: each[1]["median_ms"])
        worst = max(figures["worst_ms"] for figures in found["search"].values())
        what = f"search in {found['history']:,} messages, slowest kind of query ({kind})"
        yield what, "100 ms", f"{slowest['median_ms']:.0f} ms, worst {worst:.0f} ms"
        kind, slowest = max(found["list"].items(), key=lambda each: each[1]["median_ms"])
        yield f"list of {found['chats']:,} chats ({kind})", "", f"{slowest['median_ms']:.0f} ms"
        yield "start to a window one can type in", "1.5 s", f"{found['start']['median_ms'] / 1000:.2f} s"
        yield "memory of the window's process after the start", "250 MB", f"{found['start']['rss_mb']} MB"
    if messages:
        largest = max(figures["rss_mb"] for figures in messages.values())
        yield "memory with the longest of these chats open", "250 MB", f"{largest} MB"
    if late := found.get("heartbeat"):
        value = f"{late['late_max_ms']:.0f} ms, 99 of 100 under {late['late_p99_ms']:.1f} ms"
        yield f"lateness of the window's thread while {late['model']} streams", "50 ms", value


if __name__ == "__main__":
    main()
