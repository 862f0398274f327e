"""How late the window's thread is while a real model streams an answer into it."""

import time
from array import array
from collections.abc import Callable, Iterable

from PySide6.QtCore import QEventLoop, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from headstart.ui.program import Program

_BEAT_MS = 5
_LOAD_S = 300
PROMPT = (
    "Write a Python class for a binary search tree with insert, delete, search and in-order traversal. Explain each "
    "method in a sentence, add type hints, and end with a table of the complexities."
)


class Heartbeat(QObject):
    """A timer that notes how much later than it should it beats."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.late_ms = array("d")  # of floats on their own a soak would see the memory
        self._last = 0.0
        self._timer = QTimer(self, interval=_BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """From now on."""
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        """Up to now."""
        self._timer.stop()

    @Slot()
    def _beat(self) -> None:
        now = time.perf_counter()
        self.late_ms.append(max(0.0, (now - self._last) * 1000 - _BEAT_MS))
        self._last = now


def streaming(program: Program, application: QApplication, model: str, tokens: int) -> dict[str, object]:
    """Milliseconds late while the model reads and answers; raises TimeoutError where it does not load."""
    program.settings.change(model=model, max_new_tokens=tokens)
    program.model_in_use.load()
    wait(application, lambda: program.loader.is_ready and program.loader.name(program.settings.now) == model)
    heart, loop = Heartbeat(), QEventLoop()
    program.chat_controller.answered.connect(loop.quit)
    heart.start()
    program.chat_controller.session.send(PROMPT)
    loop.exec()
    heart.stop()
    answer = program.chat_controller.session.path[-1]
    return {"model": model, **lateness(heart.late_ms), "characters": len(answer.text)}


def lateness(late_ms: Iterable[float]) -> dict[str, float]:
    """Of all beats: how late half of them were at most, 99 of 100, and the latest."""
    late = sorted(late_ms)
    return {
        "beats": len(late),
        "late_p50_ms": round(late[len(late) // 2], 2),
        "late_p99_ms": round(late[int(len(late) * 0.99)], 2),
        "late_max_ms": round(late[-1], 2),
        "over_50_ms": sum(value > 50 for value in late),
    }


def wait(application: QApplication, is_so: Callable[[], bool]) -> None:
    """Until a model is loaded; raises TimeoutError."""
    end = time.monotonic() + _LOAD_S
    while not is_so():
        application.processEvents()
        time.sleep(0.02)  # else the engine, which loads, would have a processor less
        if time.monotonic() > end:
            raise TimeoutError("the model was not loaded in time")
