"""Makes folders that only their owner may look into. Knows not what is put there."""

from pathlib import Path


def make(folder: Path) -> None:
    """The folder, and whatever is missing above it; one that is there stays as it is. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # raises where a file is in the way
