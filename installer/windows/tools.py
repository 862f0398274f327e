"""The programs of Debian that make a package for Windows, and the libraries that Windows has to run the result."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
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
_ASKED = re.compile(r"^\s*DLL Name: (\S+)$", re.MULTILINE)
_CODE = (".exe", ".com", ".dll", ".pyd")
# What Windows 10 has. Its C library comes as `api-ms-win-crt-*`.
# fmt: off
_OF_WINDOWS = {
    "advapi32", "authz", "bcrypt", "bcryptprimitives", "cfgmgr32", "combase", "comctl32", "comdlg32", "crypt32",
    "d2d1", "d3d11", "d3d12", "d3d9", "dbghelp", "dnsapi", "dwmapi", "dwrite", "dxgi", "gdi32", "icuuc",
    "imm32", "iphlpapi", "kernel32", "mpr", "mscms", "msvcrt", "ncrypt", "netapi32", "ntdll", "ole32",
    "oleaut32", "opengl32", "pdh", "powrprof", "propsys", "psapi", "rpcrt4", "runtimeobject", "secur32",
    "setupapi", "shcore", "shell32", "shlwapi", "synchronization", "ucrtbase", "uiautomationcore", "user32",
    "userenv", "uxtheme", "version", "winhttp", "winmm", "winspool.drv", "ws2_32", "wtsapi32",
}
# fmt: on
# Of Intel's GPUs and NPUs: who has these has them too, and nobody else loads the plugins that ask.
_OF_DRIVERS = {"opencl", "ze_loader"}


class ToolError(HeadstartError):
    """A tool that makes packages for Windows is not installed, or refused."""


def require() -> None:
    """Raises ToolError, with everything that is missing."""
    missing = sorted({package for program, package in _PACKAGES.items() if not shutil.which(program)})
    if missing:
        raise ToolError(f"A package for Windows needs {', '.join(missing)}; apt-get install {' '.join(missing)}.")


def said(*command: str | Path, folder: Path | None = None) -> str:
    """Return what a program prints. Raises ToolError."""
    words: Sequence[str] = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise ToolError(f"{words[0]} failed: {(done.stderr.strip() or done.stdout.strip())[-2000:]}")
    return done.stdout


def require_libraries(folder: Path) -> None:
    """Raises ToolError where a library in `folder` needs one that neither it nor Windows has."""
    missing = sorted(missing_libraries(folder))
    if missing:
        raise ToolError(f"The program lacks {', '.join(missing)}; see `is_wanted` in installer/windows/wheels.py.")


def missing_libraries(folder: Path) -> Iterator[str]:
    """Such as "Qt6Foo.dll, for Qt6Bar.dll"."""
    code = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _CODE)
    there = {path.name.lower() for path in code}
    for path in code:
        for name in _ASKED.findall(said(DUMP, "-p", path)):
            if name.lower() not in there and not _is_of_windows(name.lower()):
                yield f"{name}, for {path.relative_to(folder).as_posix()}"


def _is_of_windows(name: str) -> bool:
    return name.startswith(("api-ms-win-", "ext-ms-win-")) or name.removesuffix(".dll") in _OF_WINDOWS | _OF_DRIVERS
