"""Puts an exported model into the frozen program."""

import shutil
from pathlib import Path

from headstart import library, manifest
from headstart.errors import HeadstartError
from headstart.manifest import Manifest


class NoSuchModelError(HeadstartError):
    """The model that a package should bring is not here."""


def find(wanted: str) -> library.Model | library.Pair:
    """The folder at this path, or the one installed model whose name begins so. Raises HeadstartError."""
    entries = [entry for entry in library.installed() if entry.name.startswith(wanted)]
    if Path(wanted).is_dir() or any(entry.name == wanted for entry in entries):
        return library.find(wanted if not Path(wanted).is_dir() else str(Path(wanted).resolve()))
    if len(entries) != 1:
        found = f"several begin so: {', '.join(entry.name for entry in entries)}" if entries else "none is installed"
        raise NoSuchModelError(f"There is no one model {wanted!r} ({found}); export it with headstart-export first.")
    return library.find(entries[0].name)


def put(wanted: str, models: Path) -> list[Manifest]:
    """Copy the model into the folder `models` and compare every file with its hash. Returns what was copied."""
    entry = find(wanted)
    parts = [entry.target, entry.draft] if isinstance(entry, library.Pair) else [entry]
    for part in parts:
        faults = manifest.damaged_files(part.folder, part.manifest, hashes=True)
        if faults:
            raise NoSuchModelError(f"{part.name} is damaged ({'; '.join(faults)}); export it again.")
    shutil.copytree(entry.folder, models / entry.folder.name)
    return [part.manifest for part in parts]
