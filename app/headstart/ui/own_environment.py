"""The exporter's own Python environment in the data folder: whether it is whole, and its removal. Runs nothing."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from headstart import own_folder, paths

PROGRAM = "headstart-export"
_UNFINISHED = "unfinished"  # inside, as long as what is there is not to be used
_AWAY = "exporter-removed-"  # beside it: what could not be removed at once, as there are many files


def program(name: str) -> Path:
    """Where a program of the environment is, or would be."""
    folder, ending = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    return paths.exporter_folder() / folder / f"{name}{ending}"


def is_whole() -> bool:
    """Whether it can be used: made to its end, and the Python that it was made with is still there."""
    return program(PROGRAM).is_file() and program("python").is_file() and not _mark().exists()


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
