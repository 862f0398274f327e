"""The settings of an answer: declared once, for flags and for /set. Knows nothing of the model."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass, replace
from typing import Any

from headstart.cli.command import flag
from headstart.engine.engine import Drafter, Message, Mode, Request, Sampling, Speculation
from headstart.errors import SettingsError

AUTOMATIC = "auto"


@dataclass(frozen=True)
class Settings:
    """Everything about a request but its messages; the fields are the flags. Refuses values out of range."""

    max_new_tokens: int = 512
    temperature: float | None = None  # here and in the next four None is the model's own value
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float = Sampling.presence_penalty
    frequency_penalty: float = Sampling.frequency_penalty
    seed: int = Sampling.seed
    stop: tuple[str, ...] = ()
    stop_on_repetition: bool = True
    speculation: Mode = Speculation.mode
    num_assistant_tokens: int | None = None
    assistant_confidence_threshold: float | None = None
    acceptance_threshold: float = Speculation.acceptance_threshold
    drafter: Drafter = Speculation.drafter

    def __post_init__(self) -> None:
        """Refuse what no engine could answer, before a model is loaded."""
        self.request((Message("user", "?"),))

    @property
    def sampling(self) -> Sampling:
        """How tokens are chosen."""
        return Sampling.of(self)

    @property
    def guessing(self) -> Speculation:
        """Who guesses ahead, and how far."""
        return Speculation(
            self.speculation,
            self.num_assistant_tokens,
            self.assistant_confidence_threshold,
            self.acceptance_threshold,
            self.drafter,
        )

    def request(self, messages: tuple[Message, ...]) -> Request:
        """These settings for these messages."""
        return Request(
            messages,
            self.max_new_tokens,
            self.sampling,
            self.guessing,
            self.stop,
            stop_on_repetition=self.stop_on_repetition,
        )

    def settled(self, own: Sampling | None) -> "Settings":
        """With the model's own values where they are left to it; as they are where nobody knows those."""
        if own is None:
            return self
        found, automatic = self.sampling.settled(own), self.sampling.automatic
        return dataclasses.replace(self, **{name: getattr(found, name) for name in automatic})

    def changed(self, option: "Option", text: str) -> "Settings":
        """With one setting read from `text`, or back at its default when `text` is empty."""
        value = option.parse(text) if text else getattr(Settings(), option.field)
        return dataclasses.replace(self, **{option.field: value})


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
MODE = Kind("auto, fixed or off", "auto|fixed|off", Mode)
DRAFTER = Kind("any, draft, ngram or bigram", "any|draft|ngram|bigram", Drafter)


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

    def shown(self, settings: Settings, own: Sampling | None = None) -> str:
        """Its value in these settings, as a person would write it; `own`: what the model's author has instead."""
        value, meant = getattr(settings, self.field), getattr(settings.settled(own), self.field)
        if value is None:
            return AUTOMATIC if meant is None else f"{AUTOMATIC} ({meant})"
        if isinstance(value, tuple):
            return ", ".join(repr(item) for item in value) or "(none)"
        return _ANSWERS[not value] if isinstance(value, bool) else str(value)


ANSWER_OPTIONS = (
    Option("max-new-tokens", WHOLE, "longest answer, in tokens (default: 512)"),
    Option("stop", TEXTS, "end the answer before this text; may be given several times"),
    Option("stop-on-repetition", YES_OR_NO, "end an answer that says the same again and again (default: yes)"),
)
_MODELS_OWN = f"(default: {AUTOMATIC}, the model's own)"
SAMPLING_OPTIONS = (
    Option("temperature", _or_automatic(NUMBER), f"0 takes the likeliest token, more is livelier {_MODELS_OWN}"),
    Option(
        "top-p", _or_automatic(NUMBER), f"keep the likeliest tokens of this probability in all, 1: all {_MODELS_OWN}"
    ),
    Option("top-k", _or_automatic(WHOLE), f"keep this many of the likeliest tokens, 0: all {_MODELS_OWN}"),
    Option("min-p", _or_automatic(NUMBER), f"drop tokens below this share of the likeliest one's {_MODELS_OWN}"),
    Option("repetition-penalty", _or_automatic(NUMBER), f"above 1: avoid tokens of prompt and answer {_MODELS_OWN}"),
    Option(
        "seed", WHOLE, "another seed, another draw; with --numerics exact the same one repeats an answer (default: 0)"
    ),
    Option("presence-penalty", NUMBER, "above 0: avoid tokens that the answer has used (default: 0)"),
    Option("frequency-penalty", NUMBER, "above 0: avoid them the more, the more often used (default: 0)"),
)
SPECULATION_OPTIONS = (
    Option(
        "speculation",
        MODE,
        "auto: guess as far ahead as pays here; fixed: always --num-assistant-tokens; off: plain decoding "
        "(default: auto)",
    ),
    Option(
        "num-assistant-tokens",
        _or_automatic(WHOLE),
        "guess at most this many tokens ahead, 1 to 16, or auto (default: auto)",
    ),
    Option(
        "assistant-confidence-threshold",
        _or_automatic(NUMBER),
        "stop guessing where the draft model is less sure than this, 0 to 1, or auto (default: auto)",
    ),
    Option(
        "acceptance-threshold",
        NUMBER,
        "below 1: accept guesses that the model finds less likely than the draft does, down to this ratio; faster, "
        "but MAY CHANGE THE ANSWER (default: 1, exact)",
    ),
    Option(
        "drafter",
        DRAFTER,
        "who may guess: the draft model alone, n-grams of the text alone, the table of `headstart-export bigram` "
        "alone, or any of them (default: any)",
    ),
)
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
    return Settings(**found)


def named(name: str) -> Option:
    """The setting that a person calls so. Raises SettingsError naming those there are."""
    wanted = name.lower().lstrip("-").replace("_", "-")
    for option in OPTIONS:
        if option.name == wanted:
            return option
    if wanted in {"model", "draft", "device", "numerics", "context", "engine", "kv-precision"}:
        raise SettingsError(f"{wanted} is fixed when the model is loaded; start headstart chat again to change it.")
    raise SettingsError(f"There is no setting {name!r}; the settings are {', '.join(o.name for o in OPTIONS)}.")
