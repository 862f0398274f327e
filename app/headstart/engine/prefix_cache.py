"""Keys and values of earlier texts, in memory and on disk, so that of a prompt only what is new is read.

A text is cut into parts. Each hangs on the one before it, so texts that begin alike share parts, as in the radix tree
of SGLang (Zheng et al. 2024, RadixAttention).
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

from headstart import own_folder
from headstart.engine.engine import Keep
from headstart.engine.runners.runner import Runner, Saved, common_prefix

PART = 256  # tokens; whole blocks of every runner
_AHEAD = 24  # tokens of a step, which a request has to wait for: 0.24 s with 1.5 billion weights on two cores
_SUFFIX, _UNFINISHED = ".part", ".new"
_MAGIC = b"headkv01"
_HEAD = struct.Struct("<8sI")  # magic, number of tokens
_ABOUT = struct.Struct("<I16s")  # checksum of keys and values, key of the part before
_LONGEST = 4096  # tokens of a part that a damaged file may claim
_SPARE = 16  # this part of the share on disk is left free: four writers fill it before any of them looks again

Data = bytes | memoryview
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Part:
    """Some tokens behind those of another part. The last part of a text may be short.

    `owner`: the chat for which it was read first; empty: it stays off the disk. `used`: when, in nanoseconds; what
    comes later in a text counts as used earlier, as it is of no use without what comes before.
    """

    before: bytes  # the key of that other part
    tokens: tuple[int, ...]
    owner: str = ""
    saved: Saved | None = None  # None: it is on disk alone
    is_stored: bool = False
    used: int = 0
    is_ahead: bool = False  # nobody has asked for it yet: it stays off the disk, too

    @property
    def is_for_disk(self) -> bool:
        """Whether it belongs there."""
        return bool(self.owner) and not self.is_ahead

    @cached_property
    def key(self) -> bytes:
        """Of the whole text up to its end."""
        return hashlib.blake2b(np.array(self.tokens, np.int64).tobytes(), key=self.before, digest_size=16).digest()


class Plain:
    """How parts lie on disk: as they are."""

    extra = 0  # bytes by which a box is longer than what is in it

    def name(self, part: Part) -> str:
        """That of its file."""
        return part.key.hex()

    def close(self, data: Data, _place: str) -> Data:
        """A box of `data`."""
        return data

    def open(self, box: Data, _place: str) -> Data:
        """What is in the box. Raises ValueError where that cannot be told."""
        return box


class Sealed(Plain):
    """With a secret key and bound to their places; names, too, say nothing to those who have not the key.

    A box: a random nonce, then what AES-GCM makes of the data.
    """

    extra = 12 + 16  # nonce and tag

    def __init__(self, key: str) -> None:
        """`key`: 64 random bytes in hexadecimal digits. Half of them encrypt, half make names."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - most keep plain files

        raw = bytes.fromhex(key)
        assert len(raw) == 64
        self._cipher, self._of_names = AESGCM(raw[:32]), raw[32:]

    def name(self, part: Part) -> str:
        """See Plain."""
        return hashlib.blake2b(part.key, key=self._of_names, digest_size=16).hexdigest()

    def close(self, data: Data, place: str) -> Data:
        """See Plain."""
        nonce = secrets.token_bytes(12)
        box = memoryview(bytearray(len(data) + self.extra))
        box[:12] = nonce
        self._cipher.encrypt_into(nonce, data, place.encode(), box[12:])  # a copy less takes half the time
        return box

    def open(self, box: Data, place: str) -> Data:
        """See Plain."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            return self._cipher.decrypt(box[:12], box[12:], place.encode())
        except InvalidTag:
            raise ValueError("it was changed, or has another key") from None


class PartFiles:
    """The parts of one model on disk: a folder for each chat, a file for each part.

    A file: _HEAD, then two boxes, one of _ABOUT and the tokens as 32-bit numbers, one of keys and values. A file that
    is damaged or foreign counts as absent: its name follows from the first box, which has a checksum of the second.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        """`folder` is shared by all models. `identity`: what keys and values depend on."""
        self.identity = identity
        self._root, self._folder = folder, folder / identity
        self._seal = Plain()
        self._until_look = 0  # bytes to write before the next look at what all take

    def use(self, key: str) -> None:
        """See only what is sealed with this key; if it is empty, only what is plain."""
        self._seal = Sealed(key) if key else Plain()

    def read_all(self) -> Iterator[Part]:
        """What is there, without keys and values. What an interrupted write left of any model is deleted."""
        for path in _found(self._root, f"*/*/*{_UNFINISHED}"):
            writer = path.stem.partition(".")[2]
            if not writer.isdecimal() or int(writer) == os.getpid() or not psutil.pid_exists(int(writer)):
                _unlink(path)
        for path in _found(self._folder, f"*/*{_SUFFIX}"):
            with suppress(OSError, struct.error, ValueError), path.open("rb") as file:
                yield self._begin(file, path)[0]

    def write(self, part: Part, most_bytes: int) -> None:
        """Keep it, and delete the oldest of all models where they take more than `most_bytes`. Raises OSError.

        To look at every file takes long where there are many, so it is not done each time.
        """
        assert part.saved is not None
        path = self._path(part)
        own_folder.make(path.parent)
        unfinished = path.with_suffix(f".{os.getpid()}{_UNFINISHED}")  # another process may write the same part
        about = _ABOUT.pack(zlib.crc32(part.saved.data), part.before) + np.array(part.tokens, np.int32).tobytes()
        try:
            unfinished.touch(0o600)
            with unfinished.open("wb") as file:
                file.write(_HEAD.pack(_MAGIC, len(part.tokens)))
                file.write(self._seal.close(about, self._place(path, "tokens")))
                file.write(self._seal.close(part.saved.data, self._place(path, "values")))
            os.utime(unfinished, ns=(part.used, part.used))
            size = unfinished.stat().st_size
            unfinished.replace(path)
        except OSError:
            _unlink(unfinished)
            raise
        step = most_bytes // _SPARE // 4
        self._until_look = min(self._until_look, step) - size
        if self._until_look < 0:
            self._make_room(most_bytes)
            self._until_look = step

    def read(self, part: Part) -> Saved | None:
        """Keys and values; None where they are gone or damaged."""
        path = self._path(part)
        try:
            with path.open("rb") as file:
                _, checksum = self._begin(file, path)
                box = np.fromfile(file, np.uint8)
            saved = np.frombuffer(self._seal.open(box.data, self._place(path, "values")), np.uint8)
        except FileNotFoundError:  # the oldest go, with a chat or for room
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
        """It is as old as its last use."""
        with suppress(OSError):
            os.utime(self._path(part), ns=(part.used, part.used))

    def delete(self, part: Part) -> None:
        """Whether it is there or not."""
        _unlink(self._path(part))

    def _path(self, part: Part) -> Path:
        return self._folder / part.owner / (self._seal.name(part) + _SUFFIX)

    def _place(self, path: Path, what: str) -> str:
        """Of a box, which is of no use in another one."""
        return f"{self.identity}/{path.parent.name}/{path.stem}/{what}"

    def _begin(self, file: BinaryIO, path: Path) -> tuple[Part, int]:
        """The part of a file, and the checksum of the keys and values. Raises ValueError and struct.error."""
        magic, count = _HEAD.unpack(file.read(_HEAD.size))
        box = file.read(_ABOUT.size + 4 * min(count, _LONGEST) + self._seal.extra)
        about = self._seal.open(box, self._place(path, "tokens"))
        checksum, before = _ABOUT.unpack_from(about)
        tokens = np.frombuffer(about, np.int32, offset=_ABOUT.size)
        part = Part(before, tuple(tokens.tolist()), path.parent.name, is_stored=True)
        if magic != _MAGIC or self._seal.name(part) != path.stem:
            raise ValueError("it is damaged")
        return part, checksum

    def _make_room(self, most_bytes: int) -> None:
        """Those that a clock was ahead of go first: it may take years until they are the oldest."""
        now, found = time.time_ns(), list[tuple[int, int, Path]]()
        for path in _found(self._root, f"*/*/*{_SUFFIX}"):
            with suppress(OSError):
                about = path.stat()
                found.append((about.st_mtime_ns if about.st_mtime_ns <= now else 0, about.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= most_bytes - most_bytes // _SPARE:
                break
            _unlink(path)
            total -= size


class Store:
    """The parts of one model. Its sequences share them: what they do at the same time, they do under `lock`."""

    def __init__(self, files: PartFiles | None) -> None:
        """Without files nothing is on disk."""
        self.lock = threading.RLock()
        self.files = files
        self.after: defaultdict[bytes, list[Part]] = defaultdict(list)  # by the key of the part before
        self.held: OrderedDict[bytes, Part] = OrderedDict()  # those in memory, the least recently used first
        self.bytes = 0
        self.key = ""  # of what is on disk
        self.most_on_disk = 0  # bytes, as the last request wanted that was to be kept there
        self.is_indexed = False  # whether this knows what is on disk
        self.can_write = True  # until the disk refuses


class PrefixCache:
    """What a runner has read, of the last conversations; the least recently used go first."""

    def __init__(
        self,
        runner: Runner,
        most_bytes: int = 0,
        files: PartFiles | None = None,
        length: int = PART,
        store: Store | None = None,
    ) -> None:
        """`most_bytes` of memory; 0: the runner's last text alone. `length`: tokens of a part, whole blocks."""
        self._runner, self._most_bytes, self.length = runner, most_bytes, length
        # Parts of another length would be taken for tokens at other places where a text repeats itself.
        self._root = bytes.fromhex(identity_of([files and files.identity, length]))
        self._store = store or Store(files)
        self._wanted: Keep | None = None  # for the text in the runner's cache
        self._is_kept = True  # whether all of that text is here
        self._is_ahead = False  # whether that was only read ahead

    def beside(self, runner: Runner) -> "PrefixCache":
        """For another sequence of the same model, which finds what this one has read, once that was kept."""
        return PrefixCache(runner, self._most_bytes, self._store.files, self.length, self._store)

    def known(self, prompt: Sequence[int], keep: Keep | None = None) -> int:
        """Tokens of the prompt that need not be read."""
        wanted = prompt[:-1]
        self._look(keep)
        return max(common_prefix(self._runner.tokens, wanted), sum(count for _, count in self._find(wanted)))

    def keep(self) -> None:
        """Copy what the runner has read to where other sequences find it; from any of their threads."""
        with self._store.lock:
            self._keep()
            self._make_room()

    def reuse(self, prompt: Sequence[int], keep: Keep | None = None) -> None:
        """Bring the runner to the longest beginning of the prompt that is known; its last token is left to be read."""
        with self._store.lock:
            runner, wanted = self._runner, prompt[:-1]
            self._look(keep)
            shared = common_prefix(runner.tokens, wanted)
            if shared < len(runner.tokens):
                self._keep()
            known = list(self._find(wanted))
            if sum(count for _, count in known) > shared:
                self._restore(known, shared)
            else:
                runner.rollback(shared)
            self._make_room()
            self._wanted, self._is_kept, self._is_ahead = keep, False, False
            if keep:
                self._store.most_on_disk = keep.most_bytes

    def read_ahead(self, prompt: Sequence[int], keep: Keep | None = None) -> Iterator[None]:
        """Read all of a prompt but its last token, a little at each step; nothing where the runner cannot read it."""
        runner = self._runner
        if len(prompt) > runner.context or max(prompt) >= runner.vocabulary:
            return
        self._keep()  # what was asked for, before more follows it
        self.reuse(prompt, keep)
        self._is_ahead = True
        while len(runner.tokens) < len(prompt) - 1:
            done = len(runner.tokens)
            runner.forward(prompt[done : min(done + _AHEAD, len(prompt) - 1)])
            yield

    def store_one(self) -> bool:
        """Write a part to disk that belongs there; whether there was one. After an OSError no more are written."""
        self._keep()
        self._make_room()
        part = next(
            (part for part in reversed(self._store.held.values()) if part.is_for_disk and not part.is_stored), None
        )
        if self._store.files is None or part is None or not self._store.can_write:
            return False
        try:
            self._store.files.write(part, self._store.most_on_disk)
            part.is_stored = True
        except FileNotFoundError:  # its chat was deleted at this moment
            self._drop([part])
        except OSError as error:
            _log.warning("what was read cannot be kept on disk (%s)", error)
            self._store.can_write = False
        return True

    def forget(self, chats: Collection[str]) -> None:
        """Drop all parts of chats that were deleted; without any, of all that are kept on disk."""
        for parts in list(self._store.after.values()):
            self._drop([part for part in parts if part.owner and (not chats or part.owner in chats)])
        if self._wanted and (not chats or self._wanted.chat in chats):
            self._runner.rollback(0)
            self._wanted = None

    def clear(self) -> None:
        """Forget all that was read, but for what is on disk."""
        self._runner.rollback(0)
        self._store.after.clear()
        self._store.held.clear()
        self._store.bytes, self._is_kept, self._store.is_indexed = 0, True, False

    def keep_in(self, folder: Path) -> None:
        """Forget all that was read, and keep what is read from now on in another folder, sealed as a request says."""
        self.clear()
        self._store.key = ""
        if self._store.files:
            self._store.files = PartFiles(folder, self._store.files.identity)

    def _look(self, keep: Keep | None) -> None:
        """See once what is on disk: only those who keep something there find something there."""
        if self._store.files is None or keep is None:
            return
        if keep.key != self._store.key:
            self.clear()  # what is not yet on disk must not get there in clear text, nor with another key
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
        """Copy what the runner's cache holds and this does not."""
        tokens, before, used = tuple(self._runner.tokens), self._root, list[Part]()
        owner = self._wanted.chat if self._wanted else ""
        if self._is_kept or not self._runner.can_save or not self._most_bytes:
            return
        for start in range(0, len(tokens), self.length):
            part = Part(before, tokens[start : start + self.length], owner, is_ahead=self._is_ahead)
            present = next((other for other in self._store.after[before] if _covers(other, part)), None)
            if present is None:
                try:
                    part.saved = self._runner.save(start, start + len(part.tokens))
                except MemoryError:
                    break  # it is read again
                self._add(part)
            elif present.tokens == part.tokens and not self._is_ahead:
                present.owner, present.is_ahead = present.owner or owner, False
                self._drop_beginnings(present)
            used.append(present or part)
            before = part.key
        self._is_kept = True
        self._touch(used)

    def _find(self, wanted: Sequence[int]) -> Iterator[tuple[Part, int]]:
        """Parts that follow one another, with how many of their tokens are wanted: all, but of the last maybe fewer."""
        before, place = self._root, 0
        while parts := self._store.after.get(before):
            ahead = wanted[place : place + self.length]
            count, part = max(((common_prefix(part.tokens, ahead), part) for part in parts), key=lambda each: each[0])
            if not count:
                return
            yield part, count
            if count < self.length:
                return
            before, place = part.key, place + self.length

    def _restore(self, known: Sequence[tuple[Part, int]], shared: int) -> None:
        """Bring the runner to these parts; the first `shared` tokens are there. Stops where one cannot be read."""
        first = shared // self.length
        self._runner.rollback(first * self.length)
        for part, count in known[first:]:
            saved = part.saved
            if saved is None and self._store.files:
                saved = self._store.files.read(part)
            if saved is None or not self._runner.restore(part.tokens[:count], saved):
                self._drop([part])
                break
        self._touch([part for part, _ in known])

    def _touch(self, used: Sequence[Part]) -> None:
        """They were used now. Ends go before beginnings, without which they are of no use."""
        now = time.time_ns()
        for place, part in reversed(list(enumerate(used))):
            part.used = now - 1000 * place  # the finest step of any file system but FAT
            if part.is_stored and self._store.files:
                self._store.files.touch(part)
            if part.key in self._store.held:
                self._store.held.move_to_end(part.key)

    def _drop_beginnings(self, part: Part) -> None:
        """Of a part, but for those that belong on disk where it does not, or for another chat."""
        shorter = [other for other in self._store.after[part.before] if other is not part and _begins(other, part)]
        chat = part.owner if part.is_for_disk else None
        self._drop([each for each in shorter if not each.is_for_disk or each.owner == chat])

    def _add(self, part: Part) -> None:
        """In place of its beginnings."""
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
        while self._store.bytes > self._most_bytes:
            part = next(iter(self._store.held.values()))
            self._release(part)
            if not part.is_stored:
                self._store.after[part.before].remove(part)


def _found(folder: Path, pattern: str) -> Iterator[Path]:
    """Files in it, as far as others leave it alone meanwhile."""
    with suppress(OSError):
        yield from folder.glob(pattern)


def _unlink(path: Path) -> None:
    """Where it is there, and nothing holds it."""
    with suppress(OSError):
        path.unlink()


def _covers(other: Part, part: Part) -> bool:
    """Whether `part` need not be kept beside `other`; equal parts come to belong on disk together."""
    return other.tokens == part.tokens or (_begins(part, other) and other.is_for_disk >= part.is_for_disk)


def _begins(part: Part, other: Part) -> bool:
    """Whether `other` begins with the tokens of `part`."""
    return other.tokens[: len(part.tokens)] == part.tokens


def identity_of(subject: Any) -> str:
    """A name for what keys and values depend on: a folder's, and the root of all keys. `subject` is plain data."""
    return hashlib.blake2b(repr(subject).encode(), digest_size=16).hexdigest()
