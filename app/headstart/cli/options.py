"""The flags that commands share: which model is loaded and where, how it answers, which files are written."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from headstart import library, remotes
from headstart import manifest as manifests
from headstart.cli.command import AUTOMATIC, flag, help_of
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
    Tracing,
)
from headstart.engine.memory import amount
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import Facts
from headstart.errors import SettingsError
from headstart.library import Choice
from headstart.parameters import (
    AnswerParams,
    Declared,
    EngineConfig,
    LoadConfig,
    SamplingParams,
    SpeculationParams,
    declared,
    filled,
    told,
)


def writable_file(text: str) -> Path:
    """A path whose folder exists: refused now rather than after minutes of measuring."""
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
    """How a list is shown."""

    json: bool = flag(default=False, help="print one object instead of a table")


@dataclass(frozen=True, kw_only=True)
class FiguresFlags:
    """Where the figures go."""

    json: Path | None = flag(None, "write every figure to this file", metavar="FILE", read=writable_file)


AS_TUNED = ""  # of --device: as it was tuned


def installed_names() -> Iterable[str]:
    """What a shell may complete the name of a model to."""
    return [entry.name for entry in library.installed()]


def chattable_names() -> Iterable[str]:
    """The same, with the servers on other computers."""
    return [*installed_names(), *(remotes.model_name(server) for server in remotes.configured())]


@dataclass(frozen=True, kw_only=True)
class ModelFlags(LoadConfig):
    """What is loaded, and where; `load_options` reads them."""

    model: str | None = flag(
        None,
        "a model or pair of `headstart models`, its folder, or remote:NAME[/MODEL] of `headstart remote list` "
        "(default: the only one installed)",
        metavar="NAME",
        offered=chattable_names,
    )
    draft: str | None = flag(
        None,
        "another draft model with the same vocabulary; none: no draft",
        metavar="NAME",
        offered=lambda: [*installed_names(), library.NO_DRAFT],
    )


@dataclass(frozen=True, kw_only=True)
class AnsweringFlags(ModelFlags, EngineConfig):
    """The same where only answers are needed, whoever gives them."""


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """Every round in a file: for who tunes, not for who chats. `tracing` reads them."""

    trace: Path | None = flag(
        None, "write every round to this file as JSON lines, without text", metavar="FILE", read=writable_file
    )
    trace_depth: int | None = flag(
        None,
        "with --trace: draft N tokens in every round and write token ids, for `bench/research/replay.py`",
        metavar="N",
    )


def tracing(flags: TraceFlags) -> Tracing | None:
    """What the flags ask for. Raises SettingsError."""
    if flags.trace is None and flags.trace_depth is not None:
        raise SettingsError("--trace-depth needs a file to record to: add --trace FILE.")
    return Tracing(flags.trace, flags.trace_depth) if flags.trace else None


def load_options(flags: ModelFlags, choice: Choice) -> LoadOptions:
    """What the flags say, for the models that were chosen; what it leaves open is as it was tuned."""
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
    return opening.settled(options)


def draft_name(options: LoadOptions, choice: Choice) -> str | None:
    """The draft that is loaded: tuning may have found none better, or another one."""
    if options.draft is None:
        return None
    return choice.draft.name if choice.draft and choice.draft.folder == options.draft else options.draft.name


def described(options: LoadOptions, choice: Choice) -> dict[str, object]:
    """What is said of the models beside an answer in JSON."""
    return {
        "model": choice.target.name,
        "draft": draft_name(options, choice),
        "device": options.device,
        "numerics": options.numerics,
        "context": options.context,
    }


def title(options: LoadOptions, choice: Choice) -> str:
    """What is loaded and where, as a person is told."""
    draft = draft_name(options, choice)
    return f"{choice.target.name}{f' with draft {draft}' if draft else ''} on {options.device}"


def loading_remarks(options: LoadOptions, asked: str) -> Iterator[str]:
    """Sentences; mostly none. `asked`: the device by the person's own words."""
    if asked and devices.leaves_choice(asked):
        yield f"{asked.upper()} is {options.device} here: {devices.full_name(options.device)}."
    if options.kv_precision is KvPrecision.U8:
        yield _saving(options)


def facts(engine: Engine) -> Facts | None:
    """What an engine in a process of its own tells of the model in it."""
    return engine.facts if isinstance(engine, EngineClient) else None


def _saving(options: LoadOptions) -> str:
    models = [manifests.read_model(folder) for folder in (options.target, options.draft) if folder]
    full, less = (memory.cache(models, options.context, kv) for kv in (KvPrecision.F16, KvPrecision.U8))
    tokens = memory.context_of(models[0], options.context)
    return f"Keys and values of {tokens} tokens take {amount(less)} in 8 bits, where 16 bits take {amount(full)}."


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
        """With the model's own values where they are left to it; as they are where nobody knows those."""
        return dataclasses.replace(self, sampling=self.sampling.settled(own)) if own else self

    def with_values(self, values: Mapping[str, Any]) -> "Settings":
        """With these in place of others, by name; None is the default, or automatic. Raises SettingsError."""
        wanted = self.values | dict(values)
        return Settings(filled(AnswerParams, wanted), filled(SamplingParams, wanted), filled(SpeculationParams, wanted))


@dataclass(frozen=True)
class Kind:
    """How a value is read and spoken of."""

    words: str  # completes "NAME must be ..."
    metavar: str
    read: Callable[[str], Any]


def valid_text(text: str) -> str:
    """`text`, or ValueError: bytes of a command line that are no UTF-8 arrive as lone surrogates."""
    text.encode()
    return text


_ANSWERS = ("yes", "no", "true", "false")
WHOLE = Kind("a whole number", "N", int)
NUMBER = Kind("a number", "X", float)
TEXTS = Kind("valid text", "TEXT", lambda text: (valid_text(text),))
YES_OR_NO = Kind("yes or no", "yes|no", lambda text: _ANSWERS.index(text.lower()) % 2 == 0)


@dataclass(frozen=True)
class Option:
    """One setting as the user meets it."""

    name: str
    kind: Kind
    help: str

    @property
    def field(self) -> str:
        """Its field in Settings."""
        return self.name.replace("-", "_")

    def parse(self, text: str) -> Any:
        """The value of what was typed. Raises SettingsError."""
        try:
            return self.kind.read(text)
        except ValueError:
            raise SettingsError(f"{self.name} must be {self.kind.words}, not {text!r}.") from None

    def shown(self, settings: Settings, own: SamplingParams | None = None) -> str:
        """Its value in these settings, as a person would write it; `own`: what the model's author has instead."""
        value, meant = settings.values[self.field], settings.settled(own).values[self.field]
        if value is None:
            return AUTOMATIC if meant is None else f"{AUTOMATIC} ({meant})"
        if isinstance(value, tuple):
            return ", ".join(repr(item) for item in value) or "(none)"
        return _ANSWERS[not value] if isinstance(value, bool) else str(value)


def options_of(params: type) -> tuple[Option, ...]:
    """One for each parameter of a class."""
    return tuple(Option(each.name.replace("_", "-"), _kind(each), help_of(each)) for each in declared(params))


def _kind(parameter: Declared) -> Kind:
    if parameter.kind is bool:
        return YES_OR_NO
    if parameter.kind == tuple[str, ...]:
        return TEXTS
    if issubclass(parameter.kind, StrEnum):
        *words, last = parameter.kind
        return Kind(f"{', '.join(words)} or {last}", "|".join(parameter.kind), parameter.kind)
    kind = WHOLE if parameter.kind is int else NUMBER
    if not parameter.may_be_automatic:
        return kind
    read: Callable[[str], Any] = lambda text: None if text == AUTOMATIC else kind.read(text)  # noqa: E731
    return Kind(f"{kind.words} or {AUTOMATIC}", kind.metavar, read)


ANSWER_OPTIONS, SAMPLING_OPTIONS = options_of(AnswerParams), options_of(SamplingParams)
SPECULATION_OPTIONS = options_of(SpeculationParams)
OPTIONS = ANSWER_OPTIONS + SAMPLING_OPTIONS + SPECULATION_OPTIONS


def flags_of(options: Sequence[Option]) -> Any:
    """A dataclass with a flag for each of them; None: not given."""
    return make_dataclass("SettingFlags", [_flag(option) for option in options], frozen=True, kw_only=True)


def _flag(option: Option) -> tuple[str, Any, Any]:
    if option.kind is TEXTS:
        read: Callable[[str], Any] = lambda text: option.parse(text)[0]  # noqa: E731
        return option.field, tuple[str, ...], flag((), option.help, metavar=option.kind.metavar, read=read)
    offered = option.kind.metavar.split("|")
    return (
        option.field,
        Any,
        flag(
            None, option.help, metavar=option.kind.metavar, read=option.parse, offered=lambda: offered[1:] and offered
        ),
    )


AnswerFlags = flags_of(ANSWER_OPTIONS)
SpeculationFlags = flags_of(SPECULATION_OPTIONS)


def sampling_flags(seed: str = "") -> Any:
    """Those of sampling; `seed` is said of the seed where it means something else."""
    options = [replace(option, help=seed) if seed and option.name == "seed" else option for option in SAMPLING_OPTIONS]
    greedy = flag(default=False, help="always take the likeliest token, as --temperature 0 does")
    fields_ = [_flag(option) for option in options]
    fields_.insert(1, ("greedy", bool, greedy))
    return make_dataclass("SamplingFlags", fields_, frozen=True, kw_only=True)


SamplingFlags = sampling_flags()


def from_flags(*groups: object) -> Settings:
    """The settings of a command line. Raises SettingsError."""
    found: dict[str, Any] = {}
    for each in groups:
        found |= {name: value for name, value in vars(each).items() if value not in (None, ())}
    if found.pop("greedy", False):
        found["temperature"] = 0.0
    return Settings().with_values(found)


def named(name: str) -> Option:
    """The setting that a person calls so. Raises SettingsError naming those there are."""
    wanted = name.lower().lstrip("-").replace("_", "-")
    for option in OPTIONS:
        if option.name == wanted:
            return option
    if wanted.replace("-", "_") in {each.name for each in dataclasses.fields(AnsweringFlags)}:
        raise SettingsError(f"{wanted} is fixed when the model is loaded; start headstart chat again to change it.")
    raise SettingsError(f"There is no setting {name!r}; the settings are {', '.join(o.name for o in OPTIONS)}.")
