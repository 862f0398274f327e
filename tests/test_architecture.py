"""The rules of app/README.md, checked over the sources and in fresh interpreters."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests import source_tree
from tests.source_tree import Module, imports, inside

APP = source_tree.modules("headstart")
EXPORT = source_tree.modules("headstart_export")
PRODUCT = APP + EXPORT
EVERYTHING = PRODUCT + source_tree.modules("installer") + source_tree.modules("tests")

OPENVINO = ("openvino", "openvino_genai", "openvino_tokenizers")
EXPORT_ONLY = ("headstart_export", "torch", "transformers", "optimum", "nncf")
SHARED = ("headstart.manifest", "headstart.errors", "headstart.paths", "headstart.vocabulary", "headstart.__version__")
PARTS = ("headstart.engine", "headstart.chat", "headstart.server", "headstart.library")
JOINTS = ("headstart.cli", "headstart.terminal", "headstart.ui", "headstart.__main__")
PROTOCOL = ("headstart.engine.engine", "headstart.engine.likelihood")
PURE = ("policy", "books", "costs", "calibration", "ledger", "stopping", "estimate", "rounds", "sampling", "noise")
PURE_ENGINE = {f"headstart.engine.{name}" for name in PURE}
PURE_TEXT = {
    f"headstart.ui.{name}"
    for name in ("markdown", "markdown_inline", "markdown_parser", "mathematics", "math_symbols", "blocks")
}
PURE_MODULES = PURE_ENGINE | PURE_TEXT | {"headstart.chat.conversation"}
CATCH_ALL = {"headstart.engine.host": 1, "headstart.__main__": 1}  # the host's message loop, the top-level hook
VAGUE_NAMES = {"utils", "util", "misc", "common", "core", "helpers", "helper"}

Rule = Callable[[Module], Iterable[str]]


def only_ui_imports_qt(module: Module) -> Iterable[str]:
    """Rule 1, first half."""
    return [] if module.is_in("headstart.ui") else _imported(module, ("PySide6",))


def only_engine_imports_openvino(module: Module) -> Iterable[str]:
    """Rule 1, second half; the exporter has its own door."""
    return _imported(module, OPENVINO) if module.is_in("headstart") and not module.is_in("headstart.engine") else []


def parts_do_not_import_each_other(module: Module) -> Iterable[str]:
    """Rule 2; the server may know the engine's protocol."""
    home = next((part for part in PARTS if module.is_in(part)), None)
    if home is None:
        return []
    strangers = _imported(module, [*(part for part in PARTS if part != home), *JOINTS])
    known = PROTOCOL if home == "headstart.server" else ()
    return [name for name in strangers if not any(inside(name, part) for part in known)]


def app_does_not_import_the_exporter(module: Module) -> Iterable[str]:
    """Rule 3, first half."""
    return _imported(module, EXPORT_ONLY) if module.is_in("headstart") else []


def exporter_imports_only_what_is_shared(module: Module) -> Iterable[str]:
    """Rule 3, second half."""
    if not module.is_in("headstart_export"):
        return []
    # `import headstart` alone gives the version.
    names = [name for name in _imported(module, ("headstart",)) if name != "headstart"]
    return [name for name in names if not any(inside(name, shared) for shared in SHARED)]


def shared_modules_need_only_the_standard_library(module: Module) -> Iterable[str]:
    """Rule 3: what both sides import must load anywhere."""
    if module.name not in {"headstart.manifest", "headstart.vocabulary", "headstart.errors"}:
        return []
    return [name for name in imports(module) if not _is_standard(name) and not inside(name, "headstart.errors")]


def pure_modules_import_nothing_impure(module: Module) -> Iterable[str]:
    """Rule 5."""
    if module.name not in PURE_MODULES:
        return []
    allowed = ("numpy", "markdown_it", "headstart.errors", *PROTOCOL, *PURE_MODULES)
    return [name for name in imports(module) if not (_is_standard(name) or any(inside(name, a) for a in allowed))]


def catch_all_is_rare(module: Module) -> Iterable[str]:
    """`except Exception` hides our own bugs."""
    return ["catches everything"] if source_tree.broad_handlers(module) > CATCH_ALL.get(module.name, 0) else []


def names_say_something(module: Module) -> Iterable[str]:
    """No drawer for what has no place."""
    return [part for part in module.name.split(".") if part in VAGUE_NAMES]


def file_says_what_it_owns(module: Module) -> Iterable[str]:
    """The first line is a docstring of a sentence."""
    first = module.text.partition("\n")[0]
    sentence = (ast.get_docstring(module.tree) or "").partition("\n")[0]
    return [] if first.startswith('"""') and sentence.endswith((".", "?", "!")) else [f"begins with {first!r}"]


PRODUCT_RULES: tuple[Rule, ...] = (
    only_ui_imports_qt,
    only_engine_imports_openvino,
    parts_do_not_import_each_other,
    app_does_not_import_the_exporter,
    exporter_imports_only_what_is_shared,
    shared_modules_need_only_the_standard_library,
    pure_modules_import_nothing_impure,
    catch_all_is_rare,
)
RULES_FOR_ALL: tuple[Rule, ...] = (
    names_say_something,
    file_says_what_it_owns,
)


def _imported(module: Module, packages: Iterable[str]) -> list[str]:
    wanted = tuple(packages)
    return [name for name in imports(module) if any(inside(name, package) for package in wanted)]


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _broken(rule: Rule, modules: Iterable[Module]) -> dict[str, list[str]]:
    found = {module.name: list(rule(module)) for module in modules}
    return {name: faults for name, faults in found.items() if faults}


@pytest.mark.parametrize("rule", PRODUCT_RULES)
def test_the_product_keeps(rule: Rule) -> None:
    assert not _broken(rule, PRODUCT)


@pytest.mark.parametrize("rule", RULES_FOR_ALL)
def test_every_file_keeps(rule: Rule) -> None:
    assert not _broken(rule, EVERYTHING)


def test_the_pure_modules_are_where_the_rule_looks_for_them() -> None:
    assert {module.name for module in APP} >= PURE_ENGINE


PLANTED: tuple[tuple[Rule, str, str], ...] = (
    (only_ui_imports_qt, "headstart.library", "from PySide6.QtCore import QObject"),
    (only_ui_imports_qt, "headstart_export.cli", "import PySide6"),
    (only_engine_imports_openvino, "headstart.cli", "def f():\n    import openvino.runtime as ov"),
    (only_engine_imports_openvino, "headstart.cli", "importlib.import_module('openvino_genai')"),
    (parts_do_not_import_each_other, "headstart.engine.host", "from headstart import library"),
    (parts_do_not_import_each_other, "headstart.engine.host", "from ..chat.store import Store"),
    (parts_do_not_import_each_other, "headstart.server.api", "from headstart.engine.runner import Runner"),
    (parts_do_not_import_each_other, "headstart.chat.store", "from headstart.engine.engine import Message"),
    (parts_do_not_import_each_other, "headstart.engine.bench", "from headstart.cli import main"),
    (app_does_not_import_the_exporter, "headstart.cli", "import headstart_export.cli"),
    (app_does_not_import_the_exporter, "headstart.engine.runner", "from torch import nn"),
    (exporter_imports_only_what_is_shared, "headstart_export.cli", "from headstart.engine import runtime"),
    (shared_modules_need_only_the_standard_library, "headstart.manifest", "import platformdirs"),
    (pure_modules_import_nothing_impure, "headstart.engine.policy", "from headstart.engine import runner"),
    (pure_modules_import_nothing_impure, "headstart.engine.sampling", "from . import runtime"),
    (catch_all_is_rare, "headstart.cli", "try:\n    f()\nexcept (ValueError, Exception):\n    pass"),
    (catch_all_is_rare, "headstart.cli", "with contextlib.suppress(Exception):\n    f()"),
    (names_say_something, "headstart.engine.utils", ""),
    (file_says_what_it_owns, "headstart.cli", "import os"),
    (file_says_what_it_owns, "headstart.cli", '"""A title"""'),
)
INNOCENT: tuple[tuple[Rule, str, str], ...] = (
    (only_ui_imports_qt, "headstart.ui.sidebar", "from PySide6.QtCore import QObject"),
    (only_engine_imports_openvino, "headstart.engine.runtime", "import openvino"),
    (only_engine_imports_openvino, "headstart_export.convert", "import openvino"),
    (parts_do_not_import_each_other, "headstart.server.api", "from headstart.engine.engine import Engine"),
    (
        parts_do_not_import_each_other,
        "headstart.cli",
        "from headstart import library\nfrom headstart.engine import host",
    ),
    (exporter_imports_only_what_is_shared, "headstart_export.cli", "from headstart import manifest, paths"),
    (
        pure_modules_import_nothing_impure,
        "headstart.engine.policy",
        "import math\nimport numpy as np\nfrom . import costs",
    ),
    (catch_all_is_rare, "headstart.engine.host", "try:\n    f()\nexcept Exception:\n    pass"),
    (file_says_what_it_owns, "headstart.cli", '"""Owns the terminal. Knows no model."""'),
)


def _planted(name: str, text: str) -> Module:
    return Module(name, Path(*name.split(".")).with_suffix(".py"), text)


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED)
def test_a_planted_fault_is_found(rule: Rule, name: str, text: str) -> None:
    assert list(rule(_planted(name, text)))


@pytest.mark.parametrize(("rule", "name", "text"), INNOCENT)
def test_what_is_allowed_passes(rule: Rule, name: str, text: str) -> None:
    assert not list(rule(_planted(name, text)))


WATCH_IMPORTS = """
import importlib, json, logging, os, sys, threading
HEAVY = ("openvino", "openvino_genai", "torch", "transformers", "nncf", "PySide6")
before = dict(os.environ), sys.excepthook
for name in sys.argv[1:]:
    importlib.import_module(name)
loggers = [logging.root, *(logging.getLogger(n) for n in logging.root.manager.loggerDict if n.startswith("headstart"))]
print(json.dumps({
    "environment": dict(os.environ) == before[0],
    "hook": sys.excepthook is before[1],
    "handlers": [repr(handler) for logger in loggers for handler in logger.handlers],
    "threads": threading.active_count(),
    "heavy": [name for name in HEAVY if name in sys.modules],
}))
"""


@pytest.mark.parametrize("package", ["headstart", "headstart_export"])
def test_importing_every_module_does_nothing(package: str, tmp_path: Path) -> None:
    names = [module.name for module in source_tree.modules(package) if not module.is_in("headstart.ui")]
    found = _in_fresh_interpreter(WATCH_IMPORTS, tmp_path, *names)
    assert found == {"environment": True, "hook": True, "handlers": [], "threads": 1, "heavy": []}
    assert not list(tmp_path.rglob("*"))


WATCH_OPENVINO = """
import json, sys
seen = []
STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "subprocess.Popen"}
REACHES = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname"}
sys.addaudithook(lambda event, arguments: seen.append(event) if event in STARTS | REACHES else None)
from headstart.engine import runtime
module, genai = runtime.openvino(), runtime.openvino_genai()
import multiprocessing, psutil
print(json.dumps({
    "loaded": [module.__name__, genai.__name__],
    "telemetry": sorted(n for n, m in sys.modules.items() if n.startswith("openvino_telemetry") and m is not None),
    "seen": seen,
    "children": len(psutil.Process().children(recursive=True)),
}))
"""


def test_the_door_to_openvino_keeps_telemetry_out(tmp_path: Path) -> None:
    found = _in_fresh_interpreter(WATCH_OPENVINO, tmp_path)
    assert found == {"loaded": ["openvino", "openvino_genai"], "telemetry": [], "seen": [], "children": 0}
    assert not list(tmp_path.rglob("*"))


def _in_fresh_interpreter(script: str, home: Path, *arguments: str) -> dict[str, object]:
    """What `script` prints as JSON, run where the home and current folders are empty and nothing says "CI"."""
    variables = {name: value for name, value in os.environ.items() if name not in {"CI", "HEADSTART_HOME"}}
    variables |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=home, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found
