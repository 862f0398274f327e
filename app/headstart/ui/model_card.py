"""One installed model or pair: what it is, and what can be done with it. Knows no library."""

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.library import Broken, Entry, Model, Pair
from headstart.ui import model_facts
from headstart.ui.elided_label import ElidedLabel
from headstart.ui.fault_words import said
from headstart.ui.spelling import amount
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
        self._memory = self._label("", "muted")
        self._state = self._label("", "muted")
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

    def show_memory(self, needed: int, free: int) -> None:
        """Bytes that it takes when loaded, against those that it could take."""
        words = self.tr("Takes about {needed} of memory; {free} is free.").format(
            needed=amount(needed), free=amount(free)
        )
        self._say(self._memory, words, "danger" if needed > free else "muted")

    def show_state(self, text: str, *, bad: bool = False) -> None:
        """How a verification goes, or went."""
        self._say(self._state, text, "danger" if bad else "muted")

    def set_busy(self, busy: bool) -> None:
        """While it is verified."""
        self._verify.setEnabled(not busy)

    def _lay_out(self, entry: Entry) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(TINY)
        column.addLayout(self._heading(entry))
        column.addLayout(self._badges(entry))
        for text, kind in _lines(entry):
            column.addWidget(self._label(text, kind))
        column.addWidget(self._memory)
        column.addWidget(self._state)
        column.addLayout(self._buttons(usable=not isinstance(entry, Broken)))

    def _heading(self, entry: Entry) -> QHBoxLayout:
        title = ElidedLabel(self)
        title.show_text(entry.name)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.15)
        font.setBold(True)
        title.setFont(font)
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(title, 1)
        row.addWidget(self._badge)
        return row

    def _badges(self, entry: Entry) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.setContentsMargins(0, 0, 0, TINY)
        for text in _badges(entry):
            badge = QLabel(text, self)
            dress(badge, "badge")
            row.addWidget(badge)
        row.addStretch(1)
        return row

    def _buttons(self, *, usable: bool) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.setContentsMargins(0, SMALL, 0, 0)
        self._use.setVisible(usable)
        self._verify.setVisible(usable)
        folder = self._button(self.tr("Show folder"), self.tr("Show the folder of {}"), self.folder_requested)
        remove = self._button(self.tr("Remove…"), self.tr("Remove {}"), self.remove_requested)
        for button in (self._use, self._verify, folder, remove):
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _label(self, text: str, kind: str) -> QLabel:
        label = QLabel(text, self)
        label.setWordWrap(True)
        label.setVisible(bool(text))
        dress(label, kind)
        return label

    def _say(self, label: QLabel, text: str, kind: str) -> None:
        label.setText(text)
        label.setVisible(bool(text))
        dress(label, kind)
        label.style().unpolish(label)
        label.style().polish(label)

    def _button(self, text: str, spoken: str, signal: object, kind: str = "plain") -> QPushButton:
        button = QPushButton(text, self)
        button.setAccessibleName(spoken.format(self.name))
        dress(button, kind)
        emit: Callable[[str], None] = signal.emit  # type: ignore[attr-defined]
        button.clicked.connect(lambda: emit(self.name))
        return button


def _badges(entry: Entry) -> list[str]:
    if isinstance(entry, Broken):
        return [translate("ModelCard", "cannot be used")]
    facts = [model_facts.precision(entry), amount(model_facts.size(entry)), model_facts.licences(entry)]
    return [translate("ModelCard", "pair"), *facts] if isinstance(entry, Pair) else facts


def _lines(entry: Entry) -> list[tuple[str, str]]:
    if isinstance(entry, Broken):
        return [(said(entry.reason), "danger")]
    return [(_part(model, entry), "muted") for model in model_facts.models(entry)]


def _part(model: Model, entry: Model | Pair) -> str:
    role = ""
    if isinstance(entry, Pair):
        role = translate("ModelCard", "Target: ") if model is entry.target else translate("ModelCard", "Draft: ")
    return translate("ModelCard", "{role}{parameters} parameters · {quality}").format(
        role=role, parameters=model_facts.parameters(model), quality=model_facts.quality(model)
    )
