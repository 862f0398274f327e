"""The door to OpenVINO: a process that loaded and freed models still survives Ctrl+C."""

import subprocess
import sys
from pathlib import Path

from tests.source_tree import ROOT

SCRIPT = """
import gc, signal, sys
from pathlib import Path
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
target, draft = map(Path, sys.argv[1:])
first = load(LoadOptions(target, draft, context=128))
second = load(LoadOptions(target, context=128))
for engine in (first, second):
    engine.close()
    gc.collect()
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
signal.raise_signal(signal.SIGINT)
print(heard == [signal.SIGINT])
"""


def test_a_signal_is_heard_after_models_were_freed(tiny_target: Path, tiny_draft: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tiny_target), str(tiny_draft)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
