"""How much a benchmark measures: prompts, repeats, longest answer, with OpenVINO GenAI or without. Knows no engine."""

from collections import Counter

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QSpinBox, QVBoxLayout, QWidget

from headstart.engine.bench.prompts import read_prompts
from headstart.engine.protocol import BenchSize
from headstart.ui.stylesheet import dress, inset
from headstart.ui.theme import LARGE, MEDIUM
from headstart.ui.titled_field import TitledField, flowing

_WIDTH = 110  # pixels of a number
_ALL = 1000  # more prompts than any class has


class BenchForm(QFrame):
    """Emits `changed` when another size is chosen."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        kinds = Counter(prompt.kind for prompt in read_prompts(_ALL))
        self.prompts = self._spin(1, min(kinds.values()), 1)
        self.repeats = self._spin(1, 9, 2)
        self.tokens = self._spin(16, 1024, 160)
        self.tokens.setSingleStep(16)
        self.peer = QCheckBox(self.tr("Race OpenVINO GenAI beside"), self)
        self.peer.setChecked(True)
        self.peer.setToolTip(
            self.tr("With the same models, which are loaded again for it: that takes their memory up to three times.")
        )
        self._extent = QLabel(self)
        self._lay_out()
        for spin in (self.prompts, self.repeats, self.tokens):
            spin.valueChanged.connect(self.changed)
        self.peer.toggled.connect(self.changed)

    def size_wanted(self) -> BenchSize:
        """What the fields say."""
        return BenchSize(self.prompts.value(), self.tokens.value(), self.repeats.value(), self.peer.isChecked())

    def show_extent(self, sentence: str) -> None:
        """What this comes to."""
        self._extent.setText(sentence)

    def _spin(self, low: int, high: int, value: int) -> QSpinBox:
        spin = QSpinBox(self)
        spin.setRange(low, high)
        spin.setValue(value)
        spin.setMinimumWidth(_WIDTH)
        inset(spin)
        return spin

    def _lay_out(self) -> None:
        named = (
            (self.tr("Prompts of each class"), self.prompts),
            (self.tr("Repeats"), self.repeats),
            (self.tr("Longest answer in tokens"), self.tokens),
        )
        self._extent.setWordWrap(True)
        dress(self._extent, "muted")
        outside = QVBoxLayout(self)
        outside.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        outside.setSpacing(MEDIUM)
        outside.addWidget(flowing([TitledField(text, spin, self, above=True) for text, spin in named], self))
        outside.addWidget(self.peer)
        outside.addWidget(self._extent)
