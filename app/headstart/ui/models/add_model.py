"""The form that adds a model, and how to get the exporter first."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from headstart import paths
from headstart.exporter import FETCHED, SIZE, install_command
from headstart.ui.spelling import amount
from headstart.ui.translation import translate
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import button, muted
from headstart.ui.widgets.layouts import Card, file_place, keep_place, row
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import SMALL

FIRST = "smollm2-135m-instruct"
_TRIED = "run"  # the exporter's word for a recipe that its tests carry out


@dataclass(frozen=True)
class Recipe:
    """One that can be exported by name. Sizes are in bytes: the most that is downloaded, and that it takes."""

    name: str
    kind: str
    title: str
    licence: str
    is_tried: bool
    download: int
    result: int


def recipes(text: str) -> tuple[Recipe, ...]:
    """The list as the exporter prints it. Raises ValueError, KeyError or TypeError."""
    return tuple(
        Recipe(
            str(item["name"]),
            str(item["kind"]),
            str(item["title"]),
            str(item["licence"]),
            is_tried=item["checked"] == _TRIED,
            download=int(item["download"]),
            result=int(item["result"]),
        )
        for item in json.loads(text)
    )


# What a first start offers, the largest last; licences and sizes are those that the exporter lists.
OFFERS = (
    Recipe(
        FIRST, "model", "SmolLM2 135M Instruct", "Apache-2.0", is_tried=True, download=273_000_000, result=179_423_788
    ),
    Recipe(
        "qwen2.5-coder",
        "pair",
        "Qwen2.5 Coder 1.5B",
        "Apache-2.0",
        is_tried=True,
        download=1_608_720_832,
        result=2_553_353_670,
    ),
    Recipe(
        "qwen3-4b+0.6b", "pair", "Qwen3 4B", "Apache-2.0", is_tried=False, download=9_580_000_000, result=5_126_516_991
    ),
    Recipe(
        "qwen3-8b+0.6b", "pair", "Qwen3 8B", "Apache-2.0", is_tried=False, download=17_920_000_000, result=9_711_610_982
    ),
)
_SMALLEST = 2  # of OFFERS, shown on any computer
_BESIDE = 1.25  # of its files: what a loaded model takes, with keys and values of a usual conversation


def memory_for(recipe: Recipe) -> int:
    """Bytes that it takes when it is loaded, about."""
    return int(recipe.result * _BESIDE)


def offers(free: int) -> tuple[Recipe, ...]:
    """Two or three that the memory can hold, of these the largest; the first two in any case."""
    more = [recipe for recipe in OFFERS[_SMALLEST:] if memory_for(recipe) <= free]
    return (*OFFERS[:_SMALLEST], *more[-1:])


def facts(recipe: Recipe, free: int) -> str:
    """What it costs; `free` is the memory that a model can take, or 0 where that is not known yet."""
    words = translate(
        "AddModel", "licence: {licence} · downloads up to {download}, takes up to {result} on the disk"
    ).format(licence=recipe.licence, download=amount(recipe.download), result=amount(recipe.result))
    if free:
        need = memory_for(recipe)
        fits = translate("AddModel", " · fits your memory: about {needed} of {free}")
        exceeds = translate("AddModel", " · too large: needs about {needed} of memory, {free} is free")
        words += (fits if need <= free else exceeds).format(needed=amount(need), free=amount(free))
    return words if recipe.is_tried else words + translate("AddModel", " · not tried by Headstart's own tests")


class ExporterSetupForm(QWidget):
    """How to get the exporter: a button in an installed program, which brings its package, and a command."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._command = ""
        self._text = muted("", self, selectable=True)
        self._by_hand = muted("", self, selectable=True)
        self.set_up = button(self.tr("Set up the exporter"), self, "primary")
        self._copy = button(self.tr("Copy command"), self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SMALL)
        column.addWidget(self._text)
        column.addWidget(self._by_hand)
        column.addLayout(row(self.set_up, self._copy))
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command))

    def show_words(self, words: Sequence[str]) -> None:
        """The command makes the model that these name."""
        brought = paths.bundled_wheel() is not None
        self._command = install_command(words)
        self.set_up.setVisible(brought)
        self.setFocusProxy(self.set_up if brought else self._copy)
        dress(self._copy, "plain" if brought else "primary")
        if brought:
            text = self.tr(
                "The exporter needs PyTorch and is not part of the installed program. The button sets it up in a "
                "folder of its own and then exports the model. It needs Python 3.11 or newer with venv on this "
                "computer and the network: it fetches about {fetched}, which take {size} on the disk, and much more "
                "where PyTorch comes with libraries for graphics cards, as it usually does on Linux. Nothing is "
                "fetched before you press it."
            ).format(fetched=amount(FETCHED), size=amount(SIZE))
            by_hand = self.tr(
                "In a terminal, this does the same:\n{}\nIt may run on another computer, too: bring the folder that it "
                "makes (its --output) here and drop it on this page."
            )
        else:
            text = self.tr("The exporter is not installed here.")
            by_hand = self.tr(
                "In Headstart's source folder, this installs it and exports the model:\n{}\nIt may run on another "
                "computer, too: bring the folder that it makes (its --output) here and drop it on this page."
            )
        self._text.setText(text)
        self._by_hand.setText(by_hand.format(self._command))

    def set_brief(self, *, brief: bool) -> None:
        """Only the buttons, where the same words stand beside it already."""
        for label in (self._text, self._by_hand):
            label.setHidden(brief)


WEIGHTS = ("", "int8", "int8-sym", "int4", "int4-sym", "fp16")


class AddModel(Card):
    """The form that names a model. `start_requested` has the words of `headstart-export`."""

    start_requested = Signal(object)  # tuple[str, ...]
    setup_requested = Signal(object)  # the same, where there is no exporter yet; empty where no model is named
    path_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Add a model"))
        self._can_export, self._busy = True, False
        self._free = 0
        self._recipes: dict[str, Recipe] = {}
        text = self.tr(
            "Choose from the list, or enter a Hugging Face name, a folder or a .gguf file. The model is checked after "
            "its conversion. You can also drop the folder of a converted model here."
        )
        self._about = muted("", self, selectable=True)
        self.source = self._box(self.tr("Model: name, folder or .gguf file"), (FIRST,))
        self.draft = self._box(self.tr("Draft model: name, folder or .gguf file"), ("",))
        edit = self.draft.lineEdit()
        assert edit
        edit.setPlaceholderText(self.tr("optional"))
        self.weights = QComboBox(self)
        self.weights.setAccessibleName(self.tr("Precision of the weights"))
        for value in WEIGHTS:
            self.weights.addItem(value.upper() or self.tr("As recommended"), value)
        self._browse = button(self.tr("Browse"), self)
        menu = QMenu(self._browse)
        menu.addAction(self.tr("Folder with weights, or an exported model…"), self._ask_for_folder)
        menu.addAction(self.tr("GGUF file…"), self._ask_for_file)
        self._browse.setMenu(menu)
        self._go = button(self.tr("Download and convert"), self, "primary")
        self._setup = ExporterSetupForm(self)
        self.column.addWidget(muted(text, self, selectable=True))
        self.column.addLayout(self._form())
        self.column.addWidget(self._about)
        self.column.addWidget(self._go, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self._setup)
        self._go.clicked.connect(self._act)
        self._setup.set_up.clicked.connect(lambda: self.setup_requested.emit(self._words()))
        pass_wheel(self.source, self.draft, self.weights)
        for box in (self.source, self.draft, self.weights):
            box.currentTextChanged.connect(self._describe)
        self._describe()

    def set_exporter(self, *, installed: bool) -> None:
        """Whether models can be made here."""
        self._can_export = installed
        self._describe()

    def set_brief(self, *, brief: bool) -> None:
        """Whether another card stands first, and says already how to get an exporter."""
        self._setup.set_brief(brief=brief)
        mark(self._go, "kind", "plain" if brief else "primary")

    def set_catalogue(self, recipes: Iterable[Recipe]) -> None:
        """What can be had by name."""
        self._recipes = {recipe.name: recipe for recipe in recipes}
        for box, first in ((self.source, ()), (self.draft, ("",))):
            text = box.currentText()
            box.clear()
            box.addItems([*first, *self._recipes])
            box.setCurrentText(text)
        self._describe()

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        self._free = free
        self._describe()

    def show_source(self, source: str) -> None:
        """Put a path or a name into the field."""
        self.source.setCurrentText(source)
        (self._go if self._can_export else self._setup).setFocus()

    def set_busy(self, busy: bool) -> None:
        """While something is being added."""
        for part in (self._go, self.source, self._browse):
            part.setEnabled(not busy)
        self._setup.set_up.setDisabled(busy)
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

    def _form(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        source = QHBoxLayout()
        source.setSpacing(SMALL)
        source.addWidget(self.source, 1)
        source.addWidget(self._browse)
        grid.addWidget(QLabel(self.tr("Model"), self), 0, 0)
        grid.addLayout(source, 0, 1)
        grid.addWidget(QLabel(self.tr("Draft model"), self), 1, 0)
        grid.addWidget(self.draft, 1, 1)
        grid.addWidget(QLabel(self.tr("Weights"), self), 2, 0)
        grid.addWidget(self.weights, 2, 1, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(1, 1)
        return grid

    @Slot()
    def _ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, self.tr("Folder of a model"), file_place())
        if path:
            keep_place(path)
            self.path_chosen.emit(path)

    @Slot()
    def _ask_for_file(self) -> None:
        kinds = self.tr("GGUF files (*.gguf)")
        path, _ = QFileDialog.getOpenFileName(self, self.tr("GGUF file"), file_place(), kinds)
        if path:
            keep_place(path)
            self.path_chosen.emit(path)

    @Slot()
    def _describe(self) -> None:
        recipe = self._recipes.get(self._source())
        is_pair = recipe is not None and recipe.kind == "pair"
        for part in (self.draft, self.weights):
            part.setEnabled(not is_pair and not self._busy)
        self._about.setText(f"{recipe.title} · {facts(recipe, self._free)}" if recipe else "")
        self._about.setVisible(recipe is not None)
        self._go.setVisible(self._can_export)
        self._setup.setVisible(not self._can_export)
        self._setup.show_words(self._words() or (FIRST,))

    @Slot()
    def _act(self) -> None:
        if words := self._words():
            self.start_requested.emit(words)

    def _words(self) -> tuple[str, ...]:
        source = self._source()
        draft, weights = self.draft.currentText().strip(), self.weights.currentData()
        if not source or not self.draft.isEnabled():
            return (source,) if source else ()
        return (source, *(("--draft", draft) if draft else ()), *(("--weights", weights) if weights else ()))

    def _source(self) -> str:
        return self.source.currentText().strip()
