"""Pictures of every page, light and dark, on a profile of recorded answers; needs neither a model nor a screen.

PYTHONPATH=app python app/bench/screenshots.py [--output app/docs] [--only chat race] [--all] [--rare]
    [--language zh_CN] [--zoom 125] [--size 900 600] [--record chats bench]

`--record` has the installed pair answer (or be measured) in place of the recording, and takes minutes.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from PySide6.QtWidgets import QApplication

from bench.album import Album, open_chat, press
from bench.rare_scenes import RARE_SCENES
from bench.scenes import SCENES, measure, run_race, run_tuning
from bench.showcase import TALKS, USUAL_SIZE, Showcase, install, note_models
from headstart.settings_file import load, save
from headstart.ui.application import make_application
from headstart.ui.translation import Translation

ROOT = Path(__file__).resolve().parents[2]


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
        open_chat(showcase, TALKS[-1].title)
        press(showcase, "race")
        run_race(showcase)
        press(showcase, "stop")
        showcase.settle(lambda: showcase.program.loader.is_ready)  # with the usual numerics again
    for talk in TALKS if "chats" in parts else ():
        open_chat(showcase, talk.title)  # its tokens are counted
    if "bench" in parts:
        press(showcase, "bench")
        measure(showcase)
    if "tune" in parts:
        press(showcase, "tune")
        run_tuning(showcase)
    showcase.program.close()


def _first_start(application: QApplication, given: argparse.Namespace) -> None:
    showcase = Showcase(application, size=given.size)
    Album(showcase, given.output, complete=given.all).take("first-start")
    showcase.program.window.close()


def main() -> None:
    """Take them all, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "app" / "docs")
    parser.add_argument(
        "--only", nargs="+", choices=(*SCENES, *RARE_SCENES, "first-start"), default=(*SCENES, "first-start")
    )
    parser.add_argument("--all", action="store_true", help="also those that are only for looking")
    parser.add_argument("--rare", action="store_true", help="take what is seldom seen, for looking")
    parser.add_argument("--language", choices=("en", "zh_CN", "zh_TW"), default="")
    parser.add_argument("--zoom", type=int, default=100, metavar="PERCENT")
    parser.add_argument("--size", type=int, nargs=2, default=USUAL_SIZE, metavar="PIXELS")
    parser.add_argument("--record", nargs="+", choices=("chats", "bench", "tune"))
    given = parser.parse_args()
    if given.rare:
        given.only, given.all = tuple(RARE_SCENES), True
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    installed = Path(os.environ.get("HEADSTART_HOME", ""))
    with _profile() as home:
        if given.record:
            _record(given.record, installed, home)
            return
        given.output.mkdir(parents=True, exist_ok=True)
        application = make_application()
        save(replace(load(), zoom=given.zoom, language=given.language))
        Translation(application).speak(given.language or "en")
        if "first-start" in given.only:
            _first_start(application, given)
        install()
        showcase = Showcase(application, size=given.size)
        showcase.talk()
        for name, scene in {**SCENES, **RARE_SCENES}.items():
            if name in given.only:
                scene(showcase, Album(showcase, given.output, complete=given.all))
        showcase.program.window.close()


if __name__ == "__main__":
    main()
