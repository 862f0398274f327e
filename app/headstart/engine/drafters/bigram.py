"""A table of which token usually follows which, counted elsewhere over a corpus, as a drafter.

The table of a model folder (`headstart-export bigram`) holds one entry for each of the most telling pairs of tokens and
single tokens: the most likely next token and its share among those that followed.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
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

BIGRAM_REACH = 8  # candidates at most: a chain of guesses is soon wrong
_LEAST = 0.05  # chance that all of a chain holds, below which it ends
_SCALE = 255.0  # of the quantised chances
_MOST_BYTES = 64 * 2**20  # of the file
_UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


class BigramDrafter:
    """Looks up the last two tokens, else the last one, and goes on from what it found."""

    def __init__(self, keys: NDArray[np.uint64], tokens: NDArray[np.int32], chances: NDArray[np.uint8]) -> None:
        """`keys` rise strictly; the other two have an entry for each."""
        self._keys, self._tokens, self._chances = keys, tokens, chances

    name = origin = Origin.BIGRAM

    def begin(self, text: Text) -> None:
        """It knows what it knows."""

    def price(self, _text: Text) -> int:
        """Nothing."""
        return 0

    def propose(self, text: Text, _wants_more: WantsMore) -> Draft:
        """See Drafter.propose."""
        return self.look_up(text.context, min(BIGRAM_REACH, text.most_candidates))

    def accept(self, text: Text, held: int) -> None:
        """It learns nothing."""

    def look_up(self, context: Sequence[int], length: int) -> Draft:
        """Up to `length` tokens that usually follow the end of `context`; fewer where the table knows no more."""
        before, last = (-1, *context[-2:])[-2:]
        tokens: list[int] = []
        chances: list[float] = []
        survival = 1.0
        while len(tokens) < length:
            place = self._place(manifests.bigram_key(before, last))
            place = self._place(manifests.bigram_key(-1, last)) if place is None else place
            survival *= 0.0 if place is None else float(self._chances[place]) / _SCALE
            if place is None or survival < _LEAST:
                break
            before, last = last, int(self._tokens[place])
            tokens.append(last)
            chances.append(float(self._chances[place]) / _SCALE)
        return Draft(tuple(tokens), tuple(chances))

    def _place(self, key: int) -> int | None:
        place = int(np.searchsorted(self._keys, np.uint64(key)))
        return place if place < self._keys.size and int(self._keys[place]) == key else None


def read(folder: Path, manifest: Manifest) -> BigramDrafter | None:
    """The table that the manifest lists; None where it lists none.

    Raises BrokenModelError for one that is damaged or was built for another vocabulary.
    """
    if manifests.BIGRAM_FILE not in manifest.files:
        return None
    path = folder / manifests.BIGRAM_FILE
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES} bytes")
        # Opened here: numpy leaves a file open that it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            parts = {name: stored[name] for name in ("header", "keys", "tokens", "chances")}
        header = json.loads(parts["header"].tobytes())
        _check(parts, manifest.logit_rows)
        fingerprint = header["vocabulary"]
    except (*_UNREADABLE, TypeError) as error:
        raise _broken(path, Translatable("is damaged ({error})", error=error)) from None
    if fingerprint != manifest.tokenizer.fingerprint:
        raise _broken(path, Translatable("was built for another vocabulary than that of {name}", name=manifest.name))
    return BigramDrafter(parts["keys"], parts["tokens"], parts["chances"])


def _check(parts: Mapping[str, NDArray[Any]], rows: int) -> None:
    keys, tokens, chances = parts["keys"], parts["tokens"], parts["chances"]
    if [column.dtype.name for column in (keys, tokens, chances)] != ["uint64", "int32", "uint8"]:
        raise ValueError("its columns have other types")
    if keys.ndim != 1 or not keys.shape == tokens.shape == chances.shape:
        raise ValueError("its columns differ in length")
    if np.any(keys[1:] <= keys[:-1]):
        raise ValueError("its keys do not rise")
    if tokens.size and (tokens.min() < 0 or tokens.max() >= rows):
        raise ValueError(f"it names a token outside the model's {rows}")


def _broken(path: Path, what: Translatable) -> BrokenModelError:
    return BrokenModelError("{path} {what}; build it again with headstart-export bigram.", path=path, what=what)
