"""`headstart serve`: its flags, the key, and what a person reads while the server runs. Knows no HTTP."""

import argparse
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headstart import library, paths
from headstart.cli import loaded, serve_voice, settings
from headstart.cli.command import Command, Load
from headstart.cli.measuring import whole_number
from headstart.cli.model_flags import add_engine_argument, add_model_arguments, load_options, title
from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import HeadstartError, SettingsError
from headstart.server.limits import Limits

if TYPE_CHECKING:  # `headstart --help` need not wait for a server's libraries
    from headstart.server.api import Served
    from headstart.server.telling import Tell

HOST, PORT = "127.0.0.1", 8642
_USUAL = Limits()
_LAST_PORT = 65535
_FAILED = 1


@dataclass(frozen=True)
class Plan:
    """A command line that was read and found possible; nothing is loaded yet."""

    load: LoadOptions
    title: str
    served: "Served"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of `headstart serve`."""
    add_engine_argument(add_model_arguments(parser))
    place = parser.add_argument_group("place")
    place.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"0: any that is free (default: {PORT})")
    place.add_argument("--host", default=HOST, metavar="ADDRESS", help=f"where to listen (default: {HOST})")
    place.add_argument(
        "--allow-network",
        action="store_true",
        help="with --host: let other computers ask, too; what they send and the key travel unencrypted",
    )
    doors = parser.add_argument_group("doors")
    doors.add_argument("--new-key", action="store_true", help="make another key; the one before is worth nothing then")
    doors.add_argument(
        "--allow-origin",
        type=_origin,
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let web pages of this origin ask, such as http://localhost:3000; may be given several times",
    )
    doors.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this name in a request's Host, too; may be given several times",
    )
    _add_limits(parser)
    _add_lines(parser)
    answers = "answers, where a request leaves it open"
    seed = "of every request that names none; with --numerics exact it repeats an answer (default: another each time)"
    sampling = [replace(option, help=seed) if option.name == "seed" else option for option in settings.SAMPLING_OPTIONS]
    settings.add_options(parser, {answers: sampling, "speculation": settings.SPECULATION_OPTIONS})


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--queue",
        type=whole_number("queue", 0),
        default=_USUAL.waiting,
        metavar="N",
        help=f"requests that may wait while one is answered; others come again later (default: {_USUAL.waiting})",
    )
    limits.add_argument(
        "--time-limit",
        type=whole_number("time-limit", 1),
        default=_USUAL.answer_seconds,
        metavar="SECONDS",
        help=f"longest time for an answer, which is then cut short (default: {_USUAL.answer_seconds:g})",
    )


def _add_lines(parser: argparse.ArgumentParser) -> None:
    parser.add_argument_group("programs").add_argument(
        "--lines",
        action="store_true",
        help="say everything, each request too, as JSON lines, and end when standard input does: for a program that "
        "starts this one",
    )


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Serve until Ctrl+C. Returns the exit code."""
    if not arguments.lines:
        _run(arguments, load, serve_voice.in_words)
        return 0
    with serve_voice.ended_with_input():
        return _run_for_a_program(arguments, load)


def _run(arguments: argparse.Namespace, load: Load, tell: "Tell") -> None:
    from headstart.server.listening import listen  # noqa: PLC0415
    from headstart.server.telling import Loading, Stopped  # noqa: PLC0415

    with _told_to_end():
        listener = listen(arguments.host, arguments.port, beyond=arguments.allow_network)
        with closing(listener):  # before the model takes its seconds to load: the port may be taken
            plan = _plan(arguments, tell)
            tell(Loading(plan.title))
            with closing(load(plan.load)) as engine:
                _serve(engine, plan, listener, tell)
    tell(Stopped())


def _run_for_a_program(arguments: argparse.Namespace, load: Load) -> int:
    from headstart.server.telling import Failed  # noqa: PLC0415

    try:
        _run(arguments, load, serve_voice.in_lines)
    except HeadstartError as error:
        serve_voice.in_lines(Failed(type(error).__name__, str(error)))
        return _FAILED
    return 0


COMMAND = Command(
    "serve", "answer other programs of this computer, as OpenAI's API does", add_arguments, run, apart=True
)


def _plan(arguments: argparse.Namespace, tell: "Tell") -> Plan:
    from headstart.server import gate  # noqa: PLC0415
    from headstart.server.api import Served  # noqa: PLC0415
    from headstart.server.reading import Defaults  # noqa: PLC0415
    from headstart.server.replies import Model  # noqa: PLC0415

    usual = settings.from_arguments(arguments)
    choice = library.choose(arguments.model, arguments.draft)
    options = load_options(arguments, choice)
    defaults = Defaults(usual.sampling, usual.guessing, usual.seed if "seed" in arguments else None)
    doors = gate.Doors(
        _key(tell, anew=arguments.new_key),
        gate.names(arguments.allow_host),
        frozenset(arguments.allow_origin),
        arguments.allow_network,
    )
    limits = Limits(waiting=arguments.queue, answer_seconds=arguments.time_limit)
    served = Served(Model(choice.name, int(time.time())), doors, defaults, limits)
    return Plan(options, title(options, choice), served)


def _serve(engine: Engine, plan: Plan, listener: socket.socket, tell: "Tell") -> None:
    from headstart.server.api import application  # noqa: PLC0415
    from headstart.server.listening import Server, url  # noqa: PLC0415
    from headstart.server.telling import Serving, Watched  # noqa: PLC0415
    from headstart.server.worker import Worker  # noqa: PLC0415

    served, limits = plan.served, plan.served.limits
    if half := loaded.context(engine) // 2:
        served = replace(served, defaults=replace(served.defaults, length=half))
    with closing(Worker(engine, limits)) as worker:
        server = Server(Watched(application(worker, served), tell), worker, limits.head_seconds)
        tell(Serving(served.model.id, url(listener), served.doors.any_address))
        server.run([listener])


def _key(tell: "Tell", *, anew: bool) -> str:
    """The digest of the key; a new key is shown, this once."""
    from headstart.server import keys  # noqa: PLC0415
    from headstart.server.telling import KeyMade  # noqa: PLC0415

    file = paths.server_key()
    kept = None if anew else keys.read(file)
    if kept is None:
        key = keys.new()
        kept = keys.digest(key)
        keys.write(file, kept)
        tell(KeyMade(key))
    return kept


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Ctrl+C and what asks the program to end are the usual ways out, once all is put away."""
    try:
        previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # another thread than the main one: nobody can press Ctrl+C
        yield
        return
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, previous)


def _port(text: str) -> int:
    port = whole_number("port", 0)(text)
    if port > _LAST_PORT:
        raise SettingsError(f"port must be at most {_LAST_PORT}, not {port}.")
    return port


def _origin(text: str) -> str:
    scheme, mark, rest = text.partition("://")
    if not (scheme and mark and rest) or "/" in rest or "*" in text:
        raise SettingsError(f"allow-origin must be an origin such as http://localhost:3000, not {text!r}.")
    return text
