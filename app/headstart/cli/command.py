"""Sub-commands made of functions and dataclasses of flags, and the ways in which they load a model."""

import enum
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import MemoryBudgetError, SettingsError
from headstart.parameters import Parameter, declared

INTERRUPTED = 130  # exit code that shells report after Ctrl+C
AUTOMATIC = "auto"  # value of a flag that leaves the choice to the model or the program
MAX_HELP_COLUMNS = 110  # width of a help text
Load = Callable[[LoadOptions], Engine]
Run = Callable[[Any, Load], int]
_Flags = TypeVar("_Flags")


def load_apart(options: LoadOptions) -> Engine:
    """Load an engine in a process of its own, which is restarted when it dies."""
    from headstart.cli import render  # noqa: PLC0415
    from headstart.engine.process.client import EngineClient  # noqa: PLC0415

    client = EngineClient()
    with ExitStack() as stack:
        stack.callback(client.close)
        with render.show_loading() as report:
            client.load(options, report)
        stack.pop_all()
    return client


def valid_text(text: str) -> str:
    """Return `text`. Raises ValueError for bytes that are not UTF-8, which arrive as lone surrogates."""
    text.encode()
    return text


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the known words close to `word`, after a space; empty if there is none."""
    words = list(known)
    near = [each for each in words if each.startswith(word)] or get_close_matches(word, words, 1)
    return f" Did you mean {' or '.join(near[:3])}?" if near else ""


@dataclass(frozen=True)
class ValueKind:
    """Parser of one kind of value. `read` raises ValueError, or SettingsError with a sentence of its own."""

    read: Callable[[str], Any]
    words: str = "valid text"  # completes "NAME must be ..."
    metavar: str = "NAME"
    choices: tuple[str, ...] = ()

    def parse(self, name: str, text: str) -> Any:
        """Return the value of `text`, typed for `name`. Raises SettingsError."""
        try:
            return self.read(text)
        except ValueError:
            raise SettingsError(f"{name} must be {self.words}, not {text!r}.") from None

    def or_automatic(self) -> "ValueKind":
        """Return a kind that also takes the word for None."""
        return replace(
            self, read=lambda text: None if text == AUTOMATIC else self.read(text), words=f"{self.words} or {AUTOMATIC}"
        )


TRUTHS = ("yes", "no", "true", "false")
NUMBER, TEXT = ValueKind(float, "a number", "X"), ValueKind(valid_text, metavar="TEXT")
SWITCH = ValueKind(bool)  # on if the flag is given
YES_OR_NO = ValueKind(lambda text: TRUTHS.index(text.lower()) % 2 == 0, "yes or no", "yes|no", TRUTHS[:2])
_VALUE_KINDS = {bool: YES_OR_NO, int: ValueKind(int, "a whole number", "N"), float: NUMBER, tuple[str, ...]: TEXT}


def value_kind(value_type: Any) -> ValueKind:
    """Return the kind of value for a type."""
    if isinstance(value_type, type) and issubclass(value_type, enum.StrEnum):
        *words, last = value_type
        return ValueKind(value_type, f"{', '.join(words)} or {last}", "|".join(value_type), tuple(value_type))
    return _VALUE_KINDS.get(value_type) or ValueKind(value_type)


def whole_number(minimum: int) -> ValueKind:
    """Return the kind of whole numbers from `minimum` on."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < minimum:
            raise ValueError
        return int(text)

    return ValueKind(read, f"a whole number, {minimum} or more", "N")


@dataclass(frozen=True)
class Flag:
    """Description of a flag. Its name, type and default are those of its field."""

    help: str
    short: str = ""  # a letter that may replace the name
    metavar: str = ""  # replaces that of its kind
    read: Callable[[str], Any] | None = None  # parses text; None: the type of the field decides
    minimum: int = 1  # for a whole number
    without_value: str | None = None  # value of the flag if none follows it
    is_argument: bool = False
    is_list: bool = False  # one value lists several things
    completions: Callable[[], Iterable[str]] | None = None  # for shells
    group: str = ""  # heading of this flag and of the flags after it


def flag(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the word that readers of command lines know
    """Return a field that is a flag; `more` goes to Flag."""
    return field(default=default, metadata={"flag": Flag(help, **more)})


def argument(help: str, default: Any = MISSING, **more: Any) -> Any:  # noqa: A002
    """Return a field that is an argument, required unless it has a default; `more` goes to Flag."""
    return field(default=default, metadata={"flag": Flag(help, is_argument=True, **more)})


def group(flags: type[_Flags], title: str = "") -> _Flags:
    """Return a field that holds a dataclass of flags under one heading: `title`, or the field's name."""
    return field(default_factory=flags, metadata={"group": flags, "title": title})


@dataclass(frozen=True)
class Setting:
    """A parameter as a flag, as a word of `/set` and as a field of a batch."""

    field: str
    kind: ValueKind
    help: str

    @property
    def name(self) -> str:
        """The name that people type."""
        return self.field.replace("_", "-")

    def parse(self, text: str) -> Any:
        """Return the value of typed text. Raises SettingsError."""
        value = self.kind.parse(self.name, text)
        return (value,) if self.kind is TEXT else value


def settings_of(params: type) -> tuple[Setting, ...]:
    """Return a setting for each parameter of a class."""
    return tuple(
        Setting(each.name, kind.or_automatic() if each.may_be_automatic else kind, help_of(each))
        for each in declared(params)
        for kind in [value_kind(each.kind)]
    )


def given(settings: Iterable[Setting], title: str = "") -> dict[str, Any]:
    """Return a field that holds the values given for these settings, by field."""
    return field(default_factory=dict, metadata={"settings": tuple(settings), "title": title})


def help_of(parameter: Parameter) -> str:
    default_text = f"{parameter.default:g}" if isinstance(parameter.default, float) else parameter.default
    if isinstance(default_text, bool):
        default_text = "yes" if default_text else ""
    own = ", the model's own" if parameter.is_models_own else ""
    default = "" if default_text in ("", ()) else f"default: {AUTOMATIC if default_text is None else default_text}{own}"
    remarks = "; ".join(filter(None, (parameter.detail, parameter.bounds, default)))
    meaning = parameter.meaning.rstrip(".")
    return f"{meaning} ({remarks})" if remarks else meaning


class Value(click.ParamType[Any]):
    """A value of one kind, refused in a sentence of Headstart."""

    def __init__(self, name: str, kind: ValueKind, completions: Callable[[], Iterable[str]] | None = None) -> None:
        """`completions` replaces the choices of the kind for shells."""
        self.name = name
        self._kind, self._completions = kind, completions or (lambda: kind.choices)

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Any:
        """Return the value of typed text. Raises SettingsError."""
        return self._kind.parse(self.name, value) if isinstance(value, str) else value

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions of what was typed so far."""
        if self._kind.read is Path or self._kind.metavar in {"FILE", "PATH"}:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(text) for text in self._completions() if text.startswith(incomplete)]


class Option(click.Option):
    """A flag under the heading of its group."""

    def __init__(self, names: Sequence[str], group: str, **more: Any) -> None:
        super().__init__(names, **more)
        self.group = group


class Command(click.Command):
    """A sub-command. Its flags are the fields of the dataclass that its function takes."""

    def __init__(self, run: Run | None, load: Load = load_apart) -> None:
        """`load` loads a model, unless the program has another function for it.

        `run` is None for a group without an action of its own.
        """
        self._run = run
        self.load = load
        self._flags: type[Any] | None = get_type_hints(run)["arguments"] if run else None
        params = list(_parameters(self._flags)) if self._flags else []
        super().__init__(None, {"max_content_width": MAX_HELP_COLUMNS}, callback=self._invoke, params=params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and add the command to an error."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags by group, in the order of their declaration."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            title = param.group if isinstance(param, Option) else ""
            if record:
                groups.setdefault(title or "options", []).append(record)
        for title, records in groups.items():
            with formatter.section(title[:1].upper() + title[1:]):
                formatter.write_dl(records)

    def _invoke(self, **values: Any) -> int:
        ctx = click.get_current_context()
        if self._run is None or self._flags is None or ctx.invoked_subcommand:
            return 0
        try:
            return self._run(_fill(self._flags, values), ctx.obj or self.load)
        except MemoryBudgetError as error:
            hint = " Add --ignore-memory to try anyway." if "ignore_memory" in values else ""
            raise MemoryBudgetError(f"{error}{hint}") from None


@dataclass(frozen=True)
class LazyCommand:
    """A sub-command that is imported when it is used, so that other commands start without it."""

    summary: str
    open: Callable[[], click.Command]


class Group(Command, click.Group):
    """A command with sub-commands; `run` is its action without one."""

    def __init__(
        self,
        entries: Mapping[str, LazyCommand],
        run: Run | None = None,
        load: Load = load_apart,
        moved: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`entries` are in their order in the help; `moved` has the new names of commands that have moved.

        `aliases` maps other names of commands to the words that follow the name of this one.
        """
        super().__init__(run, load)
        self.entries, self.aliases = entries, aliases or {}
        self._moved = moved or {}
        self.invoke_without_command, self.no_args_is_help = run is not None, False

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [*self.entries, *self.aliases]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the sub-command with this name; None if there is none. Raises SettingsError if it has moved."""
        if name in self.aliases:
            aliased: click.Command = self
            for word in self.aliases[name].split():
                assert isinstance(aliased, Group)
                aliased = aliased.get_command(ctx, word) or aliased
            return aliased
        if name in self._moved:
            raise SettingsError(f"This command is now `{self._moved[name]}`.")
        entry = self.entries.get(name)
        if entry is None:
            return None
        command = entry.open()
        command.name, command.help = name, f"{entry.summary}."
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the flags, then the sub-commands, without importing them."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            summaries = {name: entry.summary for name, entry in self.entries.items()}
            same = {name: f"The same as `{ctx.command_path} {words}`" for name, words in self.aliases.items()}
            formatter.write_dl(list((summaries | same).items()))


def _parameters(flags: type[Any], group: str = "") -> Iterator[click.Parameter]:
    """Yield the parameters of a dataclass and of the groups in it."""
    hints, known = get_type_hints(flags), {each.field: each for each in declared(flags)}
    for each in sorted(fields(flags), key=lambda each: each.name in known):
        title = each.metadata.get("title") or each.name
        if each.name in known:
            yield _parameter_option(known[each.name], each.default, group)
        elif "group" in each.metadata:
            yield from _parameters(each.metadata["group"], title)
        elif "settings" in each.metadata:
            yield from (_setting_option(setting, title) for setting in each.metadata["settings"])
        elif "flag" in each.metadata:
            group = each.metadata["flag"].group or group
            yield _field_parameter(each.name, hints[each.name], each.metadata["flag"], each.default, group)


def _parameter_option(parameter: Parameter, default: Any, group: str) -> click.Parameter:
    """Return the flag of a parameter whose default does not depend on a model."""
    if parameter.kind is bool:
        return _field_parameter(parameter.field, bool, Flag(help_of(parameter)), default, group)
    kind = whole_number(int(parameter.low or 0)) if parameter.kind is int else value_kind(parameter.kind)
    if parameter.may_be_automatic:
        kind = replace(kind.or_automatic(), words=kind.words)
    return _option(parameter.field, kind, group, default=default, help=help_of(parameter))


def _setting_option(setting: Setting, group: str) -> click.Parameter:
    many = setting.kind is TEXT
    if setting.kind is SWITCH:
        return Option([f"--{setting.name}", setting.field], group, is_flag=True, default=False, help=setting.help)
    return _option(setting.field, setting.kind, group, default=() if many else None, multiple=many, help=setting.help)


def _field_parameter(name: str, hint: Any, spec: Flag, default: Any, group: str) -> click.Parameter:
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    many = get_origin(hint) is tuple and not spec.is_list
    value_type, more = get_args(hint)[0] if many else hint, dict[str, Any]()
    kind = whole_number(spec.minimum) if value_type is int else value_kind(value_type)
    kind = replace(kind, read=spec.read or kind.read, metavar=spec.metavar or kind.metavar)
    if spec.is_argument:
        more = {"type": Value(name, kind, spec.completions), "metavar": kind.metavar, "nargs": -1 if many else 1}
        return click.Argument([name], help=spec.help, required=default is MISSING, **more)
    short = [f"-{spec.short}"] if spec.short else []
    if value_type is bool:
        names = [f"--{_flag_name(name)}", *short, name]
        return Option(names, group, is_flag=True, default=default, help=spec.help)
    more = {} if spec.without_value is None else {"is_flag": False, "flag_value": spec.without_value}
    more |= {"default": default, "multiple": many, "help": spec.help, "completions": spec.completions}
    return _option(name, kind, group, short, **more)


def _flag_name(name: str) -> str:
    """Return the flag of a field. A field whose name is a word of Python ends in an underscore."""
    return name.rstrip("_").replace("_", "-")


def _option(
    name: str, kind: ValueKind, group: str, short: Sequence[str] = (), completions: Any = None, **more: Any
) -> click.Parameter:
    value = Value(_flag_name(name), kind, completions)
    return Option([f"--{_flag_name(name)}", *short, name], group, type=value, metavar=kind.metavar, **more)


def _fill(flags: type[Any], values: Mapping[str, Any]) -> Any:
    """Return the dataclass, and the groups in it, with the given values."""
    arguments: dict[str, Any] = {}
    for each in fields(flags):
        if "group" in each.metadata:
            arguments[each.name] = _fill(each.metadata["group"], values)
        elif "settings" in each.metadata:
            names = (setting.field for setting in each.metadata["settings"])
            arguments[each.name] = {name: values[name] for name in names if values[name] not in (None, ())}
        elif each.metadata.keys() & {"flag", "parameter"}:
            arguments[each.name] = values[each.name]
    return flags(**arguments)
