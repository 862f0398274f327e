"""`python -m installer.advisories`: asks pip-audit whether anything of the locks has a known weakness.

Exit code 1 for weaknesses alone: where pip-audit is not installed, or the network refuses, a line says what is skipped.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installer import locking
from installer.locking import Kind

_SERVICE = ("--vulnerability-service", "osv", "--disable-pip", "--require-hashes")
_ASK = (*_SERVICE, "--format", "json", "--progress-spinner", "off", "--requirement")


@dataclass(frozen=True)
class Answer:
    """The answer for one lock. `known`: "name version: id", or None where nobody could be asked."""

    lock: str
    packages: int
    known: tuple[str, ...] | None
    reason: str = ""

    def __str__(self) -> str:
        """A line, and one for each weakness."""
        if self.known is None:
            return f"{self.lock}: skipped, {self.reason}"
        told = f"{self.lock}: {self.packages} packages, {len(self.known)} known weaknesses"
        return "\n  ".join([told, *self.known])


def main() -> int:
    """0 unless there is a weakness."""
    answers = [ask(lock) for lock in sorted({*map(locking.path, Kind), *locking.LOCKS.glob("*.txt")})]
    print(*answers, sep="\n")
    return int(any(answer.known for answer in answers))


def ask(lock: Path, program: str = "pip-audit") -> Answer:
    """Ask what is known of the packages of a lock."""
    if not lock.is_file():
        return Answer(lock.name, 0, None, "there is no such lock for this Python")
    packages, found = len(locking.read(lock)), shutil.which(program)
    if not found:
        return Answer(lock.name, packages, None, "pip-audit is not installed")
    done = subprocess.run([found, *_ASK, str(lock)], capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
        return Answer(lock.name, packages, None, f"pip-audit could not ask: {' '.join(last)[-200:]}")
    return Answer(lock.name, packages, tuple(_known(report)))


def _known(report: dict[str, Any]) -> list[str]:
    return [
        f"{each['name']} {each['version']}: {weakness['id']}"
        for each in report["dependencies"]
        for weakness in each.get("vulns", ())
    ]


if __name__ == "__main__":
    sys.exit(main())
