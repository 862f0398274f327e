"""Loads a model in a process of its own and asks it for a word. Knows no library and no page."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from headstart.engine.engine import LoadOptions, Message, Request
from headstart.ui.engine_link import EngineLink
from headstart.ui.models.load_progress import LoadProgress

_QUESTION = Request((Message("user", "Hello"),), max_new_tokens=1)


class Trying(QObject):
    """Once."""

    ended = Signal(str)  # what kept it from answering, or nothing

    def __init__(
        self, options: LoadOptions, make_link: Callable[[], EngineLink], parent: QObject | None = None
    ) -> None:
        """`make_link` gives an engine that nobody else uses."""
        super().__init__(parent)
        self._options, self._make_link = options, make_link
        self.loading = LoadProgress(self)
        self._link: EngineLink | None = None

    def start(self) -> None:
        """`ended` follows, unless it is closed before."""
        self._link = link = self._make_link()
        link.setParent(self)
        link.loading.connect(self.loading.note)
        link.loaded.connect(self._ask)
        link.failed.connect(self._end)
        link.crashed.connect(self._end)
        link.finished.connect(self._pass)
        link.load(self._options)

    def close(self) -> None:
        """Nobody wants to know any more."""
        self.loading.end()
        link, self._link = self._link, None
        if link:
            link.close()
            link.deleteLater()

    @Slot()
    def _ask(self) -> None:
        self.loading.end()
        if self._link:
            self._link.generate(_QUESTION)

    @Slot()
    def _pass(self) -> None:
        self._end("")

    @Slot(str)
    def _end(self, sentence: str) -> None:
        self.close()
        self.ended.emit(sentence)
