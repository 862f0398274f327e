"""A bar for work of a second or more: what is done, how far, Cancel. Knows not what it is."""

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from headstart.ui.widgets.busy_bar import BusyBar
from headstart.ui.widgets.reading_order import ends
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, TINY

_PATIENCE = 300  # ms; what ends before that needs no bar


class WorkBar(QFrame):
    """Hidden while nothing goes on."""

    cancel_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "bar")
        self._label = QLabel(self)
        self._bar = BusyBar("", self)
        self._cancel = QPushButton(self.tr("Cancel"), self)
        dress(self._cancel, "flat")
        ends(self._cancel)
        row = QHBoxLayout(self)
        row.setContentsMargins(SMALL, TINY, TINY, TINY)
        row.setSpacing(SMALL)
        row.addWidget(self._label)
        row.addWidget(self._bar, 1)
        row.addWidget(self._cancel)
        self._cancel.clicked.connect(self.cancel_requested)
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.timeout.connect(self.show)
        self.hide()

    @property
    def text(self) -> str:
        """What goes on; empty when nothing does."""
        return self._label.text()

    def begin(self, text: str) -> None:
        """Something begins."""
        self._label.setText(text)
        self._bar.setAccessibleName(text)
        self._bar.show_share(0, 1)
        self._wait.start(_PATIENCE)

    @Slot(object, object)
    def show_progress(self, done: int, total: int) -> None:
        """How far it is."""
        self._bar.show_share(done, total)

    @Slot()
    def end(self) -> None:
        """It is over."""
        self._wait.stop()
        self._label.setText("")
        self.hide()
