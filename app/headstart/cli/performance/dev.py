"""`headstart dev`: the page of commands, and the text of a document."""

import itertools
import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from headstart.chat.files import attachments
from headstart.chat.folders import folder_files
from headstart.cli import transcription
from headstart.cli.command import (
    Command,
    CommandGroup,
    LazyCommand,
    Load,
    Option,
    argument,
    flag,
    writable_file,
)
from headstart.cli.recognition import find_recognize
from headstart.errors import AttachmentError, AudioError, BrokenModelError, HeadstartError, SettingsError


def commands() -> CommandGroup:
    """`headstart dev` and its sub-commands."""
    return CommandGroup(
        {
            "reference": LazyCommand(
                "Write the page of the documentation that lists all commands", lambda: Command(write_reference)
            ),
            "fields": LazyCommand(
                "Write the page of the documentation that lists the fields of requests", lambda: Command(write_fields)
            ),
            "clock": LazyCommand(
                "Run the example of an MCP server: a clock that answers on standard input and output",
                lambda: Command(run_clock),
            ),
            "text": LazyCommand(
                "Print the text of a document, as it is attached to a message", lambda: Command(print_text)
            ),
            "listen": LazyCommand(
                "Write down what is said into the microphone, as JSON lines, until standard input is closed",
                lambda: Command(listen),
            ),
        },
    )


@dataclass(frozen=True, kw_only=True)
class ClockFlags:
    """The clock has no flags."""


def run_clock(arguments: ClockFlags, _load: Load) -> int:  # noqa: ARG001 - declares the flags
    """Run the example of an MCP server until its input is closed. Return the exit code."""
    from headstart.tools import clock

    clock.main()
    return 0


_HEAD = """# The command line

`headstart` without a command opens the window. `headstart COMMAND --help` shows the same as this page in a terminal.
Exit codes: 0 done, 1 failed, 2 wrong command line, 130 ended by Ctrl+C. An error is one sentence on standard error.

`headstart --completion bash` (or zsh, fish, powershell) prints a script that completes commands, flags and models.
For bash, add `eval "$(headstart --completion bash)"` to `~/.bashrc`; for zsh, the same with zsh to `~/.zshrc`;
for fish, `headstart --completion fish | source` to `config.fish`; for PowerShell,
`headstart --completion powershell | Out-String | Invoke-Expression` to your profile.

A group of flags that several commands have stands at the first of them; the others name that command.

This page is written by `headstart dev reference --output app/docs/cli.md`."""


@dataclass(frozen=True, kw_only=True)
class ReferenceFlags:
    """The file to write a page to."""

    output: Path | None = flag(
        None, "write the page to this file (default: print it)", metavar="FILE", read=writable_file
    )


def write_reference(arguments: ReferenceFlags, _load: Load) -> int:
    """Print the page, or write it. Return the exit code."""
    program = click.get_current_context().find_root().command
    return _write("\n\n".join([_HEAD, *_sections(program, "headstart", level=2, printed={})]) + "\n", arguments)


def write_fields(arguments: ReferenceFlags, _load: Load) -> int:
    """Print the page of the fields of requests, or write it. Return the exit code."""
    from headstart.server import openapi

    return _write(openapi.page(), arguments)


def _write(text: str, arguments: ReferenceFlags) -> int:
    if arguments.output is None:
        print(text, end="")
        return 0
    try:
        arguments.output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise SettingsError(f"{arguments.output} cannot be written ({error.strerror}).") from None
    return 0


def _sections(command: click.Command, path: str, level: int, printed: dict[str, str]) -> Iterator[str]:
    """Yield the section of a command, then those of its sub-commands.

    `printed` maps each group of flags on the page to the command that it stands at.
    """
    context = click.Context(command)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} {path}\n\n{(command.help or '').strip()}\n\n    {usage}"
    yield from _flags(command, path, printed)
    if isinstance(command, CommandGroup):
        for name in command.entries:
            subcommand: Any = command.get_command(context, name)
            yield from _sections(subcommand, f"{path} {name}", min(level + 1, 4), printed)
        if command.aliases:
            names = (f"- `{path} {name}`: the same as `{path} {words}`" for name, words in command.aliases.items())
            yield "\n".join(["Other names:", "", *names])


def _flags(command: click.Command, path: str, printed: dict[str, str]) -> Iterator[str]:
    """Yield references to the groups that earlier commands have printed, then the command's other groups."""
    groups: dict[str, list[str]] = {}
    for param in command.params:
        group = param.group if isinstance(param, Option) and param.group else "options"
        groups.setdefault("arguments" if isinstance(param, click.Argument) else group, []).append(_line(param))
    shared: dict[str, list[str]] = {}
    own = []
    for name, lines in groups.items():
        title = f"{name[:1].upper()}{name[1:]}"
        text = "\n".join([f"{title}:", "", *lines])
        if name != "arguments" and len(lines) > 1 and text in printed:
            shared.setdefault(printed[text], []).append(title)
        else:
            printed[text] = path
            own.append(text)
    for earlier, titles in shared.items():
        yield f"{', '.join(titles)}: as in [`{earlier}`](#{earlier.replace(' ', '-')})."
    yield from own


def _line(param: click.Parameter) -> str:
    context = click.Context(click.Command("reference"))
    if isinstance(param, click.Argument):
        return _item(param.make_metavar(context), param.help or "")
    value = "" if isinstance(param, click.Option) and param.is_flag else f" {param.make_metavar(context)}"
    return _item(f"{', '.join([*param.opts, *param.secondary_opts])}{value}", getattr(param, "help", ""))


def _item(name: str, text: str) -> str:
    return textwrap.fill(f"- `{name}`: {text}", 120, subsequent_indent="  ", break_on_hyphens=False)


@dataclass(frozen=True, kw_only=True)
class TextFlags:
    file: Path = argument("a document: PDF, .docx, EPUB, web page, notebook, picture or recording", metavar="FILE")
    lines: bool = flag(
        default=False,
        help="as JSON lines with progress and errors, for other programs; FILE - reads paths from standard input",
    )


def print_text(arguments: TextFlags, _load: Load) -> int:
    """Print the text of a document. Return the exit code. Raises AttachmentError."""
    if arguments.lines and arguments.file == Path("-"):
        folder_files.serve(sys.stdin, partial(print, flush=True), find_recognize)
        return 0
    if arguments.lines:
        return _run_for_programs(arguments.file)
    from headstart.cli.render import harmless

    recognize, transcribe = find_recognize(), transcription.find_transcribe()
    print(harmless(attachments.attach(arguments.file, recognize=recognize, transcribe=transcribe).text))
    return 0


def _run_for_programs(path: Path) -> int:
    """Print `{"page", "pages"}` for each page of a PDF, then `{"text"}`, or `{"error", "model"}`. Return the exit code.

    `page` counts seconds of a recording. `model` is the one that is missing. The lines are ASCII, so that they do not
    depend on the terminal.
    """
    try:
        attachment = attachments.attach(path, _print_page, find_recognize(), transcription.find_transcribe())
    except (AttachmentError, AudioError, BrokenModelError) as error:
        print(json.dumps({"error": error.text.as_data(), "model": getattr(error, "model", "")}), flush=True)
        return 1
    print(json.dumps({"text": attachment.text}), flush=True)
    return 0


@dataclass(frozen=True, kw_only=True)
class ListenFlags:
    source: Path | None = flag(None, "a recording that is played in the place of a microphone", metavar="FILE")
    model: str | None = flag(None, "the model that writes down what is said", metavar="NAME")
    language: str = flag("", "the language that is spoken, such as en or zh (default: the model hears it)")


def listen(arguments: ListenFlags, _load: Load) -> int:
    """Print `{"level"}` as sound arrives, and `{"text", "is_final"}` or `{"error"}`. Return the exit code.

    A text replaces the one before it unless that was final.
    """
    from headstart.engine.speech import audio
    from headstart.engine.speech.dictation import dictate

    stop = threading.Event()

    def stop_at_the_end_of_input() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=stop_at_the_end_of_input, daemon=True).start()
    source = partial(audio.play, arguments.source) if arguments.source else audio.listen
    try:
        model = transcription.find_model(arguments.model, arguments.language)
        sound = source(stop, lambda level: _print_line(level=round(level, 2)))
        first = next(sound, None)  # the microphone is on while the model is loaded
        transcriber = transcription.load(model.name, model.folder)
        transcriber.require(arguments.language)
        if first is not None:
            for text in dictate(transcriber, itertools.chain([first], sound), arguments.language):
                _print_line(text=text.text, is_final=text.is_final)
    except HeadstartError as error:
        _print_line(error=error.text.as_data())
        return 1
    return 0


def _print_line(**values: object) -> None:
    sys.stdout.write(f"{json.dumps(values)}\n")  # a line at once: two threads write
    sys.stdout.flush()


def _print_page(page: int, pages: int) -> None:
    print(json.dumps({"page": page, "pages": pages}), flush=True)
