"""An empty history."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headstart.chat.history.store import Store, open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the history."""
    return tmp_path / "history"


@pytest.fixture
def store(folder: Path, new_history: Callable[[Path], None]) -> Iterator[Store]:
    """The open history."""
    new_history(folder)
    with closing(open_store(folder)) as opened:
        yield opened
