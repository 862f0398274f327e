"""`headstart dev reference`: `app/docs/cli.md`, written from the declaration of the commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from headstart.cli.command import Group, Load, Option, flag
from headstart.cli.options import writable_file
from headstart.errors import SettingsError

_HEAD = """# The command line

`headstart` without a command opens the window. `headstart COMMAND --help` says the same as this page in a terminal.
Exit codes: 0 done, 1 failed, 2 wrongly asked, 130 ended by Ctrl+C. An error is one sentence on standard error.

`headstart --completion bash` (or zsh, fish, powershell) prints what makes a shell complete commands, flags and models.
For bash, add `eval "$(headstart --completion bash)"` to `~/.bashrc`; for zsh, the same with zsh to `~/.zshrc`;
for fish, `headstart --completion fish | source` to `config.fish`; for PowerShell,
`headstart --completion powershell | Out-String | Invoke-Expression` to your profile.

This page is written by `headstart dev reference --output app/docs/cli.md`."""


@dataclass(frozen=True, kw_only=True)
class ReferenceFlags:
    """Where the page goes."""

    output: Path | None = flag(
        None, "write the page to this file (default: print it)", metavar="FILE", read=writable_file
    )


def run(arguments: ReferenceFlags, _load: Load) -> int:
    """Print the page, or write it. Returns the exit code."""
    program = click.get_current_context().find_root().command
    text = "\n\n".join([_HEAD, *_sections(program, "headstart", level=2)]) + "\n"
    if arguments.output is None:
        print(text, end="")
        return 0
    try:
        arguments.output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise SettingsError(f"{arguments.output} cannot be written ({error.strerror}).") from None
    return 0


def _sections(command: click.Command, path: str, level: int) -> Iterator[str]:
    """A command, then its sub-commands."""
    context = click.Context(command)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} {path}\n\n{(command.help or '').strip()}\n\n    {usage}"
    groups: dict[str, list[str]] = {}
    for param in command.params:
        group = param.group if isinstance(param, Option) and param.group else "options"
        groups.setdefault("arguments" if isinstance(param, click.Argument) else group, []).append(_line(param))
    for title, lines in groups.items():
        yield "\n".join([f"{title[:1].upper()}{title[1:]}:", "", *lines])
    if isinstance(command, Group):
        for name in command.list_commands(context):
            found: Any = command.get_command(context, name)
            yield from _sections(found, f"{path} {name}", min(level + 1, 4))


def _line(param: click.Parameter) -> str:
    context = click.Context(click.Command("reference"))
    if isinstance(param, click.Argument):
        return f"- `{param.make_metavar(context)}`: {param.help}"
    value = "" if isinstance(param, click.Option) and param.is_flag else f" {param.make_metavar(context)}"
    return f"- `{param.opts[0]}{value}`: {getattr(param, 'help', '')}"
