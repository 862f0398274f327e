"""Effects of importing, in fresh interpreters. pyproject.toml says which module may import which."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source import source_tree

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


# What is made of classes of Qt or torch cannot be without them.
MADE_OF_OTHERS = (
    "headstart.ui",
    "headstart_export.heads.network",
    "headstart_export.heads.training",
)


@pytest.mark.parametrize("package", ["headstart", "headstart_export"])
def test_imports_have_no_effect(package: str, tmp_path: Path) -> None:
    names = [each.name for each in source_tree.modules(package) if not any(map(each.is_in, MADE_OF_OTHERS))]
    found = _in_fresh_interpreter(WATCH_IMPORTS, tmp_path, *names)
    assert found == {"environment": True, "hook": True, "handlers": [], "threads": 1, "heavy": []}
    assert not list(tmp_path.rglob("*"))


WATCH_OPENVINO = """
import json, sys
seen = []
STARTS = {"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "subprocess.Popen"}
REACHES = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname"}
sys.addaudithook(lambda event, arguments: seen.append(event) if event in STARTS | REACHES else None)
from headstart.engine.hardware import runtime
module, genai = runtime.openvino(), runtime.openvino_genai()
import multiprocessing, psutil
print(json.dumps({
    "loaded": [module.__name__, genai.__name__],
    "telemetry": sorted(n for n, m in sys.modules.items() if n.startswith("openvino_telemetry") and m is not None),
    "seen": seen,
    "children": len(psutil.Process().children(recursive=True)),
}))
"""


def test_runtime_import_keeps_telemetry_out(tmp_path: Path) -> None:
    found = _in_fresh_interpreter(WATCH_OPENVINO, tmp_path)
    assert found == {"loaded": ["openvino", "openvino_genai"], "telemetry": [], "seen": [], "children": 0}
    assert not list(tmp_path.rglob("*"))


def _in_fresh_interpreter(script: str, home: Path, *arguments: str) -> dict[str, object]:
    """Return what `script` prints as JSON, run where the home and current folders are empty and nothing says "CI"."""
    variables = {name: value for name, value in os.environ.items() if name not in {"CI", "HEADSTART_HOME"}}
    variables |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=home, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found
