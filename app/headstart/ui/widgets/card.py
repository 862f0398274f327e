"""What the cards of models and of servers have in common: a title, badges, lines, buttons. Knows neither."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from headstart.ui.widgets.elided_label import ElidedLabel
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, TINY

_TITLE = 1.15  # of the usual size of text


class Card(QFrame):
    """Named for what it is about; its buttons say that name to whoever presses them."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        dress(self, "card")
        self.setAccessibleName(name)
        self._title = ElidedLabel(self)
        self._scale()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()

    def heading(self, badge: QLabel) -> QHBoxLayout:
        """The name, and a badge at its right."""
        self._title.show_text(self.name)
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(self._title, 1)
        row.addWidget(badge)
        return row

    def _scale(self) -> None:
        """A font of its own shields the title from changes."""
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * _TITLE)
        font.setBold(True)
        self._title.setFont(font)

    def badges(self, texts: Iterable[str]) -> QHBoxLayout:
        """One beside the other."""
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.setContentsMargins(0, 0, 0, TINY)
        for text in texts:
            badge = QLabel(text, self)
            dress(badge, "badge")
            row.addWidget(badge)
        row.addStretch(1)
        return row

    def row(self, buttons: Iterable[QPushButton]) -> QHBoxLayout:
        """Buttons at the bottom."""
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.setContentsMargins(0, SMALL, 0, 0)
        for button in buttons:
            row.addWidget(button)
        row.addStretch(1)
        return row

    def label(self, text: str, kind: str) -> QLabel:
        """A line that is there while it says something."""
        label = QLabel(text, self)
        label.setWordWrap(True)
        label.setVisible(bool(text))
        dress(label, kind)
        return label

    def say(self, label: QLabel, text: str, kind: str) -> None:
        """Another text on a line."""
        label.setText(text)
        label.setVisible(bool(text))
        dress(label, kind)
        label.style().unpolish(label)
        label.style().polish(label)

    def button(self, text: str, spoken: str, signal: object, kind: str = "plain") -> QPushButton:
        """`spoken` has {} for the name, which `signal` gets."""
        button = QPushButton(text, self)
        button.setAccessibleName(spoken.format(self.name))
        dress(button, kind)
        emit: Callable[[str], None] = signal.emit  # type: ignore[attr-defined]
        button.clicked.connect(lambda: emit(self.name))
        return button
