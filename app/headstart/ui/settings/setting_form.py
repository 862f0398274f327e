"""Editors of several settings under headings, filled from the settings. Knows neither chat nor file."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from headstart.parameters import Mode
from headstart.settings import Settings
from headstart.ui.settings.preset_editor import PresetEditor
from headstart.ui.settings.setting_editors import ChoiceEditor, NumberEditor, SettingEditor, editor
from headstart.ui.settings.setting_titles import meaning
from headstart.ui.translation import translate
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import MEDIUM, SMALL

Section = tuple[str, tuple[str, ...]]  # heading, or empty; names of settings
Choices = list[tuple[str, str, str]]  # value, text, reason why not or empty
_NOTED = ("kv_precision",)
_GUESSING = ("num_assistant_tokens", "assistant_confidence_threshold", "acceptance_threshold")


class SettingForm(QWidget):
    """Emits what was changed; shows the settings it is given. `explained` puts each meaning below its editor."""

    edited = Signal(str, object)  # name, plain value

    def __init__(self, sections: Iterable[Section], parent: QWidget | None = None, *, explained: bool = False) -> None:
        super().__init__(parent)
        self._editors: dict[str, SettingEditor] = {}
        self._notes: dict[str, QLabel] = {}
        self._hint = muted("", self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        self._column.setSpacing(SMALL)
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
        """The values that hold, and those that automatic ones take."""
        for name, field in self._editors.items():
            if isinstance(field, NumberEditor):
                field.show_usual(usual.get(name))
            field.show_value(getattr(settings, name))
            if isinstance(field, PresetEditor):
                field.show_presets(settings.presets)
        for name in self._editors.keys() & set(_GUESSING):
            self._editors[name].setEnabled(settings.guessing.mode is not Mode.OFF)
        self._hint.setText(_hint(settings.guessing.mode))

    def set_choices(self, name: str, choices: Choices) -> None:
        """What can be chosen for a setting, where it is shown at all."""
        field = self._editors.get(name)
        if isinstance(field, ChoiceEditor):
            field.set_choices(choices)

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
        if explained:
            self._column.addWidget(muted(meaning(name), self))
            self._column.addSpacing(SMALL)
        if name == "assistant_confidence_threshold":
            self._column.addWidget(self._hint)
            self._column.addSpacing(SMALL if explained else 0)

    def _offer_greedy(self) -> QHBoxLayout:
        """Above what is sampled with."""
        greedy = QPushButton(self.tr("Greedy"), self)
        greedy.setToolTip(self.tr("Temperature 0: the likeliest word each time"))
        dress(greedy, "plain")
        greedy.clicked.connect(lambda: self.edited.emit("temperature", 0.0))
        row = QHBoxLayout()
        row.setSpacing(SMALL)
        row.addWidget(muted(self.tr("Automatic takes the model's own values."), self), 1)
        row.addWidget(greedy)
        return row


def scrolled(inner: QWidget, parent: QWidget, *, sideways: bool = False) -> QScrollArea:
    """A page that scrolls upwards and downwards, `sideways` only where it would be cut, on its parent's ground."""
    scroll = QScrollArea(parent)
    scroll.setWidgetResizable(True)
    if not sideways:
        inner.setMinimumWidth(1)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setWidget(inner)
    inner.setAutoFillBackground(False)  # which `setWidget` turns on
    scroll.viewport().setAutoFillBackground(False)
    return scroll


def muted(text: str, parent: QWidget) -> QLabel:
    """A remark below something."""
    label = QLabel(text, parent)
    label.setWordWrap(True)
    dress(label, "muted")
    return label


def _heading(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    dress(label, "section")
    label.setContentsMargins(0, MEDIUM, 0, 0)
    return label


def _hint(speculation: str) -> str:
    hints = {
        "auto": translate(
            "SettingForm", "Headstart guesses as far ahead as pays on this machine, within the bounds set here."
        ),
        "fixed": translate("SettingForm", "Always this many tokens are guessed ahead, whether it pays or not."),
        "off": translate("SettingForm", "Plain decoding: the model writes one token at a time."),
    }
    return hints[speculation]
