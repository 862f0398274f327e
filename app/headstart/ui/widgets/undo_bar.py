"""Offers for a few seconds to take back what was done in the sidebar. Knows not what it was."""

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, TINY
from headstart.ui.widgets.undoing import Undoable

_UNDO_MS = 10_000


class UndoBar(QFrame):
    """Hidden until something was done."""

    undone = Signal(object)  # Undoable

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._done: Undoable | None = None
        self._label = QLabel(self)
        self._label.setWordWrap(True)
        self.button = QPushButton(self.tr("Undo"), self)
        dress(self.button, "flat")
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.addWidget(self._label, 1)
        row.addWidget(self.button)
        self.button.clicked.connect(self._take_back)
        self._time = QTimer(self, singleShot=True, interval=_UNDO_MS)
        self._time.timeout.connect(self.hide)
        self.hide()

    @property
    def text(self) -> str:
        """What is offered; empty when nothing is."""
        return "" if self.isHidden() else self._label.text()

    def offer(self, done: Undoable) -> None:
        """Say what was done and start the clock."""
        self._done = done
        self._label.setText(done.told)
        self.button.setAccessibleName(self.tr("Undo: {}").format(done.words))
        self.show()
        self._time.start()

    def withdraw(self) -> None:
        """It was undone in another way."""
        self.hide()

    @Slot()
    def _take_back(self) -> None:
        self.hide()
        if self._done:
            self.undone.emit(self._done)
