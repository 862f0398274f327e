"""Runs `headstart-export` as a child process, line by line, and ends it on demand."""

import json
import logging
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, Signal, Slot

from headstart import paths
from headstart.errors import Translatable
from headstart.exporter import PROGRAM
from headstart.ui.line_child import Ending, LineChild
from headstart.ui.translation import said

_TRIED = "run"  # the exporter's word for a recipe that its tests carry out
_KILL_WAIT = 2000  # ms
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """One that can be exported by name. Sizes are in bytes: the most that is downloaded, and that it takes."""

    name: str
    kind: str
    title: str
    licence: str
    is_tried: bool
    download: int
    result: int


class Catalogue(QObject):
    """Asks once; without an answer nothing is offered by name, and everything can still be typed."""

    found = Signal(object)  # tuple[Recipe, ...]

    def __init__(self, parent: QObject | None = None) -> None:
        """Asks nothing yet."""
        super().__init__(parent)
        self._process: QProcess | None = None

    def ask(self, program: Sequence[str]) -> None:
        """`found` follows; the second time nothing happens."""
        if self._process is None:
            self._process = QProcess(self)
            self._process.finished.connect(self._read)
            self._process.start(program[0], [*program[1:], "--list", "--json"])

    def close(self) -> None:
        """The window closes."""
        if self._process:
            self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self._process.kill()
            self._process.waitForFinished(_KILL_WAIT)

    @Slot()
    def _read(self) -> None:
        assert self._process
        try:
            self.found.emit(parse(self._process.readAllStandardOutput().data()))
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("the exporter does not tell what it can make: %r", error)


def parse(text: bytes | bytearray | memoryview) -> tuple[Recipe, ...]:
    """The list as the exporter prints it. Raises ValueError, KeyError or TypeError."""
    return tuple(_recipe(item) for item in json.loads(bytes(text)))


def _recipe(item: dict[str, Any]) -> Recipe:
    name, kind, title, licence = (str(item[name]) for name in ("name", "kind", "title", "licence"))
    is_tried = item["checked"] == _TRIED
    return Recipe(name, kind, title, licence, is_tried, int(item["download"]), int(item["result"]))


FIRST = "smollm2-135m-instruct"
_STEP = re.compile(r"^(\S.*) \.\.\.$")
_BYTES = re.compile(r"^\s+([\d.]+) (MB|GB) of ([\d.]+) (MB|GB)$")
_UNITS = {"MB": 1e6, "GB": 1e9}
_LEFTOVERS = ".headstart-export-*"  # folders in which the exporter works, with the owner's number in `owner.json`


class ExportRun(QObject):
    """At most one export at a time."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this step, of how many
    ended = Signal(bool, str)  # whether a model was made, and the last sentence

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._child = LineChild(self)
        self._pid = 0
        self._last = ""
        self._cancelled = False
        self._child.said.connect(self._take)
        self._child.ended.connect(self._finish)

    @property
    def is_running(self) -> bool:
        """Whether an export goes on."""
        return self._child.is_running

    def start(self, program: Sequence[str], words: Sequence[str]) -> None:
        """Export a recipe, hub id, folder or .gguf file into the library; `words` may hold options."""
        self._last = ""
        self._cancelled = False
        self._child.start([*program, *words, "--json"])
        self._pid = self._child.pid

    def cancel(self) -> None:
        """End it; nothing half done is left in the library, and what was fetched is used the next time."""
        if self._child.is_running:
            self._cancelled = True
            self._child.interrupt()

    def close(self) -> None:
        """The window closes."""
        if self._child.is_running:
            self._child.close()
            self._sweep()

    @Slot(str)
    def _take(self, line: str) -> None:
        if line.startswith("{") and self._take_result(line):
            return
        self._last = line.strip().removeprefix(f"{PROGRAM}: ")
        self.said.emit(line)
        if step := _STEP.match(line):
            self.stepped.emit(step[1])
        elif counted := _BYTES.match(line):
            done, total = (float(counted[at]) * _UNITS[counted[at + 1]] for at in (1, 3))
            self.progressed.emit(int(done), int(total))

    def _take_result(self, line: str) -> bool:
        """Whether this is the exporter's JSON: where the model lies, or what went wrong."""
        try:
            result = json.loads(line)
            self._last = result.get("output") or said(Translatable.from_data(result["error"]))
        except (ValueError, KeyError):
            return False
        return True

    @Slot(object)
    def _finish(self, ending: Ending) -> None:
        if ending.fault:
            self._last = self.tr("The export cannot be started: {}").format(ending.fault)
        elif self._cancelled and not ending.is_good:
            self._last = self.tr("Cancelled.")
        elif ending.crashed:
            self._last = self.tr("The export was ended from outside, perhaps for want of memory.")
        if not ending.is_good:
            self._sweep()
        self.ended.emit(ending.is_good, self._last)

    def _sweep(self) -> None:
        """Remove what a killed exporter could not; where it was about to replace a model, only it may put that back."""
        for folder in paths.models_folder().glob(_LEFTOVERS):
            if _owner(folder) == self._pid and not (folder / "replaced").exists():
                shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> int | None:
    try:
        data = json.loads((folder / "owner.json").read_text(encoding="utf-8"))
        return int(data["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
