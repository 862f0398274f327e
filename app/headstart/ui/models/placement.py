"""Where models run and with how much context, for all chats that have no settings of their own. Knows no device."""

from collections.abc import Iterable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from headstart.settings import Settings
from headstart.ui.models import model_facts
from headstart.ui.settings.setting_form import Choices, SettingForm, muted
from headstart.ui.spelling import amount
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import LARGE, MEDIUM, SMALL

_NAMES = ("device", "draft_device", "context")


class Placement(QFrame):
    """A card with the settings that decide it, and what each device here can and cannot do."""

    edited = Signal(str, object)  # name, plain value

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        dress(self, "card")
        title = QLabel(self.tr("Where models run"), self)
        dress(title, "section")
        self._form = SettingForm([("", _NAMES)], self)
        form = self._form.layout()
        assert form
        form.setContentsMargins(0, 0, 0, 0)
        self._limits = muted("", self)
        self._memory = muted("", self)
        column = QVBoxLayout(self)
        column.setContentsMargins(LARGE, MEDIUM, LARGE, MEDIUM)
        column.setSpacing(SMALL)
        for part in (title, self._form, self._limits, self._memory):
            column.addWidget(part)
        self._form.edited.connect(self.edited)

    def show_settings(self, settings: Settings, usual: Mapping[str, float]) -> None:
        """The values that hold, and those that automatic ones take."""
        self._form.show_settings(settings, usual)

    def show_choices(self, choices: Mapping[str, Choices]) -> None:
        """What can be chosen, by setting."""
        for name, offered in choices.items():
            self._form.set_choices(name, offered)
        self._limits.setText(_limits(name for name, _, _ in choices.get("device", []) if name))

    def show_notes(self, notes: Mapping[str, str]) -> None:
        """What is worth knowing with these models, by setting."""
        self._form.show_notes(notes)

    def show_memory(self, free: int) -> None:
        """Bytes that a model could take now."""
        self._memory.setText(
            self.tr("{} of memory is free for a model, that of the one in use included.").format(amount(free))
        )


def _limits(devices: Iterable[str]) -> str:
    return "\n".join(model_facts.device_limits(device) for device in devices)
