"""`headstart remote`: adds, lists, removes and checks servers on other computers."""

import getpass
import json
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headstart import api_keys, remotes
from headstart.cli.command import Command, CommandGroup, LazyCommand, Load, argument, flag
from headstart.cli.options import JsonFlags, ModelFlags
from headstart.cli.render import Screen, answer, count, print_rows
from headstart.engine.engine import ConversationRequest, LoadOptions, Message, Remote
from headstart.errors import SettingsError
from headstart.library.library import ELSEWHERE
from headstart.tools.loop import ToolLoop


def _server_names() -> list[str]:
    return [server.name for server in remotes.configured()]


@dataclass(frozen=True, kw_only=True)
class AddServerFlags:
    name: str = argument("what to call it")
    url: str = argument("such as https://host:8000/v1", metavar="ADDRESS")
    model: str | None = flag(None, "the model to use (default: the only one that it has)")
    key: str | None = flag(
        None,
        "ask for the server's key without showing it (or read it from a pipe), and store it in the keyring",
        metavar="[-]",
        without_value="-",
    )
    certificate: Path | None = flag(
        None,
        "trust the authority in this PEM file too, for a server whose certificate you signed yourself",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class NameFlags:
    name: str = argument("a name of `headstart remote list`", completions=_server_names)


def commands() -> CommandGroup:
    add = "Add a server with OpenAI's API, for --model remote:NAME; nothing is sent to it yet"
    return CommandGroup(
        {
            "add": LazyCommand(add, lambda: Command(_add)),
            "list": LazyCommand("List the servers", lambda: Command(_list)),
            "remove": LazyCommand("Remove a server and its key", lambda: Command(_remove)),
            "check": LazyCommand("Ask a server for its models and for one token", lambda: Command(_check)),
        }
    )


@dataclass(frozen=True)
class RemoteSelection:
    """A model on another computer, chosen by flags."""

    server: Remote

    @property
    def options(self) -> LoadOptions:
        return remotes.load_options(self.server)

    @property
    def name(self) -> str:
        """The name that you type."""
        return remotes.model_name(self.server)

    @property
    def facts(self) -> dict[str, object]:
        """Facts about the model, for an answer in JSON."""
        return {"model": self.name, "url": self.server.url}

    @property
    def remarks(self) -> list[str]:
        """Sentences that say where the messages go."""
        return warnings(self.server)


def select_remote_model(flags: ModelFlags) -> RemoteSelection:
    """Return the server's model of the flags.

    Raises ModelNotFoundError, and SettingsError for flags of local models.
    """
    defaults = vars(type(flags)())
    changed = [name for name, value in vars(flags).items() if name != "model" and value != defaults[name]]
    if changed:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in changed)
        raise SettingsError(f"{names}: for models of this computer only; leave it out, or choose one that is here.")
    assert flags.model is not None, "a server was named"
    return RemoteSelection(remotes.find(flags.model))


def warnings(server: Remote) -> list[str]:
    """Return sentences that say where the messages go."""
    if remotes.is_here(server):
        return [f"Your messages go to {server.name}, another program on this computer: {server.url}"]
    leaving = f"Your messages leave this computer: they go to {server.name} at {server.url}"
    exposed = "The connection is not encrypted (http): others on the network can read the messages and the key."
    return [leaving, exposed] if remotes.is_exposed(server) else [leaving]


def _add(arguments: AddServerFlags, _load: Load) -> int:
    if arguments.key not in {None, "-"}:
        raise SettingsError(
            "Others could read a key on the command line: write --key as the last word and type the key when you are "
            "asked, or send it through a pipe."
        )
    certificate = arguments.certificate.expanduser().absolute() if arguments.certificate else None
    if certificate and not certificate.is_file():
        raise SettingsError(f"There is no file {certificate}; name the certificate of the authority in PEM form.")
    server = remotes.checked(Remote(arguments.name, arguments.url, arguments.model or None, certificate))
    secret = _read_key(server) if arguments.key else None
    remotes.add(server)
    screen = Screen()
    screen.remark(f"{server.name} is {server.url}; chat with it: headstart chat --model {remotes.model_name(server)}")
    if secret:
        key = api_keys.keep(server.name, secret)
        screen.remark(
            f"The key is in {key.where}."
            if key.place is api_keys.KeyPlace.KEYRING
            else f"This system has no keyring, so the key is in {key.where}, which only you can read; "
            f"the environment variable {api_keys.variable(server.name)} takes precedence."
        )
    screen.remark(*warnings(server))
    return 0


def _read_key(server: Remote) -> str:
    is_typed = sys.stdin.isatty()
    secret = getpass.getpass(f"Key of {server.name} (it is not shown): ") if is_typed else sys.stdin.readline()
    secret = secret.strip()
    if not api_keys.is_usable(secret):
        raise SettingsError("A key is one line of letters, digits and signs; nothing was kept.")
    return secret


def _list(arguments: JsonFlags, _load: Load) -> int:
    servers = [(server, api_keys.find(server.name)) for server in remotes.configured()]
    if arguments.json:
        objects = [
            {
                "name": server.name,
                "url": server.url,
                "model": server.model,
                "certificate": str(server.certificate) if server.certificate else None,
                "key": key.place.value if key else None,
            }
            for server, key in servers
        ]
        print(json.dumps({"file": str(remotes.default_path()), "servers": objects}, indent=2))
    elif servers:
        rows = [
            (each.name, each.url, each.model or "the only one", key.place if key else "none") for each, key in servers
        ]
        print_rows([("name", "address", "model", "key"), *rows])
    else:
        print("No server is known; add one with `headstart remote add NAME ADDRESS`.")
    return 0


def _remove(arguments: NameFlags, _load: Load) -> int:
    remotes.remove(arguments.name)
    api_keys.forget(arguments.name)
    Screen().remark(f"{arguments.name} and its key are removed.")
    return 0


def _check(arguments: NameFlags, load: Load) -> int:
    screen = Screen(text=False)
    server = remotes.find(f"{ELSEWHERE}{arguments.name}")
    screen.remark(*warnings(server))
    started = time.perf_counter()
    with closing(load(remotes.load_options(server))) as engine:
        result = answer(engine, ToolLoop(ConversationRequest((Message("user", "Hello"),), max_new_tokens=1)), screen)
    seconds = time.perf_counter() - started
    tokens = count(result.stats.output_tokens, "token")
    screen.remark(f"{server.name} answers: {tokens} in {seconds:.1f} s, connecting included.")
    return 0
