"""The event that cancels an answer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CancelEvent(threading.Event):
    """An event with callbacks, so that a waiting call need not poll it."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], object]] = []
        self._calling = threading.RLock()  # a signal handler may set it while its own thread is in here

    def set(self) -> None:
        """Set the event and run the callbacks."""
        with self._calling:
            super().set()
            for callback in self._callbacks:
                callback()

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` on the thread that sets the event, or at once if it is set already."""
        with self._calling:
            if self.is_set():
                callback()
            self._callbacks.append(callback)
        try:
            yield
        finally:
            with self._calling:
                self._callbacks.remove(callback)
