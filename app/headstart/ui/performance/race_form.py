"""What is to be raced: a prompt or one of some examples, seed, temperature, longest answer. Knows no engine."""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from headstart.ui.widgets.stylesheet import dress, inset
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL
from headstart.ui.widgets.titled_field import TitledField, flowing

_LINES = 3  # of the prompt's box


@dataclass(frozen=True)
class RaceWish:
    """One race asked for."""

    prompt: str
    seed: int
    temperature: float
    tokens: int  # longest answer


class RaceForm(QFrame):
    """Ctrl+Enter in the prompt submits."""

    submitted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self.examples = QComboBox(self)
        self.prompt = QPlainTextEdit(self)
        self.seed = QSpinBox(self)
        self.temperature = QDoubleSpinBox(self)
        self.tokens = QSpinBox(self)
        self._fill()
        self._lay_out()
        self.examples.activated.connect(self._take_example)
        self.prompt.installEventFilter(self)
        self._take_example()

    def wish(self) -> RaceWish:
        """What the fields say."""
        text = self.prompt.toPlainText().strip()
        return RaceWish(text, self.seed.value(), self.temperature.value(), self.tokens.value())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if watched is self.prompt and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self.submitted.emit()
                return True
        return super().eventFilter(watched, event)

    @Slot()
    def _take_example(self) -> None:
        self.prompt.setPlainText(self.examples.currentData())

    def _fill(self) -> None:
        for title, text in self._prompts():
            self.examples.addItem(title, text)
        self.seed.setRange(0, 2**31 - 1)
        self.temperature.setRange(0.0, 2.0)
        self.temperature.setSingleStep(0.1)
        self.temperature.setToolTip(self.tr("At 0 the likeliest token is always taken; the seed then changes nothing."))
        self.tokens.setRange(8, 2048)
        self.tokens.setSingleStep(40)
        self.tokens.setValue(240)
        self.prompt.setTabChangesFocus(True)
        self.prompt.setFixedHeight(self.prompt.fontMetrics().lineSpacing() * _LINES + 2 * MEDIUM)
        dress(self.prompt, "field")
        for spin in (self.seed, self.temperature, self.tokens):
            inset(spin)

    def _prompts(self) -> tuple[tuple[str, str], ...]:
        return (
            (
                self.tr("Code"),
                self.tr(
                    "Write a Python class LinkedList with the methods append, insert, remove, find and __iter__. "
                    "Use type hints and a docstring for every method. Answer with the code only."
                ),
            ),
            (
                self.tr("Tests"),
                self.tr(
                    "Write ten unit tests with pytest for a function slugify(text: str) -> str that makes web "
                    "addresses of titles. Answer with the code only."
                ),
            ),
            (self.tr("Explanation"), self.tr("Explain step by step how a hash table finds an entry.")),
            (
                self.tr("Letter"),
                self.tr("Write a polite letter to a neighbour about music that is too loud in the evening."),
            ),
            (
                self.tr("Story"),
                self.tr("Tell a short story about a lighthouse keeper who collects words."),
            ),
        )

    def _lay_out(self) -> None:
        self.prompt.setAccessibleName(self.tr("Prompt"))
        named: tuple[tuple[str, QWidget], ...] = (
            (self.tr("Example"), self.examples),
            (self.tr("Seed"), self.seed),
            (self.tr("Temperature"), self.temperature),
            (self.tr("Longest answer in tokens"), self.tokens),
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addWidget(self.prompt)
        column.addWidget(flowing([TitledField(text, field, self, above=True) for text, field in named], self))
