"""The engine's process for its users: its program, time limits, restarts and log."""

import contextlib
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from headstart import paths, private_files

CANCEL_GRACE = 2.0  # seconds an answer may go on after it was cancelled, before its process is killed
CLOSE_GRACE = 0.8  # seconds a process may run on after its input was closed
KILL_GRACE = 5.0  # seconds to wait for a killed process; one that hangs in a driver may never end
OUT_OF_MEMORY = "SIGKILL"  # how Linux ends a process when memory runs out
_RESTARTS, _PERIOD = 3, 300.0  # at most so many in so many seconds: a model that kills the engine must not loop
_LOG_BYTES, _OLD_LOGS, _TAIL = 2**20, 3, 60


def program(*arguments: str) -> tuple[str, ...]:
    """The command line of an engine's process; in a frozen program it is the executable beside this one."""
    if getattr(sys, "frozen", False):
        window = Path(sys.executable)
        return (
            str(window.with_name(f"headstart-engine{window.suffix if window.suffix == '.exe' else ''}")),
            *arguments,
        )
    # -P: the current folder is the user's, and may hold a file named like a module.
    return (sys.executable, "-P", "-m", "headstart.engine_process", *arguments)


class RestartBudget:
    """Counts restarts within the last five minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives seconds."""
        self._clock = clock
        self._times: deque[float] = deque(maxlen=_RESTARTS)

    def take(self) -> bool:
        """Whether one more restart is allowed; it is then counted."""
        now = self._clock()
        if len(self._times) == _RESTARTS and now - self._times[0] < _PERIOD:
            return False
        self._times.append(now)
        return True

    def reset(self) -> None:
        """Forget earlier restarts, when the user tries again."""
        self._times.clear()


class Journal:
    """The engine's log file, for its log and for the output of native code. It rotates, and keeps the last lines.

    If the disk cannot be written, the chat goes on, and only the last lines are kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Nothing is created before the first line."""
        self.path = path or paths.logs_folder() / "engine.log"
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._lock = threading.Lock()

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, for a crash report."""
        return tuple(self._tail)

    def write(self, text: str) -> None:
        """Add lines."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S ")
        lines = [stamp + line for line in text.splitlines() if line.strip()]
        with self._lock, contextlib.suppress(OSError):
            self._tail.extend(lines)
            self._rotate()
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(f"{line}\n" for line in lines)

    def _rotate(self) -> None:
        private_files.make(self.path.parent)
        if not self.path.exists() or self.path.stat().st_size < _LOG_BYTES:
            return
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{age}") for age in range(1, _OLD_LOGS + 1))]
        for newer, older in reversed(list(pairwise(names))):
            if newer.exists():
                newer.replace(older)


def ending(code: int) -> str:
    """How a process ended, given its exit code: such as "SIGSEGV" for one below zero, or "exit code 3"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # the system has no name for it
        return f"signal {-code}"
