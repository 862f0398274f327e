"""Takes pictures of the window, light and dark, with what stands in front of it. Knows no page."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter, QPixmap
from PySide6.QtWidgets import QDialog, QMenu, QScrollArea, QWidget

from bench.showcase import Showcase

# The others are for looking.
KEPT = (
    "first-start", "chat", "panel", "new-chat", "search", "models", "benchmark", "tune", "race", "preferences",
    "palette", "large", "chinese",
)  # fmt: skip
_COLOURS = 256  # of a picture that is kept: a palette makes it a third as large
_SHADE = 90  # of 255: how dark the window is behind a dialog
_Dialog = TypeVar("_Dialog", bound=QDialog)
Scene = Callable[[Showcase, "Album"], None]


class Album:
    """Takes the pictures, each twice."""

    def __init__(self, showcase: Showcase, folder: Path, *, complete: bool) -> None:
        """`folder` gets them: all, or those that are kept."""
        self._showcase, self._folder, self._complete = showcase, folder, complete

    def take(self, name: str, prepare: Callable[[], object] = list) -> None:
        """The window with what stands before it, in both themes; `prepare` is done for each."""
        for theme, ending in (("light", ""), ("dark", "-dark")):
            self._showcase.program.change(theme=theme)
            prepare()
            for _ in range(2):  # what is laid out may ask for another layout
                self._showcase.settle()
            if self._complete or name in KEPT:
                self.save(name + ending, _seen(self._showcase.program.window))

    def save(self, name: str, picture: QPixmap) -> None:
        """One file."""
        path = self._folder / f"{name}.png"
        writer = QImageWriter(str(path), b"png")
        writer.setCompression(100)
        assert writer.write(_with_palette(picture.toImage())), writer.errorString()
        print(f"{path.name}: {path.stat().st_size // 1024} KB")


def open_chat(showcase: Showcase, title: str) -> None:
    """The chat of this title."""
    found = next(each for each in showcase.program.store.chats() if each.title == title)
    showcase.program.chats.open(found.id)
    showcase.settle()


def press(showcase: Showcase, *commands: str) -> None:
    """Do these commands of the menus."""
    for name in commands:
        showcase.program.window.actions_by_name[name].trigger()
        showcase.settle()


def scroll_to(page: QWidget, share: float) -> None:
    """How far down a page, from 0 to 1."""
    area = page.findChild(QScrollArea)
    assert area
    area.verticalScrollBar().setValue(round(area.verticalScrollBar().maximum() * share))


def dialog_of(showcase: Showcase, kind: type[_Dialog]) -> _Dialog:
    """The one that is open."""
    return next(each for each in showcase.program.window.findChildren(kind) if each.isVisible())


def _seen(window: QWidget) -> QPixmap:
    """The window, and dimmed behind the dialog in front of it where there is one."""
    picture = window.grab()
    fronts = [each for kind in (QDialog, QMenu) for each in window.findChildren(kind) if each.isVisible()]
    if not fronts:
        return picture
    front = fronts[-1].grab()
    painter = QPainter(picture)
    room, taken = picture.deviceIndependentSize(), front.deviceIndependentSize()
    painter.fillRect(QRectF(QPointF(), room), QColor(0, 0, 0, _SHADE))
    painter.drawPixmap(QPointF((room.width() - taken.width()) // 2, (room.height() - taken.height()) // 2), front)
    painter.end()
    return picture


def _with_palette(image: QImage) -> QImage:
    """The same with the colours that occur most, and for the rest the nearest of them."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(plain.constBits(), np.uint32).reshape(plain.height(), plain.width())
    colours, place, count = np.unique(pixels, return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(count)[::-1][:_COLOURS])
    parts = colours.view(np.uint8).reshape(-1, 4)[:, :3].astype(np.int32)  # [colours, 3]
    nearest = np.empty(len(colours), np.uint8)
    for start in range(0, len(colours), 512):
        distance = ((parts[start : start + 512, None] - parts[None, kept]) ** 2).sum(axis=2)
        nearest[start : start + 512] = distance.argmin(axis=1)
    rows = np.ascontiguousarray(nearest[place].reshape(pixels.shape))
    made = QImage(rows.data, plain.width(), plain.height(), plain.width(), QImage.Format.Format_Indexed8)
    made.setColorTable([int(colour) for colour in colours[kept]])
    return made.copy()
