"""What the window costs, as JSON or as a table: updates, opening, search, lists, start, memory, lateness.

PYTHONPATH=app python app/bench/ui.py [--messages 10 100 200 1000] [--tokens 400] [--history 10000] [--model NAME]
[--markdown]. Needs no model but for --model, which needs it in $HEADSTART_HOME.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import psutil
from PySide6.QtWidgets import QApplication

from bench import corpus, heartbeat, history_cost, start_cost
from bench.profile import opened, own_home, toy_model
from bench.toy import PROGRAM
from bench.transcript_cost import TranscriptCost
from headstart import paths
from headstart.chat.store import open_store
from headstart.ui.program import EngineChoice

Found = Mapping[str, Any]


def main() -> None:
    """Measure and print."""
    given = _arguments()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication(sys.argv[:1])
    found: dict[str, object] = {"python": sys.version.split()[0], "tokens": given.tokens, "origins": given.origins}
    if given.messages:
        found["messages"] = _transcript(application, given)
    if given.history:
        found |= _history(application, given)
    if given.model:
        with own_home(paths.models_folder()), opened(application) as program:
            found["heartbeat"] = heartbeat.streaming(program, application, given.model, given.tokens)
    print(table(found) if given.markdown else json.dumps(found, indent=2))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, nargs="*", default=[10, 100, 200, 1000], help="none: not measured")
    parser.add_argument("--tokens", type=int, default=400, help="in a message, and in an answer of --model")
    parser.add_argument("--origins", action="store_true", help="colour tokens by origin while streaming")
    parser.add_argument("--history", type=int, default=10_000, help="messages in all chats; 0: not measured")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", help="measure the window's lateness while this one streams")
    parser.add_argument("--markdown", action="store_true", help="a table instead of JSON")
    return parser.parse_args()


def _transcript(application: QApplication, given: argparse.Namespace) -> dict[str, object]:
    bench = TranscriptCost(application, given.origins)
    bench.streaming(2, given.tokens)  # warms lexers and fonts
    return {
        str(count): {
            **bench.streaming(count, given.tokens),
            **bench.opening(count, given.tokens),
            "rss_mb": round(psutil.Process().memory_info().rss / 2**20),
        }
        for count in given.messages
    }


def _history(application: QApplication, given: argparse.Namespace) -> dict[str, object]:
    with own_home() as home:
        store = open_store(paths.history_folder())
        corpus.fill(store, given.history)
        chats = len(store.chats())
        store.close()
        with opened(application, EngineChoice(PROGRAM, toy_model)) as program:
            searches = history_cost.searching(program, given.repeats)
            lists = history_cost.listing(program, application, given.repeats)
        start = start_cost.starting(home, given.repeats)
    return {"history": given.history, "chats": chats, "search": searches, "list": lists, "start": start}


def table(found: Found) -> str:
    """What was measured of this, against what was asked for."""
    lines = ["| measured | asked for | found |", "| :-- | --: | --: |"]
    for words, goal, value in _rows(found):
        lines.append(f"| {words} | {goal} | {value} |")
    return "\n".join(lines)


def _rows(found: Found) -> Iterator[tuple[str, str, str]]:
    for count, figures in found.get("messages", {}).items():
        yield f"update while streaming into {count} messages, 99 of 100", "16 ms", f"{figures['p99_ms']:.1f} ms"
    for count, figures in found.get("messages", {}).items():
        goal = "300 ms" if str(count) == "1000" else ""
        yield f"opening a chat of {count} messages", goal, f"{figures['first_paint_ms']:.0f} ms"
    if search := found.get("search"):
        slowest = max(search, key=lambda kind: search[kind]["median_ms"])
        worst = max(figures["worst_ms"] for figures in search.values())
        words = f"search in {found['history']:,} messages, slowest kind of query ({slowest})"
        yield words, "100 ms", f"{search[slowest]['median_ms']:.0f} ms, worst {worst:.0f} ms"
    if listing := found.get("list"):
        slowest = max(listing, key=lambda kind: listing[kind]["median_ms"])
        yield f"list of {found['chats']:,} chats ({slowest})", "", f"{listing[slowest]['median_ms']:.0f} ms"
    if start := found.get("start"):
        yield "start to a window one can type in", "1.5 s", f"{start['median_ms'] / 1000:.2f} s"
        yield "memory of the window's process after the start", "250 MB", f"{start['rss_mb']} MB"
    yield from _live_rows(found)


def _live_rows(found: Found) -> Iterator[tuple[str, str, str]]:
    if messages := found.get("messages"):
        yield (
            "memory with the longest of these chats open",
            "250 MB",
            f"{max(f['rss_mb'] for f in messages.values())} MB",
        )
    if late := found.get("heartbeat"):
        value = f"{late['late_max_ms']:.0f} ms, 99 of 100 under {late['late_p99_ms']:.1f} ms"
        yield f"lateness of the window's thread while {late['model']} streams", "50 ms", value


if __name__ == "__main__":
    main()
