"""`python -m tests`: format, lint and imports, stopping at the first that fails, then types beside the tests.

`python -m tests --fast` runs the tests of engine and library that load no model and try few inputs.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QT = ["-c", "import PySide6.QtWidgets"]
NO_QT = "The tests of the window need Qt's system libraries; on Debian: {install}"
INSTALL = "apt-get install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as lint_imports; lint_imports()"
CHECKS = (
    ["-m", "ruff", "format", "--check"],
    ["-m", "ruff", "check"],
    ["-c", LINT_IMPORTS, "--no-logo", "--no-cache"],  # it has no module to run
)
TYPES = ["-m", "mypy", "--strict"]
TESTS = ["-m", "pytest", "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"]
FAST_FLAG = "--fast"
FAST = [*TESTS, "-m", "not (model or fuzz)", "tests/engine", "tests/library"]


def main(arguments: list[str]) -> int:
    """Run the checks. Return the exit code of the first that fails, or 0. `arguments` go to pytest."""
    if subprocess.run([sys.executable, *QT], check=False).returncode:
        print(NO_QT.format(install=INSTALL), file=sys.stderr)
        return 1
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of some hundred processes would compile what it imports
    # Tests wait, too, and each worker is bound to one processor: with three, one of two processors would rest often.
    os.environ.setdefault("PYTEST_XDIST_AUTO_NUM_WORKERS", str(2 * (os.cpu_count() or 1)))
    for check in CHECKS:
        print(_shown(check), flush=True)
        code = subprocess.run([sys.executable, *check], cwd=ROOT, check=False).returncode
        if code:
            return code
    further = [argument for argument in arguments if argument != FAST_FLAG]
    tests = [*(FAST if FAST_FLAG in arguments else TESTS), *further]
    print(_shown(tests), flush=True)
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as found,  # printed below the tests, not amid them
        subprocess.Popen([sys.executable, *TYPES], cwd=ROOT, stdout=found, stderr=subprocess.STDOUT) as types,
    ):
        code = subprocess.run([sys.executable, *tests], cwd=ROOT, check=False).returncode
        types.wait()
        found.seek(0)
        print(_shown(TYPES), found.read(), sep="\n", end="", flush=True)
    return code or types.returncode


def _shown(command: list[str]) -> str:
    return f"$ {shlex.join(['python', *command])}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
