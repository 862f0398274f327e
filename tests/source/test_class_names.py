"""One word, one thing: no two public classes of the product share a name."""

import re
from collections import defaultdict

from tests.source.source_tree import SOURCE_ROOTS, modules


def test_class_name_is_taken_once() -> None:
    places = defaultdict[str, list[str]](list)
    for module in (module for package in SOURCE_ROOTS for module in modules(package)):
        for name in re.findall(r"^ *class ([A-Za-z]\w*)[(:\[]", module.text, re.MULTILINE):
            places[name].append(module.name)
    assert not {name: where for name, where in places.items() if len(where) > 1}
