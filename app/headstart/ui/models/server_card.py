"""One server on another computer: where it is, what it is asked for, and what can be done. Asks no server."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from headstart import remotes
from headstart.engine.engine import Remote
from headstart.ui.models import outside
from headstart.ui.widgets.card import Card
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, TINY


class ServerCard(Card):
    """Emits the server's name."""

    chosen = Signal(str)
    check_requested = Signal(str)
    remove_requested = Signal(str)

    def __init__(self, server: Remote, parent: QWidget | None = None) -> None:
        super().__init__(server.name, parent)
        self._key = self.label("", "muted")
        self._state = self.label("", "muted")
        self._use = self.button(self.tr("Use"), self.tr("Use {}"), self.chosen, "primary")
        self._check = self.button(self.tr("Check"), self.tr("Check {}"), self.check_requested)
        self._remove = self.button(self.tr("Remove…"), self.tr("Remove {}"), self.remove_requested)
        self._badge = QLabel(self.tr("in use"), self)
        dress(self._badge, "badge-accent")
        self._badge.hide()
        self._lay_out(server)

    def show_chosen(self, chosen: bool) -> None:
        """Whether new chats use it."""
        self._badge.setVisible(chosen)
        self._use.setVisible(not chosen)

    def show_key(self, text: str, *, bad: bool = False) -> None:
        """Where its key is."""
        self.say(self._key, text, "danger" if bad else "muted")

    def show_state(self, text: str, *, bad: bool = False) -> None:
        """How a check goes, or went."""
        self.say(self._state, text, "danger" if bad else "muted")

    def set_busy(self, busy: bool) -> None:
        """While it is checked."""
        self._check.setEnabled(not busy)

    def _lay_out(self, server: Remote) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(TINY)
        column.addLayout(self.heading(self._badge))
        column.addLayout(self.badges([outside.place(server), server.model or self.tr("the only model it has")]))
        column.addWidget(self.label(server.url, "muted"))
        if remotes.is_exposed(server):
            readable = self.tr("http does not encrypt: others can read on the way what is sent, and the key.")
            column.addWidget(self.label(readable, "danger"))
        if server.certificate:
            trusted = self.tr("Trusts the authority in {} too.").format(server.certificate)
            column.addWidget(self.label(trusted, "muted"))
        column.addWidget(self._key)
        column.addWidget(self._state)
        column.addLayout(self.row((self._use, self._check, self._remove)))
