"""A line or a few that can be read and copied, not edited, with a button that copies them. Knows not what it says."""

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QPushButton, QWidget

from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL, mono_families

_LINES = 4


class CopiedLine(QWidget):
    """`name` is for screen readers, `copy` the words of the button; `long`: it is shown on several lines."""

    def __init__(self, name: str, copy: str, parent: QWidget | None = None, *, long: bool = False) -> None:
        super().__init__(parent)
        self.field: QLineEdit | QPlainTextEdit = QPlainTextEdit(self) if long else QLineEdit(self)
        self.field.setReadOnly(True)
        self.field.setAccessibleName(name)
        if isinstance(self.field, QPlainTextEdit):
            dress(self.field, "field")
            self.field.setTabChangesFocus(True)
        self._scale()
        self._copy = QPushButton(self.tr("Copy"), self)
        self._copy.setAccessibleName(copy)
        dress(self._copy, "plain")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self.field, 1)
        row.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        self._copy.clicked.connect(self._take)

    @property
    def text(self) -> str:
        """What it says."""
        return self.field.toPlainText() if isinstance(self.field, QPlainTextEdit) else self.field.text()

    def show_text(self, text: str, hint: str = "") -> None:
        """Another text; `hint` where there is none."""
        if text != self.text:
            if isinstance(self.field, QPlainTextEdit):
                self.field.setPlainText(text)
            else:
                self.field.setText(text)
                self.field.setCursorPosition(0)
        self.field.setPlaceholderText(hint)
        self._copy.setEnabled(bool(text))

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._scale()

    def _scale(self) -> None:
        """A font of its own shields the field from changes."""
        font = QFont(self.font())
        font.setFamilies(mono_families())
        self.field.setFont(font)
        if isinstance(self.field, QPlainTextEdit):
            self.field.setFixedHeight(self.field.fontMetrics().lineSpacing() * _LINES + 3 * SMALL)

    @Slot()
    def _take(self) -> None:
        QGuiApplication.clipboard().setText(self.text)
