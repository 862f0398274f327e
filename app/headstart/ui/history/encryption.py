"""Encryption of the history: its page in the preferences, its forms, and the work between two windows."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPushButton, QWidget

from headstart import paths
from headstart.chat.history import database, encryption
from headstart.chat.history.database import Key
from headstart.chat.history.key_file import SHORTEST
from headstart.chat.history.store import Store
from headstart.engine import prompt_cache_files
from headstart.errors import HistoryError, UnwritablePlaceError
from headstart.ui.background_task import BackgroundTask
from headstart.ui.translation import translate_error
from headstart.ui.widgets.labels import StatusLine, button, label, muted
from headstart.ui.widgets.layouts import Card, Dialog, TitledField, row, stacked
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL


@dataclass(frozen=True)
class FormSpec:
    """The fields and the button of a form."""

    titles: Sequence[str]  # of the fields
    action: str  # of the button
    is_new: bool = False  # the last two are a new passphrase, typed twice
    consent: str = ""  # what the user must have ticked


class PassphraseForm(QWidget):
    """Fields for passphrases. The button, or Enter in the last field, emits what was typed."""

    submitted = Signal(object)  # the texts of the fields, in a tuple

    def __init__(self, spec: FormSpec, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spec, self._is_busy = spec, False
        self.fields = [QLineEdit(self) for _ in spec.titles]
        self.shown = QCheckBox(self.tr("Show what is typed"), self)
        self.consent = QCheckBox(spec.consent, self)
        self.consent.setVisible(bool(spec.consent))
        self._state = StatusLine(self)
        self.button = button(spec.action, self, "primary")
        self.button.setAutoDefault(False)  # Enter goes to the next field and presses no other form's button
        self._lay_out()
        self._connect()
        self._on_shown()
        self._update()

    def say(self, text: str, kind: str = "success") -> None:
        """Show the outcome of a try."""
        self._state.say(text, kind)

    def refuse(self, text: str) -> None:
        """Show that the passphrase was wrong, and select it so that the next one can be typed."""
        self.set_busy(busy=False)
        self.say(text, "danger")
        self.fields[0].setFocus()
        self.fields[0].selectAll()

    def set_busy(self, *, busy: bool) -> None:
        """Lock the fields while the passphrase is tried."""
        self._is_busy = busy
        for field in self.fields:
            field.setReadOnly(busy)
        self._update()
        if busy:
            self.say(self.tr("Checking the passphrase."), "muted")

    def add_button(self, button: QPushButton) -> None:
        """Add a button beside the form's own."""
        self._buttons.insertWidget(1, button)

    def clear(self) -> None:
        for field in self.fields:
            field.clear()
        self.shown.setChecked(False)
        self.consent.setChecked(False)

    def _lay_out(self) -> None:
        titled = zip(self._spec.titles, self.fields, strict=True)
        fields = [TitledField(title, field, self, above=True) for title, field in titled]
        self._buttons = row(self.button)
        stacked(self, *fields, self.shown, self.consent, self._state).addLayout(self._buttons)

    def _connect(self) -> None:
        for field, next_field in zip(self.fields, [*self.fields[1:], None], strict=True):
            field.textChanged.connect(self._update)
            field.returnPressed.connect(next_field.setFocus if next_field else self._on_submit)
        self.shown.toggled.connect(self._on_shown)
        self.consent.toggled.connect(self._update)
        self.button.clicked.connect(self._on_submit)

    @Slot()
    def _on_shown(self) -> None:
        mode = QLineEdit.EchoMode.Normal if self.shown.isChecked() else QLineEdit.EchoMode.Password
        for field in self.fields:
            field.setEchoMode(mode)

    @Slot()
    def _update(self) -> None:
        fault = self._fault()
        self.say(fault, "danger")
        is_complete = all(field.text() for field in self.fields) and not fault
        has_consent = self.consent.isChecked() or not self._spec.consent
        self.button.setEnabled(is_complete and has_consent and not self._is_busy)

    def _fault(self) -> str:
        if not self._spec.is_new:
            return ""
        first, second = (field.text() for field in self.fields[-2:])
        if first and second and first != second:
            return self.tr("The two new passphrases differ.")
        if first and first == second and len(first) < SHORTEST:
            return self.tr("A passphrase needs at least {} characters; use several words.").format(SHORTEST)
        return ""

    @Slot()
    def _on_submit(self) -> None:
        if self.button.isEnabled():
            self.submitted.emit(tuple(field.text() for field in self.fields))


_WIDTH = 420


@dataclass(frozen=True)
class EncryptionOrder:
    """The encryption or decryption of a history."""

    encrypts: bool  # else: decrypts
    passphrase: str = dataclasses.field(repr=False)

    def run(self, folder: Path) -> Key | None:
        """Encrypt or decrypt; return the key of the history. If this raises HistoryError, the history is unchanged."""
        prompt_cache_files.delete_all()  # first, so that a kill in between leaves nothing readable
        if not self.encrypts:
            encryption.decrypt(folder, self.passphrase)
            return None
        key = encryption.encrypt(folder, self.passphrase)
        for path in (paths.typed_lines(), paths.last_chat()):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise UnwritablePlaceError(path, error) from error
        return key


class EncryptionWork(Dialog):
    """A dialog that is open while a history is encrypted or decrypted; then `sentence` has the result."""

    def __init__(self, order: EncryptionOrder, folder: Path, key: Key | None) -> None:
        """`key` opens the history as it is now."""
        super().__init__("Headstart")
        self.key, self.sentence, self.has_failed = key, "", False
        self._order = order
        self.bar = BusyBar(self._title(), self)
        self._task = BackgroundTask(lambda _: order.run(folder), self)
        self._lay_out()
        self._task.start(self._on_done, self._on_failed)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        event.ignore()

    def _title(self) -> str:
        return self.tr("Encrypting your chats") if self._order.encrypts else self.tr("Decrypting your chats")

    def _lay_out(self) -> None:
        title = QLabel(self._title(), self)
        set_style_class(title, "section")
        safe = self.tr(
            "The window opens again when this is done. If the computer turns off meanwhile, nothing is lost."
        )
        stacked(self, title, muted(safe, self), self.bar, margin=LARGE, spacing=MEDIUM)
        self.setMinimumWidth(_WIDTH)

    @Slot(object)
    def _on_done(self, key: Key | None) -> None:
        self.key = key
        sentences = self.tr("Your chats are encrypted now."), self.tr("Your chats are not encrypted any more.")
        self.sentence = sentences[0] if self._order.encrypts else sentences[1]
        self.accept()

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self.sentence, self.has_failed = sentence, True
        self.accept()


class EncryptionPage(QWidget):
    """The page of the preferences, with the cards that suit the state of the history."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        once_more = self.tr("Repeat the passphrase")
        consent = self.tr("I keep the passphrase in a place where I can find it")
        new = [self.tr("Passphrase"), once_more]
        self.encrypting = PassphraseForm(
            FormSpec(new, self.tr("Encrypt and reopen"), is_new=True, consent=consent), self
        )
        three = [self.tr("Current passphrase"), self.tr("New passphrase"), once_more]
        self.changing = PassphraseForm(FormSpec(three, self.tr("Change the passphrase"), is_new=True), self)
        self.decrypting = PassphraseForm(FormSpec([self.tr("Passphrase")], self.tr("Decrypt and reopen")), self)
        self._cards = [self._encrypting_card(), self._changing_card(), self._decrypting_card()]
        self._missing = muted("", self)
        stacked(self, self._missing, *self._cards, margin=MEDIUM, spacing=MEDIUM).addStretch(1)
        for card in self._cards:
            card.hide()

    def show_state(self, *, encrypted: bool, missing: str = "") -> None:
        """Show what can be done now; `missing` says why nothing can."""
        for card, is_shown in zip(self._cards, (not encrypted, encrypted, encrypted), strict=True):
            card.setVisible(is_shown and not missing)
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))

    def _encrypting_card(self) -> Card:
        intro = self.tr(
            "Without the passphrase, nobody can read your chats on a stolen disk or in a copied folder. Titles, "
            "messages, attached files, drafts, the words of the search and the backups are encrypted. You type "
            "the passphrase at every start."
        )
        exceptions = self.tr(
            "Not protected: memory and swap while Headstart is open, an open window that you leave alone, chats that "
            "you exported, notifications, your settings with your own prompts, the models, and what the disk still "
            "holds of deleted files."
        )
        deleted = self.tr(
            "All backups, damaged histories that were put aside, and what you typed into the terminal chat are "
            "deleted, because they are not encrypted. Then a new backup is made."
        )
        lost = self.tr("If you lose the passphrase, your chats cannot be recovered.")
        closing = self.tr("The window closes and opens again. This stops an answer that is being written.")
        return self._card(
            self.tr("Encrypt your chats"), [intro, exceptions, deleted, lost, closing], self.encrypting, danger=lost
        )

    def _changing_card(self) -> Card:
        hold = self.tr("Your chats are encrypted. Headstart asks for the passphrase at every start.")
        old = self.tr(
            "An older copy of the folder of the chats still opens with the old passphrase. To change the key too,"
            " decrypt the chats and encrypt them again."
        )
        return self._card(self.tr("Another passphrase"), [hold, old], self.changing)

    def _decrypting_card(self) -> Card:
        intro = self.tr(
            "Anyone who has the disk can then read the chats. Encrypted backups are deleted, and a new one is made."
        )
        closing = self.tr("The window closes and opens again. This stops an answer that is being written.")
        return self._card(self.tr("Stop encrypting"), [intro, closing], self.decrypting)

    def _card(self, title: str, sentences: list[str], form: PassphraseForm, danger: str = "") -> Card:
        card = Card(self, title)
        card.setAccessibleName(title)
        for sentence in sentences:
            card.column.addWidget(label(sentence, card, "danger" if sentence == danger else "muted"))
        card.column.addSpacing(SMALL)
        card.column.addWidget(form)
        return card


class EncryptionController(QObject):
    """The actions of an encryption page."""

    def __init__(self, page: EncryptionPage, store: Store, reopen: Callable[[EncryptionOrder], None]) -> None:
        """`reopen` runs an order between two windows."""
        super().__init__(page)
        self._page, self._store, self._reopen = page, store, reopen
        self._form = page.encrypting
        self._task: BackgroundTask | None = None
        self._on_success: Callable[[], None] = self._say_changed
        page.show_state(encrypted=store.key is not None, missing=_missing_cipher())
        page.encrypting.submitted.connect(self._on_encrypt)
        page.decrypting.submitted.connect(self._on_decrypt)
        page.changing.submitted.connect(self._on_change)

    @Slot(object)
    def _on_encrypt(self, typed: tuple[str, ...]) -> None:
        self._reopen(EncryptionOrder(encrypts=True, passphrase=typed[0]))

    @Slot(object)
    def _on_decrypt(self, typed: tuple[str, ...]) -> None:
        """Close the window only if the passphrase is right."""
        order = EncryptionOrder(encrypts=False, passphrase=typed[0])
        self._begin(self._page.decrypting, lambda folder: encryption.unlock(folder, order.passphrase))
        self._on_success = lambda: self._reopen(order)

    @Slot(object)
    def _on_change(self, typed: tuple[str, ...]) -> None:
        old, new, _ = typed
        self._begin(self._page.changing, lambda folder: encryption.change_passphrase(folder, old, new))
        self._on_success = self._say_changed

    def _begin(self, form: PassphraseForm, work: Callable[[Path], object]) -> None:
        folder = self._store.path.parent
        self._form = form
        form.set_busy(busy=True)
        self._task = BackgroundTask(lambda _: work(folder), self)
        self._task.start(self._on_done, form.refuse)

    @Slot(object)
    def _on_done(self, _: object) -> None:
        self._form.set_busy(busy=False)
        self._form.clear()
        self._on_success()

    def _say_changed(self) -> None:
        self._form.say(self.tr("The passphrase was changed."))


def _missing_cipher() -> str:
    try:
        database.require_cipher()
    except HistoryError as error:
        return translate_error(error)
    return ""
