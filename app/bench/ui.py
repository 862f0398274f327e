"""What the window costs, as JSON or as a table: updates, opening, search, lists, start, memory, lateness.

PYTHONPATH=app python app/bench/ui.py [--messages 10 100 200 1000] [--tokens 400] [--history 10000] [--model NAME]
[--markdown]. Needs no model but for --model, which needs it in $HEADSTART_HOME.
"""

import argparse
import json
import os
import sys

import psutil
from PySide6.QtWidgets import QApplication

from bench import corpus, heartbeat, history_cost, start_cost
from bench.profile import opened, own_home, toy_model
from bench.table import table
from bench.toy import PROGRAM
from bench.transcript_cost import TranscriptCost
from headstart import paths
from headstart.chat.store import open_store
from headstart.ui.program import EngineChoice


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


if __name__ == "__main__":
    main()
