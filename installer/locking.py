"""Locks: each package in one version, with the hash of its wheel.

`python -m installer.locking [--within FILE]` writes the locks of this Python on this system with pip's resolver, within
the versions of `pins.txt` and of FILE, as `pip freeze` prints them. Use pip 23.3 or newer: it fetches metadata alone,
where an older one fetches gigabytes. `installer.windows.locking` writes the lock of Windows.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PINS = Path(__file__).with_name("pins.txt")
LOCKS = Path(__file__).with_name("locks")
BACKEND = "hatchling"  # builds the project, and fetches nothing else
_LINE = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})")


class LockKind(StrEnum):
    """The purpose of an environment."""

    PROGRAM = "program"  # what is frozen
    TESTS = "tests"  # what `python -m tests` needs

    @property
    def extras(self) -> str:
        return "installer" if self is LockKind.PROGRAM else "export,test,installer"


class Locked(NamedTuple):
    """A package, and the SHA-256 of its wheel."""

    name: str
    version: str
    sha256: str


def path(kind: LockKind) -> Path:
    """Return the path of the lock of this Python on this system; there need not be one."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return LOCKS / f"{kind}-{python}-{sys.platform}-{platform.machine().lower()}.txt"


def read(file: Path) -> tuple[Locked, ...]:
    """Read a lock. Raises ValueError for a line that `lock_text` did not write."""
    return tuple(_read(file))


def text(kind: LockKind, report: Mapping[str, Any]) -> str:
    """Return the lock for a report of pip."""
    packages = [_locked(package) for package in report["install"] if "archive_info" in package["download_info"]]
    platform_tag = path(kind).stem.removeprefix(f"{kind}-")
    origin = f"headstart[{kind.extras}] on {platform_tag}, written by `python -m installer.locking` with pip's report."
    return lock_text(origin, packages)


def lock_text(origin: str, packages: Iterable[Locked]) -> str:
    """Return the text of a lock, for `read`. The first line says where it comes from."""
    lines = [f"{package.name}=={package.version} --hash=sha256:{package.sha256}" for package in sorted(packages)]
    return "\n".join([f"# {origin}", *lines]) + "\n"


def main() -> None:
    """Write the locks of both kinds."""
    parser = argparse.ArgumentParser(prog="python -m installer.locking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--within", type=Path, help="versions to keep to besides the pins")
    further = parser.parse_args().within
    for kind in LockKind:
        lock = text(kind, _resolved(kind, further.read_text(encoding="utf-8") if further else ""))
        path(kind).write_text(lock, encoding="utf-8")
        print(path(kind))


def constraints(pins: str, further: str) -> str:
    """Return the pins, and the `further` versions of packages that have no pin."""
    pinned = {_key(line) for line in pins.splitlines()}
    return "\n".join([pins.rstrip(), *(line for line in further.splitlines() if _key(line) not in pinned)]) + "\n"


def variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return environment variables for pip, without wheels and settings that others do not have."""
    inherited = {name: value for name, value in environ.items() if name not in ("PIP_FIND_LINKS", "PIP_CONSTRAINT")}
    return {**inherited, "PIP_CONFIG_FILE": os.devnull}


def _resolved(kind: LockKind, further: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="headstart-lock-") as folder:
        report, within = Path(folder) / "report.json", Path(folder) / "within.txt"
        within.write_text(constraints(PINS.read_text(encoding="utf-8"), further), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--only-binary", ":all:", "--constraint", str(within), "--report", str(report)]
        subprocess.run([*command, f"{ROOT}[{kind.extras}]", BACKEND], env=variables(), check=True)
        parsed: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return parsed


def _locked(package: Mapping[str, Any]) -> Locked:
    return Locked(
        _key(package["metadata"]["name"]),
        package["metadata"]["version"],
        package["download_info"]["archive_info"]["hashes"]["sha256"],
    )


def _key(line: str) -> str:
    """Return the normalized name at the beginning of a line."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=;@<>\[ ]", line, maxsplit=1)[0]).lower()


def _read(file: Path) -> Iterator[Locked]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match:
            raise ValueError(f"{file.name}: {line}")
        yield Locked(**match.groupdict())


if __name__ == "__main__":
    main()
