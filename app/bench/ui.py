"""What the transcript costs: updates while streaming, opening a chat, memory. Prints JSON; needs no model.

PYTHONPATH=app python app/bench/ui.py [--messages 10 100 200 1000] [--tokens 400] [--repeats 1]
"""

import argparse
import gc
import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from headstart.ui import theme
from headstart.ui.message import MessageContent, OriginRun, RoundNote
from headstart.ui.transcript import Transcript

_PARTS = (
    "## Why it works\n\nA *small* model guesses a few tokens and the **large** one checks all of them in one pass, so "
    "that `n` accepted guesses cost little more than one step.",
    "1. The draft proposes four tokens.\n2. The target scores them together.\n3. Those that agree are kept, with\n"
    "   - one token of its own,\n   - and a cache that is rolled back.",
    "```python\ndef accept(draft, target):\n    # the longest common prefix\n    kept = 0\n    for a, b in zip(draft, "
    "target):\n        if a != b:\n            break\n        kept += 1\n    return {'kept': kept}\n"
    "```",
    "| length | accepted | ms |\n|:--|--:|--:|\n| 1 | 0.8 | 44.0 |\n| 2 | 0.7 | 38.5 |\n| 4 | 0.5 | 36 |",
    "推测解码**不会改变**结果：每个词元仍由大模型决定。The gain is $\\frac{1 - a^{k+1}}{1 - a}$ tokens a round, with "
    "$a$ the acceptance and $k$ the length of the draft.",
    "> The answer is the same, only sooner.\n\nSee [the paper](https://arxiv.org/abs/2211.17192) for the proof, and "
    "measure it on the machine at hand before believing any number.",
)
_PATTERN = ("target", "draft", "draft", "n-gram", "draft")


def message(seed: int, tokens: int) -> str:
    """Markdown of about so many tokens (four letters each)."""
    rng = random.Random(seed)  # noqa: S311
    parts: list[str] = []
    while sum(map(len, parts)) < tokens * 4:
        parts.append(rng.choice(_PARTS))
    return "\n\n".join(parts)


def pieces(text: str) -> Iterator[str]:
    """Tokens of three to five letters."""
    sizes = itertools.cycle((4, 3, 5, 4))
    at = 0
    while at < len(text):
        size = next(sizes)
        yield text[at : at + size]
        at += size


def contents(count: int, tokens: int) -> list[MessageContent]:
    """A chat whose answers have origins."""
    made = []
    for index in range(count):
        text = message(index, tokens)
        runs = tuple(
            OriginRun(len(piece), _PATTERN[n % 5], RoundNote("draft", 4, 3)) for n, piece in enumerate(pieces(text))
        )
        made.append(MessageContent(index, "assistant" if index % 2 else "user", text, runs))
    return made


class Cost(NamedTuple):
    """Of one update. Processor time is what remains comparable on a machine that others use."""

    wall_ms: float
    cpu_ms: float


class Bench:
    """One window, many measurements."""

    def __init__(self, application: QApplication, origins: bool) -> None:
        self._application = application
        self._theme = theme.apply(application, theme.ThemeChoice.LIGHT)
        self._origins = origins
        self._canvas = QPixmap(900, 700)  # offscreen windows repaint only now and then, so everything is painted here

    def window(self) -> Transcript:
        """A fresh transcript of 900 x 700."""
        made = Transcript(self._theme, theme.text_font(10.5))
        made.set_origins_visible(self._origins)
        made.resize(900, 700)
        made.show()
        self._settle()
        return made

    def opening(self, count: int, tokens: int) -> dict[str, float]:
        """Milliseconds to the first paint of a chat, and until everything near is built."""
        window, chat = self.window(), contents(count, tokens)
        started, spent = time.perf_counter(), time.process_time()
        window.show_chat(chat)
        window.render(self._canvas)
        first, cpu = _ms(started), round((time.process_time() - spent) * 1000, 2)
        self._settle()
        settled = _ms(started)
        scroll = [self._scroll(window, part / 20) for part in range(20)]
        window.deleteLater()
        self._settle()
        return {"first_paint_ms": first, "first_paint_cpu_ms": cpu, "settled_ms": settled, "jump_ms_max": max(scroll)}

    def streaming(self, count: int, tokens: int) -> dict[str, float]:
        """Milliseconds of each update (text, layout and paint) while an answer of 400 tokens grows."""
        window = self.window()
        window.show_chat([*contents(count, tokens), MessageContent("live", "assistant", "")])
        self._settle()
        window.begin_stream("live")
        updates = [self._update(window, piece, n) for n, piece in enumerate(pieces(message(7, tokens)))]
        started = time.perf_counter()
        window.end_stream("live", "18 tok/s")
        window.render(self._canvas)
        final = _ms(started)
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

    def _update(self, window: Transcript, piece: str, number: int) -> Cost:
        started, spent = time.perf_counter(), time.process_time()
        window.stream("live", piece, ((piece, _PATTERN[number % 5]),), RoundNote("draft", 4, 3))
        window.view(window.index_of("live")).flush()
        self._application.processEvents()
        window.render(self._canvas)
        return Cost(_ms(started), round((time.process_time() - spent) * 1000, 2))

    def _scroll(self, window: Transcript, part: float) -> float:
        bar = window.verticalScrollBar()
        started = time.perf_counter()
        bar.setValue(int(bar.maximum() * part))
        window.render(self._canvas)
        return _ms(started)

    def _settle(self) -> None:
        for _ in range(50):
            self._application.processEvents()
            self._application.sendPostedEvents(None, 52)  # QEvent.Type.DeferredDelete
        gc.collect()


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, nargs="+", default=[10, 100, 200, 1000])
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--origins", action="store_true", help="colour tokens by origin while streaming")
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication(sys.argv[:1])
    bench = Bench(application, given.origins)
    bench.streaming(2, given.tokens)  # warms lexers and fonts
    found: dict[str, object] = {"tokens": given.tokens, "origins": given.origins, "python": sys.version.split()[0]}
    for count in given.messages:
        found[f"{count} messages"] = {
            **bench.streaming(count, given.tokens),
            **bench.opening(count, given.tokens),
            "rss_mb": round(psutil.Process().memory_info().rss / 2**20),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
