"""The programs of Debian that make a package for Windows: asked for all at once, run one by one."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from headstart.errors import HeadstartError

_PREFIX = "x86_64-w64-mingw32-"
COMPILER, RESOURCES, DUMP = (f"{_PREFIX}{name}" for name in ("gcc", "windres", "objdump"))
SETUP, MSI = "makensis", "wixl"
_PACKAGES = {
    COMPILER: "gcc-mingw-w64-x86-64",
    RESOURCES: "binutils-mingw-w64-x86-64",
    DUMP: "binutils-mingw-w64-x86-64",
    SETUP: "nsis",
    MSI: "wixl",
}


class ToolError(HeadstartError):
    """What makes packages for Windows is not installed, or refused."""


def require() -> None:
    """Raises ToolError, with everything that is missing."""
    missing = sorted({package for program, package in _PACKAGES.items() if not shutil.which(program)})
    if missing:
        raise ToolError(f"A package for Windows needs {', '.join(missing)}; apt-get install {' '.join(missing)}.")


def said(*command: str | Path, folder: Path | None = None) -> str:
    """What a program prints. Raises ToolError."""
    words: Sequence[str] = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise ToolError(f"{words[0]} failed: {(done.stderr.strip() or done.stdout.strip())[-2000:]}")
    return done.stdout
