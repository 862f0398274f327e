"""Repeatable builds and checks of their results: times, rights, checksums, sizes."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"


def settle(folder: Path, epoch: int) -> None:
    """Give everything in `folder` the same time, and rights that depend on nobody's umask."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            runs = path.is_dir() or (os.access(path, os.X_OK) and not _is_library(path))
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def write_sums(folder: Path, names: Iterable[str]) -> Path:
    """SHA256SUMS in `folder`, for `sha256sum --check`: of these files, and of those it had that are still there."""
    sums = folder / SUMS
    known = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    wanted = {*names, *(line.split(maxsplit=1)[1] for line in known)}
    lines = [f"{digest(folder / name)}  {name}\n" for name in sorted(wanted) if (folder / name).is_file()]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def digest(path: Path) -> str:
    """SHA-256, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sizes(folder: Path, rows: int = 20) -> str:
    """Lines for people: the largest files, the rest and the sum, in MB of a million bytes."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    found = sorted(((path.stat().st_size, path.relative_to(folder).as_posix()) for path in files), reverse=True)
    lines = [f"{size / 1e6:7.1f} MB  {name}" for size, name in found[:rows]]
    if rest := found[rows:]:
        lines.append(f"{sum(size for size, _ in rest) / 1e6:7.1f} MB  {len(rest)} smaller files")
    return "\n".join([*lines, f"{sum(size for size, _ in found) / 1e6:7.1f} MB  in all"])


def _is_library(path: Path) -> bool:
    return ".so" in path.suffixes
