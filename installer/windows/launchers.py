"""The programs that Windows starts: launchers of Python, and the program that closes them for a setup."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import headstart
from headstart import __version__
from installer.windows import runtime, tools

FILES = Path(__file__).parent / "files"
CLOSING = "closing.exe"
ICON = "headstart.ico"
_SVG = Path(headstart.__file__).parent / "ui" / "resources" / "headstart.svg"
# No time in the file: two builds give the same bytes.
_OPTIONS = ("-municode", "-O2", "-s", "-Wall", "-Wextra", "-Werror", "-Wl,--no-insert-timestamp", "-static")


@dataclass(frozen=True)
class Launcher:
    """A program that runs `start.py`."""

    file: str
    start: str  # the PROGRAM of `start.py`
    has_window: bool


# Typing `headstart` runs the .com, which has a console to answer in; menus name the .exe, which opens none.
LAUNCHERS = (
    Launcher("headstart.exe", "window", has_window=True),
    Launcher("headstart.com", "command", has_window=False),
    Launcher("headstart-engine.exe", "engine", has_window=False),
    Launcher("headstart-export.exe", "exporter", has_window=False),
)


def numbers(version: str = __version__) -> tuple[int, int, int, int]:
    """Return the version as the four numbers of Windows, without letters."""
    parts = [int(part) for part in version.split("+", maxsplit=1)[0].split(".") if part.isdigit()][:4]
    first, second, third, fourth = (*parts, 0, 0, 0, 0)[:4]
    return first, second, third, fourth


def make(folder: Path, work: Path) -> Path:
    """Make the launchers in `folder`, and further files for a setup in `work`. Return `work`. Raises ToolError."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "installer.icons", str(_SVG), str(work / ICON)], check=True)
    for name in ("app.manifest", "app.rc"):
        _fill(FILES / name, work / name)
    tools.run(tools.RESOURCES, "app.rc", "app.o", folder=work)
    for launcher in LAUNCHERS:
        definitions = [f'-DPROGRAM=L"{launcher.start}"', f'-DPYTHON=L"{runtime.LIBRARY}.dll"']
        subsystem = ["-mwindows", "-DGUI"] if launcher.has_window else []
        _compile("launcher.c", folder / launcher.file, *subsystem, *definitions, "app.o", work=work)
    _compile("closing.c", work / CLOSING, "-mwindows", work=work)
    return work


def _compile(source: str, target: Path, *words: str, work: Path) -> None:
    tools.run(tools.COMPILER, *_OPTIONS, "-o", target, FILES / source, *words, folder=work)


def _fill(template: Path, target: Path) -> None:
    text = template.read_text(encoding="utf-8").replace("@VERSION@", __version__)
    parts = [str(number) for number in numbers()]
    text = text.replace("@NUMBERS@", ".".join(parts)).replace("@COMMAS@", ",".join(parts))
    target.write_text(text, encoding="utf-8")
