"""Editors for single settings: yes or no, number, number or automatic, choice, text, list. Know no chat."""

from typing import Any

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from headstart.settings import about, defaults
from headstart.ui.settings.setting_titles import meaning, title, word
from headstart.ui.widgets.choice_box import ChoiceBox
from headstart.ui.widgets.stylesheet import dress, inset
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY

_TYPING_MS = 600
_WIDTH = 88
_POPUP = 520  # widest list of choices
_LARGEST = 2**31 - 1  # of a spin box
_NAMES = frozenset({"model", "draft"})  # whose choices are names: as long as people make them
_UNITS = {"zoom": " %", "font_size": " pt"}
# Where a person begins who does not leave it to the program, if nobody knows what that would take.
_STARTS = {
    "num_assistant_tokens": 4, "assistant_confidence_threshold": 0.4, "context": 8192, "temperature": 0.7,
    "top_p": 0.9, "top_k": 20, "min_p": 0.05, "repetition_penalty": 1.1,
}  # fmt: skip
_UNKNOWN = "–"


class SettingEditor(QWidget):
    """A title with an editor beside or below it. Emits plain values that a person has set."""

    edited = Signal(str, object)  # name, value

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.label = QLabel(title(name), self)
        self.label.setToolTip(meaning(name))

    def show_value(self, value: Any) -> None:
        """Show a value without emitting it."""
        raise NotImplementedError

    def _adopt(self, field: QWidget) -> None:
        """The field speaks with the words of the setting."""
        field.setAccessibleName(title(self.name))
        field.setAccessibleDescription(meaning(self.name))
        field.setToolTip(meaning(self.name))
        self.label.setBuddy(field)

    def _row(self, *fields: QWidget) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        self.label.setWordWrap(True)
        row.addWidget(self.label, 1)
        for field in fields:
            row.addWidget(field)

    def _column(self, field: QWidget) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(TINY)
        column.addWidget(self.label)
        column.addWidget(field)


class ChoiceEditor(SettingEditor):
    """One of several values. Values can be greyed, with the reason in the tooltip."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box = ChoiceBox(self)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._box.setMinimumContentsLength(8)
        self._box.setMinimumWidth(_WIDTH * 2)
        self._adopt(self._box)
        self.label.setMinimumWidth(_WIDTH)
        (self._column if name in _NAMES else self._row)(self._box)
        for value in about()[name].choices:
            self._box.addItem(word(value), value)
        self._box.activated.connect(self._emit)

    def set_choices(self, choices: list[tuple[str, str, str]]) -> None:
        """(value, text, reason why it cannot be chosen, or empty)."""
        with QSignalBlocker(self._box):
            self._box.clear()
            for value, text, reason in choices:
                self._box.addItem(f"{text} · {reason}" if reason else text, value)
                item = self._box.model().item(self._box.count() - 1)  # type: ignore[attr-defined]
                item.setToolTip(reason or text)
                item.setEnabled(not reason)
        view = self._box.view()
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        view.setMinimumWidth(min(view.sizeHintForColumn(0) + 2 * SMALL, _POPUP))

    def show_value(self, value: Any) -> None:
        """Choose the entry with this value."""
        self._box.setCurrentIndex(self._box.findData(value))

    @Slot()
    def _emit(self) -> None:
        self.edited.emit(self.name, self._box.currentData())


class CheckEditor(SettingEditor):
    """Yes or no."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box = QCheckBox(title(name), self)
        self._adopt(self._box)
        self.label.hide()  # the box has the words
        self._row(self._box)
        self._box.clicked.connect(self._emit)

    def show_value(self, value: Any) -> None:
        """Tick it, or not."""
        self._box.setChecked(value)

    @Slot()
    def _emit(self) -> None:
        self.edited.emit(self.name, self._box.isChecked())


class NumberEditor(SettingEditor):
    """A number within its bounds; where it may be left to the program, a box says so, with what that takes now."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        whole = isinstance(_sample(name), int)
        self._spin: QSpinBox | QDoubleSpinBox = _WholeSpin(self) if whole else _RealSpin(self)
        self._usual: float | None = None  # what automatic takes, if anybody knows
        self._bound()
        self._spin.setSuffix(_UNITS.get(name, ""))
        self._spin.setKeyboardTracking(False)
        self._spin.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        inset(self._spin)
        self._adopt(self._spin)
        self._automatic = QCheckBox(self.tr("Auto"), self)
        self._automatic.setAccessibleName(self.tr("{}: automatic").format(title(name)))
        self._automatic.setVisible(defaults()[name] is None)
        self._row(self._automatic, self._spin)
        self._spin.valueChanged.connect(self._emit)
        self._automatic.toggled.connect(self._toggle)

    def show_value(self, value: Any) -> None:
        """A number, or None for automatic."""
        with QSignalBlocker(self._spin), QSignalBlocker(self._automatic):
            self._automatic.setChecked(value is None)
            self._spin.setEnabled(value is not None)
            self._show(self._usual if value is None else value)

    def show_usual(self, value: float | None) -> None:
        """What automatic takes now; None where nobody knows."""
        self._usual = value

    def _show(self, value: float | None) -> None:
        self._spin.setSpecialValueText(_UNKNOWN if value is None else "")
        self._spin.setValue(self._spin.minimum() if value is None else value)  # type: ignore[arg-type]

    def _bound(self) -> None:
        known = about()[self.name]
        spin: Any = self._spin
        if isinstance(spin, QDoubleSpinBox):
            spin.setDecimals(2)
            spin.setSingleStep(0.05)
        low = known.low if known.low is not None else (known.above or 0.0) + 0.01
        high = min(known.high, _LARGEST) if known.high is not None else _LARGEST
        spin.setRange(*((int(low), int(high)) if isinstance(spin, QSpinBox) else (low, high)))

    @Slot()
    def _emit(self) -> None:
        if not self._automatic.isChecked():
            self.edited.emit(self.name, self._spin.value())

    @Slot(bool)
    def _toggle(self, automatic: bool) -> None:
        self._spin.setEnabled(not automatic)
        if automatic:
            self.edited.emit(self.name, None)
            return
        with QSignalBlocker(self._spin):
            self._show(_sample(self.name) if self._usual is None else self._usual)
        self.edited.emit(self.name, self._spin.value())


class TextEditor(SettingEditor):
    """Text of several lines, or a list with a text on each line."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._is_list = isinstance(defaults()[name], tuple)
        self._field = QPlainTextEdit(self)
        dress(self._field, "field")
        self._field.setTabChangesFocus(True)
        self._fit()
        if self._is_list:
            self._field.setPlaceholderText(self.tr("one on each line"))
        self._adopt(self._field)
        self._column(self._field)
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing.timeout.connect(self.flush)
        self._field.textChanged.connect(self._typing.start)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        lines = 2 if self._is_list else 5
        self._field.setFixedHeight(self._field.fontMetrics().lineSpacing() * lines + 2 * SMALL)

    def show_value(self, value: Any) -> None:
        """A text, or several."""
        text = "\n".join(value) if self._is_list else value
        if text != self._field.toPlainText():
            with QSignalBlocker(self._field):
                self._field.setPlainText(text)

    @Slot()
    def flush(self) -> None:
        """Emit what was typed, if anything was."""
        self._typing.stop()
        text = self._field.toPlainText()
        self.edited.emit(self.name, [line for line in text.split("\n") if line] if self._is_list else text)


def editor(name: str, parent: QWidget) -> SettingEditor:
    """The right editor for a setting."""
    value = _sample(name)
    if about()[name].choices or name in {"model", "draft", "device", "draft_device"}:
        return ChoiceEditor(name, parent)
    if isinstance(value, bool):
        return CheckEditor(name, parent)
    return NumberEditor(name, parent) if isinstance(value, int | float) else TextEditor(name, parent)


def _sample(name: str) -> Any:
    """A value of the setting's kind; where the default is automatic, one to start from."""
    return _STARTS[name] if defaults()[name] is None else defaults()[name]


class _WholeSpin(QSpinBox):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:  # noqa: N802
        return _narrow(self, super().sizeHint())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        event.ignore()


class _RealSpin(QDoubleSpinBox):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:  # noqa: N802
        return _narrow(self, super().sizeHint())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        event.ignore()


def _narrow(spin: QWidget, hint: QSize) -> QSize:
    """As wide as the font needs for six digits, instead of for the largest number."""
    return QSize(max(_WIDTH, spin.fontMetrics().horizontalAdvance("0" * 6) + 3 * MEDIUM), hint.height())
