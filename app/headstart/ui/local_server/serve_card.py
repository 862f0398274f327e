"""The switch of the local server, what it serves, and how it goes. Starts nothing."""

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from headstart.ui.local_server.serve_view import ServeState, ServeView
from headstart.ui.settings.setting_editors import NumberEditor
from headstart.ui.widgets.busy_bar import BusyBar
from headstart.ui.widgets.stylesheet import dress, mark
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL

_KINDS = {ServeState.READY: "success", ServeState.BUSY: "success", ServeState.FAILED: "danger"}


class ServeCard(QFrame):
    """A card."""

    switched = Signal(bool)
    port_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        self.switch = QCheckBox(self.tr("Answer programs of this computer"), self)
        dress(self.switch, "switch")
        self.setAccessibleName(self.switch.text())
        self.state = QLabel(self)
        self.sentence = self._words()
        self.model = self._words()
        self.port = NumberEditor("server_port", self)
        self._bar = BusyBar(self.tr("The server is being started"), self)
        self._lay_out()
        self.switch.toggled.connect(self.switched)
        self.port.edited.connect(self._choose_port)

    def show_view(self, view: ServeView) -> None:
        """Another state, or other values."""
        with QSignalBlocker(self.switch):
            self.switch.setChecked(view.state.is_on)
        self.switch.setEnabled(view.state is not ServeState.STOPPING)
        self.state.setText(view.title)
        mark(self.state, "kind", _KINDS.get(view.state, "muted"))
        self._say(self.sentence, view.sentence, bad=view.state is ServeState.FAILED)
        self._say(self.model, view.model)
        self.port.setEnabled(view.state.is_down)
        self.port.show_value(view.port)
        self._bar.setVisible(view.state is ServeState.STARTING)

    def _words(self) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        return label

    def _say(self, label: QLabel, text: str, *, bad: bool = False) -> None:
        label.setText(text)
        label.setVisible(bool(text))
        mark(label, "kind", "danger" if bad else "muted")

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SMALL)
        head.addWidget(self.switch, 1)
        head.addWidget(self.state)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addLayout(head)
        for part in (self._bar, self.sentence, self.model, self.port):
            column.addWidget(part)

    @Slot(str, object)
    def _choose_port(self, _name: str, port: int) -> None:
        self.port_chosen.emit(port)
