"""Joins the page of encryption with the history."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from headstart.chat import database, encryption
from headstart.chat.store import Store
from headstart.errors import HistoryError
from headstart.ui.background_task import BackgroundTask
from headstart.ui.history.encryption_work import Order
from headstart.ui.settings.passphrase_form import PassphraseForm
from headstart.ui.settings.preferences_dialog import EncryptionPage
from headstart.ui.translation import said


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
        page.encrypt_requested.connect(self._encrypt)
        page.decrypt_requested.connect(self._decrypt)
        page.change_requested.connect(self._change)

    @Slot(str)
    def _encrypt(self, passphrase: str) -> None:
        self._reopen(Order(encrypts=True, passphrase=passphrase))

    @Slot(str)
    def _decrypt(self, passphrase: str) -> None:
        """Only with the right passphrase: a window is not closed for nothing."""
        order = Order(encrypts=False, passphrase=passphrase)
        self._begin(self._page.decrypting, lambda folder: encryption.unlock(folder, passphrase))
        self._then = lambda: self._reopen(order)

    @Slot(str, str)
    def _change(self, old: str, new: str) -> None:
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
        self._form.say(self.tr("From now on the new passphrase is asked for."))


def _missing() -> str:
    try:
        database.require_cipher()
    except HistoryError as error:
        return said(error)
    return ""
