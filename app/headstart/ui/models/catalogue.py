"""Models to get by name: their cost, their strengths, and the cards that offer them."""

import re
from collections.abc import Collection, Iterable
from enum import Enum
from functools import cache
from itertools import pairwise

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QLineEdit, QWidget

from headstart.library.catalogue import CatalogueEntry, entries
from headstart.library.exporter import FETCHED, SIZE
from headstart.settings import Settings
from headstart.ui.formatting import rough_size, sentences
from headstart.ui.models import model_choices
from headstart.ui.models.add_model import AddModel
from headstart.ui.models.model_choices import needed_memory
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.labels import Fold, Heading, StatusLine, button, muted, section
from headstart.ui.widgets.layouts import Card, add, flowing, row, stacked
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL, TINY

FIRST = "smollm2-135m-instruct"
_GENERAL = ("qwen3-4b+0.6b", "qwen3-1.7b", "qwen3-0.6b")  # good at most things, best first; one is recommended
_FIRST_OFFERS = (*_GENERAL, "qwen2.5-coder", FIRST)  # for a first start
_COMFORT = 0.5  # share of the free memory that a recommended model takes at most
_TESTED = "run"  # the exporter's word for a recipe that its tests carry out
_FOR_CODE = re.compile(r"code|coding", re.IGNORECASE)
_SMALL_MODEL = 1_000_000_000  # parameters; below, answers are short and know little
_LARGE_MODEL = 7_000_000_000  # parameters; from here on answers come slowly
_ROWS = 6  # of the catalogue, before all are asked for
_USUAL = Settings()
_GATED = "Gated: "  # beginning of a note about a model that needs an account on the hub


class Strength(Enum):
    CODE = "code"
    SMALL = "short texts"
    GENERAL = "most things"


@cache
def recipes() -> tuple[CatalogueEntry, ...]:
    """Return the recommended recipes, by purpose: general, code, small, large; at the end those that cannot chat."""
    return tuple(sorted(entries(), key=_rank))


def _rank(recipe: CatalogueEntry) -> tuple[bool, bool, int, bool, int]:
    kind = strength(recipe.name, recipe.parameters)
    groups = (kind is Strength.GENERAL and not is_large(recipe), kind is Strength.CODE, kind is Strength.SMALL, True)
    asks_more = bool(recipe.notes) or recipe.needs_pytorch
    return recipe.purpose != "chat", asks_more, groups.index(True), recipe.kind != "pair", -recipe.result


def is_large(recipe: CatalogueEntry) -> bool:
    """Return whether the model of a recipe answers slowly on most computers."""
    return recipe.parameters >= _LARGE_MODEL


def recommended(free: int, settings: Settings = _USUAL) -> CatalogueEntry:
    """Return the best general model that leaves most of `free` bytes of memory to other programs; 0 is unknown."""
    general = [recipe for name in _GENERAL for recipe in recipes() if recipe.name == name]
    fitting = (recipe for recipe in general if needed_memory(recipe.loaded, settings) <= free * _COMFORT)
    return next(fitting, general[-1])


def offers(free: int, settings: Settings = _USUAL) -> tuple[CatalogueEntry, ...]:
    """Return the recommended model, one for code, and the smallest."""
    return (recommended(free, settings), *(recipe for recipe in _first_offers() if recipe.name not in _GENERAL))


def _first_offers() -> list[CatalogueEntry]:
    named = {recipe.name: recipe for recipe in recipes()}
    return [named[name] for name in _FIRST_OFFERS]


def strength(name: str, parameters: int | None = None) -> Strength:
    """Return the strength by name and number of parameters, which is None for a model on another computer."""
    if _FOR_CODE.search(name):
        return Strength.CODE
    return Strength.SMALL if parameters is not None and parameters < _SMALL_MODEL else Strength.GENERAL


def good_at(recipe: CatalogueEntry) -> str:
    """Describe a model's strength in a sentence or two."""
    if recipe.purpose == "embedding":
        return translate(
            "Catalogue",
            "Finds passages in the folders of projects in other words, and serves programs by the local server. It "
            "cannot chat.",
        )
    if recipe.purpose == "recognition":
        return translate(
            "Catalogue",
            "Reads text in pictures and scans that you attach or keep in a project's folders: English, Chinese, "
            "Japanese and others. It cannot chat.",
        )
    if recipe.purpose == "transcription":
        words = translate("Catalogue", "Writes down what you say and what is said in recordings. It cannot chat.")
        if recipe.name.endswith("-en"):
            return sentences(words, translate("Catalogue", "It knows English alone, and is the smaller of the two."))
        return sentences(words, translate("Catalogue", "It knows 99 languages, Chinese among them."))
    if recipe.purpose == "completion":
        return translate("Catalogue", "Continues texts for programs, by the local server. It cannot chat.")
    words = translate("Catalogue", "Medium-sized: good at most things.")
    match strength(recipe.name, recipe.parameters):
        case Strength.CODE:
            words = translate("Catalogue", "Writes code.")
        case Strength.SMALL:
            words = translate("Catalogue", "Small and quick on any computer; it knows little.")
        case Strength.GENERAL if is_large(recipe):
            words = translate("Catalogue", "Large: knows the most, and takes its time.")
    if recipe.kind == "pair":
        return sentences(words, translate("Catalogue", "It comes with a small helper that makes it faster."))
    if recipe.role == "draft":
        return sentences(words, translate("Catalogue", "It can make a larger one faster."))
    return words


def cost_text(recipe: CatalogueEntry, free: int, settings: Settings = _USUAL) -> str:
    """Return sentences on a model's cost. `free`: the bytes of memory that a model can take; 0 if unknown."""
    words = translate("Catalogue", "{download} to download · {result} on the disk · licence: {licence}").format(
        download=rough_size(recipe.download), result=rough_size(recipe.result), licence=recipe.licence
    )
    if free:
        needed = needed_memory(recipe.loaded, settings)
        fitting = translate("Catalogue", "Fits your memory.")
        if needed > free:
            fitting = translate("Catalogue", "Too large for your memory.")
        taken = model_choices.memory_words(needed, free, writes=recipe.writes, is_upper_bound=True)
        words = f"{words}\n{sentences(fitting, taken)}"
    if done := recipe.tasks_done:
        words = f"{words}\n{translate_error(done)}"
    if recipe.needs_pytorch:
        more = translate("Catalogue", "Needs PyTorch, fetched once for all models: {fetched}, and {size} on the disk.")
        words = f"{words}\n{more.format(fetched=rough_size(FETCHED), size=rough_size(SIZE))}"
    if any(note.startswith(_GATED) for note in recipe.notes):
        gated = translate("Catalogue", "Accept its licence on huggingface.co first, and log in with the hub's program.")
        words = f"{words}\n{gated}"
    return words


class RecipeRow(QWidget):
    """A model with buttons that get it: as its recipe has it, or fast with INT4 weights."""

    def __init__(self, recipe: CatalogueEntry, parent: QWidget) -> None:
        super().__init__(parent)
        self.recipe = recipe
        self.fits = True
        self._about = muted("", self)
        self._badge = QLabel(self.tr("installed"), self)
        set_style_class(self._badge, "badge")
        self._recommended = QLabel(self.tr("recommended"), self)
        set_style_class(self._recommended, "badge-accent")
        self.get = button(self.tr("Get"), self)
        self.get.setAccessibleName(self.tr("Get {}").format(recipe.title))
        self.get_fast = button(self.tr("Get fast (4 bits)"), self, "link")
        self.get_fast.setAccessibleName(self.tr("Get {} fast (4 bits)").format(recipe.title))
        title = section(recipe.title, self)
        head = flowing((title, self._recommended), self, SMALL)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(MEDIUM)
        grid.setVerticalSpacing(TINY)
        grid.setColumnStretch(0, 1)
        grid.addWidget(head, 0, 0, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._about, 1, 0)
        for part in (self.get, self._badge):
            grid.addWidget(part, 0, 1, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        grid.addWidget(self.get_fast, 1, 1, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
        self.show_memory(0)
        self.show_installed(())

    def show_memory(self, free: int, settings: Settings = _USUAL) -> None:
        """Show whether the model fits into `free` bytes of memory; 0 is unknown."""
        self.fits = not free or needed_memory(self.recipe.loaded, settings) <= free
        self._recommended.setVisible(self.recipe == recommended(free, settings))
        self._about.setText(f"{good_at(self.recipe)}\n{cost_text(self.recipe, free, settings)}")
        untested = "" if self.recipe.checked == _TESTED else self.tr("Not tried by Headstart's own tests.")
        self._about.setToolTip(untested)
        smaller = self.tr("With 4 bits: {} on the disk, faster and a little less exact").format(
            rough_size(self.recipe.result_int4)
        )
        self.get_fast.setToolTip(smaller)
        for part in (self.get, self.get_fast):
            part.setAccessibleDescription(f"{self._about.text()}\n{untested}".strip())

    def show_installed(self, names: Collection[str]) -> None:
        self._badge.setVisible(self.recipe.name in names)
        self.get.setHidden(self.recipe.name in names)
        self.get_fast.setVisible(self.recipe.has_smaller_form and self.recipe.fast_name not in names)

    def matches(self, words: Iterable[str]) -> bool:
        """Return whether all words, in lower case, occur in the description of the model."""
        text = " ".join((self.recipe.name, self.recipe.title, self.recipe.licence, good_at(self.recipe))).casefold()
        return all(word in text for word in words)


class _RecipeCard(Card):
    """Rows of models, which are made when they are first shown, to start faster.

    `start_requested` carries the arguments of `headstart-export`.
    """

    start_requested = Signal(object)  # tuple[str, ...]

    def __init__(self, parent: QWidget | None, title: str = "", *, spacing: int = SMALL) -> None:
        super().__init__(parent, title, spacing=spacing)
        self.rows: tuple[RecipeRow, ...] = ()
        self._usual_rows: tuple[RecipeRow, ...] = ()  # in the order of the recipes
        self._memory, self._is_enabled = (0, _USUAL), True
        self._rows_column = stacked(None, spacing=LARGE)

    def showEvent(self, event: QShowEvent) -> None:
        if not self.rows:
            self._build()
        super().showEvent(event)

    def _build(self) -> None:
        """Add the rows, and show in them what is known."""
        raise NotImplementedError

    def _add_rows(self, shown_recipes: Iterable[CatalogueEntry]) -> None:
        """Add a row for each recipe, one below the other."""
        self.rows = self._usual_rows = tuple(RecipeRow(recipe, self) for recipe in shown_recipes)
        add(self._rows_column, *self.rows)
        for offer in self.rows:
            for part, name in ((offer.get, offer.recipe.name), (offer.get_fast, offer.recipe.fast_name)):
                part.clicked.connect(lambda _checked=False, name=name: self.start_requested.emit((name,)))
                part.setEnabled(self._is_enabled)

    def show_memory(self, free: int, settings: Settings = _USUAL) -> None:
        """Show whether models fit into `free` bytes of memory, the recommended one first."""
        for offer in self.rows:
            offer.show_memory(free, settings)
        rows = tuple(sorted(self._usual_rows, key=lambda offer: offer.recipe != recommended(free, settings)))
        if rows == self.rows:
            return
        self.rows = rows
        for offer in rows:
            self._rows_column.removeWidget(offer)
            self._rows_column.addWidget(offer)
        buttons = [part for offer in self.rows for part in (offer.get, offer.get_fast)]
        for before, after in pairwise(buttons):
            QWidget.setTabOrder(before, after)

    def set_enabled(self, *, enabled: bool) -> None:
        """Allow or forbid to get models."""
        self._is_enabled = enabled
        for offer in self.rows:
            offer.get.setEnabled(enabled)
            offer.get_fast.setEnabled(enabled)


class Welcome(_RecipeCard):
    """Three models to start with, the recommended one first."""

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
        add(self.column, title, muted(text, self, selectable=True), self._rows_column)

    def _build(self) -> None:
        self._add_rows(_first_offers())
        for offer in self.rows:
            offer.get_fast.hide()
        self.show_memory(*self._memory)

    def show_memory(self, free: int, settings: Settings = _USUAL) -> None:
        """Offer the models that fit into `free` bytes of memory."""
        self._memory = free, settings
        if not self.rows:
            return
        super().show_memory(free, settings)
        offered = offers(free, settings)
        for offer in self.rows:
            offer.setVisible(offer.recipe in offered)
            is_first = offer.recipe == offered[0]
            set_style_property(offer.get, "kind", "primary" if is_first else "plain")
            if is_first:
                self.setFocusProxy(offer.get)


class Catalogue(_RecipeCard):
    """The list of models to get by name, with a search, and a form for any other model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, self.tr("Get a model"))
        self._shows_all = self._is_brief = False
        self._installed = frozenset[str]()
        self._reason = StatusLine(self)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search: a name, a licence, what it is good at"))
        self.search.setAccessibleName(self.tr("Search the models"))
        self.search.setClearButtonEnabled(True)
        self.fitting = QCheckBox(self.tr("Fits my memory"), self)
        self.fitting.setChecked(True)
        self._all = button("", self, "link")
        self._no_match = muted(self.tr("No model of the list is like that."), self)
        self.other = AddModel(self)
        self.fold = Fold(self.tr("Another model, by name or file"), self.other, self)
        add(self.column, self._reason, self.search)
        self.column.addWidget(self.fitting, 0, Qt.AlignmentFlag.AlignLeft)
        add(self.column, self._rows_column, self._no_match, row(self._all), row(self.fold), self.other)
        self.other.start_requested.connect(self.start_requested)
        self.search.textChanged.connect(self._show_matches)
        self.search.textEdited.connect(lambda: self._reason.say(""))
        self.fitting.toggled.connect(self._show_matches)
        self._all.clicked.connect(self._on_show_all)

    def _build(self) -> None:
        self._add_rows(recipes())
        for offer in self.rows:
            offer.show_installed(self._installed)
        self._update()

    def show_memory(self, free: int, settings: Settings = _USUAL) -> None:
        self._memory = free, settings
        self._update()

    def show_installed(self, names: Collection[str]) -> None:
        """Show which models are installed. Without any, the welcome offers the first ones, and this card is short."""
        self._installed, self._is_brief = frozenset(names), not names
        for offer in self.rows:
            offer.show_installed(names)
        self._update()

    def set_enabled(self, *, enabled: bool) -> None:
        super().set_enabled(enabled=enabled)
        self.other.set_enabled(enabled=enabled)

    def search_for(self, name: str, reason: str) -> None:
        """Search for a model that something needs, and say what."""
        self.search.setText(name)
        self.search.setFocus()
        self._reason.say(reason, "plain")
        announce(self, reason)

    def show_source(self, source: str) -> None:
        """Put a path or a name into the form."""
        self.fold.setChecked(True)
        self.other.show_source(source)

    @property
    def _is_folded(self) -> bool:
        """True while no row is shown: on a first start, until all are requested."""
        return self._is_brief and not self._shows_all

    def _update(self) -> None:
        """Show the memory unless no row is shown: what a window of attention takes needs NumPy, which loads slowly."""
        if not self._is_folded:
            super().show_memory(*self._memory)
        self._show_matches()

    @Slot()
    def _show_matches(self) -> None:
        """Show the matches of the search; without a search the first few, until all are requested."""
        words = self.search.text().casefold().split()
        matching = [
            offer for offer in self.rows if (offer.fits or not self.fitting.isChecked()) and offer.matches(words)
        ]
        shown = matching if words or self._shows_all else matching[: 0 if self._is_brief else _ROWS]
        for offer in self.rows:
            offer.setVisible(offer in shown)
        self._no_match.setHidden(bool(matching))
        for part in (self.search, self.fitting):
            part.setHidden(self._is_folded)
        all_of_them = self.tr("Show all {} models").format(len(matching))
        self._all.setText(self.tr("Show all models") if self._is_folded else all_of_them)
        self._all.setVisible(len(shown) < len(matching))

    @Slot()
    def _on_show_all(self) -> None:
        self._shows_all = True
        self._update()
