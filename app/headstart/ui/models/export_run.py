"""The exporter as a child process that talks in lines: what it can make, and a model being made."""

import json
import logging
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from headstart import paths
from headstart.errors import Translatable
from headstart.exporter import PROGRAM, kill
from headstart.ui.translation import said

_log = logging.getLogger(__name__)
_GRACE_MS = 3000


@dataclass(frozen=True)
class Ending:
    """How it went. `fault`: why it could not even be started."""

    code: int
    crashed: bool = False
    fault: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it did what it was for."""
        return self.code == 0 and not self.crashed and not self.fault


class LineProcess(QObject):
    """At most one process at a time."""

    said = Signal(str)  # a line with something in it
    ended = Signal(object)  # Ending

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._process: QProcess | None = None
        self._rest = ""
        self._grace = QTimer(self, singleShot=True, interval=_GRACE_MS)
        self._grace.timeout.connect(self.kill)

    @property
    def is_running(self) -> bool:
        """Whether its end is still to come."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Its number; 0 where it was not started or has gone."""
        return int(self._process.processId()) if self._process else 0

    def start(self, command: Sequence[str], *, merged: bool = True) -> None:
        """`ended` follows once; `merged` with what it says of errors."""
        assert self._process is None, "one process at a time"
        self._rest = ""
        self._process = process = QProcess(self)
        modes = QProcess.ProcessChannelMode
        process.setProcessChannelMode(modes.MergedChannels if merged else modes.SeparateChannels)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._note_error)
        process.start(command[0], list(command[1:]))

    def interrupt(self) -> None:
        """As Ctrl+C does, so that it can clear up, and harder after a grace; Windows has no Ctrl+C for a child."""
        if self._process is None:
            return
        if sys.platform == "win32" or not self.pid:
            self._process.terminate()
        else:
            os.kill(self.pid, signal.SIGINT)
        self._grace.start()

    @Slot()
    def kill(self) -> None:
        """End it, and what it has started."""
        if self._process:
            if self.pid:
                kill(self.pid)
            self._process.kill()

    def close(self) -> None:
        """End it and wait until it has gone: only when the window closes. Emits nothing more."""
        if self._process:
            self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self.kill()
            self._process.waitForFinished(_GRACE_MS)
            self._process = None

    @Slot()
    def _read(self) -> None:
        assert self._process
        self._rest += bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        *lines, self._rest = self._rest.replace("\r", "\n").split("\n")
        for line in filter(str.strip, lines):
            self.said.emit(line.rstrip())

    @Slot(QProcess.ProcessError)
    def _note_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process:  # `finished` does not follow
            self._end(Ending(-1, fault=self._process.errorString()))

    @Slot(int, QProcess.ExitStatus)
    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        if self._rest.strip():
            self.said.emit(self._rest.rstrip())
        self._end(Ending(code, crashed=status != QProcess.ExitStatus.NormalExit))

    def _end(self, ending: Ending) -> None:
        self._grace.stop()
        process, self._process = self._process, None
        if process:
            process.deleteLater()
        self.ended.emit(ending)


_TRIED = "run"  # the exporter's word for a recipe that its tests carry out


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
        self._child: LineProcess | None = None
        self._lines: list[str] = []

    def ask(self, program: Sequence[str]) -> None:
        """`found` follows; the second time nothing happens."""
        if self._child is None:
            self._child = LineProcess(self)
            self._child.said.connect(self._lines.append)
            self._child.ended.connect(self._read)
            self._child.start([*program, "--list", "--json"], merged=False)

    def close(self) -> None:
        """The window closes."""
        if self._child:
            self._child.close()

    @Slot()
    def _read(self) -> None:
        try:
            self.found.emit(parse("\n".join(self._lines)))
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("the exporter does not tell what it can make: %r", error)


def parse(text: str) -> tuple[Recipe, ...]:
    """The list as the exporter prints it. Raises ValueError, KeyError or TypeError."""
    return tuple(_recipe(item) for item in json.loads(text))


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
        self._child = LineProcess(self)
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
