"""The setup program for Windows: an NSIS script, and the list of its files."""

from itertools import groupby
from pathlib import Path, PureWindowsPath

from headstart import __version__
from installer.windows import launchers, tools

SCRIPT, WORDS = launchers.FILES / "setup.nsi", launchers.FILES / "words.nsh"


def pack(program: Path, work: Path, output: Path) -> Path:
    """Make the setup of the program in `output`; `work` is the folder that `launchers.make` returned."""
    package = output / f"headstart-{__version__}-windows-x86_64-setup.exe"
    (work / "list.nsh").write_text(listing(program), encoding="utf-8-sig")
    size = sum(path.stat().st_size for path in program.rglob("*") if path.is_file())
    definitions = {
        "VERSION": __version__,
        "NUMBERS": ".".join(map(str, launchers.numbers())),
        "OUTPUT": package,
        "ICON": work / launchers.ICON,
        "CLOSING": work / launchers.CLOSING,
        "LIST": work / "list.nsh",
        "WORDS": WORDS,
        "KILOBYTES": size // 1024,
    }
    arguments = [f"-D{name}={value}" for name, value in definitions.items()]
    tools.run(tools.SETUP, "-V2", "-WX", "-INPUTCHARSET", "UTF8", *arguments, SCRIPT)
    return package


def listing(program: Path) -> str:
    """Return two NSIS macros: PUT_FILES for all files, sorted, and DELETE_FILES for those in the top folder."""
    files = sorted((path for path in program.rglob("*") if path.is_file()), key=lambda path: (path.parent, path.name))
    lines = ["!macro PUT_FILES"]
    for folder, inside in groupby(files, key=lambda path: path.parent):
        place = PureWindowsPath("$INSTDIR", folder.relative_to(program).as_posix())
        lines += [f'  SetOutPath "{place}"', *(f'  File "{_quoted(path)}"' for path in inside)]
    lines += ["!macroend", "!macro DELETE_FILES"]
    lines += [f'  Delete "$INSTDIR\\{path.name}"' for path in files if path.parent == program]
    return "\n".join((*lines, "!macroend", ""))


def _quoted(path: Path) -> str:
    return str(path).replace("$", "$$")
