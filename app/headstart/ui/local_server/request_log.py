"""The last requests to the local server, newest first: when, what, with which outcome. Knows no server."""

import time
from dataclasses import dataclass

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from headstart.engine.serving import Answered, Asked
from headstart.ui.spelling import decimal, whole
from headstart.ui.widgets.figure_table import FigureTable
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL

_KEPT = 20  # rows
_EVERY_MS = 100  # at most so often: programs may ask faster than anybody reads


@dataclass
class _Row:
    came: str
    asked: Asked
    answered: Answered | None = None


class RequestLog(QFrame):
    """A card."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self._rows: dict[int, _Row] = {}
        title = QLabel(self.tr("Requests"), self)
        dress(title, "section")
        self._empty = QLabel(self.tr("None yet. Each is listed here with its outcome; what was asked is not."), self)
        self._empty.setWordWrap(True)
        dress(self._empty, "muted")
        self.table = FigureTable(self.tr("Requests"), self)
        self.table.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (title, self._empty, self.table):
            column.addWidget(part)
        self._later = QTimer(self, singleShot=True, interval=_EVERY_MS)
        self._later.timeout.connect(self._show)

    @property
    def open(self) -> int:
        """Requests for answers that have not ended."""
        return sum(row.answered is None and row.asked.method == "POST" for row in self._rows.values())

    def clear(self) -> None:
        """Another server begins."""
        self._rows.clear()
        self._show()

    def begin(self, asked: Asked) -> None:
        """A request has come."""
        self._rows[asked.number] = _Row(time.strftime("%H:%M:%S"), asked)
        ended = [number for number, row in self._rows.items() if row.answered]
        for number in ended[: max(0, len(self._rows) - _KEPT)]:
            del self._rows[number]
        self._plan()

    def end(self, answered: Answered) -> None:
        """It has ended."""
        row = self._rows.get(answered.number)
        if row:
            row.answered = answered
            self._plan()

    def _plan(self) -> None:
        if not self._later.isActive():
            self._later.start()

    @Slot()
    def _show(self) -> None:
        titles = (self.tr("Time"), self.tr("Request"), self.tr("Status"), self.tr("Tokens"), self.tr("Seconds"))
        self._empty.setVisible(not self._rows)
        self.table.setVisible(bool(self._rows))
        self.table.begin(titles, widened=2, words=(0, 1))
        for row in reversed(self._rows.values()):
            self.table.add((row.came, f"{row.asked.method} {row.asked.path}", *self._outcome(row.answered)))

    def _outcome(self, answered: Answered | None) -> tuple[str, str, str]:
        if answered is None:
            return self.tr("running"), "", ""
        tokens = ""
        if answered.prompt_tokens is not None and answered.output_tokens is not None:
            tokens = f"{whole(answered.prompt_tokens)} + {whole(answered.output_tokens)}"
        status = str(answered.status) if answered.status else self.tr("client left")
        return status, tokens, decimal(answered.seconds, 1)
