"""The settings of the open chat: model pair, system prompt, speculation, sampling."""

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QVBoxLayout, QWidget

from headstart.parameters import SamplingParams, declared
from headstart.settings import in_section
from headstart.ui.settings.settings_form import Section, SettingsForm
from headstart.ui.widgets.labels import button
from headstart.ui.widgets.layouts import scrolled, set_margins
from headstart.ui.widgets.theme import MEDIUM, SMALL

_LOADED = ("model", "draft")
SAMPLING = (*(each.name for each in declared(SamplingParams)), "max_new_tokens", "stop")
_BAR = 12  # pixels of the scroll bar beside the settings


def _besides(section: str, *left_out: str) -> tuple[str, ...]:
    return tuple(name for name in in_section(section) if name not in left_out)


class SidePanel(QFrame):
    """A form with buttons for all chats; `edited` is that of the form."""

    reset_requested = Signal()
    adopt_requested = Signal()  # use these settings for every chat that has none of its own

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAccessibleName(self.tr("Settings of this chat"))
        self._form = SettingsForm(self._sections(), self)
        self.forms, self.edited = (self._form,), self._form.edited
        self._reset = button(self.tr("Reset"), self)
        self._reset.setToolTip(self.tr("Back to the settings of all chats"))
        self._adopt = button(self.tr("Use for all chats"), self)
        self._adopt.setToolTip(self.tr("Make these the settings of every chat that has none of its own"))
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._lay_out()
        self._reset.clicked.connect(self.reset_requested)
        self._adopt.clicked.connect(self.adopt_requested)

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
