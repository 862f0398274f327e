"""The flags that commands share, and the settings of an answer."""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headstart import paths, private_files, remotes
from headstart.cli.command import flag, writable_file
from headstart.engine.engine import (
    USUAL_DEVICE,
    ConversationRequest,
    Engine,
    EngineKind,
    KvPrecision,
    LoadOptions,
    Message,
    Unset,
)
from headstart.engine.hardware import devices
from headstart.engine.loading import memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.memory import amount
from headstart.engine.opening import resolve
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import ModelInfo
from headstart.errors import SettingsError
from headstart.library import library
from headstart.library.library import Choice
from headstart.parameters import (
    AUTOMATIC,
    TRUTHS,
    AnswerParams,
    EngineConfig,
    LoadConfig,
    Parameter,
    SamplingParams,
    SpeculationParams,
    declared,
    filled,
    values_of,
)


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one object, whole or not at all. Raises SettingsError."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    new_path = path.with_name(f".{path.name}.new")
    try:
        if path.exists() and not path.is_file():  # a pipe, or a name of standard output
            path.write_text(text, encoding="utf-8")
            return
        new_path.write_text(text, encoding="utf-8")
        new_path.replace(path)
    except OSError as error:
        new_path.unlink(missing_ok=True)
        raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None


@dataclass(frozen=True, kw_only=True)
class JsonFlags:
    """The format of a list."""

    json: bool = flag(default=False, help="print one object instead of a table")


@dataclass(frozen=True, kw_only=True)
class FiguresFlags:
    json: Path | None = flag(None, "write every figure to this file", metavar="FILE", read=writable_file)


AS_TUNED = ""  # value of --device: the tuned device


def installed_names() -> Iterable[str]:
    return [entry.name for entry in library.installed()]


def chattable_names() -> Iterable[str]:
    """Return the names of the installed models and of the models on servers."""
    return [*installed_names(), *(remotes.model_name(server) for server in remotes.configured())]


@dataclass(frozen=True, kw_only=True)
class ModelFlags(LoadConfig):
    """The flags of the model to load; `select_model` reads them."""

    model: str | None = flag(
        None,
        "a model or pair of `headstart models`, its folder, or remote:NAME[/MODEL] of `headstart remote list` "
        "(default: the one that chatted last, or the only one installed)",
        short="m",
        completions=chattable_names,
    )
    draft: str | None = flag(
        None,
        "another draft model with the same vocabulary; none: no draft",
        completions=lambda: [*installed_names(), library.NO_DRAFT],
    )


@dataclass(frozen=True, kw_only=True)
class AnsweringFlags(ModelFlags, EngineConfig):
    """The flags of the model to load with any engine."""


@dataclass(frozen=True)
class ModelSelection:
    """A model on this computer, chosen by flags, and how to load it."""

    choice: Choice
    resolved: ResolvedOptions
    device: str = ""  # as it was typed

    @property
    def options(self) -> LoadOptions:
        return self.resolved.options

    @property
    def name(self) -> str:
        """The name that you type."""
        return self.choice.name

    @property
    def draft(self) -> str | None:
        """The name of the draft that is loaded. Tuning may have chosen another one, or none."""
        folder, draft = self.options.draft, self.choice.draft
        return draft.name if draft and draft.folder == folder else folder.name if folder else None

    @property
    def title(self) -> str:
        """The loaded models and their place as a text."""
        draft = f" with draft {self.draft}" if self.draft else ""
        return f"{self.choice.target.name}{draft} on {self.options.device}"

    @property
    def facts(self) -> dict[str, object]:
        """Facts about the models, for an answer in JSON."""
        model, options = self.choice.target.name, self.options
        return {"model": model, "draft": self.draft, "device": options.device, "context": options.context}

    @property
    def remarks(self) -> Iterator[str]:
        """Sentences about loading, in most cases none."""
        options = self.options
        if self.device and devices.leaves_choice(self.device):
            yield f"{self.device.upper()} is {options.device} here: {devices.full_name(options.device)}."
        if options.kv_precision is KvPrecision.U8:
            models = [spec.manifest for spec, _ in self.resolved.models]
            full, less = (amount(memory.cache(models, options.context, bits)) for bits in (16, 8))
            tokens = memory.context_of(models[0], options.context)
            yield f"Keys and values of {tokens} tokens take {less} in 8 bits, where 16 bits take {full}."


def select_model(flags: ModelFlags) -> ModelSelection:
    """Return the models of the flags and how to load them. Tuning decides what the flags leave open."""
    choice = library.choose(flags.model or last_used(), flags.draft)
    is_unset = {
        Unset.DRAFT: flags.draft is None,
        Unset.DEVICE: flags.device == AS_TUNED,
        Unset.DRAFT_DEVICE: not flags.draft_device,
        Unset.PROPERTIES: True,
    }
    options = LoadOptions(
        choice.target.folder,
        choice.draft_folder,
        device=flags.device or USUAL_DEVICE,
        context=flags.context,
        draft_device=flags.draft_device or None,
        ignore_memory=flags.ignore_memory,
        unset=tuple(name for name in Unset if is_unset[name]),
        # Benchmarks have no such flag: they measure Headstart's own engine.
        engine=flags.engine if isinstance(flags, EngineConfig) else EngineKind.HEADSTART,
        kv_precision=flags.kv_precision,
        precision=flags.precision,
    )
    return ModelSelection(choice, resolve(options), flags.device)


def set_last_used(name: str) -> None:
    """Make this model the default of later commands, unless it is outside the library and has no name."""
    if name in installed_names():
        with contextlib.suppress(OSError):
            private_files.write(paths.last_model(), name)


def last_used() -> str | None:
    """Return the model of the last `set_last_used`, if it is still installed."""
    try:
        name = paths.last_model().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return name if name in installed_names() else None


def model_info(engine: Engine) -> ModelInfo | None:
    """Return what is known of the loaded model; None if the engine has no process of its own."""
    return engine.model_info if isinstance(engine, EngineClient) else None


DEFAULT_ANSWER, MODEL_SAMPLING, DEFAULT_SPECULATION = AnswerParams(), filled(SamplingParams, {}), SpeculationParams()


@dataclass(frozen=True)
class RequestSettings:
    """All parameters of a request besides its messages. Raises SettingsError for values out of range."""

    answer: AnswerParams = DEFAULT_ANSWER
    sampling: SamplingParams = MODEL_SAMPLING
    speculation: SpeculationParams = DEFAULT_SPECULATION

    def __post_init__(self) -> None:
        """Refuse what no engine can answer, before a model is loaded."""
        self.request((Message("user", "?"),))

    @property
    def values(self) -> dict[str, Any]:
        """The values by name; None is automatic."""
        return values_of(self.answer) | values_of(self.sampling) | values_of(self.speculation)

    def request(self, messages: tuple[Message, ...]) -> ConversationRequest:
        return ConversationRequest(
            messages,
            max_new_tokens=self.answer.max_new_tokens,
            sampling=self.sampling,
            speculation=self.speculation,
            stop=self.answer.stop,
            stop_on_repetition=self.answer.stop_on_repetition,
            thinking=self.answer.thinking,
            thinking_budget=self.answer.thinking_budget,
            effort=self.answer.effort or "",
        )

    def with_model_defaults(self, own: SamplingParams | None) -> "RequestSettings":
        """Return settings with the model's own values in place of automatic ones; unchanged if `own` is None."""
        return dataclasses.replace(self, sampling=self.sampling.settled(own)) if own else self

    def format_value(self, option: Parameter, own: SamplingParams | None = None) -> str:
        """Return a value as text; `own` has the model's own values."""
        value, effective = self.values[option.name], self.with_model_defaults(own).values[option.name]
        if value is None:
            return AUTOMATIC if effective is None else f"{AUTOMATIC} ({effective})"
        if isinstance(value, tuple):
            return ", ".join(repr(item) for item in value) or "(none)"
        return TRUTHS[not value] if isinstance(value, bool) else str(value)

    def with_values(self, values: Mapping[str, Any]) -> "RequestSettings":
        """Return settings with some values replaced by name; None: the default, or automatic. Raises SettingsError."""
        values = self.values | dict(values)
        return RequestSettings(
            filled(AnswerParams, values), filled(SamplingParams, values), filled(SpeculationParams, values)
        )


ANSWER, SAMPLING, SPECULATION = map(declared, (AnswerParams, SamplingParams, SpeculationParams))
OPTIONS = ANSWER + SAMPLING + SPECULATION


_GREEDY = Parameter(
    "always take the likeliest token, as --temperature 0 does", name="greedy", kind=bool, default=False, is_flag=True
)


def sampling_flags(seed: str = "") -> tuple[Parameter, ...]:
    """Return the parameters of sampling as flags. `seed`: the help's words for a seed without a default."""
    first, *others = (
        replace(each, meaning=seed, default=None, is_flag=True) if seed and each.name == "seed" else each
        for each in SAMPLING
    )
    return (first, _GREEDY, *others)


def from_flags(*groups: Mapping[str, Any]) -> RequestSettings:
    """Return the settings of a command line. Raises SettingsError."""
    values = {name: value for each in groups for name, value in each.items()}
    if values.pop("greedy", False):
        values["temperature"] = 0.0
    return RequestSettings().with_values(values)


def find_setting(name: str) -> Parameter:
    """Return the setting with this name. Raises SettingsError, which lists the settings."""
    key = name.lower().lstrip("-").replace("_", "-")
    for option in OPTIONS:
        if option.flag == key:
            return option
    if key.replace("-", "_") in {each.name for each in dataclasses.fields(AnsweringFlags)}:
        raise SettingsError(f"{key} is fixed when the model is loaded; start headstart chat again to change it.")
    raise SettingsError(f"There is no setting {name!r}; the settings are {', '.join(each.flag for each in OPTIONS)}.")
