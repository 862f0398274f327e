"""Pictures of every page, light and dark, on a profile of recorded answers; needs neither a model nor a screen.

PYTHONPATH=app python app/bench/screenshots.py [--output app/docs] [--only chat race] [--all] [--record chats bench]

`--record` has the installed pair answer (or be measured) in place of the recording, and takes minutes.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from bench.showcase import SIZE, TALKS, Showcase, install, note_models
from headstart.settings_file import load
from headstart.ui.application import make_application
from headstart.ui.command_palette import CommandPalette
from headstart.ui.preferences import Preferences
from headstart.ui.translation import Translation

ROOT = Path(__file__).resolve().parents[2]
_COLOURS = 256  # of a picture that is kept: a palette makes it a third as large
_SHOWN = 3  # the page of the preferences that is kept: guessing ahead
_SHADE = 90  # of 255: how dark the window is behind a dialog


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


_Dialog = TypeVar("_Dialog", bound=QDialog)
Scene = Callable[[Showcase, Album], None]


def chat(showcase: Showcase, album: Album) -> None:
    """Code with token colours and live figures, as the answer ends."""
    window, program = showcase.program.window, showcase.program
    _open(showcase, TALKS[-1].title)
    _press(showcase, "origins", "live", "regenerate")
    showcase.settle(lambda: not program.presenter.session.is_answering)
    window.chat.notice.hide()
    album.take("chat")
    _press(showcase, "origins", "live", "panel")
    album.take("panel")
    _press(showcase, "panel")


def text(showcase: Showcase, album: Album) -> None:
    """A table."""
    _open(showcase, TALKS[2].title)
    album.take("table")


def empty(showcase: Showcase, album: Album) -> None:
    """A new chat."""
    _press(showcase, "new")
    album.take("new-chat")


def search(showcase: Showcase, album: Album) -> None:
    """Hits in all chats, and one of them opened."""
    sidebar = showcase.program.window.sidebar
    sidebar.search.setText("tuple")
    showcase.settle()
    listing = sidebar.list
    listing.setCurrentIndex(listing.model().index(2, 0))  # below the heading and the title that was found
    listing.clicked.emit(listing.currentIndex())
    album.take("search")
    sidebar.search.clear()


def models(showcase: Showcase, album: Album) -> None:
    """What is installed."""
    _press(showcase, "models")
    album.take("models")
    _press(showcase, "stop")


def bench(showcase: Showcase, album: Album) -> None:
    """The last result."""
    _press(showcase, "bench")
    _measure(showcase)
    album.take("benchmark")
    _press(showcase, "stop")


def tune(showcase: Showcase, album: Album) -> None:
    """What tuning found, and why."""
    _press(showcase, "tune")
    album.take("tune-before")
    _tune(showcase)
    album.take("tune")
    _press(showcase, "stop")


def race(showcase: Showcase, album: Album) -> None:
    """Both lanes at their end, with the proof."""
    _press(showcase, "race")
    _race(showcase)
    album.take("race")
    _press(showcase, "stop")
    showcase.settle(lambda: showcase.program.loader.is_ready)


def preferences(showcase: Showcase, album: Album) -> None:
    """Each page of them."""
    _press(showcase, "preferences")
    dialog = _dialog(showcase, Preferences)
    for page in range(dialog.list.count()):
        dialog.list.setCurrentRow(page)
        album.take("preferences" if page == _SHOWN else f"preferences-{page + 1}")
    dialog.close()


def palette(showcase: Showcase, album: Album) -> None:
    """What "chat" finds."""

    def ask() -> None:
        for before in showcase.program.window.findChildren(CommandPalette):
            before.close()
        _press(showcase, "palette")
        _dialog(showcase, CommandPalette).field.setText("chat")

    album.take("palette", ask)
    _dialog(showcase, CommandPalette).close()


def windows(showcase: Showcase, album: Album) -> None:
    """Those beside the window."""
    for name in ("about", "logs", "shortcuts", "prompts"):
        _press(showcase, name)
        album.take(name)
        _dialog(showcase, QDialog).close()
        showcase.settle()


def large(showcase: Showcase, album: Album) -> None:
    """Everything a quarter larger."""
    _open(showcase, TALKS[-1].title)
    _press(showcase, "panel")
    showcase.program.change(zoom=125)
    album.take("large")
    showcase.program.change(zoom=100)
    _press(showcase, "panel")


def narrow(showcase: Showcase, album: Album) -> None:
    """A small window."""
    window = showcase.program.window
    _press(showcase, "sidebar")
    window.resize(640, 720)
    for name in ("models", "race", "bench", "write"):
        _press(showcase, name)
        album.take(f"narrow-{name}")
    window.resize(1180, 780)
    _press(showcase, "sidebar")


def chinese(showcase: Showcase, album: Album) -> None:
    """The same in Simplified Chinese."""
    showcase.program.change(language="zh_CN")
    translation = Translation(make_application())
    translation.speak("zh_CN")
    showcase.reopen()
    _open(showcase, TALKS[1].title)
    _press(showcase, "panel")
    album.take("chinese")
    _press(showcase, "panel", "models")
    album.take("chinese-models")
    _press(showcase, "stop", "preferences")
    album.take("chinese-preferences")
    _dialog(showcase, QDialog).close()
    showcase.program.change(language="en")
    translation.speak("en")
    showcase.reopen()


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        chat,
        text,
        empty,
        search,
        models,
        bench,
        tune,
        race,
        preferences,
        palette,
        windows,
        large,
        narrow,
        chinese,
    )
}
# The others are for looking.
KEPT = (
    "first-start", "chat", "panel", "new-chat", "search", "models", "benchmark", "tune", "race", "preferences",
    "palette", "large", "chinese",
)  # fmt: skip


def _open(showcase: Showcase, title: str) -> None:
    found = next(each for each in showcase.program.store.chats() if each.title == title)
    showcase.program.chats.open(found.id)
    showcase.settle()


def _press(showcase: Showcase, *commands: str) -> None:
    for name in commands:
        showcase.program.window.actions_by_name[name].trigger()
        showcase.settle()


def _dialog(showcase: Showcase, kind: type[_Dialog]) -> _Dialog:
    return next(each for each in showcase.program.window.findChildren(kind) if each.isVisible())


def _measure(showcase: Showcase) -> None:
    page = showcase.program.window.bench
    page.form.prompts.setValue(SIZE.prompts)
    page.form.tokens.setValue(SIZE.tokens)
    page.form.repeats.setValue(SIZE.repeats)
    page.form.peer.setChecked(SIZE.with_peer)
    page.start_requested.emit(page.form.size_wanted())
    showcase.settle(lambda: not showcase.program.loader.occupation)


def _tune(showcase: Showcase) -> None:
    page = showcase.program.window.tune
    page.start_requested.emit(page.seconds.value())
    showcase.settle(lambda: not showcase.program.loader.occupation and showcase.program.loader.is_ready)


def _race(showcase: Showcase) -> None:
    page = showcase.program.window.race
    page.start_requested.emit(page.form.wish())
    showcase.settle(lambda: not showcase.program.loader.occupation)
    page.stop_requested.emit()  # the replay: to its end


def _seen(window: QWidget) -> QPixmap:
    """The window, and dimmed behind the dialog in front of it where there is one."""
    picture = window.grab()
    fronts = [each for each in window.findChildren(QDialog) if each.isVisible()]
    if not fronts:
        return picture
    front = fronts[-1].grab()
    painter = QPainter(picture)
    painter.fillRect(picture.rect(), QColor(0, 0, 0, _SHADE))
    corner = QPoint((picture.width() - front.width()) // 2, (picture.height() - front.height()) // 2)
    painter.drawPixmap(corner, front)
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


@contextmanager
def _profile() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headstart-pictures-") as folder:
        home = Path(folder) / ".local" / "share" / "headstart"
        home.mkdir(parents=True)
        os.environ |= {"HOME": folder, "HEADSTART_HOME": str(home)}  # paths are shown, and shall look as they do
        yield home


def _record(parts: list[str], installed: Path, home: Path) -> None:
    """Run the scenes that need answers with the real engine."""
    (home / "models").symlink_to(installed / "models")
    shutil.copytree(installed / "measured", home / "measured")
    note_models()
    showcase = Showcase(make_application(), record=True)
    if "chats" in parts:
        showcase.talk()
        _open(showcase, TALKS[-1].title)
        _press(showcase, "race")
        _race(showcase)
    for talk in TALKS if "chats" in parts else ():
        _open(showcase, talk.title)  # its tokens are counted
    if "bench" in parts:
        _press(showcase, "bench")
        _measure(showcase)
    if "tune" in parts:
        _press(showcase, "tune")
        _tune(showcase)
    showcase.program.close()


def _first_start(application: QApplication, given: argparse.Namespace) -> None:
    showcase = Showcase(application)
    Album(showcase, given.output, complete=given.all).take("first-start")
    showcase.program.window.close()


def main() -> None:
    """Take them all, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "app" / "docs")
    parser.add_argument("--only", nargs="+", choices=(*SCENES, "first-start"), default=(*SCENES, "first-start"))
    parser.add_argument("--all", action="store_true", help="also those that are only for looking")
    parser.add_argument("--record", nargs="+", choices=("chats", "bench", "tune"))
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    installed = Path(os.environ.get("HEADSTART_HOME", ""))
    with _profile() as home:
        if given.record:
            _record(given.record, installed, home)
            return
        given.output.mkdir(parents=True, exist_ok=True)
        application = make_application()
        Translation(application).speak(load().language or "en")
        if "first-start" in given.only:
            _first_start(application, given)
        install()
        showcase = Showcase(application)
        showcase.talk()
        for name, scene in SCENES.items():
            if name in given.only:
                scene(showcase, Album(showcase, given.output, complete=given.all))
        showcase.program.window.close()


if __name__ == "__main__":
    main()
