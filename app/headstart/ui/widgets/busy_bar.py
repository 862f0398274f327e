"""A bar for work whose end may be unknown: it moves then, or where nothing may move, it only stands there."""

from PySide6.QtWidgets import QProgressBar, QWidget

_PARTS = 1000


class BusyBar(QProgressBar):
    """Shown while something runs."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name`: what screen readers say runs here."""
        super().__init__(parent)
        self._still = self._is_measured = False
        self.setTextVisible(False)
        self.setAccessibleName(name)
        self.show_running()

    def set_still(self, *, still: bool) -> None:
        """Half full, or moving, while the end is unknown."""
        self._still = still
        if not self._is_measured:
            self.show_running()

    def show_running(self) -> None:
        """Nobody knows how far it is."""
        self._is_measured = False
        self.setRange(0, 2 if self._still else 0)
        self.setValue(1)

    def show_share(self, done: int, total: int) -> None:
        """How far it is; of any size."""
        self._is_measured = True
        self.setRange(0, _PARTS)
        self.setValue(done * _PARTS // max(total, 1))
