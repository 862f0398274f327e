"""A profile like that of somebody who has used the window for a week: chats, tags, models.

What the models say and measure comes from `showcase.json`, recorded on real ones by `screenshots.py --record`.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from headstart import paths
from headstart.chat.history.database import FILE_NAME
from headstart.chat.history.store import open_store
from headstart.engine.protocol import BenchSize
from headstart.library import manifest, vocabulary
from headstart.ui.engine_request import installed_model
from headstart.ui.program import EngineSource, Program

HERE = Path(__file__).parent
RECORDED = HERE / "showcase.json"  # what the engine said
MODELS = HERE / "showcase-models.json"  # what the manifests say
_VOCABULARY = 400  # tokens kept of each vocabulary: the first differences lie among them
_DAY, _LIMIT = 24 * 3600.0, 900.0  # seconds
_WINDOW = (1180, 780)
_CALM_MS = 150  # for what timers put off
CHAT: dict[str, object] = {"max_new_tokens": 260}
SIZE = BenchSize(prompts=1, tokens=32, repeats=2, with_peer=True)


@dataclass(frozen=True)
class Talk:
    """A chat: its questions, its age, and its place."""

    title: str
    questions: tuple[str, ...]
    days: float = 0.0
    tags: tuple[str, ...] = ()
    pinned: bool = False


TALKS = (
    Talk(
        "Regex for ISO dates",
        ("Write a regular expression for ISO 8601 dates and explain it briefly.",),
        9.0,
        ("work",),
    ),
    Talk("摄氏度换算", ("写一个把摄氏度换算成华氏度的 Python 函数，并用一句话解释公式。",), 3.0, ("reading",)),
    Talk(
        "Lists, tuples and sets",
        (
            "Compare Python lists, tuples and sets in a small Markdown table, then say in one sentence when to use "
            "each.",
        ),
        1.0,
        ("work", "reading"),
        pinned=True,
    ),
    Talk("Names for a sailing boat", ("Suggest six names for a small sailing boat, each with a short reason.",), 0.9),
    Talk(
        "Is it a palindrome?",
        (
            "Write a Python function is_palindrome(text) with a docstring and type hints. Answer with the code only.",
            "Now let it ignore case, spaces and punctuation. Answer with the whole code.",
        ),
        tags=("work",),
    ),
)


class Showcase:
    """The window on such a profile, at HEADSTART_HOME."""

    program: Program

    def __init__(self, application: QApplication, mode: str = "play") -> None:
        """`mode` of the tape: `record` has the real engine answer, with the models that are installed."""
        self._application = application
        self._open(mode)

    def talk(self) -> None:
        """Have every chat, then set its age."""
        for talk in TALKS:
            self.program.chats.open_new()
            session = self.program.chat_controller.session
            session.change_settings(CHAT)
            for question in talk.questions:
                session.ask(question)
                self.settle(lambda: not self.program.chat_controller.session.is_answering)
            self.program.chats.rename(session.chat.id, talk.title)
            self.program.chats.pin(session.chat.id, pinned=talk.pinned)
            for tag in talk.tags:
                self.program.tags.create(tag, (session.chat.id,))
        self.program.window.close()
        with closing(sqlite3.connect(paths.history_folder() / FILE_NAME)) as connection, connection:
            change = "UPDATE chat SET created = created - ?1, updated = updated - ?1 WHERE title = ?2"
            connection.executemany(change, [(talk.days * _DAY, talk.title) for talk in TALKS])
        self._open(self._mode)

    def reopen(self, mode: str = "play") -> None:
        """Restart the window, as after a setting that needs it."""
        self.program.window.close()
        self._open(mode)

    def settle(self, until: Callable[[], bool] = lambda: True) -> None:
        """Run the event loop until a condition holds."""
        end = time.monotonic() + _LIMIT
        while True:
            loop = QEventLoop()
            QTimer.singleShot(_CALM_MS, loop.quit)
            loop.exec()
            if until():
                return
            if time.monotonic() > end:
                raise SystemExit("it never came to an end")

    def _open(self, mode: str) -> None:
        self._mode = mode
        engine = EngineSource((sys.executable, "-P", "-m", "bench.window.tape", mode, str(RECORDED)), installed_model)
        self.program = Program(self._application, open_store(paths.history_folder()), engine)
        self.program.start()
        self.program.window.resize(*_WINDOW)
        self.program.window.show()
        if self.program.choices.usable:
            self.settle(lambda: self.program.loader.is_ready)


def install() -> None:
    """Install the models of the recording: real manifests, and files of the real size without content."""
    known: Mapping[str, Any] = json.loads(MODELS.read_text(encoding="utf-8"))
    for name, part in known.items():
        folder = paths.models_folder() / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, about in part["manifest"].get("files", {}).items():
            place = folder / file
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("wb") as stream:
                stream.truncate(about["size"])
        (folder / manifest.FILE_NAME).write_text(json.dumps(part["manifest"]), encoding="utf-8")
        if "vocabulary" in part:
            words = {word: index for index, word in enumerate(part["vocabulary"])}
            size = part["manifest"]["files"][vocabulary.FILE_NAME]["size"]
            text = json.dumps({"model": {"vocab": words}, "added_tokens": []})
            (folder / vocabulary.FILE_NAME).write_text(text.ljust(size), encoding="ascii")


def note_models() -> None:
    """Store the manifests that `install` needs."""
    root = paths.models_folder()
    known: dict[str, object] = {}
    # Not rglob: a model may be a link to one that is elsewhere.
    for path in sorted((*root.glob(f"*/{manifest.FILE_NAME}"), *root.glob(f"*/*/{manifest.FILE_NAME}"))):
        found: dict[str, object] = {"manifest": json.loads(path.read_text(encoding="utf-8"))}
        if (path.parent / vocabulary.FILE_NAME).is_file():
            words = vocabulary.read(path.parent)
            found["vocabulary"] = [words.get(index, "") for index in range(_VOCABULARY)]
        known[path.parent.relative_to(root).as_posix()] = found
    MODELS.write_text(json.dumps(known, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
