"""The page of the preferences where encryption of the chats is switched on and off. Encrypts nothing itself."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from headstart.ui.settings.passphrase_form import PassphraseForm, Wanted
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL


class EncryptionPage(QWidget):
    """Shows one card or two, by what the history is."""

    encrypt_requested = Signal(str)  # a passphrase
    decrypt_requested = Signal(str)
    change_requested = Signal(str, str)  # the old one, the new one

    def __init__(self, parent: QWidget | None = None) -> None:
        """Shows nothing before `show_state`."""
        super().__init__(parent)
        once_more = self.tr("Once more")
        consent = self.tr("I keep the passphrase where I find it again")
        new = [self.tr("Passphrase"), once_more]
        self.encrypting = PassphraseForm(Wanted(new, self.tr("Encrypt and reopen"), is_new=True, consent=consent), self)
        three = [self.tr("Present passphrase"), self.tr("New passphrase"), once_more]
        self.changing = PassphraseForm(Wanted(three, self.tr("Change the passphrase"), is_new=True), self)
        self.decrypting = PassphraseForm(Wanted([self.tr("Passphrase")], self.tr("Decrypt and reopen")), self)
        self._cards = [self._encrypting_card(), self._changing_card(), self._decrypting_card()]
        self._missing = muted("", self)
        self._lay_out()
        self.encrypting.submitted.connect(lambda typed: self.encrypt_requested.emit(typed[0]))
        self.decrypting.submitted.connect(lambda typed: self.decrypt_requested.emit(typed[0]))
        self.changing.submitted.connect(lambda typed: self.change_requested.emit(typed[0], typed[1]))

    def show_state(self, *, encrypted: bool, missing: str = "") -> None:
        """What can be done now; `missing` says why nothing can."""
        for card, holds in zip(self._cards, (not encrypted, encrypted, encrypted), strict=True):
            card.setVisible(holds and not missing)
        self._missing.setText(missing)
        self._missing.setVisible(bool(missing))

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        column.setSpacing(MEDIUM)
        column.addWidget(self._missing)
        for card in self._cards:
            column.addWidget(card)
            card.hide()
        column.addStretch(1)

    def _encrypting_card(self) -> QFrame:
        what = self.tr(
            "With a passphrase, nobody can read your chats on a stolen disk or in a copied folder: titles, messages, "
            "attached files, drafts, the words of the search and the backups are encrypted. You type it at every start."
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
        lost = self.tr("Without the passphrase the chats are lost: nobody can bring them back, neither we nor others.")
        closing = self.tr("The window is closed for this and opened again; an answer being written is stopped.")
        return self._card(
            self.tr("Encrypt your chats"), [what, not_that, deleted, lost, closing], self.encrypting, danger=lost
        )

    def _changing_card(self) -> QFrame:
        hold = self.tr("Your chats are encrypted, and the passphrase is asked for at every start.")
        old = self.tr(
            "Whoever has copied the folder of the chats before can open that copy with the old passphrase. For another "
            "key too, decrypt the chats and encrypt them again."
        )
        return self._card(self.tr("Another passphrase"), [hold, old], self.changing)

    def _decrypting_card(self) -> QFrame:
        what = self.tr(
            "Everybody who has the disk can read the chats then. Encrypted backups are deleted, and a new one is made."
        )
        closing = self.tr("The window is closed for this and opened again; an answer being written is stopped.")
        return self._card(self.tr("Stop encrypting"), [what, closing], self.decrypting)

    def _card(self, title: str, sentences: list[str], form: PassphraseForm, danger: str = "") -> QFrame:
        card = QFrame(self)
        card.setAccessibleName(title)
        dress(card, "card")
        heading = QLabel(title, card)
        dress(heading, "section")
        column = QVBoxLayout(card)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        column.addWidget(heading)
        for sentence in sentences:
            label = muted(sentence, card)
            if sentence == danger:
                dress(label, "danger")
            column.addWidget(label)
        column.addSpacing(SMALL)
        column.addWidget(form)
        return card
