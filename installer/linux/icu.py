"""ICU's data as Qt needs it: a smaller library in place of the one beside Qt, which has the data for all of ICU."""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from installer import contents

_MAGIC = b"\xda\x27"  # after a length of two bytes, at the start of the data
_FORMAT = b"CmnD\x01"  # a table of contents: names and places, counted from its start
_ALIGNMENT = 16
_SOURCE = """\
.section .rodata
.balign 4096
.globl {symbol}
.type {symbol}, @object
.size {symbol}, {size}
{symbol}:
.incbin "data"
.section .note.GNU-stack,"",@progbits
"""


class IcuDataError(ValueError):
    """The library does not hold data in the form that is known here."""


def trim(library: Path) -> None:
    """Replace libicudata.so.VERSION by one with the wanted data. Raises IcuDataError and CalledProcessError."""
    data = wanted_data(library.read_bytes())
    symbol = f"icudt{library.suffix.removeprefix('.')}_dat"
    with tempfile.TemporaryDirectory() as work:
        Path(work, "data").write_bytes(data)
        Path(work, "data.S").write_text(_SOURCE.format(symbol=symbol, size=len(data)), encoding="ascii")
        flags = ["-shared", "-nostdlib", "-s", "-Wl,--build-id=none", f"-Wl,-soname,{library.name}"]
        command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17", *flags, "data.S"]
        subprocess.run([*command, "-o", library.name], cwd=work, check=True)
        library.write_bytes(Path(work, library.name).read_bytes())


def wanted_data(library: bytes) -> bytes:
    """Return the data of a library without the items that are not wanted."""
    start = library.find(_MAGIC) - 2
    table = start + (struct.unpack_from("<H", library, start)[0] if start >= 0 else 0)
    if library[start + 12 : start + 17] != _FORMAT:
        raise IcuDataError("the library does not begin with a table of contents of form 1")
    (count,) = struct.unpack_from("<I", library, table)
    places = [struct.unpack_from("<II", library, table + 4 + 8 * index) for index in range(count)]
    ends = [place for _, place in places[1:]] + [len(library) - table]
    kept = []
    for (name_at, begin), end in zip(places, ends, strict=True):
        name = library[table + name_at : library.index(b"\0", table + name_at)]
        if contents.is_wanted_unicode(name.decode("ascii").partition("/")[2]):
            kept.append((name + b"\0", library[table + begin : table + end]))
    return library[start:table] + _table(kept)


def _table(items: list[tuple[bytes, bytes]]) -> bytes:
    """Return the table of contents of these names and their data, with the data behind it."""
    name_at = 4 + 8 * len(items)
    names, blocks = b"".join(name for name, _ in items), []
    begin = _aligned(name_at + len(names))
    entries = struct.pack("<I", len(items))
    for name, data in items:
        entries += struct.pack("<II", name_at, begin)
        blocks.append(data.ljust(_aligned(len(data)), b"\0"))
        name_at, begin = name_at + len(name), begin + len(blocks[-1])
    return (entries + names).ljust(begin - sum(map(len, blocks)), b"\0") + b"".join(blocks)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
