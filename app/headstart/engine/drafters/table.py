"""A table of what the model itself usually writes next, as a drafter.

Each entry of the table is a context of one to three tokens, the token that followed it most often, how often it did,
and how often any token did. The exporter makes it from answers of the model (`headstart-export table` adds texts).
"""

import json
import zipfile
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import manifest as manifests
from headstart.engine.drafters.base import Draft, WantsMore
from headstart.engine.engine import Origin
from headstart.engine.sequence import Sequence as Text
from headstart.errors import BrokenModelError, Translatable
from headstart.manifest import Manifest

TABLE_REACH = 8  # candidates at most: a chain of guesses is soon wrong
_LEAST = 0.05  # chance that all of a chain holds, below which it ends
_UNSEEN = 1.0  # counted in addition with each context, as what was counted is not the text to come
_MOST_BYTES = 64 * 2**20  # of the file
_COLUMNS = {"keys": "uint64", "tokens": "int32", "hits": "uint16", "seen": "uint16"}
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class Table:
    """The columns of a file. The keys rise strictly; the others have a value for each."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """See `token_table.count`."""
        # Views give plain numbers, which a search compares many times faster than numpy's.
        self._keys, self._tokens = columns["keys"].data, columns["tokens"].data
        self._chances = (columns["hits"] / (columns["seen"] + _UNSEEN)).data

    def find(self, key: int) -> tuple[float, int] | None:
        """How likely the likeliest token is after this context, and the token; None: the context is unknown."""
        place = bisect_left(self._keys, key)
        if place < len(self._keys) and self._keys[place] == key:
            return self._chances[place], self._tokens[place]
        return None


class TableDrafter:
    """Looks up the last three tokens, else the last two, else the last one, and goes on from what it found."""

    def __init__(self, table: Table | None, learned: Callable[[Text], Table | None] = lambda _: None) -> None:
        """`learned`: another one for an answer. Of entries for the same context the likelier one counts."""
        self._own = self._tables = [table] if table else []
        self._learned = learned

    name = origin = Origin.TABLE

    def begin(self, text: Text) -> None:
        """Look up in what was learned, too."""
        learned = self._learned(text)
        self._tables = [*self._own, learned] if learned else self._own

    def price(self, _text: Text) -> int:
        """Nothing."""
        return 0

    def propose(self, text: Text, _wants_more: WantsMore) -> Draft:
        """See Drafter.propose."""
        return self.look_up(text.context, min(TABLE_REACH, text.most_candidates))

    def accept(self, text: Text, held: int) -> None:
        """It learns nothing before the answer is complete."""

    def look_up(self, context: Sequence[int], length: int) -> Draft:
        """Up to `length` tokens that usually follow the end of `context`; fewer where the tables know no more."""
        before = tuple(context[-manifests.TABLE_CONTEXT :])
        tokens: list[int] = []
        chances: list[float] = []
        survival = 1.0
        while len(tokens) < length and (found := self._find(before)) is not None:
            chance, token = found
            survival *= chance
            if survival < _LEAST:
                break
            tokens.append(token)
            chances.append(chance)
            before = (*before, token)[-manifests.TABLE_CONTEXT :]
        return Draft(tuple(tokens), tuple(chances))

    def _find(self, before: tuple[int, ...]) -> tuple[float, int] | None:
        """The likeliest token behind the longest end of `before` that is known."""
        for start in range(len(before) if self._tables else 0):
            key = manifests.table_key(before[start:])
            if known := [found for table in self._tables if (found := table.find(key))]:
                return max(known)
        return None


def read(folder: Path, manifest: Manifest) -> Table | None:
    """The table that the manifest lists; None where it lists none.

    Raises BrokenModelError for one that is damaged or was built for another vocabulary.
    """
    if manifests.TABLE_FILE not in manifest.files:
        return None
    path = folder / manifests.TABLE_FILE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        # Opened here: numpy leaves a file open that it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            columns = {name: stored[name] for name in ("header", *_COLUMNS)}
        fingerprint = json.loads(columns.pop("header").tobytes())["vocabulary"]
        _check(columns, manifest.logit_rows)
    except (*_UNREADABLE, TypeError) as error:
        raise _broken(path, Translatable("is damaged ({error})", error=error)) from None
    if fingerprint != manifest.tokenizer.fingerprint:
        raise _broken(path, Translatable("was built for another vocabulary than that of {name}", name=manifest.name))
    return Table(columns)


def _check(columns: Mapping[str, NDArray[Any]], rows: int) -> None:
    keys, tokens, hits, seen = columns.values()
    if {name: column.dtype.name for name, column in columns.items()} != _COLUMNS:
        raise ValueError("its columns have other types")
    if keys.ndim != 1 or any(column.shape != keys.shape for column in columns.values()):
        raise ValueError("its columns differ in length")
    if np.any(keys[1:] <= keys[:-1]):
        raise ValueError("its keys do not rise")
    if tokens.size and (tokens.min() < 0 or tokens.max() >= rows):
        raise ValueError(f"it names a token outside the model's {rows}")
    if np.any(hits > seen):
        raise ValueError("it has more hits than places")


def _broken(path: Path, what: Translatable) -> BrokenModelError:
    return BrokenModelError("{path} {what}; export the model again.", path=path, what=what)
