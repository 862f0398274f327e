"""Servers on other computers, as remotes.toml names them."""

import dataclasses
import ipaddress
import logging
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from headstart import paths, private_files
from headstart.engine.engine import LoadOptions, Remote
from headstart.errors import ModelNotFoundError, SettingsError, Translatable
from headstart.library.library import ELSEWHERE

FILE_NAME = "remotes.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_API = "/v1"  # where most servers have it
_log = logging.getLogger(__name__)


def default_path() -> Path:
    """The default file of the servers."""
    return paths.config_folder() / FILE_NAME


def configured(path: Path | None = None) -> tuple[Remote, ...]:
    """Return every server of the file by name. Faulty entries are logged and skipped."""
    path = path or default_path()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read, so no other computer is known: %s", path, error)
        return ()
    tables = content.get("servers", {})
    servers = [_read(name, table) for name, table in sorted(tables.items())] if isinstance(tables, dict) else []
    return tuple(server for server in servers if server)


def find(model: str) -> Remote:
    """Return the server and model that `remote:NAME` or `remote:NAME/MODEL` means. Raises ModelNotFoundError."""
    assert is_remote(model), "the caller knows what is remote"
    name, _, chosen = model.removeprefix(ELSEWHERE).partition("/")
    servers = configured()
    server = next((server for server in servers if server.name == name), None)
    if server is None:
        names = ", ".join(server.name for server in servers)
        choices = Translatable("known are {names}", names=names) if names else Translatable("none is known yet")
        command = f"`headstart remote add {name or 'NAME'} ADDRESS`"
        raise ModelNotFoundError(
            "There is no server {name!r}; {there}. Add it with {command}.", name=name, there=choices, command=command
        )
    return dataclasses.replace(server, model=chosen) if chosen else server


def is_remote(model: str | None) -> bool:
    """Return whether this names a model of another computer."""
    return model is not None and model.startswith(ELSEWHERE)


def model_name(server: Remote) -> str:
    """Return the name by which `find` finds a server."""
    return f"{ELSEWHERE}{server.label}"


def load_options(server: Remote) -> LoadOptions:
    return LoadOptions(Path(server.label), remote=server)


def add(server: Remote, path: Path | None = None) -> None:
    """Store a server; one with the same name is replaced. Raises SettingsError."""
    others = [other for other in configured(path) if other.name != server.name]
    _save([*others, server], path or default_path())


def remove(name: str) -> Remote:
    """Delete a server. Raises ModelNotFoundError or SettingsError."""
    server = find(f"{ELSEWHERE}{name}")
    _save([known for known in configured() if known.name != name], default_path())
    return server


def checked(server: Remote) -> Remote:
    """Return the server with a normalised address. Raises SettingsError."""
    if not _NAME.fullmatch(server.name):
        raise SettingsError(
            "A server's name has up to 40 letters, digits, dots, dashes and underscores, unlike {name!r}.",
            name=server.name,
        )
    return dataclasses.replace(server, url=_address(server.url))


def is_exposed(server: Remote) -> bool:
    """Return whether someone between the two computers can read the messages."""
    parts = urlsplit(server.url)
    return parts.scheme == "http" and not is_here(server)


def is_here(server: Remote) -> bool:
    """Return whether the server runs on this computer, so that nothing leaves it."""
    host = urlsplit(server.url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole or parts.query or parts.fragment:
        raise SettingsError("{url!r} is not the address of a server; write it like https://host:8000/v1.", url=url)
    if parts.username is not None or parts.password is not None:
        raise SettingsError("An address must not hold a password; give the key with --key instead.")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") or _API, "", ""))


def _read(name: str, table: Any) -> Remote | None:
    try:
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise SettingsError("servers.{name} must be a table of texts.", name=name)
        certificate = table.get("certificate")
        url, model = table.get("url", ""), table.get("model") or None
        return checked(Remote(name, url, model, Path(certificate) if certificate else None))
    except SettingsError as error:
        _log.warning("%s", error)
        return None


def _save(servers: Iterable[Remote], path: Path) -> None:
    import tomlkit  # noqa: PLC0415 - only needed to write

    tables = {}
    for server in servers:
        table = {"url": server.url, "model": server.model, "certificate": server.certificate}
        tables[server.name] = {name: str(value) for name, value in table.items() if value}
    try:
        private_files.write(path, tomlkit.dumps({"version": 1, "servers": tables}))
    except OSError as error:
        raise SettingsError(
            "The servers cannot be saved in {path} ({strerror}); make the folder writable and try again.",
            path=path,
            strerror=error.strerror,
        ) from None
