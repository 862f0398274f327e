"""The passes of one compiled model, which several sequences may share."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.cancelling import CancelEvent
from headstart.engine.kernels.fusion import Compiled
from headstart.engine.kernels.states import SequencePart
from headstart.engine.runners.batching import Batcher
from headstart.engine.runners.graph import CHOSEN_ROWS, HIDDEN_STATES
from headstart.engine.runners.runner import (
    Branch,
    Hidden,
    Inputs,
    Interrupted,
    Joined,
    Logits,
    infer,
    unlike,
)

CHUNK = 256  # tokens of a prompt before other sequences get a turn


@dataclass(eq=False)
class Pass:
    """The work of one pass for one sequence: `ids` after `past` tokens, then `branches`.

    The last `padding` of `ids` do not count: their logits are not read, and the next pass overwrites them.
    """

    ids: Sequence[int]
    branches: Sequence[Branch]
    past: int  # tokens in the cache
    rows: int  # logits to give: those of the last ones
    table: NDArray[np.int32]  # the blocks of the sequence
    window_table: NDArray[np.int32] | None = None  # those of layers with a window; None: no layer has one
    sequence: int = 0  # its number
    padding: int = 0
    hidden_input: Hidden | None = None  # the hidden states that a head reads beside its tokens
    logits: Logits | None = None  # [rows, vocabulary]
    hidden: Hidden | None = None  # of each token, if the graph gives it
    error: BaseException | None = None
    joined: Joined | None = None  # the whole pass that it was part of

    @property
    def count(self) -> int:
        """The tokens, padding included."""
        return len(self.ids) + len(self.branches)

    @property
    def is_done(self) -> bool:
        return self.logits is not None or self.error is not None


class Passes(Batcher[Pass]):
    """One inference request that sequences share.

    Logits are the model's own memory, valid until the next pass, if there can be only one sequence.
    """

    def __init__(self, compiled: Compiled, block: int, *, sequences: int, can_branch: bool) -> None:
        """`block`: tokens of a block of keys and values. `sequences`: the maximum number."""
        super().__init__()
        model = compiled.model
        self._request, self._tickets = model.create_infer_request(), compiled.tickets
        self._states, self._windows = compiled.states, compiled.windows
        self._inputs = Inputs(self._request, model)
        self._block, self._can_branch, self._sequences = block, can_branch, sequences
        self.min_tokens = 1  # of each sequence in a pass, and rows of its logits that are computed
        self._gives_hidden = len(model.outputs) > 1
        ports = [port for port in model.inputs if HIDDEN_STATES in port.names]
        self._width = ports[0].partial_shape[-1].get_length() if ports else 0
        self._finished = 0  # tokens of the last pass that was not cancelled
        self._cancelled = 0  # tokens of a cancelled pass, until the model is whole again

    def bind(self, port: Any, tensor: Any) -> None:
        """Use this memory for an input of the model in all passes."""
        self._request.set_tensor(port, tensor)

    def read(self, together: Sequence[Pass]) -> None:
        """Read all of these at once, however long they are, while no other thread reads anything."""
        self._read(together, None)
        if together[0].error is not None:
            raise together[0].error

    def _read(self, together: Sequence[Pass], cancel: CancelEvent | None) -> None:
        count = sum(work.count for work in together)
        try:
            if self._cancelled:
                self._recover(together[0])
            started = time.perf_counter()
            self._write(together)
            infer(self._request, self._tickets, cancel if len(together) == 1 else None)
            ms, past = 1000.0 * (time.perf_counter() - started), sum(work.past for work in together)
            joined = Joined(count, past, ms, count != self._finished)
            self._finished = count
            self._hand_out(together, joined)
        except BaseException as error:  # noqa: BLE001 - every thread raises it that waits for this pass
            if isinstance(error, Interrupted):  # the recovery comes later, so stopping is quick
                self._cancelled = count
            for work in together:
                work.error = error

    def _hand_out(self, together: Sequence[Pass], joined: Joined) -> None:
        logits = self._request.get_output_tensor(0).data[:, 0]
        hidden = self._request.get_output_tensor(1).data[:, 0] if self._gives_hidden else None
        if self._sequences > 1:  # any other thread may begin the next pass at any time
            logits, hidden = logits.copy(), None if hidden is None else hidden.copy()
        row = token = 0
        for work in together:
            work.joined = joined
            if hidden is not None:
                work.hidden = hidden[token : token + work.count - work.padding]
            work.logits = logits[row : row + work.rows]
            row, token = row + max(work.rows, self.min_tokens), token + work.count

    def _recover(self, first: Pass) -> None:
        """Make a cancelled model whole again by tokens past the end of a sequence; the next pass overwrites them."""
        self._finished = unlike(self._finished, self._cancelled)
        again = Pass([0] * self._finished, (), first.past, 1, first.table, first.window_table, first.sequence)
        self._write([again])
        infer(self._request, self._tickets, None)
        self._cancelled = 0

    def _write(self, together: Sequence[Pass]) -> None:
        """Write the inputs of a pass. Per-sequence inputs are [sequences]."""
        write, past = self._inputs.write, [work.past for work in together]
        self._states.begin([_part_of(work) for work in together])
        ends = [work.past + work.count for work in together]
        counts = [-(-end // self._block) for end in ends]
        blocks = [work.table[:count] for work, count in zip(together, counts, strict=True)]
        if self._windows:
            tables = [work.window_table for work in together]
            self._windows.blocks = np.concatenate(
                [table[:count] for table, count in zip(tables, counts, strict=True) if table is not None]
            )
        begins = _begins([work.count for work in together])
        ids = [token for work in together for token in (*work.ids, *(branch.token for branch in work.branches))]
        write("input_ids", np.array(ids, np.int64))
        write("position_ids", np.concatenate([_places(work) for work in together]))
        write("past_lens", past)
        write("subsequence_begins", begins)
        write("block_indices", np.concatenate(blocks))
        write("block_indices_begins", _begins(counts))
        write("max_context_len", max(ends))
        ends = [end - work.padding for work, end in zip(together, begins[1:], strict=True)]
        rows = [self._chosen_rows(work, end) for work, end in zip(together, ends, strict=True)]
        write(CHOSEN_ROWS, np.concatenate(rows))
        if self._can_branch:
            biases = [_bias(work).ravel() for work in together]
            write("qq_bias", np.concatenate(biases))
            write("qq_bias_begins", _begins([bias.size for bias in biases]))
        if HIDDEN_STATES in self._inputs:
            nothing = np.zeros((len(ids), self._width), np.float32)
            states = [nothing[: work.count] if work.hidden_input is None else work.hidden_input for work in together]
            write(HIDDEN_STATES, np.concatenate(states)[:, None])

    def _chosen_rows(self, work: Pass, end: int) -> NDArray[np.int64]:
        """Return the tokens whose logits are computed; the last one again and again up to `min_tokens`."""
        return np.minimum(np.arange(max(work.rows, self.min_tokens)) + end - work.rows, end - 1)


def _part_of(work: Pass) -> SequencePart:
    return SequencePart(work.sequence, work.past, len(work.ids), [branch.place for branch in work.branches])


def _begins(sizes: Sequence[int]) -> list[int]:
    """Return the offset of each part if they are concatenated, and the total length."""
    return [0, *np.cumsum(sizes).tolist()]


def _places(work: Pass) -> NDArray[np.int64]:
    """Return the places of the tokens in their text: [count]."""
    places = [*range(len(work.ids)), *(branch.place for branch in work.branches)]
    return work.past + np.array(places, np.int64)


def _bias(work: Pass) -> NDArray[np.uint8]:
    """Return which tokens of a pass each token sees, branches last: [count, count]; empty without branches."""
    count = work.count if work.branches else 0
    causal = np.tril(np.ones((count, count), np.uint8))
    for row, branch in enumerate(work.branches, start=len(work.ids)):
        causal[row, branch.place : row] = 0
    return causal
