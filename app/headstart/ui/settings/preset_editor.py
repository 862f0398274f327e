"""The editor of a system prompt, with a menu of prompts kept under names. Knows no chat and no file."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QInputDialog, QLineEdit, QMenu, QSizePolicy, QToolButton, QWidget

from headstart.ui.settings.setting_editors import TextEditor
from headstart.ui.widgets.stylesheet import dress
from headstart.ui.widgets.theme import SMALL

_LONGEST = 24  # characters of a name on the button


class PresetEditor(TextEditor):
    """Emits "presets" with all of them where those change, else what every editor does."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("system_prompt", parent)
        self._presets: dict[str, str] = {}
        self.button = QToolButton(self)
        dress(self.button, "flat")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.button.setToolTip(self.tr("Prompts kept for other chats"))
        self.menu = QMenu(self.button)
        self.menu.aboutToShow.connect(self.fill)
        self.button.setMenu(self.menu)
        self._head()
        self._field.textChanged.connect(self._show_name)
        self._show_name()

    def show_presets(self, presets: Mapping[str, str]) -> None:
        """All there are."""
        self._presets = dict(presets)
        self._show_name()

    @Slot()
    def fill(self) -> None:
        """Offer what can be done now."""
        self.menu.clear()
        here = self._current()
        for name, text in self._presets.items():
            action = self.menu.addAction(name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(name == here)
            action.triggered.connect(lambda _=False, text=text: self._choose(text))
        self.menu.addSeparator()
        save = self.menu.addAction(self.tr("Save as Preset…"), self._ask_save)
        save.setEnabled(bool(self._field.toPlainText().strip()) and not here)
        for label, act in ((self.tr("Rename Preset…"), self._ask_rename), (self.tr("Delete Preset"), self._delete)):
            self.menu.addAction(label, act).setEnabled(bool(here))

    def save(self, name: str) -> None:
        """Keep the prompt under a name; another prompt of that name is replaced."""
        if name.strip():
            self._tell({**self._presets, name.strip(): self._field.toPlainText()})

    def rename(self, name: str) -> None:
        """Give the preset that is shown another name, in its place."""
        here, name = self._current(), name.strip()
        if name and here and name != here:
            kept = {old: text for old, text in self._presets.items() if old != name}
            self._tell({name if old == here else old: text for old, text in kept.items()})

    def _current(self) -> str:
        """The preset that is shown; "" for a prompt of one's own."""
        text = self._field.toPlainText()
        return next((name for name, preset in self._presets.items() if preset == text), "")

    def _choose(self, text: str) -> None:
        self._field.setPlainText(text)
        self.flush()

    @Slot()
    def _ask_save(self) -> None:
        self._ask(self.tr("Save as preset"), "", self.save)

    @Slot()
    def _ask_rename(self) -> None:
        self._ask(self.tr("Rename preset"), self._current(), self.rename)

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
        here = self._current()
        self._tell({name: text for name, text in self._presets.items() if name != here})

    def _tell(self, presets: dict[str, str]) -> None:
        self.flush()
        self.show_presets(presets)
        self.edited.emit("presets", presets)

    @Slot()
    def _show_name(self) -> None:
        name = self._current()
        short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
        shown = self.tr("Preset: {}").format(short) if name else self.tr("Presets")
        self.button.setText(f"{shown} ▾".replace("&", "&&"))
        self.button.setAccessibleName(self.tr("Preset: {}").format(name) if name else self.tr("Presets"))

    def _head(self) -> None:
        """Title and menu on one line."""
        column = self.layout()
        assert column
        column.removeWidget(self.label)
        head = QWidget(self)
        row = QHBoxLayout(head)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SMALL)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        column.removeWidget(self._field)
        column.addWidget(head)
        column.addWidget(self._field)
