"""Writes and finds locks: packages in one version each, with the hashes of their wheels.

`python -m installer.locking [--within FILE]` writes those of this Python on this system by the resolver of its pip,
within `pins.txt` and further versions, as `pip freeze` prints them. A pip of 23.3 or newer asks for metadata alone,
where an older one fetches gigabytes. `installer.windows.locking` writes that of Windows. Others have the pins.
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
BACKEND = "hatchling"  # builds the project itself, without fetching anything further
_LINE = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+) --hash=sha256:(?P<sha256>[0-9a-f]{64})")


class Kind(StrEnum):
    """An environment by what the project is installed with."""

    PROGRAM = "program"  # what is frozen
    TESTS = "tests"  # what `python -m tests` needs

    @property
    def extras(self) -> str:
        """Extras of the project."""
        return "installer" if self is Kind.PROGRAM else "export,test,installer"


class Locked(NamedTuple):
    """One package, and the SHA-256 of its wheel."""

    name: str
    version: str
    sha256: str


def path(kind: Kind) -> Path:
    """Return the lock of this Python on this system, if there is one."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return LOCKS / f"{kind}-{python}-{sys.platform}-{platform.machine().lower()}.txt"


def read(file: Path) -> tuple[Locked, ...]:
    """Read a lock. Raises ValueError for a line that is none of ours."""
    return tuple(_read(file))


def text(kind: Kind, report: Mapping[str, Any]) -> str:
    """The lock that a report of pip amounts to."""
    found = [_locked(each) for each in report["install"] if "archive_info" in each["download_info"]]
    where = path(kind).stem.removeprefix(f"{kind}-")
    origin = f"headstart[{kind.extras}] on {where}, written by `python -m installer.locking` with pip's report."
    return written(origin, found)


def written(origin: str, found: Iterable[Locked]) -> str:
    """A lock that `read` reads, under a line on where it comes from."""
    lines = [f"{each.name}=={each.version} --hash=sha256:{each.sha256}" for each in sorted(found)]
    return "\n".join([f"# {origin}", *lines]) + "\n"


def main() -> None:
    """Write both."""
    parser = argparse.ArgumentParser(prog="python -m installer.locking", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--within", type=Path, help="versions to keep to besides the pins")
    within = parser.parse_args().within
    for kind in Kind:
        found = text(kind, _resolved(kind, within.read_text(encoding="utf-8") if within else ""))
        path(kind).write_text(found, encoding="utf-8")
        print(path(kind))


def constraints(pins: str, further: str) -> str:
    """The pins, and of `further` versions those of packages that have no pin."""
    known = {_key(line) for line in pins.splitlines()}
    return "\n".join([pins.rstrip(), *(line for line in further.splitlines() if _key(line) not in known)]) + "\n"


def variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of a pip that writes a lock, without wheels and settings that others do not have."""
    kept = {name: value for name, value in given.items() if name not in ("PIP_FIND_LINKS", "PIP_CONSTRAINT")}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}


def _resolved(kind: Kind, further: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="headstart-lock-") as folder:
        report, within = Path(folder) / "report.json", Path(folder) / "within.txt"
        within.write_text(constraints(PINS.read_text(encoding="utf-8"), further), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--only-binary", ":all:", "--constraint", str(within), "--report", str(report)]
        subprocess.run([*command, f"{ROOT}[{kind.extras}]", BACKEND], env=variables(), check=True)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def _locked(each: Mapping[str, Any]) -> Locked:
    return Locked(
        _key(each["metadata"]["name"]),
        each["metadata"]["version"],
        each["download_info"]["archive_info"]["hashes"]["sha256"],
    )


def _key(line: str) -> str:
    """The name at the beginning of a line, in the one way of writing it."""
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
