"""Care for the history: opening it, replacing what is damaged, checkpoints, erasing, and backups."""

from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from pathlib import Path

from PySide6.QtCore import QDateTime, QEvent, QLocale, QObject, Qt, QThreadPool, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QMessageBox, QPushButton

from headstart.chat import standby
from headstart.chat.history import backups, database, encryption, erasing, rescue
from headstart.chat.history.backups import Backup
from headstart.chat.history.database import Key
from headstart.chat.history.rescue import ReadableHistoryError, Rescue
from headstart.chat.history.store import Store, open_store
from headstart.errors import (
    DamagedHistoryError,
    HistoryError,
    LockedHistoryError,
    StandbyError,
    UnwritableHistoryError,
)
from headstart.ui.background_task import BackgroundTask
from headstart.ui.formatting import listed, sentences, whole
from headstart.ui.history.encryption import FormSpec, PassphraseForm
from headstart.ui.translation import translate_error
from headstart.ui.widgets.labels import muted
from headstart.ui.widgets.layouts import Dialog, stacked, style_dialog
from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import LARGE, MEDIUM

_WIDTH = 420
_MAX_NAMED = 5  # chats


class PassphraseDialog(Dialog):
    """The question for the passphrase; once it is accepted, `key` opens the history."""

    def __init__(self, unlock: Callable[[str], Key]) -> None:
        """`unlock` runs on another thread: it takes seconds, on purpose."""
        super().__init__("Headstart")
        self.key: Key | None = None
        self._unlock = unlock
        self._task: BackgroundTask | None = None
        self.form = PassphraseForm(FormSpec([self.tr("Passphrase")], self.tr("Open")), self)
        self.quit_button = QPushButton(self.tr("Quit"), self)
        self.quit_button.setAutoDefault(False)
        set_style_class(self.quit_button, "plain")
        self._lay_out()
        self.form.submitted.connect(self._on_submitted)
        self.quit_button.clicked.connect(self.reject)
        self.form.fields[0].setFocus()

    @Slot(int)
    def done(self, result: int) -> None:
        """Forget what was typed."""
        if self._task:
            self._task.cancel()
        self.form.clear()
        super().done(result)

    @Slot()
    def bring_to_front(self) -> None:
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
        self.form.add_button(self.quit_button)
        self.setMinimumWidth(_WIDTH)
        self.setWindowFlag(Qt.WindowType.WindowContextHelpButtonHint, on=False)

    @Slot(object)
    def _on_submitted(self, typed: tuple[str]) -> None:
        self.form.set_busy(busy=True)
        self._task = BackgroundTask(lambda _: self._unlock(typed[0]), self)
        self._task.start(self._on_unlocked, self.form.refuse)

    @Slot(object)
    def _on_unlocked(self, key: Key) -> None:
        self.key = key
        self.accept()


class _Choice(Enum):
    RESCUE = auto()
    RESTORE = auto()
    START_EMPTY = auto()
    TRY_AGAIN = auto()
    QUIT = auto()


class Recovery(QObject):
    """The opening of the history. `outcome` says what replaced a damaged file, if anything did.

    `is_whole` says whether it has all that the damaged file had.
    """

    def __init__(self, folder: Path, key: Key | None = None) -> None:
        """`key` opens an encrypted history that was open just now."""
        super().__init__()
        self._folder, self._key = folder, key
        self._dialog: PassphraseDialog | None = None
        self._tried: set[Path] = set()
        self._backup_fault = ""  # the sentence on a damaged backup
        self.outcome = ""
        self.is_whole = False
        self.is_standby = False  # a copy of the history is open, because the history cannot be written

    def open(self) -> Store | None:
        """Open the history; return None if the user quits."""
        while True:
            try:
                return self._open()
            except LockedHistoryError:
                is_handled = self._unlock()
            except DamagedHistoryError as error:
                is_handled = self._replace(error.rescue if isinstance(error, ReadableHistoryError) else None)
            except HistoryError as error:
                if isinstance(error, UnwritableHistoryError) and (copy := standby.open_copy(self._folder, self._key)):
                    self._use(copy, error)
                    return copy
                is_handled = (
                    self._ask(translate_error(error), {_Choice.TRY_AGAIN: self.tr("Try Again")}) is _Choice.TRY_AGAIN
                )
            if not is_handled:
                return None

    @Slot()
    def bring_to_front(self) -> None:
        if self._dialog:
            self._dialog.bring_to_front()

    def _open(self) -> Store:
        store = open_store(self._folder, self._key)
        try:
            if standby.bring_back(store):
                self.is_whole = True
                self.outcome = self.tr("Your chats can be saved in their folder again, and what is new is in it now.")
        except StandbyError as error:
            self.outcome = translate_error(error)
        if store.was_repaired:
            self.is_whole = True
            self.outcome = self.tr("The index of your chats was damaged and has been made anew. No chat is lost.")
        return store

    def _use(self, copy: Store, error: HistoryError) -> None:
        """Show where chats are saved until the history's folder can be written."""
        self.is_standby = True
        kept = self.tr("Until then your chats are kept in {}, and go back by themselves.").format(copy.path.parent)
        self.outcome = sentences(translate_error(error), kept)

    def _unlock(self) -> bool:
        dialog = self._dialog = PassphraseDialog(partial(encryption.unlock, self._folder))
        dialog.exec()
        self._key, self._dialog = dialog.key, None
        dialog.deleteLater()
        return self._key is not None

    def _replace(self, found: Rescue | None) -> bool:
        """Replace the damaged file as the user chooses; return False to quit. `found`: what of it can be read."""
        backup = next((backup for backup in backups.list_backups(self._folder) if backup.path not in self._tried), None)
        choices: dict[_Choice, str] = {}
        if found:
            choices[_Choice.RESCUE] = self.tr("Open What Can Be Read")
        if backup:
            choices[_Choice.RESTORE] = self.tr("Restore the Backup of {}").format(_time(backup))
        choices[_Choice.START_EMPTY] = self.tr("Start with an Empty History")
        kept = self.tr("Whatever you choose, the damaged file is kept.")
        choice = self._ask("\n\n".join(filter(None, (self._loss_text(found), self._backup_fault, kept))), choices)
        if choice is _Choice.QUIT:
            return False
        try:
            if choice is _Choice.RESCUE and found:
                self._adopt(found)
            else:
                self._restore(backup if choice is _Choice.RESTORE else None)
        except DamagedHistoryError:
            assert backup, "an empty history is not damaged"
            self._backup_fault = self.tr("The backup of {} is damaged too.").format(_time(backup))
        except HistoryError as error:
            return self._ask(translate_error(error), {_Choice.TRY_AGAIN: self.tr("Try Again")}) is _Choice.TRY_AGAIN
        return True

    def _loss_text(self, found: Rescue | None) -> str:
        """Return sentences about what can be read and what is lost."""
        if not found:
            return self.tr("The file with your chats is damaged, and nothing of it can be read.")
        chats = self.tr("1 chat") if found.chats == 1 else self.tr("{} chats").format(whole(found.chats))
        read = self.tr("The file with your chats is damaged. Still readable: {messages} in {chats}.")
        account = [read.format(messages=self._messages(found.messages), chats=chats)]
        if found.lost:
            names = [
                self.tr("{title} ({count})").format(title=title or self.tr("a chat without title"), count=whole(count))
                for title, count in found.lost[:_MAX_NAMED]
            ]
            more = len(found.lost) - len(names)
            names += [self.tr("{} more chats").format(whole(more))] if more else []
            lost = self.tr("Damaged or lost: {messages}, in {chats}.")
            count = sum(count for _, count in found.lost)
            account.append(lost.format(messages=self._messages(count), chats=listed(names)))
        return "\n\n".join(account)

    def _messages(self, count: int) -> str:
        return self.tr("1 message") if count == 1 else self.tr("{} messages").format(whole(count))

    def _adopt(self, found: Rescue) -> None:
        path = rescue.adopt(self._folder, found)
        kept = self.tr("The damaged history is kept as {}.").format(path)
        self.outcome = f"{self._loss_text(found)} {kept}"

    def _restore(self, backup: Backup | None) -> None:
        if backup:
            self._tried.add(backup.path)
        damaged_path = backups.restore(self._folder, backup, self._key)
        if backup:
            restored = self.tr("The backup of {time} was restored; the damaged history is kept as {path}.")
            self.outcome = restored.format(time=_time(backup), path=damaged_path)
        else:
            self.outcome = self.tr("The history is empty now; the damaged one is kept as {path}.").format(
                path=damaged_path
            )

    def _ask(self, sentence: str, choices: dict[_Choice, str]) -> _Choice:
        box = QMessageBox(QMessageBox.Icon.Warning, "Headstart", sentence)
        style_dialog(box)
        buttons: dict[QPushButton, _Choice] = {}
        for choice, text in choices.items():
            buttons[box.addButton(text, QMessageBox.ButtonRole.AcceptRole)] = choice
        quit_button = box.addButton(self.tr("Quit"), QMessageBox.ButtonRole.RejectRole)
        first = next(iter(buttons))  # unless that would leave the chats behind, and there is another way
        box.setDefaultButton(quit_button if buttons[first] is _Choice.START_EMPTY else first)
        box.setEscapeButton(quit_button)
        box.exec()
        return next((choice for button, choice in buttons.items() if button is box.clickedButton()), _Choice.QUIT)


def _time(backup: Backup) -> str:
    created = QDateTime.fromSecsSinceEpoch(int(backup.created))
    return QLocale().toString(created, QLocale.FormatType.ShortFormat)


_DELAY_MS = 5000  # after the start, which has enough to read
_INTERVAL_MS = 30_000
_SYNC_MS = 4000  # at most that much of what you do is lost in a power cut
_QUIET_SECONDS = 10.0  # after a deletion: more may follow, and writing the file anew makes others wait


class Maintenance(QObject):
    """The care of a history on another thread: it writes changes to disk, erases what was deleted, and makes backups.

    In the window's thread, writing to disk alone would delay an answer by 50 to 80 ms every few minutes.
    """

    error_occurred = Signal(str)

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._cared_for = store, store.changes
        self._is_erased = True  # all that was deleted, so far as is known
        self._is_urgent = False  # something was deleted for good during the work
        self._task: BackgroundTask | None = None
        self._pool = QThreadPool(self)
        self._delay = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._delay.timeout.connect(self.begin)
        self._timer = QTimer(self, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._on_tick)
        self._synced = store.changes
        self._sync_pool = QThreadPool(self)
        self._sync_timer = QTimer(self, interval=_SYNC_MS)
        self._sync_timer.timeout.connect(self.sync)

    def start(self) -> None:
        """Begin once the program has started, and work again whenever something has changed."""
        self._delay.start()
        self._timer.start()
        self._sync_timer.start()

    @Slot()
    def begin(self) -> None:
        """Do what is due now; a fault of the disk shows at the next write of the store, too."""
        self._begin(_QUIET_SECONDS)

    @Slot()
    def sync(self) -> None:
        """Flush all saved changes to the disk now, on another thread."""
        if self._store.changes != self._synced and not self._sync_pool.activeThreadCount():
            self._synced = self._store.changes
            self._sync_pool.start(partial(_sync, self._store.path))

    @Slot()
    def erase(self) -> None:
        """Erase what was deleted at once, or as soon as the work under way has ended."""
        self._is_urgent = True
        self._begin(0.0)

    def close(self) -> None:
        """Cancel a backup, which the next start makes, and erase what was deleted. The store writes the rest."""
        for timer in (self._delay, self._timer, self._sync_timer):
            timer.stop()
        self._is_urgent = False
        self._sync_pool.waitForDone()
        if self._task:
            self._task.cancel()
        self._pool.waitForDone()
        with suppress(HistoryError):  # the next start tries again
            erasing.erase(self._store.path.parent, self._store.key)

    @Slot()
    def _on_tick(self) -> None:
        if self._store.changes != self._cared_for or not self._is_erased:
            self.begin()

    def _begin(self, quiet_seconds: float) -> None:
        if self._pool.activeThreadCount():
            self._is_erased = False  # the next tick looks again
            return
        self._is_urgent = False
        self._cared_for = self._store.changes
        self._task = BackgroundTask(partial(_care, self._store.path, self._store.key, quiet_seconds))
        self._task.start(self._on_done, self.error_occurred.emit, self._pool)

    @Slot(object)
    def _on_done(self, is_erased: bool) -> None:
        self._is_erased = is_erased
        if self._is_urgent:
            self._pool.waitForDone()  # its thread is about to end
            self.erase()


def _sync(path: Path) -> None:
    with suppress(OSError):  # the next write says what is wrong
        database.sync(path)


def _care(path: Path, key: Key | None, quiet_seconds: float, task: BackgroundTask) -> bool:
    """Run the due maintenance. Return whether all deleted text is erased."""
    folder = path.parent
    database.settle(path, key)
    is_erased = erasing.erase(folder, key, quiet_seconds)
    backups.forget_damaged(folder, backups.KEEP_DAMAGED)
    backups.keep_up(folder, key, lambda: not task.is_cancelled)
    return is_erased
