"""Reproducible builds, and checks of their results: times, permissions, checksums, sizes."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"


def settle(folder: Path, epoch: int) -> None:
    """Give everything in `folder` the same time, and permissions that do not depend on the umask."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            is_executable = path.is_dir() or (os.access(path, os.X_OK) and not _is_library(path))
            path.chmod(0o755 if is_executable else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def write_sums(folder: Path, names: Iterable[str]) -> Path:
    """Write SHA256SUMS in `folder`: the sums of these files, and of the files that it listed and that still exist."""
    sums = folder / SUMS
    lines_before = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    wanted = {*names, *(line.split(maxsplit=1)[1] for line in lines_before)}
    lines = [f"{digest(folder / name)}  {name}\n" for name in sorted(wanted) if (folder / name).is_file()]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def digest(path: Path) -> str:
    """Return the SHA-256 in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def size_report(folder: Path, rows: int = 20) -> str:
    """Return lines for people: the largest files, the other ones and the sum, in MB of a million bytes."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    by_size = sorted(((path.stat().st_size, path.relative_to(folder).as_posix()) for path in files), reverse=True)
    lines = [f"{size / 1e6:7.1f} MB  {name}" for size, name in by_size[:rows]]
    if smaller := by_size[rows:]:
        lines.append(f"{sum(size for size, _ in smaller) / 1e6:7.1f} MB  {len(smaller)} smaller files")
    return "\n".join([*lines, f"{sum(size for size, _ in by_size) / 1e6:7.1f} MB  in all"])


def _is_library(path: Path) -> bool:
    return ".so" in path.suffixes
