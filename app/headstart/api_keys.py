"""API keys of servers on other computers: storage and lookup."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from headstart import paths, private_files
from headstart.errors import SettingsError, UnwritablePlaceError

_SERVICE = "headstart"
_log = logging.getLogger(__name__)


class KeyPlace(StrEnum):
    ENVIRONMENT = "environment"
    KEYRING = "keyring"  # of the operating system
    FILE = "file"


@dataclass(frozen=True)
class ApiKey:
    """A key and the place it was found in."""

    secret: str = field(repr=False)
    place: KeyPlace
    where: str  # the place in words


def variable(server: str) -> str:
    """Return the environment variable that may hold a server's key; it comes before all other places."""
    return f"HEADSTART_KEY_{re.sub('[^A-Z0-9]', '_', server.upper())}"


def file_of(server: str) -> Path:
    """Return the file that holds a server's key if there is no keyring."""
    return paths.config_folder() / "keys" / server


def is_usable(secret: str) -> bool:
    """Return whether this can be a key: one line of letters, digits and signs."""
    return bool(secret) and secret.isascii() and secret.isprintable()


def find(server: str) -> ApiKey | None:
    """Return the key of a server. Raises SettingsError for a malformed key and for a file that others may read."""
    key = _from_environment(variable(server)) or _from_keyring(server) or _from_file(file_of(server))
    if key and not is_usable(key.secret):  # a fault of the connection would quote it
        raise _unreadable(key.where, "it is not one line of letters, digits and signs")
    return key


def keep(server: str, secret: str) -> ApiKey:
    """Store a key in the system's keyring, or in a private file if there is none. Raises SettingsError."""
    path = file_of(server)
    with _keyring(server) as ring:
        ring.set_password(_SERVICE, server, secret)
        with suppress(OSError):  # the keyring comes before the file
            path.unlink(missing_ok=True)
        return ApiKey(secret, KeyPlace.KEYRING, "the system's keyring")
    try:
        private_files.write(path, secret + "\n")
    except OSError as error:
        raise SettingsError(
            "The key cannot be kept: there is no keyring, and {path} cannot be written ({strerror}). "
            "Set it in the environment variable {variable} instead.",
            path=path,
            strerror=error.strerror,
            variable=variable(server),
        ) from None
    return ApiKey(secret, KeyPlace.FILE, str(path))


def forget(server: str) -> None:
    """Delete a stored key; an environment variable stays. Raises SettingsError."""
    with _keyring(server) as ring:
        ring.delete_password(_SERVICE, server)
    try:
        file_of(server).unlink(missing_ok=True)
    except OSError as error:
        raise UnwritablePlaceError(file_of(server), error) from error


@contextmanager
def _keyring(server: str) -> Iterator[Any]:
    """Context with the system's keyring. If there is none, or it is locked, the block has no effect."""
    import keyring  # noqa: PLC0415 - looks for the system's services
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        yield keyring
    except KeyringError as error:
        _log.info("the keyring does nothing for the key of %s: %s", server, error)


def _from_environment(name: str) -> ApiKey | None:
    secret = os.environ.get(name, "").strip()
    return ApiKey(secret, KeyPlace.ENVIRONMENT, f"the environment variable {name}") if secret else None


def _from_keyring(server: str) -> ApiKey | None:
    with _keyring(server) as ring:
        secret = ring.get_password(_SERVICE, server)
        return ApiKey(secret, KeyPlace.KEYRING, "the system's keyring") if secret else None
    return None


def _from_file(path: Path) -> ApiKey | None:
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            command = f"`chmod 600 {path}`"
            raise SettingsError(
                "Others may read the key in {path}: run {command}, and change the key.", path=path, command=command
            )
        secret = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(str(path), str(error)) from None
    return ApiKey(secret, KeyPlace.FILE, str(path)) if secret else None


def _unreadable(where: str, reason: str) -> SettingsError:
    return SettingsError(
        "The key in {where} cannot be read ({reason}); make it readable for you.", where=where, reason=reason
    )
