"""The tools of Debian that make a package for Windows, and the libraries that Windows has."""

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
_IMPORTED_DLL = re.compile(r"^\s*DLL Name: (\S+)$", re.MULTILINE)
_CODE_SUFFIXES = (".exe", ".com", ".dll", ".pyd")
# Libraries of Windows 10. Its C library comes as `api-ms-win-crt-*`.
# fmt: off
_WINDOWS_LIBRARIES = {
    "advapi32", "authz", "bcrypt", "bcryptprimitives", "cfgmgr32", "combase", "comctl32", "comdlg32", "crypt32",
    "d2d1", "d3d11", "d3d12", "d3d9", "dbghelp", "dnsapi", "dwmapi", "dwrite", "dxgi", "gdi32", "icuuc",
    "imm32", "iphlpapi", "kernel32", "mpr", "mscms", "msvcrt", "ncrypt", "netapi32", "ntdll", "ole32",
    "oleaut32", "opengl32", "pdh", "powrprof", "propsys", "psapi", "rpcrt4", "runtimeobject", "secur32",
    "setupapi", "shcore", "shell32", "shlwapi", "synchronization", "ucrtbase", "uiautomationcore", "user32",
    "userenv", "uxtheme", "version", "winhttp", "winmm", "winspool.drv", "ws2_32", "wtsapi32",
}
# fmt: on
# Part of the drivers of Intel's GPUs and NPUs; only computers with these load the plugins that need them.
_DRIVER_LIBRARIES = {"opencl", "ze_loader"}


class BuildToolError(HeadstartError):
    """A tool that makes packages for Windows is not installed, or failed."""


def require() -> None:
    """Raise BuildToolError if tools are missing, with the packages that have them."""
    missing = sorted({package for program, package in _PACKAGES.items() if not shutil.which(program)})
    if missing:
        raise BuildToolError(f"A package for Windows needs {', '.join(missing)}; apt-get install {' '.join(missing)}.")


def run(*command: str | Path, folder: Path | None = None) -> str:
    """Return the output of a tool. Raises BuildToolError."""
    arguments: Sequence[str] = [str(word) for word in command]
    process = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if process.returncode:
        raise BuildToolError(f"{arguments[0]} failed: {(process.stderr.strip() or process.stdout.strip())[-2000:]}")
    return process.stdout


def require_libraries(folder: Path) -> None:
    """Raise BuildToolError if a library in `folder` needs one that neither the folder nor Windows has."""
    missing = sorted(missing_libraries(folder))
    if missing:
        raise BuildToolError(f"The program lacks {', '.join(missing)}; see `is_wanted` in installer/windows/wheels.py.")


def missing_libraries(folder: Path) -> Iterator[str]:
    """Yield missing libraries with their users: "Qt6Foo.dll, for Qt6Bar.dll"."""
    code = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _CODE_SUFFIXES)
    bundled = {path.name.lower() for path in code}
    for path in code:
        for name in _IMPORTED_DLL.findall(run(DUMP, "-p", path)):
            if name.lower() not in bundled and not _is_windows_library(name.lower()):
                yield f"{name}, for {path.relative_to(folder).as_posix()}"


def _is_windows_library(name: str) -> bool:
    return (
        name.startswith(("api-ms-win-", "ext-ms-win-"))
        or name.removesuffix(".dll") in _WINDOWS_LIBRARIES | _DRIVER_LIBRARIES
    )
