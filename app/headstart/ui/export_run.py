"""Runs `headstart-export` as a child process, line by line, and ends it on demand. Knows no widget."""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from headstart import paths

_GRACE_MS = 3000
PROGRAM = "headstart-export"
FIRST = "smollm2-135m-instruct"
# The same lines whoever starts it, and no bar drawn over itself: output goes to a pipe.
_MODULE_CALL = "import sys; from headstart_export.cli import main; sys.exit(main())"
_STEP = re.compile(r"^(\S.*) \.\.\.$")
_BYTES = re.compile(r"^\s+([\d.]+) (MB|GB) of ([\d.]+) (MB|GB)$")
_UNITS = {"MB": 1e6, "GB": 1e9}
_LEFTOVERS = ".headstart-export-*"  # folders in which the exporter works, with the owner's number in `owner.json`


def command() -> tuple[str, ...] | None:
    """How to start the exporter; None where it is not installed with all that it needs."""
    if (own := _in_own_environment(PROGRAM)).is_file():
        return (str(own),)
    if find_spec("torch") is None or find_spec("nncf") is None:
        return None
    beside = Path(sys.executable).with_name(PROGRAM)
    if found := (str(beside) if beside.is_file() else shutil.which(PROGRAM)):
        return (found,)
    return (sys.executable, "-c", _MODULE_CALL) if find_spec("headstart_export") else None


def install_command(source: str) -> str:
    """What to type in a terminal to have the exporter, and a model: Headstart is on no package index."""
    wheel = paths.bundled_wheel()
    if wheel is None:
        return f'pip install ".[export]" && {PROGRAM} {source}'
    folder, pip, exporter = paths.exporter_folder(), _in_own_environment("pip"), _in_own_environment(PROGRAM)
    return f'python3 -m venv "{folder}" && "{pip}" install "{wheel}[export]" && "{exporter}" {source}'


def _in_own_environment(program: str) -> Path:
    folder, ending = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    return paths.exporter_folder() / folder / f"{program}{ending}"


class ExportRun(QObject):
    """At most one export at a time."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this step, of how many
    ended = Signal(bool, str)  # whether a model was made, and the last sentence

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._process: QProcess | None = None
        self._pid = 0
        self._rest = ""
        self._last = ""
        self._cancelled = False
        self._grace = QTimer(self, singleShot=True, interval=_GRACE_MS)
        self._grace.timeout.connect(self._kill)

    @property
    def is_running(self) -> bool:
        """Whether an export goes on."""
        return self._process is not None

    def start(self, program: Sequence[str], words: Sequence[str]) -> None:
        """Export a recipe, hub id, folder or .gguf file into the library; `words` may hold options."""
        assert self._process is None, "one export at a time"
        self._rest = self._last = ""
        self._cancelled = False
        self._process = process = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._note_error)
        process.started.connect(self._note_start)
        process.start(program[0], [*program[1:], *words])

    def cancel(self) -> None:
        """End it; nothing half done is left in the library, and what was fetched is used the next time."""
        if self._process:
            self._cancelled = True
            self._interrupt()
            self._grace.start()

    def close(self) -> None:
        """The window closes."""
        if self._process:
            self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self._process.kill()
            self._process.waitForFinished(_GRACE_MS)
            self._process = None
            self._sweep()

    @Slot()
    def _note_start(self) -> None:
        assert self._process
        self._pid = int(self._process.processId())

    def _interrupt(self) -> None:
        """As Ctrl+C does, so that the exporter can clear up; Windows has nothing of the kind for a child."""
        assert self._process
        if sys.platform == "win32" or not self._process.processId():
            self._process.terminate()
        else:
            os.kill(int(self._process.processId()), signal.SIGINT)

    @Slot()
    def _kill(self) -> None:
        if self._process:
            self._process.kill()

    @Slot()
    def _read(self) -> None:
        assert self._process
        self._rest += bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        *lines, self._rest = self._rest.replace("\r", "\n").split("\n")
        for line in filter(str.strip, lines):
            self._last = line.strip()
            self.said.emit(line.rstrip())
            self._understand(line.rstrip())

    def _understand(self, line: str) -> None:
        if step := _STEP.match(line):
            self.stepped.emit(step[1])
        elif counted := _BYTES.match(line):
            done, total = (float(counted[at]) * _UNITS[counted[at + 1]] for at in (1, 3))
            self.progressed.emit(int(done), int(total))

    @Slot(QProcess.ProcessError)
    def _note_error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process:
            self._end(
                made=False, sentence=self.tr("The export cannot be started: {}").format(self._process.errorString())
            )

    @Slot(int, QProcess.ExitStatus)
    def _finish(self, code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        if status != QProcess.ExitStatus.NormalExit and not self._cancelled:
            self._last = self.tr("The export was ended from outside, perhaps for want of memory.")
        made = code == 0 and status == QProcess.ExitStatus.NormalExit
        self._end(made=made, sentence=self.tr("Cancelled.") if self._cancelled and not made else self._last)

    def _end(self, *, made: bool, sentence: str) -> None:
        self._grace.stop()
        process, self._process = self._process, None
        if process:
            process.deleteLater()
        if not made:
            self._sweep()
        self.ended.emit(made, sentence.removeprefix(f"{PROGRAM}: "))

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
