"""Draws the icon as Windows wants it: `SVG ICO`. Knows no package."""

import os
import struct
import sys
from pathlib import Path

SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
_HEAD, _ENTRY = struct.Struct("<HHH"), struct.Struct("<BBBBHHII")


def main(svg: Path, ico: Path) -> None:
    """Write all sizes into one file."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice  # noqa: PLC0415 - after the platform is chosen
    from PySide6.QtGui import QGuiApplication, QIcon  # noqa: PLC0415

    application = QGuiApplication([])
    assert application
    icon, drawn = QIcon(str(svg)), []
    for size in SIZES:
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        icon.pixmap(size, size).save(buffer, "PNG")
        drawn.append(bytes(data.data()))
    ico.write_bytes(joined(drawn))


def joined(drawn: list[bytes]) -> bytes:
    """The file, of a PNG for each of SIZES."""
    place = _HEAD.size + _ENTRY.size * len(SIZES)
    entries = []
    for size, png in zip(SIZES, drawn, strict=True):
        entries.append(_ENTRY.pack(size % 256, size % 256, 0, 0, 1, 32, len(png), place))  # 256 is written as 0
        place += len(png)
    return _HEAD.pack(0, 1, len(SIZES)) + b"".join((*entries, *drawn))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
