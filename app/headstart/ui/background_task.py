"""A task on a thread pool, with progress and cancellation."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal, Slot

from headstart.errors import HeadstartError
from headstart.ui.translation import translate_error

OnEnd = Callable[..., object] | None


class BackgroundTask(QObject):
    """Work that runs once on a pool's thread and reports its end on the window's thread.

    Connect `progressed` to methods: a plain function would be called on the pool's thread.
    """

    progressed = Signal(object, object)  # done, total (numbers above what a C int holds)
    done = Signal(object)
    failed = Signal(str)  # the sentence of a HeadstartError
    _ended = Signal(object)  # result or HeadstartError, emitted on the pool's thread

    def __init__(self, work: Callable[["BackgroundTask"], Any], parent: QObject | None = None) -> None:
        """`work` gets this task, emits `progressed` and checks `is_cancelled` now and then."""
        super().__init__(parent)
        self._work = work
        self._is_cancelled = False
        self._ended.connect(self._end)

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def start(self, done: OnEnd = None, failed: OnEnd = None, pool: QThreadPool | None = None) -> None:
        """Start the task; `done` or `failed` is called, unless it is cancelled. Pass a pool to wait for the task."""
        for signal, slot in ((self.done, done), (self.failed, failed)):
            if slot:
                signal.connect(slot)
        (pool or QThreadPool.globalInstance()).start(self._run)

    def cancel(self) -> None:
        """Ask the work to end; it has to check `is_cancelled`."""
        self._is_cancelled = True

    def _run(self) -> None:
        try:
            result = self._work(self)
        except HeadstartError as error:
            result = error
        if not self._is_cancelled:
            self._ended.emit(result)

    @Slot(object)
    def _end(self, result: object) -> None:
        """Emit the result, unless the task has been cancelled since it ended."""
        if self._is_cancelled:
            return
        if isinstance(result, HeadstartError):
            self.failed.emit(translate_error(result))
        else:
            self.done.emit(result)
