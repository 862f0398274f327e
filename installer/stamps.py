"""Makes builds repeatable and their results checkable: times, rights, checksums. Knows no package format."""

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


def _is_library(path: Path) -> bool:
    return ".so" in path.suffixes
