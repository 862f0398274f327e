"""What a long history costs: search by kinds of queries, the list of a thousand chats. Needs no model."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from headstart.ui.program import Program
from headstart.ui.sidebar.chats_controller import Findings, Searching

Figures = dict[str, float]

# One for each way through the search; those with rare signs must look at every message.
QUERIES = {
    "one letter, being typed": "b",
    "three letters apart": "a b c",
    "a beginning": "quas",
    "a frequent word": "ba",
    "a rare word": "baduqua",
    "two words": "ba codu",
    "a phrase": '"why it works"',
    "a Chinese character": "一",
    "Chinese characters": "一丁",
    "signs that are there": "?",
    "signs that are nowhere": "?!~",
    "words with signs": "{'kept':",
    "a word that is nowhere": "zzzz",
}


def searching(program: Program, repeats: int, queries: Mapping[str, str] = QUERIES) -> dict[str, Figures]:
    """Milliseconds from a query to its last hit in the window's thread, by kind of query."""
    searching = Searching(program.store.path.parent)
    _search(searching, "warm")
    found = {kind: _timed(partial(_search, searching, query), repeats) for kind, query in queries.items()}
    searching.close()
    return found


def listing(program: Program, application: QApplication, repeats: int) -> dict[str, Figures]:
    """Milliseconds to read, list and paint all chats, one chat more, and those with a tag."""
    sidebar, chats, store = program.window.sidebar, program.chats, program.store

    def show(act: Callable[[], object]) -> None:
        act()
        application.processEvents()
        sidebar.grab()

    tags = iter(["work", ""] * repeats)
    titles = iter(range(10**6))
    some = store.chats()[-1].id
    return {
        "list unchanged": _timed(lambda: show(chats.refresh), repeats),
        "one more chat": _timed(lambda: show(lambda: (store.create_chat("new"), chats.refresh())), repeats),
        "a title changed": _timed(lambda: show(lambda: chats.rename(some, f"title {next(titles)}")), repeats),
        "filtered by a tag, and not": _timed(lambda: show(lambda: chats.filter(next(tags))), 2 * repeats),
    }


def _search(searching: Searching, query: str) -> None:
    loop = QEventLoop()

    def take(findings: Findings) -> None:
        if findings.is_complete:
            loop.quit()

    searching.found.connect(take)
    searching.begin(query)
    loop.exec()
    searching.found.disconnect(take)


def _timed(act: Callable[[], object], repeats: int) -> Figures:
    return summary(_milliseconds(act) for _ in range(repeats))


def _milliseconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def summary(values: Iterable[float]) -> Figures:
    """Median and worst."""
    known = list(values)
    return {"median_ms": round(statistics.median(known), 1), "worst_ms": round(max(known), 1)}
