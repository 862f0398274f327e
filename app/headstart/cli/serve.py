"""`headstart serve`: its flags, the key, and what a person or a program is told while the server runs."""

import _thread
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headstart import library, paths
from headstart.cli import loaded
from headstart.cli.command import Load, flag, group, whole_number
from headstart.cli.options import AnsweringFlags, SpeculationFlags, from_flags, load_options, sampling_flags, title
from headstart.cli.render import harmless
from headstart.engine.engine import Engine
from headstart.engine.protocol import Serving, StartServer
from headstart.errors import HeadstartError, SettingsError
from headstart.server.limits import Limits

if TYPE_CHECKING:  # `headstart --help` need not wait for a server's libraries
    from headstart.server.telling import Tell, Told

_CHUNK = 4096  # bytes
_INPUT, _OUTPUT = 0, 1  # by number: a frozen program without a console has no `sys.stdin`


def in_words(told: "Told") -> None:
    """For a person; single requests are none of their business."""
    for line in _lines(told):
        print(harmless(line))
    sys.stdout.flush()


def in_lines(told: "Told") -> None:
    """For a program. One that reads no more has ended, and so does this one soon."""
    from headstart.server import telling  # noqa: PLC0415

    os.write(_OUTPUT, telling.encode(told))


@contextmanager
def ended_with_input() -> Iterator[None]:
    """While inside, the end of standard input is a Ctrl+C: whoever holds its other end has let go, or died."""
    threading.Thread(target=_watch, daemon=True).start()
    yield


def _watch() -> None:
    while os.read(_INPUT, _CHUNK):  # a thread that waits in `sys.stdin` would hold its lock when the interpreter ends
        pass
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)  # wakes a main thread that waits, as for an engine that loads


def _lines(told: "Told") -> list[str]:
    from headstart.server.telling import KeyMade, Loading, Stopped  # noqa: PLC0415

    match told:
        case Loading(title):
            return [f"Loading {title} ..."]
        case KeyMade(key):
            return [f"Key: {key}", "Programs send it as their API key. Keep it: it is not shown again."]
        case Serving(model, url, beyond):
            others = "Other computers can ask, too; what they send and the key travel unencrypted."
            return [f"{model} answers at {url} until Ctrl+C.", *([others] if beyond else [])]
        case Stopped():
            return ["Stopped."]
    return []


HOST, PORT = "127.0.0.1", 8642
_USUAL = Limits()
_LAST_PORT = 65535
_FAILED = 1


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


@dataclass(frozen=True, kw_only=True)
class PlaceFlags:
    """Where it listens."""

    port: int = flag(PORT, f"0: any that is free (default: {PORT})", metavar="N", read=_port)
    host: str = flag(HOST, f"where to listen (default: {HOST})", metavar="ADDRESS")
    allow_network: bool = flag(
        default=False,
        help="with --host: let other computers ask, too; what they send and the key travel unencrypted",
    )


@dataclass(frozen=True, kw_only=True)
class AccessFlags:
    """Who may ask."""

    new_key: bool = flag(default=False, help="make another key; the one before is worth nothing then")
    allow_origin: tuple[str, ...] = flag(
        (),
        "let web pages of this origin ask, such as http://localhost:3000; may be given several times",
        metavar="ORIGIN",
        read=_origin,
    )
    allow_host: tuple[str, ...] = flag(
        (), "answer to this name in a request's Host, too; may be given several times", metavar="NAME"
    )


@dataclass(frozen=True, kw_only=True)
class LimitFlags:
    """How much it takes on."""

    queue: int = flag(
        _USUAL.waiting,
        f"requests that may wait while one is answered; others come again later (default: {_USUAL.waiting})",
        metavar="N",
        least=0,
    )
    time_limit: int = flag(
        int(_USUAL.answer_seconds),
        f"longest time for an answer, which is then cut short (default: {_USUAL.answer_seconds:g})",
        metavar="SECONDS",
    )


@dataclass(frozen=True, kw_only=True)
class ProgramFlags:
    """For a program that starts this one."""

    lines: bool = flag(
        default=False,
        help="say everything, each request too, as JSON lines, and end when standard input does: for a program that "
        "starts this one",
    )


@dataclass(frozen=True, kw_only=True)
class ServeFlags:
    """The flags of `headstart serve`."""

    model: AnsweringFlags = group(AnsweringFlags)
    place: PlaceFlags = group(PlaceFlags)
    access: AccessFlags = group(AccessFlags)
    limits: LimitFlags = group(LimitFlags)
    programs: ProgramFlags = group(ProgramFlags)
    sampling: Any = group(
        sampling_flags(
            "of every request that names none; with --numerics exact it repeats an answer (default: another each time)"
        ),
        "answers, where a request leaves it open",
    )
    speculation: Any = group(SpeculationFlags)


def run(arguments: ServeFlags, load: Load) -> int:
    """Serve until Ctrl+C. Returns the exit code."""
    if not arguments.programs.lines:
        _run(arguments, load, in_words)
        return 0
    with ended_with_input():
        return _run_for_a_program(arguments, load)


def _run(arguments: ServeFlags, load: Load, tell: "Tell") -> None:
    from headstart.server.listening import listen  # noqa: PLC0415
    from headstart.server.telling import Loading, Stopped  # noqa: PLC0415

    place = arguments.place
    with _told_to_end():
        listener = listen(place.host, place.port, beyond=place.allow_network)
        with closing(listener):  # before the model takes its seconds to load: the port may be taken
            choice = library.choose(arguments.model.model, arguments.model.draft)
            options = load_options(arguments.model, choice)
            order = _order(arguments, choice.name, tell)
            tell(Loading(title(options, choice)))
            with closing(load(options)) as engine:
                _serve(order, listener, engine, tell)
    tell(Stopped())


def _run_for_a_program(arguments: ServeFlags, load: Load) -> int:
    from headstart.server.telling import Failed  # noqa: PLC0415

    try:
        _run(arguments, load, in_lines)
    except HeadstartError as error:
        in_lines(Failed(type(error).__name__, str(error)))
        return _FAILED
    return 0


def _order(arguments: ServeFlags, model: str, tell: "Tell") -> StartServer:
    usual = from_flags(arguments.sampling, arguments.speculation)
    sampling, speculation = usual.sampling, usual.speculation  # before a key is made: they may be refused
    return StartServer(
        model,
        _key(tell, anew=arguments.access.new_key),
        arguments.place.host,
        arguments.place.port,
        arguments.place.allow_network,
        arguments.access.allow_host,
        arguments.access.allow_origin,
        arguments.limits.queue,
        arguments.limits.time_limit,
        sampling,
        speculation,
        arguments.sampling.seed,
    )


def _serve(order: StartServer, listener: socket.socket, engine: Engine, tell: "Tell") -> None:
    from headstart.server.hosted import HostedServer  # noqa: PLC0415

    HostedServer(order, listener, engine, loaded.context(engine), tell).run()


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
