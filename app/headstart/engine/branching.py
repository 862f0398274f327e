"""The paged runner that checks several tokens for the same place in one pass. Knows nothing of who guessed them.

Branches stand behind the pass that they belong to, each at the position of the token that it may replace, and see of
that pass only what comes before it (Miao et al. 2023, SpecInfer). Where one holds, its keys and values are moved.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headstart.engine.head import Ids
from headstart.engine.paged import PagedRunner
from headstart.engine.runner import Branch, Logits


class BranchingRunner(PagedRunner):
    """Implements Branching. Where there are no branches its logits are those of its parent, in the same time."""

    transformation: Mapping[str, bool] = {"allow_qq_bias": True}

    def __init__(
        self, folder: Path, device: str, properties: Mapping[str, str], context: int, kept: Ids | None = None
    ) -> None:
        """See PagedRunner. Tried on processors only: elsewhere it raises RuntimeError."""
        if device != "CPU":
            raise RuntimeError(f"nothing is known of branches on {device}")
        self._branches: Sequence[Branch] = ()  # of the pass that is being made
        self._forked: Sequence[Branch] = ()  # of the last fork
        self._fork = 0  # tokens before these
        super().__init__(folder, device, properties, context, kept)

    def fork(self, ids: Sequence[int], branches: Sequence[Branch]) -> Logits:
        """See Branching.fork."""
        assert all(0 < branch.place < len(ids) for branch in branches)
        self._forked, self._fork = tuple(branches), len(self.tokens) + len(ids)
        together = [*ids, *(branch.token for branch in branches)]
        self._branches = self._forked
        try:
            logits = self.forward(together, rows=len(together))
        finally:
            self._branches = ()
        self.rollback(self._fork)
        return logits

    def take(self, length: int, number: int) -> None:
        """See Branching.take."""
        assert length < self._fork
        source = self._fork + number
        self.rollback(length)
        for cache in self.caches:  # [blocks, heads, tokens of a block, size]
            slots = cache.data
            slots[length // self.block, :, length % self.block] = slots[source // self.block, :, source % self.block]
        self._tokens.append(self._forked[number].token)

    def _set_inputs(self, ids: Sequence[int], past: int, rows: int) -> None:
        super()._set_inputs(ids, past, rows)
        bias = _bias(len(ids), self._branches) if self._branches else np.zeros(0, np.uint8)
        self._inputs.write("qq_bias", bias.ravel())
        self._inputs.write("qq_bias_begins", [0, bias.size])
        if self._branches:
            chain = range(len(ids) - len(self._branches))
            places = [*chain, *(branch.place for branch in self._branches)]
            self._inputs.write("position_ids", past + np.array(places, np.int64))


def _bias(count: int, branches: Sequence[Branch]) -> NDArray[np.uint8]:
    """Which tokens of a pass each of them sees, the branches being its last: [count, count]."""
    seen = np.tril(np.ones((count, count), np.uint8))
    for row, branch in enumerate(branches, start=count - len(branches)):
        seen[row, branch.place : row] = 0
    return seen
