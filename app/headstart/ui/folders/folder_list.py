"""The list of a project's folders, with the state of their index."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QLocale, Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from headstart.chat.folders.folder_files import LARGEST, MAX_FILES
from headstart.chat.folders.folder_index import CUT, LOCKED, MISSING, UNREAD, FolderState
from headstart.errors import Translatable
from headstart.ui.folders.folders_controller import FoldersController
from headstart.ui.formatting import format_size, listed, percent, sentences, short_path, whole
from headstart.ui.models.catalogue import recipes
from headstart.ui.translation import translate_error
from headstart.ui.widgets.icons import icon_button
from headstart.ui.widgets.labels import ElidedLabel, Fold, button, muted
from headstart.ui.widgets.layouts import beside, initial_path, remember_folder, row, stacked
from headstart.ui.widgets.theme import SMALL

ENGLISH_MODEL, MODEL_OF_LANGUAGES = "all-minilm-l6-v2", "multilingual-e5-small"  # recipes of models that are offered
_MIN_SECONDS = 20  # left, before the window says so


class FolderList(QWidget):
    """The folders of a project, as they are edited."""

    changed = Signal()
    model_requested = Signal()

    def __init__(self, folders: tuple[str, ...], controller: FoldersController, parent: QWidget) -> None:
        super().__init__(parent)
        self.folders = folders
        self._controller, self._model = controller, controller.model_name
        self._rows: dict[str, FolderRow] = {}
        self._none = muted(self.tr("No folders"), self)
        self.add_button = button(self.tr("Add folder…"), self)
        self._remark = muted(
            self.tr(
                "For each question in the project, their files are searched, and the passages that fit go to the "
                "model. Files and index stay on this computer."
            ),
            self,
        )
        self._offer = muted("", self)
        self.model_button = button(self.tr("Show the model"), self)
        for each in (self.add_button, self.model_button):
            each.setAutoDefault(False)
        self._lay_out()
        self.add_button.clicked.connect(self._on_add)
        self.model_button.clicked.connect(self.model_requested)
        controller.changed.connect(self._on_state)
        for folder in folders:
            self._add_row(folder)
        self._update()

    @property
    def offered_model(self) -> str:
        """The recipe of the model that would find more in these folders; empty if the installed one does."""
        states = map(self._controller.state, self.folders)
        is_english = QLocale().language() == QLocale.Language.English and all(state.is_english for state in states)
        if not self.folders or self._model not in ("", ENGLISH_MODEL) or (self._model and is_english):
            return ""
        return ENGLISH_MODEL if is_english else MODEL_OF_LANGUAGES

    def add(self, folder: str) -> None:
        """Add a folder; do nothing if it is there already."""
        if folder not in self.folders:
            self.folders = (*self.folders, folder)
            self._add_row(folder)
            self._update()
            self.changed.emit()

    def remove(self, folder: str) -> None:
        """Remove a folder from the list, not from the disk."""
        self.folders = tuple(other for other in self.folders if other != folder)
        entry = self._rows.pop(folder)
        self._column.removeWidget(entry)
        entry.hide()
        entry.deleteLater()
        self._update()
        self.changed.emit()

    def _lay_out(self) -> None:
        title = QLabel(self.tr("Folders"), self)
        self._column = stacked(None, spacing=SMALL)
        column = stacked(self)
        column.addLayout(beside(None, title, self.add_button, growing=title))
        column.addWidget(self._none)
        column.addLayout(self._column)
        column.addWidget(self._remark)
        column.addLayout(beside(None, self._offer, self.model_button, growing=self._offer))

    def _add_row(self, folder: str) -> None:
        entry = self._rows[folder] = FolderRow(folder, self)
        entry.remove.clicked.connect(partial(self.remove, folder))
        self._column.addWidget(entry)
        entry.show_state(self._controller.state(folder), has_model=bool(self._model))

    def _update(self) -> None:
        self._none.setVisible(not self.folders)
        self._remark.setVisible(bool(self.folders))
        self._update_offer()

    def _update_offer(self) -> None:
        recipe = next((recipe for recipe in recipes() if recipe.name == self.offered_model), None)
        self._offer.setVisible(recipe is not None)
        self.model_button.setVisible(recipe is not None)
        if recipe is None:
            return
        offer = self.tr(
            "Passages are found by their words. With the model {model} ({size}) they are found in other words, too."
        )
        if self._model:
            offer = self.tr(
                "The present model reads English. With {model} ({size}) passages in other languages are found in other "
                "words, too; all are prepared again in the background."
            )
        self._offer.setText(offer.format(model=recipe.title, size=format_size(recipe.download)))

    @Slot()
    def _on_add(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.tr("Add folder"), initial_path())
        if folder:
            remember_folder(folder)
            self.add(str(Path(folder)))

    @Slot(object)
    def _on_state(self, state: FolderState) -> None:
        if state.path in self._rows:
            self._rows[state.path].show_state(state, has_model=bool(self._model))
            self._update_offer()


class FolderRow(QWidget):
    """A folder, its state, a button that removes it, and the files that could not be read, each with the reason."""

    def __init__(self, folder: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._name, self.status = ElidedLabel(self, Qt.TextElideMode.ElideMiddle), muted("", self)
        self._name.show_text(short_path(Path(folder)))
        self.remove = icon_button("close", self.tr("Remove {}").format(folder), self)
        self.reasons = muted("", self, selectable=True)
        self.reasons.setTextFormat(Qt.TextFormat.PlainText)  # it has names of files
        self.unreadable = Fold("", self.reasons, self)
        self.unreadable.setAutoDefault(False)
        text = stacked(None, self._name, self.status, spacing=0)
        head = beside(None, text, self.remove, growing=text)
        stacked(self, head, row(self.unreadable), self.reasons, spacing=0)

    def show_state(self, state: FolderState, *, has_model: bool) -> None:
        """Show what the index has of the folder."""
        self.status.setText(self._words(state, has_model=has_model))
        skipped = self.tr(
            "Hidden files, links, folders such as node_modules, files without text and files above {largest} are "
            "skipped."
        ).format(largest=format_size(LARGEST))
        self.status.setToolTip(skipped)
        count = len(state.unreadable)
        one, several = self.tr("1 file could not be read"), self.tr("{} files could not be read")
        self.unreadable.setText(one if count == 1 else several.format(whole(count)))
        self.unreadable.setVisible(count > 0)
        self.reasons.setText("\n".join(f"• {self._reason(*each)}" for each in state.unreadable.items()))
        self.reasons.setVisible(count > 0 and self.unreadable.isChecked())

    def _words(self, state: FolderState, *, has_model: bool) -> str:
        if state.problem == MISSING:
            return self.tr("The folder is not there. What was read of it is kept until you remove it here.")
        if state.problem == LOCKED:
            return self.tr(
                "You may not open the folder: change its rights. What was read of it is kept until you remove it here."
            )
        if state.total is not None:
            done, total = whole(state.files), whole(state.total)
            words = self.tr("Reading file {done} of {total}…").format(done=done, total=total)
            if state.reading:
                name, share = state.reading.rpartition("/")[2], percent(state.share)
                words = self.tr("Reading file {done} of {total}: {name}, {share}").format(
                    done=whole(state.files + 1), total=total, name=name, share=share
                )
            return self._with_time(words, state.seconds_left)
        if state.problem == UNREAD and not state.files:
            return self.tr("Not read yet")
        parts = [self.tr("1 file") if state.files == 1 else self.tr("{} files").format(whole(state.files))]
        if has_model and state.embedded < state.passages:
            share = percent(state.embedded / state.passages)
            words = self.tr("preparing the search in other words, {}").format(share)
            parts.append(self._with_time(words, state.seconds_left))
        if state.skipped:
            parts.append(self.tr("{} skipped").format(whole(state.skipped)))
        words = listed(parts)
        if state.problem == CUT:
            first = self.tr("Only the first {} files are read.").format(whole(MAX_FILES))
            words = sentences(self.tr("{}.").format(words), first)
        return words

    def _with_time(self, words: str, seconds: float | None) -> str:
        """Append the remaining time, if it is known and worth mentioning."""
        if seconds is None or seconds < _MIN_SECONDS:
            return words
        minutes = round(seconds / 60)
        left = self.tr("about {} minutes left") if minutes > 1 else self.tr("about a minute left")
        return listed([words, left.format(whole(minutes))])

    def _reason(self, path: str, reason: Translatable) -> str:
        """Return the sentence about a file, which names it, and the folder that it is in."""
        inside = path.rstrip("/").rpartition("/")[0]
        sentence = translate_error(reason)
        return self.tr("{} (in {})").format(sentence, inside) if inside else sentence
