"""An n-gram table of what the model usually writes, as a drafter.

Each entry of the table is a context of one to three tokens, the token that followed it most often, how often it did,
and how often any token did. The exporter makes it from answers of the model (`headstart-export table` adds texts).
"""

import json
import zipfile
from bisect import bisect_left
from collections import abc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.drafters.base import Draft, ShouldContinue
from headstart.engine.engine import Origin
from headstart.engine.sequence import Sequence
from headstart.errors import BrokenModelError, Translatable
from headstart.library import manifest as manifests
from headstart.library.manifest import Manifest

TABLE_REACH = 8  # candidates at most: a chain of guesses is soon wrong
_MIN_SURVIVAL = 0.05  # a chain of guesses ends where the chance that all of it holds falls below this
_UNSEEN = 1.0  # added to the count of each context: the text to come differs from what was counted
_MAX_BYTES = 64 * 2**20  # of the file
_COLUMNS = {"keys": "uint64", "tokens": "int32", "hits": "uint16", "seen": "uint16"}
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class Table:
    """Rising keys of contexts; for each a token, how often it followed, and how often any did."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        # Views give plain numbers, which a search compares many times faster than numpy's.
        self._keys, self._tokens = columns["keys"].data, columns["tokens"].data
        self._chances = (columns["hits"] / (columns["seen"] + _UNSEEN)).data

    def find(self, key: int) -> tuple[float, int] | None:
        """Return the likeliest token after a context and its probability; None if the context is unknown."""
        place = bisect_left(self._keys, key)
        if place < len(self._keys) and self._keys[place] == key:
            return self._chances[place], self._tokens[place]
        return None


class TableDrafter:
    """Looks up the last three tokens, else the last two, else the last one, and continues from the result."""

    name = Origin.TABLE
    can_share = True

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, sequence: Sequence) -> None: ...

    def can_draft(self, _sequence: Sequence) -> bool:
        return True

    def uncached_tokens(self, _sequence: Sequence) -> int:
        return 0

    def propose(self, sequence: Sequence, _should_continue: ShouldContinue) -> Draft:
        return self.look_up(sequence.context, min(TABLE_REACH, sequence.max_candidates))

    def accept(self, sequence: Sequence, held: int) -> None: ...

    def look_up(self, context: abc.Sequence[int], length: int) -> Draft:
        """Return up to `length` tokens that usually follow the end of `context`; fewer if the table knows no more."""
        before = tuple(context[-manifests.TABLE_CONTEXT :])
        tokens: list[int] = []
        chances: list[float] = []
        survival = 1.0
        while len(tokens) < length and (entry := self._find(before)) is not None:
            chance, token = entry
            survival *= chance
            if survival < _MIN_SURVIVAL:
                break
            tokens.append(token)
            chances.append(chance)
            before = (*before, token)[-manifests.TABLE_CONTEXT :]
        return Draft(tuple(tokens), tuple(chances), origin=self.name)

    def _find(self, before: tuple[int, ...]) -> tuple[float, int] | None:
        """Return the likeliest token after the longest context in the table, with its probability."""
        entries = (self._table.find(manifests.table_key(before[start:])) for start in range(len(before)))
        return next((entry for entry in entries if entry), None)


def read(folder: Path, manifest: Manifest) -> Table | None:
    """Return the table that the manifest lists; None if it lists none.

    Raises BrokenModelError if it is damaged or was built for another vocabulary.
    """
    if manifests.TABLE_FILE not in manifest.files:
        return None
    path = folder / manifests.TABLE_FILE
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES} bytes")
        # numpy leaves a file open that it cannot read.
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
