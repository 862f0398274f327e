"""Runs PyInstaller and leaves one folder with the program under its names."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from installer import contents
from installer.linux import icu

SPEC = Path(__file__).with_name("headstart.spec")
WINDOW, OTHERS = "headstart", ("headstart-engine", "headstart-export")
INSIDE = "_internal"  # where PyInstaller puts everything but the program
MODELS = "models"  # beside the program; `headstart.paths.bundled_models_folder` looks there


@dataclass(frozen=True)
class Frozen:
    folder: Path
    system: tuple[str, ...]  # files in INSIDE that were copied from the building system


def freeze(work: Path) -> Frozen:
    """Freeze the application of the running environment, in place of an earlier result."""
    list_file = work / "system-libraries.txt"
    places = ["--distpath", str(work / "frozen"), "--workpath", str(work / "pyinstaller")]
    shutil.rmtree(work / "frozen", ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR", *places, str(SPEC)],
        # The package compresses modules better than PyInstaller does one by one.
        env={**os.environ, "HEADSTART_SYSTEM_LIBRARIES": str(list_file), "PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "0"},
        check=True,
    )
    folder = work / "frozen" / "headstart"
    for name in OTHERS:
        (folder / name).symlink_to(WINDOW)
    _drop_dangling(folder)
    _strip(folder / INSIDE)
    for library in (folder / INSIDE).glob("PySide6/Qt/lib/libicudata.so.*"):
        icu.trim(library)
    return Frozen(folder, tuple(list_file.read_text(encoding="utf-8").split()))


def without_system_libraries(frozen: Frozen, folder: Path) -> None:
    """Copy the program to `folder`, without libraries that the building system has."""
    shutil.copytree(frozen.folder, folder, symlinks=True)
    for name in frozen.system:
        (folder / INSIDE / name).unlink(missing_ok=True)
    _drop_dangling(folder)


def _drop_dangling(folder: Path) -> None:
    """Remove dangling links, and folders that are empty then."""
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
            path.rmdir()


def _strip(inside: Path) -> None:
    """Remove symbols for debuggers where that is safe."""
    if shutil.which("strip"):
        for library in (path for pattern in contents.STRIPPED for path in inside.glob(pattern)):
            subprocess.run(["strip", "--strip-unneeded", str(library)], check=True)
