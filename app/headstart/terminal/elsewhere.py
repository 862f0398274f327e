"""What `--model remote:NAME[/MODEL]` means to a chat in a terminal. Asks no server."""

import argparse
from collections.abc import Mapping
from typing import Any

from headstart import remotes
from headstart.engine.engine import EngineKind, KvPrecision, LoadOptions, Numerics, Remote
from headstart.errors import SettingsError

# Flags that decide how a model of this computer is loaded, with what they are when nobody gives them.
_LOCAL: Mapping[str, Any] = {
    "draft": None,
    "device": "",
    "numerics": Numerics.FAST,
    "context": None,
    "draft_device": None,
    "ignore_memory": False,
    "engine": EngineKind.AUTO,
    "kv_precision": KvPrecision.AUTO,
    "trace": None,
    "trace_depth": None,
}


def load_options(arguments: argparse.Namespace) -> LoadOptions:
    """How to get at the model. Raises ModelNotFoundError, and SettingsError for what only a model here can do."""
    given = [name for name, usual in _LOCAL.items() if getattr(arguments, name) != usual]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise SettingsError(f"{flags}: for models of this computer only; leave it out, or choose one that is here.")
    return remotes.load_options(remotes.find(arguments.model))


def name(load: LoadOptions) -> str:
    """What the model is chosen by."""
    assert load.remote
    return remotes.model_name(load.remote)


def described(load: LoadOptions) -> dict[str, object]:
    """What `--json` tells of it."""
    assert load.remote
    return {"model": name(load), "url": load.remote.url}


def warnings(server: Remote) -> list[str]:
    """Where the messages go, before the first one does."""
    if remotes.is_here(server):
        return [f"Your messages go to {server.name}, another program on this computer: {server.url}"]
    leaving = f"Your messages leave this computer: they go to {server.name} at {server.url}"
    exposed = "They are not encrypted on the way (http): whoever sits between can read them, and the key."
    return [leaving, exposed] if remotes.is_exposed(server) else [leaving]
