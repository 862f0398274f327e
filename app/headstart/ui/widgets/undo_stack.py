"""What can be undone in the window besides typing."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

_KEPT = 50


def always() -> bool:
    """For what can be undone at any time."""
    return True


@dataclass(frozen=True)
class Undoable:
    """Something done: its name in a menu ("Delete “Walrus”"), a sentence on it, and how to undo it."""

    title: str
    sentence: str
    undo: Callable[[], object]
    is_possible: Callable[[], bool] = always


class UndoStack(QObject):
    """A stack that skips what cannot be undone any more. A bar may undo one that is not the last, unlike QUndoStack."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._done: list[Undoable] = []

    @property
    def next(self) -> Undoable | None:
        """What `undo` would undo."""
        return next((done for done in reversed(self._done) if done.is_possible()), None)

    @Slot(object)
    def keep(self, done: Undoable) -> None:
        """Add something that was done."""
        self._done = [*self._done[1 - _KEPT :], done]
        self.changed.emit()

    @Slot()
    def undo(self) -> None:
        """Undo the last one."""
        if self.next:
            self.take_back(self.next)

    @Slot(object)
    def take_back(self, done: Undoable) -> None:
        """Undo this one, once."""
        if done in self._done and done.is_possible():
            self._done.remove(done)
            done.undo()
            self.changed.emit()
