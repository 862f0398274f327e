"""Whether the window could open: Qt, the libraries of the system it needs, a display. Opens none."""

import os
import re
import sys
from collections.abc import Iterator

from headstart.doctor.finding import Finding, Section

_HERE = Section("window")
_LIBRARY = re.compile(r"lib[\w+-]+\.so[.\d]*")
_DEBIAN = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
}


def check() -> Iterator[Finding]:
    """Qt is imported here: the rest of the doctor needs none. What lacks is a problem only where there is a display."""
    try:
        from headstart.ui import window_check  # noqa: PLC0415
    except ImportError as error:
        yield _missing(str(error))
    else:
        yield _HERE.ok(f"{window_check.versions()} loads.")
        fault = window_check.x11_fault() if sys.platform.startswith("linux") else ""
        if fault:
            yield _missing(fault)
    if _has_display():
        yield _HERE.ok("There is a display.")
    else:
        yield _HERE.note("There is no display to open the window on.", "Use `headstart chat`, which needs none.")


def _missing(reason: str) -> Finding:
    found = _LIBRARY.search(reason)
    if found is None:
        text, remedy = f"The window cannot open ({reason}).", "Install Headstart again, or use `headstart chat`."
    else:
        package = _DEBIAN.get(found[0])
        how = f" (Debian, Ubuntu: apt install {package})" if package else ""
        text = f"The window cannot open: the system has no {found[0]}."
        remedy = f"Install {found[0]}{how}, or use `headstart chat`."
    return _HERE.problem(text, remedy) if _has_display() else _HERE.note(text, remedy)


def _has_display() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
