"""The exporter, a program of its own: where it is, how to install it, and its own environment in the data folder."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from headstart import own_folder, paths
from headstart.errors import ExportError

PROGRAM = "headstart-export"
_PYTHON = "py -3" if sys.platform == "win32" else "python3"
# The same lines whoever starts it, and no bar drawn over itself: output goes to a pipe.
_MODULE_CALL = "import sys; from headstart_export.cli import main; sys.exit(main())"
_UNFINISHED = "unfinished"  # inside, as long as what is there is not to be used
_AWAY = "exporter-removed-"  # beside it: what could not be removed at once, as there are many files


def program(name: str) -> Path:
    """Where a program of the environment is, or would be."""
    folder, ending = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    return paths.exporter_folder() / folder / f"{name}{ending}"


def is_whole() -> bool:
    """Whether it can be used: made to its end, and the Python that it was made with is still there."""
    return program(PROGRAM).is_file() and program("python").is_file() and not _mark().exists()


def command() -> tuple[str, ...] | None:
    """How to start the exporter; None where it is not installed with all that it needs."""
    if is_whole():
        return (str(program(PROGRAM)),)
    if find_spec("torch") is None or find_spec("nncf") is None:
        return None
    beside = Path(sys.executable).with_name(PROGRAM)
    if found := (str(beside) if beside.is_file() else shutil.which(PROGRAM)):
        return (found,)
    return (sys.executable, "-c", _MODULE_CALL) if find_spec("headstart_export") else None


def install_command(words: Sequence[str]) -> str:
    """What to type in a terminal to have the exporter, and a model: Headstart is on no package index."""
    wheel = paths.bundled_wheel()
    if wheel is None:
        return f'pip install ".[export]" && {_joined([PROGRAM, *words])}'
    # --clear: what a set-up that was cut short has left is replaced, not built upon.
    make = f'{_PYTHON} -m venv --clear "{paths.exporter_folder()}"'
    return f'{make} && "{program("pip")}" install "{wheel}[export]" && "{program(PROGRAM)}" {_joined(words)}'


def _joined(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def export(source: str, more: Sequence[str] = ()) -> Path:
    """The folder of a model, which is exported unless it is there; what goes on is shown on standard error.

    `source` is a recipe, a model of the hub, a folder or a GGUF file. Raises ExportError.
    """
    program_ = command()
    if program_ is None:
        raise ExportError(
            f"{source} must be exported first, and the exporter is not installed; run: {install_command([source])}"
        )
    done = subprocess.run([*program_, source, "--if-missing", *more], stdout=subprocess.PIPE, text=True, check=False)
    folder = done.stdout.strip().rpartition("\n")[2]
    if done.returncode or not folder:
        raise ExportError(f"{source} was not exported, for the reason above.")
    return Path(folder)


def begin() -> None:
    """Have room for an environment where `venv` makes it. Raises OSError."""
    put_away()
    own_folder.make(paths.data_folder())


def mark_unfinished() -> None:
    """What is made from now on counts only after `mark_whole`. Raises OSError."""
    _mark().touch()
    scratch().mkdir(exist_ok=True)


def mark_whole() -> None:
    """It was made, and tried. Raises OSError."""
    shutil.rmtree(scratch(), ignore_errors=True)
    _mark().unlink()


def scratch() -> Path:
    """For temporary files, while it is being made: several gigabytes, for which a system's own folder may be small."""
    return paths.exporter_folder() / "tmp"


def put_away() -> None:
    """Take what is there out of the way, at once; `sweep` removes it. Raises OSError."""
    folder = paths.exporter_folder()
    if folder.exists():
        away = tempfile.mkdtemp(prefix=_AWAY, dir=folder.parent)
        folder.rename(Path(away) / folder.name)


def sweep(go_on: Callable[[], bool]) -> None:
    """Remove what was put away, as long as `go_on` says so; what cannot be removed stays for the next time."""
    for away in paths.data_folder().glob(f"{_AWAY}*"):
        for folder, _, _ in os.walk(away, topdown=False):
            if not go_on():
                return
            shutil.rmtree(folder, ignore_errors=True)


def is_abandoned() -> bool:
    """Whether one was begun and not ended; ask only where none is being made."""
    return _mark().exists()


def has_remains() -> bool:
    """Whether `sweep` has something to do."""
    return any(paths.data_folder().glob(f"{_AWAY}*"))


def _mark() -> Path:
    return paths.exporter_folder() / _UNFINISHED
