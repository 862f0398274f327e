"""The folders that Headstart keeps things in: rights and free room. Creates none."""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from headstart import paths
from headstart.doctor.finding import Finding, Section
from headstart.engine.room import amount

_HERE = Section("folders")
_FOLDERS: Mapping[str, Callable[[], Path]] = {
    "models": paths.models_folder,
    "chats": paths.history_folder,
    "measurements": paths.measurements_folder,
    "settings": paths.config_folder,
    "cache": paths.cache_folder,
    "logs": paths.logs_folder,
}
_TIGHT, _FULL = 2_000_000_000, 50_000_000  # bytes: below a small model and its export; below what a chat history takes


def check() -> Iterator[Finding]:
    """One finding each, and one more where others can read the chats."""
    for name, folder in _FOLDERS.items():
        yield _folder(name, folder())
    yield from _private(paths.history_folder())


def _folder(name: str, folder: Path) -> Finding:
    present = _nearest(folder)
    where = f"{name}: {folder}"
    if not present.is_dir():
        return _HERE.problem(f"{where} cannot be made: {present} is a file.", "Move that file away.")
    if not os.access(present, os.R_OK | os.W_OK | os.X_OK):
        return _HERE.problem(
            f"{where} cannot be written: {present} does not let you.",
            "Give yourself the right to write there, or set HEADSTART_HOME to a folder of yours.",
        )
    free = shutil.disk_usage(present).free
    text = f"{where}, {'writable' if present == folder else 'not made yet'}, {amount(free)} free"
    if free < _FULL:
        return _HERE.problem(f"{text}: nothing can be saved soon.", "Free some room on this disk.")
    if free < _TIGHT and name == "models":
        return _HERE.note(f"{text}: little for a model.", "Free some room, or set HEADSTART_HOME to another disk.")
    return _HERE.ok(f"{text}.")


def _private(history: Path) -> Iterator[Finding]:
    if sys.platform == "win32":  # rights are kept in another way there
        return
    if history.is_dir() and history.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        yield _HERE.note("Other users of this computer may list the folder of your chats.", f"chmod 700 {history}")


def _nearest(folder: Path) -> Path:
    """The folder itself or, before it is made, the first one above it that exists."""
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)
