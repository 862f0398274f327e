"""The models that can be had by name: what they cost, what they are good at, and the cards that offer them."""

import re
from collections.abc import Collection, Iterable
from enum import Enum
from functools import cache
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from headstart.ui.models.add_model import AddModel
from headstart.ui.spelling import amount, sentences
from headstart.ui.translation import translate
from headstart.ui.widgets.labels import Fold, Heading, button, muted, section
from headstart.ui.widgets.layouts import Card, add, row, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY

FIRST = "smollm2-135m-instruct"
_OFFERS = (FIRST, "qwen2.5-coder", "qwen3-4b+0.6b", "qwen3-8b+0.6b")  # of a first start, the largest last
_SMALLEST = 2  # of these, shown on any computer
_BESIDE = 1.25  # of its files: what a loaded model takes, with keys and values of a usual conversation
_TRIED = "run"  # the exporter's word for a recipe that its tests carry out
_FOR_CODE = re.compile(r"code|coding", re.IGNORECASE)
_SMALL = 1_000_000_000  # parameters; below, answers are short and know little
_LARGE = 7_000_000_000  # from here on they come slowly
_ROWS = 6  # of the catalogue that are shown before all are asked for
_GATED = "Gated: "  # how a note begins that asks for an account on the hub


class Strength(Enum):
    """What a model is good at."""

    CODE = "code"
    SMALL = "short texts"
    GENERAL = "most things"


class Recipe(msgspec.Struct, frozen=True):
    """One that can be had by name. Sizes are in bytes: the most that is downloaded, and that it takes."""

    name: str
    kind: str  # "model" or "pair", of which the next four are the target's
    title: str
    licence: str
    checked: str
    role: str
    parameters: int
    notes: tuple[str, ...]
    download: int
    result: int
    result_int4: int

    @property
    def fast_name(self) -> str:
        """The exporter's name for it with INT4 weights."""
        return f"{self.name}-int4"

    @property
    def memory(self) -> int:
        """Bytes that it takes when it is loaded, about."""
        return int(self.result * _BESIDE)


@cache
def recipes() -> tuple[Recipe, ...]:
    """Pairs first, what is meant to be a draft last; of each first what asks for nothing besides, and the largest.

    The file is what `headstart-export --list --json` prints: the list is there before the exporter is.
    """
    text = Path(__file__).with_name("catalogue.json").read_bytes()
    found = msgspec.json.decode(text, type=tuple[Recipe, ...])
    return tuple(sorted(found, key=_rank))


def _rank(recipe: Recipe) -> tuple[bool, bool, bool, int]:
    return recipe.role == "draft", recipe.kind != "pair", bool(recipe.notes), -recipe.result


def offers(free: int) -> tuple[Recipe, ...]:
    """Two or three that the memory can hold, of these the largest; the first two in any case."""
    found = _offered()
    return (*found[:_SMALLEST], *[recipe for recipe in found[_SMALLEST:] if recipe.memory <= free][-1:])


def _offered() -> list[Recipe]:
    named = {recipe.name: recipe for recipe in recipes()}
    return [named[name] for name in _OFFERS]


def strength(name: str, parameters: int | None = None) -> Strength:
    """By the model's name and size, which is None for a model on another computer."""
    if _FOR_CODE.search(name):
        return Strength.CODE
    return Strength.SMALL if parameters is not None and parameters < _SMALL else Strength.GENERAL


def good_at(recipe: Recipe) -> str:
    """In a sentence or two."""
    words = translate("Catalogue", "Good at most things.")
    match strength(recipe.name, recipe.parameters):
        case Strength.CODE:
            words = translate("Catalogue", "Writes code.")
        case Strength.SMALL:
            words = translate("Catalogue", "Small and quick on any computer; it knows little.")
        case Strength.GENERAL if recipe.parameters >= _LARGE:
            words = translate("Catalogue", "Knows the most, and takes its time.")
    if recipe.kind == "pair":
        return sentences(words, translate("Catalogue", "A small draft model guesses ahead to speed it up."))
    if recipe.role == "draft":
        return sentences(words, translate("Catalogue", "Can guess ahead for a larger one."))
    return words


def facts(recipe: Recipe, free: int) -> str:
    """What it costs; `free` is the memory that a model can take, or 0 where that is not known yet."""
    words = translate(
        "Catalogue",
        "Licence: {licence} · downloads up to {download}, takes up to {result} on the disk ({result_int4} in 4 bits)",
    ).format(
        licence=recipe.licence,
        download=amount(recipe.download),
        result=amount(recipe.result),
        result_int4=amount(recipe.result_int4),
    )
    if free:
        fits = translate("Catalogue", " · fits your memory: about {needed}")
        exceeds = translate("Catalogue", " · too large: needs about {needed} of memory, {free} is free")
        words += (fits if recipe.memory <= free else exceeds).format(needed=amount(recipe.memory), free=amount(free))
    if any(note.startswith(_GATED) for note in recipe.notes):
        gated = translate("Catalogue", "Accept its licence on huggingface.co first, and log in with the hub's program.")
        words = f"{words}\n{gated}"
    return words


class RecipeRow(QWidget):
    """A model that can be had, and the buttons that get it: precise as its recipe has it, or fast with INT4 weights."""

    def __init__(self, recipe: Recipe, parent: QWidget) -> None:
        super().__init__(parent)
        self.recipe = recipe
        self.fits = True
        self._about = muted("", self)
        self._badge = QLabel(self.tr("installed"), self)
        set_style_class(self._badge, "badge")
        self.get = button(self.tr("Get"), self)
        self.get.setAccessibleName(self.tr("Get {}").format(recipe.title))
        self.get_fast = button(self.tr("Get fast (4 bits)"), self, "flat")
        self.get_fast.setAccessibleName(self.tr("Get {} fast (4 bits)").format(recipe.title))
        title = section(recipe.title, self)
        title.setWordWrap(True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(MEDIUM)
        grid.setVerticalSpacing(TINY)
        grid.setColumnStretch(0, 1)
        grid.addWidget(title, 0, 0)
        grid.addWidget(self._about, 1, 0)
        for part in (self.get, self._badge):
            grid.addWidget(part, 0, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.get_fast, 1, 1, Qt.AlignmentFlag.AlignTop)
        self.show_memory(0)
        self.show_installed(())

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now, or 0 where that is not known yet."""
        self.fits = not free or self.recipe.memory <= free
        words = good_at(self.recipe)
        if self.recipe.checked != _TRIED:
            words = sentences(words, self.tr("Not tried by Headstart's own tests."))
        self._about.setText(f"{words}\n{facts(self.recipe, free)}")
        for part in (self.get, self.get_fast):
            part.setAccessibleDescription(self._about.text())

    def show_installed(self, names: Collection[str]) -> None:
        """Which models are here already."""
        self._badge.setVisible(self.recipe.name in names)
        self.get.setHidden(self.recipe.name in names)
        self.get_fast.setHidden(self.recipe.fast_name in names)

    def has(self, words: Iterable[str]) -> bool:
        """Whether all of these, in small letters, are said of it."""
        said = " ".join((self.recipe.name, self.recipe.title, self.recipe.licence, good_at(self.recipe))).casefold()
        return all(word in said for word in words)


class _RecipeCard(Card):
    """Rows of models. `start_requested` has the words of `headstart-export`."""

    start_requested = Signal(object)  # tuple[str, ...]

    def __init__(self, parent: QWidget | None, title: str = "", *, spacing: int = SMALL) -> None:
        super().__init__(parent, title, spacing=spacing)
        self.rows: tuple[RecipeRow, ...] = ()

    def add_rows(self, found: Iterable[Recipe]) -> QVBoxLayout:
        """One below the other."""
        self.rows = tuple(RecipeRow(recipe, self) for recipe in found)
        for each in self.rows:
            for part, name in ((each.get, each.recipe.name), (each.get_fast, each.recipe.fast_name)):
                part.clicked.connect(lambda _checked=False, name=name: self.start_requested.emit((name,)))
        return stacked(None, *self.rows, spacing=LARGE)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        for each in self.rows:
            each.show_memory(free)

    def set_enabled(self, *, enabled: bool) -> None:
        """Whether something can be got now."""
        for each in self.rows:
            each.get.setEnabled(enabled)
            each.get_fast.setEnabled(enabled)


class Welcome(_RecipeCard):
    """Offers two or three models for a start."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=MEDIUM)
        title = Heading(self.tr("Welcome. One thing is missing: a model."), 1.4, self)
        title.setWordWrap(True)
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        text = self.tr(
            "Choose one to begin with; you can add others later. It is downloaded and converted once. Afterwards "
            "everything stays on this computer."
        )
        self.column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        add(self.column, title, muted(text, self, selectable=True), self.add_rows(_offered()))
        for each in self.rows:
            each.get_fast.hide()
        set_style_class(self.rows[0].get, "primary")
        self.setFocusProxy(self.rows[0].get)
        self.show_memory(0)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now: what fits is offered."""
        super().show_memory(free)
        offered = offers(free)
        for each in self.rows:
            each.setVisible(each.recipe in offered)


class Catalogue(_RecipeCard):
    """All models that can be had by name, with a search, and a form for any other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Get a model"))
        self._is_open = self._is_brief = False
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search: a name, a licence, what it is good at"))
        self.search.setAccessibleName(self.tr("Search the models"))
        self.search.setClearButtonEnabled(True)
        self.fitting = QCheckBox(self.tr("Fits my memory"), self)
        self.fitting.setChecked(True)
        self._all = button("", self, "flat")
        self._none = muted(self.tr("No model of the list is like that."), self)
        self.other = AddModel(self)
        self.fold = Fold(self.tr("Another model, by name or file"), self.other, self)
        self.column.addWidget(self.search)
        self.column.addWidget(self.fitting, 0, Qt.AlignmentFlag.AlignLeft)
        add(self.column, self.add_rows(recipes()), self._none, row(self._all), row(self.fold), self.other)
        self.other.start_requested.connect(self.start_requested)
        self.search.textChanged.connect(self._choose)
        self.fitting.toggled.connect(self._choose)
        self._all.clicked.connect(self._open)
        self._choose()

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        super().show_memory(free)
        self._choose()

    def show_installed(self, names: Collection[str]) -> None:
        """Which models are here. Without any the other card offers the first, and this one is short."""
        self._is_brief = not names
        for each in self.rows:
            each.show_installed(names)
        self._choose()

    def set_enabled(self, *, enabled: bool) -> None:
        """Whether something can be got now."""
        super().set_enabled(enabled=enabled)
        self.other.set_enabled(enabled=enabled)

    def show_source(self, source: str) -> None:
        """Put a path or a name into the form."""
        self.fold.setChecked(True)
        self.other.show_source(source)

    @Slot()
    def _choose(self) -> None:
        """Show what was searched for; without a search the first few, until all are asked for."""
        words = self.search.text().casefold().split()
        found = [each for each in self.rows if (each.fits or not self.fitting.isChecked()) and each.has(words)]
        shown = found if words or self._is_open else found[: 0 if self._is_brief else _ROWS]
        for each in self.rows:
            each.setVisible(each in shown)
        self._none.setHidden(bool(found))
        self._all.setText(self.tr("Show all {}").format(len(found)))
        self._all.setVisible(len(shown) < len(found))

    @Slot()
    def _open(self) -> None:
        self._is_open = True
        self._choose()
