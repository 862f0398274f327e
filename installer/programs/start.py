"""The program of the launchers of Windows: `start.py PROGRAM ...`, PROGRAM being window, command, engine or exporter.

It sets `sys.frozen`, as PyInstaller does, before any other module reads it.
"""

import contextlib
import ctypes
import io
import sys
from pathlib import Path

_ERROR = 0x10  # the icon of a message


def main() -> int:
    """Run the launcher's program. Return the exit code."""
    program = sys.argv.pop(1)
    sys.frozen = True  # type: ignore[attr-defined]
    # Other programs are found beside the window's, by its name, whichever launcher runs.
    sys.executable = str(Path(__file__).resolve().parents[1] / "headstart.exe")
    if program == "engine":
        from headstart.engine_process import main as answer  # noqa: PLC0415

        answer()
        return 0
    if program == "exporter":
        from headstart_export.__main__ import main as export  # noqa: PLC0415

        return export()
    from headstart.__main__ import main as start  # noqa: PLC0415

    return start() if sys.stderr else _start_without_console()


def _start_without_console() -> int:
    """Start the window, which has no console: show what it prints if it fails."""
    from headstart.__main__ import main as start  # noqa: PLC0415

    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        code = start()
    if code and stderr.getvalue().strip():
        ctypes.windll.user32.MessageBoxW(0, stderr.getvalue().strip(), "Headstart", _ERROR)  # type: ignore[attr-defined]
    return code


if __name__ == "__main__":
    sys.exit(main())
