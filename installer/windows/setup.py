"""The setup program for Windows: NSIS's script with the list of what is put where."""

from itertools import groupby
from pathlib import Path, PureWindowsPath

from headstart import __version__
from installer.windows import launchers, tools

SCRIPT, WORDS = launchers.FILES / "setup.nsi", launchers.FILES / "words.nsh"


def pack(program: Path, work: Path, output: Path) -> Path:
    """The setup of the program in this folder, in `output`; `work` has what `launchers.make` left."""
    made = output / f"headstart-{__version__}-windows-x86_64-setup.exe"
    (work / "list.nsh").write_text(listing(program), encoding="utf-8-sig")
    size = sum(path.stat().st_size for path in program.rglob("*") if path.is_file())
    known = {
        "VERSION": __version__,
        "NUMBERS": ".".join(map(str, launchers.numbers())),
        "OUTPUT": made,
        "ICON": work / launchers.ICON,
        "CLOSING": work / launchers.CLOSING,
        "LIST": work / "list.nsh",
        "WORDS": WORDS,
        "KILOBYTES": size // 1024,
    }
    defined = [f"-D{name}={value}" for name, value in known.items()]
    tools.said(tools.SETUP, "-V2", "-WX", "-INPUTCHARSET", "UTF8", *defined, SCRIPT)
    return made


def listing(program: Path) -> str:
    """Two macros: PUT_FILES, in the order of names wherever it is built, and DELETE_FILES, of those in no folder."""
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
