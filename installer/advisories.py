"""Known weaknesses of the locked packages, by pip-audit: `python -m installer.advisories`.

Exit code 1 means a weakness. Without pip-audit or a network, a line says what was skipped, and the code is 0.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installer import locking
from installer.locking import LockKind

_SERVICE_ARGUMENTS = ("--vulnerability-service", "osv", "--disable-pip", "--require-hashes")
_ARGUMENTS = (*_SERVICE_ARGUMENTS, "--format", "json", "--progress-spinner", "off", "--requirement")


@dataclass(frozen=True)
class Audit:
    """The result for one lock."""

    lock: str
    packages: int
    weaknesses: tuple[str, ...] | None  # "name version: id"; None if pip-audit gave no answer
    reason: str = ""

    def __str__(self) -> str:
        """Return a summary, and a line for each weakness."""
        if self.weaknesses is None:
            return f"{self.lock}: skipped, {self.reason}"
        summary = f"{self.lock}: {self.packages} packages, {len(self.weaknesses)} known weaknesses"
        return "\n  ".join([summary, *self.weaknesses])


def main() -> int:
    """Print the result for every lock. Return 1 if there is a weakness, else 0."""
    audits = [ask(lock) for lock in sorted({*map(locking.path, LockKind), *locking.LOCKS.glob("*.txt")})]
    print(*audits, sep="\n")
    return int(any(audit.weaknesses for audit in audits))


def ask(lock: Path, program: str = "pip-audit") -> Audit:
    """Look up the packages of a lock."""
    if not lock.is_file():
        return Audit(lock.name, 0, None, "there is no such lock for this Python")
    packages, executable = len(locking.read(lock)), shutil.which(program)
    if not executable:
        return Audit(lock.name, packages, None, "pip-audit is not installed")
    process = subprocess.run([executable, *_ARGUMENTS, str(lock)], capture_output=True, text=True, check=False)
    try:
        report = json.loads(process.stdout)
    except ValueError:
        last_line = [line for line in process.stderr.splitlines() if line.strip()][-1:]
        return Audit(lock.name, packages, None, f"pip-audit could not ask: {' '.join(last_line)[-200:]}")
    return Audit(lock.name, packages, tuple(_weaknesses(report)))


def _weaknesses(report: dict[str, Any]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {weakness['id']}"
        for package in report["dependencies"]
        for weakness in package.get("vulns", ())
    ]


if __name__ == "__main__":
    sys.exit(main())
