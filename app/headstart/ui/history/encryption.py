"""Encryption of the history: its page in the preferences, its forms, and the work between two windows."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPushButton, QWidget

from headstart import kept_prompts, paths
from headstart.chat import database, encryption
from headstart.chat.database import Key
from headstart.chat.key_file import SHORTEST
from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.ui.background_task import BackgroundTask
from headstart.ui.translation import said
from headstart.ui.widgets.labels import StatusLine, button, label, muted
from headstart.ui.widgets.layouts import Card, Dialog, TitledField, row, stacked
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL


@dataclass(frozen=True)
class Wanted:
    """What a form asks for."""

    titles: Sequence[str]  # of the fields
    action: str  # of the button
    is_new: bool = False  # the last two are a new passphrase, typed twice
    consent: str = ""  # what a person must have ticked


class PassphraseForm(QWidget):
    """The button, or Enter in the last field, emits what was typed."""

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
        """The passphrase was wrong; select it, so that the next one can be typed."""
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
            self.say(self.tr("Checking the passphrase."), "muted")

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
        titled = zip(self._wanted.titles, self.fields, strict=True)
        fields = [TitledField(title, field, self, above=True) for title, field in titled]
        self._buttons = row(self.button)
        stacked(self, *fields, self.shown, self.consent, self._state).addLayout(self._buttons)

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
            return self.tr("The two new passphrases differ.")
        if first and first == second and len(first) < SHORTEST:
            return self.tr("A passphrase needs at least {} characters; use several words.").format(SHORTEST)
        return ""

    @Slot()
    def _submit(self) -> None:
        if self.button.isEnabled():
            self.submitted.emit(tuple(field.text() for field in self.fields))


_WIDTH = 420


@dataclass(frozen=True)
class Order:
    """What to do with the history."""

    encrypts: bool  # else: decrypts
    passphrase: str = dataclasses.field(repr=False)

    def carry_out(self, folder: Path) -> Key | None:
        """Do it; returns the key of the history. If it raises HistoryError, the history is unchanged."""
        kept_prompts.delete_all()  # first, so that a kill in between leaves nothing readable
        if not self.encrypts:
            encryption.decrypt(folder, self.passphrase)
            return None
        key = encryption.encrypt(folder, self.passphrase)
        for path in (paths.typed_lines(), paths.last_chat()):
            path.unlink(missing_ok=True)
        return key


class EncryptionWork(Dialog):
    """Cannot be closed: it ends by itself. Then `sentence` says how, and `key` is that of the history."""

    def __init__(self, order: Order, folder: Path, key: Key | None) -> None:
        """`key` is that of before."""
        super().__init__()
        self.key, self.sentence, self.failed = key, "", False
        self._order = order
        self.bar = BusyBar(self._title(), self)
        self.setWindowTitle("Headstart")
        self._task = BackgroundTask(lambda _: order.carry_out(folder), self)
        self._task.done.connect(self._end)
        self._task.failed.connect(self._fail)
        self._lay_out()
        self._task.start()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
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
    def _end(self, key: Key | None) -> None:
        self.key = key
        done = self.tr("Your chats are encrypted now."), self.tr("Your chats are not encrypted any more.")
        self.sentence = done[0] if self._order.encrypts else done[1]
        self.accept()

    @Slot(str)
    def _fail(self, sentence: str) -> None:
        self.sentence, self.failed = sentence, True
        self.accept()


class EncryptionPage(QWidget):
    """Shows one card or two, by what the history is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        """Shows nothing before `show_state`."""
        super().__init__(parent)
        once_more = self.tr("Once more")
        consent = self.tr("I keep the passphrase in a place where I can find it")
        new = [self.tr("Passphrase"), once_more]
        self.encrypting = PassphraseForm(Wanted(new, self.tr("Encrypt and reopen"), is_new=True, consent=consent), self)
        three = [self.tr("Current passphrase"), self.tr("New passphrase"), once_more]
        self.changing = PassphraseForm(Wanted(three, self.tr("Change the passphrase"), is_new=True), self)
        self.decrypting = PassphraseForm(Wanted([self.tr("Passphrase")], self.tr("Decrypt and reopen")), self)
        self._cards = [self._encrypting_card(), self._changing_card(), self._decrypting_card()]
        self._missing = muted("", self)
        stacked(self, self._missing, *self._cards, margin=MEDIUM, spacing=MEDIUM).addStretch(1)
        for card in self._cards:
            card.hide()

    def show_state(self, *, encrypted: bool, missing: str = "") -> None:
        """What can be done now; `missing` says why nothing can."""
        for card, holds in zip(self._cards, (not encrypted, encrypted, encrypted), strict=True):
            card.setVisible(holds and not missing)
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))

    def _encrypting_card(self) -> Card:
        what = self.tr(
            "Without the passphrase, nobody can read your chats on a stolen disk or in a copied folder. Titles, "
            "messages, attached files, drafts, the words of the search and the backups are encrypted. You type "
            "the passphrase at every start."
        )
        not_that = self.tr(
            "Not protected: memory and swap while Headstart is open, an open window that you leave alone, chats that "
            "you exported, notifications, your settings with your own prompts, the models, and what the disk still "
            "holds of deleted files."
        )
        deleted = self.tr(
            "Deleted, as it is not encrypted: all backups, damaged histories that were kept, and the lines typed into "
            "`headstart chat`. A new backup is made."
        )
        lost = self.tr("If you lose the passphrase, your chats cannot be recovered.")
        closing = self.tr("The window closes and opens again. This stops an answer that is being written.")
        return self._card(
            self.tr("Encrypt your chats"), [what, not_that, deleted, lost, closing], self.encrypting, danger=lost
        )

    def _changing_card(self) -> Card:
        hold = self.tr("Your chats are encrypted. Headstart asks for the passphrase at every start.")
        old = self.tr(
            "An older copy of the folder of the chats still opens with the old passphrase. To change the key too,"
            " decrypt the chats and encrypt them again."
        )
        return self._card(self.tr("Another passphrase"), [hold, old], self.changing)

    def _decrypting_card(self) -> Card:
        what = self.tr(
            "Anyone who has the disk can then read the chats. Encrypted backups are deleted, and a new one is made."
        )
        closing = self.tr("The window closes and opens again. This stops an answer that is being written.")
        return self._card(self.tr("Stop encrypting"), [what, closing], self.decrypting)

    def _card(self, title: str, sentences: list[str], form: PassphraseForm, danger: str = "") -> Card:
        card = Card(self, title)
        card.setAccessibleName(title)
        for sentence in sentences:
            card.column.addWidget(label(sentence, card, "danger" if sentence == danger else "muted"))
        card.column.addSpacing(SMALL)
        card.column.addWidget(form)
        return card


class EncryptionController(QObject):
    """One for each page that is shown; a child of it."""

    def __init__(self, page: EncryptionPage, store: Store, reopen: Callable[[Order], None]) -> None:
        """Shows what the history is. `reopen` has an order carried out between two windows."""
        super().__init__(page)
        self._page, self._store, self._reopen = page, store, reopen
        self._form = page.encrypting
        self._task: BackgroundTask | None = None
        self._then: Callable[[], None] = self._tell_changed
        page.show_state(encrypted=store.key is not None, missing=_missing())
        page.encrypting.submitted.connect(self._encrypt)
        page.decrypting.submitted.connect(self._decrypt)
        page.changing.submitted.connect(self._change)

    @Slot(object)
    def _encrypt(self, typed: tuple[str, ...]) -> None:
        self._reopen(Order(encrypts=True, passphrase=typed[0]))

    @Slot(object)
    def _decrypt(self, typed: tuple[str, ...]) -> None:
        """Close the window only if the passphrase is right."""
        order = Order(encrypts=False, passphrase=typed[0])
        self._begin(self._page.decrypting, lambda folder: encryption.unlock(folder, order.passphrase))
        self._then = lambda: self._reopen(order)

    @Slot(object)
    def _change(self, typed: tuple[str, ...]) -> None:
        old, new, _ = typed
        self._begin(self._page.changing, lambda folder: encryption.change_passphrase(folder, old, new))
        self._then = self._tell_changed

    def _begin(self, form: PassphraseForm, work: Callable[[Path], object]) -> None:
        folder = self._store.path.parent
        self._form = form
        form.set_busy(busy=True)
        self._task = BackgroundTask(lambda _: work(folder), self)
        self._task.done.connect(self._end)
        self._task.failed.connect(form.refuse)
        self._task.start()

    @Slot(object)
    def _end(self, _: object) -> None:
        self._form.set_busy(busy=False)
        self._form.clear()
        self._then()

    def _tell_changed(self) -> None:
        self._form.say(self.tr("The passphrase was changed."))


def _missing() -> str:
    try:
        database.require_cipher()
    except HistoryError as error:
        return said(error)
    return ""
