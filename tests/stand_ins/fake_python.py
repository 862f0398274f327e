"""Stands in for a Python on the PATH, and for the Pythons of the environments that it makes. Fetches nothing.

Run as a program it reads what is to go wrong from `FAKE_PYTHON`: JSON, see `Plan`.
"""

import dataclasses
import json
import os
import shutil
import sys
import time
from pathlib import Path

PIP = """Processing /opt/headstart/exporter/headstart-0.1.0-py3-none-any.whl
Collecting torch==2.13.0
  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (104.1 MB)
Progress 26 of 104
Installing collected packages: nncf, torch, headstart"""

# What the environment gets in the place of the exporter: it makes the model that it is told to.
EXPORTER = """#!{python}
import os, sys
from pathlib import Path
from tests.stand_ins.model_folders import write_model
print("Fetching", *sys.argv[1:], "...", file=sys.stderr, flush=True)
print(write_model(Path(os.environ["HEADSTART_HOME"]) / "models" / sys.argv[1]))
"""


@dataclasses.dataclass(frozen=True)
class Plan:
    """A fake Python and its behaviour. `says`, `code`: pip's output and exit code."""

    version: tuple[int, int, int] = (3, 11, 2)
    pip: str = "24.1"
    says: str = ""
    code: int = 0
    venv_says: str = ""
    trial_says: str = ""
    waits: str = ""  # a file that pip writes its number to before it waits to be ended


def put(folder: Path) -> None:
    """Install it in a folder as `python3`."""
    folder.mkdir()
    program = folder / "python3"
    program.write_text(f"#!{sys.executable} -IS\n" + Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    program.chmod(0o755)


def main(words: list[str]) -> None:
    """Act like a Python with these arguments."""
    plan = Plan(**json.loads(os.environ["FAKE_PYTHON"]))
    if "venv" in words:
        _fail(plan.venv_says)
        (bin_ := Path(words[-1]) / "bin").mkdir(parents=True)
        shutil.copy(sys.argv[0], bin_ / "python")
    elif "pip" in words:
        _install(plan)
    elif "ensurepip" in words[-1]:
        print(json.dumps([sys.argv[0], plan.version, plan.pip, True]))
    else:
        _fail(plan.trial_says)


def _install(plan: Plan) -> None:
    print(PIP, flush=True)
    exporter = Path(sys.argv[0]).with_name("headstart-export")
    exporter.write_text(EXPORTER.format(python=sys.executable), encoding="utf-8")
    exporter.chmod(0o755)
    if plan.waits:
        Path(plan.waits).write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)
    print(plan.says, flush=True)
    sys.exit(plan.code)


def _fail(words: str) -> None:
    if words:
        sys.exit(words)


if __name__ == "__main__":
    main(sys.argv[1:])
