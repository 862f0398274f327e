"""Docstrings stand alone: none begins with a word that needs the name above it."""

import ast
import re

from tests.source.source_tree import ROOT

FRAGMENT = re.compile(r"(Of|Those|That|As|With|Where|What|Whether|Another|How)\b")
SUSPECT = re.compile(rf'"""\s*{FRAGMENT.pattern}')  # few files have one, and the others need not be parsed


def test_docstring_is_no_fragment() -> None:
    paths = [path for folder in ("app", "export", "installer", "tests") for path in (ROOT / folder).rglob("*.py")]
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}
    fragments = [
        f"{name}: {docstring.splitlines()[0]}"
        for name, text in texts.items()
        if SUSPECT.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and FRAGMENT.match(docstring := ast.get_docstring(node) or "")
    ]
    assert not fragments
