"""The speed of the search in folders, as the window does it: reading, searching, and a large PDF beside questions.

PYTHONPATH=app python app/bench/files/folder_speed.py [--passages 20000] [--pages 3000] [--every 20] [--words]

Reads a folder with that many passages, by words alone, then gives each passage vectors at random and asks questions:
the milliseconds are those from a question to its passages, first with the start of the model, then after the window had
unloaded it and the question was typed for three seconds, then in turn. Then reads a folder with a PDF of so many pages
and 30 notes, with a question on a note every so many seconds, and starts again at half of the PDF: the times are those
of the PDF alone, and beside the questions. The seconds of CPU are those of the reading processes, and hold on a busy
computer, too. Prints JSON. The installed model that turns texts into vectors is used, unless --words. A number of 0
leaves a part out.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer
from PySide6.QtGui import QGuiApplication, QPageSize, QPainter, QPdfWriter

from headstart.chat.conversation import Excerpt, Project
from headstart.chat.folders.folder_files import TextReader
from headstart.chat.folders.folder_index import FolderIndex, FolderState
from headstart.chat.folders.folder_question import understand
from headstart.chat.history.store import open_store
from headstart.ui.composer.attachments import reader_command
from headstart.ui.folders.embedder import find_model, installed_embedder
from headstart.ui.folders.folders_controller import FolderFindings, FoldersController

PROJECT = "Bench"
NOTES = 30
_LINES, _WORDS = 14, 12  # on a page of the PDF; in a line
_VOCABULARY = 50_000
_SILENCE_MS = 600_000
_QUESTIONS, _TYPING_MS = 20, 3000


class Window:
    """A project with one folder: its history, and the controller of its index, as in the window."""

    def __init__(self, home: Path, folder: Path, *, has_model: bool) -> None:
        """Open the history at `home`; make the project if there is none."""
        self.folder = str(folder)
        self._store = open_store(home)
        if not self._store.projects():
            self._store.add_project(Project(PROJECT, folders=(self.folder,)))
        find = installed_embedder if has_model else lambda: None
        self.controller = FoldersController(self._store, lambda: False, find)

    def close(self) -> None:
        """End the work, as the window does."""
        self.controller.close()
        self._store.close()

    def ask(self, question: str) -> tuple[float, tuple[Excerpt, ...]]:
        """Return the passages for a question, and the milliseconds until they came."""
        found: list[FolderFindings] = []
        started = time.perf_counter()
        assert self.controller.search(PROJECT, understand(question), found.append)
        wait(lambda: bool(found))
        return (time.perf_counter() - started) * 1000, found[0].excerpts

    def read(self, is_enough: Callable[[FolderState], bool], *, work: Callable[[], bool] = lambda: False) -> float:
        """Read the folder until a state, with some `work` beside. Return the seconds."""
        states: list[FolderState] = []
        self.controller.changed.connect(states.append)
        started = time.perf_counter()
        self.controller.update()
        wait(lambda: work() or any(map(is_enough, states)))
        self.controller.changed.disconnect()
        return time.perf_counter() - started


def wait(is_done: Callable[[], bool]) -> None:
    """Run the event loop until a condition holds."""
    loop, timer, limit = QEventLoop(), QTimer(interval=5), QTimer(interval=_SILENCE_MS, singleShot=True)

    def check() -> None:
        if is_done():
            loop.quit()

    timer.timeout.connect(check)
    limit.timeout.connect(loop.quit)
    timer.start()
    limit.start()
    loop.exec()
    assert limit.isActive(), "nothing happened for ten minutes"


def pause() -> None:
    """Run the event loop for the time in which a question is typed."""
    loop = QEventLoop()
    QTimer.singleShot(_TYPING_MS, loop.quit)
    loop.exec()


class RandomEmbedder:
    """Random vectors under a model's name: computing 20,000 takes long, and the search is the same."""

    def __init__(self, name: str, dimensions: int) -> None:
        self.name, self._dimensions = name, dimensions
        self._random = np.random.default_rng(1)

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:  # noqa: ARG002
        """Return a vector of the length 1 for each text."""
        rows = self._random.standard_normal((len(texts), self._dimensions)).astype("<f4")
        return [bytes((row / np.linalg.norm(row)).tobytes()) for row in rows]


def words(generator: random.Random, count: int) -> str:
    """Return made-up words, rare and usual ones."""
    ranks = (min(int(generator.paretovariate(0.7)), _VOCABULARY) for _ in range(count))
    return " ".join(f"w{rank * 7919 % _VOCABULARY:x}" for rank in ranks)


def measure_passages(home: Path, count: int, *, has_model: bool) -> dict[str, Any]:
    """Return the pace of reading, and the times of questions."""
    folder, generator = home / "many", random.Random(1)  # noqa: S311 - always the same
    folder.mkdir()
    size = 0
    for number in range(count // 10):
        text = "\n\n".join(words(generator, 190)[:1190] for _ in range(10))
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
        size += len(text)
    reading = Window(home / "many history", folder, has_model=False)
    with closing(reading):
        seconds = reading.read(lambda state: state.total is None and not state.problem)
    with FolderIndex(home / "many history", None) as index:
        passages = index.state(str(folder)).passages
        model = find_model() if has_model else None
        if model:
            embedder = installed_embedder()
            assert embedder
            (vector,) = embedder.embed(["any"])
            embedder.close()
            while index.embed([str(folder)], RandomEmbedder(model.name, len(vector) // 4)):
                pass
    asking = Window(home / "many history", folder, has_model=has_model)
    with closing(asking):
        cold = asking.ask(f"What about {words(generator, 5)}?")[0]
        asking.controller.unload()
        times = []
        for _ in range(_QUESTIONS):
            asking.controller.prepare(PROJECT)  # as the window does while the question is typed
            pause()
            times.append(asking.ask(f"What about {words(generator, 5)}?")[0])
    return {
        "passages": passages,
        "megabytes": round(size / 1e6, 1),
        "full_text_passages_per_s": round(passages / seconds),
        "pasted_after_start_ms": round(cold),
        "typed_after_idle_ms": round(times[0]),
        "question_ms": {"median": round(statistics.median(times[1:])), "most": round(max(times[1:]))},
    }


def write_pdf(path: Path, pages: int) -> None:
    """Write a document with text in lines."""
    writer, generator = QPdfWriter(str(path)), random.Random(2)  # noqa: S311
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setResolution(100)
    painter = QPainter(writer)
    for page in range(pages):
        if page:
            writer.newPage()
        for line in range(_LINES):
            painter.drawText(40, 60 + 24 * line, words(generator, _WORDS))
    painter.end()


def _readers_cpu() -> float:
    """Return the seconds of CPU of the reading processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def measure_pdf(home: Path, pages: int, every: float, *, has_model: bool) -> dict[str, Any]:
    """Return the times of a PDF alone and beside questions, and whether these were answered."""
    folder = home / "large"
    folder.mkdir()
    write_pdf(folder / "000.pdf", pages)
    for number in range(NOTES):
        text = f"# Note {number}\n\nThe code of locker {number} is {number * 7919}.\n"
        (folder / f"note {number:02}.txt").write_text(text, encoding="utf-8")
    started, used = time.perf_counter(), _readers_cpu()
    with closing(TextReader((*reader_command(), "-"))) as reader:
        alone_pages = sum(1 for _ in reader.read(folder / "000.pdf"))
    alone, alone_cpu = time.perf_counter() - started, _readers_cpu() - used
    used = _readers_cpu()
    questions: list[dict[str, Any]] = []
    shares: list[float] = []
    window = Window(home / "large history", folder, has_model=has_model)
    window.controller.changed.connect(lambda state: shares.append(state.share if state.reading else 0.0))
    next_question = time.monotonic()

    def ask() -> bool:
        nonlocal next_question
        if time.monotonic() >= next_question:
            next_question = time.monotonic() + every
            number = len(questions) % NOTES
            milliseconds, found = window.ask(f"What is the code of locker {number}?")
            is_found = any(f"is {number * 7919}." in excerpt.text for excerpt in found)
            questions.append({"ms": round(milliseconds), "found": is_found})
        return False

    first = window.read(lambda state: state.share >= (0.5 if state.reading else 2.0) or state.files > NOTES, work=ask)
    before = max(shares)
    window.close()
    shares.clear()
    window = Window(home / "large history", folder, has_model=has_model)
    window.controller.changed.connect(lambda state: shares.append(state.share if state.reading else 1.0))
    second = window.read(lambda state: state.total is None and not state.problem, work=ask)
    window.close()
    cpu = _readers_cpu() - used
    with FolderIndex(home / "large history", None) as index:
        state = index.state(str(folder))
        found = index.find([str(folder)], words(random.Random(2), 6))  # noqa: S311 - the first words of the PDF
    return {
        "pages": alone_pages,
        "megabytes": round((folder / "000.pdf").stat().st_size / 1e6, 1),
        "alone_s": round(alone, 1),
        "beside_questions_s": round(first + second, 1),
        "times": round((first + second) / alone, 2),
        "cpu_s": {"alone": round(alone_cpu, 1), "beside_questions": round(cpu, 1)},
        "share_before_restart": round(before, 3),
        "share_after_restart": round(shares[0], 3),
        "files": state.files,
        "first_page_found": any(excerpt.name.endswith("000.pdf") and excerpt.page == 1 for excerpt in found),
        "questions": questions,
    }


def main() -> None:
    """Read, ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000, metavar="N", help="of the folder that is searched")
    parser.add_argument("--pages", type=int, default=3_000, metavar="N", help="of the PDF")
    parser.add_argument("--every", type=float, default=20.0, metavar="S", help="seconds between questions")
    parser.add_argument("--words", action="store_true", help="by words alone, without a model")
    given = parser.parse_args()
    application = QCoreApplication.instance() or QGuiApplication([])
    model = None if given.words else find_model()
    result: dict[str, Any] = {"model": model.name if model else ""}
    parts = {
        "search": (given.passages, partial(measure_passages, count=given.passages)),
        "pdf": (given.pages, partial(measure_pdf, pages=given.pages, every=given.every)),
    }
    with tempfile.TemporaryDirectory() as name:
        for part, (count, measure) in parts.items():
            if count:
                result[part] = measure(Path(name), has_model=model is not None)
    print(json.dumps(result, indent=1))
    del application


if __name__ == "__main__":
    main()
