"""Labels and buttons with text."""

import unicodedata

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import (
    QFont,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPalette,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QSizePolicy, QStyle, QWidget

from headstart.ui.widgets.announcements import announce
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.stylesheet import set_style_class, set_style_property
from headstart.ui.widgets.theme import MEDIUM, SMALL, mono_families

_MIN_LINES = 2  # of a field whose text scrolls


class LinesField(QPlainTextEdit):
    """A text without wrapping, as high as its lines, up to a number of them; it scrolls where there is less room."""

    def __init__(self, max_lines: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._max_lines, self._lines = max_lines, 1
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        set_style_class(self, "field")

    def show_text(self, text: str) -> None:
        self.setPlainText(text)
        self._lines = min(text.count("\n") + 1, self._max_lines)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(self._lines))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), self._height(min(self._lines, _MIN_LINES)))

    def _height(self, lines: int) -> int:
        return self.fontMetrics().lineSpacing() * lines + 2 * MEDIUM


def label(text: str, parent: QWidget, kind: str = "", *, selectable: bool = False) -> QLabel:
    """Create a wrapped label with the style class `kind`."""
    label = QLabel(text, parent)
    label.setWordWrap(True)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    set_style_class(label, kind)
    return label


def muted(text: str, parent: QWidget, *, selectable: bool = False) -> QLabel:
    """Create a label for a remark."""
    return label(text, parent, "muted", selectable=selectable)


def section(text: str, parent: QWidget) -> QLabel:
    """Create the heading of a group."""
    heading = QLabel(text, parent)
    set_style_class(heading, "section")
    return heading


def button(text: str, parent: QWidget, kind: str = "plain") -> QPushButton:
    """Create a button with the style class `kind`."""
    button = QPushButton(text, parent)
    set_style_class(button, kind)
    return button


class Fold(QPushButton):
    """A button that shows and hides the widget below it, which is hidden at first."""

    def __init__(self, text: str, folded: QWidget, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._folded = folded
        set_style_class(self, "flat")
        self.setCheckable(True)
        self.toggled.connect(self._show)
        self._show(unfolded=False)

    @Slot(bool)
    def _show(self, unfolded: bool) -> None:
        self.setIcon(icon("unfolded" if unfolded else "folded", QPalette.ColorRole.WindowText))
        self._folded.setVisible(unfolded)


class StatusLine(QLabel):
    """A label that is hidden while it is empty."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWordWrap(True)
        self.say("")

    def say(self, text: str, kind: str = "muted", *, bad: bool = False) -> None:
        """Show a text, or hide. A fault that appears in a visible window is announced."""
        is_new = text != self.text()
        self.setText(text)
        self.setVisible(bool(text))
        if bad and is_new and self.isVisible():
            announce(self, text, urgent=True)
        set_style_property(self, "kind", "danger" if bad else kind)


def script_direction(text: str) -> Qt.TextFlag:
    """Return the flag that draws a text in the direction of its first letter, not of the window."""
    letters = (unicodedata.bidirectional(letter) for letter in text)
    first = next((kind for kind in letters if kind in {"L", "R", "AL"}), "L")
    return Qt.TextFlag.TextForceLeftToRight if first == "L" else Qt.TextFlag.TextForceRightToLeft


class ElidedLabel(QLabel):
    """Text with an ellipsis if it does not fit: at its end, or as `mode` says. It has no minimum width."""

    def __init__(self, parent: QWidget | None = None, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__(parent)
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def show_text(self, text: str, more: str = "") -> None:
        """Show a text; `more` is in its tooltip and description."""
        self.setText(text)
        self.setToolTip(f"{text}\n{more}" if more else text)
        self.setAccessibleName(text)
        self.setAccessibleDescription(more)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        area = self.contentsRect()
        text = self.fontMetrics().elidedText(self.text(), self._mode, area.width())
        flags = int(QStyle.visualAlignment(self.layoutDirection(), self.alignment()))
        flags |= int(script_direction(text))
        self.style().drawItemText(painter, area, flags, self.palette(), self.isEnabled(), text, self.foregroundRole())
        painter.end()


_LINES = 4


class CopiedLine(QWidget):
    """A read-only field with a button that copies its text.

    `name` and `copy` name field and button for screen readers. A `long` field shows several lines.
    """

    def __init__(self, name: str, copy: str, parent: QWidget | None = None, *, long: bool = False) -> None:
        super().__init__(parent)
        self.field: QLineEdit | QPlainTextEdit = QPlainTextEdit(self) if long else QLineEdit(self)
        self.field.setReadOnly(True)
        self.field.setAccessibleName(name)
        if isinstance(self.field, QPlainTextEdit):
            set_style_class(self.field, "field")
            self.field.setTabChangesFocus(True)
        self._update_font()
        self._copy = button(self.tr("Copy"), self)
        self._copy.setAccessibleName(copy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self.field, 1)
        row.addWidget(self._copy, 0, Qt.AlignmentFlag.AlignTop)
        self._copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text))

    @property
    def text(self) -> str:
        return self.field.toPlainText() if isinstance(self.field, QPlainTextEdit) else self.field.text()

    def show_text(self, text: str, hint: str = "") -> None:
        if text != self.text:
            if isinstance(self.field, QPlainTextEdit):
                self.field.setPlainText(text)
            else:
                self.field.setText(text)
                self.field.setCursorPosition(0)
        self.field.setPlaceholderText(hint)
        self._copy.setEnabled(bool(text))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._update_font()

    def _update_font(self) -> None:
        """Set the font of the field, which is its own and inherits no changes."""
        font = QFont(self.font())
        font.setFamilies(mono_families())
        self.field.setFont(font)
        if isinstance(self.field, QPlainTextEdit):
            self.field.setFixedHeight(self.field.fontMetrics().lineSpacing() * _LINES + 3 * SMALL)


class Heading(QLabel):
    """A bold label, `factor` times as large as the text of its parent."""

    def __init__(self, text: str, factor: float, parent: QWidget) -> None:
        super().__init__(text, parent)
        self._factor = factor
        parent.installEventFilter(self)  # the label's own font inherits no changes
        self._update_font(parent.font())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange and isinstance(watched, QWidget):
            self._update_font(watched.font())
        return super().eventFilter(watched, event)

    def _update_font(self, around: QFont) -> None:
        font = QFont(around)
        font.setPointSizeF(around.pointSizeF() * self._factor)
        font.setBold(True)
        self.setFont(font)
