"""Sub-commands from functions and dataclasses of flags, and the ways in which they load a model."""

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
from headstart.errors import HeadstartError, MemoryBudgetError, SettingsError
from headstart.parameters import Declared, declared

INTERRUPTED = 130  # exit code: what shells report after Ctrl+C
AUTOMATIC = "auto"  # the value of a flag that leaves it to the model or the program
MOST_COLUMNS = 110  # of a help text
Load = Callable[[LoadOptions], Engine]
Run = Callable[[Any, Load], int]
_Flags = TypeVar("_Flags")


def load_local(options: LoadOptions) -> Engine:
    """The engine of this computer, or the way to another. Imported here: help need not wait for it."""
    if options.remote:
        from headstart.engine.backends import remote as server  # noqa: PLC0415

        return server.load(options)
    from headstart.engine import memory  # noqa: PLC0415
    from headstart.engine.opening import load, load_embedding  # noqa: PLC0415

    try:
        return load_embedding(options) or load(options)
    except HeadstartError as error:
        raise memory.instead_of(error, loading=True) or error from None


def load_measured(options: LoadOptions) -> Engine:
    """The same in the fastest precision; all precisions are tried first, once."""
    from headstart.engine.loading import measure_all  # noqa: PLC0415
    from headstart.engine.opening import settled  # noqa: PLC0415
    from headstart.engine.validation import Trial  # noqa: PLC0415

    measure_all(settled(options), Trial())
    return load_local(options)


def load_apart(options: LoadOptions) -> Engine:
    """The same engine in a process of its own, which is restarted when it dies."""
    from headstart.cli import render  # noqa: PLC0415
    from headstart.engine.process.client import EngineClient  # noqa: PLC0415

    client = EngineClient()
    with ExitStack() as undoing:
        undoing.callback(client.close)
        with render.loading_shown() as tell:
            client.load(options, tell)
        undoing.pop_all()
    return client


def valid_text(text: str) -> str:
    """`text`, or ValueError: bytes of a command line that are no UTF-8 arrive as lone surrogates."""
    text.encode()
    return text


def suggestion(word: str, known: Iterable[str]) -> str:
    """A sentence with what may be meant, after a blank; nothing if no word comes near."""
    words = list(known)
    near = [each for each in words if each.startswith(word)] or get_close_matches(word, words, 1)
    return f" Did you mean {' or '.join(near[:3])}?" if near else ""


@dataclass(frozen=True)
class Kind:
    """How a value is read; `read` raises ValueError, or SettingsError with a sentence of its own."""

    read: Callable[[str], Any]
    words: str = "valid text"  # completes "NAME must be ..."
    metavar: str = "NAME"
    choices: tuple[str, ...] = ()

    def parse(self, name: str, text: str) -> Any:
        """The value of what was typed for `name`. Raises SettingsError."""
        try:
            return self.read(text)
        except ValueError:
            raise SettingsError(f"{name} must be {self.words}, not {text!r}.") from None

    def or_automatic(self) -> "Kind":
        """The same, or the word for None."""
        return replace(
            self, read=lambda text: None if text == AUTOMATIC else self.read(text), words=f"{self.words} or {AUTOMATIC}"
        )


TRUTHS = ("yes", "no", "true", "false")
NUMBER, TEXT = Kind(float, "a number", "X"), Kind(valid_text, metavar="TEXT")
SWITCH = Kind(bool)  # on where the flag is given
YES_OR_NO = Kind(lambda text: TRUTHS.index(text.lower()) % 2 == 0, "yes or no", "yes|no", TRUTHS[:2])
_KINDS = {bool: YES_OR_NO, int: Kind(int, "a whole number", "N"), float: NUMBER, tuple[str, ...]: TEXT}


def kind_of(wanted: Any) -> Kind:
    """How a value of this type is read."""
    if isinstance(wanted, type) and issubclass(wanted, enum.StrEnum):
        *words, last = wanted
        return Kind(wanted, f"{', '.join(words)} or {last}", "|".join(wanted), tuple(wanted))
    return _KINDS.get(wanted) or Kind(wanted)


def whole_number(least: int) -> Kind:
    """A number of at least so much."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise ValueError
        return int(text)

    return Kind(read, f"a whole number, {least} or more", "N")


@dataclass(frozen=True)
class Flag:
    """A flag, besides its name, type and default, which are those of its field."""

    help: str
    short: str = ""  # the letter that may stand for the name
    metavar: str = ""  # where it is not that of its kind
    read: Callable[[str], Any] | None = None  # text to value; without it the type of the field decides
    least: int = 1  # of a whole number
    without_value: str | None = None  # what the flag means where no value follows it
    is_argument: bool = False
    listed: bool = False  # one value names several things
    offered: Callable[[], Iterable[str]] | None = None  # what a shell may complete it to
    group: str = ""  # the heading of this flag and those after it


def flag(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the word that readers of command lines know
    """A field that is a flag; see Flag for `more`."""
    return field(default=default, metadata={"flag": Flag(help, **more)})


def argument(help: str, default: Any = MISSING, **more: Any) -> Any:  # noqa: A002
    """A field that is an argument, required unless it has a default."""
    return field(default=default, metadata={"flag": Flag(help, is_argument=True, **more)})


def group(flags: type[_Flags], title: str = "") -> _Flags:
    """A field that holds a dataclass of flags, which are shown under one heading: the title, or the field's name."""
    return field(default_factory=flags, metadata={"group": flags, "title": title})


@dataclass(frozen=True)
class Setting:
    """A parameter as a flag, as a word of `/set` and as a field of a batch."""

    field: str
    kind: Kind
    help: str

    @property
    def name(self) -> str:
        """As a person writes it."""
        return self.field.replace("_", "-")

    def parse(self, text: str) -> Any:
        """The value of what was typed. Raises SettingsError."""
        value = self.kind.parse(self.name, text)
        return (value,) if self.kind is TEXT else value


def settings_of(params: type) -> tuple[Setting, ...]:
    """One for each parameter of a class."""
    return tuple(
        Setting(each.name, kind.or_automatic() if each.may_be_automatic else kind, help_of(each))
        for each in declared(params)
        for kind in [kind_of(each.kind)]
    )


def given(settings: Iterable[Setting], title: str = "") -> dict[str, Any]:
    """A field that holds the values that were given for these settings, by field."""
    return field(default_factory=dict, metadata={"settings": tuple(settings), "title": title})


def help_of(parameter: Declared) -> str:
    """The help text of a parameter."""
    usual = f"{parameter.default:g}" if isinstance(parameter.default, float) else parameter.default
    if isinstance(usual, bool):
        usual = "yes" if usual else ""
    own = ", the model's own" if parameter.about.is_models_own else ""
    default = "" if usual in ("", ()) else f"default: {AUTOMATIC if usual is None else usual}{own}"
    remarks = "; ".join(filter(None, (parameter.about.detail, parameter.bounds, default)))
    meaning = parameter.about.meaning.rstrip(".")
    return f"{meaning} ({remarks})" if remarks else meaning


class Value(click.ParamType[Any]):
    """A value of one kind, refused in a sentence of ours."""

    def __init__(self, name: str, kind: Kind, offered: Callable[[], Iterable[str]] | None = None) -> None:
        """`offered`: what a shell may complete to besides the choices of the kind."""
        self.name = name
        self._kind, self._offered = kind, offered or (lambda: kind.choices)

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Any:
        """Raises SettingsError."""
        return self._kind.parse(self.name, value) if isinstance(value, str) else value

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The completions of what was typed so far."""
        if self._kind.read is Path or self._kind.metavar in {"FILE", "PATH"}:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(text) for text in self._offered() if text.startswith(incomplete)]


class Option(click.Option):
    """A flag under the heading of its group."""

    def __init__(self, names: Sequence[str], group: str, **more: Any) -> None:
        """`group` is the heading in the help text."""
        super().__init__(names, **more)
        self.group = group


class Command(click.Command):
    """A sub-command whose flags are the fields of the dataclass that its function takes, with one heading a group."""

    def __init__(self, run: Run | None, load: Load = load_local) -> None:
        """`load` loads a model, unless the program is given another function. A group may run nothing by itself."""
        self._run = run
        self.load = load
        self._flags: type[Any] | None = get_type_hints(run)["arguments"] if run else None
        params = list(_parameters(self._flags)) if self._flags else []
        super().__init__(None, {"max_content_width": MOST_COLUMNS}, callback=self._called, params=params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note in an error which command it belongs to."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags by group, in the order of their declaration."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            title = param.group if isinstance(param, Option) else ""
            if record:
                groups.setdefault(title or "options", []).append(record)
        for title, records in groups.items():
            with formatter.section(title[:1].upper() + title[1:]):
                formatter.write_dl(records)

    def _called(self, **values: Any) -> int:
        ctx = click.get_current_context()
        if self._run is None or self._flags is None or ctx.invoked_subcommand:
            return 0
        try:
            return self._run(_filled(self._flags, values), ctx.obj or self.load)
        except MemoryBudgetError as error:
            way_out = " Add --ignore-memory to try anyway." if "ignore_memory" in values else ""
            raise MemoryBudgetError(f"{error}{way_out}") from None


@dataclass(frozen=True)
class LazyCommand:
    """A sub-command that is imported when it is used, so that the help of another does not wait for it."""

    summary: str
    open: Callable[[], click.Command]


class Group(Command, click.Group):
    """A command with sub-commands; `run` is its action without one."""

    def __init__(
        self,
        entries: Mapping[str, LazyCommand],
        run: Run | None = None,
        load: Load = load_local,
        moved: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`entries` in their order in the help; `moved` has the new names of commands that have moved.

        `aliases`: other names of commands, with the words that follow the name of this one.
        """
        super().__init__(run, load)
        self.entries, self.aliases = entries, aliases or {}
        self._moved = moved or {}
        self.invoke_without_command, self.no_args_is_help = run is not None, False

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Their names."""
        return [*self.entries, *self.aliases]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The sub-command of this name, if there is one."""
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
        found = entry.open()
        found.name, found.help = name, f"{entry.summary}."
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags, then the sub-commands, without importing them."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            summaries = {name: entry.summary for name, entry in self.entries.items()}
            same = {name: f"The same as `{ctx.command_path} {words}`" for name, words in self.aliases.items()}
            formatter.write_dl(list((summaries | same).items()))


def _parameters(flags: type[Any], group: str = "") -> Iterator[click.Parameter]:
    """Those of a dataclass, and of the groups in it."""
    hints, known = get_type_hints(flags), {each.field: each for each in declared(flags)}
    for each in sorted(fields(flags), key=lambda each: each.name in known):
        title = each.metadata.get("title") or each.name
        if each.name in known:
            yield _of_parameter(known[each.name], each.default, group)
        elif "group" in each.metadata:
            yield from _parameters(each.metadata["group"], title)
        elif "settings" in each.metadata:
            yield from (_of_setting(setting, title) for setting in each.metadata["settings"])
        elif "flag" in each.metadata:
            group = each.metadata["flag"].group or group
            yield _parameter(each.name, hints[each.name], each.metadata["flag"], each.default, group)


def _of_parameter(parameter: Declared, default: Any, group: str) -> click.Parameter:
    """A flag whose default is known before a model is."""
    if parameter.kind is bool:
        return _parameter(parameter.field, bool, Flag(help_of(parameter)), default, group)
    kind = whole_number(int(parameter.about.low or 0)) if parameter.kind is int else kind_of(parameter.kind)
    if parameter.may_be_automatic:
        kind = replace(kind.or_automatic(), words=kind.words)
    return _option(parameter.field, kind, group, default=default, help=help_of(parameter))


def _of_setting(setting: Setting, group: str) -> click.Parameter:
    many = setting.kind is TEXT
    if setting.kind is SWITCH:
        return Option([f"--{setting.name}", setting.field], group, is_flag=True, default=False, help=setting.help)
    return _option(setting.field, setting.kind, group, default=() if many else None, multiple=many, help=setting.help)


def _parameter(name: str, hint: Any, about: Flag, default: Any, group: str) -> click.Parameter:
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    many = get_origin(hint) is tuple and not about.listed
    wanted, more = get_args(hint)[0] if many else hint, dict[str, Any]()
    kind = whole_number(about.least) if wanted is int else kind_of(wanted)
    kind = replace(kind, read=about.read or kind.read, metavar=about.metavar or kind.metavar)
    if about.is_argument:
        more = {"type": Value(name, kind, about.offered), "metavar": kind.metavar, "nargs": -1 if many else 1}
        return click.Argument([name], help=about.help, required=default is MISSING, **more)
    short = [f"-{about.short}"] if about.short else []
    if wanted is bool:
        names = [f"--{_spelt(name)}", *short, name]
        return Option(names, group, is_flag=True, default=default, help=about.help)
    more = {} if about.without_value is None else {"is_flag": False, "flag_value": about.without_value}
    more |= {"default": default, "multiple": many, "help": about.help, "offered": about.offered}
    return _option(name, kind, group, short, **more)


def _spelt(name: str) -> str:
    """A field as a person writes it; one that is a word of Python ends in an underline."""
    return name.rstrip("_").replace("_", "-")


def _option(
    name: str, kind: Kind, group: str, short: Sequence[str] = (), offered: Any = None, **more: Any
) -> click.Parameter:
    value = Value(_spelt(name), kind, offered)
    return Option([f"--{_spelt(name)}", *short, name], group, type=value, metavar=kind.metavar, **more)


def _filled(flags: type[Any], values: Mapping[str, Any]) -> Any:
    """The dataclass, with the groups in it, of what was given."""
    found: dict[str, Any] = {}
    for each in fields(flags):
        if "group" in each.metadata:
            found[each.name] = _filled(each.metadata["group"], values)
        elif "settings" in each.metadata:
            names = (setting.field for setting in each.metadata["settings"])
            found[each.name] = {name: values[name] for name in names if values[name] not in (None, ())}
        elif each.metadata.keys() & {"flag", "parameter"}:
            found[each.name] = values[each.name]
    return flags(**found)
