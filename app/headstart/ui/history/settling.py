"""Has the log of changes brought into the history now and then, in a thread of its own. Knows no widget."""

from functools import partial

from PySide6.QtCore import QObject, QThreadPool, QTimer, Slot

from headstart.chat import database
from headstart.chat.cipher import Key
from headstart.chat.store import Store
from headstart.ui.background_task import BackgroundTask

_EVERY_MS = 30_000


class Settling(QObject):
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
