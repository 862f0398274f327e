"""A dialog that looks as the window does."""

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from headstart.ui.widgets import stylesheet
from headstart.ui.widgets.theme import current


class Dialog(QDialog):
    """Follows theme and size of text while it is open."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setStyleSheet(stylesheet.sheet(current(), QApplication.font()))

    def event(self, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.ApplicationPaletteChange, QEvent.Type.ApplicationFontChange}:
            self.setStyleSheet(stylesheet.sheet(current(), QApplication.font()))
        return super().event(event)
