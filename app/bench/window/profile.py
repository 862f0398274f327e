"""A window on a temporary profile, and the delay of its thread, for measurements."""

import argparse
import os
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psutil
from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from bench.toy import PROGRAM
from headstart import paths
from headstart.chat.history.store import open_store
from headstart.engine.engine import LoadOptions
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable
from headstart.ui.program import EngineSource, Program

Figures = dict[str, float]
HOME = "HEADSTART_HOME"
_BEAT_MS = 5
_LOAD_S = 300


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help begins with the first line of a program's docstring."""
    return argparse.ArgumentParser(description=(doc or "").partition("\n")[0])


def make_application() -> QApplication:
    """Create an application that needs no screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return QApplication(sys.argv[:1])


def toy_model(_settings: Settings) -> Loadable:
    """Return the models of the toy engine."""
    return Loadable("toy", LoadOptions(Path("toy")))


@contextmanager
def own_home(kept: Path | None = None, *, with_models: bool = False) -> Iterator[Path]:
    """Context manager with a temporary profile, or `kept`, and with the installed models if they are needed."""
    models = paths.models_folder()
    with tempfile.TemporaryDirectory(prefix="headstart-bench-") as folder:
        home = kept or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        if with_models:
            (home / models.name).symlink_to(models)
        with mock.patch.dict(os.environ, {HOME: str(home)}):
            yield home


@contextmanager
def opened(application: QApplication, model: str = "", tokens: int = 0) -> Iterator[Program]:
    """Context manager with the window and a loaded model, or the toy, on the profile in $HEADSTART_HOME.

    Raises TimeoutError if the model is not loaded in time.
    """
    toy = None if model else EngineSource(PROGRAM, toy_model)
    program = Program(application, open_store(paths.history_folder()), toy)
    program.start()
    program.window.show()
    program.window.show_page(program.window.chat)
    if model:
        program.settings.change(model=model, max_new_tokens=tokens)
        program.model_in_use.load()
    try:
        end = time.monotonic() + _LOAD_S
        while not (program.loader.is_ready and (not model or program.loader.name(program.settings.now) == model)):
            application.processEvents()
            time.sleep(0.02)  # else the engine, which loads, would have a processor less
            if time.monotonic() > end:
                raise TimeoutError("the model was not loaded in time")
        yield program
    finally:
        program.window.close()


class Heartbeat(QObject):
    """A timer that notes the delay of each of its beats."""

    def __init__(self) -> None:
        super().__init__()
        self._late_ms = array("d")  # a soak would see the memory of single floats
        self._last = 0.0
        self._timer = QTimer(self, interval=_BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to note delays."""
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> Figures:
        """Return the median delay of a beat, its 99th percentile, and its maximum."""
        self._timer.stop()
        late = sorted(self._late_ms)
        return {
            "beats": len(late),
            "late_p50_ms": round(late[len(late) // 2], 2),
            "late_p99_ms": round(late[int(len(late) * 0.99)], 2),
            "late_max_ms": round(late[-1], 2),
            "over_50_ms": sum(value > 50 for value in late),
        }

    @Slot()
    def _beat(self) -> None:
        now = time.perf_counter()
        self._late_ms.append(max(0.0, (now - self._last) * 1000 - _BEAT_MS))
        self._last = now


def timed(act: Callable[[], object], repeats: int) -> Figures:
    """Return the median and the worst time of some runs."""
    return summary(milliseconds(act) for _ in range(repeats))


def milliseconds(act: Callable[[], object]) -> float:
    """Return the milliseconds of one call."""
    started = time.perf_counter()
    act()
    return round((time.perf_counter() - started) * 1000, 2)


def summary(values: Iterable[float]) -> Figures:
    """Return the median and the worst of some values."""
    known = list(values)
    return {"median_ms": round(statistics.median(known), 1), "worst_ms": round(max(known), 1)}


def resident_mb(process: psutil.Process | None = None) -> float:
    """Return the memory of a process, by default of this one."""
    return round(float((process or psutil.Process()).memory_info().rss) / 2**20, 2)
