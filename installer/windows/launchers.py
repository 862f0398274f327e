"""Compiles the programs that Windows starts: launchers of the one Python, and what closes them for a setup."""

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
    """`start`: what `start.py` is told to be."""

    file: str
    start: str
    has_window: bool


# Who types `headstart` gets the .com, which has a console to answer in; a menu names the .exe, which opens none.
LAUNCHERS = (
    Launcher("headstart.exe", "window", has_window=True),
    Launcher("headstart.com", "command", has_window=False),
    Launcher("headstart-engine.exe", "engine", has_window=False),
)


def numbers(version: str = __version__) -> tuple[int, int, int, int]:
    """The version as Windows counts: four numbers, of what comes before any letter."""
    parts = [int(part) for part in version.split("+", maxsplit=1)[0].split(".") if part.isdigit()][:4]
    first, second, third, fourth = (*parts, 0, 0, 0, 0)[:4]
    return first, second, third, fourth


def make(folder: Path, work: Path) -> Path:
    """The launchers in `folder`, and in `work` what a setup needs besides. Returns `work`. Raises ToolError."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "installer.icons", str(_SVG), str(work / ICON)], check=True)
    for name in ("app.manifest", "app.rc"):
        _fill(FILES / name, work / name)
    tools.said(tools.RESOURCES, "app.rc", "app.o", folder=work)
    for launcher in LAUNCHERS:
        words = [f'-DPROGRAM=L"{launcher.start}"', f'-DPYTHON=L"{runtime.LIBRARY}.dll"']
        kind = ["-mwindows", "-DGUI"] if launcher.has_window else []
        _compile("launcher.c", folder / launcher.file, *kind, *words, "app.o", work=work)
    _compile("closing.c", work / CLOSING, "-mwindows", work=work)
    return work


def _compile(source: str, made: Path, *words: str, work: Path) -> None:
    tools.said(tools.COMPILER, *_OPTIONS, "-o", made, FILES / source, *words, folder=work)


def _fill(form: Path, made: Path) -> None:
    text = form.read_text(encoding="utf-8").replace("@VERSION@", __version__)
    counted = [str(number) for number in numbers()]
    text = text.replace("@NUMBERS@", ".".join(counted)).replace("@COMMAS@", ",".join(counted))
    made.write_text(text, encoding="utf-8")
