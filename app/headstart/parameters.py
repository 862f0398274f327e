"""Parameters of an answer and of loading, each declared once: name, default, bounds and one sentence.

Flags, settings.toml, the settings of the window, bodies of HTTP requests and requests to other servers are derived from
the fields of these classes. A new parameter of sampling is a field here and a line in the sampler.
"""

import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from enum import EnumType, StrEnum
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from headstart.errors import SettingsError

_Params = TypeVar("_Params")
AUTOMATIC = "auto"  # the word that leaves a value to the model or the program
TRUTHS = ("yes", "no", "true", "false")


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter, of a setting of the window or of a flag."""

    meaning: str  # one sentence, as a person reads it
    low: float | None = None  # the least value
    high: float | None = None  # the greatest value
    above: float | None = None  # it must be greater than this
    choices: tuple[str, ...] = ()  # those of its StrEnum, or the labels and names below
    name: str = ""  # in files, flags and bodies, where it is not the field's
    is_models_own: bool = False  # left to the model's author unless it is set
    openai: tuple[float, float] | None = None  # narrower bounds of OpenAI's API
    # In the window and its file.
    in_window: bool = True
    section: str = ""  # its table in settings.toml and its page in the window
    title: str = ""  # in the window, where it is not the name's
    unit: str = ""  # behind the number
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)  # of choices, to be translated
    names: Mapping[str, str] = field(default_factory=dict, hash=False)  # of choices, the same in every language
    per_chat: bool = False  # a chat may have its own
    barred: str = ""  # characters that its names must not hold
    start: float | None = None  # where the window begins when an automatic value is set by hand
    # On the command line.
    is_flag: bool = False  # known only there: None is no value, and the meaning says the bounds
    group: str = ""  # heading of this flag and of the flags after it
    detail: str = ""  # what the help says besides
    short: str = ""  # a letter that may replace the name
    metavar: str = ""  # replaces that of its kind
    read: Callable[[str], Any] | None = None  # parses a text; None: its kind does
    completions: Callable[[], Iterable[str]] | None = None  # for shells, in place of the choices
    is_argument: bool = False
    is_list: bool = False  # one text lists several things
    without_value: str | None = None  # value of the flag if none follows it
    # `declared` takes these from the field.
    field: str = ""
    kind: Any = None  # float, int, bool, str, Path, a StrEnum, or a tuple of one of them
    default: Any = None  # None is automatic

    def allows(self, value: float) -> bool:
        """Return whether a value lies within the bounds; NaN never does."""
        low, high, above = self.low, self.high, self.above
        return (low is None or value >= low) and (high is None or value <= high) and (above is None or value > above)

    def check(self, value: object) -> None:
        """Raise SettingsError for a number out of bounds."""
        if isinstance(value, int | float) and not self.allows(value):
            raise SettingsError(f"{self.flag} must be {self.bounds}, not {value}.")

    def parse(self, text: str) -> Any:
        """Return the value of a text, or one of the values if there may be several. Raises SettingsError."""
        if text == AUTOMATIC and self.may_be_automatic:
            return None
        try:
            value = (self.read or _READERS.get(self.value_kind, self.value_kind))(text)
        except ValueError:
            raise SettingsError(f"{self.flag} must be {self.kind_in_words}, not {text!r}.") from None
        self.check(value)
        return value

    @property
    def may_be_automatic(self) -> bool:
        """True if the model or the program may choose the value."""
        return self.default is None and not self.is_flag

    @property
    def is_switch(self) -> bool:
        """True for a flag without a value."""
        return self.kind is bool and self.default is False

    @property
    def is_negatable(self) -> bool:
        """True for a flag without a value that has an opposite, as --think and --no-think."""
        return self.kind is bool and self.default is None

    @property
    def is_repeatable(self) -> bool:
        """True if there may be several values, each with a flag of its own."""
        return get_origin(self.kind) is tuple and not self.is_list

    @property
    def value_kind(self) -> Any:
        """The type of one value."""
        return get_args(self.kind)[0] if self.is_repeatable else self.kind

    @property
    def kind_in_words(self) -> str:
        """The kind of value, as in "NAME must be ..."."""
        *others, last = self.choices or [_WORDS.get(self.value_kind, "valid text")]
        words = f"{', '.join(others)} or {last}" if others else last
        return f"{words} or {AUTOMATIC}" if self.may_be_automatic else words

    @property
    def flag(self) -> str:
        """The name that people type. A field whose name is a word of Python ends in an underscore."""
        return self.name.rstrip("_").replace("_", "-")

    @property
    def help(self) -> str:
        """The help of its flag."""
        remarks = "; ".join(filter(None, (self.detail, "" if self.is_flag else self.bounds, self._default_in_words)))
        meaning = self.meaning.rstrip(".")
        return f"{meaning} ({remarks})" if remarks else meaning

    @property
    def _default_in_words(self) -> str:
        if self.may_be_automatic:
            own = ", the model's own" if self.is_models_own else ""
            return f"default: {AUTOMATIC}{own}"
        match self.default:
            case bool():
                return "default: yes" if self.default else ""
            case int() | float():
                return f"default: {self.default:g}"
            case str():
                return f"default: {self.default}" if self.default else ""
            case _:
                return ""

    @property
    def bounds(self) -> str:
        """The bounds in words, as in "between 0 and 100"; empty without bounds."""
        low, high, above = self.low, self.high, self.above
        if low is not None and high is not None:
            return f"between {low:g} and {high:g}" if high < _LARGE else f"{low:g} or more"
        if low is not None:
            return f"{low:g} or more"
        return "" if above is None else f"above {above:g}" + ("" if high is None else f" and at most {high:g}")


def parameter(default: Any, meaning: str, **more: Any) -> Any:
    """Declare a parameter as a dataclass field; `more` are further fields of Parameter."""
    choices = (*more.get("labels", ()), *more.get("names", ()))
    metadata = {"parameter": Parameter(meaning, choices=choices, **more)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def _models_own(default: Any, meaning: str, **more: Any) -> Any:
    return parameter(default, meaning, is_models_own=True, **more)


def declared(params: type[object]) -> tuple[Parameter, ...]:
    """Return the parameters of a class in order."""
    kind: Any = params
    return _declared(kind)


@cache
def _declared(params: type[Any]) -> tuple[Parameter, ...]:
    hints = get_type_hints(params)
    return tuple(_of_field(each, hints[each.name]) for each in fields(params) if "parameter" in each.metadata)


def _of_field(each: Field[Any], kind: Any) -> Parameter:
    """Return the parameter of a field with its name, type and default."""
    declaration: Parameter = each.metadata["parameter"]
    if get_origin(kind) in {Union, types.UnionType}:
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    name = declaration.name or each.name
    return replace(
        declaration,
        name=name,
        field=each.name,
        kind=kind,
        default=None if declaration.is_models_own else each.default,
        title=declaration.title or name.replace("_", " ").capitalize(),
        choices=tuple(map(str, kind)) if isinstance(kind, EnumType) else declaration.choices,
    )


def valid_text(text: str) -> str:
    """Return `text`. Raises ValueError for bytes that are not UTF-8, which arrive as lone surrogates."""
    text.encode()
    return text


def _truth(text: str) -> bool:
    return TRUTHS.index(text.lower()) % 2 == 0


def _whole_number(text: str) -> int:
    if not re.fullmatch("-?[0-9]+", text):
        raise ValueError
    return int(text)


_READERS: Mapping[Any, Callable[[str], Any]] = {bool: _truth, int: _whole_number}
_WORDS: Mapping[Any, str] = {bool: "yes or no", int: "a whole number", float: "a number"}


def filled(params: type[_Params], values: Mapping[str, Any]) -> _Params:
    """Build parameters from values by their outer names; None or a missing value is automatic. Raises SettingsError."""
    known = declared(params)
    told = {each.field: each.kind(values[each.name]) for each in known if values.get(each.name) is not None}
    if left := tuple(each.field for each in known if each.is_models_own and each.field not in told):
        told["automatic"] = left
    return params(**told)


def values_of(params: object) -> dict[str, Any]:
    """Return the values of parameters by their outer names; None is automatic."""
    left = getattr(params, "automatic", ())
    return {each.name: None if each.field in left else getattr(params, each.field) for each in declared(type(params))}


class Mode(StrEnum):
    """The choice of the draft length."""

    AUTO = "auto"  # the priced stopping rule
    FIXED = "fixed"  # always `num_assistant_tokens`
    OFF = "off"  # plain decoding


class DrafterChoice(StrEnum):
    """The drafters that may guess ahead. All but ANY have the names of their members of `Origin`."""

    ANY = "any"
    DRAFT = "draft"
    HEAD = "head"
    NGRAM = "ngram"
    TABLE = "table"


class EngineKind(StrEnum):
    AUTO = "auto"  # the one that suits the device and the draft
    HEADSTART = "headstart"
    GENAI = "genai"  # OpenVINO GenAI


class KvPrecision(StrEnum):
    """Precision of cached keys and values. With 8 bits and without our kernels, rejected guesses leave a trace."""

    AUTO = "auto"  # 16 bits
    F16 = "f16"
    U8 = "u8"


class ArithmeticPrecision(StrEnum):
    """Precision of the arithmetic. All but f32 are used only after a trial on this device (`validation.py`)."""

    AUTO = "auto"  # f32 until a trial has found a faster one that is right here
    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"


class Effort(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True)
class AnswerParams:
    """The longest answer, and the texts that end one."""

    max_new_tokens: int = parameter(
        2048, "Longest answer in tokens; a word has one or two.", low=1, title="Longest answer", unit=" tokens"
    )
    stop: tuple[str, ...] = parameter(
        (),
        "The answer ends before one of these texts.",
        title="Stop sequences",
        detail="may be given several times",
        metavar="TEXT",
        read=valid_text,
    )
    stop_on_repetition: bool = parameter(default=True, meaning="End an answer that says the same again and again.")
    thinking: bool | None = parameter(
        None,
        "Think before the answer, if the model can do both.",
        name="think",
        title="Thinking",
    )
    thinking_budget: int | None = parameter(
        None,
        "Most tokens of thinking; then the answer begins.",
        name="think_budget",
        low=0,
        title="Longest thinking",
        unit=" tokens",
        start=1024,
    )
    effort: Effort | None = parameter(
        None, "How much to think, for models that know it, such as gpt-oss.", name="think_effort", in_window=False
    )

    def __post_init__(self) -> None:
        """Refuse values out of bounds."""
        _check(self)


@dataclass(frozen=True)
class SamplingParams:
    """The choice of a token from the target's logits. Temperature 0 is greedy.

    Penalties come first, then temperature, top-k, top-p, min-p. `repetition_penalty` counts prompt and answer
    (Keskar et al. 2019); `presence_penalty` and `frequency_penalty` count the answer only, as OpenAI defines them.
    `automatic` names the values that are left to the model: whatever they are here, its own take their place.
    """

    temperature: float = _models_own(
        0.0,
        "How freely words are chosen; 0 always takes the likeliest, higher gives more variety and more mistakes.",
        low=0.0,
        high=100.0,
        start=0.7,
        openai=(0.0, 2.0),
    )
    top_p: float = _models_own(
        1.0,
        "Share of the likeliest tokens to choose from; higher gives more variety.",
        above=0.0,
        high=1.0,
        title="Top-p",
        start=0.9,
    )
    top_k: int = _models_own(
        0,
        "Number of the likeliest tokens to choose from; higher gives more variety, 0 takes all.",
        low=0,
        title="Top-k",
        start=20,
    )
    min_p: float = _models_own(
        0.0,
        "Least likelihood relative to the likeliest token; higher gives less variety.",
        low=0.0,
        high=0.999,
        title="Min-p",
        start=0.05,
    )
    repetition_penalty: float = _models_own(
        1.0,
        "Above 1, words of prompt and answer are repeated less; far above 1 the text becomes odd.",
        above=0.0,
        high=10.0,
        start=1.1,
    )
    presence_penalty: float = parameter(
        0.0,
        "Against words already in the answer; higher brings more new words.",
        low=-10.0,
        high=10.0,
        openai=(-2.0, 2.0),
    )
    frequency_penalty: float = parameter(
        0.0, "Against words often in the answer; higher repeats them less.", low=-10.0, high=10.0, openai=(-2.0, 2.0)
    )
    seed: int = parameter(
        0,
        "The same seed chooses the same words; another seed gives another answer.",
        low=0,
        high=2**63 - 1,
    )
    automatic: tuple[str, ...] = ()
    # Added to logits by token id, before all else.
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse values out of bounds."""
        _check(self)
        if not {each.field for each in declared(type(self))} >= set(self.automatic):
            raise SettingsError(f"automatic must be names of these values, not {self.automatic}.")

    def settled(self, own: "SamplingParams") -> "SamplingParams":
        """Return these values with the model's own in place of the automatic ones.

        Greedy decoding takes none of them: they are meant for temperatures.
        """
        own = own if self.temperature or "temperature" in self.automatic else SamplingParams()
        return replace(self, automatic=(), **{name: getattr(own, name) for name in self.automatic})


@dataclass(frozen=True)
class SpeculationParams:
    """Limits of speculation that the user sets; None leaves a bound to the policy. Both bounds may be set."""

    mode: Mode = parameter(
        Mode.AUTO,
        "Who decides how far to guess ahead.",
        name="speculation",
        title="Speed-up",
        labels={"auto": "Automatic", "fixed": "Fixed", "off": "Off"},
        detail="auto: as far as pays here; fixed: always --num-assistant-tokens; off: plain decoding",
    )
    # Most draft tokens in one round; the length itself when FIXED.
    num_assistant_tokens: int | None = parameter(
        None,
        "Most tokens guessed in one step; higher saves time where guesses are accepted, and loses it where not.",
        low=1,
        high=16,
        title="Guesses per step",
        start=4,
    )
    assistant_confidence_threshold: float | None = parameter(
        None,
        "Guessing stops below this confidence of the draft model; higher guesses less, and more of it is accepted.",
        low=0.0,
        high=1.0,
        title="Confidence threshold",
        start=0.4,
    )
    # Below 1: accept when p_target / p_draft reaches it.
    acceptance_threshold: float = parameter(
        1.0, "Below 1 guesses are accepted that may change the answer; 1 changes nothing.", above=0.0, high=1.0
    )
    drafter: DrafterChoice = parameter(
        DrafterChoice.ANY,
        "Who may guess: any of them, or one alone: the draft model, the head, n-grams of the text, or the table of "
        "usual words.",
        in_window=False,
    )

    def __post_init__(self) -> None:
        """Refuse values out of bounds."""
        _check(self)
        if self.mode is Mode.FIXED and self.num_assistant_tokens is None:
            raise SettingsError("Fixed speculation needs a length: add --num-assistant-tokens (1 to 16), or use auto.")


@dataclass(frozen=True, kw_only=True)
class LoadConfig:
    """Options of loading a model."""

    device: str = parameter(
        "",
        "Device that runs the model; automatic takes what tuning found, or else the processor.",
        detail="CPU, GPU, GPU.1, NPU, ..., or AUTO for the best here",
    )
    draft_device: str = parameter(
        "",
        "Device that runs the draft model; automatic takes what tuning found, or else that of the model.",
        title="Draft device",
    )
    precision: ArithmeticPrecision = parameter(
        ArithmeticPrecision.AUTO,
        "What the model computes in; one that gives wrong results on this device is refused.",
        in_window=False,
        detail="auto: the fastest that a trial found right here, or else f32",
    )
    context: int | None = parameter(
        None,
        "Tokens of context to make room for; higher allows longer chats and takes more memory.",
        low=256,
        start=8192,
        unit=" tokens",
        detail="auto: what the model allows, at most 8192",
    )
    ignore_memory: bool = parameter(default=False, meaning="Load although the memory seems too small.", in_window=False)
    kv_precision: KvPrecision = parameter(
        KvPrecision.AUTO,
        "How the model remembers a chat: 8 bits hold nearly twice the context in the same memory, but without "
        "Headstart's kernels rejected guesses leave a trace. Automatic is 16.",
        title="Cache precision",
        labels={"auto": "Automatic", "f16": "16 bits", "u8": "8 bits"},
    )


@dataclass(frozen=True, kw_only=True)
class EngineConfig(LoadConfig):
    """Options of loading a model, and the engine."""

    engine: EngineKind = parameter(
        EngineKind.AUTO,
        "Who runs the model: automatic takes Headstart wherever it works, and OpenVINO GenAI elsewhere.",
        labels={"auto": "Automatic"},
        names={"headstart": "Headstart", "genai": "OpenVINO GenAI"},
        detail="genai: on an NPU, and on a GPU where a check of Headstart fails or the draft is an EAGLE-3 head",
    )


_LARGE = 2.0**62  # a bound above this is no bound that a person meets


def _check(params: object) -> None:
    for each in declared(type(params)):
        each.check(getattr(params, each.field))
