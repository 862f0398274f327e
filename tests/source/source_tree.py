"""The project's Python sources as syntax trees. Runs none of them."""

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = {"headstart": ROOT / "app", "headstart_export": ROOT / "export"}


@dataclass(frozen=True)
class Module:
    """A file: its dotted name, its path and its text."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text)

    def is_in(self, package: str) -> bool:
        """Return whether this is `package` or lies inside it."""
        return self.name == package or self.name.startswith(package + ".")


@cache
def modules(package: str) -> tuple[Module, ...]:
    """Every module of a top-level package of this project."""
    root = SOURCE_ROOTS[package]
    return tuple(
        Module(_dotted(path.relative_to(root)), path, path.read_text(encoding="utf-8"))
        for path in sorted((root / package).rglob("*.py"))
    )


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
