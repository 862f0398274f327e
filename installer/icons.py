"""Draws the icon in the sizes that desktops want: `SVG ICO`, or `SVG FOLDER` of an icon theme."""

import os
import struct
import sys
from pathlib import Path

OF_MENUS = (48, 128, 256)
OF_WINDOWS = (16, 20, 24, 32, 40, 48, 64, 128, 256)
_HEAD, _ENTRY = struct.Struct("<HHH"), struct.Struct("<BBBBHHII")


def main(svg: Path, target: Path) -> None:
    """Write one file with all sizes for Windows, or theme/48x48/apps/NAME.png and its larger sisters."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice  # noqa: PLC0415 - after the platform is chosen
    from PySide6.QtGui import QGuiApplication, QIcon  # noqa: PLC0415

    application = QGuiApplication([])
    assert application
    icon = QIcon(str(svg))

    def drawn(size: int) -> bytes:
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        icon.pixmap(size, size).save(buffer, "PNG")
        return bytes(data.data())

    if target.suffix == ".ico":
        target.write_bytes(joined([drawn(size) for size in OF_WINDOWS]))
        return
    for size in OF_MENUS:
        path = target / f"{size}x{size}" / "apps" / f"{svg.stem}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawn(size))


def joined(drawn: list[bytes]) -> bytes:
    """The file for Windows, of a PNG for each of its sizes."""
    place = _HEAD.size + _ENTRY.size * len(OF_WINDOWS)
    entries = []
    for size, png in zip(OF_WINDOWS, drawn, strict=True):
        entries.append(_ENTRY.pack(size % 256, size % 256, 0, 0, 1, 32, len(png), place))  # 256 is written as 0
        place += len(png)
    return _HEAD.pack(0, 1, len(OF_WINDOWS)) + b"".join((*entries, *drawn))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
