"""Every setting of the window with its default, its meaning and its bounds."""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_type_hints

from headstart.errors import SettingsError
from headstart.parameters import (
    AnswerParams,
    Declared,
    EngineConfig,
    Mode,
    SamplingParams,
    SpeculationParams,
    declared,
    filled,
)

_PARAMETERS: Mapping[str, type] = {"model": EngineConfig, "speculation": SpeculationParams, "sampling": SamplingParams}
_Class = TypeVar("_Class")
DECLARED: Any = None  # of a field whose default, bounds and meaning are in `parameters.py`
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class About:
    """The declaration of a setting besides its default. `low` and `high` are included unless `above` says otherwise."""

    section: str  # its table in the file and its page in the window
    meaning: str  # one sentence
    low: float | None = None
    high: float | None = None
    above: float | None = None  # the value must be greater
    choices: tuple[str, ...] = ()
    per_chat: bool = False  # a chat may have its own
    barred: str = ""  # characters that its names must not hold
    title: str = ""  # in the window, of a parameter
    start: float | None = None  # where the window begins when an automatic value is set by hand


def _option(default: object, section: str, meaning: str, **bounds: Any) -> Any:
    about = {"about": About(section, meaning, **bounds)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata=about)
    return dataclasses.field(default=default, metadata=about)


def _own(default: object, section: str, meaning: str, **bounds: Any) -> Any:
    return _option(default, section, meaning, per_chat=True, **bounds)


def with_parameters(cls: type[_Class], sections: Mapping[str, type] = _PARAMETERS) -> type[_Class]:
    """Return the class of settings with the fields of an answer's parameters, by section."""
    for section, params in sections.items():
        for each in declared(params):
            if each.about.in_window:
                kind = str if _choices(each) else each.kind
                setattr(cls, each.name, _declared(each, section))
                cls.__annotations__[each.name] = kind | None if each.may_be_automatic else kind
    return cls


def _choices(each: Declared) -> tuple[str, ...]:
    return tuple(map(str, each.kind)) if isinstance(each.kind, type) and issubclass(each.kind, StrEnum) else ()


def _declared(each: Declared, section: str) -> Any:
    choices, about = _choices(each), each.about
    low, high = about.openai or (about.low, about.high)  # beyond those of OpenAI's API answers are gibberish
    bounds = {"low": low, "high": high, "above": about.above}
    default = str(each.default) if choices else each.default
    return _own(default, section, about.meaning, choices=choices, title=each.title, start=about.start, **bounds)


_ANSWER = {each.name: _declared(each, "sampling") for each in declared(AnswerParams)}


@dataclass(frozen=True)
@with_parameters
class Settings:
    """All settings, those of `parameters.py` among them. Refuses values out of bounds; None means automatic."""

    language: str = _option(
        "", "appearance", "Language of the window from its next start on.", choices=("", "en", "zh_CN", "zh_TW")
    )
    theme: str = _option(
        "system",
        "appearance",
        "Colours: light, dark or with high contrast.",
        choices=("system", "light", "dark", "contrast"),
    )
    font_size: int = _option(11, "appearance", "Size of the text in points.", low=7, high=32)
    zoom: int = _option(100, "appearance", "Scale of the window in percent.", low=50, high=300)
    show_origins: bool = _option(
        default=False,
        section="appearance",
        meaning="Colours show which words were guessed ahead, and by whom.",
    )
    reduced_motion: bool = _option(default=False, section="appearance", meaning="Nothing moves or blinks by itself.")

    enter_sends: bool = _option(default=True, section="chat", meaning="Enter sends; otherwise Ctrl+Enter does.")
    restore_chat: bool = _option(default=True, section="chat", meaning="Open the last chat again at start.")
    notifications: bool = _option(
        default=True, section="chat", meaning="Say when a long answer ends while another window has the keyboard."
    )
    notification_text: bool = _option(
        default=False, section="chat", meaning="Such a message shows how the answer begins, not only the chat's title."
    )
    keep_in_tray: bool = _option(
        default=False,
        section="chat",
        meaning="Closing the window leaves Headstart in the tray, with the model in memory. Ctrl+Q ends it. Where the "
        "desktop has no tray, closing ends it, too.",
    )
    prompt_cache_gb: float = _option(
        2.0,
        "chat",
        "Gigabytes for what a model has read of your chats. An old chat then answers at once, even after a restart. 0 "
        "keeps nothing. If your chats are encrypted, so is this.",
        low=0,
        high=1000,
    )
    learn_from_answers: bool = _option(
        default=False,
        section="chat",
        meaning="Answers in your chats teach what to guess, so that later ones come sooner. No answer changes. What a "
        "chat taught stays on disk (if the disk for old chats is not 0), encrypted if your chats are, and is deleted "
        "with the chat. Turning this off deletes all of it.",
    )
    read_ahead: str = _option(
        "auto",
        "chat",
        "The model reads the open chat and what you type before you send it, so that the answer begins at once. "
        "Automatic does so on mains power only.",
        choices=("auto", "always", "never"),
    )
    chat_titles: str = _option(
        "auto",
        "chat",
        "The model names a chat when it has nothing else to do, if your first message is too long for a title. A title "
        "that you gave stays. Automatic does so on mains power only.",
        choices=("auto", "always", "never"),
    )
    tools: bool = _option(
        default=False,
        section="chat",
        meaning="Models may call tools of the MCP servers that you name in mcp.json. You are asked before each call.",
    )
    system_prompt: str = _own("", "chat", "What the model is told before every chat.")

    model: str = _own("", "model", "The model or pair that answers; automatic prefers a pair.")
    # "" is automatic, "none" goes without.
    draft: str = _own("", "model", "The model that guesses ahead; automatic takes the one of the pair.")
    device: str = DECLARED
    draft_device: str = DECLARED
    context: int | None = DECLARED
    engine: str = DECLARED
    kv_precision: str = DECLARED

    max_new_tokens: int = _ANSWER["max_new_tokens"]
    stop: tuple[str, ...] = _ANSWER["stop"]

    server_port: int = _option(
        8642, "server", "Where programs of this computer find the local API server.", low=1024, high=65535
    )

    presets: Mapping[str, str] = _option({}, "presets", "System prompts by name.")
    prompts: Mapping[str, str] = _option(
        {}, "prompts", "Texts that /name puts into the message; an empty one hides a built-in one.", barred=" \t\n/"
    )

    def __post_init__(self) -> None:
        """Refuse what is out of bounds."""
        for name in defaults():
            check(name, getattr(self, name))
        values = vars(self)
        if values["speculation"] == Mode.FIXED and values["num_assistant_tokens"] is None:
            raise SettingsError("To guess a fixed number ahead, set the guesses per step (1 to 16), or use automatic.")

    @property
    def sampling(self) -> SamplingParams:
        """The sampling parameters."""
        return filled(SamplingParams, vars(self))

    @property
    def guessing(self) -> SpeculationParams:
        """The speculation parameters."""
        return filled(SpeculationParams, vars(self))

    def with_values(self, values: Mapping[str, object]) -> "Settings":
        """Return these settings with plain data (TOML or JSON) over them; bad values are logged and ignored."""
        found: dict[str, Any] = {}
        for name in values.keys() & defaults().keys():
            try:
                found[name] = accepted(name, values[name])
            except SettingsError as error:
                _log.warning("%s", error)
        try:
            return dataclasses.replace(self, **found)
        except SettingsError as error:
            _log.warning("%s", error)
            return dataclasses.replace(self, **(found | {"speculation": "auto"}))

    def for_chat(self, own: Mapping[str, object]) -> "Settings":
        """Return these settings with a chat's own over them."""
        return self.with_values({name: value for name, value in own.items() if name in per_chat()})

    def chat_values(self) -> dict[str, object]:
        """Return the settings that a chat may have of its own, as plain data."""
        return {name: plain(getattr(self, name)) for name in per_chat()}


def plain(value: object) -> object:
    """Return a value as TOML and JSON have it."""
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


@cache
def defaults() -> Mapping[str, Any]:
    """Return the defaults by name, in order."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(Settings):
        factory = field.default_factory
        found[field.name] = field.default if factory is dataclasses.MISSING else factory()
    return found


@cache
def about() -> Mapping[str, About]:
    """Return the declarations by name, in order."""
    return {field.name: field.metadata["about"] for field in dataclasses.fields(Settings)}


@cache
def in_section(section: str) -> tuple[str, ...]:
    """Return the names of the settings of one table of the file, which is one page of the window."""
    return tuple(name for name, known in about().items() if known.section == section)


@cache
def per_chat() -> tuple[str, ...]:
    """Return the names of the settings that a chat may have of its own."""
    return tuple(name for name, known in about().items() if known.per_chat)


def accepted(name: str, value: object) -> object:
    """Return plain data as the value of a setting. Raises SettingsError."""
    hint = _hints()[name]
    if hint in (float, float | None) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if hint == tuple[str, ...] and isinstance(value, list):
        value = tuple(value)
    check(name, value)
    return value


def check(name: str, value: object) -> None:
    """Raise SettingsError for a bad value; the sentence names the setting and its bounds."""
    known = about()[name]
    if not _is_a(_hints()[name], value):
        raise _refusal(name, _KINDS[_hints()[name]], _shown(value))
    if known.choices and value not in known.choices:
        raise _refusal(name, f"one of {', '.join(map(repr, known.choices))}", repr(value))
    if isinstance(value, int | float) and not _is_within(known, value):
        raise _refusal(name, _bounds(known), value)
    if isinstance(value, tuple) and not all(value):
        raise SettingsError("{name} must not hold an empty text.", name=name)
    if isinstance(value, Mapping) and not all(key and not set(key) & set(known.barred) for key in value):
        if known.barred:
            raise SettingsError("{name} must have names without spaces and strokes.", name=name)
        raise SettingsError("{name} must have names.", name=name)


def _refusal(name: str, allowed: str, value: object) -> SettingsError:
    return SettingsError("{name} must be {allowed}, not {value}.", name=name, allowed=allowed, value=value)


_KINDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    int | None: "a whole number, or left out",
    float | None: "a number, or left out",
    tuple[str, ...]: "a list of texts",
    Mapping[str, str]: "a table of texts",
}


def _shown(value: object) -> str:
    """Return a value for the log, which must not contain what people wrote."""
    shown = repr(value)
    return shown if len(shown) <= 24 and not isinstance(value, Mapping | list | tuple) else f"a {type(value).__name__}"


@cache
def _hints() -> Mapping[str, Any]:
    return get_type_hints(Settings)


def _is_a(hint: Any, value: object) -> bool:
    if hint == tuple[str, ...]:
        return isinstance(value, tuple) and all(isinstance(text, str) for text in value)
    if hint == Mapping[str, str]:
        return isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def _is_within(known: About, value: float) -> bool:
    low, high, above = known.low, known.high, known.above
    # Written so that a number that is none (nan) fails.
    return (low is None or value >= low) and (high is None or value <= high) and (above is None or value > above)


def _bounds(known: About) -> str:
    parts = [
        f"at least {known.low}" if known.low is not None else "",
        f"above {known.above}" if known.above is not None else "",
        f"at most {known.high}" if known.high is not None else "",
    ]
    return " and ".join(part for part in parts if part)
