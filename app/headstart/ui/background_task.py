"""Work on a thread of the pool, with progress and cancel; its end arrives in the thread of the window."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThreadPool, Signal, Slot

from headstart.errors import HeadstartError
from headstart.ui.translation import translate_error


class BackgroundTask(QObject):
    """Runs once. Connect `progressed` to methods: a bare function would be called on the other thread."""

    progressed = Signal(object, object)  # done, of how many (numbers above what a C int holds)
    done = Signal(object)
    failed = Signal(str)  # the sentence of a HeadstartError
    _ended = Signal(object)  # result or HeadstartError, from the other thread

    def __init__(self, work: Callable[["BackgroundTask"], Any], parent: QObject | None = None) -> None:
        """`work` gets this task, reports by `progressed` and looks at `is_cancelled` now and then."""
        super().__init__(parent)
        self._work = work
        self._cancelled = False
        self._ended.connect(self._end)

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def start(self, pool: QThreadPool | None = None) -> None:
        """Begin; `done` or `failed` follows, but neither after `cancel`. Give a pool in order to wait for it."""
        (pool or QThreadPool.globalInstance()).start(self._run)

    def cancel(self) -> None:
        """Ask the work to end; it looks at `is_cancelled`."""
        self._cancelled = True

    def _run(self) -> None:
        try:
            result = self._work(self)
        except HeadstartError as error:
            result = error
        if not self._cancelled:
            self._ended.emit(result)

    @Slot(object)
    def _end(self, result: object) -> None:
        """In the thread of the window, where the task may have been cancelled since."""
        if self._cancelled:
            return
        if isinstance(result, HeadstartError):
            self.failed.emit(translate_error(result))
        else:
            self.done.emit(result)
