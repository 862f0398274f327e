"""Adds models: by the exporter as a child process, or by copying a folder that was exported elsewhere. No page."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from headstart import intake, manifest
from headstart.ui import export_run
from headstart.ui.background_task import BackgroundTask
from headstart.ui.catalogue import Catalogue
from headstart.ui.export_run import ExportRun
from headstart.ui.work_card import WorkCard


class Adding(QObject):
    """One thing at a time, shown on the card."""

    busy = Signal(bool)
    exported = Signal(bool, str)  # whether a model was made, and the last sentence
    added = Signal()
    named = Signal(str)  # a source that must be exported first
    recipes_found = Signal(object)  # tuple[Recipe, ...]

    def __init__(self, card: WorkCard, parent: QObject | None = None) -> None:
        """Does nothing yet."""
        super().__init__(parent)
        self._card = card
        self._run = ExportRun(self)
        self._copy: BackgroundTask | None = None
        self._catalogue = Catalogue(self)
        self._catalogue.found.connect(self.recipes_found)
        self._run.said.connect(card.append)
        self._run.stepped.connect(card.show_step)
        self._run.progressed.connect(card.show_progress)
        self._run.ended.connect(self._note_export)
        card.cancel_requested.connect(self._cancel)

    @property
    def is_busy(self) -> bool:
        """Whether something is being added."""
        return self._run.is_running or self._copy is not None

    def find_recipes(self) -> None:
        """Ask the exporter, once; `recipes_found` follows where there is one."""
        program = export_run.command()
        if program:
            self._catalogue.ask(program)

    @Slot(object)
    def export(self, words: Sequence[str]) -> None:
        """Make a model; `words` are those of `headstart-export`."""
        program = export_run.command()
        if program is None or self.is_busy:
            return
        self._card.begin(self.tr("Exporting {}").format(words[0]))
        self.busy.emit(True)  # noqa: FBT003 - Qt's own signature
        self._run.start(program, words)

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
                    "This is no model: wanted is a folder that headstart-export made, a folder with config.json and "
                    "weights, or a .gguf file."
                ),
                bad=True,
            )

    def close(self) -> None:
        """The window closes."""
        self._run.close()
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
        self._run.cancel()
        if self._copy:
            self._copy.cancel()
            self._end(self.tr("Cancelled."), bad=False)

    @Slot(bool, str)
    def _note_export(self, made: bool, sentence: str) -> None:
        self._end(self.tr("The model was made, checked and installed.") if made else sentence, bad=not made)
        self.exported.emit(made, sentence)
        if made:
            self.added.emit()

    @Slot(object)
    def _note_copy(self, name: str) -> None:
        self._end(self.tr("{} is installed; every file is as it was exported.").format(name), bad=False)
        self.added.emit()

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        self._end(sentence, bad=True)

    def _end(self, sentence: str, *, bad: bool) -> None:
        self._copy = None
        self._card.end(sentence, bad=bad)
        self.busy.emit(False)  # noqa: FBT003 - Qt's own signature


def _take_in(folder: Path, task: BackgroundTask) -> str:
    def go_on(done: int, total: int) -> bool:
        task.progressed.emit(done, total)
        return not task.is_cancelled

    try:
        return intake.take_in(folder, go_on)
    except intake.Stopped:
        return ""
