"""Start, Stop and a sentence in a row, for what takes a while; the keyboard stays with them."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from headstart.ui.models.model_facts import no_model
from headstart.ui.settings.settings_form import muted
from headstart.ui.widgets.reading_order import ends
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL


class RunRow(QWidget):
    """One of the two buttons is there."""

    start_requested = Signal()
    stop_requested = Signal()

    def __init__(self, start: str, stop: str, page: QWidget) -> None:
        """`start` and `stop` stand on the buttons."""
        super().__init__(page)
        self.start = QPushButton(start, self)
        self.stop = QPushButton(stop, self)
        self._get = QPushButton(self.tr("Get a model"), self)
        self._status = muted("", self)
        dress(self._get, "plain")
        dress(self.start, "primary")
        dress(self.stop, "plain")
        ends(self.stop)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(SMALL)
        self._row.addWidget(self.start)
        self._row.addWidget(self.stop)
        self._row.addWidget(self._get)
        self._row.addWidget(self._status, 1)
        self.start.clicked.connect(self.start_requested)
        self.stop.clicked.connect(self.stop_requested)
        self._get.clicked.connect(self._show_models)
        self.show_state(running=False)

    @property
    def sentence(self) -> str:
        """What is said now."""
        return self._status.text()

    @property
    def can_start(self) -> bool:
        """Whether there is a button to start with."""
        return self.start.isVisible() and self.start.isEnabled()

    def insert(self, button: QPushButton) -> None:
        """One more, before the sentence."""
        dress(button, "plain")
        self._row.insertWidget(self._row.count() - 1, button)

    def show_state(self, *, running: bool, reason: str = "") -> None:
        """Which button there is. `reason`: why none can start; empty where one can."""
        self.start.setVisible(not running)
        self.start.setEnabled(not reason)
        self.start.setToolTip(reason)
        self.stop.setVisible(running)
        self._get.setVisible(reason == no_model())

    @Slot()
    def _show_models(self) -> None:
        """By the command of the window that this stands in."""
        command = self.window().findChild(QAction, "models")
        if isinstance(command, QAction):
            command.trigger()

    def say(self, sentence: str) -> None:
        """What is going on, or why nothing can."""
        self._status.setText(sentence)
