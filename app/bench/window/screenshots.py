"""Pictures for the README, light and dark, on a profile of recorded answers; needs neither a model nor a screen.

PYTHONPATH=app python app/bench/window/screenshots.py [--output app/docs] [--only chat race]
PYTHONPATH=app python app/bench/window/screenshots.py --animate
PYTHONPATH=app python app/bench/window/screenshots.py --record chats bench tune

Needs Pillow (extra `plots`). `--animate` films an answer at the speed at which it was recorded, into `chat.webp`.
`--record` has the installed pair answer (or be measured) in place of the recording, and takes minutes.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from PySide6.QtCore import QPointF, QRectF, QTimer
from PySide6.QtGui import QColor, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QDialog, QScrollArea, QWidget

from bench.window.showcase import SIZE, TALKS, Showcase, install, note_models
from headstart.ui.application import make_application
from headstart.ui.settings.preferences_dialog import PreferencesDialog
from headstart.ui.translation import Translation

ROOT = Path(__file__).resolve().parents[3]
_GUESSING_AHEAD = 4  # the page of the preferences that is shown
_COLOURS = 256  # of a picture: a palette makes it a third as large
_FRAME_MS, _LAST_MS = 100, 4000  # of a film: between two frames, and how long the last one stays
_QUALITY = 60  # of its frames
_SHADE = 90  # of 255: how dark the window is behind a dialog
_Take = Callable[[str], None]


def chat(showcase: Showcase, take: _Take) -> None:
    """Take code with token colours and live figures, at the end of an answer."""
    program = showcase.program
    _open_chat(showcase, TALKS[-1].title)
    _press(showcase, "origins", "live", "regenerate")
    showcase.settle(lambda: not program.chat_controller.session.is_answering)
    program.window.chat.notice.hide()
    take("chat")
    _press(showcase, "origins", "live")


def search(showcase: Showcase, take: _Take) -> None:
    """Take hits in all chats, and one of them opened."""
    sidebar = showcase.program.window.sidebar
    sidebar.search.setText("tuple")
    showcase.settle()
    listing = sidebar.list
    listing.setCurrentIndex(listing.model().index(2, 0))  # below the heading and the title that was found
    listing.clicked.emit(listing.currentIndex())
    take("search")
    sidebar.search.clear()


def models(showcase: Showcase, take: _Take) -> None:
    """Take the installed models."""
    _press(showcase, "models")
    take("models")
    _press(showcase, "stop")


def bench(showcase: Showcase, take: _Take) -> None:
    """Take the last benchmark."""
    _measure(showcase)
    area = showcase.program.bench.page.findChild(QScrollArea)
    assert area
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum() // 2)
    take("benchmark")
    _press(showcase, "stop")


def tune(showcase: Showcase, take: _Take) -> None:
    """Take the results of tuning, with the reasons."""
    _tune(showcase)
    take("tune")
    _press(showcase, "stop")


def race(showcase: Showcase, take: _Take) -> None:
    """Take both lanes at their end, with the comparison."""
    _race(showcase)
    take("race")
    _press(showcase, "stop")
    showcase.settle(lambda: showcase.program.loader.is_ready)


def preferences(showcase: Showcase, take: _Take) -> None:
    """Take the settings of speculation."""
    _press(showcase, "preferences")
    dialog = next(each for each in showcase.program.window.findChildren(PreferencesDialog) if each.isVisible())
    dialog.list.setCurrentRow(_GUESSING_AHEAD)
    take("preferences")
    dialog.close()


def chinese(showcase: Showcase, take: _Take) -> None:
    """Take a chat in Simplified Chinese."""
    translation = Translation(make_application())
    for language in ("zh_CN", "en"):
        showcase.program.settings.change(language=language)
        translation.install(language)
        showcase.reopen()
        if language == "zh_CN":
            _open_chat(showcase, TALKS[1].title)
            _press(showcase, "panel")
            take("chinese")
            _press(showcase, "panel")


SCENES = {scene.__name__: scene for scene in (chat, search, models, bench, tune, race, preferences, chinese)}


def main() -> None:
    """Take all pictures, or the named ones."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "app" / "docs")
    parser.add_argument("--only", nargs="+", choices=SCENES, default=tuple(SCENES))
    parser.add_argument("--record", nargs="+", choices=("chats", "bench", "tune"))
    parser.add_argument("--animate", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    installed = Path(os.environ.get("HEADSTART_HOME", ""))
    with _profile() as home:
        if given.record:
            _record(given.record, installed, home)
            return
        given.output.mkdir(parents=True, exist_ok=True)
        install()
        showcase = Showcase(make_application())
        showcase.talk()
        if given.animate:
            _film(showcase, given.output / "chat.webp")
            return
        for name in given.only:
            SCENES[name](showcase, lambda picture: _take(showcase, given.output / picture))
        showcase.program.window.close()


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
    showcase = Showcase(make_application(), "record")
    if "chats" in parts:
        showcase.talk()
        _open_chat(showcase, TALKS[-1].title)
        race(showcase, lambda _: None)
        for talk in TALKS:
            _open_chat(showcase, talk.title)  # its tokens are counted
    if "bench" in parts:
        _measure(showcase)
    if "tune" in parts:
        _tune(showcase)
    showcase.program.close()


def _open_chat(showcase: Showcase, title: str) -> None:
    found = next(each for each in showcase.program.store.chats() if each.title == title)
    showcase.program.chats.open(found.id)
    showcase.settle()


def _press(showcase: Showcase, *commands: str) -> None:
    """Trigger these commands of the menus."""
    for name in commands:
        showcase.program.window.actions_by_name[name].trigger()
        showcase.settle()


def _measure(showcase: Showcase) -> None:
    """Run a small benchmark to its end."""
    _press(showcase, "bench")
    page = showcase.program.bench.page
    page.form.extent.setCurrentIndex(1)
    page.form.prompts.setValue(SIZE.prompts)
    page.form.tokens.setValue(SIZE.tokens)
    page.form.repeats.setValue(SIZE.repeats)
    page.form.peer.setChecked(SIZE.with_peer)
    page.start.click()
    showcase.settle(lambda: not showcase.program.loader.occupation)


def _tune(showcase: Showcase) -> None:
    """Tune, and wait until the tuned model is loaded."""
    _press(showcase, "tune")
    page = showcase.program.tune.page
    page.start.click()
    showcase.settle(lambda: not showcase.program.loader.occupation and showcase.program.loader.is_ready)


def _race(showcase: Showcase) -> None:
    """Race both lanes, and play their replay to the end."""
    _press(showcase, "race")
    page = showcase.program.race.page
    page.start.click()
    showcase.settle(lambda: not showcase.program.loader.occupation)
    page.stop.click()  # the replay: to its end


def _film(showcase: Showcase, path: Path) -> None:
    """Film the window while the last answer of the last chat is written again, with marks and live figures."""
    showcase.reopen("replay")
    _open_chat(showcase, TALKS[-1].title)
    _press(showcase, "origins", "live")
    session, window = showcase.program.chat_controller.session, showcase.program.window
    frames: list[Image.Image] = []
    timer = QTimer(interval=_FRAME_MS)
    timer.timeout.connect(lambda: frames.append(_picture(window.grab())))
    window.actions_by_name["regenerate"].trigger()
    timer.start()
    showcase.settle(lambda: not session.is_answering)
    timer.stop()
    last = _picture(window.grab())
    durations = [_FRAME_MS] * len(frames) + [_LAST_MS]
    first, *others = (*frames, last)
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=_QUALITY, method=6)
    window.close()


def _take(showcase: Showcase, path: Path) -> None:
    """Save the window and its front dialog in both themes."""
    for theme, ending in (("light", ""), ("dark", "-dark")):
        showcase.program.settings.change(theme=theme)
        for _ in range(2):  # what is laid out may ask for another layout
            showcase.settle()
        seen = _picture(_seen(showcase.program.window))
        colours, count = np.unique(np.asarray(seen).reshape(-1, 3), axis=0, return_counts=True)
        palette = Image.new("P", (1, 1))
        palette.putpalette(colours[np.argsort(count)[-_COLOURS:]].tobytes())
        seen.quantize(palette=palette, dither=Image.Dither.NONE).save(f"{path}{ending}.png", optimize=True)


def _seen(window: QWidget) -> QPixmap:
    """Return a picture of the window, dimmed behind its front dialog if there is one."""
    picture = window.grab()
    fronts = [each for each in window.findChildren(QDialog) if each.isVisible()]
    if fronts:
        front = fronts[-1].grab()
        painter = QPainter(picture)
        room, taken = picture.deviceIndependentSize(), front.deviceIndependentSize()
        painter.fillRect(QRectF(QPointF(), room), QColor(0, 0, 0, _SHADE))
        painter.drawPixmap(QPointF((room.width() - taken.width()) // 2, (room.height() - taken.height()) // 2), front)
        painter.end()
    return picture


def _picture(seen: QPixmap) -> Image.Image:
    image = seen.toImage().convertToFormat(QImage.Format.Format_RGB888)
    size = (image.width(), image.height())
    return Image.frombytes("RGB", size, bytes(image.constBits()), "raw", "RGB", image.bytesPerLine())


if __name__ == "__main__":
    main()
