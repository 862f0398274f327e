"""The settings of the program, and the panels that show and change settings."""

import dataclasses
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Signal, Slot

from headstart.parameters import Mode
from headstart.settings import Settings, load, save
from headstart.ui.models.model_choices import ModelChoices
from headstart.ui.models.models_page import Placement
from headstart.ui.settings.settings_form import SettingsForm
from headstart.ui.translation import showing_errors
from headstart.ui.widgets.undo_stack import Undoable


class CurrentSettings(QObject):
    """The settings of all chats that have none of their own."""

    changed = Signal(object)  # Settings
    refused = Signal(str)
    undoable = Signal(object)  # Undoable

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.now = load()

    def change(self, **values: object) -> bool:
        """Change some settings and save them; `changed` or `refused` follows. Return whether they are saved."""
        with showing_errors(self.refused.emit):
            # A person may have edited the file meanwhile.
            changed = dataclasses.replace(load(otherwise=self.now), **values)  # type: ignore[arg-type]
            save(changed)
            self.now = changed
            self.changed.emit(changed)
            return True
        return False

    def change_presets(self, presets: Mapping[str, str]) -> None:
        """Change the user's own presets; `undoable` follows if a prompt is gone then, as another has its name."""
        before = self.now.presets
        if self.change(presets=presets) and (lost := set(before.values()) - set(presets.values())):
            replaced = {name: text for name, text in before.items() if presets.get(name) != text}
            name = next(name for name, text in before.items() if text in lost)
            is_gone = name not in presets
            sentence = self.tr("Deleted preset “{}”") if is_gone else self.tr("Replaced preset “{}”")
            title = self.tr("Delete Preset “{}”") if is_gone else self.tr("Replace Preset “{}”")

            def take_back() -> None:
                self.change(presets={**self.now.presets, **replaced})

            self.undoable.emit(Undoable(title.format(name), sentence.format(name), take_back))


_FIRST_FIXED = 4  # assistant tokens when you turn to fixed speculation


class SettingsController(QObject):
    """The settings in the forms of a panel, a page or a dialog."""

    changed = Signal(object)  # dict of settings that change together

    def __init__(
        self, forms: Sequence[SettingsForm | Placement], choices: ModelChoices, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._forms, self._choices = forms, choices
        self._settings = Settings()
        for form in forms:
            form.edited.connect(self._on_edited)
            form.built.connect(self._show)
        choices.changed.connect(self._show)

    @Slot(object)
    def show_settings(self, settings: Settings) -> None:
        self._settings = settings
        self._show()

    @Slot()
    def flush(self) -> None:
        """Emit what is being typed."""
        for form in self._forms:
            form.flush()

    @Slot()
    def _show(self) -> None:
        built = [form for form in self._forms if form.is_built]
        if not built:
            return
        choices, notes = self._choices.by_setting(self._settings), self._choices.notes(self._settings)
        automatic = self._choices.model_defaults(self._settings)
        for form in built:
            form.show_choices(choices)
            form.show_notes(notes)
            form.show_settings(self._settings, automatic)

    @Slot(str, object)
    def _on_edited(self, name: str, value: object) -> None:
        values: dict[str, object] = {name: value}
        if name == "speculation" and value == "fixed" and self._settings.guessing.num_assistant_tokens is None:
            values["num_assistant_tokens"] = _FIRST_FIXED
        if name == "num_assistant_tokens" and value is None and self._settings.guessing.mode is Mode.FIXED:
            values["speculation"] = "auto"
        if name == "model":
            values["draft"] = ""
        self.changed.emit(values)
