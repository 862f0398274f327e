"""Editors of settings, and forms of them under headings."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QSignalBlocker, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QPaintEvent, QShowEvent, QValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QInputDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from headstart.parameters import Mode
from headstart.settings import Settings, about, defaults, in_section, plain
from headstart.ui.settings.presets import Preset, PresetButton
from headstart.ui.translation import translate
from headstart.ui.widgets.focus import pass_wheel
from headstart.ui.widgets.labels import StatusLine, button, muted, section
from headstart.ui.widgets.layouts import beside, stacked, style_dialog
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.stylesheet import inset, set_style_class
from headstart.ui.widgets.theme import MEDIUM, SMALL, TINY


def title(name: str) -> str:
    return QCoreApplication.translate("Settings", about()[name].title)


def meaning(name: str) -> str:
    """Return a sentence on what a setting does."""
    return QCoreApplication.translate("Settings", about()[name].meaning)


def label(name: str, choice: str) -> str:
    """Return the text of a choice of a setting."""
    known = about()[name]
    text = known.labels.get(choice)
    return known.names.get(choice, choice) if text is None else QCoreApplication.translate("Settings", text)


def switched(value: bool | None) -> str:
    """Format a value that is on, off or automatic."""
    words = {True: translate("Settings", "On"), False: translate("Settings", "Off")}
    return translate("Settings", "Automatic") if value is None else words[value]


class ChoiceBox(QComboBox):
    """A box of choices. It ignores the wheel: scrolling a panel must not change values."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        pass_wheel(self)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        """Paint as Qt does, but with an ellipsis if the text is cut."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, self).width() - SMALL
        option.currentText = self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


_TYPING_MS = 600
_WIDTH, _LABEL_WIDTH, _BOX_WIDTH = 88, 64, 150
_MAX_POPUP = 520  # pixels, of a list of choices
_MAX_NUMBER = 2**31 - 1  # of a spin box
_NAME_CHOICES = frozenset({"model", "draft"})  # their choices are names, which may be long


class SettingEditor(QWidget):
    """A title with an editor beside or below it. It emits plain values when the user sets them."""

    edited = Signal(str, object)  # name, value

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self.label = QLabel(title(name), self)
        self.label.setToolTip(meaning(name))

    def show_value(self, value: Any) -> None:
        """Show a value without emitting it."""
        raise NotImplementedError

    def _describe(self, field: QWidget) -> None:
        """Give the field the name and description of the setting."""
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
    """A choice of one of several values. A greyed value has its reason in the tooltip."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box = ChoiceBox(self)
        self._box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._box.setMinimumContentsLength(8)
        self._box.setMinimumWidth(_BOX_WIDTH)
        self._describe(self._box)
        self.label.setMinimumWidth(_LABEL_WIDTH)
        if name in _NAME_CHOICES:
            self._column(self._box)
        else:
            self.setLayout(self._row(self._box))
        for value in about()[name].choices:
            self._box.addItem(label(name, value), value)
        self._box.activated.connect(self._on_edited)

    def set_choices(self, choices: list[tuple[str, str, str]]) -> None:
        """Set the choices: value, text, and the reason why it cannot be chosen or ""."""
        with QSignalBlocker(self._box):
            self._box.clear()
            for value, text, reason in choices:
                self._box.addItem(f"{text} · {reason}" if reason else text, value)
                item = self._box.model().item(self._box.count() - 1)  # type: ignore[attr-defined]
                item.setToolTip(reason or text)
                item.setEnabled(not reason)
        view = self._box.view()
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        view.setMinimumWidth(min(view.sizeHintForColumn(0) + 2 * SMALL, _MAX_POPUP))

    def show_value(self, value: Any) -> None:
        self._box.setCurrentIndex(self._box.findData(value))

    @Slot()
    def _on_edited(self) -> None:
        self.edited.emit(self.name, self._box.currentData())


CREATIVITY = "creativity"  # stands in a form for the steps of "temperature"
_STEPS: tuple[float | None, ...] = (0.2, None, 1.0)  # None is the model's own


class CreativityEditor(SettingEditor):
    """The temperature in three steps; none is pressed for another number."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("temperature", parent)
        self.label.setText(self.tr("Style"))
        words = (self.tr("Precise"), self.tr("Balanced"), self.tr("Creative"))
        tips = (
            self.tr("Keeps to the most likely words: for facts, code and translations."),
            self.tr("As the model's authors recommend."),
            self.tr("Chooses words more freely: for stories and ideas."),
        )
        self.steps = [button(text, self, "step") for text in words]
        for step, tip, value in zip(self.steps, tips, _STEPS, strict=True):
            step.setCheckable(True)
            step.setToolTip(tip)
            step.setAccessibleDescription(tip)
            step.clicked.connect(partial(self._on_chosen, value))
        stacked(self, self.label, beside(None, *self.steps, spacing=TINY), spacing=TINY)

    def show_value(self, value: Any) -> None:
        for step, own in zip(self.steps, _STEPS, strict=True):
            step.setChecked(value == own)

    def _on_chosen(self, value: float | None, _checked: bool = False) -> None:
        self.show_value(value)  # a click on the pressed one does not release it
        self.edited.emit(self.name, value)


_SWITCHED = (None, True, False)


class SwitchEditor(ChoiceEditor):
    """A choice of automatic, on and off."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box.addItems([switched(value) for value in _SWITCHED])

    def show_value(self, value: Any) -> None:
        self._box.setCurrentIndex(_SWITCHED.index(value))

    @Slot()
    def _on_edited(self) -> None:
        self.edited.emit(self.name, _SWITCHED[self._box.currentIndex()])


class CheckEditor(SettingEditor):
    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._box = QCheckBox(title(name), self)
        self._describe(self._box)
        self.label.hide()  # the box shows the title
        self.setLayout(self._row(self._box))
        self._box.clicked.connect(self._on_edited)

    def show_value(self, value: Any) -> None:
        self._box.setChecked(value)

    @Slot()
    def _on_edited(self) -> None:
        self.edited.emit(self.name, self._box.isChecked())


class NumberEditor(SettingEditor):
    """A number within its bounds; with a box for automatic if the setting can be automatic."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._kind = type(_sample(name))  # int or float
        self._spin = NumberBox(name, self)
        self._spin.setMinimumWidth(_BOX_WIDTH)
        self._automatic_value: float | None = None  # None if it is unknown
        self._spin.setKeyboardTracking(False)
        self._describe(self._spin)
        self._automatic = QCheckBox(self.tr("Auto"), self)
        self._automatic.setAccessibleName(self.tr("{}: automatic").format(title(name)))
        if about()[name].is_models_own:
            self._automatic.setToolTip(self.tr("The value that the model's authors recommend"))
        self._automatic.setVisible(defaults()[name] is None)
        self._bounds_line = StatusLine(self)
        stacked(self, self._row(self._automatic, self._spin), self._bounds_line, spacing=TINY)
        self._spin.corrected.connect(self._on_corrected)
        self._spin.valueChanged.connect(self._on_edited)
        self._automatic.toggled.connect(self._on_automatic)

    def show_value(self, value: Any) -> None:
        """Show a number, or None for automatic."""
        with QSignalBlocker(self._spin), QSignalBlocker(self._automatic):
            self._automatic.setChecked(value is None)
            self._spin.setEnabled(value is not None)
            self._spin.setHidden(value is None and self._automatic_value is None)  # there is nothing to show
            self._show(self._automatic_value if value is None else value)

    def show_automatic(self, value: float | None) -> None:
        """Set the automatic value; None if it is unknown."""
        self._automatic_value = value

    def _show(self, value: float | None) -> None:
        self._spin.setValue(self._spin.minimum() if value is None else value)

    @Slot(str, float)
    def _on_corrected(self, typed: str, value: float) -> None:
        """Show, until the next change, that the typed value was replaced by another one."""
        words = self.tr("{typed} is out of bounds ({low} to {high}); {value} is used.").format(
            typed=typed,
            low=self._spin.textFromValue(self._spin.minimum()),
            high=self._spin.textFromValue(self._spin.maximum()),
            value=self._spin.textFromValue(value),
        )
        self._bounds_line.say(words, bad=True)

    @Slot()
    def _on_edited(self) -> None:
        self._bounds_line.say("")
        if not self._automatic.isChecked():
            self.edited.emit(self.name, self._kind(self._spin.value()))

    @Slot(bool)
    def _on_automatic(self, automatic: bool) -> None:
        self._spin.setEnabled(not automatic)
        self._spin.setHidden(automatic and self._automatic_value is None)
        if automatic:
            self.edited.emit(self.name, None)
            return
        with QSignalBlocker(self._spin):
            self._show(_sample(self.name) if self._automatic_value is None else self._automatic_value)
        self.edited.emit(self.name, self._kind(self._spin.value()))


class TextEditor(SettingEditor):
    """A text of several lines, or a list with a text on each line."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._is_list = isinstance(defaults()[name], tuple)
        self._field = QPlainTextEdit(self)
        set_style_class(self._field, "field")
        self._field.setTabChangesFocus(True)
        self._fit_height()
        if self._is_list:
            self._field.setPlaceholderText(self.tr("one on each line"))
        self._describe(self._field)
        self._column(self._field)
        self._typing_timer = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing_timer.timeout.connect(self._emit)
        self._field.textChanged.connect(self._typing_timer.start)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_height()

    def _fit_height(self) -> None:
        lines = 2 if self._is_list else 5
        self._field.setFixedHeight(self._field.fontMetrics().lineSpacing() * lines + 2 * SMALL)

    def hideEvent(self, event: QHideEvent) -> None:
        self.flush()
        super().hideEvent(event)

    def show_value(self, value: Any) -> None:
        """Show a text, or a list of them, unless another one is being typed."""
        if plain(value) != self._value() and not self._typing_timer.isActive():
            with QSignalBlocker(self._field):
                self._field.setPlainText("\n".join(value) if self._is_list else value)

    @Slot()
    def flush(self) -> None:
        """Emit the text if it was typed and not emitted yet."""
        if self._typing_timer.isActive():
            self._emit()

    @Slot()
    def _emit(self) -> None:
        self._typing_timer.stop()
        self.edited.emit(self.name, self._value())

    def _value(self) -> str | list[str]:
        """Return the text as a plain value."""
        text = self._field.toPlainText()
        return [line for line in text.split("\n") if line] if self._is_list else text


def editor(name: str, parent: QWidget) -> SettingEditor:
    """Return the right editor for a setting, or for CREATIVITY."""
    if name == CREATIVITY:
        return CreativityEditor(parent)
    if name == "system_prompt":
        return PresetEditor(parent)
    value = _sample(name)
    if about()[name].choices or name in {"model", "draft", "device", "draft_device"}:
        return ChoiceEditor(name, parent)
    if about()[name].kind is bool and defaults()[name] is None:
        return SwitchEditor(name, parent)
    if isinstance(value, bool):
        return CheckEditor(name, parent)
    return NumberEditor(name, parent) if isinstance(value, int | float) else TextEditor(name, parent)


def _sample(name: str) -> Any:
    """Return a value of the setting's type: the default, or a value to start from if the default is automatic."""
    return about()[name].start if defaults()[name] is None else defaults()[name]


def _unit(unit: str) -> str:
    """Return the unit behind a number in the language of the window; signs such as % are the same in all."""
    return translate("Settings", " tokens") if unit == " tokens" else unit


_INVALID = QValidator.State.Invalid


class NumberBox(QDoubleSpinBox):
    """A box for the number of a setting. It ignores the wheel, and corrects numbers out of bounds."""

    corrected = Signal(str, float)  # what was typed, and the nearest possible value

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        declaration, is_whole = about()[name], isinstance(_sample(name), int)
        self.setDecimals(0 if is_whole else 2)
        self.setSingleStep(1 if is_whole else 0.05)
        low = declaration.low if declaration.low is not None else (declaration.above or 0.0) + 0.01
        self.setRange(low, _MAX_NUMBER if declaration.high is None else min(declaration.high, _MAX_NUMBER))
        self.setSuffix(_unit(declaration.unit))
        self.setToolTip(meaning(name))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        inset(self)
        pass_wheel(self)
        self._typed = ""  # while it was out of bounds
        self.editingFinished.connect(self._on_editing_finished)

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept out-of-range numbers while they are typed: Qt would drop keys, which makes other numbers unseen."""
        state, text, position = super().validate(text, position)
        is_number = self._number(text) is not None
        return QValidator.State.Intermediate if is_number and state == _INVALID else state, text, position

    def fixup(self, text: str) -> str:
        """Return the nearest possible number."""
        number = self._number(text)
        if number is None:
            return str(super().fixup(text))
        self._typed = text
        return self.textFromValue(min(max(number, self.minimum()), self.maximum())) + self.suffix()

    def sizeHint(self) -> QSize:
        digits = self.fontMetrics().horizontalAdvance("0" * 6 + self.suffix()) + 3 * MEDIUM
        return QSize(max(_WIDTH, digits), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _number(self, text: str) -> float | None:
        number, is_number = self.locale().toDouble(text.removesuffix(self.suffix()).strip())
        return number if is_number else None

    @Slot()
    def _on_editing_finished(self) -> None:
        typed, self._typed = self._typed, ""
        if typed:
            self.corrected.emit(typed, self.value())


class PresetEditor(TextEditor):
    """The system prompt and its presets. It also emits "presets" (the user's own) and the sampling of a chosen one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("system_prompt", parent)
        self._presets: dict[str, str] = {}
        self.button = PresetButton(self, self._add_actions)
        self.button.chosen.connect(self._on_preset_chosen)
        self._lay_out_title()
        self._field.textChanged.connect(self._show_prompt)
        self._show_prompt()

    def show_presets(self, presets: Mapping[str, str]) -> None:
        """Set the user's own presets."""
        self._presets = dict(presets)
        self.button.show_presets(presets)
        self._show_prompt()

    def save(self, name: str) -> None:
        """Keep the prompt as a preset; it replaces a preset of the same name, which can be undone."""
        if name.strip():
            self._change_presets({**self._presets, name.strip(): self._field.toPlainText()})

    def rename(self, name: str) -> None:
        """Rename the current preset; its place in the list stays."""
        current, name = self.button.current, name.strip()
        if name and current in self._presets and name != current:
            others = {old: text for old, text in self._presets.items() if old != name}
            self._change_presets({name if old == current else old: text for old, text in others.items()})

    def _add_actions(self, menu: Menu) -> None:
        current = self.button.current
        save = menu.addAction(self.tr("Save as Preset…"), self._on_save)
        save.setEnabled(bool(self._field.toPlainText().strip()) and not current)
        for label, slot in ((self.tr("Rename Preset…"), self._on_rename), (self.tr("Delete Preset"), self._on_delete)):
            menu.addAction(label, slot).setEnabled(current in self._presets)

    @Slot(object)
    def _on_preset_chosen(self, preset: Preset) -> None:
        self.flush()
        self._field.setPlainText(preset.system_prompt)
        self._typing_timer.stop()
        for name, value in preset.values().items():
            self.edited.emit(name, value)

    @Slot()
    def _on_save(self) -> None:
        self._ask(self.tr("Save as preset"), "", self.save)

    @Slot()
    def _on_rename(self) -> None:
        self._ask(self.tr("Rename preset"), self.button.current, self.rename)

    def _ask(self, title: str, name: str, on_name: Callable[[str], None]) -> None:
        dialog = QInputDialog(self)
        style_dialog(dialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(title)
        dialog.setLabelText(self.tr("Name"))
        dialog.setTextEchoMode(QLineEdit.EchoMode.Normal)
        dialog.setTextValue(name)
        dialog.textValueSelected.connect(on_name)
        dialog.open()

    @Slot()
    def _on_delete(self) -> None:
        current = self.button.current
        self._change_presets({name: text for name, text in self._presets.items() if name != current})

    def _change_presets(self, presets: dict[str, str]) -> None:
        self.flush()
        self.show_presets(presets)
        self.edited.emit("presets", presets)

    @Slot()
    def _show_prompt(self) -> None:
        self.button.show_prompt(self._field.toPlainText())

    def _lay_out_title(self) -> None:
        """Put title and menu on one line."""
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertLayout(0, beside(None, self.label, self.button, growing=self.label))


Section = tuple[str, tuple[str, ...]]  # heading or "", names of settings
Choices = list[tuple[str, str, str]]  # value, text, reason against it or ""
_NOTED = ("kv_precision",)
# Their titles say it all, or their hint does; the meaning of each is in its tooltip.
_SELF_EXPLAINING = frozenset({
    "language", "theme", "font_size", "zoom", "reduced_motion", "enter_sends", "restore_chat", "notifications",
    "notification_text", "tools", "system_prompt", "device", "draft_device", "speculation", "max_new_tokens", "think",
})  # fmt: skip


class SettingsForm(QWidget):
    """Editors of settings under headings. `explained` puts the meaning of a setting below its editor.

    To start faster, it gets its editors when it is first shown; until then there is nothing that could show a value.
    """

    built = Signal()  # the editors are there, without values
    edited = Signal(str, object)  # name, plain value

    def __init__(self, sections: Iterable[Section], parent: QWidget | None = None, *, explained: bool = False) -> None:
        super().__init__(parent)
        self._sections, self._is_explained = tuple(sections), explained
        self._editors: dict[str, SettingEditor] = {}
        self._notes: dict[str, QLabel] = {}
        self._hint = muted("", self)
        self._column = stacked(self, margin=MEDIUM)

    @property
    def names(self) -> tuple[str, ...]:
        """The settings that can be changed here."""
        return tuple(name for _, names in self._sections for name in names if name in about())

    @property
    def is_built(self) -> bool:
        return bool(self._editors)

    def build(self) -> None:
        """Make the editors, unless they are there."""
        if self.is_built:
            return
        for heading, names in self._sections:
            if heading:
                self._column.addWidget(_heading(heading, self))
            for name in names:
                self._add(name, explained=self._is_explained)
        self._hint.setVisible("speculation" in self._editors)
        self._column.addStretch(1)
        self.built.emit()

    def flush(self) -> None:
        """Emit what is being typed."""
        for field in self._editors.values():
            if isinstance(field, TextEditor):
                field.flush()

    def showEvent(self, event: QShowEvent) -> None:
        self.build()
        super().showEvent(event)

    def show_settings(self, settings: Settings, automatic: Mapping[str, float]) -> None:
        """Show the values; `automatic` has those that automatic settings take now."""
        for field in self._editors.values():
            if isinstance(field, NumberEditor):
                field.show_automatic(automatic.get(field.name))
            field.show_value(getattr(settings, field.name))
            if isinstance(field, PresetEditor):
                field.show_presets(settings.presets)
        for name in self._editors.keys() & set(in_section("speculation")[1:]):
            self._editors[name].setEnabled(settings.guessing.mode is not Mode.OFF)
        if "think_budget" in self._editors:
            self._editors["think_budget"].setEnabled(settings.think is not False)
        self._hint.setText(_hint(settings.guessing.mode))

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """Set the choices of settings; settings that are not shown here are ignored."""
        for name, values in choices.items():
            field = self._editors.get(name)
            if isinstance(field, ChoiceEditor):
                field.set_choices(values)

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """Show notes below the settings that have room for them; an empty note takes no room."""
        for name, note in self._notes.items():
            note.setText(notes.get(name, ""))
            note.setVisible(bool(note.text()))

    def _add(self, name: str, *, explained: bool) -> None:
        field = editor(name, self)
        self._editors[name] = field
        field.edited.connect(self.edited)
        self._column.addWidget(field)
        if name in _NOTED:
            self._notes[name] = muted("", self)
            self._notes[name].hide()
            self._column.addWidget(self._notes[name])
        if explained and name not in _SELF_EXPLAINING:
            self._column.addWidget(muted(meaning(name), self))
            self._column.addSpacing(SMALL)
        if name == "speculation":
            self._column.addWidget(self._hint)
            self._column.addSpacing(SMALL if explained else 0)


def _heading(text: str, parent: QWidget) -> QLabel:
    heading = section(text, parent)
    heading.setContentsMargins(0, MEDIUM, 0, 0)
    return heading


def _hint(speculation: str) -> str:
    hints = {
        "auto": translate(
            "SettingsForm",
            "Headstart guesses the next words and the model checks them: the answer stays the same and comes sooner.",
        ),
        "fixed": translate(
            "SettingsForm", "Headstart always guesses this many tokens ahead, even where that saves no time."
        ),
        "off": translate("SettingsForm", "The model writes one token at a time."),
    }
    return hints[speculation]
