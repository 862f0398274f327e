"""A temporary folder beside the place of the result, moved into place at the end. Knows nothing of models.

A process that dies leaves its folder behind; the next export into the same place removes it. Where the death fell
between taking the old result away and moving the new one in, the old one is put back first.
"""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.errors import ExportError

PREFIX = ".headstart-export-"
OWNER_FILE = "owner.json"


@dataclass(frozen=True)
class Workspace:
    """`root` holds `result` (which becomes the output) and `scratch` (intermediate files)."""

    root: Path
    output: Path

    @property
    def result(self) -> Path:
        """Where the model folder grows."""
        return self.root / "result"

    @property
    def scratch(self) -> Path:
        """Where anything else may be written."""
        return self.root / "scratch"

    @property
    def replaced(self) -> Path:
        """Where the old output waits while the new one moves in."""
        return self.root / "replaced"

    def move_into_place(self) -> None:
        """Make the result the output; an older output goes only now."""
        _sync(self.result)
        try:
            if self.output.exists():
                self.output.rename(self.replaced)
            self.result.rename(self.output)
        except PermissionError:  # Windows, while a program has a file of it open
            raise ExportError(f"{self.output} is in use; close what uses it and run the command again.") from None


@contextlib.contextmanager
def opened(output: Path, *, replace: bool) -> Iterator[Workspace]:
    """A fresh workspace for `output`, gone at the end whatever happens. Raises ExportError where it may not be."""
    output = output.absolute()
    clean_leftovers(output)
    refuse_existing(output, replace=replace)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{output.name}-", dir=output.parent))
    except OSError as error:
        raise ExportError(
            f"{output.parent} cannot be written to ({error.strerror}); choose another --output."
        ) from None
    workspace = Workspace(root, output)
    try:
        _sign(root)
        workspace.result.mkdir()
        workspace.scratch.mkdir()
        with _temporary_files_in(workspace.scratch):
            yield workspace
    finally:
        _remove(workspace)


def refuse_existing(output: Path, *, replace: bool) -> None:
    """Raise ExportError when something is there that may not be replaced: anything but an older export, if asked."""
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / manifest.FILE_NAME).is_file():
        raise ExportError(
            f"{output} exists and is not an exported model, so it is not replaced; choose another --output."
        )
    if not replace:
        raise ExportError(f"{output} exists already; add --force to replace it, or choose another --output.")


def clean_leftovers(output: Path) -> None:
    """Remove the workspaces of dead processes for this output."""
    for root in output.parent.glob(f"{PREFIX}{output.name}-*"):
        if not _owner_lives(root):
            _remove(Workspace(root, output))


def _remove(workspace: Workspace) -> None:
    if workspace.replaced.exists() and not workspace.output.exists():
        workspace.replaced.rename(workspace.output)
    shutil.rmtree(workspace.root, ignore_errors=True)


def _sign(root: Path) -> None:
    owner = {"pid": os.getpid(), "started": _start_time(os.getpid())}
    (root / OWNER_FILE).write_text(json.dumps(owner), encoding="utf-8")


def _owner_lives(root: Path) -> bool:
    try:
        owner = json.loads((root / OWNER_FILE).read_text(encoding="utf-8"))
        return bool(_start_time(owner["pid"]) == owner["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _start_time(pid: int) -> float | None:
    """Tells a process from a later one with the same number; -1 when there is no such process."""
    import psutil  # noqa: PLC0415

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return -1.0


@contextlib.contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Libraries put gigabytes into `tempfile`'s folder, which may be a small disk of its own."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _sync(folder: Path) -> None:
    """Ask for the files to reach the disk before they get their final name."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("r+b") as stream:  # Windows syncs only what may be written
                os.fsync(stream.fileno())
