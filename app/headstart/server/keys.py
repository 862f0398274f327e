"""The keys that programs must send. Of the one made here only the hash is stored, so that nobody can read it."""

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from headstart import own_folder
from headstart.errors import ServerError, SettingsError

_PREFIX = "hs-"
_BYTES = 32  # random enough that a fast hash is as good as a slow one
_HASH = re.compile(r"[0-9a-f]{64}")


def new() -> str:
    """A new random key."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest(key: str) -> str:
    """The part of a key that is stored."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def checked(key: str, place: str) -> str:
    """`key`, which stands in `place`. Raises SettingsError for what no header can hold."""
    if not (key.isascii() and key.isprintable()) or not key or " " in key:
        raise SettingsError("The key in {place} must be letters, digits and signs without a space.", place=place)
    return key


def read_file(file: Path) -> list[str]:
    """The keys in a file, one on each line; lines that are empty or begin with # do not count. Raises SettingsError."""
    try:
        lines = [line.strip() for line in file.expanduser().read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise SettingsError("{file} cannot be read ({error}); name a file of keys.", file=file, error=error) from None
    found = [checked(line, str(file)) for line in lines if line and not line.startswith("#")]
    if not found:
        raise SettingsError("{file} has no key: write one on each line.", file=file)
    return found


def fits(key: str, kept: str) -> bool:
    """Whether `kept` is the digest of `key`; takes the same time whatever the key."""
    return hmac.compare_digest(digest(key), kept)


def read(file: Path) -> str | None:
    """The digest in `file`; None if no key was made yet. Raises ServerError."""
    try:
        kept = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ServerError(
            "{file} cannot be read ({error}); `headstart serve --new-key` writes it anew.", file=file, error=error
        ) from None
    if not _HASH.fullmatch(kept):
        raise ServerError("{file} is damaged; `headstart serve --new-key` writes it anew.", file=file)
    return kept


def write(file: Path, kept: str) -> None:
    """Store a digest that only this user can read. Raises ServerError."""
    try:
        own_folder.write(file, f"{kept}\n")
    except OSError as error:
        raise ServerError(
            "{file} cannot be written ({strerror}); make room or correct its rights.",
            file=file,
            strerror=error.strerror,
        ) from None
