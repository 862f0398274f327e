"""Import of a model folder that was exported elsewhere: complete and verified, or not at all."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import psutil

from headstart import paths, private_files
from headstart.errors import BrokenModelError, ExportError, NotEnoughSpaceError, SettingsError
from headstart.library import library, manifest
from headstart.library.library import Model, Pair

_CHUNK = 8 * 2**20  # bytes copied between two calls of `go_on`
_PREFIX = ".incoming-"
_SLACK = 64 * 2**20  # bytes that stay free on the disk

GoOn = Callable[[int, int], bool]  # gets the bytes done and their total; False stops


class Stopped(Exception):  # noqa: N818 - stopping is not an error
    """`go_on` returned False; nothing was kept."""


@dataclass(frozen=True)
class _File:
    source: Path
    place: PurePosixPath  # in the new folder
    sha256: str | None  # None: of a manifest
    size: int


def import_model(folder: Path, go_on: GoOn, name: str | None = None) -> str:
    """Copy a model or a pair into the library, verify its hashes, and return its name there.

    `name`: another name than the folder's. Raises BrokenModelError, ExportError (NotEnoughSpaceError), SettingsError if
    the name is taken, Stopped.
    """
    root, folder = paths.models_folder(), folder.absolute()
    files = _files(folder)
    if folder.parent == root.resolve() and name is None:
        raise SettingsError("{folder} is installed already; it lies in the folder of the models.", folder=folder.name)
    name = folder.name if name is None else name
    library.require_new(name, root)
    sweep(root)
    _require_room(folder, root, sum(file.size for file in files))
    try:
        private_files.make(root)
        with tempfile.TemporaryDirectory(
            prefix=f"{_PREFIX}{os.getpid()}-", dir=root, ignore_cleanup_errors=True
        ) as incoming:
            copied = Path(incoming) / name
            _copy(files, copied, go_on)
            copied.rename(root / name)
    except OSError as error:
        raise ExportError(
            "{folder} cannot be copied to {root} ({strerror}); nothing was kept.",
            folder=folder,
            root=root,
            strerror=error.strerror,
        ) from None
    return name


def sweep(root: Path) -> None:
    """Remove the remains of copies that a killed program left among the models."""
    for left in root.glob(f"{_PREFIX}*"):
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        if not (pid.isdecimal() and psutil.pid_exists(int(pid))):
            shutil.rmtree(left, ignore_errors=True)


def sizes(folder: Path) -> tuple[str, int]:
    """Return name and bytes of the files that `import_model` would copy. Raises BrokenModelError."""
    return folder.absolute().name, sum(file.size for file in _files(folder))


def check(entry: Model | Pair, go_on: GoOn) -> list[str]:
    """Return part of a sentence for each file of an installed entry that differs from its hash. Raises Stopped."""
    files = [file for file in _files(entry.folder) if file.sha256]
    faults, digest = [], _digesting(files, go_on)
    for file in files:
        try:
            if digest(file) != file.sha256:
                faults.append(f"{file.place} does not have the content it was exported with")
        except OSError as error:
            faults.append(f"{file.place} cannot be read ({error.strerror})")
    return faults


def _files(folder: Path) -> list[_File]:
    folder = folder.resolve()  # a link in the library is as good as a folder
    entry = library.find(str(folder))
    models = (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)
    found = [_listed(model, folder, name) for model in models for name in model.manifest.files]
    heads = filter(None, (manifest.head_folder(model.folder) for model in models))
    folders = {entry.folder, *(model.folder for model in models), *heads}
    manifests = sorted(each / manifest.FILE_NAME for each in folders)
    return found + [_File(path, _place(path, folder), None, path.stat().st_size) for path in manifests]


def _listed(model: Model, folder: Path, name: str) -> _File:
    """Return a file of the manifest. A name that leads out of the folder is refused."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise BrokenModelError(
            "{model} is damaged: {name!r} is not one of its files; export it again.", model=model.name, name=name
        )
    listed = model.manifest.files[name]
    return _File(model.folder / path, _place(model.folder / path, folder), listed.sha256, listed.size)


def _place(path: Path, folder: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(folder).as_posix())


def _require_room(folder: Path, root: Path, size: int) -> None:
    present = next(place for place in (root, *root.parents) if place.exists())
    free = shutil.disk_usage(present).free - _SLACK
    if size > free:
        raise NotEnoughSpaceError(
            "{folder} needs {wanted} of disk space at {root}, but only {free} is free; make room and add it again.",
            folder=folder.name,
            wanted=_amount(size),
            root=root,
            free=_amount(max(free, 0)),
        )


def _copy(files: list[_File], into: Path, go_on: GoOn) -> None:
    digest = _digesting(files, go_on)
    for file in files:
        place = into / file.place
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as out:
            found = digest(file, out)
        if file.sha256 and found != file.sha256:
            raise BrokenModelError(
                "{place} does not have the content it was exported with; copy the folder again, or export again.",
                place=file.place,
            )


def _digesting(files: list[_File], go_on: GoOn) -> Callable[..., str]:
    """Copy the files into `out`, if given, and return their hashes."""
    done, total = 0, sum(file.size for file in files)

    def digest(file: _File, out: BinaryIO | None = None) -> str:
        nonlocal done
        found = hashlib.sha256()
        with file.source.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                if out:
                    out.write(chunk)
                found.update(chunk)
                done += len(chunk)
                if not go_on(done, total):
                    raise Stopped
        return found.hexdigest()

    return digest


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
