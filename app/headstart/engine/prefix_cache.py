"""The prefix cache: keys and values of earlier texts, in memory and on disk.

A text is cut into parts. Each follows another one, so texts that begin alike share parts, as in the radix tree of
SGLang (Zheng et al. 2024, RadixAttention).
"""

import hashlib
import logging
import os
import secrets
import struct
import threading
import time
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import psutil

from headstart import private_files
from headstart.engine.engine import Keep
from headstart.engine.runners.runner import Runner, Saved, common_prefix

PART = 256  # tokens; a multiple of every runner's block
_AHEAD = 24  # tokens read at a time; a request waits for them: 0.24 s with 1.5 billion weights on two cores
_SUFFIX, _UNFINISHED = ".part", ".new"
_MAGIC = b"headkv01"
_HEAD = struct.Struct("<8sI")  # magic, number of tokens
_ABOUT = struct.Struct("<I16s")  # checksum of keys and values, key of the part before
_MAX_TOKENS = 4096  # that a damaged file may claim for a part
_SPARE = 16  # a sixteenth of the share on disk stays free: four writers fill it before any of them looks again

Data = bytes | memoryview
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Part:
    """Some tokens that follow another part. The last part of a text may be short."""

    before: bytes  # the key of that other part
    tokens: tuple[int, ...]
    owner: str = ""  # the chat for which it was read first; empty: it stays off the disk
    saved: Saved | None = None  # None: it is only on disk
    is_stored: bool = False  # on disk
    used: int = 0  # time in ns; a later part counts as used earlier: it is useless without those before it
    is_ahead: bool = False  # read before a request needs it: it stays off the disk

    @property
    def is_for_disk(self) -> bool:
        return bool(self.owner) and not self.is_ahead

    @cached_property
    def key(self) -> bytes:
        """Hash of all tokens up to the end of this part."""
        return hashlib.blake2b(np.array(self.tokens, np.int64).tobytes(), key=self.before, digest_size=16).digest()


class Plain:
    """Stores parts on disk without encryption."""

    extra = 0  # bytes by which a box is longer than its contents

    def name(self, part: Part) -> str:
        """Return the name of a part's file, without suffix."""
        return part.key.hex()

    def encrypt(self, data: Data, _place: str) -> Data:
        """Return a box that contains `data`."""
        return data

    def decrypt(self, box: Data, _place: str) -> Data:
        """Return the contents of a box. Raises ValueError if it cannot be opened."""
        return box


class Sealed(Plain):
    """Encrypts parts, binds them to their places, and hides their names.

    A box is a random nonce, then the data encrypted by AES-GCM.
    """

    extra = 12 + 16  # nonce and tag

    def __init__(self, key: str) -> None:
        """`key`: 64 random bytes in hexadecimal digits. The first half encrypts, the second makes names."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - most users keep plain files

        raw = bytes.fromhex(key)
        assert len(raw) == 64
        self._cipher, self._of_names = AESGCM(raw[:32]), raw[32:]

    def name(self, part: Part) -> str:
        return hashlib.blake2b(part.key, key=self._of_names, digest_size=16).hexdigest()

    def encrypt(self, data: Data, place: str) -> Data:
        nonce = secrets.token_bytes(12)
        box = memoryview(bytearray(len(data) + self.extra))
        box[:12] = nonce
        self._cipher.encrypt_into(nonce, data, place.encode(), box[12:])  # half the time of a copy more
        return box

    def decrypt(self, box: Data, place: str) -> Data:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            return self._cipher.decrypt(box[:12], box[12:], place.encode())
        except InvalidTag:
            raise ValueError("it was changed, or has another key") from None


class PartFiles:
    """The parts of one model on disk: a folder for each chat, a file for each part.

    A file is _HEAD, then two boxes: _ABOUT with the tokens as 32-bit numbers, and keys and values. A file that is
    damaged or foreign counts as absent: its name follows from the first box, which has a checksum of the second.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        """`folder` is shared by all models. `identity`: a name for everything that keys and values depend on."""
        self.identity = identity
        self._root, self._folder = folder, folder / identity
        self._encryption = Plain()
        self._until_look = 0  # bytes to write before the next check of the folder's size

    def use(self, key: str) -> None:
        """Use only files that are encrypted with this key; if it is empty, only plain ones."""
        self._encryption = Sealed(key) if key else Plain()

    def read_all(self) -> Iterator[Part]:
        """Yield all parts, without keys and values. Delete the remains of interrupted writes of any model."""
        for path in _glob(self._root, f"*/*/*{_UNFINISHED}"):
            writer = path.stem.partition(".")[2]
            if not writer.isdecimal() or int(writer) == os.getpid() or not psutil.pid_exists(int(writer)):
                _unlink(path)
        for path in _glob(self._folder, f"*/*{_SUFFIX}"):
            with suppress(OSError, struct.error, ValueError), path.open("rb") as file:
                yield self._begin(file, path)[0]

    def write(self, part: Part, max_bytes: int) -> None:
        """Write a part. Delete the oldest of all models if they take more than `max_bytes`. Raises OSError.

        With many files, listing them takes long, so it is not done each time.
        """
        assert part.saved is not None
        path = self._path(part)
        private_files.make(path.parent)
        unfinished = path.with_suffix(f".{os.getpid()}{_UNFINISHED}")  # another process may write the same part
        about = _ABOUT.pack(zlib.crc32(part.saved.data), part.before) + np.array(part.tokens, np.int32).tobytes()
        try:
            unfinished.touch(0o600)
            with unfinished.open("wb") as file:
                file.write(_HEAD.pack(_MAGIC, len(part.tokens)))
                file.write(self._encryption.encrypt(about, self._place(path, "tokens")))
                file.write(self._encryption.encrypt(part.saved.data, self._place(path, "values")))
            os.utime(unfinished, ns=(part.used, part.used))
            size = unfinished.stat().st_size
            unfinished.replace(path)
        except OSError:
            _unlink(unfinished)
            raise
        step = max_bytes // _SPARE // 4
        self._until_look = min(self._until_look, step) - size
        if self._until_look < 0:
            self._make_room(max_bytes)
            self._until_look = step

    def read(self, part: Part) -> Saved | None:
        """Return keys and values; None if they are gone or damaged."""
        path = self._path(part)
        try:
            with path.open("rb") as file:
                _, checksum = self._begin(file, path)
                box = np.fromfile(file, np.uint8)
            saved = np.frombuffer(self._encryption.decrypt(box.data, self._place(path, "values")), np.uint8)
        except FileNotFoundError:  # it was deleted with its chat, or for room
            return None
        except (OSError, struct.error, ValueError) as error:
            reason = str(error)
        else:
            if zlib.crc32(saved.data) == checksum:
                return saved
            reason = "it is damaged"
        _log.warning("%s cannot be used (%s): its tokens are read again", path.name, reason)
        self.delete(part)
        return None

    def touch(self, part: Part) -> None:
        """Set the time of a file to the last use of its part."""
        with suppress(OSError):
            os.utime(self._path(part), ns=(part.used, part.used))

    def delete(self, part: Part) -> None:
        _unlink(self._path(part))

    def _path(self, part: Part) -> Path:
        return self._folder / part.owner / (self._encryption.name(part) + _SUFFIX)

    def _place(self, path: Path, what: str) -> str:
        """Return the identity that a box is encrypted for: its model, file and content."""
        return f"{self.identity}/{path.parent.name}/{path.stem}/{what}"

    def _begin(self, file: BinaryIO, path: Path) -> tuple[Part, int]:
        """Read the head of a file: its part, and the checksum of keys and values. Raises ValueError or struct.error."""
        magic, count = _HEAD.unpack(file.read(_HEAD.size))
        box = file.read(_ABOUT.size + 4 * min(count, _MAX_TOKENS) + self._encryption.extra)
        about = self._encryption.decrypt(box, self._place(path, "tokens"))
        checksum, before = _ABOUT.unpack_from(about)
        tokens = np.frombuffer(about, np.int32, offset=_ABOUT.size)
        part = Part(before, tuple(tokens.tolist()), path.parent.name, is_stored=True)
        if magic != _MAGIC or self._encryption.name(part) != path.stem:
            raise ValueError("it is damaged")
        return part, checksum

    def _make_room(self, max_bytes: int) -> None:
        """Delete the oldest files. Those from the future go first: a clock was wrong, and they would stay for years."""
        now, files = time.time_ns(), list[tuple[int, int, Path]]()
        for path in _glob(self._root, f"*/*/*{_SUFFIX}"):
            with suppress(OSError):
                about = path.stat()
                files.append((about.st_mtime_ns if about.st_mtime_ns <= now else 0, about.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= max_bytes - max_bytes // _SPARE:
                break
            _unlink(path)
            total -= size


class PrefixStore:
    """The parts of one model, which its sequences share under `lock`."""

    def __init__(self, files: PartFiles | None) -> None:
        self.lock = threading.RLock()
        self.files = files
        self.after: defaultdict[bytes, list[Part]] = defaultdict(list)  # by the key of the part before them
        self.held: OrderedDict[bytes, Part] = OrderedDict()  # parts in memory, the least recently used first
        self.bytes = 0
        self.key = ""  # the encryption key of the files
        self.max_on_disk = 0  # bytes, as the last request that is kept on disk says
        self.is_indexed = False  # whether the parts on disk are known
        self.can_write = True  # until an OSError


class PrefixCache:
    """The last texts that a runner read. The least recently used parts are dropped first."""

    def __init__(
        self,
        runner: Runner,
        max_bytes: int = 0,
        files: PartFiles | None = None,
        length: int = PART,
        store: PrefixStore | None = None,
    ) -> None:
        """`max_bytes` of memory; 0: the runner's last text alone. `length`: tokens of a part, whole blocks."""
        self._runner, self._max_bytes, self.length = runner, max_bytes, length
        # In a text that repeats itself, a part of another length would be taken for tokens at another place.
        self._root = bytes.fromhex(identity_of([files and files.identity, length]))
        self._store = store or PrefixStore(files)
        self._keep_on_disk: Keep | None = None  # for the text in the runner's cache
        self._is_copied = True  # whether all of that text is in the store
        self._is_ahead = False  # whether it was only read ahead
        self._diverged_at = 0  # the place up to which it was known when the last request came

    def beside(self, runner: Runner) -> "PrefixCache":
        """Return a cache for another sequence of the same model, with the same store."""
        return PrefixCache(runner, self._max_bytes, self._store.files, self.length, self._store)

    def known(self, prompt: Sequence[int], keep: Keep | None = None) -> int:
        """Return how many tokens of the prompt need not be read."""
        prefix = prompt[:-1]
        self._look(keep)
        return max(common_prefix(self._runner.tokens, prefix), sum(count for _, count in self._find(prefix)))

    def keep(self) -> None:
        """Copy the runner's text to the store, for other sequences. Safe in any of their threads."""
        with self._store.lock:
            self._keep()
            self._make_room()

    def reuse(self, prompt: Sequence[int], keep: Keep | None = None) -> None:
        """Bring the runner to the longest known prefix of the prompt, without the prompt's last token."""
        with self._store.lock:
            runner, prefix = self._runner, prompt[:-1]
            self._look(keep)
            shared = common_prefix(runner.tokens, prefix)
            if shared < len(runner.tokens):
                self._keep()
            matches = list(self._find(prefix))
            if sum(count for _, count in matches) > shared:
                self._restore(matches, shared)
            else:
                runner.rollback(shared)
            self._make_room()
            known = len(runner.tokens)
            self._diverged_at = min(self._diverged_at, known) if self._is_ahead else known
            runner.hold(self._diverged_at, len(prefix))
            runner.rollback(runner.known)  # the rest is read as the prompt is: shown, and in parts that can be stopped
            self._keep_on_disk, self._is_copied, self._is_ahead = keep, False, False
            if keep:
                self._store.max_on_disk = keep.most_bytes

    def read_ahead(self, prompt: Sequence[int], keep: Keep | None = None) -> Iterator[None]:
        """Read all of a prompt but its last token, a little at each step. Do nothing if the runner cannot read it."""
        runner = self._runner
        if len(prompt) > runner.context or max(prompt) >= runner.vocabulary:
            return
        self._keep()  # the text of a request, before another one replaces it
        self.reuse(prompt, keep)
        self._is_ahead = True
        while len(runner.tokens) < len(prompt) - 1:
            count = len(runner.tokens)
            runner.forward(prompt[count : min(count + _AHEAD, len(prompt) - 1)])
            yield

    def store_one(self) -> bool:
        """Write one part that belongs on disk; return whether there was one. After an OSError write no more."""
        self._keep()
        self._make_room()
        part = next(
            (part for part in reversed(self._store.held.values()) if part.is_for_disk and not part.is_stored), None
        )
        if self._store.files is None or part is None or not self._store.can_write:
            return False
        try:
            self._store.files.write(part, self._store.max_on_disk)
            part.is_stored = True
        except FileNotFoundError:  # its chat was deleted at this moment
            self._drop([part])
        except OSError as error:
            _log.warning("what was read cannot be kept on disk (%s)", error)
            self._store.can_write = False
        return True

    def forget(self, chats: Collection[str]) -> None:
        """Drop all parts of deleted chats; without chats, all parts that are kept on disk."""
        for parts in list(self._store.after.values()):
            self._drop([part for part in parts if part.owner and (not chats or part.owner in chats)])
        if self._keep_on_disk and (not chats or self._keep_on_disk.chat in chats):
            self._runner.rollback(0)
            self._keep_on_disk = None

    def clear(self) -> None:
        """Forget all that is in memory."""
        self._runner.rollback(0)
        self._store.after.clear()
        self._store.held.clear()
        self._store.bytes, self._is_copied, self._store.is_indexed = 0, True, False

    def keep_in(self, folder: Path) -> None:
        """Forget all that is in memory, and use another folder from now on."""
        self.clear()
        self._store.key = ""
        if self._store.files:
            self._store.files = PartFiles(folder, self._store.files.identity)

    def _look(self, keep: Keep | None) -> None:
        """Load the index of the files on disk at the first request that keeps something there."""
        if self._store.files is None or keep is None:
            return
        if keep.key != self._store.key:
            self.clear()  # parts in memory must not get to disk with another key, nor without one
            self._store.key = keep.key
            self._store.files.use(keep.key)
        if self._store.is_indexed:
            return
        self._store.is_indexed = True
        present = {part.key for parts in self._store.after.values() for part in parts}
        for part in self._store.files.read_all():
            if part.key not in present:
                self._store.after[part.before].append(part)

    def _keep(self) -> None:
        """Copy the missing parts of the runner's text to the store."""
        tokens, before, used = tuple(self._runner.tokens), self._root, list[Part]()
        owner = self._keep_on_disk.chat if self._keep_on_disk else ""
        if self._is_copied or not self._runner.can_save or not self._max_bytes:
            return
        for start in range(0, len(tokens), self.length):
            part = Part(before, tokens[start : start + self.length], owner, is_ahead=self._is_ahead)
            present = next((other for other in self._store.after[before] if _covers(other, part)), None)
            if present is None:
                try:
                    part.saved = self._runner.save(start, start + len(part.tokens))
                except MemoryError:
                    break  # the rest is read again
                self._add(part)
            elif present.tokens == part.tokens and not self._is_ahead:
                present.owner, present.is_ahead = present.owner or owner, False
                self._drop_beginnings(present)
            used.append(present or part)
            before = part.key
        self._is_copied = True
        self._touch(used)

    def _find(self, prefix: Sequence[int]) -> Iterator[tuple[Part, int]]:
        """Yield the parts that a text begins with, each with its number of equal tokens: all, except in the last."""
        before, place = self._root, 0
        while parts := self._store.after.get(before):
            ahead = prefix[place : place + self.length]
            count, part = max(((common_prefix(part.tokens, ahead), part) for part in parts), key=lambda match: match[0])
            if not count:
                return
            yield part, count
            if count < self.length:
                return
            before, place = part.key, place + self.length

    def _restore(self, parts: Sequence[tuple[Part, int]], shared: int) -> None:
        """Bring the runner to these parts, of which it has `shared` tokens. Stop at a part that cannot be read."""
        first = shared // self.length
        self._runner.rollback(first * self.length)
        for part, count in parts[first:]:
            saved = part.saved
            if saved is None and self._store.files:
                saved = self._store.files.read(part)
            if saved is None or not self._runner.restore(part.tokens[:count], saved):
                self._drop([part])
                break
        self._touch([part for part, _ in parts])

    def _touch(self, used: Sequence[Part]) -> None:
        """Mark these parts as just used. Later parts count as older: they are useless without earlier ones."""
        now = time.time_ns()
        for place, part in reversed(list(enumerate(used))):
            part.used = now - 1000 * place  # the finest step of all file systems but FAT
            if part.is_stored and self._store.files:
                self._store.files.touch(part)
            if part.key in self._store.held:
                self._store.held.move_to_end(part.key)

    def _drop_beginnings(self, part: Part) -> None:
        """Drop parts that a longer part covers, unless they belong to another chat, or on disk where it does not."""
        shorter = [other for other in self._store.after[part.before] if other is not part and _begins(other, part)]
        chat = part.owner if part.is_for_disk else None
        self._drop([each for each in shorter if not each.is_for_disk or each.owner == chat])

    def _add(self, part: Part) -> None:
        """Add a part and drop the shorter ones that it covers."""
        assert part.saved is not None
        self._drop_beginnings(part)
        self._store.after[part.before].append(part)
        self._store.held[part.key] = part
        self._store.bytes += part.saved.nbytes

    def _drop(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self._store.after[part.before].remove(part)
            self._release(part)
            if self._store.files and part.is_stored:
                self._store.files.delete(part)

    def _release(self, part: Part) -> None:
        if self._store.held.pop(part.key, None) is not None and part.saved is not None:
            self._store.bytes -= part.saved.nbytes
        part.saved = None

    def _make_room(self) -> None:
        while self._store.bytes > self._max_bytes:
            part = next(iter(self._store.held.values()))
            self._release(part)
            if not part.is_stored:
                self._store.after[part.before].remove(part)


def _glob(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield files until an OSError: another process may delete the folder."""
    with suppress(OSError):
        yield from folder.glob(pattern)


def _unlink(path: Path) -> None:
    """Delete a file if possible."""
    with suppress(OSError):
        path.unlink()


def _covers(other: Part, part: Part) -> bool:
    """Return whether `other` makes `part` unnecessary. Of equal parts one stays, on disk if either belongs there."""
    return other.tokens == part.tokens or (_begins(part, other) and other.is_for_disk >= part.is_for_disk)


def _begins(part: Part, other: Part) -> bool:
    return other.tokens[: len(part.tokens)] == part.tokens


def identity_of(subject: Any) -> str:
    """Return a name for everything that keys and values depend on. `subject` is plain data."""
    return hashlib.blake2b(repr(subject).encode(), digest_size=16).hexdigest()
