"""Looks after the history beside the window: reads a large one through and makes the daily copy."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QThreadPool, QTimer, Signal, Slot

from headstart.chat import backups, database
from headstart.chat.database import Key
from headstart.chat.store import Store
from headstart.ui.background_task import BackgroundTask

_EVERY_MS = 30_000


class Checkpoints(QObject):
    """One for a store. In the window's thread the disk would hold up an answer for 50 to 80 ms every few minutes."""

    def __init__(self, store: Store, parent: QObject | None = None) -> None:
        """Begins by itself when something was written."""
        super().__init__(parent)
        self._store, self._settled = store, store.changes
        self._task: BackgroundTask | None = None
        self._pool = QThreadPool(self)
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self.settle)
        self._timer.start()

    @Slot()
    def settle(self) -> None:
        """What was written since the last time; a fault is met again, and told, by whoever writes next."""
        if self._store.changes == self._settled or self._pool.activeThreadCount():
            return
        self._settled = self._store.changes
        self._task = BackgroundTask(partial(_settle, self._store, self._store.key))
        self._task.start(self._pool)

    def close(self) -> None:
        """Wait for the disk; the store itself brings in the rest when it closes."""
        self._timer.stop()
        self._pool.waitForDone()


def _settle(store: Store, key: Key | None, _task: BackgroundTask) -> None:
    database.settle(store.path, key)


_BEGINS_MS = 5000  # after the start, which has enough to read


class Maintenance(QObject):
    """One for a window. A history of gigabytes takes minutes, so it waits for the start and runs in a thread."""

    troubled = Signal(str)

    def __init__(self, folder: Path, key: Key | None = None, parent: QObject | None = None) -> None:
        """`folder` has the history, `key` opens it; nothing is read yet."""
        super().__init__(parent)
        self._task = BackgroundTask(partial(_keep_up, folder, key), self)
        self._task.failed.connect(self.troubled)
        self._pool = QThreadPool(self)
        self._waiting = QTimer(self, singleShot=True, interval=_BEGINS_MS)
        self._waiting.timeout.connect(self.begin)

    def start(self) -> None:
        """Begin when the window has had time for itself."""
        self._waiting.start()

    @Slot()
    def begin(self) -> None:
        """Begin now."""
        self._task.start(self._pool)

    def close(self) -> None:
        """Give up what is not done; the next start tries again."""
        self._waiting.stop()
        self._task.cancel()
        self._pool.waitForDone()


def _keep_up(folder: Path, key: Key | None, task: BackgroundTask) -> backups.Backup | None:
    return backups.keep_up(folder, key, lambda: not task.is_cancelled)
