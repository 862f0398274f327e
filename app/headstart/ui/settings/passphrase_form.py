"""Fields for passphrases with one button."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPushButton, QVBoxLayout, QWidget

from headstart.chat.key_file import SHORTEST
from headstart.ui.widgets.labels import StatusLine, button
from headstart.ui.widgets.layouts import TitledField, row
from headstart.ui.widgets.theme import SMALL


@dataclass(frozen=True)
class Wanted:
    """What a form asks for."""

    titles: Sequence[str]  # of the fields
    action: str  # of the button
    is_new: bool = False  # the last two are a new passphrase, typed twice
    consent: str = ""  # what a person must have ticked


class PassphraseForm(QWidget):
    """What was typed goes out with a press of the button, or of Enter in the last field."""

    submitted = Signal(object)  # the texts of the fields, in a tuple

    def __init__(self, wanted: Wanted, parent: QWidget | None = None) -> None:
        """Empty."""
        super().__init__(parent)
        self._wanted, self._is_busy = wanted, False
        self.fields = [QLineEdit(self) for _ in wanted.titles]
        self.shown = QCheckBox(self.tr("Show what is typed"), self)
        self.consent = QCheckBox(wanted.consent, self)
        self.consent.setVisible(bool(wanted.consent))
        self._state = StatusLine(self)
        self.button = button(wanted.action, self, "primary")
        self.button.setAutoDefault(False)  # Enter goes to the next field, and no other form's button is pressed by it
        self._lay_out()
        self._connect()
        self._reveal()
        self._check()

    def say(self, text: str, kind: str = "success") -> None:
        """How it went."""
        self._state.say(text, kind)

    def refuse(self, text: str) -> None:
        """It was not this; the next one can be typed at once."""
        self.set_busy(busy=False)
        self.say(text, "danger")
        self.fields[0].setFocus()
        self.fields[0].selectAll()

    def set_busy(self, *, busy: bool) -> None:
        """While the passphrase is tried."""
        self._is_busy = busy
        for field in self.fields:
            field.setReadOnly(busy)
        self._check()
        if busy:
            self.say(self.tr("The passphrase is being tried."), "muted")

    def add_button(self, button: QPushButton) -> None:
        """Another one beside the form's own."""
        self._buttons.insertWidget(1, button)

    def clear(self) -> None:
        """Nothing that was typed stays."""
        for field in self.fields:
            field.clear()
        self.shown.setChecked(False)
        self.consent.setChecked(False)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SMALL)
        for title, field in zip(self._wanted.titles, self.fields, strict=True):
            column.addWidget(TitledField(title, field, self, above=True))
        column.addWidget(self.shown)
        column.addWidget(self.consent)
        column.addWidget(self._state)
        self._buttons = row(self.button)
        column.addLayout(self._buttons)

    def _connect(self) -> None:
        for field, after in zip(self.fields, [*self.fields[1:], None], strict=True):
            field.textChanged.connect(self._check)
            field.returnPressed.connect(after.setFocus if after else self._submit)
        self.shown.toggled.connect(self._reveal)
        self.consent.toggled.connect(self._check)
        self.button.clicked.connect(self._submit)

    @Slot()
    def _reveal(self) -> None:
        mode = QLineEdit.EchoMode.Normal if self.shown.isChecked() else QLineEdit.EchoMode.Password
        for field in self.fields:
            field.setEchoMode(mode)

    @Slot()
    def _check(self) -> None:
        fault = self._fault()
        self.say(fault, "danger")
        complete = all(field.text() for field in self.fields) and not fault
        consented = self.consent.isChecked() or not self._wanted.consent
        self.button.setEnabled(complete and consented and not self._is_busy)

    def _fault(self) -> str:
        if not self._wanted.is_new:
            return ""
        first, second = (field.text() for field in self.fields[-2:])
        if first and second and first != second:
            return self.tr("The new passphrase was typed in two different ways.")
        if first and first == second and len(first) < SHORTEST:
            return self.tr("A passphrase needs at least {} characters; take several words.").format(SHORTEST)
        return ""

    @Slot()
    def _submit(self) -> None:
        if self.button.isEnabled():
            self.submitted.emit(tuple(field.text() for field in self.fields))
