"""Finds a Python on this computer that can make environments, by asking each in turn. Makes none."""

import json
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from headstart.ui.line_child import Ending, LineChild

_OLDEST = (3, 11)
_NAMES: tuple[tuple[str, ...], ...] = (
    (("py", "-3"), ("python",), ("python3",))
    if sys.platform == "win32"
    else (("python3",), ("python3.13",), ("python3.12",), ("python3.11",), ("python",))
)
_QUESTION = """
import json, sys
try:
    import venv, ensurepip
    pip = ensurepip.version()
except (ImportError, AttributeError):  # a folder without a module, as packages leave behind
    pip = ""
print(json.dumps([sys.executable, sys.version_info[:3], pip, sys.maxsize > 2**32]))
"""


@dataclass(frozen=True)
class Python:
    """One that was asked. `pip`: the version that its environments get; empty where it can make none."""

    path: str
    version: tuple[int, ...]
    pip: tuple[int, ...]

    @property
    def name(self) -> str:
        """As people call it."""
        return ".".join(map(str, self.version[:2]))


class PythonSearch(QObject):
    """`ended` has the first that will do, or else the one that comes nearest, or None."""

    ended = Signal(object)  # Python | None

    def __init__(self, parent: QObject | None = None) -> None:
        """Asks nothing yet."""
        super().__init__(parent)
        self._left: list[tuple[str, ...]] = []
        self._asked: list[Python] = []
        self._child = LineChild(self)
        self._child.said.connect(self._take)
        self._child.ended.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Whether its answer is still to come."""
        return self._child.is_running

    def start(self) -> None:
        """Ask those that are on the PATH."""
        found = ((shutil.which(name[0]), name[1:]) for name in _NAMES)
        self._left = [(path, *words) for path, words in found if path]
        self._asked = []
        self._ask_next()

    def kill(self) -> None:
        """Ask no more; `ended` has None then."""
        self._left, self._asked = [], []
        self._child.kill()

    def close(self) -> None:
        """The window closes."""
        self._child.close()

    def _ask_next(self) -> None:
        if self._left and not any(map(will_do, self._asked)):
            self._child.start([*self._left.pop(0), "-I", "-c", _QUESTION])
        else:
            self.ended.emit(_best(self._asked))

    @Slot(str)
    def _take(self, line: str) -> None:
        python = parse(line)
        if python:
            self._asked.append(python)

    @Slot(object)
    def _go_on(self, _ending: Ending) -> None:
        self._ask_next()


def will_do(python: Python) -> bool:
    """Whether the exporter can be set up with it."""
    return is_new_enough(python) and bool(python.pip)


def is_new_enough(python: Python) -> bool:
    """Whether Headstart runs on it."""
    return python.version >= _OLDEST


def parse(line: str) -> Python | None:
    """What a Python says of itself; None for any other words, and for one of 32 bits, which has no PyTorch."""
    try:
        path, version, pip, is_wide = json.loads(line)
        if not is_wide:
            return None
        return Python(str(path), tuple(map(int, version)), tuple(map(int, pip.split(".")[:2])) if pip else ())
    except (ValueError, TypeError, AttributeError):
        return None


def _best(asked: Iterable[Python]) -> Python | None:
    return max(asked, key=lambda python: (will_do(python), is_new_enough(python), python.version), default=None)
