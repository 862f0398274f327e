"""`headstart remote`: names servers on other computers, lists, removes and tries them."""

import argparse
import getpass
import json
import sys
import time
from contextlib import closing
from pathlib import Path

from headstart import keys, remotes
from headstart.cli.answer import answer
from headstart.cli.columns import print_rows
from headstart.cli.command import Command, Load
from headstart.cli.model_flags import add_engine_argument, add_model_arguments, add_trace_arguments
from headstart.cli.screen import Screen
from headstart.engine.engine import LoadOptions, Message, Remote, Request
from headstart.errors import SettingsError
from headstart.library import ELSEWHERE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Each action has its own."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    description = (
        "Name a server that speaks OpenAI's protocol: OpenVINO Model Server, vLLM, llama.cpp, another Headstart. "
        "It is chosen with --model remote:NAME. Nothing is sent to it yet."
    )
    add = actions.add_parser("add", help="name a server, or change one", description=description)
    add.add_argument("name", metavar="NAME", help="what to call it")
    add.add_argument("url", metavar="ADDRESS", help="such as https://host:8000/v1")
    add.add_argument("--model", metavar="NAME", help="the model to use (default: the only one that it has)")
    add.add_argument(
        "--key",
        action="store_true",
        help="ask for the server's key, unseen (or read it from a pipe), and keep it in the system's keyring",
    )
    add.add_argument(
        "--certificate",
        metavar="FILE",
        type=Path,
        help="trust the authority in this PEM file too, for a server whose certificate you signed yourself",
    )
    shown = actions.add_parser("list", help="the servers known here", description="The servers known here.")
    shown.add_argument("--json", action="store_true", help="print one object instead of a table")
    for name, help_ in (
        ("remove", "forget a server and its key"),
        ("check", "ask a server for its models and for one token"),
    ):
        action = actions.add_parser(name, help=help_, description=f"{help_.capitalize()}.")
        action.add_argument("name", metavar="NAME", help="a name of `headstart remote list`")


def run(arguments: argparse.Namespace, load: Load) -> int:
    """Returns the exit code."""
    match arguments.action:
        case "add":
            _add(arguments)
        case "list":
            _list(as_json=arguments.json)
        case "remove":
            remotes.remove(arguments.name)
            keys.forget(arguments.name)
            Screen().remark(f"{arguments.name} is forgotten, with its key.")
        case _:
            _check(arguments.name, load)
    return 0


COMMAND = Command("remote", "name a server on another computer to chat with", add_arguments, run)


def load_options(arguments: argparse.Namespace) -> LoadOptions:
    """How a chat gets at a server's model. Raises ModelNotFoundError, and SettingsError for flags of models here."""
    local = argparse.ArgumentParser()
    add_engine_argument(add_model_arguments(local))
    add_trace_arguments(local)
    usual = vars(local.parse_args([]))
    given = [name for name in usual if name != "model" and getattr(arguments, name) != usual[name]]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise SettingsError(f"{flags}: for models of this computer only; leave it out, or choose one that is here.")
    return remotes.load_options(remotes.find(arguments.model))


def warnings(server: Remote) -> list[str]:
    """Where the messages go, before the first one does."""
    if remotes.is_here(server):
        return [f"Your messages go to {server.name}, another program on this computer: {server.url}"]
    leaving = f"Your messages leave this computer: they go to {server.name} at {server.url}"
    exposed = "They are not encrypted on the way (http): whoever sits between can read them, and the key."
    return [leaving, exposed] if remotes.is_exposed(server) else [leaving]


def _add(arguments: argparse.Namespace) -> None:
    certificate = arguments.certificate.expanduser().absolute() if arguments.certificate else None
    if certificate and not certificate.is_file():
        raise SettingsError(f"There is no file {certificate}; name the certificate of the authority in PEM form.")
    server = remotes.checked(Remote(arguments.name, arguments.url, arguments.model or None, certificate))
    secret = _typed_key(server) if arguments.key else None
    remotes.add(server)
    screen = Screen()
    screen.remark(f"{server.name} is {server.url}; chat with it: headstart chat --model {remotes.model_name(server)}")
    if secret:
        key = keys.keep(server.name, secret)
        screen.remark(
            f"The key is in {key.where}."
            if key.place is keys.Place.KEYRING
            else f"This system has no keyring, so the key is in {key.where}, which only you can read; "
            f"the environment variable {keys.variable(server.name)} goes before it."
        )
    screen.remark(*warnings(server))


def _typed_key(server: Remote) -> str:
    is_typed = sys.stdin.isatty()
    secret = getpass.getpass(f"Key of {server.name} (it is not shown): ") if is_typed else sys.stdin.readline()
    secret = secret.strip()
    if not keys.is_usable(secret):
        raise SettingsError("A key is one line of letters, digits and signs; nothing was kept.")
    return secret


def _list(*, as_json: bool) -> None:
    servers = [(server, keys.find(server.name)) for server in remotes.configured()]
    if as_json:
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
        print("No other computer is known; add one with `headstart remote add NAME ADDRESS`.")


def _check(name: str, load: Load) -> None:
    screen = Screen(text=False)
    server = remotes.find(f"{ELSEWHERE}{name}")
    screen.remark(*warnings(server))
    started = time.perf_counter()
    with closing(load(remotes.load_options(server))) as engine:
        given = answer(engine, Request((Message("user", "Hello"),), max_new_tokens=1), screen)
    spent = time.perf_counter() - started
    screen.remark(f"{server.name} answers: {given.stats.output_tokens} token in {spent:.1f} s, connecting included.")
