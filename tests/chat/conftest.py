"""An empty history."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headstart.chat.history.store import Store, open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the history."""
    return tmp_path / "history"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    """The open history."""
    with closing(open_store(folder)) as opened:
        yield opened
