"""Whether every library that the program asks Windows for is there: the check that a build on another system can do."""

import re
from collections.abc import Iterator
from pathlib import Path

from installer.windows import tools
from installer.windows.tools import ToolError

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


def check(folder: Path) -> None:
    """Raises ToolError where a library in `folder` needs one that neither it nor Windows has."""
    missing = sorted(missing_libraries(folder))
    if missing:
        raise ToolError(f"The program lacks {', '.join(missing)}; see installer/windows/wanted.py.")


def missing_libraries(folder: Path) -> Iterator[str]:
    """Such as "Qt6Foo.dll, for Qt6Bar.dll"."""
    code = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _CODE)
    there = {path.name.lower() for path in code}
    for path in code:
        for name in _ASKED.findall(tools.said(tools.DUMP, "-p", path)):
            if name.lower() not in there and not _is_of_windows(name.lower()):
                yield f"{name}, for {path.relative_to(folder).as_posix()}"


def _is_of_windows(name: str) -> bool:
    return name.startswith(("api-ms-win-", "ext-ms-win-")) or name.removesuffix(".dll") in _OF_WINDOWS | _OF_DRIVERS
