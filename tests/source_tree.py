"""The project's Python sources as syntax trees, for the tests of the architecture. Runs none of them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = {"headstart": ROOT / "app", "headstart_export": ROOT / "export", "installer": ROOT, "tests": ROOT}


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, where it lies and what it says."""

    name: str
    path: Path
    text: str

    @property
    def tree(self) -> ast.Module:
        """The parsed file."""
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        """The dotted package that relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    def is_in(self, package: str) -> bool:
        """Whether this is `package` or lies inside it."""
        return inside(self.name, package)


def inside(name: str, package: str) -> bool:
    """Whether the dotted `name` is `package` or lies inside it."""
    return name == package or name.startswith(package + ".")


def modules(package: str) -> list[Module]:
    """Every module of a top-level package of this project."""
    return read_modules(SOURCE_ROOTS[package], package)


def read_modules(root: Path, package: str) -> list[Module]:
    """Every module of `package`, whose folder lies in `root`."""
    return [
        Module(_dotted(path.relative_to(root)), path, path.read_text(encoding="utf-8"))
        for path in sorted((root / package).rglob("*.py"))
    ]


def imports(module: Module) -> Iterator[str]:
    """Dotted names of all that a module imports, wherever it does: `from a import b` gives "a.b"."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            yield from _imported_by_call(node)


def broad_handlers(module: Module) -> int:
    """How often a module catches everything: `except Exception`, a bare `except`, `suppress(Exception)`."""
    broad = 0
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler):
            broad += node.type is None or _names_everything(node.type)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            broad += any(_names_everything(argument) for argument in node.args)
    return broad


def _names_everything(node: ast.expr) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"} for name in names)


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    base = module.package.split(".")
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _imported_by_call(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    if called.endswith("import_module") or called == "__import__":
        yield from (str(argument.value) for argument in node.args[:1] if isinstance(argument, ast.Constant))
