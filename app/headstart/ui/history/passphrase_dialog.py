"""Asks for the passphrase of the history at start, until it is right or the person leaves. Opens no history."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QVBoxLayout

from headstart.chat.cipher import Key
from headstart.ui.background_task import BackgroundTask
from headstart.ui.settings.passphrase_form import PassphraseForm, Wanted
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, Theme

_WIDTH = 420


class PassphraseDialog(QDialog):
    """`key` is there once it is accepted."""

    def __init__(self, unlock: Callable[[str], Key], theme: Theme) -> None:
        """`unlock` runs in another thread: it takes seconds, on purpose."""
        super().__init__()
        self.setWindowTitle("Headstart")
        self.setStyleSheet(stylesheet.sheet(theme, self.font()))
        self.key: Key | None = None
        self._unlock = unlock
        self._column = QVBoxLayout(self)
        self._task: BackgroundTask | None = None
        self.form = PassphraseForm(Wanted([self.tr("Passphrase")], self.tr("Open")), self)
        self.leave = QPushButton(self.tr("Quit"), self)
        self.leave.setAutoDefault(False)
        dress(self.leave, "plain")
        self._lay_out()
        self.form.submitted.connect(self._try)
        self.leave.clicked.connect(self.reject)
        self.form.fields[0].setFocus()

    @Slot(int)
    def done(self, result: int) -> None:
        """Nothing that was typed stays."""
        if self._task:
            self._task.cancel()
        self.form.clear()
        super().done(result)

    @Slot()
    def come_forward(self) -> None:
        """Another start wants to see it."""
        self.showNormal()
        self.raise_()
        self.activateWindow()

    def event(self, event: QEvent) -> bool:
        """A sentence that comes makes room for itself."""
        taken = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resize(self.width(), self._column.totalHeightForWidth(self.width()))
        return taken

    def _lay_out(self) -> None:
        title = QLabel(self.tr("Your chats are encrypted"), self)
        dress(title, "section")
        about = muted(self.tr("Type the passphrase that you chose for them. Nobody can open them without it."), self)
        column = self._column
        column.setContentsMargins(LARGE, LARGE, LARGE, LARGE)
        column.setSpacing(MEDIUM)
        column.addWidget(title)
        column.addWidget(about)
        column.addWidget(self.form)
        self.form.add_button(self.leave)
        self.setMinimumWidth(_WIDTH)
        self.setWindowFlag(Qt.WindowType.WindowContextHelpButtonHint, on=False)

    @Slot(object)
    def _try(self, typed: tuple[str]) -> None:
        self.form.set_busy(busy=True)
        self._task = BackgroundTask(lambda _: self._unlock(typed[0]), self)
        self._task.done.connect(self._open)
        self._task.failed.connect(self.form.refuse)
        self._task.start()

    @Slot(object)
    def _open(self, key: Key) -> None:
        self.key = key
        self.accept()
