"""Fixtures of the window's tests: no screen is needed, and an engine that has no model."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QLocale
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart.chat.history.store import open_store
from headstart.engine.engine import LoadOptions
from headstart.engine.process import session
from headstart.engine.protocol import Order
from headstart.ui.engine_link import EngineLink
from headstart.ui.engine_request import Find
from headstart.ui.program import EngineSource, Program
from headstart.ui.translation import Translation
from tests.ui.engine_in_process import engine_process, note_orders
from tests.ui.person import WAIT

Speak = Callable[[str], object]


@pytest.fixture(autouse=True)
def english() -> None:
    """Format numbers as the tests expect them, everywhere."""
    QLocale.setDefault(QLocale("en_US"))


@pytest.fixture(autouse=True)
def engine_in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A toy engine lives in the test's process unless the test is marked: `@pytest.mark.engine_process`."""
    if not request.node.get_closest_marker("engine_process"):
        monkeypatch.setattr(session, "EngineProcess", engine_process)


@pytest.fixture
def speak(qapp: QApplication) -> Iterator[Speak]:
    """A function that switches the language of windows created afterwards."""
    translation = Translation(qapp)
    yield translation.install
    translation.remove()
    QLocale.setDefault(QLocale("en_US"))


@pytest.fixture
def link(qtbot: QtBot) -> Iterator[EngineLink]:
    """A link to a toy engine with 10 ms a round, not yet started."""
    link = EngineLink((*PROGRAM, "--pace", "0.01"))
    yield link
    link.close()


@pytest.fixture
def loaded_link(qtbot: QtBot, link: EngineLink) -> EngineLink:
    """An engine link with a toy model."""
    with qtbot.waitSignal(link.loaded, timeout=60_000):
        link.load(LoadOptions(Path("toy")))
    return link


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Order]:
    """The later orders to the engine."""
    return note_orders(monkeypatch)


@pytest.fixture
def history(headstart_home: Path) -> Path:
    """The folder of the chats."""
    return headstart_home / "history"


@pytest.fixture
def open_program(qtbot: QtBot, history: Path, new_history: Callable[[Path], None]) -> Iterator[Callable[..., Program]]:
    """A function that opens the window on the history with a toy engine; a second call is a restart."""
    opened: list[Program] = []

    def start(
        pace: float = 0.0, find: Find = toy_model, *, loaded: bool = True, engine: EngineSource | None = None
    ) -> Program:
        for before in opened:
            before.window.close()
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        if not history.exists():
            new_history(history)
        toy = EngineSource((*PROGRAM, "--pace", str(pace)), find)
        opened.append(Program(application, open_store(history), engine or toy))
        opened[-1].start()
        opened[-1].window.show()
        qtbot.waitUntil(lambda: opened[-1].loader.is_ready or not loaded, timeout=WAIT)
        return opened[-1]

    yield start
    for each in opened:
        each.window.close()
        each.window.deleteLater()
        each.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def app(open_program: Callable[..., Program]) -> Program:
    """The window with a toy engine that answers at once."""
    return open_program()
