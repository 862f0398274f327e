"""The dialog and the controller of projects."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QSize, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QWidget,
)

from headstart.chat.conversation import LONGEST_NAME, Project
from headstart.chat.history.store import Store
from headstart.ui.composer.attachments import AttachmentTray
from headstart.ui.folders.folder_list import FolderList
from headstart.ui.folders.folders_controller import FoldersController
from headstart.ui.formatting import sentences
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.labels import StatusLine, button, muted
from headstart.ui.widgets.layouts import Dialog, beside, confirm, initial_path, remember_folder, scrolled, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import MEDIUM

Models = Iterable[tuple[object, str, str]]  # name, label, remark
_SIZE = QSize(560, 460)
_PROMPT_LINES = 5  # at least
_BESIDE_DIALOG = 60  # pixels of the screen for its frame


class ProjectDialog(Dialog):
    """Dialog that edits a project. It emits the project to save and stays open until `accept`."""

    saved = Signal(object)  # Project
    model_requested = Signal(str)  # the name of one that finds passages in other words

    def __init__(
        self, project: Project, models: Models, folders: FoldersController, parent: QWidget | None = None
    ) -> None:
        """Edit a project; one without a name is new."""
        super().__init__(self.tr("Project") if project.name else self.tr("New project"), parent)
        self._project = project
        self.name = QLineEdit(project.name, self)
        self.name.setMaxLength(LONGEST_NAME)
        self.prompt = QPlainTextEdit(str(project.settings.get("system_prompt", "")), self)
        self.prompt.setTabChangesFocus(True)
        set_style_class(self.prompt, "field")
        self.prompt.setMinimumHeight(_PROMPT_LINES * self.prompt.fontMetrics().lineSpacing())
        self.prompt.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)  # grows with the dialog
        self.model = QComboBox(self)
        self.model.addItem(self.tr("The model used last"), "")
        self.files = AttachmentTray(self)
        self._none = muted(self.tr("No files"), self)
        self._add_files = button(self.tr("Add files…"), self)
        self.folders = FolderList(project.folders, folders, self)
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
        name = " ".join(self.name.text().split())
        return Project(name, {**others, **edited}, self.files.attached, self.folders.folders)

    @Slot(str)
    def show_error(self, sentence: str) -> None:
        self._error.say(sentence, bad=True)

    def _connect(self) -> None:
        self.name.textChanged.connect(self._check)
        self.files.changed.connect(self._check)
        self.files.error_occurred.connect(self.show_error)
        self._add_files.clicked.connect(self._on_add_files)
        self.folders.changed.connect(self._check)
        self.folders.model_requested.connect(self._on_model_requested)
        self._cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(lambda: self.saved.emit(self.project()))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._content and event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show):
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """Make room for one more folder as far as the screen allows; the rest scrolls."""
        content = self._column.totalMinimumHeightForWidth(self._scroll.viewport().width())
        self._content.setMinimumHeight(content)
        height = content + self.height() - self._scroll.viewport().height()
        most = self.screen().availableGeometry().height() - _BESIDE_DIALOG
        self.resize(self.width(), min(max(self.height(), height), most))

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

    @Slot()
    def _on_model_requested(self) -> None:
        """Save the project, and go to the model if that succeeds."""
        self.saved.emit(self.project())
        if self.result() == Dialog.DialogCode.Accepted:
            self.model_requested.emit(self.folders.offered_model)

    def _lay_out(self) -> None:
        self._content = QWidget(self)
        column = self._column = stacked(self._content)
        self._scroll = scrolled(self._content, self)
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
        for part in (self.files, self._none, remark, self.folders):
            column.addWidget(part)
        foot = beside(None, self._cancel, self.save_button)
        foot.insertStretch(0, 1)
        stacked(self, self._scroll, self._error, foot, margin=MEDIUM, growing=self._scroll)
        self.set_size(_SIZE)
        self._content.installEventFilter(self)


class ProjectsController(QObject):
    """Controller of the projects. Every change is on disk when its method returns."""

    changed = Signal(object)  # dict[str, str]: old names to new ones, "" for a project that is gone
    created = Signal(str)  # name of a new project without chats
    error_occurred = Signal(str)
    model_requested = Signal(str)  # the name of one that finds passages in other words

    def __init__(
        self,
        store: Store,
        window: QWidget,
        models: Callable[[], Models],
        folders: FoldersController,
        parent: QObject | None = None,
    ) -> None:
        """`models` returns the models to choose from."""
        super().__init__(parent)
        self._store, self._window, self._models, self._folders = store, window, models, folders
        self.changed.connect(folders.update)

    def create(self, chats: Iterable[str] = ()) -> None:
        """Open the dialog of a new project, which gets these chats."""
        self._open(Project(""), tuple(chats))

    def edit(self, name: str) -> None:
        """Open the dialog of a project."""
        project = self.read(name)
        if project:
            self._open(project)

    def rename(self, name: str, new: str) -> None:
        """Rename a project; the name of another one is refused."""
        project = self.read(name)
        if project and new.strip() and new.strip() != name:
            with showing_errors(self.error_occurred.emit):
                renamed = self._store.change_project(name, replace(project, name=new))
                self.changed.emit({name: renamed})

    def delete(self, name: str) -> None:
        """Delete a project after a question; its chats stay."""
        count = next((project.chats for project in self._store.projects() if project.name == name), 0)
        question = self.tr("Delete the project “{}” with its system prompt and files?").format(name)
        stay = self.tr("Its chat stays.") if count == 1 else self.tr("Its {} chats stay.").format(count)
        more = stay if count else ""
        if self._store.project_folders(name):
            more = sentences(more, self.tr("Its folders stay on the disk.")).strip()
        title, action = self.tr("Delete project"), self.tr("Delete")
        if confirm(self._window, title, question, action, more):
            with showing_errors(self.error_occurred.emit):
                self._store.delete_project(name)
                self.changed.emit({name: ""})

    def read(self, name: str) -> Project | None:
        """Return a project; None if it is gone or cannot be read."""
        with showing_errors(self.error_occurred.emit):
            return self._store.project(name)
        return None

    def _open(self, project: Project, chats: tuple[str, ...] = ()) -> None:
        dialog = ProjectDialog(project, self._models(), self._folders, self._window)

        def save(changed: Project) -> None:
            with showing_errors(dialog.show_error):
                renamed = self._save(project.name, changed, chats)
                dialog.accept()
                self.changed.emit(renamed)
                if not project.name and not chats:
                    self.created.emit(changed.name)

        dialog.saved.connect(save)
        dialog.model_requested.connect(self.model_requested)
        dialog.open()

    def _save(self, name: str, changed: Project, chats: tuple[str, ...]) -> dict[str, str]:
        if name:
            return {name: self._store.change_project(name, changed)}
        self._store.move(chats, self._store.add_project(changed))
        return {}
