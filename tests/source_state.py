"""The state of sources, by which what is made of them is kept.

`python -m tests.source_state PLACE...` prints that of files and folders. It needs no other package.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SUFFIXES = (".py", ".toml", ".npy", ".safetensors")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def sources_of(root: Path, places: Iterable[str]) -> list[Path]:
    """Return the sources in these files and folders of a checkout."""
    found = [path for place in places for path in (root / place, *(root / place).rglob("*"))]
    return sorted(path for path in found if path.suffix in SUFFIXES)


@cache
def digest(path: Path) -> bytes:
    """Return a hash of a file. Comments, docstrings and layout do not change that of a Python file."""
    content = path.read_bytes()
    if path.suffix == ".py":
        tree = ast.parse(content)
        for node in ast.walk(tree):
            if isinstance(node, Documented) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        content = ast.dump(tree).encode()
    return hashlib.sha256(content).digest()


if __name__ == "__main__":
    state = hashlib.sha256()
    for source in sources_of(Path(), sys.argv[1:]):
        state.update(source.as_posix().encode() + digest(source))
    print(state.hexdigest()[:16])
