"""How other programs get at a model of this computer: the page of the local server, or a command. Starts nothing."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL

_COMMAND = "headstart serve --model {}"


class ServeHint(QFrame):
    """A card; shown while there is a model to be served."""

    page_requested = Signal()  # of the local server

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._command = ""
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        dress(self._text, "muted")
        title = QLabel(self.tr("Answer other programs"), self)
        dress(title, "section")
        copy = QPushButton(self.tr("Copy command"), self)
        dress(copy, "plain")
        copy.clicked.connect(self._copy)
        here = QPushButton(self.tr("Local server…"), self)
        dress(here, "plain")
        here.clicked.connect(self.page_requested)
        buttons = QHBoxLayout()
        buttons.setSpacing(SMALL)
        for button in (here, copy):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (title, self._text):
            column.addWidget(part)
        column.addLayout(buttons)
        self.hide()

    def show_model(self, name: str) -> None:
        """The model to be served; empty: there is none."""
        self._command = _COMMAND.format(name)
        words = self.tr(
            "Editors and scripts on this computer can ask a model as they ask OpenAI's API. The page of the local "
            "server switches that on; in a terminal, this does:\n{}\nThe model is loaded a second time there and "
            "takes its memory again."
        )
        self._text.setText(words.format(self._command))
        self.setVisible(bool(name))

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._command)
