"""Adds models: by the exporter, set up first where asked, or by copying what was exported elsewhere."""

import json
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
from headstart.ui.models.catalogue import recipes
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.progress import WorkCard

_GRACE_MS = 3000
_STEP = re.compile(r"^(\S.*) \.\.\.$")
_BYTES = re.compile(r"^\s+([\d.]+) (MB|GB) of ([\d.]+) (MB|GB)$")
_UNITS = {"MB": 1e6, "GB": 1e9}
_SHARE = re.compile(r"^\s+(\d+) %(?:,.*)?$")
_LEFTOVERS = ".headstart-export-*"  # folders in which the exporter works, with the owner's number in `owner.json`


class ExportRun(QObject):
    """At most one export at a time."""

    line_read = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    fetching = Signal(bool)  # whether the step is a download, which can end at any time and go on later
    progressed = Signal(object, object)  # bytes of this step, of how many
    shared = Signal(int)  # hundredths of this step that are done
    ended = Signal(bool, str)  # whether a model was made, and its folder or the last sentence

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet."""
        super().__init__(parent)
        self._child = LineProcess(self)
        self._pid = 0
        self._last = ""
        self._cancelled = False
        self._child.line_read.connect(self._take)
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
        self.line_read.emit(line)
        if step := _STEP.match(line):
            self.stepped.emit(step[1])
            self.fetching.emit(False)  # noqa: FBT003 - Qt's own signature
        elif counted := _BYTES.match(line):
            done, total = (float(counted[at]) * _UNITS[counted[at + 1]] for at in (1, 3))
            self.progressed.emit(int(done), int(total))
            self.fetching.emit(True)  # noqa: FBT003 - only downloads are counted in bytes
        elif share := _SHARE.match(line):
            self.shared.emit(int(share[1]))

    def _take_result(self, line: str) -> bool:
        """Whether this is the exporter's JSON: where the model lies, or what went wrong."""
        try:
            result = json.loads(line)
            self._last = result.get("output") or translate_error(Translatable.from_data(result["error"]))
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

    line_read = Signal(str)  # a line
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
        self.line_read.emit(line)

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
    made = Signal(str)  # the name of a model that is among the installed ones now
    chat_requested = Signal(str)  # with the model of this name
    named = Signal(str)  # a source that must be exported first
    ready = Signal()  # from now on models can be made here

    def __init__(self, card: WorkCard, parent: QObject | None = None) -> None:
        """Does nothing yet."""
        super().__init__(parent)
        self._card = card
        self._run = ExportRun(self)
        self._setup = ExporterSetup(self)
        self._words: tuple[str, ...] = ()  # of the model that is made, or was last
        self._made = ""  # its name, once it is there
        self._fetching = self._is_cancelled = self._is_paused = False
        self._copy: BackgroundTask | None = None
        for part in (self._run, self._setup):
            part.line_read.connect(card.append)
            part.stepped.connect(card.show_step)
            part.progressed.connect(card.show_progress)
        self._run.fetching.connect(card.set_pausable)
        self._run.shared.connect(card.show_share)
        self._run.ended.connect(self._note_export)
        self._setup.ended.connect(self._note_setup)
        card.cancel_requested.connect(self._cancel)
        card.pause_requested.connect(self._pause)
        card.next_requested.connect(self._go_on)

    @property
    def is_busy(self) -> bool:
        """Whether something is being added."""
        return self._run.is_running or self._setup.is_running or self._copy is not None

    @property
    def is_fetching(self) -> bool:
        """Whether something that may use the network runs: nothing else here does."""
        return self._fetching

    @Slot()
    def sweep(self) -> None:
        """Remove what a set-up that was cut short has left."""
        self._setup.sweep()

    @Slot(object)
    def get(self, words: Sequence[str]) -> None:
        """Make the model that the words of `headstart-export` name; where it is missing, set that up before."""
        if self.is_busy:
            return
        self._words, self._made = tuple(words), ""
        self._fetching = True
        if exporter.command():
            self._export()
        else:
            self._card.begin(self.tr("Setting up the exporter"))
            self._setup.start()
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature

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

    @Slot()
    def _pause(self) -> None:
        """The exporter ends; the next one finds what has arrived."""
        self._is_paused = True
        self._card.show_step(self.tr("Pausing…"))
        self._card.set_pausable(False)
        self._run.cancel()

    @Slot()
    def _go_on(self) -> None:
        """What the end of the last one offered."""
        if self._made:
            self.chat_requested.emit(self._made)
        else:
            self.get(self._words)

    def _export(self) -> None:
        program = exporter.command()
        assert program
        source = self._words[0]
        title = next((recipe.title for recipe in recipes() if recipe.name == source), source)
        self._card.begin(self.tr("Getting {}").format(title))
        self._run.start(program, self._words)

    @Slot(bool, str)
    def _note_export(self, made: bool, sentence: str) -> None:
        if made:
            self._made = Path(sentence).name
            sentence = self.tr("{} is ready.").format(self._made)
            self._end(sentence, bad=False, leads_on=self.tr("Start a chat"))
        elif self._is_paused:
            self._end(self.tr("Paused. What has arrived is kept."), bad=False, leads_on=self.tr("Resume"))
            return
        else:
            self._end(sentence, bad=True, leads_on=self.tr("Try again"))
        self.exported.emit(made, sentence)
        if made:
            self.made.emit(self._made)
            self.added.emit()

    @Slot(bool, str)
    def _note_setup(self, usable: bool, sentence: str) -> None:
        if usable:
            self._export()
            self.ready.emit()
        else:
            self._end(sentence, bad=True, leads_on=self.tr("Try again"))
            self.exported.emit(False, sentence)  # noqa: FBT003 - Qt's own signature

    @Slot(object)
    def _note_copy(self, name: str) -> None:
        self._end(self.tr("{} is installed; every file is as it was exported.").format(name), bad=False)
        self.added.emit()

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool, leads_on: str = "") -> None:
        self._copy = None
        self._fetching = False
        bad = bad and not self._is_cancelled
        self._card.end(sentence, bad=bad, leads_on="" if self._is_cancelled else leads_on)
        self._is_cancelled = self._is_paused = False
        self.busy.emit(False)  # noqa: FBT003 - Qt's own signature


def _take_in(folder: Path, task: BackgroundTask) -> str:
    def go_on(done: int, total: int) -> bool:
        task.progressed.emit(done, total)
        return not task.is_cancelled

    try:
        return intake.take_in(folder, go_on)
    except intake.Stopped:
        return ""
