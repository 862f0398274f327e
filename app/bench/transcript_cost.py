"""What the transcript costs: updates while an answer grows, opening a chat, jumping in it."""

import gc
import time
from typing import NamedTuple

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QApplication

from bench.corpus import PATTERN, contents, message, pieces
from headstart.ui.chat.message import MessageContent, OriginRun, RoundNote
from headstart.ui.chat.transcript import Transcript
from headstart.ui.widgets import theme

_CHUNK = 500  # tokens that come at once of what an answer had before


class Cost(NamedTuple):
    """Of one update. Processor time is what remains comparable on a machine that others use."""

    wall_ms: float
    cpu_ms: float


class TranscriptCost:
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

    def streaming(self, count: int, tokens: int, already: int = 0) -> dict[str, float]:
        """Milliseconds of each update (text, layout and paint) while an answer of 400 tokens grows.

        `already`: tokens that it had before.
        """
        window = self.window()
        window.show_chat([*contents(count, tokens), MessageContent("live", "assistant", "")])
        self._settle()
        window.view_of("live").begin_stream()
        for start in range(0, already, _CHUNK):
            self._update(window, message(start, min(_CHUNK, already - start)) + "\n\n", 0)
        updates = [self._update(window, piece, n) for n, piece in enumerate(pieces(message(7, tokens)))]
        started = time.perf_counter()
        window.end_stream(MessageContent("live", "assistant", "", stats="18 tok/s"))
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
        window.view_of("live").append(piece, (OriginRun(len(piece), PATTERN[number % 5], RoundNote("draft", 4, 3)),))
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
