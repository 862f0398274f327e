"""Folders and files that only their owner may read."""

import os
import tempfile
from pathlib import Path
from typing import TextIO


def make(folder: Path) -> None:
    """Make a folder and its missing parents; an existing one keeps its rights. Raises OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises where a file is in the way


def write(path: Path, content: str | bytes) -> None:
    """Write a private file atomically. Raises OSError."""
    make(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # with mode 0600
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def appending(path: Path) -> TextIO:
    """Open a private file to add lines to it. Raises OSError."""
    return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))
