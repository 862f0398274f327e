"""The Python environment that is frozen: what Headstart needs in pinned versions and nothing else."""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from installer import kernels, locking
from installer.locking import Kind

PINS = locking.PINS
_FROM_PEOPLE = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")  # would let in what is not pinned
_DONE = "complete"
EXPORTER = "exporter"  # beside the program; `headstart.paths.bundled_wheel` looks there
_WHEEL = "wheel"  # in the work folder: Headstart as it is frozen and as the exporter's environment gets it


def prepare(root: Path, work: Path) -> Path:
    """Return its Python, with the application of `root` as it is now. Packages are fetched once a set of pins."""
    folder = work / f"environment-{_key()}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    lock = locking.path(Kind.PROGRAM)
    if not (folder / _DONE).exists():
        venv.create(folder, with_pip=True, clear=True)
        _fetch(python, root, lock)
        (folder / _DONE).touch()
    here = kernels.own()
    build_wheel(python, root, work, here.triple if here else "")
    _pip(python, "install", "--no-deps", "--force-reinstall", str(wheel(work)))
    return python


def build_wheel(python: Path, root: Path, work: Path, target: str) -> None:
    """Build Headstart in `work`. `target`: what `kernels.py` must build for; empty: whatever it can."""
    # What builds it is locked too; without a lock pip fetches that by itself.
    beside = ["--no-build-isolation"] if locking.path(Kind.PROGRAM).is_file() else []
    shutil.rmtree(work / _WHEEL, ignore_errors=True)
    words = ["--no-deps", "--wheel-dir", str(work / _WHEEL), *beside, str(root)]
    _pip(python, "wheel", *words, kernels_for=target)


def wheel(work: Path) -> Path:
    """Headstart as it was built in `work`."""
    (found,) = (work / _WHEEL).glob("*.whl")
    return found


def put_wheel(work: Path, program: Path) -> None:
    """Put it beside the program, whose window makes the exporter's environment with it."""
    (program / EXPORTER).mkdir()
    shutil.copy(wheel(work), program / EXPORTER)


def _fetch(python: Path, root: Path, lock: Path) -> None:
    """Fetch what the lock names, if not a byte differs; where this Python has no lock, versions alone count."""
    if lock.is_file():
        _pip(python, "install", "--require-hashes", "--no-deps", "--requirement", str(lock))
    else:
        print(f"There is no {lock.name}: versions are pinned, hashes are not checked.", file=sys.stderr)
        _pip(python, "install", f"{root}[installer]")


def variables(root: Path, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment variables of the build: the same wherever it runs, as far as they matter."""
    kept = {name: value for name, value in given.items() if name not in _FROM_PEOPLE}
    epoch = given.get("SOURCE_DATE_EPOCH") or _last_change(root)
    return {**kept, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _last_change(root: Path) -> str:
    """The time of the last commit; in a source tree without history that of its licence, which seldom changes."""
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or str(int((root / "LICENSE").stat().st_mtime))


def _pip(python: Path, command: str, *words: str, kernels_for: str = "") -> None:
    settings = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1", kernels.VARIABLE: kernels_for}
    if "--require-hashes" not in words:
        settings["PIP_CONSTRAINT"] = str(PINS)  # reaches what pip fetches for building, too
    subprocess.run(
        [str(python), "-m", "pip", command, "--quiet", *words], env={**variables(locking.ROOT), **settings}, check=True
    )


def _key() -> str:
    """Changes with the pins, the lock and Python."""
    digest = hashlib.sha256(PINS.read_bytes())
    lock = locking.path(Kind.PROGRAM)
    digest.update(lock.read_bytes() if lock.is_file() else b"")
    digest.update(f"{platform.python_version()} {sys.platform} {platform.machine()}".encode())
    return digest.hexdigest()[:12]
