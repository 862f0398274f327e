"""Icons drawn from paths in the colours of the theme; knows no widget."""

import functools
from types import MappingProxyType

from PySide6.QtCore import QByteArray, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from headstart.ui.theme import ICON

# Paths on a grid of 24, stroked with round ends.
_PATHS = MappingProxyType(
    {
        "copy": "M9 9h10v11H9z M5 15V4h10",
        "edit": "M4 20l1-4L16 5l3 3L8 19z M14 7l3 3",
        "send": "M4 12L20 4l-5 16-3-7z M12 13l8-9",
        "stop": "M7 7h10v10H7z",
        "regenerate": "M19 8a8 8 0 1 0 1 6 M20 3v5h-5",
        "more": "M5 12h.01 M12 12h.01 M19 12h.01",
        "previous": "M15 5l-7 7 7 7",
        "next": "M9 5l7 7-7 7",
        "folded": "M9 6l6 6-6 6",
        "unfolded": "M6 9l6 6 6-6",
        "down": "M12 4v15 M6 13l6 6 6-6",
    }
)
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="{path}" fill="none" stroke="{colour}" '
    'stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
NAMES = tuple(_PATHS)


@functools.lru_cache(maxsize=128)
def icon(name: str, colour: str) -> QIcon:
    """The icon of this name in a "#rrggbb" colour, sharp at up to 300 % scaling."""
    svg = _SVG.format(path=_PATHS[name], colour=colour, width=3 if name == "more" else 1.8)
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    made = QIcon()
    for scale in (1, 2, 3):
        pixmap = QPixmap(QSize(ICON, ICON) * scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        pixmap.setDevicePixelRatio(scale)
        made.addPixmap(pixmap)
    return made
