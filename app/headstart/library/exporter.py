"""The exporter: the place of its program, and the set-up of its environment in the data folder."""

import contextlib
import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil

from headstart import paths, private_files
from headstart.errors import ExporterNeededError, ExportError, Translatable
from headstart.library import export_leftovers

PROGRAM = "headstart-export"
DEFER_CHECKS = "--defer-checks"  # leaves the checks of an imported model for later
_PYTHON = "py -3" if sys.platform == "win32" else "python3"
# Output goes to a pipe, so the program prints lines and no moving bar.
_MODULE_CALL = "import sys; from headstart_export.cli import main; sys.exit(main())"
_UNFINISHED = "unfinished"  # a file inside, as long as the environment is unfinished
_AWAY = "exporter-removed-"  # beside it: environments to be removed, which takes long because of their many files


def program(name: str) -> Path:
    """Return the path of a program of the environment, whether it exists or not."""
    folder, ending = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    return paths.exporter_folder() / folder / f"{name}{ending}"


def is_whole() -> bool:
    """Return whether the environment can be used: it is complete, and its Python is still there."""
    return program(PROGRAM).is_file() and program("python").is_file() and not _mark().exists()


def importer() -> tuple[str, ...] | None:
    """Return the command that imports GGUF files, and needs no PyTorch; None if this program came without it.

    It ends with `ExporterNeededError.export_status` where `command` is needed instead.
    """
    if frozen := paths.bundled_program(PROGRAM):
        return (str(frozen),)
    is_here = find_spec("headstart_export") and find_spec("gguf")
    return (sys.executable, "-m", "headstart_export") if is_here else None


def check_command(name: str) -> tuple[str, ...] | None:
    """Return the command that checks an imported model in the background; None without `importer`.

    `failed_check` reads what it prints. `sweep_checks` removes what is left of it after it was killed.
    """
    start = importer()
    return (*start, "check", name, "--background", "--json") if start else None


def failed_check(line: str) -> Translatable | None:
    """Return why a model must not be used, if a line that its check printed says that."""
    try:
        return Translatable.from_data(json.loads(line)["failed_check"])
    except (ValueError, KeyError, TypeError):
        return None


def sweep_checks() -> None:
    """Remove the files of checks whose processes have ended."""
    for left in export_leftovers.found(paths.cache_folder()):
        if left.is_abandoned:
            left.remove()


def check(name: str) -> None:
    """Make the checks that an import left for later. Progress goes to standard error. Raises ExportError."""
    start = importer()
    if start and subprocess.run([*start, "check", name], stdout=subprocess.DEVNULL, check=False).returncode:
        raise ExportError("{name} was not checked, for the reason above.", name=name)


def command() -> tuple[str, ...] | None:
    """Return the command that starts the exporter; None if it is not installed with all that it needs."""
    if is_whole():
        return (str(program(PROGRAM)),)
    if find_spec("torch") is None or find_spec("nncf") is None:
        return None
    beside = Path(sys.executable).with_name(PROGRAM)
    if path := (str(beside) if beside.is_file() else shutil.which(PROGRAM)):
        return (path,)
    return (sys.executable, "-c", _MODULE_CALL) if find_spec("headstart_export") else None


def package() -> Path | None:
    """Return what pip installs the exporter from: a bundled wheel or a checkout; None without either."""
    checkout = Path(__file__).resolve().parents[3]
    return paths.bundled_wheel() or (checkout if (checkout / "pyproject.toml").is_file() else None)


def install_command(words: Sequence[str]) -> str:
    """Return the command line that installs the exporter and exports a model: Headstart is on no package index."""
    wheel = paths.bundled_wheel()
    if wheel is None:
        return f'pip install ".[export]" && {_joined([PROGRAM, *words])}'
    # --clear: what a set-up that was cut short has left is replaced, not built upon.
    make = f'{_PYTHON} -m venv --clear "{paths.exporter_folder()}"'
    return f'{make} && "{program("pip")}" install "{wheel}[export]" && "{program(PROGRAM)}" {_joined(words)}'


def _joined(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def export(source: str, flags: Sequence[str] = ()) -> Path:
    """Return the folder of a model; export it first if it is not there. Progress goes to standard error.

    `source` is a recipe, a model of the hub, a folder or a GGUF file. Raises ExporterNeededError if PyTorch is needed
    and not there, ExportError.
    """
    words = (source, "--if-missing", DEFER_CHECKS, *flags)
    for program_ in filter(None, (importer(), command())):
        done = subprocess.run([*program_, *words], stdout=subprocess.PIPE, text=True, check=False)
        folder = done.stdout.strip().rpartition("\n")[2]
        if done.returncode == 0 and folder:
            return Path(folder)
        if done.returncode != ExporterNeededError.export_status:
            raise ExportError("{source} was not exported, for the reason above.", source=source)
    raise ExporterNeededError(
        "{source} must be exported first, and the exporter is not installed; run: {command}",
        source=source,
        command=install_command([source]),
    )


# Bytes to fetch and bytes on the disk, measured with PyTorch for processors alone.
FETCHED, SIZE = 500_000_000, 2_100_000_000
_ROOM = SIZE + 2 * FETCHED  # pip has each file in its cache, too, and unpacks them all at the end
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
_QUIET = ("-I", "-u", "-X", "utf8")  # the user's variables and folders do not decide what is imported
_TRIAL = "import headstart_export.cli, nncf, optimum.intel, torch, transformers"
_FOREIGN = ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
_LINES = 400  # kept to find out why it failed
# From this version on, pip prints the progress of a file without a terminal.
_TELLS_BYTES = (24, 1)
_BYTES = re.compile(r"^Progress (\d+) of (\d+)$")
_COLLECTING = re.compile(r"^Collecting ([\w.-]+)")
_FETCHING = re.compile(r"^\s*Downloading ([\w.]+-[\w.+!]+?)(?:-\S*|\.tar\.gz|\.zip)(?: \((.*)\))?$")
_UNPACKING = re.compile(r"^Installing collected packages: (.*)$")
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
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Python:
    path: str
    version: tuple[int, ...]
    pip: tuple[int, ...]  # version in new environments; empty: it can make none

    @property
    def name(self) -> str:
        """Major and minor version."""
        return ".".join(map(str, self.version[:2]))

    @property
    def will_do(self) -> bool:
        """True if the exporter can be set up with this Python."""
        return self.version >= _OLDEST and bool(self.pip)


def _ignore(*_: object) -> None:
    pass


class SetUp:
    """Set-up of the exporter's environment, once. An unfinished environment is never used."""

    def __init__(
        self,
        on_step: Callable[..., object],
        on_line: Callable[[str], object] = _ignore,
        on_progress: Callable[[int, int], object] = _ignore,
    ) -> None:
        """`on_step` gets the template of each step and its values, `on_progress` the bytes of a file that are fetched.

        All are called on the thread that runs the set-up.
        """
        self._on_step, self._on_line, self._on_progress = on_step, on_line, on_progress
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._child: subprocess.Popen[str] | None = None
        self._cancelled = False

    def run(self) -> None:
        """Make an environment, fetch `package` and its requirements, try the exporter. Raises ExportError."""
        if _is_being_made():
            raise ExportError("The exporter is being set up by another Headstart; wait until that has ended.")
        try:
            self._on_step("Looking for Python")
            python = self.find_python()
            self._require_room()
            self._make(python)
        except OSError as error:
            raise _other(str(error)) from error
        finally:
            if not is_whole():
                _try_to_put_away()

    def cancel(self) -> None:
        """End the set-up, from another thread. Complete downloads stay in pip's cache."""
        self._cancelled = True
        if self._child:
            kill(self._child.pid)

    def find_python(self) -> Python:
        """Return the first suitable Python. Raises ExportError, which names the nearest one."""
        examined: list[Python] = []
        for name, *words in _NAMES:
            if path := shutil.which(name):
                self._start([path, *words, "-I", "-c", _QUESTION])
                examined += [python for python in map(parse, self._output_lines()) if python]
                if examined and examined[-1].will_do:
                    return examined[-1]
        if not examined:
            raise ExportError(
                "No Python was found on this computer; install Python 3.11 or newer, of 64 bits (Debian and Ubuntu: "
                "apt install python3 python3-venv), and try again."
            )
        nearest = max(examined, key=lambda python: python.version)
        if nearest.version < _OLDEST:
            raise ExportError(
                "The Python found here is {version}, and 3.11 or newer is needed; install one and try again.",
                version=nearest.name,
            )
        raise _no_venv(nearest)

    def _require_room(self) -> None:
        if (free := _free()) < _ROOM:
            raise ExportError(
                "The exporter needs {needed} on the disk while it is set up, and {free} are free; make room and try "
                "again.",
                needed=f"{_ROOM / 1e9:.1f} GB",
                free=f"{free / 1e9:.1f} GB",
            )

    def _make(self, python: Python) -> None:
        self._note(f"Python {'.'.join(map(str, python.version))}: {python.path}")
        put_away()
        private_files.make(_scratch())
        _mark().write_text(str(os.getpid()), encoding="ascii")  # the environment counts only once this file is gone
        own = str(program("python"))
        bar = "raw" if python.pip >= _TELLS_BYTES else "off"
        install = ("-m", "pip", "install", "--no-input", "--progress-bar", bar, f"{package()}[export]")
        self._do("Making an environment for it", python, python.path, "-m", "venv", str(paths.exporter_folder()))
        self._do("Asking what is to be fetched", python, own, *install)
        self._do("Trying it", python, own, "-c", _TRIAL)
        shutil.rmtree(_scratch(), ignore_errors=True)
        _mark().unlink()

    def _do(self, step: str, python: Python, path: str, *words: str) -> None:
        self._on_step(step)
        self._start([path, *_QUIET, *words])
        for line in self._output_lines():
            self._note(line)
        assert self._child
        if code := self._child.returncode:
            raise _fault(python, self._lines, was_killed=code < 0)

    def _start(self, command: Sequence[str]) -> None:
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_variables(),
            encoding="utf-8",
            errors="replace",
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        if self._cancelled:  # while it was started
            kill(self._child.pid)

    def _output_lines(self) -> Iterator[str]:
        """Yield the child process's lines until it ends."""
        assert self._child
        with self._child as child:
            assert child.stdout
            yield from (line.rstrip() for line in child.stdout if line.strip())
        if self._cancelled:
            raise ExportError("Cancelled.")

    def _note(self, line: str) -> None:
        if counted := _BYTES.match(line):
            self._on_progress(int(counted[1]), int(counted[2]))
            return
        self._lines.append(line)
        self._on_line(line)
        if step := parse_step(line):
            self._on_step(*step)


def parse_step(line: str) -> tuple[str, *tuple[object, ...]] | None:
    """Return the set-up step that a line of pip's output announces, as a template and its values."""
    if match := _FETCHING.match(line):
        return ("Fetching {} ({})", match[1], match[2]) if match[2] else ("Fetching {}", match[1])
    if match := _COLLECTING.match(line):
        return ("Looking for {}", match[1])
    if match := _UNPACKING.match(line):
        return ("Unpacking {} packages, which takes some minutes", len(match[1].split(",")))
    return None


def parse(line: str) -> Python | None:
    """Return the Python that a line describes; None for other lines and for 32 bits, which PyTorch does not support."""
    try:
        path, version, pip, is_wide = json.loads(line)
        if not is_wide:
            return None
        return Python(str(path), tuple(map(int, version)), tuple(map(int, pip.split(".")[:2])) if pip else ())
    except (ValueError, TypeError, AttributeError):
        return None


def _fault(python: Python, lines: Sequence[str], *, was_killed: bool) -> ExportError:
    """Return the reason why a child process failed; `lines` are its last ones."""

    def has(signs: Sequence[str]) -> bool:
        return any(sign in text for sign in signs)

    text = "\n".join(lines).lower()
    if has(_FULL):
        return ExportError("The disk is full; make room and try again.")
    if was_killed:
        return ExportError("The set-up was ended from outside, perhaps for want of memory; try again.")
    if has(_NO_VENV):
        return _no_venv(python)
    if has(_NO_NETWORK):
        return ExportError(
            "The package index cannot be reached; check this computer's network and try again. What was fetched to its "
            "end is not fetched again."
        )
    if has(_NOT_PUBLISHED):
        return ExportError(
            "The package index lacks something for Python {version}; the log names it. Another Python, 3.11 or newer, "
            "may have all: install one and try again.",
            version=python.name,
        )
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return _other(next(reversed(errors or list(lines)), ""))


def _no_venv(python: Python) -> ExportError:
    return ExportError(
        "Python {version} can make no environments here, as its module venv is missing; on Debian and Ubuntu, apt "
        "install python3-venv brings it. Then try again.",
        version=python.name,
    )


def _other(reason: str) -> ExportError:
    return ExportError("The exporter could not be set up: {reason}", reason=reason)


def kill(pid: int) -> None:
    """Kill a process and its children."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for child in (*process.children(recursive=True), process):
            with contextlib.suppress(psutil.Error):
                child.kill()


def _variables() -> dict[str, str]:
    """Return the user's environment without the variables of other Pythons; temporary files go to the data folder."""
    environ = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    environ |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(_scratch())) if _scratch().exists() else {}
    return environ | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _free() -> int:
    folder = paths.data_folder()
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.is_dir())).free


def _scratch() -> Path:
    """Return the folder for temporary files, several gigabytes: the system's may be too small."""
    return paths.exporter_folder() / "tmp"


def put_away() -> None:
    """Move the environment aside at once; `sweep` removes it. Raises OSError."""
    folder = paths.exporter_folder()
    if folder.exists():
        away = tempfile.mkdtemp(prefix=_AWAY, dir=folder.parent)
        folder.rename(Path(away) / folder.name)


def sweep(go_on: Callable[[], bool]) -> None:
    """Remove environments that were put away, while `go_on` returns True."""
    for away in paths.data_folder().glob(f"{_AWAY}*"):
        for folder, _, _ in os.walk(away, topdown=False):
            if not go_on():
                return
            shutil.rmtree(folder, ignore_errors=True)


def has_remains() -> bool:
    """Return whether `sweep` has something to do. Do not call it while this process sets up an environment."""
    if _mark().exists() and not _is_being_made():  # one was begun and not ended
        _try_to_put_away()
    return any(paths.data_folder().glob(f"{_AWAY}*"))


def _is_being_made() -> bool:
    """Return whether another process sets up the environment."""
    try:
        maker = int(_mark().read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False
    return maker != os.getpid() and psutil.pid_exists(maker)


def _try_to_put_away() -> None:
    try:
        put_away()
    except OSError as error:  # its mark stays, so that it is not used, and it goes the next time
        _log.warning("what was left of the exporter's environment stays for now: %s", error)


def _mark() -> Path:
    return paths.exporter_folder() / _UNFINISHED
