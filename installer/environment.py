"""The Python environment that is frozen: Headstart and its requirements in pinned versions."""

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
from installer.locking import LockKind

PINS = locking.PINS
_USER_VARIABLES = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
)  # they let in unpinned packages
_COMPLETE = "complete"
EXPORTER = "exporter"  # beside the program; `headstart.paths.bundled_wheel` looks there
_WHEEL = "wheel"  # in the work folder; frozen, and installed into the exporter's environment


def prepare(root: Path, work: Path) -> Path:
    """Return the Python of an environment with the application of `root`. Packages are fetched once for each lock."""
    folder = work / f"environment-{_key()}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    lock = locking.path(LockKind.PROGRAM)
    if not (folder / _COMPLETE).exists():
        venv.create(folder, with_pip=True, clear=True)
        _fetch(python, root, lock)
        (folder / _COMPLETE).touch()
    target = kernels.host_target()
    build_wheel(python, root, work, target.triple if target else "")
    _pip(python, "install", "--no-deps", "--force-reinstall", str(wheel(work)))
    return python


def build_wheel(python: Path, root: Path, work: Path, target: str) -> None:
    """Build Headstart's wheel in `work`, with kernels for `target`; empty: for this system, if they can be built."""
    # The lock has the build backend, too; without a lock pip fetches it.
    isolation = ["--no-build-isolation"] if locking.path(LockKind.PROGRAM).is_file() else []
    shutil.rmtree(work / _WHEEL, ignore_errors=True)
    arguments = ["--no-deps", "--wheel-dir", str(work / _WHEEL), *isolation, str(root)]
    _pip(python, "wheel", *arguments, kernels_for=target)


def wheel(work: Path) -> Path:
    """Return the wheel that was built in `work`."""
    (path,) = (work / _WHEEL).glob("*.whl")
    return path


def put_wheel(work: Path, program: Path) -> None:
    """Copy the wheel beside the program: the window installs the exporter's environment from it."""
    (program / EXPORTER).mkdir()
    shutil.copy(wheel(work), program / EXPORTER)


def _fetch(python: Path, root: Path, lock: Path) -> None:
    """Install the packages of the lock, with their hashes checked; without a lock, the pinned versions."""
    if lock.is_file():
        _pip(python, "install", "--require-hashes", "--no-deps", "--requirement", str(lock))
    else:
        print(f"There is no {lock.name}: versions are pinned, hashes are not checked.", file=sys.stderr)
        _pip(python, "install", f"{root}[installer]")


def variables(root: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment variables of the build, without the user's own that would change its result."""
    inherited = {name: value for name, value in environ.items() if name not in _USER_VARIABLES}
    epoch = environ.get("SOURCE_DATE_EPOCH") or _last_change(root)
    return {**inherited, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _last_change(root: Path) -> str:
    """Return the time of the last commit; without a history, the time of the licence file, which seldom changes."""
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    return process.stdout.strip() or str(int((root / "LICENSE").stat().st_mtime))


def _pip(python: Path, command: str, *arguments: str, kernels_for: str = "") -> None:
    settings = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1", kernels.VARIABLE: kernels_for}
    if "--require-hashes" not in arguments:
        settings["PIP_CONSTRAINT"] = str(PINS)  # also applies to what pip fetches to build packages
    subprocess.run(
        [str(python), "-m", "pip", command, "--quiet", *arguments],
        env={**variables(locking.ROOT), **settings},
        check=True,
    )


def _key() -> str:
    """Return a hash of the pins, the lock and the Python."""
    digest = hashlib.sha256(PINS.read_bytes())
    lock = locking.path(LockKind.PROGRAM)
    digest.update(lock.read_bytes() if lock.is_file() else b"")
    digest.update(f"{platform.python_version()} {sys.platform} {platform.machine()}".encode())
    return digest.hexdigest()[:12]
