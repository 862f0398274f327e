"""One word, one thing: no two public classes of the product share a name."""

import ast
from collections import defaultdict

from tests.source.source_tree import SOURCE_ROOTS, modules


def test_class_name_is_taken_once() -> None:
    places = defaultdict[str, list[str]](list)
    for module in (module for package in SOURCE_ROOTS for module in modules(package)):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    assert not {name: where for name, where in places.items() if len(where) > 1}
