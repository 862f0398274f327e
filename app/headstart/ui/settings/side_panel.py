"""The settings of the open chat: model pair, system prompt, speculation, sampling."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QWidget

from headstart.parameters import SamplingParams, declared
from headstart.settings import in_section
from headstart.ui.settings.settings_form import CREATIVITY, Section, SettingsForm
from headstart.ui.widgets.labels import Fold, button
from headstart.ui.widgets.layouts import row, scrolled, set_margins, stacked
from headstart.ui.widgets.stylesheet import hide_idle_bar
from headstart.ui.widgets.theme import MEDIUM, SMALL

_CHOOSING = tuple(each.name for each in declared(SamplingParams))
SAMPLING = (*_CHOOSING, *(name for name in in_section("sampling") if name not in _CHOOSING))
_EVERYDAY = ("model", "system_prompt", CREATIVITY, "max_new_tokens", "think")
_BAR = 12  # pixels of the scroll bar beside the settings


def _others(section: str, *excluded: str) -> tuple[str, ...]:
    return tuple(name for name in in_section(section) if name not in excluded)


class SidePanel(QFrame):
    """Everyday settings of the open chat, the others folded, and two buttons. `edited` is that of the everyday form."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAccessibleName(self.tr("Settings of this chat"))
        self._form = SettingsForm([("", _EVERYDAY)], self)
        self._advanced = SettingsForm(self._rest(), self)
        self.forms, self.edited = (self._form, self._advanced), self._form.edited
        self._fold = Fold(self.tr("More"), self._advanced, self)
        self.reset = button(self.tr("Reset"), self)
        self.reset.setToolTip(self.tr("Back to the settings of all chats"))
        self.adopt = button(self.tr("Use for all chats"), self)
        self.adopt.setToolTip(self.tr("Make these the settings of every chat that has none of its own"))
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._lay_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange_buttons()

    def event(self, event: QEvent) -> bool:
        is_handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # the text became larger, or the style sheet changed
            self._arrange_buttons()
        return is_handled

    def _arrange_buttons(self) -> None:
        """Put large buttons in a column."""
        width = self.reset.sizeHint().width() + self.adopt.sizeHint().width()
        fits = width + SMALL + 2 * MEDIUM + _BAR <= self.width()
        self._buttons.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)

    def _rest(self) -> list[Section]:
        shown = self._form.names
        return [
            (self.tr("Answers"), tuple(name for name in SAMPLING if name not in shown)),
            (self.tr("Loading"), _others("model", "draft", *shown)),
            (self.tr("Speed-up"), (*_others("speculation", "acceptance_threshold"), "draft")),
        ]

    def _lay_out(self) -> None:
        set_margins(self._buttons, start=MEDIUM, top=SMALL, end=MEDIUM + _BAR, bottom=MEDIUM)
        self._buttons.setSpacing(SMALL)
        self._buttons.addWidget(self.reset)
        self._buttons.addWidget(self.adopt)
        column = stacked(self, spacing=0)
        inner = QWidget(self)
        forms = stacked(inner, spacing=0)
        for form in self.forms:
            form.setMinimumWidth(1)  # or words wrap for a width that a narrow panel does not have
        forms.addWidget(self._form)
        forms.addLayout(row(self._fold))
        forms.addWidget(self._advanced)
        forms.addStretch(1)
        scroll = scrolled(inner, self)
        hide_idle_bar(scroll)
        scroll.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # so that fields stay where they are
        column.addWidget(scroll, 1)
        column.addLayout(self._buttons)
