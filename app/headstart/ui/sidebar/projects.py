"""The dialog and the controller of projects."""

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from headstart.chat.conversation import LONGEST_NAME, Project
from headstart.chat.store import Store
from headstart.ui.chat.attachments import AttachmentTray
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.labels import StatusLine, button, muted
from headstart.ui.widgets.layouts import Dialog, beside, confirm, initial_path, remember_folder, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM

Models = Iterable[tuple[object, str, str]]  # name, label, remark
_SIZE = QSize(560, 460)


class ProjectDialog(Dialog):
    """Dialog that edits a project. It emits the project to save and stays open until `accept`."""

    saved = Signal(object)  # Project

    def __init__(self, project: Project, models: Models, parent: QWidget | None = None) -> None:
        """Edit a project; one without a name is new."""
        super().__init__(parent)
        self.setWindowTitle(self.tr("Project") if project.name else self.tr("New project"))
        self._project = project
        self.name = QLineEdit(project.name, self)
        self.name.setMaxLength(LONGEST_NAME)
        self.prompt = QPlainTextEdit(str(project.settings.get("system_prompt", "")), self)
        self.prompt.setTabChangesFocus(True)
        set_style_class(self.prompt, "field")
        self.model = QComboBox(self)
        self.model.addItem(self.tr("The model used last"), "")
        self.files = AttachmentTray(self)
        self._none = muted(self.tr("No files"), self)
        self._add_files = button(self.tr("Add files…"), self)
        self._error = StatusLine(self)
        self._add_files.setAutoDefault(False)
        self._cancel, self.save_button = button(self.tr("Cancel"), self), button(self.tr("Save"), self, "primary")
        self.save_button.setDefault(True)
        current_model = str(project.settings.get("model", ""))
        known_models = [(name, label) for name, label, _ in models if name]
        for name, label in [
            *known_models,
            *([(current_model, current_model)] if current_model and current_model not in dict(known_models) else []),
        ]:
            self.model.addItem(label, name)
        self.model.setCurrentIndex(max(self.model.findData(current_model), 0))
        self._lay_out()
        self._connect()
        self.files.set_attached(project.files)
        self._check()

    def project(self) -> Project:
        """Return the project as edited so far."""
        fields = {"system_prompt": self.prompt.toPlainText().strip(), "model": self.model.currentData()}
        others = {name: value for name, value in self._project.settings.items() if name not in (*fields, "draft")}
        edited = {name: value for name, value in fields.items() if value}
        if edited.get("model"):
            edited["draft"] = ""
        return Project(" ".join(self.name.text().split()), {**others, **edited}, self.files.attached)

    @Slot(str)
    def show_error(self, sentence: str) -> None:
        self._error.say(sentence, bad=True)

    def _connect(self) -> None:
        self.name.textChanged.connect(self._check)
        self.files.changed.connect(self._check)
        self.files.error_occurred.connect(self.show_error)
        self._add_files.clicked.connect(self._on_add_files)
        self._cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(lambda: self.saved.emit(self.project()))

    @Slot()
    def _check(self) -> None:
        self._error.say("")
        self._none.setVisible(self.files.isHidden())
        self.save_button.setEnabled(bool(self.name.text().strip()) and not self.files.is_reading)

    @Slot()
    def _on_add_files(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Add files"), initial_path())
        if names:
            remember_folder(names[0])
            self.files.attach(Path(name) for name in names)

    def _lay_out(self) -> None:
        column = stacked(self, margin=MEDIUM)
        fields = ((self.tr("Name"), self.name), (self.tr("System prompt"), self.prompt), (self.tr("Model"), self.model))
        for words, field in fields:
            label = QLabel(words, self)
            label.setBuddy(field)
            field.setAccessibleName(words)
            column.addWidget(label)
            column.addWidget(field, 1 if field is self.prompt else 0)
        title = QLabel(self.tr("Files"), self)
        column.addLayout(beside(None, title, self._add_files, growing=title))
        remark = muted(self.tr("System prompt, model and files are for new chats in this project."), self)
        for part in (self.files, self._none, remark, self._error):
            column.addWidget(part)
        foot = beside(None, self._cancel, self.save_button)
        foot.insertStretch(0, 1)
        column.addLayout(foot)
        self.set_size(_SIZE)


class ProjectsController(QObject):
    """Controller of the projects. Every change is on disk when its method returns."""

    changed = Signal(object)  # dict[str, str]: old names to new ones, "" for a project that is gone
    error_occurred = Signal(str)

    def __init__(
        self, store: Store, window: QWidget, models: Callable[[], Models], parent: QObject | None = None
    ) -> None:
        """`models` returns the models to choose from."""
        super().__init__(parent)
        self._store, self._window, self._models = store, window, models

    def create(self, chats: Iterable[str] = ()) -> None:
        """Open the dialog of a new project, which gets these chats."""
        self._open(Project(""), tuple(chats))

    def edit(self, name: str) -> None:
        """Open the dialog of a project."""
        project = self._read(name)
        if project:
            self._open(project)

    def rename(self, name: str, new: str) -> None:
        """Rename a project; the name of another one is refused."""
        project = self._read(name)
        if project and new.strip() and new.strip() != name:
            with showing_errors(self.error_occurred.emit):
                renamed = self._store.change_project(name, Project(new, project.settings, project.files))
                self.changed.emit({name: renamed})

    def delete(self, name: str) -> None:
        """Delete a project after a question; its chats stay."""
        count = next((project.chats for project in self._store.projects() if project.name == name), 0)
        question = self.tr("Delete the project “{}” with its system prompt and files?").format(name)
        stay = self.tr("Its chat stays.") if count == 1 else self.tr("Its {} chats stay.").format(count)
        title, action = self.tr("Delete project"), self.tr("Delete")
        if confirm(self._window, title, question, action, stay if count else ""):
            with showing_errors(self.error_occurred.emit):
                self._store.delete_project(name)
                self.changed.emit({name: ""})

    def _read(self, name: str) -> Project | None:
        with showing_errors(self.error_occurred.emit):
            return self._store.project(name)
        return None

    def _open(self, project: Project, chats: tuple[str, ...] = ()) -> None:
        dialog = ProjectDialog(project, self._models(), self._window)

        def save(changed: Project) -> None:
            with showing_errors(dialog.show_error):
                renamed = self._save(project.name, changed, chats)
                dialog.accept()
                self.changed.emit(renamed)

        dialog.saved.connect(save)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _save(self, name: str, changed: Project, chats: tuple[str, ...]) -> dict[str, str]:
        if name:
            return {name: self._store.change_project(name, changed)}
        self._store.move(chats, self._store.add_project(changed))
        return {}
