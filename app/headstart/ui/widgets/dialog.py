"""Dialogs, and the question before something that cannot be taken back."""

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QWidget

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


def confirms(parent: QWidget, title: str, question: str, action: str) -> bool:
    """Whether a person presses the button with `action` on it; Cancel is what Enter presses."""
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    go = box.addButton(action, QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.exec()
    return box.clickedButton() is go
