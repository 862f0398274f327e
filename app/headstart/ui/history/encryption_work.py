"""Encrypts or decrypts the history between two windows, when nothing else has it open."""

from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout

from headstart import paths
from headstart.chat import encryption
from headstart.chat.database import Key
from headstart.ui.background_task import BackgroundTask
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import Dialog
from headstart.ui.widgets.progress import BusyBar
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM

_WIDTH = 420


@dataclass(frozen=True)
class Order:
    """What a person wants done with the history."""

    encrypts: bool  # else: decrypts
    passphrase: str = field(repr=False)

    def carry_out(self, folder: Path) -> Key | None:
        """Do it; the key that the history has now. Raises HistoryError, and the history is as it was."""
        if not self.encrypts:
            encryption.decrypt(folder, self.passphrase)
            return None
        key = encryption.encrypt(folder, self.passphrase)
        paths.typed_lines().unlink(missing_ok=True)
        return key


class EncryptionWork(Dialog):
    """Cannot be closed: it ends by itself, with `sentence` saying how, and `key` what the history has now."""

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
        dress(title, "section")
        safe = self.tr(
            "The window opens again when this is done. Should the computer go off meanwhile, nothing is lost."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        column.setSpacing(MEDIUM)
        column.addWidget(title)
        column.addWidget(muted(safe, self))
        column.addWidget(self.bar)
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
