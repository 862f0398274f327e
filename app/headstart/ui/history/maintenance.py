"""Care for the history: opening it or replacing what is damaged, checkpoints, and the daily backup."""

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from pathlib import Path

from PySide6.QtCore import QDateTime, QEvent, QLocale, QObject, Qt, QThreadPool, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton

from headstart.chat import backups, database, encryption
from headstart.chat.backups import Backup
from headstart.chat.database import Key
from headstart.chat.store import Store, open_store
from headstart.errors import DamagedHistoryError, HistoryError, LockedHistoryError
from headstart.ui.background_task import BackgroundTask
from headstart.ui.history.encryption import PassphraseForm, Wanted
from headstart.ui.translation import said
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import Dialog, stacked
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM

_WIDTH = 420


class PassphraseDialog(Dialog):
    """`key` is there once it is accepted."""

    def __init__(self, unlock: Callable[[str], Key]) -> None:
        """`unlock` runs in another thread: it takes seconds, on purpose."""
        super().__init__()
        self.setWindowTitle("Headstart")
        self.key: Key | None = None
        self._unlock = unlock
        self._task: BackgroundTask | None = None
        self.form = PassphraseForm(Wanted([self.tr("Passphrase")], self.tr("Open")), self)
        self.leave = QPushButton(self.tr("Quit"), self)
        self.leave.setAutoDefault(False)
        set_style_class(self.leave, "plain")
        self._lay_out()
        self.form.submitted.connect(self._try)
        self.leave.clicked.connect(self.reject)
        self.form.fields[0].setFocus()

    @Slot(int)
    def done(self, result: int) -> None:
        """Clear what was typed."""
        if self._task:
            self._task.cancel()
        self.form.clear()
        super().done(result)

    @Slot()
    def come_forward(self) -> None:
        """Show it in front."""
        self.showNormal()
        self.raise_()
        self.activateWindow()

    def event(self, event: QEvent) -> bool:
        """Make room for a new sentence."""
        taken = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resize(self.width(), self._column.totalHeightForWidth(self.width()))
        return taken

    def _lay_out(self) -> None:
        title = QLabel(self.tr("Your chats are encrypted"), self)
        set_style_class(title, "section")
        about = muted(self.tr("Type the passphrase that you chose for them. Nobody can open them without it."), self)
        self._column = stacked(self, title, about, self.form, margin=LARGE, spacing=MEDIUM)
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


class _Choice(Enum):
    """What the user may choose."""

    RESTORE = auto()
    START_EMPTY = auto()
    TRY_AGAIN = auto()
    QUIT = auto()


class Recovery(QObject):
    """Opens the history once. `outcome` says what replaced a damaged file, if anything did."""

    def __init__(self, folder: Path, key: Key | None = None) -> None:
        """Opens nothing yet. `key`: that of an encrypted history that was open just now."""
        super().__init__()
        self._folder, self._key = folder, key
        self._asking: PassphraseDialog | None = None
        self._tried: set[Path] = set()
        self._broken = ""  # of a backup
        self.outcome = ""

    def open(self) -> Store | None:
        """The history; None if the user quits."""
        while True:
            try:
                return open_store(self._folder, self._key)
            except LockedHistoryError:
                go_on = self._unlock()
            except DamagedHistoryError as error:
                go_on = self._replace(said(error))
            except HistoryError as error:
                go_on = self._ask(said(error), {_Choice.TRY_AGAIN: self.tr("Try Again")}) is _Choice.TRY_AGAIN
            if not go_on:
                return None

    @Slot()
    def come_forward(self) -> None:
        """Another start asks for this dialog."""
        if self._asking:
            self._asking.come_forward()

    def _unlock(self) -> bool:
        dialog = self._asking = PassphraseDialog(partial(encryption.unlock, self._folder))
        dialog.exec()
        self._key, self._asking = dialog.key, None
        dialog.deleteLater()
        return self._key is not None

    def _replace(self, fault: str) -> bool:
        """Replace the damaged file as the user chooses."""
        backup = next((each for each in backups.list_backups(self._folder) if each.path not in self._tried), None)
        offers = {_Choice.START_EMPTY: self.tr("Start with an Empty History")}
        if backup:
            restore = self.tr("Restore the Backup of {}").format(_time(backup))
            offers = {_Choice.RESTORE: restore, **offers}
        choice = self._ask(f"{fault}\n\n{self._broken}".strip(), offers)
        if choice is _Choice.QUIT:
            return False
        try:
            self._put(backup if choice is _Choice.RESTORE else None)
        except DamagedHistoryError:
            assert backup, "an empty history is not damaged"
            self._broken = self.tr("The backup of {} is damaged too.").format(_time(backup))
        except HistoryError as error:
            return self._ask(said(error), {_Choice.TRY_AGAIN: self.tr("Try Again")}) is _Choice.TRY_AGAIN
        return True

    def _put(self, backup: Backup | None) -> None:
        if backup:
            self._tried.add(backup.path)
        aside = backups.restore(self._folder, backup, self._key)
        if backup:
            restored = self.tr("The backup of {time} was restored; the damaged history is kept as {path}.")
            self.outcome = restored.format(time=_time(backup), path=aside)
        else:
            self.outcome = self.tr("The history is empty now; the damaged one is kept as {path}.").format(path=aside)

    def _ask(self, sentence: str, offers: dict[_Choice, str]) -> _Choice:
        box = QMessageBox(QMessageBox.Icon.Warning, "Headstart", sentence)
        buttons: dict[QPushButton, _Choice] = {}
        for choice, words in offers.items():
            buttons[box.addButton(words, QMessageBox.ButtonRole.AcceptRole)] = choice
        leave = box.addButton(self.tr("Quit"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(next(iter(buttons)))
        box.setEscapeButton(leave)
        box.exec()
        return next((choice for button, choice in buttons.items() if button is box.clickedButton()), _Choice.QUIT)


def _time(backup: Backup) -> str:
    made = QDateTime.fromSecsSinceEpoch(int(backup.created))
    return QLocale().toString(made, QLocale.FormatType.ShortFormat)


_EVERY_MS = 30_000


class Checkpoints(QObject):
    """One for a store. In the window's thread, the disk would delay an answer by 50 to 80 ms every few minutes."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        """Starts the timer."""
        super().__init__(parent)
        self._store, self._settled = store, store.changes
        self._task: BackgroundTask | None = None
        self._pool = QThreadPool(self)
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self.settle)
        self._timer.start()

    @Slot()
    def settle(self) -> None:
        """Write to disk what has changed; a fault shows at the next write of the store."""
        if self._store.changes == self._settled or self._pool.activeThreadCount():
            return
        self._settled = self._store.changes
        self._task = BackgroundTask(partial(_settle, self._store, self._store.key))
        self._task.start(self._pool)

    def close(self) -> None:
        """Wait for the disk; the store writes the rest when it closes."""
        self._timer.stop()
        self._pool.waitForDone()


def _settle(store: Store, key: Key | None, _task: BackgroundTask) -> None:
    database.settle(store.path, key)


_BEGINS_MS = 5000  # after the start, which has enough to read


class Maintenance(QObject):
    """One for a window. A history of gigabytes takes minutes, so it waits for the start and runs in a thread."""

    error_occurred = Signal(str)

    def __init__(self, folder: Path, key: Key | None = None, parent: QObject | None = None) -> None:
        """`folder` has the history, `key` opens it; nothing is read yet."""
        super().__init__(parent)
        self._task = BackgroundTask(partial(_keep_up, folder, key), self)
        self._task.failed.connect(self.error_occurred)
        self._pool = QThreadPool(self)
        self._waiting = QTimer(self, singleShot=True, interval=_BEGINS_MS)
        self._waiting.timeout.connect(self.begin)

    def start(self) -> None:
        """Begin when the start is over."""
        self._waiting.start()

    @Slot()
    def begin(self) -> None:
        """Begin now."""
        self._task.start(self._pool)

    def close(self) -> None:
        """Stop; the next start tries again."""
        self._waiting.stop()
        self._task.cancel()
        self._pool.waitForDone()


def _keep_up(folder: Path, key: Key | None, task: BackgroundTask) -> backups.Backup | None:
    return backups.keep_up(folder, key, lambda: not task.is_cancelled)
