"""A profile with a window that may be killed: its printed lines, and whether the history holds them."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.chat.conversation import Role, State
from headstart.chat.history.store import Store, open_store
from tests.faults.window import checksum

ROOT = Path(__file__).resolve().parents[2]
UNSAVED = 1.0  # seconds of text that a kill may cost
_LIMIT = 180.0  # seconds for anything: at the lowest priority beside others, loading a model took over 120


class Lost(AssertionError):  # noqa: N818 - it is what happened, not an error of ours
    """A promise that was not kept."""


@dataclass
class PrintedLines:
    """The lines that a window has printed, in order."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the lines of one kind."""
        return [line for line in list(self.lines) if line["is"] == kind]


class Window:
    """A process on a profile, without a screen."""

    def __init__(self, home: Path, seed: int, pace: str = "", patience: float | None = None) -> None:
        """Start it. `pace` of the toy engine; None: the installed model. `patience`: with a silent engine."""
        self.told = PrintedLines()
        command = [sys.executable, "-m", "tests.faults.window", str(seed), pace]
        command += [] if patience is None else [str(patience)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self.errors = ""
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()

    def wait_for(self, kind: str, number: int = 1) -> dict[str, Any]:
        """Wait for the line of this kind and number, and return it."""
        ends = time.monotonic() + _LIMIT
        while len(self.told.of(kind)) < number:
            if time.monotonic() > ends or self.process.poll() is not None:
                raise Lost(f"no {kind} came from the window ({self.process.poll()}): {self.errors[-2000:]}")
            time.sleep(0.01)
        return self.told.of(kind)[number - 1]

    def kill(self) -> float:
        """Kill it, read the lines before, and return the time by the clock of its lines."""
        killed = time.monotonic()
        with suppress(ProcessLookupError):
            self.process.kill()
        self.join()
        return killed

    def join(self) -> int:
        """Wait for its end and read the rest."""
        code = self.process.wait(timeout=_LIMIT)
        for thread in (self._reading, self._draining):
            thread.join(timeout=_LIMIT)
        return code

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):
                    self.told.lines.append(json.loads(line))

    def _drain(self) -> None:
        assert self.process.stderr
        with self.process.stderr as text:
            self.errors = text.read()


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a window on this profile."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "app"), str(ROOT / "export")])
    own = {"HEADSTART_HOME": str(home), "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": path}
    return {**os.environ, **own, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


def require_kept(home: Path, printed: PrintedLines, ended: float, unsaved: float = UNSAVED) -> None:
    """Require all questions, and all text shown so many seconds before the end, in a sound history. Raises Lost."""
    store = open_store(home / "history")  # checks the file
    try:
        for sent in printed.of("sent"):
            texts = [m.text for m in store.conversation(sent["chat"]).messages.values() if m.role is Role.USER]
            if sent["text"] not in texts:
                raise Lost(f"a question is gone: {sent['text'][:60]}")
        for shown in printed.of("shown"):
            if shown["at"] < ended - unsaved:
                _require_text(store, shown)
    finally:
        store.close()


def _require_text(store: Store, shown: dict[str, Any]) -> None:
    message = store.conversation(shown["chat"]).messages.get(shown["message"])
    if message is None or len(message.text) < shown["length"]:
        have = None if message is None else len(message.text)
        raise Lost(f"{shown['length']} characters were shown, {have} are kept")
    if checksum(message.text[: shown["length"]]) != shown["sum"]:
        raise Lost("another text is kept than was shown")
    if message.state is State.STREAMING:
        raise Lost("an answer is still said to be written")
