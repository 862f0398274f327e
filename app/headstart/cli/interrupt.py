"""What Ctrl+C does while something goes on that it is to end. Knows not what that is."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_ctrl_c(press: Callable[[], None]) -> Iterator[None]:
    """While inside, Ctrl+C calls `press` instead of raising. Python allows that on the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, lambda _number, _frame: press())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
