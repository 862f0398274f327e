"""The key of an encrypted history, locked with a passphrase in a file beside it."""

# The key is random. What Argon2id derives from the passphrase only locks it, as with LUKS. So a new passphrase is one
# small file written at once, and the key still opens old backups. Argon2id replaces SQLCipher's own PBKDF2, because a
# graphics card makes thousands of guesses of PBKDF2 side by side, and one guess of Argon2id for each 256 MiB of its
# memory.

import hashlib
import json
import os
import secrets
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headstart import private_files
from headstart.chat.history.database import KEY_BYTES, Key
from headstart.errors import HistoryError, WrongPassphraseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FILE_NAME = "history.key"
SHORTEST = 8  # characters of a passphrase
_VERSION = 1
_ASSOCIATED_DATA = b"headstart history key"


@dataclass(frozen=True)
class Cost:
    """The cost of one guess of a passphrase."""

    memory: int  # KiB
    passes: int
    lanes: int


COST = Cost(262_144, 3, 4)  # between the two that RFC 9106 recommends in section 4; the larger takes 2 GiB
_MAX_COST = Cost(4_194_304, 64, 64)  # a damaged file must not block the computer


@dataclass(frozen=True)
class LockedKey:
    """The content of the file; the texts are hexadecimal digits."""

    cost: Cost
    salt: str
    nonce: str
    key: str


def new_key() -> Key:
    return Key(secrets.token_bytes(KEY_BYTES))


def lock(path: Path, key: Key, passphrase: str) -> None:
    """Write the file, in place of an older one. Raises HistoryError for a short passphrase, and OSError."""
    require_long(passphrase)
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    locked = _aes(_stretch(passphrase, salt, COST)).encrypt(nonce, key.raw, _ASSOCIATED_DATA)
    fields = {"version": _VERSION, **asdict(LockedKey(COST, salt.hex(), nonce.hex(), locked.hex()))}
    write_durably(path, json.dumps({**fields, "check": _checksum(fields)}, indent=1) + "\n")


def require_long(passphrase: str) -> None:
    """Raise HistoryError for a passphrase that is guessed soon even if each guess is slow."""
    if len(passphrase) < SHORTEST:
        raise HistoryError("A passphrase needs at least {shortest} characters; take several words.", shortest=SHORTEST)


def unlock(path: Path, passphrase: str) -> Key:
    """Return the key. Raises WrongPassphraseError, HistoryError for a damaged file, and OSError."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    locked = _read(path)
    key = _stretch(passphrase, bytes.fromhex(locked.salt), locked.cost)
    try:
        return Key(_aes(key).decrypt(bytes.fromhex(locked.nonce), bytes.fromhex(locked.key), _ASSOCIATED_DATA))
    except InvalidTag:
        raise WrongPassphraseError(
            "This is not the passphrase of the chat history; try again, and mind capitals and the keyboard's language."
        ) from None


def is_sound(path: Path) -> bool:
    """Return whether the file exists and is undamaged."""
    try:
        _read(path)
    except (HistoryError, OSError):
        return False
    return True


def copy(source: Path, path: Path) -> None:
    """Copy the content of a key file, unless it is equal. Raises OSError."""
    content = source.read_bytes()
    if not path.exists() or path.read_bytes() != content:
        write_durably(path, content.decode("ascii"))


def write_durably(path: Path, text: str) -> None:
    """Write a small file durably: after the return, no crash or power cut can undo it. Raises OSError."""
    private_files.write(path, text)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync renames and removals in a folder to the disk."""
    if sys.platform == "win32":
        return  # Windows cannot open folders; its file system keeps the order
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> LockedKey:
    try:
        fields = json.loads(path.read_text(encoding="ascii"))
        checksum = fields.pop("check")
        if checksum != _checksum(fields):
            raise ValueError(checksum)
        cost = Cost(**fields["cost"])
        locked = LockedKey(cost, *(fields[name] for name in ("salt", "nonce", "key")))
        sizes = [len(bytes.fromhex(part)) for part in (locked.salt, locked.nonce, locked.key)]
        if fields["version"] != _VERSION or sizes != [16, 12, KEY_BYTES + 16] or not _is_within_limits(cost):
            raise ValueError(fields["version"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise HistoryError(
            "The key of the chat history is damaged: put a copy of it at {path}; without it the chats cannot be read.",
            path=path,
        ) from error
    return locked


def _is_within_limits(cost: Cost) -> bool:
    pairs = zip(asdict(cost).values(), asdict(_MAX_COST).values(), strict=True)
    return all(isinstance(value, int) and 0 < value <= maximum for value, maximum in pairs)


def _checksum(fields: Mapping[str, object]) -> str:
    """Return a checksum, which tells a damaged file from a wrong passphrase."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def _stretch(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415

    # An é is one character from one keyboard and two from another.
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    stretching = Argon2id(
        salt=salt, length=KEY_BYTES, iterations=cost.passes, lanes=cost.lanes, memory_cost=cost.memory
    )
    try:
        return stretching.derive(typed)
    except MemoryError:
        raise HistoryError(
            "To check a passphrase takes {memory} MiB of memory; close other programs and try again.",
            memory=cost.memory // 1024,
        ) from None


def _aes(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(key)
