"""Adds models: by the exporter, set up first where asked, or by copying what was exported elsewhere."""

import json
import logging
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QT_TRANSLATE_NOOP, QObject, QThreadPool, Signal, Slot

from headstart import exporter, intake, manifest, paths
from headstart.errors import Translatable
from headstart.exporter import PROGRAM
from headstart.ui.background_task import BackgroundTask
from headstart.ui.line_process import Ending, LineProcess
from headstart.ui.models.add_model import recipes
from headstart.ui.translation import said, translate
from headstart.ui.widgets.progress import WorkCard

_log = logging.getLogger(__name__)
_GRACE_MS = 3000


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
            self.found.emit(recipes("\n".join(self._lines)))
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("the exporter does not tell what it can make: %r", error)


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


_STEPS = (
    QT_TRANSLATE_NOOP("ExporterSetup", "Looking for Python"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Making an environment for it"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Asking what is to be fetched"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Looking for {}"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Fetching {}"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Fetching {} ({})"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Unpacking {} packages, which takes some minutes"),
    QT_TRANSLATE_NOOP("ExporterSetup", "Trying it"),
)


class ExporterSetup(QObject):
    """One at a time."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this file, of how many
    ended = Signal(bool, str)  # whether it can be used, and if not why

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._setup: exporter.SetUp | None = None
        self._sweeping: BackgroundTask | None = None

    @property
    def is_running(self) -> bool:
        """Whether one goes on."""
        return self._setup is not None

    def start(self) -> None:
        """Look for a Python, make an environment with it, fetch the packages and try them."""
        assert not self.is_running, "one set-up at a time"
        setup = self._setup = exporter.SetUp(self)
        task = BackgroundTask(lambda _: setup.run(), self)
        task.done.connect(self._note_done)
        task.failed.connect(self._note_failure)
        task.start(self._pool)

    def cancel(self) -> None:
        """End it; `ended` follows."""
        if self._setup:
            self._setup.cancel()

    def close(self) -> None:
        """The window closes: the processes end, and what is left is removed when the page is shown the next time."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self.cancel()
        if self._sweeping:
            self._sweeping.cancel()
        self._pool.waitForDone(_GRACE_MS)

    def sweep(self) -> None:
        """Remove what one that was cut short has left, on a thread of its own."""
        if not self.is_running and exporter.has_remains():
            self._sweeping = BackgroundTask(_sweep, self)
            self._sweeping.start(self._pool)

    def note_line(self, line: str) -> None:
        """From the thread of the set-up, as the next two."""
        self.said.emit(line)

    def note_step(self, template: str, *values: object) -> None:
        """In the window's language."""
        self.stepped.emit(translate("ExporterSetup", template).format(*values))

    def note_progress(self, done: int, total: int) -> None:
        """Bytes of a file."""
        self.progressed.emit(done, total)

    @Slot(object)
    def _note_done(self, _: object) -> None:
        self._setup = None
        self.ended.emit(True, "")  # noqa: FBT003 - Qt's own signature

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        self._setup = None
        self.ended.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
        self.sweep()


def _sweep(task: BackgroundTask) -> None:
    exporter.sweep(lambda: not task.is_cancelled)


class AddModelController(QObject):
    """One thing at a time, shown on the card."""

    busy = Signal(bool)
    exported = Signal(bool, str)  # whether a model was made, and the last sentence
    added = Signal()
    named = Signal(str)  # a source that must be exported first
    recipes_found = Signal(object)  # tuple[Recipe, ...]
    ready = Signal()  # from now on models can be made here

    def __init__(self, card: WorkCard, parent: QObject | None = None) -> None:
        """Does nothing yet."""
        super().__init__(parent)
        self._card = card
        self._run = ExportRun(self)
        self._setup = ExporterSetup(self)
        self._next: tuple[str, ...] = ()
        self._fetching = self._is_cancelled = False
        self._copy: BackgroundTask | None = None
        self._catalogue = Catalogue(self)
        self._catalogue.found.connect(self.recipes_found)
        for part in (self._run, self._setup):
            part.said.connect(card.append)
            part.stepped.connect(card.show_step)
            part.progressed.connect(card.show_progress)
        self._run.ended.connect(self._note_export)
        self._setup.ended.connect(self._note_setup)
        card.cancel_requested.connect(self._cancel)

    @property
    def is_busy(self) -> bool:
        """Whether something is being added."""
        return self._run.is_running or self._setup.is_running or self._copy is not None

    @property
    def is_fetching(self) -> bool:
        """Whether something that may use the network runs: nothing else here does."""
        return self._fetching

    def find_recipes(self) -> None:
        """Ask the exporter, once; `recipes_found` follows where there is one."""
        self._setup.sweep()
        program = exporter.command()
        if program:
            self._catalogue.ask(program)

    @Slot(object)
    def export(self, words: Sequence[str]) -> None:
        """Make a model; `words` are those of `headstart-export`."""
        program = exporter.command()
        if program is None or self.is_busy:
            return
        self._card.begin(self.tr("Exporting {}").format(words[0]))
        self._fetching = True
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature
        self._run.start(program, words)

    @Slot(object)
    def set_up(self, words: Sequence[str]) -> None:
        """Have an exporter first, which opens the network, then make the model that `words` name, if any."""
        if self.is_busy:
            return
        self._next = tuple(words)
        self._card.begin(self.tr("Setting up the exporter"))
        self._fetching = True
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature
        self._setup.start()

    @Slot(str)
    def take(self, name: str) -> None:
        """A file or folder was dropped or chosen: copy an exported model, and name the source of one to be made."""
        path = Path(name)
        if self.is_busy:
            return
        if (path / manifest.FILE_NAME).is_file():
            self._begin_copy(path)
        elif path.suffix.lower() == ".gguf" or (path / "config.json").is_file():
            self.named.emit(str(path))
        else:
            self._card.begin(path.name)
            self._card.end(
                self.tr(
                    "This is not a model. Choose a folder that headstart-export made, a folder with config.json and "
                    "weights, or a .gguf file."
                ),
                bad=True,
            )

    def close(self) -> None:
        """The window closes."""
        self._run.close()
        self._setup.close()
        self._catalogue.close()
        if self._copy:
            self._copy.cancel()

    def _begin_copy(self, folder: Path) -> None:
        self._card.begin(self.tr("Adding {}").format(folder.name))
        self._card.show_step(self.tr("Copying it into the library, and comparing every file with its hash"))
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature
        self._copy = BackgroundTask(partial(_take_in, folder), self)
        self._copy.progressed.connect(self._card.show_progress)
        self._copy.done.connect(self._note_copy)
        self._copy.failed.connect(self._note_failure)
        self._copy.start()

    @Slot()
    def _cancel(self) -> None:
        self._is_cancelled = True
        self._run.cancel()
        self._setup.cancel()
        if self._copy:
            self._copy.cancel()
            self._end(self.tr("Cancelled."), bad=False)

    @Slot(bool, str)
    def _note_export(self, made: bool, sentence: str) -> None:
        self._end(self.tr("The model was made, checked and installed.") if made else sentence, bad=not made)
        self.exported.emit(made, sentence)
        if made:
            self.added.emit()

    @Slot(bool, str)
    def _note_setup(self, usable: bool, sentence: str) -> None:
        self._end(sentence or self.tr("The exporter is set up."), bad=not usable)
        if not usable:
            self.exported.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
            return
        self.ready.emit()
        self.find_recipes()
        if self._next:
            self.export(self._next)

    @Slot(object)
    def _note_copy(self, name: str) -> None:
        self._end(self.tr("{} is installed; every file is as it was exported.").format(name), bad=False)
        self.added.emit()

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool) -> None:
        self._copy = None
        self._fetching = False
        self._card.end(sentence, bad=bad and not self._is_cancelled)
        self._is_cancelled = False
        self.busy.emit(False)  # noqa: FBT003 - Qt's own signature


def _take_in(folder: Path, task: BackgroundTask) -> str:
    def go_on(done: int, total: int) -> bool:
        task.progressed.emit(done, total)
        return not task.is_cancelled

    try:
        return intake.take_in(folder, go_on)
    except intake.Stopped:
        return ""
