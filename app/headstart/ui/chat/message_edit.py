"""The box a message is typed into: grows with its text, sends on Enter, takes files. Knows no chat."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from headstart.ui.widgets.theme import SMALL

_MOST_LINES = 12
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class MessageEdit(QPlainTextEdit):
    """Emits what a person wants to do with the text; keeps it until told otherwise."""

    submitted = Signal()
    files_given = Signal(object)  # list[Path]
    recall_requested = Signal()  # Up in an empty box
    focused = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.enter_sends = True
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Message"))
        self.document().setDocumentMargin(SMALL / 2)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def text(self) -> str:
        """What is typed."""
        return self.toPlainText()

    def event(self, event: QEvent) -> bool:
        # With nothing to take back here, the key is the window's: it undoes what was deleted last.
        if event.type() == QEvent.Type.ShortcutOverride and self._leaves_undo_to_the_window(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() in _ENTER and self._sends(event.modifiers()):
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.recall_requested.emit()
        else:
            super().keyPressEvent(self._as_break(event) if event.key() in _ENTER else event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:  # noqa: N802
        return bool(_files(source)) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802
        if files := _files(source):
            self.files_given.emit(files)
        elif source.hasText():
            self.insertPlainText(source.text())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusInEvent(event)
        self.focused.emit(True)  # noqa: FBT003 - Qt's own signature

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        super().focusOutEvent(event)
        self.focused.emit(False)  # noqa: FBT003 - Qt's own signature

    def _sends(self, modifiers: Qt.KeyboardModifier) -> bool:
        control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        shift = bool(modifiers & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier))
        return control or (self.enter_sends and not shift)

    def _as_break(self, event: QKeyEvent) -> QKeyEvent:
        """Shift+Enter would insert a line separator, which is no line break to anyone else."""
        plain = Qt.KeyboardModifier.NoModifier
        return QKeyEvent(event.type(), Qt.Key.Key_Return, plain, event.text(), event.isAutoRepeat(), event.count())

    def _leaves_undo_to_the_window(self, event: QEvent) -> bool:
        is_undo = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo)
        return is_undo and not self.document().isUndoAvailable()

    @Slot()
    def _fit(self) -> None:
        line = self.fontMetrics().lineSpacing()
        lines = min(max(int(self.document().size().height()), 1), _MOST_LINES)
        margins = 2 * int(self.document().documentMargin()) + 2 * self.frameWidth()
        policy = Qt.ScrollBarPolicy
        fits = self.document().size().height() <= _MOST_LINES
        self.setVerticalScrollBarPolicy(policy.ScrollBarAlwaysOff if fits else policy.ScrollBarAsNeeded)
        self.setFixedHeight(line * lines + margins)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(super().sizeHint().width(), self.height())


def _files(source: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
