"""Counts of what follows one to three tokens in texts: the columns of an n-gram table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.library.manifest import TABLE_BITS, TABLE_CONTEXT

MOST_ENTRIES = 124_000  # 16 bytes each: 2 MB
LEAST_CHANCE = 0.05  # of the likeliest token: the drafter guesses nothing less likely
_MOST = 65_535  # of a count; larger ones keep their proportion

Tokens = NDArray[np.int64]
Counts = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]  # keys, tokens, hits, seen: see `TableDrafter`


def count(pieces: Sequence[Tokens], known: Columns | None = None) -> Columns:
    """Count the most frequent continuations in texts, beyond `known`. A piece's first tokens are context alone."""
    sizes = range(1, TABLE_CONTEXT + 1)
    contexts = np.concatenate([_contexts(ids) for ids in [_NOTHING, *pieces]])
    following = np.concatenate([ids[TABLE_CONTEXT:] for ids in [_NOTHING, *pieces]])
    # What followed, and how often. Known entries name one token each: whatever else followed stands as token -1.
    parts = [(keys_of(contexts, size), following, np.ones(following.size)) for size in sizes]
    if known is not None:
        hits, others = known["hits"].astype(float), (known["seen"] - known["hits"]).astype(float)
        parts += [(known["keys"], known["tokens"], hits), (known["keys"], np.full(others.size, -1), others)]
    best, tokens, hits, seen = _best(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    # From the last key on, as longer contexts have larger ones: among equals they say more.
    kept = np.flatnonzero((tokens >= 0) & (hits / (seen + 1) >= LEAST_CHANCE))[::-1]
    kept = np.sort(kept[np.argsort(-hits[kept], kind="stable")[:MOST_ENTRIES]])
    scale = np.minimum(1.0, _MOST / np.maximum(seen[kept], 1.0))
    return {
        "keys": best[kept],
        "tokens": tokens[kept].astype(np.int32),
        "hits": np.floor(scale * hits[kept]).astype(np.uint16),
        "seen": np.floor(scale * seen[kept]).astype(np.uint16),
    }


def keys_of(contexts: Tokens, size: int) -> NDArray[np.uint64]:
    """Return `manifest.table_key` of the last `size` tokens of each context."""
    keys = np.zeros(len(contexts), np.uint64)
    for column in contexts.T[-size:]:
        keys = (keys << np.uint64(TABLE_BITS)) | (column + 1).astype(np.uint64)
    return keys


_NOTHING: Tokens = np.empty(0, np.int64)


def _contexts(ids: Tokens) -> Tokens:
    """Return the tokens before each place of a text that has enough of them: [places, TABLE_CONTEXT]."""
    places = max(ids.size - TABLE_CONTEXT, 0)
    return np.stack([ids[back : back + places] for back in range(TABLE_CONTEXT)], axis=1)


def _best(
    keys: NDArray[np.uint64], following: Tokens, weights: Counts
) -> tuple[NDArray[np.uint64], Tokens, Counts, Counts]:
    """Return per context, by rising key: its most frequent continuation, the count of that, and of all."""
    if not keys.size:
        return keys, following, weights, weights
    order = np.lexsort((following, keys))
    keys, following, weights = keys[order], following[order], weights[order]
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (following[1:] != following[:-1])))
    keys, following, weights = keys[first], following[first], np.add.reduceat(weights, first)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    best = np.lexsort((-np.where(following < 0, 0.0, weights), keys))[starts]
    return keys[best], following[best], weights[best], np.add.reduceat(weights, starts)
