"""The form that adds a model by its name or place, and the note about the exporter."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QFileDialog, QGridLayout, QLabel, QLineEdit, QWidget

from headstart.library import exporter
from headstart.library.exporter import FETCHED, SIZE, install_command
from headstart.ui.formatting import format_size
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import Fold, button, muted
from headstart.ui.widgets.layouts import Card, add, beside, initial_path, remember_folder, row, stacked
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.theme import SMALL


class ExporterNote(Card):
    """The exporter, which models of other formats need besides, and how to set it up by hand."""

    def __init__(self, example: str, parent: QWidget | None = None) -> None:
        """`example` is the model that the command makes."""
        super().__init__(parent, self.tr("Some models bring the exporter along"))
        self._command = install_command((example,))
        by_hand = QWidget(self)
        copy = button(self.tr("Copy command"), by_hand)
        text = self.tr(
            "This sets the exporter up and makes a model:\n{}\nIt may run on another computer, too: bring the folder "
            "that it makes (its --output) here and drop it on this page."
        )
        stacked(by_hand, muted(text.format(self._command), by_hand, selectable=True)).addLayout(row(copy))
        fold = Fold(self.tr("In a terminal"), by_hand, self)
        add(self.column, muted(self._introduction(), self, selectable=True), row(fold), by_hand)
        fold.setChecked(exporter.package() is None)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command))

    def _introduction(self) -> str:
        if exporter.package() is None:
            return self.tr(
                "The exporter, which converts models that are no GGUF files, is not installed here and has to be set "
                "up by hand."
            )
        return self.tr(
            "Most models come as a GGUF file, which is ready in seconds. Others go through the exporter. It needs "
            "PyTorch and is set up in a folder of its own before the first such model, which takes Python 3.11 or "
            "newer with venv and the network. It fetches about {fetched}, which take {size} on the disk, and much more "
            "where PyTorch comes with libraries for graphics cards, as it usually does on Linux. Nothing is fetched "
            "before you choose a model."
        ).format(fetched=format_size(FETCHED), size=format_size(SIZE))


class AddModel(QWidget):
    """The form that names a model. `start_requested` carries the arguments of `headstart-export`."""

    start_requested = Signal(object)  # tuple[str, ...]
    path_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        text = self.tr(
            "The model is checked after its conversion. You can also drop the folder of a converted model here."
        )
        self.source = self._field(self.tr("Model: name, folder or .gguf file"))
        self.draft = self._field(self.tr("Draft model: name, folder or .gguf file"))
        self.draft.setPlaceholderText(self.tr("optional"))
        self.weights = QComboBox(self)
        self.weights.setAccessibleName(self.tr("Precision of the weights"))
        for text, value in (
            (self.tr("As recommended"), ""),
            (self.tr("Precise (INT8)"), "int8"),
            (self.tr("Fast (4 bits)"), "int4"),
            ("INT8-SYM", "int8-sym"),
            ("FP16", "fp16"),
        ):
            self.weights.addItem(text, value)
        pass_wheel(self.weights)
        self._browse = button(self.tr("Browse"), self)
        menu = Menu(self._browse)
        menu.addAction(self.tr("Folder with Weights, or an Exported Model…"), self._ask_for_folder)
        menu.addAction(self.tr("GGUF File…"), self._ask_for_file)
        self._browse.setMenu(menu)
        self._go = button(self.tr("Download and convert"), self)
        stacked(self, muted(text, self, selectable=True)).addLayout(self._form())
        self._go.clicked.connect(self._on_start)
        self.source.returnPressed.connect(self._on_start)

    def show_source(self, source: str) -> None:
        """Put a path or a name into the field."""
        self.source.setText(source)
        self._go.setFocus()

    def set_enabled(self, *, enabled: bool) -> None:
        for part in (self._go, self.source, self.draft, self.weights, self._browse):
            part.setEnabled(enabled)

    def _field(self, name: str) -> QLineEdit:
        field = QLineEdit(self)
        field.setAccessibleName(name)
        return field

    def _form(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        source = beside(None, self.source, self._browse, growing=self.source)
        grid.addWidget(QLabel(self.tr("Model"), self), 0, 0)
        grid.addLayout(source, 0, 1)
        grid.addWidget(QLabel(self.tr("Draft model"), self), 1, 0)
        grid.addWidget(self.draft, 1, 1)
        grid.addWidget(QLabel(self.tr("Weights"), self), 2, 0)
        grid.addWidget(self.weights, 2, 1, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._go, 3, 1, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(1, 1)
        return grid

    @Slot()
    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, self.tr("Folder of a model"), initial_path())
        if path:
            remember_folder(path)
            self.path_chosen.emit(path)

    @Slot()
    def _ask_for_file(self) -> None:
        kinds = self.tr("GGUF files (*.gguf)")
        path, _ = QFileDialog.getOpenFileName(self, self.tr("GGUF file"), initial_path(), kinds)
        if path:
            remember_folder(path)
            self.path_chosen.emit(path)

    @Slot()
    def _on_start(self) -> None:
        source, draft, weights = self.source.text().strip(), self.draft.text().strip(), self.weights.currentData()
        if source and self._go.isEnabled():
            draft_words = ("--draft", draft) if draft else ()
            self.start_requested.emit((source, *draft_words, *(("--weights", weights) if weights else ())))
