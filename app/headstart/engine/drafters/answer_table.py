"""A table of usual words that is counted from the answers in the user's chats.

Of each chat a file holds the tokens of its answers, in the folder of what models keep of this chat, and goes with it.
"""

import logging
import zlib
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import numpy as np

from headstart import own_folder
from headstart.engine.drafters.table import Table
from headstart.engine.engine import FinishReason, Keep
from headstart.engine.prefix_cache import Plain, Sealed
from headstart.engine.sequence import Sequence as Text
from headstart.kept_prompts import ANSWERS
from headstart.manifest import TABLE_CONTEXT
from headstart.token_table import Tokens, count

MOST_TOKENS = 2**17  # of all chats together: half a megabyte, counted in 0.2 s
_END = -1  # of an answer, in a file
_CHECKSUM = 4  # bytes
_NOTHING: Tokens = np.empty(0, np.int64)
_COMPLETE = {FinishReason.STOP, FinishReason.LENGTH, FinishReason.CONTEXT}

_log = logging.getLogger(__name__)


class AnswerTable:
    """What one model has learned. Nothing is read or counted while an answer is written: that has time until later."""

    def __init__(self, folder: Path, identity: str, vocabulary: int) -> None:
        """`folder` is shared by all models. `identity`: the name of this one's folder in it."""
        self._folder, self._vocabulary = folder / identity, vocabulary
        self._seal, self._key = Plain(), ""
        self._wanted = False  # whether the last request learns
        self._answers: list[Tokens] | None = None  # None: what is on disk was not read yet
        self._table: Table | None = None
        self._text: Text | None = None  # the answer being written, or the last one
        self._new: deque[tuple[str, Tokens]] = deque()  # answers to be learned from, each with its chat

    def begin(self, text: Text) -> Table | None:
        """An answer begins, from which this learns once it is complete; what was learned, to be used for it."""
        keep = text.job.keep
        self._take_text()
        self.use(keep)
        self._text = text if keep and keep.learns else None
        return self._table if self._text else None

    def use(self, keep: Keep | None) -> None:
        """A request that learns makes ready what was learned. With one that does not, all of it is deleted."""
        if keep is None:  # it is of none of the user's chats
            return
        if not keep.learns:
            self.forget(())
        elif keep.key != self._key:
            self._answers = self._table = None
            self._new.clear()
            self._seal, self._key = Sealed(keep.key) if keep.key else Plain(), keep.key
        self._wanted = keep.learns

    def store_one(self) -> bool:
        """Read what was learned before, or learn from an answer; whether there was something to do."""
        self._take_text()
        if not self._wanted or (self._answers is not None and not self._new):
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
        if sum(each.size for each in self._answers) > MOST_TOKENS:
            self._answers = self._read_all()
        self._table = Table(count(self._answers))
        return True

    def forget(self, chats: Collection[str]) -> None:
        """What these chats taught, as they were deleted; without any, all."""
        self._take_text()
        self._new = deque(each for each in self._new if chats and each[0] not in chats)
        for path in self._files():
            if not chats or path.parent.name in chats:
                _delete(path)
        self._answers = self._table = None

    def _take_text(self) -> None:
        """Learn from the last answer later, if it came to its end."""
        text, self._text = self._text, None
        if text and text.job.keep and text.finish in _COMPLETE:
            start = max(len(text.job.prompt) - TABLE_CONTEXT, 0)
            self._new.append((text.job.keep.chat, np.array(text.context[start:], np.int64)))

    def _files(self) -> list[Path]:
        """The newest first."""
        found = []
        for path in self._folder.glob(f"*/{ANSWERS}"):
            with suppress(OSError):
                found.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(found, reverse=True)]

    def _read_all(self) -> list[Tokens]:
        """All answers. The oldest chats are deleted where there are too many, and what cannot be read is."""
        answers: list[Tokens] = []
        room = MOST_TOKENS
        for path in self._files():
            ids = self._read(path)
            room -= ids.size
            if not ids.size or room < 0:
                _delete(path)
            else:
                answers += [piece[:-1] for piece in np.split(ids, np.flatnonzero(ids == _END) + 1)]
        return answers

    def _read(self, path: Path) -> Tokens:
        """The tokens of a chat's answers; none where the file is absent, damaged, or sealed with another key."""
        try:
            with path.open("rb") as file:
                box = file.read(_CHECKSUM + 4 * MOST_TOKENS + self._seal.extra + 1)
            data = memoryview(self._seal.open(box, self._place(path)))
            ids = np.frombuffer(data, np.int32, offset=_CHECKSUM).astype(np.int64)
        except (OSError, ValueError):
            return _NOTHING
        is_whole = data[:_CHECKSUM] == _checksum(data[_CHECKSUM:])
        return ids if is_whole and np.all((ids >= _END) & (ids < self._vocabulary)) else _NOTHING

    def _write(self, chat: str, answer: Tokens) -> None:
        """Add an answer to those of its chat. Raises OSError."""
        path = self._folder / chat / ANSWERS
        ids = np.concatenate([self._read(path), answer, [_END]])[-MOST_TOKENS:]
        data = ids.astype(np.int32).tobytes()
        own_folder.write(path, bytes(self._seal.close(_checksum(data) + data, self._place(path))))

    def _place(self, path: Path) -> str:
        """Of a box, which is of no use in another one."""
        return f"{self._folder.name}/{path.parent.name}/{path.name}"


def _checksum(data: bytes | memoryview) -> bytes:
    return zlib.crc32(data).to_bytes(_CHECKSUM, "little")


def _delete(path: Path) -> None:
    """Where it is there, and nothing holds it."""
    with suppress(OSError):
        path.unlink()
