"""Libraries of Windows 10 that Wine 8 lacks, made for a test and put beside an installed program. Packs nothing.

Complex functions for NumPy, conversions of characters and colour profiles for Qt, random bytes for llguidance.
"""

import re
import subprocess
from pathlib import Path

from installer.windows import tools

SOURCES = Path(__file__).with_name("wine")
OVERRIDES = "icuuc,mscms=n"  # for WINEDLLOVERRIDES
_MATH = b"api-ms-win-crt-math-l1-1-0.dll"
_OWN_MATH = b"headstart-tried-in-wine-ma.dll"  # as long: the name is written over the other one
_COMPLEX = re.compile(r"TO_\w+\((\w+)\)|own_(cpow)\(")
_LIBRARY, _MEMBER = re.compile(r"\s+DLL Name: (\S+)"), re.compile(r"\t[0-9a-f]+\t?\s+\d+\s+(\w+)")


def put(program: Path, work: Path) -> frozenset[str]:
    """Create the libraries for the installed program, and make NumPy use its own. Return their names."""
    before = set(program.iterdir())
    assert len(_MATH) == len(_OWN_MATH)
    work.mkdir(parents=True)
    qt = [program / "lib/PySide6/Qt6Core.dll", program / "lib/PySide6/plugins/platforms/qwindows.dll"]
    numpy = [path for path in (program / "lib").glob("numpy*/**/*") if path.suffix in {".pyd", ".dll"}]
    for library in ("icuuc.dll", "mscms.dll"):
        names = {name for path in qt for name in _asked(path, library)}
        _make(program / library, SOURCES / "nothing.c", dict.fromkeys(names, "nothing"), work)
    _make(program / "bcryptprimitives.dll", SOURCES / "random.c", {"ProcessPrng": "random_bytes"}, work)
    names = {name for path in numpy for name in _asked(path, _MATH.decode())}
    own = {
        f"{name}{kind}"
        for found in _COMPLEX.findall(_text("mathematics.c"))
        for name in found
        for kind in ("", "f", "l")
    }
    exports = {name: f"own_{name}" if name in own else f"ucrtbase.{name}" for name in names}
    _make(program / _OWN_MATH.decode(), SOURCES / "mathematics.c", exports, work)
    for path in numpy:
        path.write_bytes(path.read_bytes().replace(_MATH, _OWN_MATH))
    return frozenset(path.name for path in set(program.iterdir()) - before)


def _asked(path: Path, library: str) -> list[str]:
    """Return the functions that a program imports from a library."""
    asked, names = "", []
    for line in tools.run(tools.DUMP, "-p", path).splitlines():
        if found := _LIBRARY.fullmatch(line):
            asked = found.group(1).lower()
        elif not line.strip():
            asked = ""
        elif asked == library and (member := _MEMBER.match(line)):
            names.append(member.group(1))
    return names


def _make(library: Path, source: Path, exports: dict[str, str], work: Path) -> None:
    listed = work / f"{library.stem}.def"
    lines = sorted(f"  {name} = {place}\n" for name, place in exports.items())
    listed.write_text(f"LIBRARY {library.name}\nEXPORTS\n{''.join(lines)}", encoding="ascii")
    command = [tools.COMPILER, "-shared", "-O2", "-s", "-static", "-fno-builtin", "-o", library, source, listed, "-lm"]
    subprocess.run([str(word) for word in command], check=True)


def _text(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")
