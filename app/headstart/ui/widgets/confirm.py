"""Asks before something that cannot be taken back."""

from PySide6.QtWidgets import QMessageBox, QWidget


def confirms(parent: QWidget, title: str, question: str, action: str) -> bool:
    """Whether a person presses the button with `action` on it; Cancel is what Enter presses."""
    box = QMessageBox(QMessageBox.Icon.Question, title, question, parent=parent)
    go = box.addButton(action, QMessageBox.ButtonRole.DestructiveRole)
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    box.exec()
    return box.clickedButton() is go
