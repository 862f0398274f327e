"""Sub-commands from functions and the dataclasses that declare their flags, and the ways in which they load a model."""

import enum
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
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
_Choices = TypeVar("_Choices", bound=enum.StrEnum)
_Flags = TypeVar("_Flags")


def load_local(options: LoadOptions) -> Engine:
    """The engine of this computer, or the way to another. Imported here: help need not wait for it."""
    if options.remote:
        from headstart.engine.backends import remote as server  # noqa: PLC0415

        return server.load(options)
    from headstart.engine import memory  # noqa: PLC0415
    from headstart.engine.opening import load  # noqa: PLC0415

    try:
        return load(options)
    except HeadstartError as error:
        raise memory.instead_of(error, loading=True) or error from None


def load_measured(options: LoadOptions) -> Engine:
    """The same in the fastest precision: for who measures it, all are tried first, which is done once."""
    from headstart.engine.loading import measure_all  # noqa: PLC0415
    from headstart.engine.opening import settled  # noqa: PLC0415
    from headstart.engine.validation import Trial  # noqa: PLC0415

    measure_all(settled(options), Trial())
    return load_local(options)


def load_apart(options: LoadOptions) -> Engine:
    """The same engine in a process of its own, which is replaced when it dies."""
    from headstart.cli import render  # noqa: PLC0415
    from headstart.engine.process.client import EngineClient  # noqa: PLC0415

    client = EngineClient()
    with ExitStack() as undoing:
        undoing.callback(client.close)
        with render.loading_shown() as tell:
            client.load(options, tell)
        undoing.pop_all()
    return client


@dataclass(frozen=True)
class Flag:
    """What is said of a flag besides its name, type and default, which are those of its field."""

    help: str
    metavar: str = ""
    read: Callable[[str], Any] | None = None  # text to value; without it the type of the field decides
    least: int = 1  # of a whole number
    without_value: str | None = None  # what the flag means where no value follows it
    is_argument: bool = False
    listed: bool = False  # one value names several things
    offered: Callable[[], Iterable[str]] | None = None  # what a shell may complete it to


def flag(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the word that readers of command lines know
    """A field that is a flag; see Flag for `more`."""
    return field(default=default, metadata={"flag": Flag(help, **more)})


def argument(help: str, **more: Any) -> Any:  # noqa: A002
    """A field that is given by its place, and must be."""
    return field(metadata={"flag": Flag(help, is_argument=True, **more)})


def group(flags: type[_Flags], title: str = "") -> _Flags:
    """A field that holds a dataclass of flags, which are shown under one heading: the title, or the field's name."""
    made: Any = field(default_factory=flags, metadata={"group": flags, "title": title})
    found: _Flags = made
    return found


def help_of(parameter: Declared) -> str:
    """What the help text says of a parameter."""
    usual = f"{parameter.default:g}" if isinstance(parameter.default, float) else parameter.default
    if isinstance(usual, bool):
        usual = "yes" if usual else ""
    own = ", the model's own" if parameter.about.is_models_own else ""
    default = "" if usual in ("", ()) else f"default: {AUTOMATIC if usual is None else usual}{own}"
    remarks = "; ".join(filter(None, (parameter.about.detail, parameter.bounds, default)))
    meaning = parameter.about.meaning.rstrip(".")
    return f"{meaning} ({remarks})" if remarks else meaning


def whole_number(name: str, least: int) -> Callable[[str], int]:
    """Reads a number of at least `least`, or says what `name` must be."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise SettingsError(f"{name} must be a whole number, {least} or more, not {text!r}.")
        return int(text)

    return read


def one_of(name: str, choices: type[_Choices]) -> Callable[[str], _Choices]:
    """Reads one of a few words."""
    *words, last = choices

    def read(text: str) -> _Choices:
        try:
            return choices(text)
        except ValueError:
            raise SettingsError(f"{name} must be {', '.join(words)} or {last}, not {text!r}.") from None

    return read


class Value(click.ParamType[Any]):
    """A value that is read by a function which refuses with a sentence of its own."""

    def __init__(self, name: str, read: Callable[[str], Any], offered: Callable[[], Iterable[str]] | None) -> None:
        """`offered`: the values that a shell may complete to; None: the names of files."""
        self.name = name
        self._read = read
        self._offered = offered

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Any:
        """Raises SettingsError."""
        return self._read(value) if isinstance(value, str) else value

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """What a shell offers for what was typed so far."""
        if self._offered is None:
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
        """`load` is how it loads a model, where nobody gives it another way. A group may run nothing by itself."""
        self._run = run
        self.load = load
        self._flags: type[Any] | None = get_type_hints(run)["arguments"] if run else None
        params = list(_parameters(self._flags)) if self._flags else []
        super().__init__(None, {"max_content_width": MOST_COLUMNS}, callback=self._called, params=params)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As ever; what is wrong is known to be so of this command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """By group, in the order of the declaration."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
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
    """A sub-command that is opened when it is asked for: the help of one need not wait for the libraries of all."""

    summary: str
    open: Callable[[], click.Command]


class Group(Command, click.Group):
    """A command with sub-commands; `run` is what it does without one."""

    def __init__(
        self,
        entries: Mapping[str, LazyCommand],
        run: Run | None = None,
        load: Load = load_local,
        moved: Mapping[str, str] | None = None,
    ) -> None:
        """`entries` in the order in which they are shown; `moved` has the new places of commands that are elsewhere."""
        super().__init__(run, load)
        self.entries = entries
        self._moved = moved or {}
        self.invoke_without_command, self.no_args_is_help = run is not None, False

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Their names."""
        return list(self.entries)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """The sub-command of this name, if there is one."""
        if name in self._moved:
            raise SettingsError(f"This command is now `{self._moved[name]}`.")
        entry = self.entries.get(name)
        if entry is None:
            return None
        found = entry.open()
        found.name, found.help = name, f"{entry.summary}."
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The flags, then the sub-commands, of which none is opened for it."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])


def _parameters(flags: type[Any], group: str = "") -> Iterator[click.Parameter]:
    """Those of a dataclass, and of the groups in it."""
    hints, known = get_type_hints(flags), {each.field: each for each in declared(flags)}
    for each in sorted(fields(flags), key=lambda each: each.name in known):
        if each.name in known:
            about = _of_parameter(known[each.name])
            yield _parameter(each.name, hints[each.name], about, each.default, group)
        elif "group" in each.metadata:
            yield from _parameters(each.metadata["group"], each.metadata["title"] or each.name)
        elif "flag" in each.metadata:
            yield _parameter(each.name, hints[each.name], each.metadata["flag"], each.default, group)


def _of_parameter(parameter: Declared) -> Flag:
    kind = parameter.kind
    metavar = "N" if kind is int else "NAME"
    if issubclass(kind, enum.StrEnum):
        metavar = "|".join(kind)
    least = int(parameter.about.low or 0)
    if kind is int and parameter.may_be_automatic:
        number = whole_number(parameter.name, least)
        return Flag(help_of(parameter), metavar, read=lambda text: None if text == AUTOMATIC else number(text))
    return Flag(help_of(parameter), metavar, least=least)


def _parameter(name: str, hint: Any, about: Flag, default: Any, group: str) -> click.Parameter:
    kind, many = _kind(hint)
    many = many and not about.listed
    spelt = name.replace("_", "-")
    value = Value(about.metavar or spelt.upper(), _reader(spelt, kind, about), _offered(kind, about))
    metavar = about.metavar or None
    if about.is_argument:
        return click.Argument(
            [name], help=about.help, type=value, metavar=metavar, nargs=-1 if many else 1, required=True
        )
    if kind is bool and about.read is None:
        return Option([f"--{spelt}", name], group, is_flag=True, default=default, help=about.help)
    without: dict[str, Any] = (
        {} if about.without_value is None else {"is_flag": False, "flag_value": about.without_value}
    )
    return Option(
        [f"--{spelt}", name],
        group,
        type=value,
        metavar=metavar,
        default=default,
        multiple=many,
        help=about.help,
        **without,
    )


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several."""
    if get_origin(hint) in {Union, types.UnionType}:
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    return (get_args(hint)[0], True) if get_origin(hint) is tuple else (hint, False)


def _reader(name: str, kind: Any, about: Flag) -> Callable[[str], Any]:
    if about.read:
        return about.read
    if kind is int:
        return whole_number(name, about.least)
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return one_of(name, kind)
    found: Callable[[str], Any] = kind
    return found


def _offered(kind: Any, about: Flag) -> Callable[[], Iterable[str]] | None:
    if about.offered:
        return about.offered
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return lambda: list(kind)
    return None if kind is Path or about.metavar == "FILE" else list


def _filled(flags: type[Any], values: Mapping[str, Any]) -> Any:
    """The dataclass, with the groups in it, of what was given."""
    found = {
        each.name: _filled(each.metadata["group"], values) if "group" in each.metadata else values[each.name]
        for each in fields(flags)
        if each.metadata.keys() & {"group", "flag", "parameter"}
    }
    return flags(**found)
