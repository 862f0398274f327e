"""`python -m tests`: format, lint, types, imports, tests, in this order, stopping at the first that fails."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QT = ["-c", "import PySide6.QtWidgets"]
NO_QT = "The tests of the window need Qt's system libraries; on Debian: {install}"
INSTALL = "apt-get install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0"
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as lint_imports; lint_imports()"
CHECKS = (
    ["-m", "ruff", "format", "--check"],
    ["-m", "ruff", "check"],
    ["-m", "mypy", "--strict"],
    ["-c", LINT_IMPORTS, "--no-logo", "--no-cache"],  # it has no module to run
    ["-m", "pytest", "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"],
)


def main(arguments: list[str]) -> int:
    """The exit code of the first check that fails, or 0; `arguments` go to pytest."""
    if subprocess.run([sys.executable, *QT], check=False).returncode:
        print(NO_QT.format(install=INSTALL), file=sys.stderr)
        return 1
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each of some hundred processes would compile what it imports
    os.environ.setdefault("PYTEST_XDIST_AUTO_NUM_WORKERS", str((os.cpu_count() or 1) + 1))  # tests wait, too
    for check in CHECKS:
        command = [*check, *(arguments if check == CHECKS[-1] else [])]
        print("$", shlex.join(["python", *command]), flush=True)
        code = subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
