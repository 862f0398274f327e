"""Fills side panel or preferences with settings and what can be chosen, and turns an edit into what it entails."""

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal, Slot

from headstart import library
from headstart.errors import MismatchedDraftError
from headstart.library import NO_DRAFT, Broken, Entry, Model, Pair
from headstart.settings import Settings
from headstart.ui import model_facts
from headstart.ui.preferences import Preferences
from headstart.ui.setting_form import Choices
from headstart.ui.side_panel import SidePanel

_FIRST_FIXED = 4  # assistant tokens when a person turns to fixed speculation


class PanelDesk(QObject):
    """One for each panel."""

    changed = Signal(object)  # dict of settings that go with one another

    def __init__(self, panel: SidePanel | Preferences, parent: QObject | None = None) -> None:
        """Shows nothing yet."""
        super().__init__(parent)
        self._panel = panel
        self._settings = Settings()
        self._entries: tuple[Entry, ...] = ()
        self._devices = ["CPU"]
        self._fits: dict[tuple[str, str], str] = {}
        panel.edited.connect(self._edit)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices of this machine, as far as they are known."""
        return tuple(self._devices)

    def show(self, settings: Settings, entries: Iterable[Entry]) -> None:
        """The settings that hold, and the models installed."""
        self._settings, self._entries = settings, tuple(entries)
        devices = list(dict.fromkeys([*self._devices, settings.device]))
        self._panel.show_models(self._models(), self._drafts(), [(name, name, "") for name in devices])
        self._panel.show_settings(settings)

    @Slot(object)
    def show_settings(self, settings: Settings) -> None:
        """Other settings; the models are the same."""
        self.show(settings, self._entries)

    def set_devices(self, names: Iterable[str]) -> None:
        """The devices of this machine."""
        self._devices = list(names) or ["CPU"]
        self.show(self._settings, self._entries)

    @Slot(str, object)
    def _edit(self, name: str, value: object) -> None:
        own: dict[str, object] = {name: value}
        if name == "speculation" and value == "fixed" and self._settings.num_assistant_tokens is None:
            own["num_assistant_tokens"] = _FIRST_FIXED
        if name == "num_assistant_tokens" and value is None and self._settings.speculation == "fixed":
            own["speculation"] = "auto"
        if name == "model":
            own["draft"] = ""
        self.changed.emit(own)

    def _models(self) -> Choices:
        automatic = next((name for name in self._preferred() if name), "")
        named = self.tr("Automatic: {}").format(automatic) if automatic else self.tr("Automatic")
        choices: Choices = [("", named, "")]
        for entry in self._entries:
            if isinstance(entry, Broken):
                choices.append((entry.name, entry.name, entry.reason))
                continue
            size = model_facts.amount(model_facts.size(entry))
            choices.append((entry.name, f"{entry.name} ({size})", ""))
        return choices

    def _preferred(self) -> list[str]:
        usable = [entry for entry in self._entries if not isinstance(entry, Broken)]
        return [entry.name for entry in sorted(usable, key=lambda entry: not isinstance(entry, Pair))]

    def _drafts(self) -> Choices:
        """Every model; those that do not fit are there with the reason."""
        target = self._target()
        choices: Choices = [("", self.tr("Automatic"), ""), (NO_DRAFT, self.tr("None (n-grams only)"), "")]
        usable = [entry for entry in self._entries if not isinstance(entry, Broken)]
        for model in dict.fromkeys(part.name for entry in usable for part in model_facts.models(entry)):
            found = next(part for entry in usable for part in model_facts.models(entry) if part.name == model)
            choices.append((model, model, self._misfit(target, found)))
        return choices

    def _target(self) -> Model | None:
        usable = [entry for entry in self._entries if not isinstance(entry, Broken)]
        pairs = [entry for entry in usable if isinstance(entry, Pair)]
        wanted = self._settings.model
        entry = next((entry for entry in usable if entry.name == wanted), (pairs or usable or [None])[0])
        return None if entry is None else model_facts.models(entry)[0]

    def _misfit(self, target: Model | None, draft: Model) -> str:
        if target is None or target.name == draft.name:
            return self.tr("This is the target itself.") if target else ""
        key = (str(target.folder), str(draft.folder))
        if key not in self._fits:
            try:
                library.require_same_vocabulary(target, draft)
                self._fits[key] = ""
            except MismatchedDraftError as error:
                self._fits[key] = str(error)
        return self._fits[key]
