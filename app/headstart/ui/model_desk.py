"""What the page of models does: list, choose, verify, remove, export. Knows library and exporter, but no chat."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from headstart import library, manifest, paths
from headstart.library import Broken, Entry
from headstart.ui import export_run, model_facts
from headstart.ui.export_run import ExportRun
from headstart.ui.models_page import ModelsPage


class ModelDesk(QObject):
    """One for the window."""

    chosen = Signal(str)  # the model of new chats
    exported = Signal(bool, str)  # whether a model was made, and the last sentence
    changed = Signal()  # other models are installed
    removing = Signal(str)  # before its folder goes

    def __init__(self, page: ModelsPage, parent: QObject | None = None) -> None:
        """Shows nothing yet."""
        super().__init__(parent)
        self._page = page
        self._current = ""
        self._run = ExportRun(self)
        self._verifications: list[_Verification] = []
        page.chosen.connect(self._choose)
        page.verify_requested.connect(self._verify)
        page.folder_requested.connect(self._show_folder)
        page.remove_requested.connect(self._remove)
        self._run.said.connect(page.add.append)
        self._run.said.connect(page.welcome.append)
        self._run.ended.connect(self._note_end)
        self._run.ended.connect(self.exported)
        for part in (page.add, page.welcome):
            part.start_requested.connect(self._export)
            part.cancel_requested.connect(self._run.cancel)

    def show(self, current: str) -> None:
        """List what is installed; `current` is the model of new chats."""
        self._current = current
        installed = export_run.command() is not None
        for part in (self._page.add, self._page.welcome):
            part.set_exporter(installed=installed)
        self._page.show_entries(library.installed(), current, _short(paths.models_folder()))

    def note_memory(self, free: int) -> None:
        """Bytes that a program could take now."""
        self._page.show_memory(free)

    def close(self) -> None:
        """The window closes: an export ends, a verification is waited for."""
        self._run.close()
        for verification in self._verifications:
            verification.cancel()
        QThreadPool.globalInstance().waitForDone()

    @Slot(str)
    def _choose(self, name: str) -> None:
        self.chosen.emit(name)
        self.show(name)

    @Slot(str)
    def _verify(self, name: str) -> None:
        entry = _entry(name)
        card = self._page.card(name)
        if entry is None or isinstance(entry, Broken) or card is None:
            return
        card.set_busy(True)
        card.show_state(self.tr("Comparing every file with its hash…"))
        verification = _Verification(entry)
        verification.signals.done.connect(self._note_verified)
        self._verifications.append(verification)
        QThreadPool.globalInstance().start(verification)

    @Slot(str, object)
    def _note_verified(self, name: str, faults: list[str]) -> None:
        self._verifications = [item for item in self._verifications if item.entry.name != name]
        card = self._page.card(name)
        if card:
            card.set_busy(False)
            sound = self.tr("Every file is as it was exported.")
            card.show_state("\n".join([*faults, self.tr("Export it again.")]) if faults else sound)

    @Slot(str)
    def _show_folder(self, name: str) -> None:
        entry = _entry(name)
        if entry:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(entry.folder)))

    @Slot(str)
    def _remove(self, name: str) -> None:
        entry = _entry(name)
        if entry is None or not self._confirms(entry):
            return
        self.removing.emit(name)
        if entry.folder.is_symlink():
            entry.folder.unlink()
        else:
            shutil.rmtree(entry.folder, ignore_errors=True)
        self.changed.emit()

    def _confirms(self, entry: Entry) -> bool:
        size = "" if isinstance(entry, Broken) else f" ({model_facts.amount(model_facts.size(entry))})"
        question = self.tr("Remove {name}{size} from this computer? Chats written with it stay.").format(
            name=entry.name, size=size
        )
        box = QMessageBox(QMessageBox.Icon.Question, self.tr("Remove model"), question, parent=self._page)
        remove = box.addButton(self.tr("Remove"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.exec()
        return box.clickedButton() is remove

    @Slot(str)
    def _export(self, source: str) -> None:
        program = export_run.command()
        if program is None or self._run.is_running:
            return
        for part in (self._page.add, self._page.welcome):
            part.show_running(running=True)
        self._run.start(program, source)

    @Slot(bool, str)
    def _note_end(self, made: bool, sentence: str) -> None:
        for part in (self._page.add, self._page.welcome):
            part.show_running(running=False)
            if sentence and not made:
                part.append(sentence)
        if made:
            self.changed.emit()


class _Done(QObject):
    done = Signal(str, object)


class _Verification(QRunnable):
    """Hashes every file of an entry on a thread of the pool."""

    def __init__(self, entry: library.Model | library.Pair) -> None:
        super().__init__()
        self.entry = entry
        self.signals = _Done()
        self._cancelled = False
        self.setAutoDelete(False)

    def cancel(self) -> None:
        self._cancelled = True

    def run(self) -> None:
        faults = [f"{model.name}: {fault}" for model in model_facts.models(self.entry) for fault in self._faults(model)]
        self.signals.done.emit(self.entry.name, faults)

    def _faults(self, model: library.Model) -> Iterable[str]:
        for name, listed in model.manifest.files.items():
            if self._cancelled:
                return
            path = model.folder / name
            if not path.is_file():
                yield f"{name} is missing"
            elif manifest.hash_file(path) != listed.sha256:
                yield f"{name} does not have the content it was exported with"


def _entry(name: str) -> Entry | None:
    return next((entry for entry in library.installed() if entry.name == name), None)


def _short(folder: Path) -> str:
    """The folder as people write it, their home as "~"."""
    home = Path.home()
    return f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else str(folder)
