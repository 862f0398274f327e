"""The keys of servers on other computers: where they are kept and found. Asks no server and writes no key to a log."""

import logging
import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from headstart import paths
from headstart.errors import SettingsError
from headstart.settings_file import replace_file

_SERVICE = "headstart"
_log = logging.getLogger(__name__)


class Place(StrEnum):
    """Where a key is."""

    ENVIRONMENT = "environment"
    KEYRING = "keyring"  # of the operating system
    FILE = "file"


@dataclass(frozen=True)
class Key:
    """A key with the place it was found in; `where` names that for a person."""

    secret: str = field(repr=False)
    place: Place
    where: str


def variable(server: str) -> str:
    """The environment variable that may hold a server's key, before any other place."""
    return f"HEADSTART_KEY_{re.sub('[^A-Z0-9]', '_', server.upper())}"


def file_of(server: str) -> Path:
    """The file that holds a server's key where there is no keyring."""
    return paths.config_folder() / "keys" / server


def find(server: str) -> Key | None:
    """The key of a server. Raises SettingsError for a file that others may read, or that cannot be read."""
    given = os.environ.get(variable(server), "").strip()
    if given:
        return Key(given, Place.ENVIRONMENT, f"the environment variable {variable(server)}")
    kept = _from_keyring(server)
    if kept:
        return Key(kept, Place.KEYRING, "the system's keyring")
    return _from_file(file_of(server))


def keep(server: str, secret: str) -> Key:
    """Put a key into the system's keyring, or else into a file of its owner alone. Raises SettingsError."""
    import keyring  # noqa: PLC0415 - looks for the system's services
    from keyring.errors import KeyringError  # noqa: PLC0415

    path = file_of(server)
    try:
        keyring.set_password(_SERVICE, server, secret)
    except KeyringError as error:
        _log.info("no keyring takes the key of %s: %s", server, error)
    else:
        path.unlink(missing_ok=True)
        return Key(secret, Place.KEYRING, "the system's keyring")
    try:
        replace_file(path, secret + "\n")
    except OSError as error:
        raise SettingsError(
            f"The key cannot be kept: there is no keyring, and {path} cannot be written ({error.strerror}). "
            f"Set it in the environment variable {variable(server)} instead."
        ) from None
    return Key(secret, Place.FILE, str(path))


def forget(server: str) -> None:
    """Remove what `keep` kept; an environment variable stays."""
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.delete_password(_SERVICE, server)
    except KeyringError as error:  # nothing there, or no keyring
        _log.info("no keyring gives up a key of %s: %s", server, error)
    file_of(server).unlink(missing_ok=True)


def _from_keyring(server: str) -> str | None:
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        return keyring.get_password(_SERVICE, server)
    except KeyringError as error:  # none, or its owner keeps it locked
        _log.info("no keyring gives the key of %s: %s", server, error)
        return None


def _from_file(path: Path) -> Key | None:
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise SettingsError(f"Others may read the key in {path}: run `chmod 600 {path}`, and change the key.")
        secret = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The key in {path} cannot be read ({error}); make it readable for you.") from None
    return Key(secret, Place.FILE, str(path)) if secret else None
