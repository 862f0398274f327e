"""Working folders of exports, beside their results; a killed export leaves its folder behind."""

import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

PREFIX = ".headstart-export-"
OWNER_FILE = "owner.json"
_NEW_SECONDS = 60


@dataclass(frozen=True)
class Unfinished:
    """A working folder. Its name is the prefix, the result's name, and letters of `tempfile` without a dash."""

    root: Path

    @property
    def output(self) -> Path:
        """The place of the result."""
        return self.root.with_name(self.root.name.removeprefix(PREFIX).rpartition("-")[0])

    @property
    def replaced(self) -> Path:
        """The place of an older result while the new one moves in."""
        return self.root / "replaced"

    def own(self) -> None:
        """Note that this process works in the folder."""
        owner = {"pid": os.getpid(), "started": _start_time(os.getpid())}
        (self.root / OWNER_FILE).write_text(json.dumps(owner), encoding="utf-8")

    @property
    def owner(self) -> int | None:
        """The number of the process that works in the folder; None if that has ended."""
        try:
            owner = json.loads((self.root / OWNER_FILE).read_text(encoding="utf-8"))
            return int(owner["pid"]) if _start_time(owner["pid"]) == owner["started"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def is_abandoned(self) -> bool:
        """The process has ended. One that has just made the folder may not have noted yet that it works there."""
        if (self.root / OWNER_FILE).exists():
            return self.owner is None
        try:
            return time.time() - self.root.stat().st_mtime > _NEW_SECONDS
        except FileNotFoundError:
            return False

    def remove(self) -> None:
        """Delete the folder. An older result that was being replaced goes back to its place."""
        if self.replaced.exists() and not self.output.exists():
            self.replaced.rename(self.output)
        shutil.rmtree(self.root, ignore_errors=True)


def found(folder: Path) -> list[Unfinished]:
    """Return the working folders in a folder, by name."""
    return [Unfinished(root) for root in sorted(folder.glob(f"{PREFIX}*-*")) if root.is_dir()]


def _start_time(pid: int) -> float | None:
    """Return the start time of a process, which tells it from a later one of the same number; -1: no such process."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return -1.0
