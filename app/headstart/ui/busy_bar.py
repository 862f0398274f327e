"""A bar for work without a known end: it moves, or where nothing may move, it only stands there. Knows no work."""

from PySide6.QtWidgets import QProgressBar, QWidget


class BusyBar(QProgressBar):
    """Shown while something runs."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """`name`: what screen readers say runs here."""
        super().__init__(parent)
        self.setTextVisible(False)
        self.setAccessibleName(name)
        self.set_still(still=False)

    def set_still(self, *, still: bool) -> None:
        """Half full, or moving."""
        self.setRange(0, 2 if still else 0)
        self.setValue(1)
