"""Sets the exporter up in an environment of its own, by child processes, when a person asks for it. Knows no widget."""

import logging
import shutil
from collections import deque
from pathlib import Path

from PySide6.QtCore import QObject, QProcessEnvironment, Signal, Slot

from headstart import exporter, paths
from headstart.ui.background_task import BackgroundTask
from headstart.ui.line_child import Ending, LineChild
from headstart.ui.models import pip_lines, python_search, setup_faults
from headstart.ui.models.python_search import Python, PythonSearch

# Measured with PyTorch for processors alone: what is fetched, and what it is on the disk when all is unpacked.
FETCHED, SIZE = 500_000_000, 2_100_000_000
_ROOM = SIZE + 2 * FETCHED  # pip has each file in its cache, too, and unpacks them all at the end
_LINES = 400  # the last ones tell why it failed
_QUIET = ("-I", "-u", "-X", "utf8")  # no variable and no folder of the user decides what is imported
_TRIAL = "import headstart_export.cli, nncf, optimum.intel, torch, transformers"
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
_log = logging.getLogger(__name__)


class ExporterSetup(QObject):
    """One at a time. What is not made to its end is never used, and goes."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this file, of how many
    ended = Signal(bool, str)  # whether it can be used, and if not why

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet, and opens no network before `start`."""
        super().__init__(parent)
        self._search = PythonSearch(self)
        self._child = LineChild(self)
        self._python: Python | None = None
        self._steps: list[tuple[str, tuple[str, ...]]] = []
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._cancelled = False
        self._sweeping: BackgroundTask | None = None
        self._search.ended.connect(self._begin)
        self._child.said.connect(self._take)
        self._child.ended.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Whether one goes on."""
        return self._search.is_running or self._child.is_running

    def start(self) -> None:
        """Look for a Python, make an environment with it, fetch the packages and try them."""
        assert not self.is_running, "one set-up at a time"
        self._cancelled = False
        self._lines.clear()
        self.stepped.emit(self.tr("Looking for Python"))
        self._search.start()

    def cancel(self) -> None:
        """End it; what was fetched to its end is in pip's cache, and not fetched again."""
        self._cancelled = self.is_running
        self._search.kill()
        self._child.kill()

    def close(self) -> None:
        """The window closes: the processes end; what they made is removed when the page is shown the next time."""
        self._search.close()
        self._child.close()
        if self._sweeping:
            self._sweeping.cancel()

    def sweep(self) -> None:
        """Remove what one that was cut short has left, on a thread of its own."""
        if self.is_running:
            return
        if exporter.is_abandoned():
            self._put_away()
        if exporter.has_remains():
            self._sweeping = BackgroundTask(_sweep, self)
            self._sweeping.start()

    @Slot(object)
    def _begin(self, python: Python | None) -> None:
        free = _free()
        if self._cancelled:
            self._end(self.tr("Cancelled."))
        elif python is None or not python_search.will_do(python):
            self._end(setup_faults.lacking(python))
        elif free < _ROOM:
            self._end(setup_faults.no_room(_ROOM, free))
        else:
            self._make(python)

    def _make(self, python: Python) -> None:
        self._python = python
        self._take(f"Python {'.'.join(map(str, python.version))}: {python.path}")
        own = str(exporter.program("python"))
        bar = ("--progress-bar", pip_lines.progress_bar(python.pip))
        install = ("-m", "pip", "install", "--no-input", *bar, f"{paths.bundled_wheel()}[export]")
        self._steps = [  # the last one first
            (self.tr("Trying it"), (own, *_QUIET, "-c", _TRIAL)),
            (self.tr("Asking what is to be fetched"), (own, *_QUIET, *install)),
            (
                self.tr("Making an environment for it"),
                (python.path, *_QUIET, "-m", "venv", str(paths.exporter_folder())),
            ),
        ]
        try:
            exporter.begin()
        except OSError as error:
            self._end(setup_faults.other(str(error)))
        else:
            self._run_next()

    def _run_next(self) -> None:
        step, command = self._steps.pop()
        self.stepped.emit(step)
        self._child.start(command, _variables(exporter.scratch()))

    @Slot(str)
    def _take(self, line: str) -> None:
        told = pip_lines.told(line)
        if told.total:
            self.progressed.emit(told.done, told.total)
            return
        self._lines.append(line)
        self.said.emit(line)
        if told.step:
            self.stepped.emit(told.step)

    @Slot(object)
    def _go_on(self, ending: Ending) -> None:
        assert self._python
        if self._cancelled:
            self._end(self.tr("Cancelled."))
        elif not ending.is_good:
            self._end(setup_faults.reason(self._python, ending, self._lines))
        else:
            self._note_step()

    def _note_step(self) -> None:
        assert self._python
        try:
            if self._steps:
                exporter.mark_unfinished()
            else:
                exporter.mark_whole()
        except OSError as error:
            self._end(setup_faults.reason(self._python, Ending(-1), [str(error)]))
            return
        if self._steps:
            self._run_next()
        else:
            self.ended.emit(True, "")  # noqa: FBT003 - Qt's own signature

    def _end(self, sentence: str) -> None:
        if not exporter.is_whole():
            self._put_away()
        self.ended.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
        self.sweep()

    def _put_away(self) -> None:
        try:
            exporter.put_away()
        except OSError as error:  # its mark stays, so that it is not used, and it goes the next time
            _log.warning("what was left of the exporter's environment stays for now: %s", error)


def _variables(scratch: Path) -> QProcessEnvironment:
    """Those of the user, pip's settings among them, but for other Pythons; large files are kept where the room is."""
    variables = QProcessEnvironment.systemEnvironment()
    for name in _FOREIGN:
        variables.remove(name)
    for name in ("TMPDIR", "TMP", "TEMP"):
        variables.insert(name, str(scratch))
    for name, value in (("PIP_USER", "0"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")):
        variables.insert(name, value)
    return variables


def _free() -> int:
    folder = paths.data_folder()
    return shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.is_dir())).free


def _sweep(task: BackgroundTask) -> None:
    exporter.sweep(lambda: not task.is_cancelled)
