"""What model to add, from where and how; or the one command, where the exporter is missing. Knows no process."""

from collections.abc import Iterable

from PySide6.QtCore import QCoreApplication, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from headstart import paths
from headstart.ui.catalogue import Recipe
from headstart.ui.export_run import FIRST, install_command
from headstart.ui.spelling import amount
from headstart.ui.stylesheet import dress
from headstart.ui.theme import LARGE, MEDIUM, SMALL

WEIGHTS = ("", "int8", "int8-sym", "int4", "int4-sym", "fp16")


class AddModel(QFrame):
    """A card with a form. `start_requested` has the words of `headstart-export`."""

    start_requested = Signal(object)  # tuple[str, ...]
    path_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._can_export, self._busy = True, False
        self._recipes: dict[str, Recipe] = {}
        self._text = QLabel(self)
        self._about = QLabel(self)
        self.source = self._box(self.tr("Recipe, hub id, folder or .gguf file"), (FIRST,))
        self.draft = self._box(self.tr("Draft model: recipe, hub id, folder or .gguf file"), ("",))
        self.weights = QComboBox(self)
        self.weights.setAccessibleName(self.tr("Precision of the weights"))
        for value in WEIGHTS:
            self.weights.addItem(value.upper() or self.tr("As recommended"), value)
        self._browse = QPushButton(self.tr("Browse"), self)
        self._go = QPushButton(self)
        self._lay_out()
        self._fill_menu()
        self._go.clicked.connect(self._act)
        self.source.currentTextChanged.connect(self._describe)
        self._describe()

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._can_export = installed
        self._describe()

    def set_catalogue(self, recipes: Iterable[Recipe]) -> None:
        """What can be had by name."""
        self._recipes = {recipe.name: recipe for recipe in recipes}
        for box, first in ((self.source, ()), (self.draft, ("",))):
            text = box.currentText()
            box.clear()
            box.addItems([*first, *self._recipes])
            box.setCurrentText(text)
        self._describe()

    def show_source(self, source: str) -> None:
        """Put a path or a name into the field."""
        self.source.setCurrentText(source)
        self._go.setFocus()

    def set_busy(self, busy: bool) -> None:
        """While something is being added."""
        for part in (self._go, self.source, self._browse):
            part.setEnabled(not busy)
        self._busy = busy
        self._describe()

    def _box(self, name: str, items: tuple[str, ...]) -> QComboBox:
        box = QComboBox(self)
        box.setEditable(True)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(16)
        box.addItems(items)
        box.setAccessibleName(name)
        return box

    def _lay_out(self) -> None:
        title = QLabel(self.tr("Add a model"), self)
        dress(title, "section")
        for label in (self._text, self._about):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            dress(label, "muted")
        dress(self._go, "primary")
        dress(self._browse, "plain")
        edit = self.draft.lineEdit()
        assert edit
        edit.setPlaceholderText(self.tr("none"))
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addWidget(title)
        column.addWidget(self._text)
        column.addLayout(self._form())
        column.addWidget(self._about)
        column.addWidget(self._go, 0, Qt.AlignmentFlag.AlignLeft)

    def _form(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        source = QHBoxLayout()
        source.setSpacing(SMALL)
        source.addWidget(self.source, 1)
        source.addWidget(self._browse)
        grid.addWidget(QLabel(self.tr("Model"), self), 0, 0)
        grid.addLayout(source, 0, 1)
        grid.addWidget(QLabel(self.tr("Draft"), self), 1, 0)
        grid.addWidget(self.draft, 1, 1)
        grid.addWidget(QLabel(self.tr("Weights"), self), 2, 0)
        grid.addWidget(self.weights, 2, 1, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(1, 1)
        return grid

    def _fill_menu(self) -> None:
        menu = QMenu(self._browse)
        menu.addAction(self.tr("Folder with weights, or an exported model…"), self._ask_for_folder)
        menu.addAction(self.tr("GGUF file…"), self._ask_for_file)
        self._browse.setMenu(menu)

    @Slot()
    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, self.tr("Folder of a model"))
        if path:
            self.path_chosen.emit(path)

    @Slot()
    def _ask_for_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, self.tr("GGUF file"), filter=self.tr("GGUF files (*.gguf)"))
        if path:
            self.path_chosen.emit(path)

    @Slot()
    def _describe(self) -> None:
        recipe = self._recipes.get(self._source())
        is_pair = recipe is not None and recipe.kind == "pair"
        for part in (self.draft, self.weights):
            part.setEnabled(self._can_export and not is_pair and not self._busy)
        self._about.setText(_about(recipe) if recipe else "")
        self._about.setVisible(recipe is not None)
        self._text.setText(self._introduction() if self._can_export else missing_exporter(self._source()))
        self._go.setText(self.tr("Export") if self._can_export else self.tr("Copy command"))

    def _introduction(self) -> str:
        return self.tr(
            "A recipe, a hub id, a folder with weights or a .gguf file; the export checks what it makes. A model that "
            "was exported elsewhere can be dropped here as a folder."
        )

    @Slot()
    def _act(self) -> None:
        source = self._source()
        if not self._can_export:
            QGuiApplication.clipboard().setText(install_command(source or FIRST))
        elif source:
            self.start_requested.emit((source, *self._options()))

    def _options(self) -> tuple[str, ...]:
        draft, weights = self.draft.currentText().strip(), self.weights.currentData()
        if not self.draft.isEnabled():
            return ()
        return (*(("--draft", draft) if draft else ()), *(("--weights", weights) if weights else ()))

    def _source(self) -> str:
        return self.source.currentText().strip()


def missing_exporter(source: str) -> str:
    """What to do where no model can be made."""
    if paths.bundled_wheel():
        return QCoreApplication.translate(
            "AddModel",
            "The exporter needs PyTorch and is not part of the installed program. In a terminal, this sets it up in a "
            "folder of its own (Python 3.11 or newer with venv; 2 GB, with PyTorch's libraries for graphics cards much "
            "more) and exports the model; from then on it can be used from here:\n{}\nIt may run on another computer, "
            "too: bring the folder that it makes (its --output) here and drop it on this page.",
        ).format(install_command(source or FIRST))
    return QCoreApplication.translate(
        "AddModel",
        "The exporter is not installed here. In Headstart's source folder, this installs it and exports the model:\n{}"
        "\nIt may run on another computer, too: bring the folder that it makes (its --output) here and drop it on this "
        "page.",
    ).format(install_command(source or FIRST))


def _about(recipe: Recipe) -> str:
    words = QCoreApplication.translate(
        "AddModel", "{title} · licence: {licence} · downloads up to {download}, takes up to {result} on the disk"
    ).format(
        title=recipe.title,
        licence=recipe.licence,
        download=amount(recipe.download),
        result=amount(recipe.result),
    )
    if recipe.is_tried:
        return words
    return words + QCoreApplication.translate("AddModel", " · not tried by Headstart's own tests")
