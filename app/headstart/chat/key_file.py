"""The key of an encrypted history, locked with a passphrase in a file beside it."""

# The key is random; what Argon2id makes of the passphrase only locks it, as with LUKS. So a new passphrase is one small
# file written at once, and backups stay readable by it. Argon2id rather than the PBKDF2 that SQLCipher has itself: a
# graphics card makes thousands of the latter's guesses side by side, of these one for each 256 MiB that it has.

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

from headstart import own_folder
from headstart.chat.database import KEY_BYTES, Key
from headstart.errors import HistoryError, WrongPassphraseError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FILE_NAME = "history.key"
SHORTEST = 8  # signs of a passphrase
_VERSION = 1
_ABOUT = b"headstart history key"


@dataclass(frozen=True)
class Cost:
    """What one guess of a passphrase takes."""

    memory: int  # KiB
    passes: int
    lanes: int


COST = Cost(262_144, 3, 4)  # between the two that RFC 9106 recommends in section 4: the larger takes 2 GiB
_MOST = Cost(4_194_304, 64, 64)  # a file of nonsense shall not stop the computer


@dataclass(frozen=True)
class Locked:
    """What the file says; all in hexadecimal digits."""

    cost: Cost
    salt: str
    nonce: str
    key: str


def new_key() -> Key:
    """A random one."""
    return Key(secrets.token_bytes(KEY_BYTES))


def lock(path: Path, key: Key, passphrase: str) -> None:
    """Write the file, in the place of an older one. Raises HistoryError for a short passphrase, and OSError."""
    require_long(passphrase)
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    locked = _aes(_stretched(passphrase, salt, COST)).encrypt(nonce, key.raw, _ABOUT)
    said = {"version": _VERSION, **asdict(Locked(COST, salt.hex(), nonce.hex(), locked.hex()))}
    write_durably(path, json.dumps({**said, "check": _check(said)}, indent=1) + "\n")


def require_long(passphrase: str) -> None:
    """Raises HistoryError for a passphrase that is soon guessed, whatever a guess takes."""
    if len(passphrase) < SHORTEST:
        raise HistoryError("A passphrase needs at least {shortest} characters; take several words.", shortest=SHORTEST)


def unlock(path: Path, passphrase: str) -> Key:
    """The key. Raises WrongPassphraseError, HistoryError for a file that is damaged, and OSError."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    locked = _read(path)
    key = _stretched(passphrase, bytes.fromhex(locked.salt), locked.cost)
    try:
        return Key(_aes(key).decrypt(bytes.fromhex(locked.nonce), bytes.fromhex(locked.key), _ABOUT))
    except InvalidTag:
        raise WrongPassphraseError(
            "This is not the passphrase of the chat history; try again, and mind capitals and the keyboard's language."
        ) from None


def is_sound(path: Path) -> bool:
    """Whether the file is there and as it was written."""
    try:
        _read(path)
    except (HistoryError, OSError):
        return False
    return True


def copy(source: Path, path: Path) -> None:
    """Have another file say the same. Raises OSError."""
    content = source.read_bytes()
    if not path.exists() or path.read_bytes() != content:
        write_durably(path, content.decode("ascii"))


def write_durably(path: Path, text: str) -> None:
    """Write a small file; when this returns, neither a crash nor a power cut takes it back. Raises OSError."""
    own_folder.write(path, text)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk keep what was renamed or removed in it."""
    if sys.platform == "win32":
        return  # Windows opens no folders; its file system keeps the order
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> Locked:
    try:
        said = json.loads(path.read_text(encoding="ascii"))
        check = said.pop("check")
        if check != _check(said):
            raise ValueError(check)
        cost = Cost(**said["cost"])
        locked = Locked(cost, *(said[name] for name in ("salt", "nonce", "key")))
        sizes = [len(bytes.fromhex(part)) for part in (locked.salt, locked.nonce, locked.key)]
        if said["version"] != _VERSION or sizes != [16, 12, KEY_BYTES + 16] or not _is_bearable(cost):
            raise ValueError(said["version"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise HistoryError(
            "The key of the chat history is damaged: put a copy of it in the place of {path}; without it the chats "
            "cannot be read.",
            path=path,
        ) from error
    return locked


def _is_bearable(cost: Cost) -> bool:
    pairs = zip(asdict(cost).values(), asdict(_MOST).values(), strict=True)
    return all(isinstance(value, int) and 0 < value <= most for value, most in pairs)


def _check(said: Mapping[str, object]) -> str:
    """A checksum, which tells a damaged file from a wrong passphrase."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _stretched(passphrase: str, salt: bytes, cost: Cost) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415

    # An é is one sign from one keyboard and two from another.
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
