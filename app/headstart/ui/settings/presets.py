"""Presets of system prompts: one's own, those that ship with the sampling that suits them, and their button."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from headstart.ui.translation import translate
from headstart.ui.widgets.icons import icon
from headstart.ui.widgets.stylesheet import set_style_class

_SAMPLED = ("temperature", "top_p")  # what a preset that ships sets, or leaves to the model
_FAITHFUL: Mapping[str, float] = {"temperature": 0.2, "top_p": 0.9}
_INVENTIVE: Mapping[str, float] = {"temperature": 1.0, "top_p": 0.95}
_LONGEST = 24  # characters of a name on the button


@dataclass(frozen=True)
class Preset:
    """A system prompt by name; `sampling` is None for one's own, which leave sampling as it is."""

    name: str
    system_prompt: str
    sampling: Mapping[str, float] | None = field(default_factory=dict)

    def values(self) -> dict[str, object]:
        """The settings of a chat that it changes; None leaves a value to the model."""
        if self.sampling is None:
            return {"system_prompt": self.system_prompt}
        return {"system_prompt": self.system_prompt, **{name: self.sampling.get(name) for name in _SAMPLED}}


def built_in() -> list[Preset]:
    """Those that ship, in the language of the window."""
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


def own(presets: Mapping[str, str]) -> list[Preset]:
    """Those that a person keeps."""
    return [Preset(name, text, None) for name, text in presets.items()]


class PresetButton(QToolButton):
    """Lists the presets; `chosen` bears the one that was clicked."""

    chosen = Signal(object)  # Preset

    def __init__(self, parent: QWidget | None = None, more: Callable[[QMenu], None] | None = None) -> None:
        """`more` adds to the menu whenever that opens."""
        super().__init__(parent)
        self._own: list[Preset] = []
        self._prompt = ""
        self._more = more
        set_style_class(self, "flat")
        self.setIcon(icon("unfolded"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the name
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setToolTip(self.tr("What the model is told before the chat, and how freely it chooses words"))
        menu = QMenu(self)
        menu.setLayoutDirection(QGuiApplication.layoutDirection())  # not that of the button
        menu.aboutToShow.connect(self.fill)
        self.setMenu(menu)
        self._show_name()

    @property
    def current(self) -> str:
        """The name of the preset with the system prompt that is shown; "" if there is none."""
        known = [*self._own, *built_in()]
        return next((preset.name for preset in known if preset.system_prompt == self._prompt), "")

    def show_presets(self, presets: Mapping[str, str]) -> None:
        """A person's own, all there are."""
        self._own = own(presets)
        self._show_name()

    def show_prompt(self, system_prompt: str) -> None:
        """The system prompt that holds."""
        self._prompt = system_prompt
        self._show_name()

    @Slot()
    def fill(self) -> None:
        """List them anew."""
        menu, here = self.menu(), self.current
        menu.clear()
        for group in ([Preset(self.tr("None"), "")], self._own, built_in()):
            menu.addSeparator()
            for preset in group:
                action = menu.addAction(preset.name.replace("&", "&&"), partial(self.chosen.emit, preset))
                action.setToolTip(preset.system_prompt)
                action.setCheckable(True)
                action.setChecked(preset.system_prompt == self._prompt if not here else preset.name == here)
        menu.setToolTipsVisible(True)
        if self._more:
            menu.addSeparator()
            self._more(menu)

    def _show_name(self) -> None:
        name = self.current
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        shown = self.tr("Preset: {}").format(short) if name else self.tr("Presets")
        self.setText(shown.replace("&", "&&"))
        self.setAccessibleName(self.tr("Preset: {}").format(name) if name else self.tr("Presets"))
