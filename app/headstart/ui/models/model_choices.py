"""Which models, drafts and devices can be chosen, and what speaks against each. Knows no widget."""

from collections.abc import Callable, Iterable
from dataclasses import asdict

from PySide6.QtCore import QObject, Signal

from headstart import remotes
from headstart.engine import generation_config
from headstart.engine.engine import Remote
from headstart.library import NO_DRAFT, Broken, Entry, Model, Pair
from headstart.settings import Settings, defaults
from headstart.ui.fault_words import detailed, said
from headstart.ui.models import loading_choices, model_facts, outside
from headstart.ui.models.draft_fits import DraftFits
from headstart.ui.settings.setting_form import Choices
from headstart.ui.spelling import amount


class ModelChoices(QObject):
    """One for the window; `changed` tells that something else speaks against a choice, or nothing any more."""

    changed = Signal()

    def __init__(self, free: Callable[[], int], parent: QObject | None = None) -> None:
        """`free` gives the bytes of memory that a model could take now."""
        super().__init__(parent)
        self.free = free
        self.entries: tuple[Entry, ...] = ()
        self.servers: tuple[Remote, ...] = ()  # on other computers
        self._devices = ["CPU"]
        self._fits = DraftFits(self)
        self._fits.found.connect(self.changed)

    @property
    def usable(self) -> list[Model | Pair]:
        """What is installed and whole; pairs first, as the program prefers them."""
        found = [entry for entry in self.entries if not isinstance(entry, Broken)]
        return sorted(found, key=lambda entry: not isinstance(entry, Pair))

    def set_devices(self, names: Iterable[str]) -> None:
        """The devices of this machine."""
        self._devices = list(names) or ["CPU"]
        self.changed.emit()

    def close(self) -> None:
        """The window closes."""
        self._fits.close()

    def by_setting(self, settings: Settings) -> dict[str, Choices]:
        """For each setting that chooses among these."""
        chosen = [name for name in (settings.device, settings.draft_device) if name]
        devices: Choices = [(name, name, "") for name in dict.fromkeys([*self._devices, *chosen])]
        automatic, models = ("", self.tr("Automatic"), ""), self._chosen(settings)
        return {
            "model": self._models(),
            "draft": self._drafts(settings),
            "device": [automatic, *devices],
            "draft_device": [automatic, *devices],
            "engine": loading_choices.engines(models, settings),
            "kv_precision": loading_choices.kv_precisions(settings),
        }

    def notes(self, settings: Settings) -> dict[str, str]:
        """What is worth knowing of a setting with these models, by setting."""
        return {"kv_precision": loading_choices.kv_note(self._chosen(settings), settings)}

    def usual(self, settings: Settings) -> dict[str, float]:
        """What is sampled with where that is left to the model, by setting; empty where nobody knows."""
        models = self._chosen(settings)
        found = asdict(generation_config.read(models[0].folder)) if models else {}
        return {name: value for name, value in found.items() if defaults().get(name, value) is None}

    def lack(self, models: Iterable[Model], settings: Settings) -> int:
        """Bytes of memory that are missing for these; 0 where none are."""
        return max(0, model_facts.memory(models, settings) - self.free())

    def _models(self) -> Choices:
        automatic = self.usable[0].name if self.usable else ""
        named = self.tr("Automatic: {}").format(automatic) if automatic else self.tr("Automatic")
        choices: Choices = [("", named, "")]
        for entry in self.entries:
            if isinstance(entry, Broken):
                choices.append((entry.name, entry.name, said(entry.reason)))
            else:
                size = amount(model_facts.size(entry))
                choices.append((entry.name, f"{entry.name} ({size})", ""))
        for server in self.servers:
            choices.append((remotes.model_name(server), outside.model_words(server), ""))
        return choices

    def _drafts(self, settings: Settings) -> Choices:
        """Every model; those that do not fit are there with the reason."""
        target = self._target(settings)
        parts = {part.name: part for entry in self.usable for part in model_facts.models(entry)}
        if remotes.is_remote(settings.model):
            return [("", self.tr("As the server has it"), "")]
        choices: Choices = [("", self.tr("Automatic"), ""), (NO_DRAFT, self.tr("None (n-grams only)"), "")]
        for name, draft in sorted(parts.items()):
            choices.append((name, name, self._misfit(target, draft, settings) if target else ""))
        return choices

    def _target(self, settings: Settings) -> Model | None:
        named = [entry for entry in self.usable if entry.name == settings.model]
        return next((model_facts.models(entry)[0] for entry in named or self.usable), None)

    def _chosen(self, settings: Settings) -> tuple[Model, ...]:
        """Target and draft of these settings; none where they name what is not here."""
        named = [entry for entry in self.usable if entry.name == settings.model]
        entry = next(iter(named or ([] if settings.model else self.usable)), None)
        if entry is None:
            return ()
        target, *usual = model_facts.models(entry)
        parts = [part for each in self.usable for part in model_facts.models(each) if part.name == settings.draft]
        return (target, *(parts[:1] if settings.draft else usual))

    def _misfit(self, target: Model, draft: Model, settings: Settings) -> str:
        if target.name == draft.name:
            return self.tr("this is the target itself")
        difference = self._fits.difference(target, draft)
        if difference is None:
            return self.tr("comparing the tokenizers…")
        if difference:
            return self.tr("different tokenizer: {}").format(detailed(difference))
        lack = self.lack((target, draft), settings)
        return self.tr("needs {} more memory").format(amount(lack)) if lack else ""
