"""The stack of actions that can be undone, besides typing."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

_MAX_ACTIONS = 50


def always() -> bool:
    return True


@dataclass(frozen=True)
class Undoable:
    """An action that can be undone."""

    title: str  # in a menu: "Delete “Walrus”"
    sentence: str  # in a notice
    undo: Callable[[], object]
    is_possible: Callable[[], bool] = always


class UndoStack(QObject):
    """A stack that skips what cannot be undone any more. Unlike QUndoStack, it can undo any of its actions."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._done: list[Undoable] = []

    @property
    def next(self) -> Undoable | None:
        """The action that `undo` would undo."""
        return next((undoable for undoable in reversed(self._done) if undoable.is_possible()), None)

    @Slot(object)
    def push(self, undoable: Undoable) -> None:
        """Add an action that was done."""
        self._done = [*self._done[1 - _MAX_ACTIONS :], undoable]
        self.changed.emit()

    @Slot()
    def undo(self) -> None:
        """Undo the last action."""
        if self.next:
            self.undo_action(self.next)

    @Slot(object)
    def undo_action(self, undoable: Undoable) -> None:
        """Undo this action, unless it is undone already."""
        if undoable in self._done and undoable.is_possible():
            self._done.remove(undoable)
            undoable.undo()
            self.changed.emit()
