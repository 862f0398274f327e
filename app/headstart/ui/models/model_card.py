"""One installed model or pair: what it is, and what can be done with it. Knows no library."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from headstart.library import Broken, Entry, Model, Pair
from headstart.ui.fault_words import said
from headstart.ui.models import model_facts
from headstart.ui.spelling import amount
from headstart.ui.translation import translate
from headstart.ui.widgets.card import Card
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, TINY


class ModelCard(Card):
    """Emits the entry's name."""

    chosen = Signal(str)
    verify_requested = Signal(str)
    folder_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, entry: Entry, parent: QWidget | None = None) -> None:
        super().__init__(entry.name, parent)
        self._memory = self.label("", "muted")
        self._state = self.label("", "muted")
        self._use = self.button(self.tr("Use"), self.tr("Use {}"), self.chosen, "primary")
        self._verify = self.button(self.tr("Verify"), self.tr("Verify {}"), self.verify_requested)
        self._badge = QLabel(self.tr("in use"), self)
        dress(self._badge, "badge-accent")
        self._badge.hide()
        self._lay_out(entry)

    def show_chosen(self, chosen: bool) -> None:
        """Whether new chats use it."""
        self._badge.setVisible(chosen)
        self._use.setVisible(not chosen)

    def show_memory(self, needed: int, free: int) -> None:
        """Bytes that it takes when loaded, against those that it could take."""
        words = self.tr("Takes about {needed} of memory; {free} is free.").format(
            needed=amount(needed), free=amount(free)
        )
        self.say(self._memory, words, "danger" if needed > free else "muted")

    def show_state(self, text: str, *, bad: bool = False) -> None:
        """How a verification goes, or went."""
        self.say(self._state, text, "danger" if bad else "muted")

    def set_busy(self, busy: bool) -> None:
        """While it is verified."""
        self._verify.setEnabled(not busy)

    def _lay_out(self, entry: Entry) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(TINY)
        column.addLayout(self.heading(self._badge))
        column.addLayout(self.badges(_badges(entry)))
        for text, kind in _lines(entry):
            column.addWidget(self.label(text, kind))
        column.addWidget(self._memory)
        column.addWidget(self._state)
        column.addLayout(self._buttons(usable=not isinstance(entry, Broken)))

    def _buttons(self, *, usable: bool) -> QHBoxLayout:
        self._use.setVisible(usable)
        self._verify.setVisible(usable)
        folder = self.button(self.tr("Show folder"), self.tr("Show the folder of {}"), self.folder_requested)
        remove = self.button(self.tr("Remove…"), self.tr("Remove {}"), self.remove_requested)
        return self.row((self._use, self._verify, folder, remove))


def _badges(entry: Entry) -> list[str]:
    if isinstance(entry, Broken):
        return [translate("ModelCard", "cannot be used")]
    facts = [model_facts.precision(entry), amount(model_facts.size(entry)), model_facts.licences(entry)]
    return [translate("ModelCard", "pair"), *facts] if isinstance(entry, Pair) else facts


def _lines(entry: Entry) -> list[tuple[str, str]]:
    if isinstance(entry, Broken):
        return [(said(entry.reason), "danger")]
    models = model_facts.models(entry)
    faults = [(said(model.misreading), "danger") for model in models if model.misreading]
    return [*((_part(model, entry), "muted") for model in models), *faults]


def _part(model: Model, entry: Model | Pair) -> str:
    role = ""
    if isinstance(entry, Pair):
        role = translate("ModelCard", "Target: ") if model is entry.target else translate("ModelCard", "Draft: ")
    return translate("ModelCard", "{role}{parameters} parameters · {quality}").format(
        role=role, parameters=model_facts.parameters(model), quality=model_facts.quality(model)
    )
