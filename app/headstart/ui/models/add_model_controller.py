"""The ways to add a model: the exporter, set up first if need be, or a copy of what was exported elsewhere."""

import json
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QT_TRANSLATE_NOOP, QObject, QThreadPool, Signal, Slot

from headstart import paths
from headstart.errors import ExporterNeededError, Translatable, UnreadableModelError
from headstart.library import exporter, import_folder, manifest
from headstart.library.exporter import DEFER_CHECKS, PROGRAM
from headstart.library.library import require_readable
from headstart.ui.background_task import BackgroundTask
from headstart.ui.line_process import Ending, LineProcess
from headstart.ui.models.catalogue import recipes
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.progress import WorkCard

_GRACE_MS = 3000
_STEP = re.compile(r"^(\S.*) \.\.\.$")
_BYTES = re.compile(r"^\s+([\d.]+) (MB|GB) of ([\d.]+) (MB|GB)$")
_UNITS = {"MB": 1e6, "GB": 1e9}
_SHARE = re.compile(r"^\s+(\d+) %(?:,.*)?$")
_LEFTOVERS = ".headstart-export-*"  # folders in which the exporter works, with the owner's process id in `owner.json`


class ExportRun(QObject):
    """A process of the exporter; at most one runs at a time."""

    line_read = Signal(str)  # a line
    stepped = Signal(str)  # what it does now
    fetching = Signal(bool)  # whether the step is a download, which can end at any time and go on later
    progressed = Signal(object, object)  # bytes of this step, of how many
    shared = Signal(int)  # hundredths of this step
    ended = Signal(bool, str)  # whether a model was made; its folder or the last sentence
    exporter_needed = Signal()  # instead of `ended`: this model needs PyTorch

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._child = LineProcess(self)
        self._pid = 0
        self._last = ""
        self._is_cancelled = False
        self._child.line_read.connect(self._on_line)
        self._child.ended.connect(self._on_ended)

    @property
    def is_running(self) -> bool:
        return self._child.is_running

    def start(self, program: Sequence[str], words: Sequence[str]) -> None:
        """Export a recipe, hub id, folder or .gguf file into the library; `words` may hold options."""
        self._last = ""
        self._is_cancelled = False
        self._child.start([*program, *words, "--json", DEFER_CHECKS])
        self._pid = self._child.pid

    def cancel(self) -> None:
        """End the export; nothing half done is left in the library, and the next export uses what was fetched."""
        if self._child.is_running:
            self._is_cancelled = True
            self._child.interrupt()

    def close(self) -> None:
        if self._child.is_running:
            self._child.close()
            self._sweep()

    @Slot(str)
    def _on_line(self, line: str) -> None:
        if line.startswith("{") and self._take_result(line):
            return
        self._last = line.strip().removeprefix(f"{PROGRAM}: ")
        self.line_read.emit(line)
        if step := _STEP.match(line):
            self.stepped.emit(step[1])
            self.fetching.emit(False)  # noqa: FBT003 - Qt's own signature
        elif size := _BYTES.match(line):
            done, total = (float(size[at]) * _UNITS[size[at + 1]] for at in (1, 3))
            self.progressed.emit(int(done), int(total))
            self.fetching.emit(True)  # noqa: FBT003 - only downloads are counted in bytes
        elif share := _SHARE.match(line):
            self.shared.emit(int(share[1]))

    def _take_result(self, line: str) -> bool:
        """Read the exporter's JSON: the folder of the model, or what went wrong. Return whether the line is JSON."""
        try:
            result = json.loads(line)
            self._last = result.get("output") or translate_error(Translatable.from_data(result["error"]))
        except (ValueError, KeyError):
            return False
        return True

    @Slot(object)
    def _on_ended(self, ending: Ending) -> None:
        if ending.fault:
            self._last = self.tr("The export cannot be started: {}").format(ending.fault)
        elif self._is_cancelled and not ending.is_good:
            self._last = self.tr("Cancelled.")
        elif ending.crashed:
            self._last = self.tr("The export was ended from outside, perhaps for want of memory.")
        if not ending.is_good:
            self._sweep()
        if ending.code == ExporterNeededError.export_status and not self._is_cancelled:
            self.exporter_needed.emit()
            return
        self.ended.emit(ending.is_good, self._last)

    def _sweep(self) -> None:
        """Remove what a killed exporter left. If it was replacing a model, only the exporter may put that back."""
        for folder in paths.models_folder().glob(_LEFTOVERS):
            if _owner_pid(folder) == self._pid and not (folder / "replaced").exists():
                shutil.rmtree(folder, ignore_errors=True)


def _owner_pid(folder: Path) -> int | None:
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
    """The set-up of the exporter; at most one runs at a time."""

    line_read = Signal(str)  # a line
    stepped = Signal(str)  # what it does now
    progressed = Signal(object, object)  # bytes of this file, of how many
    ended = Signal(bool, str)  # whether the exporter can be used, and if not why

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._setup: exporter.SetUp | None = None
        self._sweeping: BackgroundTask | None = None

    @property
    def is_running(self) -> bool:
        return self._setup is not None

    def start(self) -> None:
        """Look for a Python, make an environment with it, fetch the packages and try them."""
        assert not self.is_running, "one set-up at a time"
        setup = self._setup = exporter.SetUp(self._note_step, self.line_read.emit, self.progressed.emit)
        BackgroundTask(lambda _: setup.run(), self).start(self._on_done, self._on_failed, self._pool)

    def cancel(self) -> None:
        """Cancel the set-up; `ended` follows."""
        if self._setup:
            self._setup.cancel()

    def close(self) -> None:
        """End the processes; what they leave is removed when the page is shown the next time."""
        self.blockSignals(True)  # noqa: FBT003 - Qt's own signature
        self.cancel()
        if self._sweeping:
            self._sweeping.cancel()
        self._pool.waitForDone(_GRACE_MS)

    def sweep(self) -> None:
        """Remove what a set-up that was cut short has left, on another thread."""
        if not self.is_running and exporter.has_remains():
            self._sweeping = BackgroundTask(_sweep, self)
            self._sweeping.start(pool=self._pool)

    def _note_step(self, template: str, *values: object) -> None:
        """Emit a step in the window's language, from the thread of the set-up."""
        self.stepped.emit(translate("ExporterSetup", template).format(*values))

    @Slot(object)
    def _on_done(self, _: object) -> None:
        self._setup = None
        self.ended.emit(True, "")  # noqa: FBT003 - Qt's own signature

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self._setup = None
        self.ended.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
        self.sweep()


def _sweep(task: BackgroundTask) -> None:
    exporter.sweep(lambda: not task.is_cancelled)


class AddModelController(QObject):
    """The controller that adds one model at a time and shows it on the card."""

    busy = Signal(bool)
    exported = Signal(bool, str)  # whether a model was made, and the last sentence
    added = Signal()
    installed = Signal(str)  # name of a model that has just been installed
    chat_requested = Signal(str)  # name of the model to chat with
    refused = Signal(str)  # a sentence: another model is being added
    source_chosen = Signal(str)  # a source that must be exported first
    exporter_ready = Signal()  # the exporter has been set up

    def __init__(self, card: WorkCard, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._card = card
        self._run = ExportRun(self)
        self._setup = ExporterSetup(self)
        self._words: tuple[str, ...] = ()  # of the model that is being made, or was made last
        self._model = ""  # its name, once it is installed
        self._fetching = self._is_cancelled = self._is_paused = False
        self._copy: BackgroundTask | None = None
        for part in (self._run, self._setup):
            part.line_read.connect(card.append)
            part.stepped.connect(card.show_step)
            part.progressed.connect(card.show_progress)
        self._run.fetching.connect(card.set_pausable)
        self._run.shared.connect(card.show_share)
        self._run.ended.connect(self._on_exported)
        self._run.exporter_needed.connect(self._on_exporter_needed)
        self._setup.ended.connect(self._on_set_up)
        card.cancel_requested.connect(self._on_cancel)
        card.pause_requested.connect(self._on_pause)
        card.next_requested.connect(self._on_next)

    @property
    def is_busy(self) -> bool:
        return self._run.is_running or self._setup.is_running or self._copy is not None

    @property
    def is_fetching(self) -> bool:
        """Return True while something runs that may use the network. The page starts nothing else that does."""
        return self._fetching

    @Slot()
    def sweep(self) -> None:
        """Remove what a set-up that was cut short has left."""
        self._setup.sweep()

    @Slot(object)
    def get(self, words: Sequence[str]) -> None:
        """Make the model that the words of `headstart-export` name; set the exporter up first if it needs that."""
        if self.is_busy:
            return
        self._words, self._model = tuple(words), ""
        self._fetching = True
        if importer := exporter.importer():
            self._export(importer)
        else:
            self._on_exporter_needed()
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature

    @Slot(str)
    def add_path(self, name: str) -> None:
        """Add a dropped or chosen path: copy an exported model, import a GGUF file, or name the source of an export."""
        path = Path(name)
        if self.is_busy:
            self.refused.emit(self.tr("Another model is being added. Add {} when that has ended.").format(path.name))
            return
        try:
            if paths.is_folder(path):
                require_readable(path)
        except UnreadableModelError as error:
            self._card.begin(path.name)
            self._card.end(translate_error(error), bad=True)
            return
        if paths.is_file(path / manifest.FILE_NAME):
            self._begin_copy(path)
        elif path.suffix.lower() == ".gguf":
            self.get((str(path),))
        elif paths.is_file(path / "config.json"):
            self.source_chosen.emit(str(path))
        else:
            self._card.begin(path.name)
            self._card.end(
                self.tr(
                    "This is not a model. Choose a folder that Headstart exported, a folder with config.json and "
                    "weights, or a .gguf file."
                ),
                bad=True,
            )

    def close(self) -> None:
        self._run.close()
        self._setup.close()
        if self._copy:
            self._copy.cancel()

    def _begin_copy(self, folder: Path) -> None:
        self._card.begin(self.tr("Adding {}").format(folder.name))
        self._card.show_step(self.tr("Copying it into the library, and comparing every file with its hash"))
        self._copy = BackgroundTask(partial(_copy_into_library, folder), self)
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature
        self._copy.progressed.connect(self._card.show_progress)
        self._copy.start(self._on_copied, self._on_failed)

    @Slot()
    def _on_cancel(self) -> None:
        self._is_cancelled = True
        self._run.cancel()
        self._setup.cancel()
        if self._copy:
            self._copy.cancel()
            self._end(self.tr("Cancelled."), bad=False)

    @Slot()
    def _on_pause(self) -> None:
        """End the exporter; the next one finds what has arrived."""
        self._is_paused = True
        self._card.show_step(self.tr("Pausing…"))
        self._card.set_pausable(False)
        self._run.cancel()

    @Slot()
    def _on_next(self) -> None:
        """Carry out the action that the last result offers: start a chat, or try again."""
        if self._model:
            self.chat_requested.emit(self._model)
        else:
            self.get(self._words)

    @Slot()
    def _on_exporter_needed(self) -> None:
        if program := exporter.command():
            self._export(program)
        else:
            self._card.begin(self.tr("Setting up the exporter"))
            self._setup.start()

    def _export(self, program: Sequence[str]) -> None:
        source = self._words[0]
        name = Path(source).name if Path(source).is_absolute() else source
        title = next((recipe.title for recipe in recipes() if recipe.name == source), name)
        self._card.begin(self.tr("Getting {}").format(title))
        self._run.start(program, self._words)

    @Slot(bool, str)
    def _on_exported(self, is_made: bool, sentence: str) -> None:
        if is_made:
            self._model = Path(sentence).name
            sentence = self.tr("{} is ready.").format(self._model)
            self._end(sentence, bad=False, next_step=self.tr("Start a chat"))
        elif self._is_paused:
            self._end(self.tr("Paused. What has arrived is kept."), bad=False, next_step=self.tr("Resume"))
            return
        else:
            self._end(sentence, bad=True, next_step=self.tr("Try again"))
        self.exported.emit(is_made, sentence)
        if is_made:
            self.installed.emit(self._model)
            self.added.emit()

    @Slot(bool, str)
    def _on_set_up(self, usable: bool, sentence: str) -> None:
        program = exporter.command()
        if usable and program:
            self._export(program)
            self.exporter_ready.emit()
        else:
            self._end(sentence, bad=True, next_step=self.tr("Try again"))
            self.exported.emit(False, sentence)  # noqa: FBT003 - Qt's own signature

    @Slot(object)
    def _on_copied(self, name: str) -> None:
        self._end(self.tr("{} is installed; every file is as it was exported.").format(name), bad=False)
        self.added.emit()

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool, next_step: str = "") -> None:
        self._copy = None
        self._fetching = False
        bad = bad and not self._is_cancelled
        self._card.end(sentence, bad=bad, next_action="" if self._is_cancelled else next_step)
        self._is_cancelled = self._is_paused = False
        self.busy.emit(False)  # noqa: FBT003 - Qt's own signature


def _copy_into_library(folder: Path, task: BackgroundTask) -> str:
    def should_continue(done: int, total: int) -> bool:
        task.progressed.emit(done, total)
        return not task.is_cancelled

    try:
        return import_folder.import_model(folder, should_continue)
    except import_folder.Stopped:
        return ""
