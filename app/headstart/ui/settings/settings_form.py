"""Editors of settings, and forms of them under headings."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, QSignalBlocker, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPaintEvent, QValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from headstart.parameters import Mode
from headstart.settings import Settings, about, defaults, in_section
from headstart.ui.settings.presets import Preset, PresetButton
from headstart.ui.translation import translate
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import StatusLine, button, muted, section
from headstart.ui.widgets.layouts import beside, stacked
from headstart.ui.widgets.stylesheet import inset, set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY

# Those of parameters are declared with them.
_TITLES: Mapping[str, Any] = {
    "theme": QT_TRANSLATE_NOOP("Settings", "Theme"),
    "font_size": QT_TRANSLATE_NOOP("Settings", "Text size"),
    "zoom": QT_TRANSLATE_NOOP("Settings", "Zoom"),
    "language": QT_TRANSLATE_NOOP("Settings", "Language"),
    "reduced_motion": QT_TRANSLATE_NOOP("Settings", "Reduced motion"),
    "show_origins": QT_TRANSLATE_NOOP("Settings", "Mark guesses"),
    "enter_sends": QT_TRANSLATE_NOOP("Settings", "Enter sends"),
    "restore_chat": QT_TRANSLATE_NOOP("Settings", "Last chat"),
    "notifications": QT_TRANSLATE_NOOP("Settings", "Notifications"),
    "notification_text": QT_TRANSLATE_NOOP("Settings", "Text in notifications"),
    "keep_in_tray": QT_TRANSLATE_NOOP("Settings", "Stay in the tray"),
    "prompt_cache_gb": QT_TRANSLATE_NOOP("Settings", "Disk for old chats"),
    "learn_from_answers": QT_TRANSLATE_NOOP("Settings", "Learn from my answers"),
    "read_ahead": QT_TRANSLATE_NOOP("Settings", "Read ahead"),
    "chat_titles": QT_TRANSLATE_NOOP("Settings", "Titles by the model"),
    "model": QT_TRANSLATE_NOOP("Settings", "Model"),
    "draft": QT_TRANSLATE_NOOP("Settings", "Draft model"),
    "tools": QT_TRANSLATE_NOOP("Settings", "Tools"),
    "system_prompt": QT_TRANSLATE_NOOP("Settings", "System prompt"),
    "server_port": QT_TRANSLATE_NOOP("Settings", "Port"),
}
_WORDS: Mapping[str, Any] = {
    "": QT_TRANSLATE_NOOP("Settings", "System"),
    "system": QT_TRANSLATE_NOOP("Settings", "System"),
    "light": QT_TRANSLATE_NOOP("Settings", "Light"),
    "dark": QT_TRANSLATE_NOOP("Settings", "Dark"),
    "contrast": QT_TRANSLATE_NOOP("Settings", "High contrast"),
    "auto": QT_TRANSLATE_NOOP("Settings", "Automatic"),
    "fixed": QT_TRANSLATE_NOOP("Settings", "Fixed"),
    "off": QT_TRANSLATE_NOOP("Settings", "Off"),
    "always": QT_TRANSLATE_NOOP("Settings", "Always"),
    "never": QT_TRANSLATE_NOOP("Settings", "Never"),
    "fast": QT_TRANSLATE_NOOP("Settings", "Fast"),
    "exact": QT_TRANSLATE_NOOP("Settings", "Exact"),
    "f16": QT_TRANSLATE_NOOP("Settings", "16 bits"),
    "u8": QT_TRANSLATE_NOOP("Settings", "8 bits"),
}
# Names of programs and languages, each in its own language.
_NATIVE = {
    "headstart": "Headstart",
    "genai": "OpenVINO GenAI",
    "en": "English",
    "zh_CN": "简体中文",
    "zh_TW": "繁體中文",
}


def title(name: str) -> str:
    """The label of a setting."""
    return QCoreApplication.translate("Settings", _TITLES.get(name) or about()[name].title)


def meaning(name: str) -> str:
    """One sentence on what it does."""
    return QCoreApplication.translate("Settings", about()[name].meaning)


def word(value: str) -> str:
    """The text of a value of a choice."""
    return QCoreApplication.translate("Settings", _WORDS[value]) if value in _WORDS else _NATIVE.get(value, value)


class ChoiceBox(QComboBox):
    """Ignores the wheel: scrolling a panel must not change values."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        pass_wheel(self)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002, N802
        """As Qt paints it, but with an ellipsis where the text is cut."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width() - SMALL
        option.currentText = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


_TYPING_MS = 600
_WIDTH, _BOX_WIDTH = 88, 132
_POPUP = 520  # widest list of choices
_LARGEST = 2**31 - 1  # of a spin box
_NAMES = frozenset({"model", "draft"})  # whose choices are names: as long as people make them
_UNITS = {"zoom": " %", "font_size": " pt"}
_UNKNOWN = "–"


class SettingEditor(QWidget):
    """A title with an editor beside or below it. Emits plain values when the user sets them."""

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
        """Give the field name and description of the setting."""
        field.setAccessibleName(title(self.name))
        field.setAccessibleDescription(meaning(self.name))
        field.setToolTip(meaning(self.name))
        self.label.setBuddy(field)

    def _row(self, *fields: QWidget) -> QHBoxLayout:
        self.label.setWordWrap(True)
        return beside(None, self.label, *fields, growing=self.label)

    def _column(self, field: QWidget) -> None:
        stacked(self, self.label, field, spacing=TINY)


class ChoiceEditor(SettingEditor):
    """One of several values. Values can be greyed, with the reason in the tooltip."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box = ChoiceBox(self)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._box.setMinimumContentsLength(8)
        self._box.setMinimumWidth(_BOX_WIDTH)
        self._adopt(self._box)
        self.label.setMinimumWidth(_WIDTH)
        if name in _NAMES:
            self._column(self._box)
        else:
            self.setLayout(self._row(self._box))
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
        self.label.hide()  # the box shows the title
        self.setLayout(self._row(self._box))
        self._box.clicked.connect(self._emit)

    def show_value(self, value: Any) -> None:
        """Tick it, or not."""
        self._box.setChecked(value)

    @Slot()
    def _emit(self) -> None:
        self.edited.emit(self.name, self._box.isChecked())


class NumberEditor(SettingEditor):
    """A number within its bounds, with a box for automatic if the setting may be automatic."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._kind = type(_sample(name))  # int or float
        self._spin = _NumberBox(self)
        self._usual: float | None = None  # the automatic value, if it is known
        self._bound()
        self._spin.setSuffix(_UNITS.get(name, ""))
        self._spin.setKeyboardTracking(False)
        self._spin.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        inset(self._spin)
        self._adopt(self._spin)
        self._automatic = QCheckBox(self.tr("Auto"), self)
        self._automatic.setAccessibleName(self.tr("{}: automatic").format(title(name)))
        self._automatic.setVisible(defaults()[name] is None)
        self._bounds = StatusLine(self)
        stacked(self, self._row(self._automatic, self._spin), self._bounds, spacing=TINY)
        self._spin.corrected.connect(self._tell_bounds)
        self._spin.valueChanged.connect(self._emit)
        self._automatic.toggled.connect(self._toggle)

    def show_value(self, value: Any) -> None:
        """A number, or None for automatic."""
        with QSignalBlocker(self._spin), QSignalBlocker(self._automatic):
            self._automatic.setChecked(value is None)
            self._spin.setEnabled(value is not None)
            self._show(self._usual if value is None else value)

    def show_usual(self, value: float | None) -> None:
        """The automatic value; None if it is unknown."""
        self._usual = value

    def _show(self, value: float | None) -> None:
        self._spin.setSpecialValueText(_UNKNOWN if value is None else "")
        self._spin.setValue(self._spin.minimum() if value is None else value)

    def _bound(self) -> None:
        known = about()[self.name]
        is_whole = self._kind is int
        self._spin.setDecimals(0 if is_whole else 2)
        self._spin.setSingleStep(1 if is_whole else 0.05)
        low = known.low if known.low is not None else (known.above or 0.0) + 0.01
        self._spin.setRange(low, _LARGEST if known.high is None else min(known.high, _LARGEST))

    @Slot(str, float)
    def _tell_bounds(self, typed: str, value: float) -> None:
        """Say until the next change that another value was taken than the one typed."""
        words = self.tr("{typed} is out of bounds ({low} to {high}); {value} is used.").format(
            typed=typed,
            low=self._spin.textFromValue(self._spin.minimum()),
            high=self._spin.textFromValue(self._spin.maximum()),
            value=self._spin.textFromValue(value),
        )
        self._bounds.say(words, bad=True)

    @Slot()
    def _emit(self) -> None:
        self._bounds.say("")
        if not self._automatic.isChecked():
            self.edited.emit(self.name, self._kind(self._spin.value()))

    @Slot(bool)
    def _toggle(self, automatic: bool) -> None:
        self._spin.setEnabled(not automatic)
        if automatic:
            self.edited.emit(self.name, None)
            return
        with QSignalBlocker(self._spin):
            self._show(_sample(self.name) if self._usual is None else self._usual)
        self.edited.emit(self.name, self._kind(self._spin.value()))


class TextEditor(SettingEditor):
    """Text of several lines, or a list with a text on each line."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._is_list = isinstance(defaults()[name], tuple)
        self._field = QPlainTextEdit(self)
        set_style_class(self._field, "field")
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
        """Emit what was typed."""
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
    return about()[name].start if defaults()[name] is None else defaults()[name]


_INVALID = QValidator.State.Invalid


class _NumberBox(QDoubleSpinBox):
    """Wide enough for six digits, not for the largest number. Ignores the wheel; corrects what is out of bounds."""

    corrected = Signal(str, float)  # what was typed, and the nearest value that is possible

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        pass_wheel(self)
        self._typed = ""  # what was out of bounds
        self.editingFinished.connect(self._tell)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Let a number out of bounds be typed: Qt swallows its keys, which makes another number unseen."""
        state, text, position = super().validate(text, position)
        is_number = self._number(text) is not None
        return QValidator.State.Intermediate if is_number and state == _INVALID else state, text, position

    def fixup(self, text: str) -> str:
        """The nearest number that is possible."""
        number = self._number(text)
        if number is None:
            return str(super().fixup(text))
        self._typed = text
        return self.textFromValue(min(max(number, self.minimum()), self.maximum())) + self.suffix()

    def sizeHint(self) -> QSize:  # noqa: N802
        digits = self.fontMetrics().horizontalAdvance("0" * 6) + 3 * MEDIUM
        return QSize(max(_WIDTH, digits), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def _number(self, text: str) -> float | None:
        number, is_number = self.locale().toDouble(text.removesuffix(self.suffix()).strip())
        return number if is_number else None

    @Slot()
    def _tell(self) -> None:
        typed, self._typed = self._typed, ""
        if typed:
            self.corrected.emit(typed, self.value())


class PresetEditor(TextEditor):
    """The system prompt; emits "presets" with all of one's own when those change, and the sampling of a chosen one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("system_prompt", parent)
        self._presets: dict[str, str] = {}
        self.button = PresetButton(self, self._add_actions)
        self.button.chosen.connect(self._choose)
        self._head()
        self._field.textChanged.connect(self._show_prompt)
        self._show_prompt()

    def show_presets(self, presets: Mapping[str, str]) -> None:
        """One's own, all there are."""
        self._presets = dict(presets)
        self.button.show_presets(presets)
        self._show_prompt()

    def save(self, name: str) -> None:
        """Keep the prompt under a name; it replaces another prompt of that name."""
        if name.strip():
            self._tell({**self._presets, name.strip(): self._field.toPlainText()})

    def rename(self, name: str) -> None:
        """Give the preset that is shown another name; its place in the list stays."""
        here, name = self.button.current, name.strip()
        if name and here in self._presets and name != here:
            kept = {old: text for old, text in self._presets.items() if old != name}
            self._tell({name if old == here else old: text for old, text in kept.items()})

    def _add_actions(self, menu: QMenu) -> None:
        here = self.button.current
        save = menu.addAction(self.tr("Save as Preset…"), self._ask_save)
        save.setEnabled(bool(self._field.toPlainText().strip()) and not here)
        for label, act in ((self.tr("Rename Preset…"), self._ask_rename), (self.tr("Delete Preset"), self._delete)):
            menu.addAction(label, act).setEnabled(here in self._presets)

    @Slot(object)
    def _choose(self, preset: Preset) -> None:
        self._field.setPlainText(preset.system_prompt)
        self._typing.stop()
        for name, value in preset.values().items():
            self.edited.emit(name, value)

    @Slot()
    def _ask_save(self) -> None:
        self._ask(self.tr("Save as preset"), "", self.save)

    @Slot()
    def _ask_rename(self) -> None:
        self._ask(self.tr("Rename preset"), self.button.current, self.rename)

    def _ask(self, title: str, name: str, then: Callable[[str], None]) -> None:
        dialog = QInputDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(title)
        dialog.setLabelText(self.tr("Name"))
        dialog.setTextEchoMode(QLineEdit.EchoMode.Normal)
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(then)
        dialog.open()

    @Slot()
    def _delete(self) -> None:
        here = self.button.current
        self._tell({name: text for name, text in self._presets.items() if name != here})

    def _tell(self, presets: dict[str, str]) -> None:
        self.flush()
        self.show_presets(presets)
        self.edited.emit("presets", presets)

    @Slot()
    def _show_prompt(self) -> None:
        self.button.show_prompt(self._field.toPlainText())

    def _head(self) -> None:
        """Title and menu on one line."""
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertLayout(0, beside(None, self.label, self.button, growing=self.label))


Section = tuple[str, tuple[str, ...]]  # heading, or empty; names of settings
Choices = list[tuple[str, str, str]]  # value, text, reason why not or empty
_NOTED = ("kv_precision",)
_CLEAR = ("font_size", "zoom")  # whose titles say it all


class SettingsForm(QWidget):
    """Emits what was changed, shows the settings it is given; `explained` puts the meaning below each editor."""

    edited = Signal(str, object)  # name, plain value

    def __init__(self, sections: Iterable[Section], parent: QWidget | None = None, *, explained: bool = False) -> None:
        super().__init__(parent)
        self._editors: dict[str, SettingEditor] = {}
        self._notes: dict[str, QLabel] = {}
        self._hint = muted("", self)
        self._column = stacked(self, margin=MEDIUM)
        for heading, names in sections:
            if heading:
                self._column.addWidget(_heading(heading, self))
            for name in names:
                self._add(name, explained=explained)
        self._hint.setVisible("speculation" in self._editors)
        self._column.addStretch(1)

    @property
    def names(self) -> tuple[str, ...]:
        """The settings that can be changed here."""
        return tuple(self._editors)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """Show the values, and what automatic ones are now."""
        for name, field in self._editors.items():
            if isinstance(field, NumberEditor):
                field.show_usual(usual.get(name))
            field.show_value(getattr(settings, name))
            if isinstance(field, PresetEditor):
                field.show_presets(settings.presets)
        for name in self._editors.keys() & set(in_section("speculation")[1:]):
            self._editors[name].setEnabled(settings.guessing.mode is not Mode.OFF)
        self._hint.setText(_hint(settings.guessing.mode))

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting; settings that are not shown here are ignored."""
        for name, offered in choices.items():
            field = self._editors.get(name)
            if isinstance(field, ChoiceEditor):
                field.set_choices(offered)

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """Below the settings that are shown here; an empty note takes no room."""
        for name, note in self._notes.items():
            note.setText(notes.get(name, ""))
            note.setVisible(bool(note.text()))

    def _add(self, name: str, *, explained: bool) -> None:
        field = PresetEditor(self) if name == "system_prompt" else editor(name, self)
        self._editors[name] = field
        if name == "temperature":
            self._column.addLayout(self._offer_greedy())
        field.edited.connect(self.edited)
        self._column.addWidget(field)
        if name in _NOTED:
            self._notes[name] = muted("", self)
            self._notes[name].hide()
            self._column.addWidget(self._notes[name])
        if explained and name not in _CLEAR:
            self._column.addWidget(muted(meaning(name), self))
            self._column.addSpacing(SMALL)
        if name == "speculation":
            self._column.addWidget(self._hint)
            self._column.addSpacing(SMALL if explained else 0)

    def _offer_greedy(self) -> QHBoxLayout:
        """The row above the settings of sampling."""
        greedy = button(self.tr("Likeliest words"), self)
        greedy.setToolTip(self.tr("Temperature 0: the likeliest word each time"))
        greedy.clicked.connect(lambda: self.edited.emit("temperature", 0.0))
        remark = muted(self.tr("Automatic takes the model's own values."), self)
        return beside(None, remark, greedy, growing=remark)


def _heading(text: str, parent: QWidget) -> QLabel:
    made = section(text, parent)
    made.setContentsMargins(0, MEDIUM, 0, 0)
    return made


def _hint(speculation: str) -> str:
    hints = {
        "auto": translate(
            "SettingsForm", "Headstart chooses how far to guess ahead on this computer, within the bounds set here."
        ),
        "fixed": translate(
            "SettingsForm", "Headstart always guesses this many tokens ahead, whether that saves time or not."
        ),
        "off": translate("SettingsForm", "Nothing is guessed: the model writes one token at a time."),
    }
    return hints[speculation]
