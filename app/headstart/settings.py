"""Every setting of the window, declared once, and the TOML file of the settings that people may edit."""

import dataclasses
import logging
import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from headstart import paths, private_files
from headstart.errors import SettingsError
from headstart.parameters import (
    AnswerParams,
    EngineConfig,
    Mode,
    Parameter,
    SamplingParams,
    SpeculationParams,
    declared,
    filled,
    parameter,
)

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_PARAMETERS: Mapping[str, type] = {"model": EngineConfig, "speculation": SpeculationParams, "sampling": SamplingParams}
_Class = TypeVar("_Class")
DECLARED: Any = None  # of a field whose default, bounds and meaning are in `parameters.py`
FILE_NAME = "settings.toml"
VERSION = 1
WHOLE_TABLES = ("presets", "prompts")  # sections that are one setting each
_log = logging.getLogger(__name__)


def with_parameters(cls: type[_Class], sections: Mapping[str, type] = _PARAMETERS) -> type[_Class]:
    """Return the class of settings with the fields of an answer's parameters, by section."""
    for section, params in sections.items():
        for each in declared(params):
            if each.in_window:
                kind = str if each.choices else each.kind
                setattr(cls, each.name, _setting(each, section))
                cls.__annotations__[each.name] = kind | None if each.may_be_automatic else kind
    return cls


def _setting(each: Parameter, section: str) -> Any:
    """Return the field of a setting that is a parameter."""
    low, high = each.openai or (each.low, each.high)  # beyond those of OpenAI's API answers are gibberish
    declaration = dataclasses.replace(each, section=section, low=low, high=high, per_chat=True)
    default = str(each.default) if each.choices else each.default
    return dataclasses.field(default=default, metadata={"parameter": declaration})


_ANSWER = {each.name: _setting(each, "sampling") for each in declared(AnswerParams)}
_appearance = partial(parameter, section="appearance")
_chat = partial(parameter, section="chat")
_speech = partial(parameter, section="speech")
_model = partial(parameter, section="model", per_chat=True)


@dataclass(frozen=True)
@with_parameters
class Settings:
    """All settings, those of `parameters.py` among them. Refuses values out of bounds; None means automatic."""

    language: str = _appearance(
        "",
        "The window opens again in another language.",
        title="Language",
        labels={"": "System"},
        names={"en": "English", "zh_CN": "简体中文", "zh_TW": "繁體中文"},
    )
    theme: str = _appearance(
        "system",
        "Colours: light, dark or with high contrast.",
        title="Theme",
        labels={"system": "System", "light": "Light", "dark": "Dark", "contrast": "High contrast"},
    )
    font_size: int = _appearance(11, "Size of the text in points.", title="Text size", unit=" pt", low=7, high=32)
    zoom: int = _appearance(100, "Scale of the window in percent.", title="Zoom", unit=" %", low=50, high=300)
    show_origins: bool = _appearance(
        default=False, meaning="Colours show which words came faster, and thanks to what.", title="Mark faster words"
    )
    reduced_motion: bool = _appearance(
        default=False, meaning="Nothing moves or blinks by itself.", title="Reduced motion"
    )

    enter_sends: bool = _chat(default=True, meaning="If off, Ctrl+Enter sends.", title="Enter sends the message")
    restore_chat: bool = _chat(
        default=True, meaning="If off, Headstart starts with a new chat.", title="Open the last chat at start"
    )
    notifications: bool = _chat(
        default=True,
        meaning="Only while you work in another window.",
        title="Notify me when a long answer is ready",
    )
    notification_text: bool = _chat(
        default=False,
        meaning="Without it, only the chat's title.",
        title="Show the answer's beginning in notifications",
    )
    keep_in_tray: bool = _chat(
        default=False,
        meaning="Closing the window then leaves Headstart in the tray, ready at once. Ctrl+Q ends it.",
        title="Stay in the tray",
    )
    prompt_cache_gb: float = _chat(
        2.0,
        "Keeps what a model has read, so that old chats answer at once. 0 keeps nothing.",
        title="Disk space for old chats",
        unit=" GB",
        low=0,
        high=1000,
    )
    read_ahead: str = _chat(
        "auto",
        "The model reads what you type before you send it, so that the answer begins at once. Automatic: not on "
        "battery.",
        title="Read while you type",
        labels={"auto": "Automatic", "always": "Always", "never": "Never"},
    )
    chat_titles: str = _chat(
        "auto",
        "The model finds short titles for chats when it is idle. Automatic: not on battery.",
        title="Titles by the model",
        labels={"auto": "Automatic", "always": "Always", "never": "Never"},
    )
    tools: bool = _chat(
        default=False,
        meaning="You are asked before each call. Add tools in the menu Chat.",
        title="Models may use tools",
    )
    system_prompt: str = _chat("", "What the model is told before every chat.", title="System prompt", per_chat=True)

    model: str = _model("", "The model that answers. Automatic prefers a pair, which is faster.", title="Model")
    # "" is automatic, "none" goes without.
    draft: str = _model(
        "",
        "A small model that guesses ahead for the large one. Automatic takes the one of the pair.",
        title="Draft model",
    )
    device: str = DECLARED
    draft_device: str = DECLARED
    context: int | None = DECLARED
    engine: str = DECLARED
    kv_precision: str = DECLARED

    max_new_tokens: int = _ANSWER["max_new_tokens"]
    stop: tuple[str, ...] = _ANSWER["stop"]
    think: bool | None = _ANSWER["think"]
    think_budget: int | None = _ANSWER["think_budget"]

    read_aloud: bool = _speech(
        default=False,
        meaning="The desktop's voice speaks each sentence as it is written. Esc stops it.",
        title="Read answers aloud",
    )
    speech_rate: int = _speech(0, "From -100 to 100; 0 is the usual one.", title="Speed of speech", low=-100, high=100)

    server_port: int = parameter(
        8642,
        "Where programs of this computer find the local API server.",
        section="server",
        title="Port",
        low=1024,
        high=65535,
    )

    presets: Mapping[str, str] = parameter({}, "System prompts by name.", section="presets")
    prompts: Mapping[str, str] = parameter(
        {},
        "Texts that /name puts into the message; an empty one hides a built-in one.",
        section="prompts",
        barred=" \t\n/",
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
        return filled(SamplingParams, vars(self))

    @property
    def guessing(self) -> SpeculationParams:
        return filled(SpeculationParams, vars(self))

    def with_values(self, values: Mapping[str, object]) -> "Settings":
        """Return these settings with plain data (TOML or JSON) over them; bad values are logged and ignored."""
        found: dict[str, Any] = {}
        for name in values.keys() & defaults().keys():
            try:
                found[name] = validated(name, values[name])
            except SettingsError as error:
                _log.warning("%s", error)
        if not found:
            return self  # as most chats have it, which ask for theirs at each step
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
    """Convert a value to what TOML and JSON can store."""
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
def about() -> Mapping[str, Parameter]:
    """Return the declarations by name, in order."""
    return {field.name: field.metadata["parameter"] for field in dataclasses.fields(Settings)}


@cache
def in_section(section: str) -> tuple[str, ...]:
    """Return the names of the settings of one table of the file, which is one page of the window."""
    return tuple(name for name, known in about().items() if known.section == section)


@cache
def per_chat() -> tuple[str, ...]:
    """Return the names of the settings that a chat may have of its own."""
    return tuple(name for name, known in about().items() if known.per_chat)


def validated(name: str, value: object) -> object:
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
    if isinstance(value, int | float) and not known.allows(value):
        raise _refusal(name, known.bounds, value)
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
    bool | None: "true, false, or left out",
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
    return isinstance(value, hint) and (hint in (bool, bool | None) or not isinstance(value, bool))


def default_path() -> Path:
    """The default file of the settings."""
    return paths.config_folder() / FILE_NAME


def load(path: Path | None = None, otherwise: Settings | None = None) -> Settings:
    """Read the settings of a file. Missing and bad values get their defaults; bad ones are logged.

    `otherwise` is returned for a file that cannot be read, by default all defaults.
    """
    path, otherwise = path or default_path(), otherwise or Settings()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read and is not used: %s", path, error)
        return otherwise
    if content.get("version", VERSION) != VERSION:
        _log.warning("%s is of another version (%r); what is known of it is used", path, content["version"])
    return Settings().with_values(_flat(content))


def require_readable(path: Path | None = None) -> None:
    """Raise SettingsError if there is a file that cannot be read, of which `load` uses nothing."""
    path = path or default_path()
    try:
        tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise SettingsError(
            "The settings in {path} cannot be read ({reason}), so the usual ones hold; see that you may read the file "
            "and that it is in order, then start Headstart again.",
            path=path,
            reason=getattr(error, "strerror", None) or error,
        ) from error


def save(settings: Settings, path: Path | None = None) -> None:
    """Write what differs from the defaults; comments and unknown keys stay.

    Raises SettingsError; the old file is then still there.
    """
    path = path or default_path()
    try:
        document = _document(path)
        for name, known in about().items():
            _put(document, known.section, name, getattr(settings, name))
        document.setdefault("version", VERSION)
        private_files.write(path, document.as_string())
    except OSError as error:
        raise SettingsError(
            "The settings cannot be saved in {path} ({strerror}); see that you may read it and write there, and try "
            "again.",
            path=path,
            strerror=error.strerror,
        ) from error


def _flat(content: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, known in about().items():
        table = content if name in WHOLE_TABLES else content.get(known.section, {})
        if not isinstance(table, MutableMapping):
            _log.warning("%s must be a table, not %r.", known.section, table)
        elif name in table:
            found[name] = table[name]
    return found


def _document(path: Path) -> "TOMLDocument":
    """Return the content of the file. A file that is not TOML is renamed, so that its owner can repair it."""
    import tomlkit  # noqa: PLC0415 - only needed to write
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError):
        aside = path.with_suffix(".damaged.toml")
        _log.warning("%s is no TOML; it is kept as %s", path, aside)
        path.replace(aside)
        return tomlkit.document()


def _put(document: "TOMLDocument", section: str, name: str, value: object) -> None:
    whole = name in WHOLE_TABLES
    table: Any = document if whole else document.get(section)
    if value == defaults()[name]:
        if isinstance(table, MutableMapping):
            table.pop(name, None)
        return
    if not isinstance(table, MutableMapping):
        document[section] = {}
        table = document[section]
    if table.get(name) != plain(value):  # an equal value keeps its spelling in the file
        table[name] = plain(value)
