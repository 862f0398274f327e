"""Presets of system prompts: the user's own, the built-in ones with their sampling, and their button."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from headstart.ui.translation import translate
from headstart.ui.widgets.menus import Menu
from headstart.ui.widgets.stylesheet import set_style_class

_SAMPLING = ("temperature", "top_p")  # set by a built-in preset, or left to the model
_FAITHFUL: Mapping[str, float] = {"temperature": 0.2, "top_p": 0.9}
_INVENTIVE: Mapping[str, float] = {"temperature": 1.0, "top_p": 0.95}
_MAX_NAME = 24  # characters on the button


@dataclass(frozen=True)
class Preset:
    """A named system prompt. `sampling` is None for the user's own presets, which leave sampling as it is."""

    name: str
    system_prompt: str
    sampling: Mapping[str, float] | None = field(default_factory=dict)

    def values(self) -> dict[str, object]:
        """Return the settings of a chat that the preset changes; None leaves a value to the model."""
        if self.sampling is None:
            return {"system_prompt": self.system_prompt}
        return {"system_prompt": self.system_prompt, **{name: self.sampling.get(name) for name in _SAMPLING}}


def built_in() -> list[Preset]:
    """Return the presets that ship with Headstart, in the language of the window."""
    return [
        Preset(
            translate("Presets", "Assistant"),
            translate(
                "Presets",
                "You are a helpful assistant. Answer clearly and get to the point. If you do not know something or are "
                "not sure, say so.",
            ),
        ),
        Preset(
            translate("Presets", "Short answers"),
            translate("Presets", "Answer in three sentences at most, without an introduction and without a summary."),
        ),
        Preset(
            translate("Presets", "Programmer"),
            translate(
                "Presets",
                "You are an experienced programmer. Give complete code that runs, in one block with its language, then "
                "explain in a few sentences why you wrote it so. Use the standard library where it will do.",
            ),
            _FAITHFUL,
        ),
        Preset(
            translate("Presets", "Code reviewer"),
            translate(
                "Presets",
                "You review code. List what is wrong or risky, the worst first: where it is, what happens, and how to "
                "repair it. Then name what could be simpler. Do not praise.",
            ),
            _FAITHFUL,
        ),
        Preset(
            translate("Presets", "Translator"),
            translate(
                "Presets",
                "Translate what you are given into English, and English into the language that was used before. Keep "
                "meaning, tone and formatting. Give only the translation.",
            ),
            _FAITHFUL,
        ),
        Preset(
            translate("Presets", "Editor"),
            translate(
                "Presets",
                "Correct the text that you are given: spelling, grammar and awkward sentences. Keep its language, its "
                "meaning and its tone. Give the corrected text, then a list of the important changes.",
            ),
            _FAITHFUL,
        ),
        Preset(
            translate("Presets", "Teacher"),
            translate(
                "Presets",
                "You are a patient teacher. Explain step by step in simple words, give an example from daily life, and "
                "end with one question that checks whether it was understood.",
            ),
        ),
        Preset(
            translate("Presets", "Storyteller"),
            translate(
                "Presets",
                "You write stories. Use vivid details, dialogue and surprising turns, avoid clichés, and bring each "
                "story to an end.",
            ),
            _INVENTIVE,
        ),
    ]


class PresetButton(QToolButton):
    """A button with the menu of presets; `chosen` has the one that was clicked."""

    chosen = Signal(object)  # Preset

    def __init__(self, parent: QWidget | None = None, add_actions: Callable[[Menu], None] | None = None) -> None:
        """`add_actions` adds to the menu whenever that opens."""
        super().__init__(parent)
        self._own: list[Preset] = []
        self._prompt = ""
        self._add_actions = add_actions
        set_style_class(self, "menu")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setToolTip(self.tr("What the model is told before the chat, and how freely it chooses words"))
        self._menu = Menu(self)
        self._menu.aboutToShow.connect(self.fill)
        self.setMenu(self._menu)
        self._show_name()

    @property
    def current(self) -> str:
        """Name of the preset with the current system prompt; "" if there is none."""
        presets = [*self._own, *built_in()]
        return next((preset.name for preset in presets if preset.system_prompt == self._prompt), "")

    def show_presets(self, presets: Mapping[str, str]) -> None:
        """Set the user's own presets."""
        self._own = [Preset(name, text, None) for name, text in presets.items()]
        self._show_name()

    def show_prompt(self, system_prompt: str) -> None:
        self._prompt = system_prompt
        self._show_name()

    @Slot()
    def fill(self) -> None:
        menu, current = self._menu, self.current
        menu.clear()
        for group in ([Preset(self.tr("None"), "")], self._own, built_in()):
            menu.addSeparator()
            for preset in group:
                action = menu.addAction(preset.name.replace("&", "&&"), partial(self.chosen.emit, preset))
                action.setToolTip(preset.system_prompt)
                action.setCheckable(True)
                action.setChecked(preset.system_prompt == self._prompt if not current else preset.name == current)
        menu.setToolTipsVisible(True)
        if self._add_actions:
            menu.addSeparator()
            self._add_actions(menu)

    def _show_name(self) -> None:
        name = self.current
        short = name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
        text = self.tr("Preset: {}").format(short) if name else self.tr("Presets")
        self.setText(text.replace("&", "&&"))
        self.setAccessibleName(self.tr("Preset: {}").format(name) if name else self.tr("Presets"))
