"""The settings of the open chat: model pair, system prompt, speculation, sampling."""

from collections.abc import Mapping

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QVBoxLayout, QWidget

from headstart.parameters import SamplingParams, declared
from headstart.settings import Settings, in_section
from headstart.ui.settings.settings_form import Choices, Section, SettingsForm
from headstart.ui.widgets.labels import button
from headstart.ui.widgets.layouts import scrolled, set_margins
from headstart.ui.widgets.theme import MEDIUM, SMALL

_LOADED = ("model", "draft")
SAMPLING = (*(each.name for each in declared(SamplingParams)), "max_new_tokens", "stop")
_BAR = 12  # pixels of the scroll bar beside the settings


def _besides(section: str, *left_out: str) -> tuple[str, ...]:
    return tuple(name for name in in_section(section) if name not in left_out)


class SidePanel(QFrame):
    """Emits what was changed; shows the settings it is given."""

    edited = Signal(str, object)  # name, plain value
    reset_requested = Signal()
    adopt_requested = Signal()  # use these settings for every chat that has none of its own
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAccessibleName(self.tr("Settings of this chat"))
        self._form = SettingsForm(self._sections(), self)
        self._reset = button(self.tr("Reset"), self)
        self._reset.setToolTip(self.tr("Back to the settings of all chats"))
        self._adopt = button(self.tr("Use for all chats"), self)
        self._adopt.setToolTip(self.tr("Make these the settings of every chat that has none of its own"))
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._lay_out()
        self._form.edited.connect(self.edited)
        self._reset.clicked.connect(self.reset_requested)
        self._adopt.clicked.connect(self.adopt_requested)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """Show the values, and what automatic ones are now."""
        self._form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting."""
        for name, offered in choices.items():
            self._form.set_choices(name, offered)

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """Remarks for these models, by setting."""
        self._form.show_notes(notes)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._fit()

    def event(self, event: QEvent) -> bool:
        taken = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the text became larger, or the style sheet changed
            self._fit()
        return taken

    def _fit(self) -> None:
        """Put large buttons below each other."""
        words = self._reset.sizeHint().width() + self._adopt.sizeHint().width()
        fits = words + SMALL + 2 * MEDIUM + _BAR <= self.width()
        self._buttons.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)

    def _sections(self) -> list[Section]:
        return [
            (self.tr("Models"), _LOADED),
            ("", ("system_prompt",)),
            (self.tr("Guessing ahead"), _besides("speculation", "acceptance_threshold")),
            (self.tr("Answers"), SAMPLING),
            (self.tr("Loading"), _besides("model", *_LOADED)),
        ]

    def _lay_out(self) -> None:
        set_margins(self._buttons, start=MEDIUM, top=SMALL, end=MEDIUM + _BAR, bottom=MEDIUM)
        self._buttons.setSpacing(SMALL)
        self._buttons.addWidget(self._reset)
        self._buttons.addWidget(self._adopt)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scrolled(self._form, self), 1)
        column.addLayout(self._buttons)
