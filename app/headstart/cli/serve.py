"""`headstart serve`: its flags, the key and its output; `headstart ps`."""

import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart import paths
from headstart.cli.command import Load, flag, given, group
from headstart.cli.options import (
    SPECULATION,
    AnsweringFlags,
    JsonFlags,
    from_flags,
    last_used,
    model_info,
    sampling_flags,
    select_model,
)
from headstart.cli.render import harmless, print_rows
from headstart.engine.engine import LoadOptions
from headstart.engine.loading import memory
from headstart.engine.loading.memory import amount
from headstart.engine.protocol import Answered, Asked, ServerReport, Serving, StartServer
from headstart.engine.text import generation_config
from headstart.errors import HeadstartError, MemoryBudgetError, SettingsError
from headstart.library import library
from headstart.library.library import Broken, Model, Pair
from headstart.server import keys, running_servers
from headstart.server.models import LoadedModels, OpenModel, Served, Task, build_id, find
from headstart.server.running_servers import ModelProcess, RunningServer
from headstart.server.worker import Limits

if TYPE_CHECKING:
    from headstart.server.server import Server

HOST, PORT = "127.0.0.1", 8642
KEY_VARIABLE = "HEADSTART_SERVER_KEY"
_LIMITS = Limits()
_PARALLEL = 4  # app/docs/server.md has what four clients gain
# In a name of a web site `*` is its beginning, or a port: http://localhost* would allow http://localhost.evil.example.
_ORIGIN = re.compile(r"https?://(\*\.)?[^/*]+(:\*)?|(?!https?:)[A-Za-z][A-Za-z0-9+.-]*://[^/]+")
_MAX_REFUSALS = 100  # shown without --log-requests
_UNSHOWN = {"stopping", "host_not_allowed", "origin_not_allowed"}  # codes of what was said already


def _origin(text: str) -> str:
    if not _ORIGIN.fullmatch(text):
        raise SettingsError(
            "allow-origin must be an origin such as http://localhost:3000, http://localhost:*, https://*.example.com "
            f"or vscode-webview://*, not {text!r}."
        )
    return text


def _alias(text: str) -> str:
    alias, _, model = (part.strip() for part in text.partition("="))
    if not (alias and model):
        raise SettingsError(f"alias must be NAME=MODEL, such as claude-*=qwen2.5-coder, not {text!r}.")
    return f"{alias}={model}"


@dataclass(frozen=True, kw_only=True)
class ServeFlags:
    model: AnsweringFlags = group(AnsweringFlags)
    alias: tuple[str, ...] = flag(
        (),
        "answer requests for this name with a model, such as gpt-4o=qwen2.5-coder; * in the name is any text, as in "
        "claude-*=qwen2.5-coder; may be given several times",
        metavar="NAME=MODEL",
        read=_alias,
        group="names",
    )
    port: int = flag(PORT, "0: any that is free", low=0, high=65535, group="place")
    host: str = flag(HOST, "where to listen", metavar="ADDRESS")
    allow_network: bool = flag(
        default=False, help="with --host: let other computers connect, too; messages and the key travel unencrypted"
    )
    page: bool = flag(
        default=False,
        help="serve a page for a chat in the browser of another device, and show its address as a QR code; with --host "
        "and --allow-network for a device in your network",
    )
    key: tuple[str, ...] = flag(
        (),
        f"accept this key, too, as that in {KEY_VARIABLE}; may be given several times; other users of this computer "
        "may see a command line",
        group="access",
        metavar="KEY",
    )
    key_file: Path | None = flag(None, "accept the keys in this file, too, one on each line", metavar="FILE")
    new_key: bool = flag(default=False, help="make a new key; the one that was made before stops working")
    allow_origin: tuple[str, ...] = flag(
        (),
        "allow web pages of this origin, such as http://localhost:3000, http://localhost:* or vscode-webview://*; may "
        "be given several times",
        metavar="ORIGIN",
        read=_origin,
    )
    allow_host: tuple[str, ...] = flag(
        (), "accept this name in a request's Host header, too; may be given several times"
    )
    queue: int = flag(
        _LIMITS.waiting,
        "requests that may wait while one is answered; further ones are refused",
        low=0,
        group="limits",
    )
    time_limit: int = flag(
        int(_LIMITS.answer_seconds),
        "longest time for an answer, which is cut off after it",
        low=1,
        metavar="SECONDS",
    )
    max_tokens: int | None = flag(
        None, "longest answer to a request that names none (default: half the context)", low=1
    )
    keep: int = flag(1, "models in memory at once; another one takes the place of the one used least recently", low=1)
    parallel: int | None = flag(
        None,
        f"answers at the same time, of one model; each takes the memory of a context (default: {_PARALLEL} where the "
        "memory allows)",
        low=1,
    )
    idle_unload: int | None = flag(
        None,
        "free the models after so long without a request; the next one loads its model again",
        low=1,
        metavar="MINUTES",
    )
    log_requests: bool = flag(
        default=False,
        help="print a line on standard error for each request: time, method, path, client, model, status, tokens and "
        "milliseconds, and why it was refused, but no texts; without it, each kind of refusal is printed once",
        group="log",
    )
    sampling: dict[str, Any] = given(
        sampling_flags(
            "for requests without a seed; the same request then gets the same answer (default: another seed each time)"
        ),
        "answers, for what a request leaves open",
    )
    speculation: dict[str, Any] = given(SPECULATION)


def run(arguments: ServeFlags, load: Load) -> int:
    """Serve until Ctrl+C. Return the exit code."""
    report = RequestPrinter(all_requests=arguments.log_requests).report
    with end_on_signal(), prepared_server(arguments, load, report) as server:
        server.run()
    _say("Stopped.")
    return 0


@contextmanager
def prepared_server(arguments: ServeFlags, load: Load, report: Callable[[ServerReport], None]) -> Iterator["Server"]:
    """Context manager with a server that is ready to run, its first model loaded. It frees the models at the end."""
    from headstart.server.server import Server, listen

    listener = listen(arguments.host, arguments.port, allow_network=arguments.allow_network)
    with closing(listener):  # first, because the port may be taken and a model takes seconds to load
        flags = with_model(arguments.model)
        first = flags.model or ""
        aliases = _aliases(arguments.alias, served_models(flags))
        page_key = keys.new() if arguments.page else ""
        config = _server_config(arguments, first, aliases, page_key)
        load_model = partial(_load_model, flags, load, arguments.parallel)
        with closing(LoadedModels(partial(served_models, flags), load_model, arguments.keep)) as models:
            if first:
                models.open(find(models, first), lambda: None)
            server = Server(config, listener, models, report)
            if page_key:
                _show_page(arguments, listener.getsockname()[1], page_key)
            yield server


def _show_page(arguments: ServeFlags, port: int, key: str) -> None:
    """Print the address of the page, and a QR code that opens it with a key."""
    import segno

    from headstart.server import page

    address = page.address(arguments.host, port)
    _say(f"Page: {address}", f"Its key, until the server ends: {key}")
    if not arguments.allow_network:
        _say("Only this computer reaches it; other devices do with --host 0.0.0.0 --allow-network.")
    if sys.stdout.isatty():
        segno.make(f"{address}#key={key}").terminal(compact=True)


def list_running(arguments: JsonFlags, _load: Load) -> int:
    """Show the models that servers with this data folder have loaded. Return the exit code."""
    servers = running_servers.list_servers()
    if arguments.json:
        print(json.dumps({"servers": [_server_json(server) for server in servers]}, indent=2))
    elif servers:
        print_rows([("model", "loaded since", "memory", "answers", "server"), *itertools.chain(*map(_rows, servers))])
    else:
        print(f"No server runs with the data folder {paths.data_folder()}; `headstart serve` starts one.")
    return 0


def _rows(server: RunningServer) -> Iterator[tuple[str, ...]]:
    for model in server.models:
        since = _since(model).strftime("%Y-%m-%d %H:%M")
        yield model.name, since, amount(model.memory), str(model.answers), server.url
    if not server.models:
        yield "none yet", "", "", "0", server.url


def _server_json(server: RunningServer) -> dict[str, object]:
    models = [
        {"name": model.name, "since": _since(model).isoformat(), "memory": model.memory, "answers": model.answers}
        for model in server.models
    ]
    return {"url": server.url, "process": server.process, "models": models}


def _since(model: ModelProcess) -> datetime:
    return datetime.fromtimestamp(int(model.since)).astimezone()


def with_model(flags: AnsweringFlags) -> AnsweringFlags:
    """Return the flags with the model to load first, or unchanged if requests choose among several models.

    Raises what choosing a model raises.
    """
    installed = served_models(flags)
    writing = [model.id for model in installed if model.task is Task.ANSWERS]
    name = flags.model or last_used() or (writing[0] if len(writing) == 1 else None)
    if name in {model.id for model in installed if model.task is not Task.ANSWERS}:
        return replace(flags, model=name)
    if name or not installed:
        return replace(flags, model=library.choose(name).name)
    if flags.draft not in {None, library.NO_DRAFT}:
        raise SettingsError("--draft is for one model: name it with --model.")
    return flags


def served_models(flags: AnsweringFlags) -> list[Served]:
    """Return the models that requests can name: the installed ones, and one that --model names by its folder.

    It may have been removed since the server was started.
    """
    entries = [entry for entry in library.installed() if not isinstance(entry, Broken)]
    if flags.model is not None and flags.model not in {entry.name for entry in entries}:
        with suppress(HeadstartError):
            entries.append(library.find(flags.model))
    return [_describe(entry, flags) for entry in entries if isinstance(entry, Pair) or _answers(entry)]


def _answers(model: Model) -> bool:
    return not (model.manifest.is_eagle or model.manifest.recognition)


def _describe(entry: Model | Pair, flags: AnsweringFlags) -> Served:
    target = entry.target if isinstance(entry, Pair) else entry
    context = memory.context_of(target.manifest, flags.context)
    vectors, speech = target.manifest.embedding, target.manifest.transcription
    served = Served(entry.name, context, build_id(entry), size=target.manifest.size_bytes)
    if vectors or speech:
        dimensions, languages = vectors.dimensions if vectors else 0, speech.languages if speech else 0
        return replace(served, dimensions=dimensions, languages=languages)
    return replace(served, sampling=generation_config.read(target.folder))


def _load_model(flags: AnsweringFlags, load: Load, parallel: int | None, name: str) -> OpenModel:
    """Load a model as the flags say. --draft is for the model of --model."""
    entry = library.find(name)
    if isinstance(entry, Model) and not entry.manifest.writes:
        _say(f"Loading {name} ...")
        engine = load(LoadOptions(entry.folder, ignore_memory=flags.ignore_memory))
        return OpenModel(engine, entry.manifest.context_length)
    own = flags.draft if name == flags.model or flags.draft == library.NO_DRAFT else None
    selection = select_model(replace(flags, model=name, draft=own))
    unchecked = [] if entry.is_checked else [f"{name} is not checked yet: headstart models check {name}"]
    _say(f"Loading {selection.title} ...", *unchecked)
    try:
        engine = load(replace(selection.options, parallel=parallel or _PARALLEL))
    except MemoryBudgetError:
        if parallel:
            raise
        engine = load(selection.options)
    info = model_info(engine)
    if info is None:
        return OpenModel(engine)
    arithmetic, is_batch_invariant = info.arithmetic, info.is_batch_invariant
    return OpenModel(engine, info.context, info.parallel, arithmetic=arithmetic, is_batch_invariant=is_batch_invariant)


def _say(*lines: str) -> None:
    for line in lines:
        print(harmless(line))
    sys.stdout.flush()


class RequestPrinter:
    """Prints the address of the server, and a line on standard error for each request or each kind of refusal."""

    def __init__(self, *, all_requests: bool) -> None:
        self._all_requests = all_requests
        self._asked: dict[int, Asked] = {}  # by number
        self._refusals: set[tuple[str, int, str]] = set()

    def report(self, report: ServerReport) -> None:
        match report:
            case Serving():
                others = "Other computers can connect, too; messages and the key travel unencrypted."
                model = report.model or "The model that a request names"
                _say(f"{model} answers at {report.url} until Ctrl+C.", *([others] if report.allow_network else []))
            case Asked(number):
                self._asked[number] = report
            case Answered(number):
                asked = self._asked.pop(number)
                if self._all_requests or self._is_new_refusal(asked, report):
                    with suppress(OSError):  # whoever read it may have gone
                        print(harmless(_line(asked, report)).replace("\n", "␊"), file=sys.stderr, flush=True)

    def _is_new_refusal(self, asked: Asked, answered: Answered) -> bool:
        """Return whether to print a refusal: numbers in it do not make it another one."""
        if not answered.refusal or answered.code in _UNSHOWN or len(self._refusals) >= _MAX_REFUSALS:
            return False
        refusal = (asked.path, answered.status, re.sub("[0-9]+", "", answered.refusal))
        is_new = refusal not in self._refusals
        self._refusals.add(refusal)
        return is_new


def _line(asked: Asked, answered: Answered) -> str:
    """Return the line of a request. `key 0` is the first key of those that the server accepts."""
    address, *numbers = answered.client.split() or [""]
    tokens = answered.prompt_tokens is not None and f"{answered.prompt_tokens} + {answered.output_tokens} tokens"
    code = f"{answered.code}: " if answered.code else ""
    parts = [
        f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {asked.method} {asked.path}",
        " ".join([address, *(f"key {number}" for number in numbers)]),
        answered.model,
        str(answered.status) if answered.status else "",
        tokens or "",
        f"{1000 * answered.seconds:.0f} ms",
        "client left" if answered.has_left else "",
        f"{code}{answered.refusal}" if answered.refusal else "",
        answered.id,
    ]
    return ", ".join(filter(None, parts))


def _aliases(given_aliases: Iterable[str], served: Sequence[Served]) -> tuple[tuple[str, str], ...]:
    """Return the aliases with their models. Raises SettingsError for a model that is not installed."""
    ids = {model.id.casefold(): model.id for model in served}
    aliases = dict[str, str]()
    for alias, _, model in (text.partition("=") for text in given_aliases):
        if model.casefold() not in ids:
            names = ", ".join(ids.values())
            raise SettingsError(f"alias {alias} names {model!r}, which is not installed; choose one of {names}.")
        if alias.casefold() in ids:
            raise SettingsError(f"alias {alias} is the name of an installed model; choose another one.")
        aliases[alias] = ids[model.casefold()]
    return tuple(aliases.items())


def _server_config(
    arguments: ServeFlags, model: str, aliases: tuple[tuple[str, str], ...], page_key: str
) -> StartServer:
    defaults = from_flags(arguments.sampling, arguments.speculation)  # before a key is made: they may be refused
    return StartServer(
        model,
        (*_keys(arguments), *([keys.digest(page_key)] if page_key else [])),
        arguments.host,
        arguments.port,
        arguments.allow_network,
        arguments.allow_host,
        arguments.allow_origin,
        arguments.queue,
        arguments.time_limit,
        None if arguments.idle_unload is None else 60 * arguments.idle_unload,
        defaults.sampling,
        defaults.speculation,
        arguments.sampling.get("seed"),
        arguments.max_tokens or 0,
        arguments.parallel or _PARALLEL,
        aliases,
        bool(page_key),
    )


def _keys(arguments: ServeFlags) -> tuple[str, ...]:
    """Return the digests of all keys: the given ones, and the one made here, if there is one.

    If there is none at all, make a key and show it once.
    """
    given_keys = [keys.validate(key, "--key") for key in arguments.key]
    if KEY_VARIABLE in os.environ:
        given_keys.append(keys.validate(os.environ[KEY_VARIABLE], KEY_VARIABLE))
    if arguments.key_file:
        given_keys += keys.read_file(arguments.key_file)
    file = paths.server_key()
    own_digest = None if arguments.new_key else keys.read(file)
    if own_digest is None and (arguments.new_key or not given_keys):
        key = keys.new()
        own_digest = keys.digest(key)
        keys.write(file, own_digest)
        _say(
            f"Key: {key}",
            "Programs send it as their API key. Keep it: it is not shown again. --new-key makes another one.",
        )
    elif not given_keys:
        _say("Programs send the key that was shown when it was made. --new-key makes another one, --key sets your own.")
    return tuple(map(keys.digest, given_keys)) + ((own_digest,) if own_digest else ())


@contextmanager
def end_on_signal() -> Iterator[None]:
    """Context manager that leaves on Ctrl+C or a request to end the program, after the clean-up."""
    try:
        previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread: Ctrl+C cannot be handled
        yield
        return
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, previous)
