"""`python -m tests`: format, lint, types, tests, in this order, stopping at the first that fails."""

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKS = (["ruff", "format", "--check"], ["ruff", "check"], ["mypy", "--strict"], ["pytest"])


def main(arguments: list[str]) -> int:
    """The exit code of the first check that fails, or 0; `arguments` go to pytest."""
    for check in CHECKS:
        command = [*check, *(arguments if check == CHECKS[-1] else [])]
        print("$", shlex.join(command), flush=True)
        code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
