"""`headstart serve`: its flags, the key and its output."""

import signal
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from headstart import paths
from headstart.cli.command import Load, flag, given, group, whole_number
from headstart.cli.options import SPECULATION, AnsweringFlags, chosen, facts, from_flags, sampling_flags, title
from headstart.cli.render import harmless
from headstart.engine.protocol import ServerReport, Serving, StartServer
from headstart.errors import SettingsError
from headstart.server import keys
from headstart.server.worker import Limits

HOST, PORT = "127.0.0.1", 8642
_USUAL = Limits()
_LAST_PORT = 65535


def _port(text: str) -> int:
    port: int = whole_number(0).parse("port", text)
    if port > _LAST_PORT:
        raise SettingsError(f"port must be at most {_LAST_PORT}, not {port}.")
    return port


def _origin(text: str) -> str:
    scheme, mark, rest = text.partition("://")
    if not (scheme and mark and rest) or "/" in rest or "*" in text:
        raise SettingsError(f"allow-origin must be an origin such as http://localhost:3000, not {text!r}.")
    return text


@dataclass(frozen=True, kw_only=True)
class ServeFlags:
    """The flags of `headstart serve`."""

    model: AnsweringFlags = group(AnsweringFlags)
    port: int = flag(PORT, f"0: any that is free (default: {PORT})", read=_port, group="place")
    host: str = flag(HOST, f"where to listen (default: {HOST})", metavar="ADDRESS")
    allow_network: bool = flag(
        default=False, help="with --host: let other computers connect, too; messages and the key travel unencrypted"
    )
    new_key: bool = flag(default=False, help="make a new key; the old key stops working", group="access")
    allow_origin: tuple[str, ...] = flag(
        (),
        "allow web pages of this origin, such as http://localhost:3000; may be given several times",
        metavar="ORIGIN",
        read=_origin,
    )
    allow_host: tuple[str, ...] = flag(
        (), "accept this name in a request's Host header, too; may be given several times"
    )
    queue: int = flag(
        _USUAL.waiting,
        f"requests that may wait while one is answered; further ones are refused (default: {_USUAL.waiting})",
        least=0,
        group="limits",
    )
    time_limit: int = flag(
        int(_USUAL.answer_seconds),
        f"longest time for an answer, which is cut off after it (default: {_USUAL.answer_seconds:g})",
        metavar="SECONDS",
    )
    sampling: dict[str, Any] = given(
        sampling_flags(
            "for requests without a seed; with --numerics exact it repeats an answer (default: another each time)"
        ),
        "answers, for what a request leaves open",
    )
    speculation: dict[str, Any] = given(SPECULATION)


def run(arguments: ServeFlags, load: Load) -> int:
    """Serve until Ctrl+C. Returns the exit code."""
    from headstart.server.server import Server, listen  # noqa: PLC0415 - `headstart --help` need not wait for it

    with _told_to_end():
        listener = listen(arguments.host, arguments.port, beyond=arguments.allow_network)
        with closing(listener):  # before the model takes its seconds to load: the port may be taken
            choice, options = chosen(arguments.model)
            order = _order(arguments, choice.name)
            _say(f"Loading {title(options, choice)} ...")
            with closing(load(options)) as engine:
                known = facts(engine)
                Server(order, listener, engine, known.context if known else 0, _report).run()
    _say("Stopped.")
    return 0


def _say(*lines: str) -> None:
    for line in lines:
        print(harmless(line))
    sys.stdout.flush()


def _report(report: ServerReport) -> None:
    """Requests are not shown."""
    if isinstance(report, Serving):
        others = "Other computers can connect, too; messages and the key travel unencrypted."
        _say(f"{report.model} answers at {report.url} until Ctrl+C.", *([others] if report.beyond else []))


def _order(arguments: ServeFlags, model: str) -> StartServer:
    usual = from_flags(arguments.sampling, arguments.speculation)  # before a key is made, as they may be refused
    return StartServer(
        model,
        _key(anew=arguments.new_key),
        arguments.host,
        arguments.port,
        arguments.allow_network,
        arguments.allow_host,
        arguments.allow_origin,
        arguments.queue,
        arguments.time_limit,
        usual.sampling,
        usual.speculation,
        arguments.sampling.get("seed"),
    )


def _key(*, anew: bool) -> str:
    """The digest of the key; a new key is shown once."""
    file = paths.server_key()
    kept = None if anew else keys.read(file)
    if kept is None:
        key = keys.new()
        kept = keys.digest(key)
        keys.write(file, kept)
        _say(f"Key: {key}", "Programs send it as their API key. Keep it: it is not shown again.")
    return kept


@contextmanager
def _told_to_end() -> Iterator[None]:
    """While inside, Ctrl+C and a request to end the program leave by the usual way, after the clean-up."""
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
