"""The keys that programs must send. Only the hash of a key made here is stored, so that nobody can read the key."""

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from headstart import private_files
from headstart.errors import ServerError, SettingsError

_PREFIX = "hs-"
_BYTES = 32  # random enough that a fast hash is as good as a slow one
_HASH = re.compile(r"[0-9a-f]{64}")


def new() -> str:
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest(key: str) -> str:
    """Return the hash of a key, which is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def validate(key: str, place: str) -> str:
    """Return `key`, which stands in `place`. Raises SettingsError if no header can hold it."""
    if not (key.isascii() and key.isprintable()) or not key or " " in key:
        raise SettingsError("The key in {place} must be letters, digits and signs without a space.", place=place)
    return key


def read_file(file: Path) -> list[str]:
    """Return the keys in a file with one on each line; skip empty lines and comments (#). Raises SettingsError."""
    try:
        lines = [line.strip() for line in file.expanduser().read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise SettingsError("{file} cannot be read ({error}); name a file of keys.", file=file, error=error) from None
    keys = [validate(line, str(file)) for line in lines if line and not line.startswith("#")]
    if not keys:
        raise SettingsError("{file} has no key: write one on each line.", file=file)
    return keys


def matches(key: str, stored: str) -> bool:
    """Return whether `stored` is the digest of `key`. The time does not depend on the key."""
    return hmac.compare_digest(digest(key), stored)


def read(file: Path) -> str | None:
    """Return the digest in `file`; None if no key was made yet. Raises ServerError."""
    try:
        stored = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ServerError(
            "{file} cannot be read ({error}); `headstart serve --new-key` makes a new one.", file=file, error=error
        ) from None
    if not _HASH.fullmatch(stored):
        raise ServerError("{file} is damaged; `headstart serve --new-key` makes a new one.", file=file)
    return stored


def write(file: Path, stored: str) -> None:
    """Store a digest in a file that only you can read. Raises ServerError."""
    try:
        private_files.write(file, f"{stored}\n")
    except OSError as error:
        raise ServerError(
            "{file} cannot be written ({strerror}); make room or correct its permissions.",
            file=file,
            strerror=error.strerror,
        ) from None
