"""How programs get to the local server: its address, the key, and a line to try it with. Keeps no key."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from headstart.ui.local_server.serve_view import ServeState, ServeView
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets.copied_line import CopiedLine
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL


class ServeDoor(QFrame):
    """A card."""

    key_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self.url = CopiedLine(self.tr("Address"), self.tr("Copy the address"), self)
        self.key = CopiedLine(self.tr("Key"), self.tr("Copy the key"), self)
        self.curl = CopiedLine(self.tr("Try it in a terminal"), self.tr("Copy the command"), self, long=True)
        self.new_key = QPushButton(self.tr("New key"), self)
        dress(self.new_key, "plain")
        self._about_key = muted("", self)
        self._lay_out()
        self.new_key.clicked.connect(self.key_requested)

    def show_view(self, view: ServeView) -> None:
        """Another state, or other values."""
        self.url.show_text(view.url)
        self.key.show_text(view.key, view.key_hint)
        self.curl.show_text(view.curl)
        self._about_key.setText(view.key_words)
        self.new_key.setEnabled(view.state is not ServeState.STOPPING)

    def _lay_out(self) -> None:
        title = QLabel(self.tr("For your programs"), self)
        dress(title, "section")
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        grid.setColumnStretch(1, 1)
        for row, (text, line) in enumerate(((self.tr("Address"), self.url), (self.tr("Key"), self.key))):
            label = QLabel(text, self)
            label.setBuddy(line.field)
            grid.addWidget(label, row, 0)
            grid.addWidget(line, row, 1)
        grid.addWidget(self.new_key, 1, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addWidget(title)
        column.addLayout(grid)
        column.addWidget(self._about_key)
        trying = QLabel(self.tr("Try it in a terminal"), self)
        trying.setBuddy(self.curl.field)
        column.addWidget(trying, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.curl)
