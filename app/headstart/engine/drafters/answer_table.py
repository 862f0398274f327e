"""An n-gram table that is counted from the answers in the user's chats.

A file for each chat holds the tokens of its answers. It is deleted with the chat.
"""

import logging
import zlib
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import numpy as np

from headstart import private_files
from headstart.engine.drafters.count_ngrams import Tokens, count
from headstart.engine.drafters.table import Table
from headstart.engine.engine import FinishReason, Keep
from headstart.engine.prefix_cache import Plain, Sealed
from headstart.engine.prompt_cache_files import ANSWERS
from headstart.engine.sequence import Sequence
from headstart.library.manifest import TABLE_CONTEXT

MAX_TOKENS = 2**17  # of all chats together: half a megabyte, counted in 0.2 s
_END = -1  # the end of an answer in a file
_CHECKSUM = 4  # bytes
_NOTHING: Tokens = np.empty(0, np.int64)
_COMPLETE = {FinishReason.STOP, FinishReason.LENGTH, FinishReason.CONTEXT}

_log = logging.getLogger(__name__)


class AnswerTable:
    """The table that one model has learned. It reads and counts nothing while an answer is written."""

    def __init__(self, folder: Path, identity: str, vocabulary: int) -> None:
        """`folder` is shared by all models. `identity`: the name of this model's folder in it."""
        self._folder, self._vocabulary = folder / identity, vocabulary
        self._seal, self._key = Plain(), ""
        self._learns = False  # whether the last request does
        self._answers: list[Tokens] | None = None  # None: not read from disk yet
        self._table: Table | None = None
        self._sequence: Sequence | None = None  # the answer being written, or the last one
        self._new: deque[tuple[str, Tokens]] = deque()  # answers to learn from, each with its chat

    def begin(self, sequence: Sequence) -> Table | None:
        """Return the table for an answer that begins. The table learns from the answer once that is complete."""
        keep = sequence.job.keep
        self._queue_last()
        self.use(keep)
        self._sequence = sequence if keep and keep.learns else None
        return self._table if self._sequence else None

    def use(self, keep: Keep | None) -> None:
        """Prepare for a request. If the user turned learning off, delete everything that was learned."""
        if keep is None:  # the request belongs to no chat
            return
        if not keep.learns:
            self.forget(())
        elif keep.key != self._key:
            self._answers = self._table = None
            self._new.clear()
            self._seal, self._key = Sealed(keep.key) if keep.key else Plain(), keep.key
        self._learns = keep.learns

    def store_one(self) -> bool:
        """Read what was learned before, or learn from one answer; return whether there was something to do."""
        self._queue_last()
        if not self._learns or (self._answers is not None and not self._new):
            return False
        if self._answers is None:
            self._answers = self._read_all()
        else:
            chat, answer = self._new.popleft()
            self._answers.append(answer)
            try:
                self._write(chat, answer)
            except OSError as error:
                _log.warning("what was learned cannot be kept on disk (%s)", error)
        if sum(each.size for each in self._answers) > MAX_TOKENS:
            self._answers = self._read_all()
        self._table = Table(count(self._answers))
        return True

    def forget(self, chats: Collection[str]) -> None:
        """Forget what these chats taught; without chats, everything."""
        self._queue_last()
        self._new = deque(each for each in self._new if chats and each[0] not in chats)
        for path in self._files():
            if not chats or path.parent.name in chats:
                _delete(path)
        self._answers = self._table = None

    def _queue_last(self) -> None:
        """Note the last answer for later, if it is complete."""
        last, self._sequence = self._sequence, None
        if last and last.job.keep and last.finish in _COMPLETE:
            start = max(len(last.job.prompt) - TABLE_CONTEXT, 0)
            self._new.append((last.job.keep.chat, np.array(last.context[start:], np.int64)))

    def _files(self) -> list[Path]:
        """Return the files of all chats, the newest first."""
        files = []
        for path in self._folder.glob(f"*/{ANSWERS}"):
            with suppress(OSError):
                files.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(files, reverse=True)]

    def _read_all(self) -> list[Tokens]:
        """Read all answers. Delete files that cannot be read, and the oldest if there are too many tokens."""
        answers: list[Tokens] = []
        room = MAX_TOKENS
        for path in self._files():
            ids = self._read(path)
            room -= ids.size
            if not ids.size or room < 0:
                _delete(path)
            else:
                answers += [piece[:-1] for piece in np.split(ids, np.flatnonzero(ids == _END) + 1)]
        return answers

    def _read(self, path: Path) -> Tokens:
        """Return the tokens of a chat's answers; none if the file is absent, damaged, or sealed with another key."""
        try:
            with path.open("rb") as file:
                box = file.read(_CHECKSUM + 4 * MAX_TOKENS + self._seal.extra + 1)
            data = memoryview(self._seal.open(box, self._place(path)))
            ids = np.frombuffer(data, np.int32, offset=_CHECKSUM).astype(np.int64)
        except (OSError, ValueError):
            return _NOTHING
        is_whole = data[:_CHECKSUM] == _checksum(data[_CHECKSUM:])
        return ids if is_whole and np.all((ids >= _END) & (ids < self._vocabulary)) else _NOTHING

    def _write(self, chat: str, answer: Tokens) -> None:
        """Add an answer to the file of its chat. Raises OSError."""
        path = self._folder / chat / ANSWERS
        ids = np.concatenate([self._read(path), answer, [_END]])[-MAX_TOKENS:]
        data = ids.astype(np.int32).tobytes()
        private_files.write(path, bytes(self._seal.close(_checksum(data) + data, self._place(path))))

    def _place(self, path: Path) -> str:
        """Return the place that a box is bound to."""
        return f"{self._folder.name}/{path.parent.name}/{path.name}"


def _checksum(data: bytes | memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM, "little")


def _delete(path: Path) -> None:
    """Delete a file if possible."""
    with suppress(OSError):
        path.unlink()
