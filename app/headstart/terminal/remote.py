"""`headstart remote`: names servers on other computers, lists, removes and tries them."""

import argparse
import getpass
import json
import sys
import time
from contextlib import closing
from pathlib import Path

from headstart import keys, remotes
from headstart.engine.engine import Message, Remote, Request
from headstart.errors import SettingsError
from headstart.library import ELSEWHERE
from headstart.terminal import elsewhere
from headstart.terminal.answer import answer
from headstart.terminal.columns import print_rows
from headstart.terminal.command import Command, Load
from headstart.terminal.screen import Screen

_COLUMNS = ("name", "address", "model", "key")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Each action has its own."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", required=True)
    _add_add(actions)
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
            _remove(arguments.name)
        case _:
            _check(arguments.name, load)
    return 0


COMMAND = Command("remote", "name a server on another computer to chat with", add_arguments, run)


def _add_add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
        screen.remark(_kept(keys.keep(server.name, secret), server))
    screen.remark(*elsewhere.warnings(server))


def _typed_key(server: Remote) -> str:
    if sys.stdin.isatty():
        secret = getpass.getpass(f"Key of {server.name} (it is not shown): ").strip()
    else:
        secret = sys.stdin.readline().strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise SettingsError("A key is one line of letters, digits and signs; nothing was kept.")
    return secret


def _kept(key: keys.Key, server: Remote) -> str:
    if key.place is keys.Place.KEYRING:
        return f"The key is in {key.where}."
    return (
        f"This system has no keyring, so the key is in {key.where}, which only you can read; "
        f"the environment variable {keys.variable(server.name)} goes before it."
    )


def _list(*, as_json: bool) -> None:
    servers = remotes.configured()
    if as_json:
        print(
            json.dumps({"file": str(remotes.default_path()), "servers": [_object(each) for each in servers]}, indent=2)
        )
        return
    if not servers:
        print("No other computer is known; add one with `headstart remote add NAME ADDRESS`.")
        return
    print_rows([_COLUMNS, *map(_row, servers)])


def _row(server: Remote) -> tuple[str, ...]:
    key = keys.find(server.name)
    return server.name, server.url, server.model or "the only one", key.place.value if key else "none"


def _object(server: Remote) -> dict[str, object]:
    key = keys.find(server.name)
    return {
        "name": server.name,
        "url": server.url,
        "model": server.model,
        "certificate": str(server.certificate) if server.certificate else None,
        "key": key.place.value if key else None,
    }


def _remove(name: str) -> None:
    remotes.remove(name)
    keys.forget(name)
    Screen().remark(f"{name} is forgotten, with its key.")


def _check(name: str, load: Load) -> None:
    screen = Screen(text=False)
    server = remotes.find(f"{ELSEWHERE}{name}")
    screen.remark(*elsewhere.warnings(server))
    started = time.perf_counter()
    with closing(load(remotes.load_options(server))) as engine:
        given = answer(engine, Request((Message("user", "Hello"),), max_new_tokens=1), screen)
    spent = time.perf_counter() - started
    screen.remark(f"{server.name} answers: {given.stats.output_tokens} token in {spent:.1f} s, connecting included.")
