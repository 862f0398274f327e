"""Sets the exporter up in an environment of its own, by child processes, when a person asks for it. Knows no widget."""

import json
import logging
import re
import shutil
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QProcessEnvironment, Signal, Slot

from headstart import exporter, paths
from headstart.ui.background_task import BackgroundTask
from headstart.ui.line_child import Ending, LineChild
from headstart.ui.spelling import amount
from headstart.ui.translation import translate

# Only pip from this version on says how far a file is where nobody sees a bar.
_TELLS_BYTES = (24, 1)
_BYTES = re.compile(r"^Progress (\d+) of (\d+)$")
_COLLECTING = re.compile(r"^Collecting ([\w.-]+)")
_FETCHING = re.compile(r"^\s*Downloading ([\w.]+-[\w.+!]+?)(?:-\S*|\.tar\.gz|\.zip)(?: \((.*)\))?$")
_UNPACKING = re.compile(r"^Installing collected packages: (.*)$")


@dataclass(frozen=True)
class Told:
    """What a line says: a step, or bytes of how many, or neither."""

    step: str = ""
    done: int = 0
    total: int = 0


def progress_bar(pip: tuple[int, ...]) -> str:
    """What kind of progress a pip of that version can write down."""
    return "raw" if pip >= _TELLS_BYTES else "off"


def told(line: str) -> Told:
    """What a line of pip means."""
    if counted := _BYTES.match(line):
        return Told(done=int(counted[1]), total=int(counted[2]))
    if found := _FETCHING.match(line):
        words = translate("PipLines", "Fetching {} ({})") if found[2] else translate("PipLines", "Fetching {}")
        return Told(words.format(found[1], found[2]))
    if found := _COLLECTING.match(line):
        return Told(translate("PipLines", "Looking for {}").format(found[1]))
    if found := _UNPACKING.match(line):
        count = len(found[1].split(","))
        return Told(translate("PipLines", "Unpacking {} packages, which takes some minutes").format(count))
    return Told()


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


_FULL = ("no space left on device", "[errno 28]", "[errno 122]", "not enough space on the disk", "winerror 112")
_NO_NETWORK = (
    "failed to establish a new connection",
    "connection broken by",
    "connecttimeouterror",
    "read timed out",
    "max retries exceeded",
    "nameresolutionerror",
    "connection error",
    "connection aborted",
    "connection reset",
    "incompleteread",
    "incomplete-download",
    "cannot connect to proxy",
    "certificate_verify_failed",
)
_NOT_PUBLISHED = ("no matching distribution found", "could not find a version that satisfies")
_NO_VENV = ("ensurepip is not available", "no module named venv", "no module named ensurepip")


def lacking(python: Python | None) -> str:
    """Where no Python will do; `python` is the one that comes nearest."""
    if python is None:
        return translate(
            "SetupFaults",
            "No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: "
            "apt install python3 python3-venv), and try again.",
        )
    if not is_new_enough(python):
        return translate(
            "SetupFaults", "The Python found here is {}, and 3.11 or newer is needed; install one and try again."
        ).format(python.name)
    return _no_venv(python)


def no_room(needed: int, free: int) -> str:
    """Where the disk could not hold it; in bytes."""
    return translate(
        "SetupFaults",
        "The exporter needs {} on the disk while it is set up, and {} are free; make room and try again.",
    ).format(amount(needed), amount(free))


def reason(python: Python, ending: Ending, lines: Sequence[str]) -> str:
    """Where a process did not do what it was for; `lines` are the last ones that the processes said."""
    text = "\n".join(lines).lower()
    if ending.fault:
        return other(ending.fault)
    if _has(text, _FULL):
        return translate("SetupFaults", "The disk is full; make room and try again.")
    if ending.crashed:
        return translate("SetupFaults", "The set-up was ended from outside, perhaps for want of memory; try again.")
    if _has(text, _NO_VENV):
        return _no_venv(python)
    return _of_the_index(python, text) or other(_last_error(lines))


def other(words: str) -> str:
    """What nobody foresaw, in the words of whoever noticed."""
    return translate("SetupFaults", "The exporter could not be set up: {}").format(words)


def _of_the_index(python: Python, text: str) -> str:
    if _has(text, _NO_NETWORK):
        return translate(
            "SetupFaults",
            "The package index cannot be reached; check this computer's network and try again. What was fetched to its "
            "end is not fetched again.",
        )
    if _has(text, _NOT_PUBLISHED):
        return translate(
            "SetupFaults",
            "The package index lacks something for Python {}; the log names it. Another Python, 3.11 or newer, may "
            "have all: install one and try again.",
        ).format(python.name)
    return ""


def _no_venv(python: Python) -> str:
    return translate(
        "SetupFaults",
        "Python {} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt install "
        "python3-venv brings it. Then try again.",
    ).format(python.name)


def _has(text: str, signs: Sequence[str]) -> bool:
    return any(sign in text for sign in signs)


def _last_error(lines: Sequence[str]) -> str:
    """The line in which pip says it, or else the last one."""
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return next(reversed(errors or list(lines)), "").strip()


# Measured with PyTorch for processors alone: what is fetched, and what it is on the disk when all is unpacked.
FETCHED, SIZE = 500_000_000, 2_100_000_000
_ROOM = SIZE + 2 * FETCHED  # pip has each file in its cache, too, and unpacks them all at the end
_LINES = 400  # the last ones tell why it failed
_QUIET = ("-I", "-u", "-X", "utf8")  # no variable and no folder of the user decides what is imported
_TRIAL = "import headstart_export.cli, nncf, optimum.intel, torch, transformers"
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
_log = logging.getLogger(__name__)


class ExporterSetup(QObject):
    """One at a time. What is not made to its end is never used, and goes."""

    said = Signal(str)  # a line
    stepped = Signal(str)  # what is done now
    progressed = Signal(object, object)  # bytes of this file, of how many
    ended = Signal(bool, str)  # whether it can be used, and if not why

    def __init__(self, parent: QObject | None = None) -> None:
        """Runs nothing yet, and opens no network before `start`."""
        super().__init__(parent)
        self._search = PythonSearch(self)
        self._child = LineChild(self)
        self._python: Python | None = None
        self._steps: list[tuple[str, tuple[str, ...]]] = []
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._cancelled = False
        self._sweeping: BackgroundTask | None = None
        self._search.ended.connect(self._begin)
        self._child.said.connect(self._take)
        self._child.ended.connect(self._go_on)

    @property
    def is_running(self) -> bool:
        """Whether one goes on."""
        return self._search.is_running or self._child.is_running

    def start(self) -> None:
        """Look for a Python, make an environment with it, fetch the packages and try them."""
        assert not self.is_running, "one set-up at a time"
        self._cancelled = False
        self._lines.clear()
        self.stepped.emit(self.tr("Looking for Python"))
        self._search.start()

    def cancel(self) -> None:
        """End it; what was fetched to its end is in pip's cache, and not fetched again."""
        self._cancelled = self.is_running
        self._search.kill()
        self._child.kill()

    def close(self) -> None:
        """The window closes: the processes end; what they made is removed when the page is shown the next time."""
        self._search.close()
        self._child.close()
        if self._sweeping:
            self._sweeping.cancel()

    def sweep(self) -> None:
        """Remove what one that was cut short has left, on a thread of its own."""
        if self.is_running:
            return
        if exporter.is_abandoned():
            self._put_away()
        if exporter.has_remains():
            self._sweeping = BackgroundTask(_sweep, self)
            self._sweeping.start()

    @Slot(object)
    def _begin(self, python: Python | None) -> None:
        free = _free()
        if self._cancelled:
            self._end(self.tr("Cancelled."))
        elif python is None or not will_do(python):
            self._end(lacking(python))
        elif free < _ROOM:
            self._end(no_room(_ROOM, free))
        else:
            self._make(python)

    def _make(self, python: Python) -> None:
        self._python = python
        self._take(f"Python {'.'.join(map(str, python.version))}: {python.path}")
        own = str(exporter.program("python"))
        bar = ("--progress-bar", progress_bar(python.pip))
        install = ("-m", "pip", "install", "--no-input", *bar, f"{paths.bundled_wheel()}[export]")
        self._steps = [  # the last one first
            (self.tr("Trying it"), (own, *_QUIET, "-c", _TRIAL)),
            (self.tr("Asking what is to be fetched"), (own, *_QUIET, *install)),
            (
                self.tr("Making an environment for it"),
                (python.path, *_QUIET, "-m", "venv", str(paths.exporter_folder())),
            ),
        ]
        try:
            exporter.begin()
        except OSError as error:
            self._end(other(str(error)))
        else:
            self._run_next()

    def _run_next(self) -> None:
        step, command = self._steps.pop()
        self.stepped.emit(step)
        self._child.start(command, _variables(exporter.scratch()))

    @Slot(str)
    def _take(self, line: str) -> None:
        news = told(line)
        if news.total:
            self.progressed.emit(news.done, news.total)
            return
        self._lines.append(line)
        self.said.emit(line)
        if news.step:
            self.stepped.emit(news.step)

    @Slot(object)
    def _go_on(self, ending: Ending) -> None:
        assert self._python
        if self._cancelled:
            self._end(self.tr("Cancelled."))
        elif not ending.is_good:
            self._end(reason(self._python, ending, self._lines))
        else:
            self._note_step()

    def _note_step(self) -> None:
        assert self._python
        try:
            if self._steps:
                exporter.mark_unfinished()
            else:
                exporter.mark_whole()
        except OSError as error:
            self._end(reason(self._python, Ending(-1), [str(error)]))
            return
        if self._steps:
            self._run_next()
        else:
            self.ended.emit(True, "")  # noqa: FBT003 - Qt's own signature

    def _end(self, sentence: str) -> None:
        if not exporter.is_whole():
            self._put_away()
        self.ended.emit(False, sentence)  # noqa: FBT003 - Qt's own signature
        self.sweep()

    def _put_away(self) -> None:
        try:
            exporter.put_away()
        except OSError as error:  # its mark stays, so that it is not used, and it goes the next time
            _log.warning("what was left of the exporter's environment stays for now: %s", error)


def _variables(scratch: Path) -> QProcessEnvironment:
    """Those of the user, pip's settings among them, but for other Pythons; large files are kept where the room is."""
    variables = QProcessEnvironment.systemEnvironment()
    for name in _FOREIGN:
        variables.remove(name)
    for name in ("TMPDIR", "TMP", "TEMP"):
        variables.insert(name, str(scratch))
    for name, value in (("PIP_USER", "0"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")):
        variables.insert(name, value)
    return variables


def _free() -> int:
    folder = paths.data_folder()
    return shutil.disk_usage(next(each for each in (folder, *folder.parents) if each.is_dir())).free


def _sweep(task: BackgroundTask) -> None:
    exporter.sweep(lambda: not task.is_cancelled)
