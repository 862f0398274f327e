"""How large a folder is and what of it is largest. Pure but for reading sizes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Part:
    """A file, in bytes."""

    size: int
    name: str


def parts(folder: Path) -> list[Part]:
    """Every file but links, the largest first."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted((Part(path.stat().st_size, path.relative_to(folder).as_posix()) for path in files), reverse=True)


def table(found: Iterable[Part], rows: int = 20) -> str:
    """Lines for people: the largest, the rest and the sum, in MB of a million bytes."""
    everything = list(found)
    shown, rest = everything[:rows], everything[rows:]
    lines = [f"{part.size / 1e6:7.1f} MB  {part.name}" for part in shown]
    if rest:
        lines.append(f"{sum(part.size for part in rest) / 1e6:7.1f} MB  {len(rest)} smaller files")
    lines.append(f"{sum(part.size for part in everything) / 1e6:7.1f} MB  in all")
    return "\n".join(lines)
