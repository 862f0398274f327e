"""The program of the launchers of Windows: `start.py PROGRAM ...`, PROGRAM being window, command or engine.

A program of PyInstaller knows by itself that it is installed; here that is said, before anything asks.
"""

import contextlib
import ctypes
import io
import sys
from pathlib import Path

_ERROR = 0x10  # the icon of a message


def main() -> int:
    """Become what the launcher is. Returns the exit code."""
    program = sys.argv.pop(1)
    sys.frozen = True  # type: ignore[attr-defined]
    # Whichever was started: others are found beside the window's program, by its name.
    sys.executable = str(Path(__file__).resolve().parents[1] / "headstart.exe")
    if program == "engine":
        from headstart.engine_process import main as answer  # noqa: PLC0415

        answer()
        return 0
    from headstart.cli import start  # noqa: PLC0415

    return start() if sys.stderr else _start_unheard()


def _start_unheard() -> int:
    """A program of windows has nowhere to print to: what it says in failing is shown."""
    from headstart.cli import start  # noqa: PLC0415

    with contextlib.redirect_stderr(io.StringIO()) as said:
        code = start()
    if code and said.getvalue().strip():
        ctypes.windll.user32.MessageBoxW(0, said.getvalue().strip(), "Headstart", _ERROR)  # type: ignore[attr-defined]
    return code


if __name__ == "__main__":
    sys.exit(main())
