"""A window on a profile of its own, for measurements."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtWidgets import QApplication

from headstart import paths
from headstart.chat.store import open_store
from headstart.engine.engine import LoadOptions
from headstart.settings import Settings
from headstart.ui.engine_request import Loadable
from headstart.ui.program import EngineChoice, Program

HOME = "HEADSTART_HOME"


def toy_model(_settings: Settings) -> Loadable:
    """What is loaded where a toy stands in the place of models."""
    return Loadable("toy", LoadOptions(Path("toy")))


@contextmanager
def opened(application: QApplication, engine: EngineChoice | None = None) -> Iterator[Program]:
    """The window with its chat page, on the profile in $HEADSTART_HOME."""
    program = Program(application, open_store(paths.history_folder()), engine)
    program.start()
    program.window.show()
    program.window.show_page(program.window.chat)
    try:
        yield program
    finally:
        program.window.close()


@contextmanager
def own_home(models: Path | None = None) -> Iterator[Path]:
    """A folder for chats and settings that are thrown away, with the installed models where they are needed."""
    with tempfile.TemporaryDirectory(prefix="headstart-bench-") as folder:
        if models:
            (Path(folder) / models.name).symlink_to(models)
        with home(Path(folder)):
            yield Path(folder)


@contextmanager
def home(folder: Path) -> Iterator[None]:
    """A folder that is the profile meanwhile."""
    before = os.environ.get(HOME)
    os.environ[HOME] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(HOME)
        if before is not None:
            os.environ[HOME] = before
