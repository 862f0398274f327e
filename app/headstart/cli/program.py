"""The `headstart` command: sub-commands, dispatch and exit codes. Knows no sub-command from inside."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

from headstart import __doc__ as summary
from headstart import __version__, huge_pages
from headstart.cli import audit, bench, chat, doctor, loading, models, remote, serve, text, trials, tune
from headstart.cli.command import INTERRUPTED, Command, Load
from headstart.cli.harmless import harmless
from headstart.engine import exhaustion
from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import HeadstartError, MemoryBudgetError, SettingsError, WindowError

COMMANDS: tuple[Command, ...] = (
    chat.COMMAND,
    serve.COMMAND,
    models.COMMAND,
    remote.COMMAND,
    bench.COMMAND,
    tune.COMMAND,
    audit.COMMAND,
    doctor.COMMAND,
    text.COMMAND,
)
FAILED, MISUSED = 1, 2


def load_local(options: LoadOptions) -> Engine:
    """The engine of this computer, or the way to another. Imported here: `headstart --help` need not wait for it."""
    if options.remote:
        from headstart.engine import remote as server  # noqa: PLC0415

        return server.load(options)
    from headstart.engine.selection import load  # noqa: PLC0415

    try:
        return load(options)
    except HeadstartError as error:
        raise exhaustion.instead_of(error, loading=True) or error from None


def load_measured(options: LoadOptions) -> Engine:
    """The same in the fastest precision: for who measures it, all are tried first, which is done once."""
    from headstart.engine.local import measure_all  # noqa: PLC0415

    measure_all(options)
    return load_local(options)


def load_apart(options: LoadOptions) -> Engine:
    """The same engine in a process of its own, which is replaced when it dies."""
    from headstart.engine.client import EngineClient  # noqa: PLC0415

    client = EngineClient()
    with ExitStack() as undoing:
        undoing.callback(client.close)
        with loading.shown() as tell:
            client.load(options, tell)
        undoing.pop_all()
    return client


def open_window(arguments: argparse.Namespace) -> int:
    """The window. Imported here: the terminal needs no Qt."""
    if arguments.profile:
        os.environ["HEADSTART_HOME"] = str(arguments.profile.expanduser().absolute())
    try:
        from headstart.ui import application, self_check  # noqa: PLC0415
    except ImportError as error:
        raise WindowError(
            f"The window cannot be opened ({error}); install what is missing, or use `headstart chat`."
        ) from None
    return self_check.run(trials.faults()) if arguments.self_check else application.run(arguments.open)


def main(
    argv: Sequence[str] | None = None,
    load: Load | None = None,
    window: Callable[[argparse.Namespace], int] = open_window,
) -> int:
    """Run one command line; without a sub-command, open the window. `load`: another way than the command's own.

    Returns the exit code: 0, 1 (failed), 2 (wrongly asked), 130 (Ctrl+C).
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks must not end an answer
    try:
        arguments = _parser().parse_args(argv)
        code = _run(arguments, load) if arguments.command else window(arguments)
        if sys.stdout:  # a program of windows has none on Windows
            sys.stdout.flush()
    except HeadstartError as error:
        print(f"headstart: {harmless(str(error))}", file=sys.stderr)
        return MISUSED if isinstance(error, SettingsError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (`| head`). Python flushes once more on exit, and must not fail there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code


def _run(arguments: argparse.Namespace, load: Load | None) -> int:
    """A sub-command; where memory is too small, its flag is named, if it has it."""
    try:
        code: int = arguments.run(arguments, load or arguments.load)
    except MemoryBudgetError as error:
        way_out = " Add --ignore-memory to try anyway." if "ignore_memory" in arguments else ""
        raise MemoryBudgetError(f"{error}{way_out}") from None
    return code


def start() -> int:
    """The program as a person starts it. Its own processes are given large pages; the window needs none itself."""
    if any(command.name in sys.argv[1:2] for command in COMMANDS):
        huge_pages.restart()
    os.environ.update(huge_pages.wished(os.environ))
    return main()


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in the same words as every other error."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{message}; see {self.prog} --help.")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="headstart", description=summary, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"headstart {__version__}")
    window = parser.add_argument_group("the window, which opens without a command")
    window.add_argument("--profile", metavar="DIR", type=Path, help="keep models, chats and settings in this folder")
    window.add_argument("--open", metavar="FILE", type=Path, nargs="?", help="bring in the chats of an exported file")
    window.add_argument("--self-check", action="store_true", help="open it unseen, have one answer written, and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS:
        sub = commands.add_parser(
            command.name, help=command.summary, description=f"{command.summary.capitalize()}.", allow_abbrev=False
        )
        command.add_arguments(sub)
        usual = load_measured if command is bench.COMMAND else load_local
        sub.set_defaults(run=command.run, load=load_apart if command.apart else usual)
    return parser
