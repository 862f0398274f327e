"""The icon in the sizes of desktops: `SVG ICO`, or `SVG FOLDER` of an icon theme."""

import os
import struct
import sys
from pathlib import Path

MENU_SIZES = (48, 128, 256)
ICO_SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
_HEAD, _ENTRY = struct.Struct("<HHH"), struct.Struct("<BBBBHHII")


def main(svg: Path, target: Path) -> None:
    """Write an .ico file with all sizes, or THEME/48x48/apps/NAME.png and the larger sizes."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice  # noqa: PLC0415 - after the platform is chosen
    from PySide6.QtGui import QGuiApplication, QIcon  # noqa: PLC0415

    application = QGuiApplication([])
    assert application
    icon = QIcon(str(svg))

    def to_png(size: int) -> bytes:
        data = QByteArray()
        buffer = QBuffer(data)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        icon.pixmap(size, size).save(buffer, "PNG")
        return bytes(data.data())

    if target.suffix == ".ico":
        target.write_bytes(to_ico([to_png(size) for size in ICO_SIZES]))
        return
    for size in MENU_SIZES:
        path = target / f"{size}x{size}" / "apps" / f"{svg.stem}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(to_png(size))


def to_ico(images: list[bytes]) -> bytes:
    """Return an .ico file of PNGs, one for each of `ICO_SIZES`."""
    offset = _HEAD.size + _ENTRY.size * len(ICO_SIZES)
    entries = []
    for size, png in zip(ICO_SIZES, images, strict=True):
        entries.append(_ENTRY.pack(size % 256, size % 256, 0, 0, 1, 32, len(png), offset))  # 256 is written as 0
        offset += len(png)
    return _HEAD.pack(0, 1, len(ICO_SIZES)) + b"".join((*entries, *images))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
