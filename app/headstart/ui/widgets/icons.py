"""Icons that are drawn from paths in colours of the palette."""

import functools
from types import MappingProxyType

from PySide6.QtCore import QByteArray, QRect, QSize, Qt
from PySide6.QtGui import QFont, QGuiApplication, QIcon, QIconEngine, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from headstart.ui.widgets.stylesheet import set_style_class
from headstart.ui.widgets.theme import ICON, scaled

# Paths on a grid of 24, stroked with round ends.
_PATHS = MappingProxyType(
    {
        "copy": "M9 9h10v11H9z M5 15V4h10",
        "edit": "M4 20l1-4L16 5l3 3L8 19z M14 7l3 3",
        "regenerate": "M19 8a8 8 0 1 0 1 6 M20 3v5h-5",
        "more": "M5 12h.01 M12 12h.01 M19 12h.01",
        "previous": "M15 5l-7 7 7 7",
        "next": "M9 5l7 7-7 7",
        "folded": "M9 6l6 6-6 6",
        "unfolded": "M6 9l6 6 6-6",
        "down": "M12 4v15 M6 13l6 6 6-6",
        "compare": "M4 5h6.5v14H4z M13.5 5H20v14h-6.5z",
        "new": "M12 5v14 M5 12h14",
        "send": "M12 19V5 M6 11l6-6 6 6",
        "stop": "M6.5 6.5h11v11h-11z M9 9h6v6H9z M11 11h2v2h-2z",
        "attach": "M19.5 11.5l-7.8 7.8a4.6 4.6 0 0 1-6.5-6.5l8.2-8.2a3 3 0 0 1 4.3 4.3l-8 8a1.4 1.4 0 0 1-2-2l7-7",
        "close": "M7 7l10 10 M17 7L7 17",
        "models": "M12 3l8 4.5v9L12 21l-8-4.5v-9z M12 12l8-4.5 M12 12v9 M12 12L4 7.5",
        "sidebar": "M4 5h16v14H4z M9.5 5v14",
        "panel": "M4 7h9 M17 7h3 M13 4.5v5 M4 17h3 M11 17h9 M9 14.5v5",
        "origins": "M4 7h7 M14 7h6 M4 12h12 M4 17h4 M11 17h9",
        "chart": "M4 19V5 M4 19h16 M8 15l4-5 3 3 5-7",
        "up": "M6 15l6-6 6 6",
        "tag": "M4 4h8l8 8-8 8-8-8z M8.5 8.5h.01",
        "project": "M4 6h6l2 2.5h8V19H4z",
        "think": "M9.5 18h5 M10.5 21h3 M9.5 15.5c0-1.3-.6-2-1.4-2.8a5.5 5.5 0 1 1 7.8 0c-.8.8-1.4 1.5-1.4 2.8z",
        "archive": "M4 5h16v4H4z M5.5 9v10h13V9 M10 13h4",
        "bin": "M5 7h14 M9.5 7V4.5h5V7 M7 7l1 12.5h8L17 7 M10.5 11v5 M13.5 11v5",
        "microphone": "M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4z "
        "M6.5 11a5.5 5.5 0 0 0 11 0 M12 16.5V20 M9 20h6",
        "search": "M11 5a6 6 0 1 0 0 12a6 6 0 1 0 0-12z M20 20l-4.7-4.7",
    }
)
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="{path}" fill="none" stroke="{colour}" '
    'stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round" transform="{turn}"/></svg>'
)
_MIRRORED_ICONS = frozenset({"previous", "next", "folded", "sidebar", "origins"})  # for text from right to left
_MIRROR_TRANSFORM = "matrix(-1 0 0 1 24 0)"
_Role = QPalette.ColorRole


class _PaletteIconEngine(QIconEngine):
    """An icon engine that reads its colour from the palette when it paints, so it follows the theme."""

    def __init__(self, name: str, colour: QPalette.ColorRole) -> None:
        super().__init__()
        self._name, self._colour = name, colour
        self._copy: _PaletteIconEngine | None = None

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        scale = painter.device().devicePixelRatioF()
        square = QRect(0, 0, side, side)
        square.moveCenter(rect.center())
        painter.drawPixmap(square, self.pixmap(QSize(side, side) * scale, mode, state))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:  # noqa: ARG002
        palette = QGuiApplication.palette()
        colour = palette.color(self._colour)
        if mode is QIcon.Mode.Disabled:
            colour = palette.color(QPalette.ColorGroup.Disabled, _Role.WindowText)
        mirrored = self._name in _MIRRORED_ICONS and QGuiApplication.isRightToLeft()
        return _pixmap(self._name, colour.name(), min(size.width(), size.height()), mirrored=mirrored)

    def clone(self) -> QIconEngine:
        self._copy = _PaletteIconEngine(self._name, self._colour)  # Qt does not hold objects of Python
        return self._copy


def icon(name: str, colour: QPalette.ColorRole = _Role.PlaceholderText) -> QIcon:
    return _cached_icon(name, colour)


def icon_button(
    name: str, label: str, parent: QWidget, kind: str = "flat", colour: QPalette.ColorRole = _Role.PlaceholderText
) -> QToolButton:
    """Create a button with an icon and the style class `kind`. `label` is its tooltip and accessible name."""
    button = QToolButton(parent)
    button.setIcon(icon(name, colour))
    button.setToolTip(label)
    button.setAccessibleName(label)
    set_style_class(button, kind)
    return button


def show_icon(button: QAbstractButton, name: str, font: QFont) -> None:
    """Set the icon of a button without style sheet, in the size of text in this font."""
    pixels = scaled(ICON, font)
    button.setIconSize(QSize(pixels, pixels))
    button.setIcon(icon(name))


@functools.cache
def _cached_icon(name: str, colour: QPalette.ColorRole) -> QIcon:
    return QIcon(_PaletteIconEngine(name, colour))


@functools.lru_cache(maxsize=128)
def _pixmap(name: str, colour: str, side: int, *, mirrored: bool) -> QPixmap:
    width = 3 if name == "more" else 1.8
    svg = _SVG.format(path=_PATHS[name], colour=colour, width=width, turn=_MIRROR_TRANSFORM if mirrored else "")
    pixmap = QPixmap(side, side)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    return pixmap
