"""Draws the icon in the sizes that menus want: `SVG FOLDER`, the folder of an icon theme. Knows no package."""

import os
import sys
from pathlib import Path

SIZES = (48, 128, 256)


def main(svg: Path, theme: Path) -> None:
    """Write theme/48x48/apps/NAME.png and its larger sisters."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication, QIcon  # noqa: PLC0415 - after the platform is chosen

    application = QGuiApplication([])
    assert application
    icon = QIcon(str(svg))
    for size in SIZES:
        path = theme / f"{size}x{size}" / "apps" / f"{svg.stem}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not icon.pixmap(size, size).save(str(path)):
            raise SystemExit(f"{path} cannot be written")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
