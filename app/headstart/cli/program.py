"""The `headstart` program: its commands, exit codes and errors."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path

import click
from click.shell_completion import get_completion_class, shell_complete

from headstart import __doc__ as summary
from headstart import __version__
from headstart.cli.command import (
    INTERRUPTED,
    Command,
    CommandGroup,
    LazyCommand,
    Load,
    flag,
    group,
    load_apart,
    suggestion,
)
from headstart.engine.hardware.machine import window_packages
from headstart.engine.process import huge_pages
from headstart.errors import HeadstartError, SettingsError, WindowError

FAILED = 1
_NAME, _COMPLETE = "headstart", "_HEADSTART_COMPLETE"
_SHELLS = ("bash", "zsh", "fish", "powershell")
_OF_PLACES = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO}  # not of our own bugs
_ALIASES = {"list": "models", "pull": "models add", "rm": "models remove"}  # names from similar programs


@dataclass(frozen=True, kw_only=True)
class WindowFlags:
    profile: Path | None = flag(None, "keep models, chats and settings in this folder", metavar="DIR")
    open: str | None = flag(None, "import the chats of an exported file", metavar="FILE", without_value="")
    quick: bool = flag(default=False, help="ask one question in a small window; a Headstart that is open shows it")
    self_check: bool = flag(default=False, help="open the window unseen, write one answer, and quit")


@dataclass(frozen=True, kw_only=True)
class ProgramFlags:
    """The flags without a command."""

    window: WindowFlags = group(WindowFlags, "the window, which opens if there is no command")


Window = Callable[[WindowFlags], int]


def open_window(flags: WindowFlags) -> int:
    """Open the window. Return the exit code.

    The window is imported here, because the terminal needs no Qt.
    """
    if flags.profile:
        os.environ["HEADSTART_HOME"] = str(flags.profile.expanduser().absolute())
    try:
        from headstart.cli.checks import self_check
        from headstart.ui import application
    except ImportError as error:
        packages = window_packages(str(error))
        how = f" ({packages})" if packages else ""
        raise WindowError(
            f"The window cannot be opened ({error}); install what is missing{how}, or use `headstart chat`."
        ) from None
    return (
        application.self_check(self_check.faults())
        if flags.self_check
        else application.run(Path(flags.open) if flags.open else None, quick=flags.quick)
    )


def main(argv: Sequence[str] | None = None, load: Load | None = None, window: Window = open_window) -> int:
    """Run a command line; without a sub-command, open the window. `load` replaces the way a command loads a model.

    Return the exit code, as `execute` does.
    """
    return execute(program(window), _NAME, argv, load)


def execute(command: click.Command, name: str, argv: Sequence[str] | None = None, load: Load | None = None) -> int:
    """Run one command line of a program of this name.

    Return the exit code: 0, 1 (failed), 2 (wrong command line) or 130 (Ctrl+C).

    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks must not end an answer
    try:
        code = _run(command, name, list(sys.argv[1:] if argv is None else argv), load)
        if sys.stdout:  # on Windows a program with windows has none
            sys.stdout.flush()
    except HeadstartError as error:
        from headstart.cli.render import harmless

        print(f"{name}: {harmless(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`). Python flushes again on exit, and must not fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        if error.errno not in _OF_PLACES:
            raise
        place = error.filename or "The output"
        remedy = "see that you may read and write there, and that there is room"
        print(f"{name}: {place} cannot be used ({error.strerror}); {remedy}.", file=sys.stderr)
        return FAILED
    return code


def start() -> int:
    """Run the program as installed, with large pages for the process that loads a model."""
    os.environ.update(huge_pages.tunables(os.environ))
    return main()


def program(window: Window = open_window) -> click.Group:
    def run(arguments: ProgramFlags, _load: Load) -> int:
        return window(arguments.window)

    root = CommandGroup(COMMANDS, run, aliases=_ALIASES)
    root.help = summary
    root.params += [
        click.Option(
            ["--completion"],
            type=click.Choice(_SHELLS),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="print a script that lets a shell complete commands, flags and models",
        )
    ]
    version = click.version_option(
        __version__, prog_name=_NAME, message="%(prog)s %(version)s", help="print the version"
    )
    return version(root)


def _run(root: click.Command, name: str, arguments: list[str], load: Load | None) -> int:
    if instruction := os.environ.get(_COMPLETE):
        return shell_complete(root, {}, name, _COMPLETE, instruction)
    try:
        with root.make_context(name, arguments, obj=load) as context:
            code: int = root.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else name
        raise SettingsError(f"{_sentence(error)} See {path} --help.") from None
    return code


def _sentence(error: click.UsageError) -> str:
    """Return the message of an error and, for a misspelt word, similar words."""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        options = (name for param in error.ctx.command.get_params(error.ctx) for name in param.opts if name[:2] == "--")
        return error.message + suggestion(error.option_name, options)
    if isinstance(error, click.exceptions.NoSuchCommand) and error.ctx and isinstance(error.ctx.command, CommandGroup):
        return error.message + suggestion(error.command_name, error.ctx.command.list_commands(error.ctx))
    return error.format_message()


def _print_completion(context: click.Context, _param: click.Parameter, shell: str | None) -> None:
    if shell and not context.resilient_parsing:
        completion = get_completion_class(shell)
        assert completion, "click knows these shells"
        click.echo(completion(context.command, {}, _NAME, _COMPLETE).source())
        context.exit()


def _import_command(name: str) -> click.Command:
    command: click.Command
    match name:
        case "chat" | "run":
            from headstart.cli import chat

            command = Command(chat.run if name == "chat" else chat.run_model, load_apart)
        case "serve" | "ps":
            from headstart.cli import serve

            command = Command(serve.run, load_apart) if name == "serve" else Command(serve.list_running)
        case "launch":
            from headstart.cli.agents import launch

            command = Command(launch.run, load_apart)
        case "transcribe":
            from headstart.cli import transcription

            command = Command(transcription.run)
        case "models":
            from headstart.cli import models

            command = models.commands()
        case "remote":
            from headstart.cli import remote

            command = remote.commands()
        case "bench":
            from headstart.cli.performance import bench

            command = bench.commands()
        case "tune":
            from headstart.cli.performance import tune

            command = Command(tune.run)
        case "doctor":
            from headstart.cli.checks import doctor

            command = Command(doctor.run)
        case _:
            from headstart.cli.performance import dev

            command = dev.commands()
    return command


_SUMMARIES = {
    "chat": "Talk with a model, or get one answer",
    "run": "Chat with a model; export it first if it is not installed",
    "serve": "Serve your models to other programs on this computer, with OpenAI's API",
    "launch": "Start a coding agent with a model of this computer",
    "ps": "List the models that servers with this data folder have loaded",
    "transcribe": "Write down what is said in a recording",
    "models": "List the installed models, add, show, check, copy, rename or remove one",
    "remote": "Add, list, check and remove servers on other computers to chat with",
    "bench": "Measure this machine: plain decoding, speculation, other programs",
    "tune": "Find the fastest settings for a model on this machine",
    "doctor": "Check this computer and this installation; useful for a bug report",
    "dev": "Tools for developers of Headstart",
}
COMMANDS = {name: LazyCommand(summary, partial(_import_command, name)) for name, summary in _SUMMARIES.items()}
