"""The tokens that a draft's trimmed output head scores, and when the others are needed too. Knows no model.

A token outside the list cannot be guessed; where the text has many of them (another script than the list was counted
on), the rest of the head is computed as well, from what the trimmed head read.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from headstart.engine.sampling import Ids, Row
from headstart.errors import BrokenModelError
from headstart.manifest import Manifest

_log = logging.getLogger(__name__)

Head = Callable[[], Row]  # logits after the token that the draft read last

_WINDOW = 256  # emitted tokens that are looked back at,
_LEAST = 128  # counted as at least so many, so that a single rare word decides nothing
_WIDEN, _NARROW = (
    0.015,
    0.0075,
)  # share of tokens outside the list: above one all rows are computed, below the other not


def read(folder: Path, manifest: Manifest, rows: int | None = None) -> Ids | None:
    """Ids of the `rows` most frequent tokens, rising; None: the whole head. `rows` None: as exported; 0: all.

    Raises BrokenModelError for a list that does not fit the model.
    """
    listed = manifest.shortlist
    if listed is None or rows == 0:
        return None
    try:
        ranked = np.load(folder / listed.file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _broken(folder, f"cannot be read ({error})") from None
    if ranked.ndim != 1 or not ranked.size or not np.issubdtype(ranked.dtype, np.integer):
        raise _broken(folder, "is not a list of token ids")
    if ranked.min() < 0 or ranked.max() >= manifest.logit_rows:
        raise _broken(folder, f"names a token outside the model's {manifest.logit_rows}")
    if np.unique(ranked).size != ranked.size:
        raise _broken(folder, "names a token twice")
    ids: Ids = np.sort(ranked[: rows or listed.rows].astype(np.int64))
    return ids if ids.size < manifest.logit_rows else None


class Shortlist:
    """What a trimmed head's logits stand for; follows the text to tell when they do not suffice."""

    def __init__(self, ids: Ids, width: int, rest: "RestHead") -> None:
        """`ids` rise; those from `width` on, unknown to the target, are cut. `rest` scores all others, rising too."""
        self.ids = ids[: np.searchsorted(ids, width)]
        self._others = np.setdiff1d(np.arange(width), self.ids, assume_unique=True)
        self._rest = rest
        self._listed = frozenset(self.ids.tolist())
        self._row: Row = np.zeros(width, np.float32)
        self._outside: deque[bool] = deque(maxlen=_WINDOW)
        self.wide = False

    def follow(self, emitted: Sequence[int]) -> None:
        """Take in what the target wrote, and decide whether the other rows are needed from now on."""
        self._outside.extend(token not in self._listed for token in emitted)
        share = sum(self._outside) / max(len(self._outside), _LEAST)
        self.wide = share > (_NARROW if self.wide else _WIDEN)

    def scored(self, row: Row) -> tuple[Row, Ids | None]:
        """Logits with the ids they belong to, None: of all tokens, by index. Valid until the next call."""
        head = self._rest.get() if self.wide else None
        if head is None:
            return row[: self.ids.size], self.ids
        self._row[self.ids] = row[: self.ids.size]
        self._row[self._others] = head()[: self._others.size]
        return self._row, None


class RestHead:
    """The rows that a trimmed head lacks, made beside the writing when first asked for: that takes a second."""

    def __init__(self, build: Callable[[], Head]) -> None:
        """`build` compiles the head; where it raises RuntimeError, the draft does without."""
        self._build = build
        self._head: Head | None = None
        self._thread: threading.Thread | None = None

    def get(self) -> Head | None:
        """The head, or None while it is being made."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._make, name="rest-of-the-head")
            self._thread.start()
        return self._head

    def wait(self) -> None:
        """Until a head that was asked for is there."""
        if self._thread is not None:
            self._thread.join()

    def _make(self) -> None:
        try:
            self._head = self._build()
        except RuntimeError as error:
            _log.warning("the draft keeps to its shortlist: %s", error)


def _broken(folder: Path, fault: str) -> BrokenModelError:
    return BrokenModelError(f"The list of draft tokens in {folder} {fault}; export the model again.")
