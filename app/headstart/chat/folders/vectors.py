"""The vectors of passages: their storage, and the comparison of a question with all of them in memory."""

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

_PRODUCTS = 2**18  # multiplications up to which OpenBLAS takes one thread; several wait long on a busy computer
_FETCHED = 1024  # passages
_MAX_USUAL = 0.9  # cosine of questions on other subjects: a model that has more tells nothing apart


class _Block(NamedTuple):
    """The vectors of some passages, one for each window."""

    ranks: Any  # i64 [passages]: never used again, whatever is deleted
    passages: Any  # i64 [passages]
    counts: Any  # i64 [passages], of windows
    values: Any  # i8 [windows, dimensions]
    scales: Any  # f32 [windows]


class StoredVectors:
    """The vectors of an index in memory, because to read them takes longer than all else that a question needs.

    One thread uses it at a time. It takes a byte for each dimension: 54 MB for 20,000 passages.
    """

    def __init__(self) -> None:
        self._index = ""  # that these are the vectors of
        self._block: _Block | None = None

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Read the vectors that are new in the index since, and forget those that are gone."""
        (index,) = connection.execute("SELECT value FROM memo WHERE name = 'identity'").fetchone()
        if index != self._index:
            self._index, self._block = index, None
        stored = _column(connection.execute("SELECT rank FROM vectors INDEXED BY vectors_by_passage"))
        last = 0
        if self._block:
            last = int(self._block.ranks[-1])
            self._keep(np.isin(self._block.ranks, stored))
        if stored.size and stored.max() > last:
            blocks = [self._block] if self._block else []
            self._block = _joined([*blocks, *_read(connection, last)])

    def cosines(
        self, connection: sqlite3.Connection, folders: str, questions: Sequence[bytes]
    ) -> tuple[dict[int, float], float]:
        """Return the cosine of each passage with the first question, and the usual one with the best of the others.

        `questions`: vectors of f32. `folders`: their ranks, for a query. The cosine of a passage is that of its window
        that is nearest.
        """
        if not self._block:
            return {}, 0.0
        asked = np.frombuffer(b"".join(questions), "<f4").reshape(len(questions), -1).T.copy()
        block = self._block
        products = np.empty((len(block.values), len(questions)), np.float32)
        rows = np.empty((_PRODUCTS // asked.size, len(asked)), np.float32)
        for start in range(0, len(products), len(rows)):
            part = block.values[start : start + len(rows)]
            rows[: len(part)] = part
            np.matmul(rows[: len(part)], asked, out=products[start : start + len(rows)])
        products *= block.scales[:, None]
        nearest = np.maximum.reduceat(products, _starts(block.counts))
        query = f"SELECT passage.rank FROM passage JOIN file ON file.rank = file WHERE folder IN ({folders})"  # noqa: S608
        is_inside = np.isin(block.passages, _column(connection.execute(query)))
        if not is_inside.any():
            return {}, 0.0
        nearest = nearest[is_inside]
        found = dict(zip(block.passages[is_inside].tolist(), nearest[:, 0].tolist(), strict=True))
        return found, min(float(np.sort(nearest[:, 1:].max(axis=0))[-2]), _MAX_USUAL)

    def _keep(self, is_kept: Any) -> None:
        if self._block and not is_kept.all():
            ranks, passages, counts, values, scales = self._block
            windows = np.repeat(is_kept, counts)
            kept = _Block(ranks[is_kept], passages[is_kept], counts[is_kept], values[windows], scales[windows])
            self._block = kept if kept.ranks.size else None


def layout(dimensions: int) -> "np.dtype[np.void]":
    """Return the layout of a stored vector: bytes, of which the largest is 127, and their scale."""
    return np.dtype([("scale", "<f4"), ("values", "i1", (dimensions,))])


def rounded(vector: bytes) -> bytes:
    """Round a vector of f32 to the stored form, which takes a quarter of the space."""
    numbers = np.frombuffer(vector, "<f4")
    scale = max(float(np.abs(numbers).max()) / 127, 1e-9)
    row = np.array([(scale, np.rint(numbers / scale))], layout(len(numbers)))
    return bytes(row.tobytes())


def mean(vectors: Sequence[bytes]) -> bytes:
    """Return the mean of vectors of f32, with length 1."""
    if len(vectors) == 1:
        return vectors[0]
    total = np.sum([np.frombuffer(vector, "<f4") for vector in vectors], axis=0)
    return bytes((total / max(float(np.linalg.norm(total)), 1e-9)).astype("<f4").tobytes())


def _read(connection: sqlite3.Connection, last: int) -> list[_Block]:
    query = "SELECT rank, passage, windows, data FROM vectors WHERE rank > ? ORDER BY rank"
    rows, blocks = connection.execute(query, (last,)), []
    while batch := rows.fetchmany(_FETCHED):
        ranks, passages, counts, data = zip(*batch, strict=True)
        kind = layout(len(data[0]) // counts[0] - 4)
        stored = np.frombuffer(b"".join(data), kind)
        blocks.append(
            _Block(
                np.array(ranks, np.int64),
                np.array(passages, np.int64),
                np.array(counts, np.int64),
                stored["values"].copy(),
                stored["scale"].copy(),
            )
        )
    return blocks


def _joined(blocks: Sequence[_Block]) -> _Block:
    return _Block(*map(np.concatenate, zip(*blocks, strict=True)))


def _starts(counts: Any) -> Any:
    return np.cumsum(counts) - counts


def _column(rows: sqlite3.Cursor) -> Any:
    return np.fromiter(chain.from_iterable(rows), np.int64)
