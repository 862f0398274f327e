"""One installed model or pair: what it is, and what can be done with it. Knows no library."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.library import Broken, Entry, Model, Pair
from headstart.ui import model_facts
from headstart.ui.stylesheet import dress
from headstart.ui.theme import LARGE, MEDIUM, SMALL, TINY
from headstart.ui.translation import translate


class ModelCard(QFrame):
    """Emits the entry's name."""

    chosen = Signal(str)
    verify_requested = Signal(str)
    folder_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, entry: Entry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = entry.name
        dress(self, "card")
        self.setAccessibleName(entry.name)
        self._state = QLabel(self)
        self._state.setWordWrap(True)
        dress(self._state, "muted")
        self._state.hide()
        self._use = self._button(self.tr("Use"), self.tr("Use {}"), self.chosen, "primary")
        self._verify = self._button(self.tr("Verify"), self.tr("Verify {}"), self.verify_requested)
        self._badge = QLabel(self.tr("in use"), self)
        dress(self._badge, "badge-accent")
        self._badge.hide()
        self._lay_out(entry)

    def show_chosen(self, chosen: bool) -> None:
        """Whether new chats use it."""
        self._badge.setVisible(chosen)
        self._use.setVisible(not chosen)

    def show_state(self, text: str) -> None:
        """How a verification goes, or went."""
        self._state.setText(text)
        self._state.setVisible(bool(text))

    def set_busy(self, busy: bool) -> None:
        """While it is verified."""
        self._verify.setEnabled(not busy)

    def _lay_out(self, entry: Entry) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(TINY)
        column.addLayout(self._heading(entry))
        for text, kind in _lines(entry):
            label = QLabel(text, self)
            label.setWordWrap(True)
            dress(label, kind)
            column.addWidget(label)
        column.addWidget(self._state)
        buttons = QHBoxLayout()
        buttons.setSpacing(SMALL)
        buttons.setContentsMargins(0, SMALL, 0, 0)
        usable = not isinstance(entry, Broken)
        self._use.setVisible(usable)
        self._verify.setVisible(usable)
        folder = self._button(self.tr("Show folder"), self.tr("Show the folder of {}"), self.folder_requested)
        remove = self._button(self.tr("Remove…"), self.tr("Remove {}"), self.remove_requested)
        for button in (self._use, self._verify, folder, remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column.addLayout(buttons)

    def _heading(self, entry: Entry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        title = QLabel(entry.name, self)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setBold(True)
        title.setFont(font)
        row.addWidget(title)
        for text in _badges(entry):
            badge = QLabel(text, self)
            dress(badge, "badge")
            row.addWidget(badge)
        row.addWidget(self._badge)
        row.addStretch(1)
        return row

    def _button(self, text: str, spoken: str, signal: object, kind: str = "plain") -> QPushButton:
        button = QPushButton(text, self)
        button.setAccessibleName(spoken.format(self.name))
        dress(button, kind)
        emit: Callable[[str], None] = signal.emit  # type: ignore[attr-defined]
        button.clicked.connect(lambda: emit(self.name))
        return button


def _badges(entry: Entry) -> list[str]:
    match entry:
        case Pair():
            return [
                translate("ModelCard", "pair"),
                model_facts.precision(entry),
                model_facts.amount(model_facts.size(entry)),
            ]
        case Model():
            return [model_facts.precision(entry), model_facts.amount(model_facts.size(entry))]
    return [translate("ModelCard", "cannot be used")]


def _lines(entry: Entry) -> list[tuple[str, str]]:
    if isinstance(entry, Broken):
        return [(entry.reason, "danger")]
    lines = [_part(model, entry) for model in model_facts.models(entry)]
    needs = translate("ModelCard", "Takes about {memory} of memory when loaded · licence: {licence}").format(
        memory=model_facts.amount(model_facts.memory(entry, None)), licence=model_facts.licences(entry)
    )
    return [*((line, "muted") for line in lines), (needs, "muted")]


def _part(model: Model, entry: Model | Pair) -> str:
    role = ""
    if isinstance(entry, Pair):
        role = translate("ModelCard", "Target: ") if model is entry.target else translate("ModelCard", "Draft: ")
    return translate("ModelCard", "{role}{parameters} parameters, {quality}").format(
        role=role, parameters=model_facts.parameters(model), quality=model_facts.quality(model)
    )
