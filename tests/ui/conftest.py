"""Fixtures of the window's tests: no screen is needed, and an engine that has no model."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from headstart.engine.engine import LoadOptions
from headstart.engine.supervision import program
from headstart.ui.engine_link import EngineLink

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")  # before pytest-qt makes the application


@pytest.fixture
def link(qtbot: QtBot) -> Iterator[EngineLink]:
    """A link to a toy engine of 10 ms a round; nothing is started yet."""
    link = EngineLink(program("--toy", "--pace", "0.01"))
    yield link
    link.close()


@pytest.fixture
def loaded_link(qtbot: QtBot, link: EngineLink) -> EngineLink:
    """The same with a toy model in it."""
    with qtbot.waitSignal(link.loaded, timeout=20_000):
        link.load(LoadOptions(Path("toy")))
    return link
