"""Whether an installed model is whole: every file by its hash, then loaded in a process of its own, then an answer."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from headstart import intake
from headstart.engine.engine import LoadOptions, Message, Request
from headstart.library import Model, Pair
from headstart.ui.background_task import BackgroundTask
from headstart.ui.engine_link import EngineLink
from headstart.ui.models.model_loader import LoadProgress
from headstart.ui.spelling import sentences

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


class Verification(QObject):
    """Once. `ended` has the name, what is wrong with its files, and what kept it from answering, or nothing."""

    told = Signal(str, str)  # name, what is going on
    ended = Signal(str, object, str)  # name, list[str], sentence

    def __init__(
        self,
        entry: Model | Pair,
        options: LoadOptions,
        make_link: Callable[[], EngineLink],
        parent: QObject | None = None,
    ) -> None:
        """`make_link` gives an engine that nobody else uses."""
        super().__init__(parent)
        self.entry = entry
        self._options, self._make_link = options, make_link
        self._trying: Trying | None = None
        self._task = BackgroundTask(self._check, self)
        self._task.progressed.connect(self._note_progress)
        self._task.done.connect(self._load)
        self._task.failed.connect(self._note_trouble)

    def start(self) -> None:
        """`ended` follows, unless it is closed before."""
        self._note_progress(0, 1)
        self._task.start()

    def close(self) -> None:
        """Nobody wants to know any more."""
        self._task.cancel()
        if self._trying:
            self._trying.close()

    def _check(self, task: BackgroundTask) -> list[str]:
        def go_on(done: int, total: int) -> bool:
            task.progressed.emit(done, total)
            return not task.is_cancelled

        try:
            return intake.check(self.entry, go_on)
        except intake.Stopped:
            return []

    @Slot(object, object)
    def _note_progress(self, done: int, total: int) -> None:
        words = self.tr("Comparing every file with its hash: {} %").format(done * 100 // max(total, 1))
        self.told.emit(self.entry.name, words)

    @Slot(object)
    def _load(self, faults: list[str]) -> None:
        if faults:
            self._end(faults, "")
            return
        self._trying = Trying(self._options, self._make_link, self)
        self._trying.loading.changed.connect(self._tell_loading)
        self._tell_loading()
        self._trying.ended.connect(self._note_trouble)
        self._trying.start()

    @Slot()
    def _tell_loading(self) -> None:
        words = self.tr("Every file is as it was exported. Loading it and asking for a word…")
        step = self._trying.loading.step if self._trying else ""
        self.told.emit(self.entry.name, sentences(words, step) if step else words)

    @Slot(str)
    def _note_trouble(self, sentence: str) -> None:
        self._end([], sentence)

    def _end(self, faults: list[str], sentence: str) -> None:
        self.close()
        self.ended.emit(self.entry.name, faults, sentence)
