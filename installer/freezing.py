"""Runs PyInstaller and leaves one folder with the program under its two names."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from installer import contents

SPEC = Path(__file__).with_name("headstart.spec")
WINDOW, ENGINE = "headstart", "headstart-engine"
INSIDE = "_internal"  # where PyInstaller keeps all but the program
MODELS = "models"  # beside the program; `headstart.paths.bundled_models_folder` looks there


@dataclass(frozen=True)
class Frozen:
    """The program in a folder. `system`: files in `_internal` that are copies of the building system's own."""

    folder: Path
    system: tuple[str, ...]


def freeze(work: Path) -> Frozen:
    """Freeze what is installed in the running environment; the former result is replaced."""
    listed = work / "system-libraries.txt"
    places = ["--distpath", str(work / "frozen"), "--workpath", str(work / "pyinstaller")]
    shutil.rmtree(work / "frozen", ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", *places, str(SPEC)],
        env={**os.environ, "HEADSTART_SYSTEM_LIBRARIES": str(listed)},
        check=True,
    )
    folder = work / "frozen" / "headstart"
    (folder / ENGINE).symlink_to(WINDOW)
    _drop_dangling(folder)
    _strip(folder / INSIDE)
    return Frozen(folder, tuple(listed.read_text(encoding="utf-8").split()))


def without_system_libraries(frozen: Frozen, folder: Path) -> None:
    """Copy the program to `folder` as it is packed for the very system that built it."""
    shutil.copytree(frozen.folder, folder, symlinks=True)
    for name in frozen.system:
        (folder / INSIDE / name).unlink(missing_ok=True)
    _drop_dangling(folder)


def _drop_dangling(folder: Path) -> None:
    """Links to what was left out."""
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


def _strip(inside: Path) -> None:
    """Take names for debuggers away where that is safe."""
    if shutil.which("strip"):
        for library in (path for pattern in contents.STRIPPED for path in inside.glob(pattern)):
            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
