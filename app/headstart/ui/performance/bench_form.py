"""How much a benchmark measures: classes, prompts, repeats, longest answer, and against whom. Knows no engine."""

from collections import Counter

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QSpinBox, QVBoxLayout, QWidget

from headstart.engine.bench.prompts import KINDS, USUAL_KINDS, read_prompts
from headstart.engine.protocol import BenchSize
from headstart.ui.performance.bench_words import kind_word
from headstart.ui.widgets.stylesheet import dress, inset
from headstart.ui.widgets.theme import LARGE, MEDIUM
from headstart.ui.widgets.titled_field import TitledField, flowing

_WIDTH = 110  # pixels of a number
_ALL = 1000  # more prompts than any class has


class BenchForm(QFrame):
    """Emits `changed` when another size is chosen."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        kinds = Counter(prompt.kind for prompt in read_prompts(_ALL, KINDS))
        self.prompts = self._spin(1, min(kinds.values()), 1)
        self.repeats = self._spin(1, 9, 2)
        self.tokens = self._spin(16, 1024, 160)
        self.tokens.setSingleStep(16)
        self.peer = QCheckBox(self.tr("Race OpenVINO GenAI beside"), self)
        self.peer.setChecked(True)
        self.peer.setToolTip(
            self.tr("With the same models, which are loaded again for it: that takes their memory up to three times.")
        )
        self.sweep = QCheckBox(self.tr("Compare every length and every drafter"), self)
        self.sweep.setToolTip(self.tr("Takes about three times as long, and makes the advice exact."))
        self.kinds = {kind: self._kind(kind) for kind in KINDS}
        self._extent = QLabel(self)
        self._lay_out()
        self._keep_one()
        for spin in (self.prompts, self.repeats, self.tokens):
            spin.valueChanged.connect(self.changed)
        for box in (self.peer, self.sweep, *self.kinds.values()):
            box.toggled.connect(self.changed)
        for box in self.kinds.values():
            box.toggled.connect(self._keep_one)

    def size_wanted(self) -> BenchSize:
        """What the fields say."""
        return BenchSize(
            self.prompts.value(),
            self.tokens.value(),
            self.repeats.value(),
            self.peer.isChecked(),
            tuple(kind for kind, box in self.kinds.items() if box.isChecked()),
            self.sweep.isChecked(),
        )

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

    def _kind(self, kind: str) -> QCheckBox:
        box = QCheckBox(kind_word(kind), self)
        box.setChecked(kind in USUAL_KINDS)
        return box

    @Slot()
    def _keep_one(self) -> None:
        """Without any class there is nothing to race: the last one stays."""
        chosen = [box for box in self.kinds.values() if box.isChecked()]
        for box in self.kinds.values():
            box.setEnabled(len(chosen) > 1 or box not in chosen)
            box.setToolTip("" if box.isEnabled() else self.tr("At least one class of prompts is raced."))

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
        classes = flowing(self.kinds.values(), self)
        outside.addWidget(TitledField(self.tr("Classes of prompts"), classes, self, above=True))
        outside.addWidget(flowing((self.peer, self.sweep), self))
        outside.addWidget(self._extent)
