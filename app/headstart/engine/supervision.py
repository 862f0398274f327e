"""The program of the engine's process, its time limits, restarts and log."""

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

CANCEL_GRACE = 2.0  # seconds for an answer to end after it was cancelled, before its process is killed
COMPUTING_GRACE = 60.0  # the same while the process computes: a pass over a long prompt takes seconds
CLOSE_GRACE = 0.8  # seconds for a process to end after its input was closed
KILL_GRACE = 5.0  # seconds for a killed process to end; one that hangs in a driver may never end
OUT_OF_MEMORY = "SIGKILL"  # how Linux ends a process when memory runs out
_MAX_RESTARTS, _PERIOD_S = 3, 300.0  # a model that kills the engine must not do so for ever
_MAX_LOG_BYTES, _MAX_OLD_LOGS, _TAIL_LINES = 2**20, 3, 60


def program(*arguments: str) -> tuple[str, ...]:
    """Return the command that starts an engine process: in a frozen program, the executable beside this one."""
    if frozen := paths.bundled_program("headstart-engine"):
        return (str(frozen), *arguments)
    # -P: the current folder may hold a file named like a module.
    return (sys.executable, "-P", "-m", "headstart.engine_process", *arguments)


class RestartBudget:
    """Limits restarts to three in five minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=_MAX_RESTARTS)

    def take(self) -> bool:
        """Count one more restart and return True, if it is allowed."""
        now = self._clock()
        if len(self._times) == _MAX_RESTARTS and now - self._times[0] < _PERIOD_S:
            return False
        self._times.append(now)
        return True

    def reset(self) -> None:
        """Forget earlier restarts: the user tries again."""
        self._times.clear()


class Journal:
    """The log file of the engine and of native code. It rotates, and keeps the last lines.

    If the disk cannot be written, the chat goes on and only the last lines are kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.logs_folder() / "engine.log"
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._lock = threading.Lock()

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, for a crash report."""
        return tuple(self._tail)

    def write(self, text: str) -> None:
        """Append lines with the time."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S ")
        lines = [stamp + line for line in text.splitlines() if line.strip()]
        with self._lock, contextlib.suppress(OSError):
            self._tail.extend(lines)
            self._rotate()
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.writelines(f"{line}\n" for line in lines)

    def _rotate(self) -> None:
        private_files.make(self.path.parent)
        if not self.path.exists() or self.path.stat().st_size < _MAX_LOG_BYTES:
            return
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{age}") for age in range(1, _MAX_OLD_LOGS + 1))]
        for newer, older in reversed(list(pairwise(names))):
            if newer.exists():
                newer.replace(older)


def ending(code: int) -> str:
    """Return how a process ended: "SIGSEGV" for a signal (a code below zero), or "exit code 3"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # the system has no name for it
        return f"signal {-code}"
