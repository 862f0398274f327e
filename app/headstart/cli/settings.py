"""The settings of an answer: declared once, for flags and for /set. Knows nothing of the model."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass, replace
from enum import StrEnum
from typing import Any

from headstart.cli.command import flag
from headstart.engine.engine import Message, Request
from headstart.errors import SettingsError
from headstart.parameters import Declared, SamplingParams, SpeculationParams, declared, filled, told

AUTOMATIC = "auto"


LEFT_OPEN, FREE = filled(SamplingParams, {}), SpeculationParams()


@dataclass(frozen=True)
class Settings:
    """Everything about a request but its messages. Refuses values out of range."""

    max_new_tokens: int = 512
    stop: tuple[str, ...] = ()
    stop_on_repetition: bool = True
    sampling: SamplingParams = LEFT_OPEN
    speculation: SpeculationParams = FREE

    def __post_init__(self) -> None:
        """Refuse what no engine could answer, before a model is loaded."""
        self.request((Message("user", "?"),))

    @property
    def values(self) -> dict[str, Any]:
        """Each by its name; None is automatic."""
        own = {name: getattr(self, name) for name in _OWN}
        return own | told(self.sampling) | told(self.speculation)

    def request(self, messages: tuple[Message, ...]) -> Request:
        """These settings for these messages."""
        return Request(
            messages,
            self.max_new_tokens,
            self.sampling,
            self.speculation,
            self.stop,
            stop_on_repetition=self.stop_on_repetition,
        )

    def settled(self, own: SamplingParams | None) -> "Settings":
        """With the model's own values where they are left to it; as they are where nobody knows those."""
        return dataclasses.replace(self, sampling=self.sampling.settled(own)) if own else self

    def with_values(self, values: Mapping[str, Any]) -> "Settings":
        """With these in place of others, by name; None is the default, or automatic. Raises SettingsError."""
        wanted = self.values | dict(values)
        own: dict[str, Any] = {name: wanted[name] for name in _OWN if wanted[name] is not None}
        return Settings(**own, sampling=filled(SamplingParams, wanted), speculation=filled(SpeculationParams, wanted))

    def changed(self, option: "Option", text: str) -> "Settings":
        """With one setting read from `text`, or back at its default when `text` is empty."""
        return self.with_values({option.field: option.parse(text) if text else None})


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


def _or_automatic(kind: Kind) -> Kind:
    return Kind(
        f"{kind.words} or {AUTOMATIC}", kind.metavar, lambda text: None if text == AUTOMATIC else kind.read(text)
    )


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
    return tuple(Option(each.name.replace("_", "-"), _kind(each), _help(each)) for each in declared(params))


def _kind(parameter: Declared) -> Kind:
    if issubclass(parameter.kind, StrEnum):
        *words, last = parameter.kind
        return Kind(f"{', '.join(words)} or {last}", "|".join(parameter.kind), parameter.kind)
    kind = WHOLE if parameter.kind is int else NUMBER
    return _or_automatic(kind) if parameter.may_be_automatic else kind


def _help(parameter: Declared) -> str:
    usual = parameter.default if isinstance(parameter.default, str | int | None) else f"{parameter.default:g}"
    own = ", the model's own" if parameter.about.is_models_own else ""
    default = f"default: {AUTOMATIC if parameter.may_be_automatic else usual}{own}"
    remarks = "; ".join(filter(None, (parameter.about.detail, parameter.bounds, default)))
    return f"{parameter.about.meaning.rstrip('.')} ({remarks})"


_OWN = ("max_new_tokens", "stop", "stop_on_repetition")
ANSWER_OPTIONS = (
    Option("max-new-tokens", WHOLE, "longest answer, in tokens (default: 512)"),
    Option("stop", TEXTS, "end the answer before this text; may be given several times"),
    Option("stop-on-repetition", YES_OR_NO, "end an answer that says the same again and again (default: yes)"),
)
SAMPLING_OPTIONS, SPECULATION_OPTIONS = options_of(SamplingParams), options_of(SpeculationParams)
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
    if wanted in {"model", "draft", "device", "numerics", "context", "engine", "kv-precision"}:
        raise SettingsError(f"{wanted} is fixed when the model is loaded; start headstart chat again to change it.")
    raise SettingsError(f"There is no setting {name!r}; the settings are {', '.join(o.name for o in OPTIONS)}.")
