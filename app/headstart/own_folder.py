"""Folders and files that only their owner may look into."""

import os
import tempfile
from pathlib import Path


def make(folder: Path) -> None:
    """The folder, and whatever is missing above it; one that is there stays as it is. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises where a file is in the way


def write(path: Path, content: str | bytes) -> None:
    """A file in its folder, whole or not at all: prompts and keys are private. Raises OSError."""
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
