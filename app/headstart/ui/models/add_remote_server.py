"""The form that names a server on another computer."""

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QWidget,
)

from headstart.engine.engine import Remote
from headstart.ui.widgets.labels import StatusLine, button, muted, section
from headstart.ui.widgets.layouts import Card
from headstart.ui.widgets.theme import SMALL


@dataclass(frozen=True)
class NewRemoteServer:
    """What was typed: nothing of it is checked. Without a key the one that is kept stays."""

    server: Remote
    key: str = field(default="", repr=False)


class AddRemoteServer(Card):
    """A form."""

    add_requested = Signal(object)  # NewServer

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Add a server"))
        self.name = self._field(self.tr("such as {}").format("office"))
        self.address = self._field(self.tr("such as {}").format("https://host:8000/v1"))
        self.model = self._field(self.tr("the only one that it has"))
        self.key = self._field(self.tr("none, or as it is kept"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.certificate = self._field(self.tr("those that the system trusts"))
        self._browse = button(self.tr("Browse"), self)
        self._browse.setAccessibleName(self.tr("Browse for a certificate"))
        self._add = button(self.tr("Add"), self, "primary")
        self._add.setAccessibleName(self.tr("Add this server"))
        self._state = StatusLine(self)
        self._lay_out()
        self._browse.clicked.connect(self._ask_for_certificate)
        self._add.clicked.connect(self._submit)
        for edit in self._edits():
            edit.returnPressed.connect(self._submit)
        for edit in (self.name, self.address):
            edit.textChanged.connect(self._describe)
        self._describe()

    def say(self, text: str, *, bad: bool = False) -> None:
        """How adding went."""
        self._state.say(text, bad=bad)

    def set_busy(self, busy: bool) -> None:
        """While the key is put away."""
        self._add.setEnabled(not busy)

    def clear(self) -> None:
        """Ready for another one."""
        for edit in self._edits():
            edit.clear()

    def _edits(self) -> tuple[QLineEdit, ...]:
        return self.name, self.address, self.model, self.key, self.certificate

    def _field(self, hint: str) -> QLineEdit:
        edit = QLineEdit(self)
        edit.setPlaceholderText(hint)
        return edit

    def _lay_out(self) -> None:
        self._state.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.column.addWidget(section(self.tr("Add a server"), self))
        self.column.addWidget(muted(self._about(), self, selectable=True))
        self.column.addLayout(self._form())
        self.column.addWidget(self._state)
        self.column.addWidget(self._add, 0, Qt.AlignmentFlag.AlignLeft)

    def _about(self) -> str:
        return self.tr(
            "A model may run on another computer, behind a server that speaks OpenAI's protocol: OpenVINO Model "
            "Server, vLLM, llama.cpp, another Headstart. Nothing is sent to it before you check or use it; a name "
            "that is there already is changed."
        )

    def _form(self) -> QGridLayout:
        certificate = QHBoxLayout()
        certificate.setSpacing(SMALL)
        certificate.addWidget(self.certificate, 1)
        certificate.addWidget(self._browse)
        titles = (self.tr("Name"), self.tr("Address"), self.tr("Model"), self.tr("Key"), self.tr("Certificate"))
        grid = QGridLayout()
        grid.setSpacing(SMALL)
        for number, (text, edit) in enumerate(zip(titles, self._edits(), strict=True)):
            label = QLabel(text, self)
            label.setBuddy(edit)
            edit.setAccessibleName(text)
            grid.addWidget(label, number, 0)
            if edit is not self.certificate:
                grid.addWidget(edit, number, 1)
        grid.addLayout(certificate, len(titles) - 1, 1)
        grid.setColumnStretch(1, 1)
        return grid

    @Slot()
    def _ask_for_certificate(self) -> None:
        kinds = self.tr("Certificates (*.pem *.crt)")
        path, _ = QFileDialog.getOpenFileName(self, self.tr("Certificate of an authority"), filter=kinds)
        if path:
            self.certificate.setText(path)

    @Slot()
    def _describe(self) -> None:
        self.say("")  # it was about what stood there before
        self._add.setEnabled(bool(self.name.text().strip() and self.address.text().strip()))

    @Slot()
    def _submit(self) -> None:
        if not self._add.isEnabled():
            return
        name, address, model, key, file = (edit.text().strip() for edit in self._edits())
        certificate = Path(file).expanduser().absolute() if file else None
        self.add_requested.emit(NewRemoteServer(Remote(name, address, model or None, certificate), key))
