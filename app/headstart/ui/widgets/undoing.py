"""What can be undone in the window besides typing, newest first."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

_KEPT = 50


def always() -> bool:
    """For what can be undone at any time."""
    return True


@dataclass(frozen=True)
class Undoable:
    """Something done, in the words of a menu ("Delete “Walrus”") and of a report, and how to take it back."""

    words: str
    told: str
    act: Callable[[], object]
    is_possible: Callable[[], bool] = always


class Undoing(QObject):
    """A stack; what has become impossible in the meantime is skipped."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        """Nothing was done yet."""
        super().__init__(parent)
        self._done: list[Undoable] = []

    @property
    def next(self) -> Undoable | None:
        """What `undo` would take back."""
        return next((done for done in reversed(self._done) if done.is_possible()), None)

    @Slot(object)
    def keep(self, done: Undoable) -> None:
        """Something was done."""
        self._done = [*self._done[1 - _KEPT :], done]
        self.changed.emit()

    @Slot()
    def undo(self) -> None:
        """Take the last thing back."""
        if self.next:
            self.take_back(self.next)

    @Slot(object)
    def take_back(self, done: Undoable) -> None:
        """Take this back, once."""
        if done in self._done and done.is_possible():
            self._done.remove(done)
            done.act()
            self.changed.emit()
