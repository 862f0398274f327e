"""Which models a server has, as its /models tells. Knows no answer."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from headstart.engine.remote import faults
from headstart.engine.remote.connection import Connection

_CONTEXT_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length")


@dataclass(frozen=True)
class RemoteModel:
    """A model by the server's name for it; `context` is in tokens, 0 where the server does not tell."""

    name: str
    context: int = 0


def listed(connection: Connection) -> tuple[RemoteModel, ...]:
    """Every model of the server. Raises RemoteError for one that is unreachable, refuses, or has no such list."""
    known = _asked(connection)
    if known is None:
        raise faults.of_no_list(connection.remote)
    return known


def chosen(connection: Connection) -> RemoteModel:
    """The model that is meant. Raises RemoteError, or ModelNotFoundError with the names that there are."""
    remote = connection.remote
    known = listed(connection) if remote.model is None else _asked(connection)
    if known is None:  # a server without a list may have the model all the same
        return RemoteModel(remote.model or "")
    fitting = [model for model in known if remote.model in (None, model.name)]
    if len(fitting) != 1:
        raise faults.of_model(remote, (model.name for model in known))
    return fitting[0]


def _asked(connection: Connection) -> tuple[RemoteModel, ...] | None:
    """None where the server has no such list."""
    response = connection.get("/models")
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    if response.status_code != httpx.codes.OK:
        raise faults.of_status(connection.remote, response, has_key=connection.has_key)
    try:
        data = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    entries = data.get("data") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return None
    return tuple(_read(entry) for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str))


def _read(entry: dict[str, Any]) -> RemoteModel:
    sizes = [entry.get(name) for name in _CONTEXT_NAMES]
    return RemoteModel(entry["id"], next((size for size in sizes if isinstance(size, int) and size > 0), 0))
