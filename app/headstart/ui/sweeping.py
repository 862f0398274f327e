"""Python's search for unreachable cycles, kept in the window's thread. Knows nothing of what it frees."""

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_EVERY_MS = 1000


class Sweeping(QObject):
    """Collects on a timer instead of wherever memory is asked for.

    A cycle may hold a widget, and a widget that another thread destroys takes the program with it.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_EVERY_MS)
        self._timer.timeout.connect(self.sweep)
        self._timer.start()

    @Slot()
    def sweep(self) -> None:
        """Collect the oldest generation that is due."""
        due = [
            age
            for age, (count, most) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
            if count > most
        ]
        if due:
            gc.collect(due[-1])

    def close(self) -> None:
        """Python collects by itself again."""
        self._timer.stop()
        gc.enable()
