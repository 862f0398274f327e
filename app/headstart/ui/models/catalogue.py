"""What the exporter can make by name, as its own program tells it. Knows no widget."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QProcess, Signal, Slot

_TRIED = "run"  # the exporter's word for a recipe that its tests carry out
_KILL_WAIT = 2000  # ms
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """One that can be exported by name. Sizes are in bytes: the most that is downloaded, and that it takes."""

    name: str
    kind: str
    title: str
    licence: str
    is_tried: bool
    download: int
    result: int


class Catalogue(QObject):
    """Asks once; without an answer nothing is offered by name, and everything can still be typed."""

    found = Signal(object)  # tuple[Recipe, ...]

    def __init__(self, parent: QObject | None = None) -> None:
        """Asks nothing yet."""
        super().__init__(parent)
        self._process: QProcess | None = None

    def ask(self, program: Sequence[str]) -> None:
        """`found` follows; the second time nothing happens."""
        if self._process is None:
            self._process = QProcess(self)
            self._process.finished.connect(self._read)
            self._process.start(program[0], [*program[1:], "--list", "--json"])

    def close(self) -> None:
        """The window closes."""
        if self._process:
            self._process.blockSignals(True)  # noqa: FBT003 - Qt's own signature
            self._process.kill()
            self._process.waitForFinished(_KILL_WAIT)

    @Slot()
    def _read(self) -> None:
        assert self._process
        try:
            self.found.emit(parse(self._process.readAllStandardOutput().data()))
        except (ValueError, KeyError, TypeError) as error:
            _log.warning("the exporter does not tell what it can make: %r", error)


def parse(text: bytes | bytearray | memoryview) -> tuple[Recipe, ...]:
    """The list as the exporter prints it. Raises ValueError, KeyError or TypeError."""
    return tuple(_recipe(item) for item in json.loads(bytes(text)))


def _recipe(item: dict[str, Any]) -> Recipe:
    name, kind, title, licence = (str(item[name]) for name in ("name", "kind", "title", "licence"))
    is_tried = item["checked"] == _TRIED
    return Recipe(name, kind, title, licence, is_tried, int(item["download"]), int(item["result"]))
