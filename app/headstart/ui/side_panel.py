"""The settings of the open chat: model pair, system prompt, speculation, sampling. Knows no chat and no file."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QVBoxLayout, QWidget

from headstart.settings import Settings
from headstart.ui.setting_editors import ChoiceEditor, SettingEditor, editor
from headstart.ui.stylesheet import dress
from headstart.ui.theme import MEDIUM, SMALL, Theme

_FIELDS = {
    "model": ("model", "draft"),
    "prompt": ("system_prompt",),
    "speculation": ("speculation", "num_assistant_tokens", "assistant_confidence_threshold"),
    "sampling": (
        "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
        "seed", "max_new_tokens", "stop",
    ),
    "loading": ("device", "numerics", "context"),
}  # fmt: skip


class SidePanel(QFrame):
    """Emits what was changed; shows the settings it is given."""

    edited = Signal(str, object)  # name, plain value
    reset_requested = Signal()
    adopt_requested = Signal()  # these settings for every chat that has none of its own
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAccessibleName(self.tr("Settings of this chat"))
        self._editors: dict[str, SettingEditor] = {}
        self._reset = QPushButton(self.tr("Reset"), self)
        self._reset.setToolTip(self.tr("Back to the settings of all chats"))
        self._adopt = QPushButton(self.tr("Use for all chats"), self)
        self._adopt.setToolTip(self.tr("Make these the settings of every chat that has none of its own"))
        self._hint = QLabel(self)
        self._hint.setWordWrap(True)
        self._lay_out()
        self._reset.clicked.connect(self.reset_requested)
        self._adopt.clicked.connect(self.adopt_requested)
        self.set_theme(theme)

    def show_settings(self, settings: Settings) -> None:
        """The values that hold for the open chat."""
        for name, field in self._editors.items():
            field.show_value(getattr(settings, name))
        speculates = settings.speculation != "off"
        self._editors["num_assistant_tokens"].setEnabled(speculates)
        self._editors["assistant_confidence_threshold"].setEnabled(speculates)
        self._show_hint(settings)

    def show_models(
        self,
        models: list[tuple[str, str, str]],
        drafts: list[tuple[str, str, str]],
        devices: list[tuple[str, str, str]],
    ) -> None:
        """What can be chosen: (value, text, reason why not, or empty)."""
        for name, choices in (("model", models), ("draft", drafts), ("device", devices)):
            field = self._editors[name]
            assert isinstance(field, ChoiceEditor)
            field.set_choices(choices)

    def set_theme(self, theme: Theme) -> None:
        """The style sheet brings all colours."""

    def _lay_out(self) -> None:
        inner = QWidget(self)
        column = QVBoxLayout(inner)
        column.setContentsMargins(MEDIUM, MEDIUM, MEDIUM, MEDIUM)
        column.setSpacing(SMALL)
        titles = {
            "model": self.tr("Models"),
            "speculation": self.tr("Guessing ahead"),
            "sampling": self.tr("Answers"),
            "loading": self.tr("Loading"),
        }
        for section, names in _FIELDS.items():
            if section in titles:
                column.addWidget(_heading(titles[section], inner))
            for name in names:
                field = self._editors[name] = editor(name, inner)
                field.edited.connect(self.edited)
                column.addWidget(field)
            if section == "speculation":
                column.addWidget(self._hint)
        column.addStretch(1)
        self._frame(inner)

    def _frame(self, inner: QWidget) -> None:
        inner.setAutoFillBackground(False)
        inner.setMinimumWidth(1)
        scroll = QScrollArea(self)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(inner)
        scroll.viewport().setAutoFillBackground(False)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(MEDIUM, SMALL, MEDIUM, MEDIUM)
        buttons.setSpacing(SMALL)
        for button in (self._reset, self._adopt):
            dress(button, "plain")
            buttons.addWidget(button)
        dress(self._hint, "muted")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        column.addLayout(buttons)

    @Slot()
    def _show_hint(self, settings: Settings) -> None:
        hints = {
            "auto": self.tr("Headstart guesses as far ahead as pays on this machine, within the bounds set here."),
            "fixed": self.tr("Always this many tokens are guessed ahead, whether it pays or not."),
            "off": self.tr("Plain decoding: the model writes one token at a time."),
        }
        self._hint.setText(hints[settings.speculation])


def _heading(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    dress(label, "section")
    label.setContentsMargins(0, MEDIUM, 0, 0)
    return label
