"""Sub-commands made of functions and dataclasses of flags, and the ways in which they load a model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import click
from click.shell_completion import CompletionItem

from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import MemoryBudgetError, SettingsError
from headstart.parameters import TRUTHS, Parameter, declared, parameter

INTERRUPTED = 130  # exit code that shells report after Ctrl+C
MAX_HELP_COLUMNS = 110  # width of a help text
Load = Callable[[LoadOptions], Engine]
Run = Callable[[Any, Load], int]
_Flags = TypeVar("_Flags")
_METAVARS = {bool: "yes|no", int: "N", float: "X"}


def load_apart(options: LoadOptions) -> Engine:
    """Load an engine in a process of its own, which is restarted when it dies."""
    from headstart.cli import render
    from headstart.engine.process.client import EngineClient

    client = EngineClient()
    with ExitStack() as stack:
        stack.callback(client.close)
        with render.show_loading() as report:
            client.load(options, report)
        stack.pop_all()
    return client


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the known words close to `word`, after a space; empty if there is none."""
    words = list(known)
    near = [each for each in words if each.startswith(word)] or get_close_matches(word, words, 1)
    return f" Did you mean {' or '.join(near[:3])}?" if near else ""


def flag(default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the word that readers of command lines know
    """Return a field that is a flag; `more` goes to Parameter."""
    return parameter(default, help, is_flag=True, **more)


def writable_file(text: str) -> Path:
    """Return a path whose folder exists, checked before minutes of measuring. Raises SettingsError."""
    path = Path(text).expanduser()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise SettingsError(f"{text} cannot be written: name a file in a folder that exists.")
    return path


def argument(help: str, default: Any = MISSING, **more: Any) -> Any:  # noqa: A002
    """Return a field that is an argument, required unless it has a default; `more` goes to Parameter."""
    return flag(default, help, is_argument=True, **more)


def group(flags: type[_Flags], title: str = "") -> _Flags:
    """Return a field that holds a dataclass of flags under one heading: `title`, or the field's name."""
    return field(default_factory=flags, metadata={"flags": flags, "title": title})


def given(parameters: Iterable[Parameter], title: str = "") -> dict[str, Any]:
    """Return a field that holds the values given for these parameters, by name."""
    return field(default_factory=dict, metadata={"given": tuple(parameters), "title": title})


class Value(click.ParamType[Any]):
    """The type of a flag or argument: it parses values by its Parameter, with Headstart's error sentences."""

    def __init__(self, parameter: Parameter) -> None:
        self.name = parameter.flag
        self._parameter = parameter

    @property
    def metavar(self) -> str:
        """The word for the value in a help text."""
        parameter = self._parameter
        return parameter.metavar or "|".join(parameter.choices) or _METAVARS.get(parameter.value_kind, "NAME")

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Any:
        """Return the value of typed text. Raises SettingsError."""
        return self._parameter.parse(value) if isinstance(value, str) else value

    def shell_complete(self, _ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the completions of what was typed so far."""
        if self._parameter.value_kind is Path or self.metavar in {"FILE", "PATH"}:
            return [CompletionItem(incomplete, type="file")]
        if self._parameter.completions:
            known = self._parameter.completions()
        else:
            known = TRUTHS[:2] if self._parameter.kind is bool else self._parameter.choices
        return [CompletionItem(text) for text in known if text.startswith(incomplete)]


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


class CommandGroup(Command, click.Group):
    """A command with sub-commands; `run` is its action without one."""

    def __init__(
        self,
        entries: Mapping[str, LazyCommand],
        run: Run | None = None,
        load: Load = load_apart,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`entries`: in the order of the help. `aliases` maps other names to the words that follow this one's name."""
        super().__init__(run, load)
        self.entries, self.aliases = entries, aliases or {}
        self.invoke_without_command, self.no_args_is_help = run is not None, False

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return [*self.entries, *self.aliases]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the sub-command with this name; None if there is none."""
        if name in self.aliases:
            aliased: click.Command = self
            for word in self.aliases[name].split():
                assert isinstance(aliased, CommandGroup)
                aliased = aliased.get_command(ctx, word) or aliased
            return aliased
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
    """Yield the parameters of a dataclass and of the groups in it, first those of the command line alone."""
    known = {each.field: each for each in declared(flags)}
    for each in sorted(fields(flags), key=lambda each: each.name in known and not known[each.name].is_flag):
        title = each.metadata.get("title") or each.name
        if parameter := known.get(each.name):
            group = parameter.group or group
            yield _click_parameter(parameter, group, parameter.default)
        elif "flags" in each.metadata:
            yield from _parameters(each.metadata["flags"], title)
        elif "given" in each.metadata:
            yield from (_click_parameter(parameter, title) for parameter in each.metadata["given"])


def _click_parameter(parameter: Parameter, group: str, default: Any = None) -> click.Parameter:
    value = Value(parameter)
    if parameter.is_argument:
        return click.Argument(
            [parameter.name],
            type=value,
            required=default is MISSING,
            nargs=-1 if parameter.is_repeatable else 1,
            metavar=value.metavar,
            help=parameter.help,
        )
    names = [f"--{parameter.flag}", *([f"-{parameter.short}"] if parameter.short else []), parameter.name]
    if parameter.is_switch:
        return Option(names, group, is_flag=True, default=False, help=parameter.help)
    if parameter.is_negatable:
        names[0] += f"/--no-{parameter.flag}"
        return Option(names, group, is_flag=True, default=None, help=parameter.help)
    more = {} if parameter.without_value is None else {"is_flag": False, "flag_value": parameter.without_value}
    return Option(
        names,
        group,
        type=value,
        metavar=value.metavar,
        multiple=parameter.is_repeatable,
        default=default,
        help=parameter.help,
        **more,
    )


def _fill(flags: type[Any], values: Mapping[str, Any]) -> Any:
    """Return the dataclass, and the groups in it, with the given values."""
    arguments = {each.field: values[each.name] for each in declared(flags)}
    for each in fields(flags):
        if "flags" in each.metadata:
            arguments[each.name] = _fill(each.metadata["flags"], values)
        elif "given" in each.metadata:
            names = (parameter.name for parameter in each.metadata["given"])
            arguments[each.name] = {name: values[name] for name in names if values[name] not in (None, ())}
    return flags(**arguments)
