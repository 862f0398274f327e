"""The models, drafts and devices to choose from, with their sizes and the reasons against them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

from headstart import remotes
from headstart.engine.engine import EngineKind, KvPrecision, Remote
from headstart.engine.loading import memory
from headstart.engine.loading.memory import need
from headstart.engine.text import generation_config
from headstart.library import library
from headstart.library.library import ELSEWHERE, NO_DRAFT, Broken, Entry, Model, Pair
from headstart.library.manifest import Footprint, Manifest
from headstart.settings import Settings, about, defaults
from headstart.ui.background_task import BackgroundTask
from headstart.ui.formatting import format_size, listed, rough_size, sentences, whole
from headstart.ui.settings.settings_form import Choices, label
from headstart.ui.translation import translate, translate_error
from headstart.ui.widgets.menus import Menu


@dataclass(frozen=True)
class Reach:
    """The computers and programs that messages of a chat reach."""

    text: str
    tip: str
    leaves_computer: bool = False


def reach(settings: Settings, servers: Sequence[Remote], *, fetching: bool = False, tools: Sequence[str] = ()) -> Reach:
    """Return what messages of a chat with these settings reach; "Offline" only if nothing else can happen.

    `fetching`: something that the user asked for is coming from the network. `tools`: servers of tools that run.
    """
    reach_of_model = _reach_of_model(settings, servers, fetching=fetching)
    if not tools:
        return reach_of_model
    tip = translate(
        "Outside", "Tools of {} may send on what a model gives them. Headstart cannot see whether they use the network."
    ).format(listed(tools))
    if reach_of_model.leaves_computer:
        return replace(reach_of_model, tip=sentences(reach_of_model.tip, tip))
    return Reach(translate("Outside", "Tools may go online"), tip, leaves_computer=True)


def _reach_of_model(settings: Settings, servers: Sequence[Remote], *, fetching: bool) -> Reach:
    server, here = server_of(settings, servers), translate("Outside", "On this computer")
    others = [each.name for each in servers if not remotes.is_here(each)]
    if server and remotes.is_here(server):
        tip = translate("Outside", "Messages go to another program on this computer: {}.").format(server.url)
        return Reach(here, tip)
    if server:
        return Reach(translate("Outside", "Leaves this computer"), warning(server), leaves_computer=True)
    if remotes.is_remote(settings.model):  # the settings name a server that is not known any more
        return Reach("", "")
    if others:
        tip = translate("Outside", "This chat stays on this computer. Others are configured: {}.").format(
            listed(others)
        )
        return Reach(here, tip)
    if fetching:
        tip = translate("Outside", "Nothing you write leaves this computer; what you asked for is being fetched.")
        return Reach(here, tip)
    tip = translate("Outside", "Nothing you write leaves this computer, and no other one is configured.")
    return Reach(translate("Outside", "Offline"), tip)


def server_of(settings: Settings, servers: Sequence[Remote]) -> Remote | None:
    if not remotes.is_remote(settings.model):
        return None
    name = settings.model.removeprefix(ELSEWHERE).partition("/")[0]
    return next((server for server in servers if server.name == name), None)


def warning(server: Remote) -> str:
    """Return what the user should know before the first message to a server."""
    leaving = translate("Outside", "Messages of this chat leave this computer: they go to {name} at {address}.").format(
        name=server.name, address=server.url
    )
    if not remotes.is_exposed(server):
        return leaving
    return sentences(leaving, translate("Outside", "On the way they can be read by others, as http does not encrypt."))


def location_word(server: Remote) -> str:
    """Return a few words on where a server's models are."""
    if remotes.is_here(server):
        return translate("Outside", "another program")
    return translate("Outside", "another computer")


def models_of(entry: Model | Pair) -> tuple[Model, ...]:
    """Return the models of an entry: one, or target and draft."""
    return (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)


def size_of(entry: Model | Pair) -> int:
    """Return the bytes of an entry on disk."""
    models = models_of(entry)
    return sum(model.manifest.size_bytes for model in (*models, *filter(None, (model.head for model in models))))


def memory_of(parts: Iterable[Model], settings: Settings) -> int:
    """Return the bytes of memory that models take together, with the head of the first one."""
    return needed_memory((model.manifest for model in library.with_head(tuple(parts))), settings)


def needed_memory(models: Iterable[Manifest | Footprint], settings: Settings) -> int:
    """Return the bytes that models take together, with the context and cache precision of these settings."""
    return need(models, settings.context, memory.kv_bits(settings.kv_precision)).total


def memory_words(needed: int, free: int, *, writes: bool, is_upper_bound: bool = False) -> str:
    """Return a sentence on the memory that a model takes. An upper bound is that of a model that is not here yet."""
    if is_upper_bound and writes:
        words = translate("ModelFacts", "Takes at most {needed} of memory when its context is full; {free} is free.")
    elif is_upper_bound:
        words = translate("ModelFacts", "Takes at most {needed} of memory; {free} is free.")
    elif writes:
        words = translate("ModelFacts", "Takes about {needed} of memory when its context is full; {free} is free.")
    else:
        words = translate("ModelFacts", "Takes about {needed} of memory; {free} is free.")
    return words.format(needed=rough_size(needed), free=rough_size(free))


def device_limits(name: str) -> str:
    """Return a sentence on what a device can and cannot do for Headstart."""
    if name.startswith("NPU"):
        return translate(
            "ModelFacts",
            "NPU: OpenVINO GenAI runs models of symmetric weights, their longest prompt compiled in; not tried yet.",
        )
    if name.startswith("GPU"):
        return translate(
            "ModelFacts",
            "GPU: if a check at the first load fails, OpenVINO GenAI runs the model; not tried on a real one yet.",
        )
    return translate("ModelFacts", "{}: everything runs here.").format(name)


_Key = tuple[str, str]  # of target and draft: fingerprint of the vocabulary and rows of the output


class DraftCompatibility(QObject):
    """A comparison of the vocabularies of models and drafts, made in the background and remembered.

    Models whose fingerprints agree need no comparison.
    """

    compared = Signal()  # another `difference` is known

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: dict[_Key, str] = {}
        self._tasks: dict[_Key, BackgroundTask] = {}

    def difference(self, target: Model, draft: Model) -> str | None:
        """Return where the vocabularies differ, "" if nowhere; None until that is found out."""
        if target.manifest.tokenizer.fingerprint == draft.manifest.tokenizer.fingerprint:
            return ""
        key = (_vocabulary(target), _vocabulary(draft))
        if key not in self._known and key not in self._tasks:
            self._tasks[key] = task = BackgroundTask(partial(_compare, key, target, draft), self)
            task.start(self._on_compared, self._on_failed)
        return self._known.get(key)

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    @Slot(object)
    def _on_compared(self, result: tuple[_Key, str]) -> None:
        key, difference = result
        self._known[key] = difference
        self._tasks.pop(key).deleteLater()
        self.compared.emit()

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        """Note the error as the difference: a folder that cannot be read fits no model."""
        key = next(key for key, task in self._tasks.items() if task is self.sender())
        self._on_compared((key, sentence))


def _vocabulary(model: Model) -> str:
    return f"{model.manifest.tokenizer.fingerprint} {model.manifest.logit_rows}"


def _compare(key: _Key, target: Model, draft: Model, _task: BackgroundTask) -> tuple[_Key, str]:
    return key, library.vocabulary_difference(target, draft) or ""


_GPU, _NPU = "GPU", "NPU"


def engines(models: Sequence[Model], settings: Settings) -> Choices:
    """Return the engines to choose from; `models` are those of the settings, target first."""
    against = _against_headstart(models, settings)
    return [
        (kind, label("engine", kind), against if kind == EngineKind.HEADSTART else "")
        for kind in about()["engine"].choices
    ]


def kv_precisions(settings: Settings) -> Choices:
    """Return the precisions of the cache to choose from; 8 bits do not go with everything."""
    against = {KvPrecision.U8.value: _against_8_bits(settings)}
    return [(name, label("kv_precision", name), against.get(name, "")) for name in about()["kv_precision"].choices]


def kv_note(models: Sequence[Model], settings: Settings) -> str:
    """Return how much memory a full cache takes in either precision; "" if unknown."""
    if not models or remotes.is_remote(settings.model):
        return ""
    manifests = [model.manifest for model in models]
    full, small = (memory.cache(manifests, settings.context, bits) for bits in (16, 8))
    words = translate(
        "LoadingChoices", "With {tokens} tokens of context: {full} of memory in 16 bits, {small} in 8 bits."
    )
    tokens = whole(memory.context_of(manifests[0], settings.context))
    return words.format(tokens=tokens, full=format_size(full), small=format_size(small))


def _against_headstart(models: Sequence[Model], settings: Settings) -> str:
    head = next((model.name for model in models if model.manifest.is_eagle), "")
    if head and settings.device.startswith(_GPU):
        return translate("LoadingChoices", "it uses the EAGLE-3 head {} on a processor only").format(head)
    on_npu = any(place.startswith(_NPU) for place in (settings.device, settings.draft_device))
    return translate("LoadingChoices", "an NPU runs nothing else than OpenVINO GenAI") if on_npu else ""


def _against_8_bits(settings: Settings) -> str:
    if settings.device.startswith(_NPU):
        return translate("LoadingChoices", "an NPU decides that itself")
    return ""


class ModelChoices(QObject):
    """The choices of models and devices for the window. `changed`: choices, or reasons against them, differ."""

    changed = Signal()

    def __init__(self, free: Callable[[], int], parent: QObject | None = None) -> None:
        """`free` returns the bytes of memory that a model could take now."""
        super().__init__(parent)
        self.free = free
        self.entries: tuple[Entry, ...] = ()
        self.servers: tuple[Remote, ...] = ()
        self._devices = ["CPU"]
        self._compatibility = DraftCompatibility(self)
        self._compatibility.compared.connect(self.changed)

    @property
    def usable(self) -> list[Model | Pair]:
        """Models that are installed and whole, pairs first, as the program prefers them."""
        usable = [entry for entry in self.entries if not isinstance(entry, Broken)]
        return sorted(usable, key=lambda entry: not isinstance(entry, Pair))

    def set_models(self, entries: tuple[Entry, ...], servers: tuple[Remote, ...]) -> None:
        """Set the models that are installed here, and the servers on other computers."""
        self.entries, self.servers = entries, servers
        self.changed.emit()

    def set_devices(self, names: Iterable[str]) -> None:
        self._devices = list(names) or ["CPU"]
        self.changed.emit()

    def close(self) -> None:
        self._compatibility.close()

    def by_setting(self, settings: Settings) -> dict[str, Choices]:
        """Return the choices of each setting that selects a model, a device or another item of a list."""
        named = [name for name in (settings.device, settings.draft_device) if name]
        devices: Choices = [(name, name, "") for name in dict.fromkeys([*self._devices, *named])]
        automatic, models = ("", self.tr("Automatic"), ""), self.models_for(settings)
        return {
            "model": self._models(),
            "draft": self._drafts(settings),
            "device": [automatic, *devices],
            "draft_device": [automatic, *devices],
            "engine": engines(models, settings),
            "kv_precision": kv_precisions(settings),
        }

    def notes(self, settings: Settings) -> dict[str, str]:
        return {"kv_precision": kv_note(self.models_for(settings), settings)}

    def model_defaults(self, settings: Settings) -> dict[str, float]:
        """Return the values that the model sets where settings leave sampling to it; empty if unknown."""
        models = self.models_for(settings)
        values = asdict(generation_config.read(models[0].folder)) if models else {}
        return {name: value for name, value in values.items() if defaults().get(name, value) is None}

    def missing_memory(self, models: Iterable[Model], settings: Settings) -> int:
        """Return the bytes of memory that are missing for these models, at least 0."""
        return max(0, memory_of(models, settings) - self.free())

    def _models(self) -> Choices:
        automatic = self.usable[0].name if self.usable else ""
        named = self.tr("Automatic: {}").format(automatic) if automatic else self.tr("Automatic")
        choices: Choices = [("", named, "")]
        for entry in self.entries:
            if isinstance(entry, Broken):
                choices.append((entry.name, entry.name, translate_error(entry.reason)))
            else:
                size = self.tr("{name} ({size} on disk)").format(name=entry.name, size=format_size(size_of(entry)))
                choices.append((entry.name, size, ""))
        for server in self.servers:
            words = translate("Outside", "{name} ({place})").format(name=server.label, place=location_word(server))
            choices.append((remotes.model_name(server), words, ""))
        return choices

    def _drafts(self, settings: Settings) -> Choices:
        """Return every model; those that do not fit come with the reason."""
        target = self._target(settings)
        parts = {part.name: part for entry in self.usable for part in models_of(entry)}
        if remotes.is_remote(settings.model):
            return [("", self.tr("As the server has it"), "")]
        choices: Choices = [("", self.tr("Automatic"), ""), (NO_DRAFT, self.tr("None (earlier text only)"), "")]
        for name, draft in sorted(parts.items()):
            choices.append((name, name, self._reason_against(target, draft, settings) if target else ""))
        return choices

    def _target(self, settings: Settings) -> Model | None:
        named = [entry for entry in self.usable if entry.name == settings.model]
        return next((models_of(entry)[0] for entry in named or self.usable), None)

    def models_for(self, settings: Settings) -> tuple[Model, ...]:
        """Return target and draft of these settings; nothing if they name a model that is not here."""
        named = [entry for entry in self.usable if entry.name == settings.model]
        entry = next(iter(named or ([] if settings.model else self.usable)), None)
        if entry is None:
            return ()
        target, *draft = models_of(entry)
        parts = [part for each in self.usable for part in models_of(each) if part.name == settings.draft]
        return (target, *(parts[:1] if settings.draft else draft))

    def _reason_against(self, target: Model, draft: Model, settings: Settings) -> str:
        if target.name == draft.name:
            return self.tr("this is the model itself")
        difference = self._compatibility.difference(target, draft)
        if difference is None:
            return self.tr("comparing the tokenizers…")
        if difference:
            return self.tr("different tokenizer: {}").format(translate_error(difference))
        missing_memory = self.missing_memory((target, draft), settings)
        return self.tr("needs {} more memory").format(format_size(missing_memory)) if missing_memory else ""


_NAME_WIDTH = 280


class ModelSwitch(QObject):
    """The menu of models for a button. It is filled whenever it opens: memory and models come and go."""

    chosen = Signal(str)
    page_requested = Signal()

    def __init__(self, widget: QWidget, choices: ModelChoices, parent: QObject | None = None) -> None:
        """`widget` is the parent of the menu."""
        super().__init__(parent)
        self.settings = Settings()  # of the open chat
        self._choices = choices
        self.menu = Menu(widget)
        self.menu.setAccessibleName(self.tr("Models"))
        self.menu.aboutToShow.connect(self._fill)

    @Slot()
    def _fill(self) -> None:
        self.menu.clear()
        usable = self._choices.usable
        current = self.settings.model or (usable[0].name if usable else "")
        for entry in usable:
            self._add(entry.name, entry.name, self._memory_words(entry), current)
        self.menu.addSeparator()
        for server in self._choices.servers:
            self._add(remotes.model_name(server), server.label, location_word(server), current)
        self.menu.addSeparator()
        self.menu.addAction(self.tr("All Models…"), self.page_requested.emit)

    def _add(self, name: str, label: str, detail: str, current: str) -> None:
        """Add a model; `detail` is at the right edge."""
        shown = self.menu.fontMetrics().elidedText(label, Qt.TextElideMode.ElideMiddle, _NAME_WIDTH)
        action = self.menu.addAction(f"{shown.replace('&', '&&')}\t{detail}", partial(self.chosen.emit, name))
        action.setCheckable(True)
        action.setChecked(name == current)

    def _memory_words(self, entry: Model | Pair) -> str:
        models = models_of(entry)
        missing_memory = self._choices.missing_memory(models, self.settings)
        needed = self.tr("{} of memory").format(rough_size(memory_of(models, self.settings)))
        return self.tr("{}, {} too much").format(needed, rough_size(missing_memory)) if missing_memory else needed
