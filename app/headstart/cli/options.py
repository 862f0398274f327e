"""The flags that commands share, and the settings of an answer."""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headstart import library, own_folder, paths, remotes
from headstart import manifest as manifests
from headstart.cli.command import AUTOMATIC, SWITCH, TRUTHS, Setting, flag, settings_of
from headstart.engine import devices, memory, opening
from headstart.engine.engine import (
    USUAL_DEVICE,
    Engine,
    EngineKind,
    KvPrecision,
    LoadOptions,
    Message,
    Open,
    Request,
)
from headstart.engine.memory import amount
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import Facts
from headstart.errors import SettingsError
from headstart.library import Choice
from headstart.parameters import AnswerParams, EngineConfig, LoadConfig, SamplingParams, SpeculationParams, filled, told


def writable_file(text: str) -> Path:
    """A path whose folder exists, checked before minutes of measuring."""
    path = Path(text).expanduser()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise SettingsError(f"{text} cannot be written: name a file in a folder that exists.")
    return path


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one object, whole or not at all. Raises SettingsError."""
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    beside = path.with_name(f".{path.name}.new")
    try:
        if path.exists() and not path.is_file():  # a pipe, or what stands for standard output
            path.write_text(text, encoding="utf-8")
            return
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise SettingsError(f"{path} cannot be written ({error.strerror}); choose another place.") from None


@dataclass(frozen=True, kw_only=True)
class JsonFlags:
    """The format of a list."""

    json: bool = flag(default=False, help="print one object instead of a table")


@dataclass(frozen=True, kw_only=True)
class FiguresFlags:
    """Where the figures go."""

    json: Path | None = flag(None, "write every figure to this file", metavar="FILE", read=writable_file)


AS_TUNED = ""  # of --device: as it was tuned


def installed_names() -> Iterable[str]:
    """The installed models, for completion."""
    return [entry.name for entry in library.installed()]


def chattable_names() -> Iterable[str]:
    """The same, with the servers on other computers."""
    return [*installed_names(), *(remotes.model_name(server) for server in remotes.configured())]


@dataclass(frozen=True, kw_only=True)
class ModelFlags(LoadConfig):
    """The model to load, and where; `chosen` reads them."""

    model: str | None = flag(
        None,
        "a model or pair of `headstart models`, its folder, or remote:NAME[/MODEL] of `headstart remote list` "
        "(default: the one that chatted last, or the only one installed)",
        short="m",
        offered=chattable_names,
    )
    draft: str | None = flag(
        None,
        "another draft model with the same vocabulary; none: no draft",
        offered=lambda: [*installed_names(), library.NO_DRAFT],
    )


@dataclass(frozen=True, kw_only=True)
class AnsweringFlags(ModelFlags, EngineConfig):
    """The same, for any engine."""


def chosen(flags: ModelFlags) -> tuple[Choice, LoadOptions]:
    """The models of the flags, and how to load them; tuning decides what the flags leave open."""
    choice = library.choose(flags.model or last_used(), flags.draft)
    left_open = {
        Open.DRAFT: flags.draft is None,
        Open.DEVICE: flags.device == AS_TUNED,
        Open.DRAFT_DEVICE: not flags.draft_device,
        Open.PROPERTIES: True,
    }
    options = LoadOptions(
        choice.target.folder,
        choice.draft.folder if choice.draft else None,
        device=USUAL_DEVICE if left_open[Open.DEVICE] else flags.device,
        numerics=flags.numerics,
        context=flags.context,
        draft_device=flags.draft_device or None,
        ignore_memory=flags.ignore_memory,
        open=tuple(name for name, is_open in left_open.items() if is_open),
        engine=flags.engine if isinstance(flags, EngineConfig) else EngineKind.HEADSTART,  # which can be measured
        kv_precision=flags.kv_precision,
        precision=flags.precision,
    )
    return choice, opening.settled(options)


def remember(choice: Choice) -> None:
    """Take this model where none is named from now on; one outside the library has no name for that."""
    if choice.name in installed_names():
        with contextlib.suppress(OSError):
            own_folder.write(paths.last_model(), choice.name)


def last_used() -> str | None:
    """The model that `remember` was told of last, if it is still installed."""
    try:
        name = paths.last_model().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return name if name in installed_names() else None


def draft_name(options: LoadOptions, choice: Choice) -> str | None:
    """The draft that is loaded: tuning may have found none better, or another one."""
    if options.draft is None:
        return None
    return choice.draft.name if choice.draft and choice.draft.folder == options.draft else options.draft.name


def described(options: LoadOptions, choice: Choice) -> dict[str, object]:
    """Facts about the models, for an answer in JSON."""
    return {
        "model": choice.target.name,
        "draft": draft_name(options, choice),
        "device": options.device,
        "numerics": options.numerics,
        "context": options.context,
    }


def title(options: LoadOptions, choice: Choice) -> str:
    """What is loaded and where, as a person reads it."""
    draft = draft_name(options, choice)
    return f"{choice.target.name}{f' with draft {draft}' if draft else ''} on {options.device}"


def loading_remarks(options: LoadOptions, asked: str) -> Iterator[str]:
    """Sentences; mostly none. `asked`: the device as it was typed."""
    if asked and devices.leaves_choice(asked):
        yield f"{asked.upper()} is {options.device} here: {devices.full_name(options.device)}."
    if options.kv_precision is KvPrecision.U8:
        models = [manifests.read_model(folder) for folder in (options.target, options.draft) if folder]
        full, less = (memory.cache(models, options.context, bits) for bits in (16, 8))
        tokens = memory.context_of(models[0], options.context)
        yield f"Keys and values of {tokens} tokens take {amount(less)} in 8 bits, where 16 bits take {amount(full)}."


def facts(engine: Engine) -> Facts | None:
    """The facts of the loaded model, if the engine has a process of its own."""
    return engine.facts if isinstance(engine, EngineClient) else None


USUAL_ANSWER, LEFT_OPEN, FREE = AnswerParams(), filled(SamplingParams, {}), SpeculationParams()


@dataclass(frozen=True)
class Settings:
    """Everything about a request but its messages. Refuses values out of range."""

    answer: AnswerParams = USUAL_ANSWER
    sampling: SamplingParams = LEFT_OPEN
    speculation: SpeculationParams = FREE

    def __post_init__(self) -> None:
        """Refuse what no engine could answer, before a model is loaded."""
        self.request((Message("user", "?"),))

    @property
    def values(self) -> dict[str, Any]:
        """Each by its name; None is automatic."""
        return told(self.answer) | told(self.sampling) | told(self.speculation)

    def request(self, messages: tuple[Message, ...]) -> Request:
        """These settings for these messages."""
        return Request(
            messages,
            self.answer.max_new_tokens,
            self.sampling,
            self.speculation,
            self.answer.stop,
            stop_on_repetition=self.answer.stop_on_repetition,
        )

    def settled(self, own: SamplingParams | None) -> "Settings":
        """With the model's own values for what is left to the model; unchanged if they are unknown."""
        return dataclasses.replace(self, sampling=self.sampling.settled(own)) if own else self

    def shown(self, option: Setting, own: SamplingParams | None = None) -> str:
        """One value as a person would write it; `own`: the model's own values."""
        value, meant = self.values[option.field], self.settled(own).values[option.field]
        if value is None:
            return AUTOMATIC if meant is None else f"{AUTOMATIC} ({meant})"
        if isinstance(value, tuple):
            return ", ".join(repr(item) for item in value) or "(none)"
        return TRUTHS[not value] if isinstance(value, bool) else str(value)

    def with_values(self, values: Mapping[str, Any]) -> "Settings":
        """With these in place of others, by name; None is the default, or automatic. Raises SettingsError."""
        wanted = self.values | dict(values)
        return Settings(filled(AnswerParams, wanted), filled(SamplingParams, wanted), filled(SpeculationParams, wanted))


ANSWER, SAMPLING, SPECULATION = map(settings_of, (AnswerParams, SamplingParams, SpeculationParams))
OPTIONS = ANSWER + SAMPLING + SPECULATION


def sampling_flags(seed: str = "") -> tuple[Setting, ...]:
    """Those of sampling; `seed` is another help text for the seed."""
    first, *others = (replace(each, help=seed) if seed and each.name == "seed" else each for each in SAMPLING)
    return (first, Setting("greedy", SWITCH, "always take the likeliest token, as --temperature 0 does"), *others)


def from_flags(*given: Mapping[str, Any]) -> Settings:
    """The settings of a command line. Raises SettingsError."""
    found = {name: value for each in given for name, value in each.items()}
    if found.pop("greedy", False):
        found["temperature"] = 0.0
    return Settings().with_values(found)


def named(name: str) -> Setting:
    """The setting of this name. Raises SettingsError, which lists the settings."""
    wanted = name.lower().lstrip("-").replace("_", "-")
    for option in OPTIONS:
        if option.name == wanted:
            return option
    if wanted.replace("-", "_") in {each.name for each in dataclasses.fields(AnsweringFlags)}:
        raise SettingsError(f"{wanted} is fixed when the model is loaded; start headstart chat again to change it.")
    raise SettingsError(f"There is no setting {name!r}; the settings are {', '.join(o.name for o in OPTIONS)}.")
