"""Whether a model can guess for another, found out beside the window: vocabularies take a while to read."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from headstart import library
from headstart.library import Model
from headstart.ui.background_task import BackgroundTask

_Key = tuple[str, str]  # for target and draft: fingerprint of the vocabulary and rows of the output


class DraftFits(QObject):
    """Remembers what it found out. Models whose fingerprints agree fit at once."""

    found = Signal()  # one more `difference` is known

    def __init__(self, parent: QObject | None = None) -> None:
        """Knows nothing yet."""
        super().__init__(parent)
        self._known: dict[_Key, str] = {}
        self._asked: dict[_Key, BackgroundTask] = {}

    def difference(self, target: Model, draft: Model) -> str | None:
        """Where the vocabularies differ, "" where nowhere; None until that is found out."""
        if target.manifest.tokenizer.fingerprint == draft.manifest.tokenizer.fingerprint:
            return ""
        key = (_vocabulary(target), _vocabulary(draft))
        if key not in self._known and key not in self._asked:
            self._asked[key] = task = BackgroundTask(partial(_compare, key, target, draft), self)
            task.done.connect(self._note)
            task.failed.connect(self._note_failure)
            task.start()
        return self._known.get(key)

    def close(self) -> None:
        """The window closes."""
        for task in self._asked.values():
            task.cancel()

    @Slot(object)
    def _note(self, result: tuple[_Key, str]) -> None:
        key, difference = result
        self._known[key] = difference
        self._asked.pop(key).deleteLater()
        self.found.emit()

    @Slot(str)
    def _note_failure(self, sentence: str) -> None:
        """A folder that cannot be read any more fits nothing."""
        key = next(key for key, task in self._asked.items() if task is self.sender())
        self._note((key, sentence))


def _vocabulary(model: Model) -> str:
    return f"{model.manifest.tokenizer.fingerprint} {model.manifest.logit_rows}"


def _compare(key: _Key, target: Model, draft: Model, _task: BackgroundTask) -> tuple[_Key, str]:
    return key, library.vocabulary_difference(target, draft) or ""
