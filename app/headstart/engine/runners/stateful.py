"""The fallback runner: the stateful graph, in which forgotten tokens stay in the cache and are masked out.

Slower than the paged runner, but it needs nothing that a device or an architecture may lack.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from headstart.engine.cancelling import CancelEvent
from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.kernels.fusion import compile_model
from headstart.engine.runners.graph import CHOSEN_ROWS, Ids, gather_rows, keep_rows
from headstart.engine.runners.runner import (
    Branch,
    Inputs,
    Interrupted,
    Logits,
    Runner,
    Saved,
    infer,
    raise_if_set,
    unlike,
)

_MAX_HOLES = 256  # compact the cache past this many masked slots,
_HOLE_SHARE = 0.25  # or past this share of it,
_MIN_HOLES = 32  # but never for fewer: a copy costs half a step


class StatefulRunner:
    """One sequence. Slot i of the cache holds a token that counts (mask 1) or a forgotten one (mask 0)."""

    can_branch = can_pad = can_save = False
    sharing, joined = 1, None
    others: Sequence[Runner] = ()

    def __init__(
        self, folder: Path, device: str, properties: Mapping[str, str], context: int, draft_vocab: Ids | None = None
    ) -> None:
        """Compile `folder`'s model. `draft_vocab`: the rows to which its output head is cut down, if it can be.

        Raises RuntimeError when the device refuses it; the caller words it.
        """
        model = core().read_model(folder / "openvino_model.xml")
        self.vocabulary: int = model.output(0).get_partial_shape()[2].get_length()
        gather_rows(model, axis=1)  # if no head is found, the last rows are cut from all
        self.draft_vocab = draft_vocab if draft_vocab is not None and keep_rows(model, draft_vocab) else None
        compiled = compile_model(model, device, properties)
        if compiled.states:
            raise RuntimeError("states of layers cannot be taken back without pages")
        self._request, self._tickets = compiled.model.create_infer_request(), compiled.tickets
        self._inputs = Inputs(self._request, compiled.model)
        self.context = context
        self._tokens: list[int] = []
        self._finished = 0  # tokens of the last pass that was not cancelled
        self._cancelled = 0  # tokens of a cancelled pass, until the model is whole again
        self._mask = np.ones(0, np.int64)  # one entry a slot, 1 for each token

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    @property
    def known(self) -> int:
        return len(self._tokens)

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        assert 1 <= rows <= len(ids) <= self.context - len(self._tokens)
        assert not branches
        raise_if_set(cancel)
        if self._cancelled:
            self._recover()
        self._set_inputs(ids, rows)
        try:
            infer(self._request, self._tickets, cancel)
        except Interrupted:
            self._clear()  # how far the states got is unknown
            self._cancelled = len(ids)  # the recovery comes later, so stopping is quick
            raise
        except RuntimeError:
            self._clear()
            raise
        self._finished = len(ids)
        self._tokens.extend(ids)
        self._mask = self._mask_with(len(ids))
        logits: Logits = self._request.get_output_tensor(0).data[0, -rows:, :]
        return logits

    def rollback(self, length: int, branch: int | None = None) -> None:
        """Forget tokens. The cache is copied only when it has too many forgotten slots."""
        assert branch is None
        if length >= len(self._tokens):
            return
        if length == 0:
            self._clear()
            return
        del self._tokens[length:]
        self._mask[np.flatnonzero(self._mask)[length:]] = 0
        holes = len(self._mask) - len(self._tokens)
        if holes > min(_MAX_HOLES, max(_MIN_HOLES, _HOLE_SHARE * len(self._mask))):
            self._compact()

    def hold(self, *lengths: int) -> None:
        """Do nothing: all of the cache is kept."""

    def save(self, start: int, stop: int) -> Saved:
        raise NotImplementedError

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        raise NotImplementedError

    def _set_inputs(self, ids: Sequence[int], rows: int) -> None:
        past, count = len(self._tokens), len(ids)
        values: Mapping[str, ArrayLike] = {
            "input_ids": np.array([ids], np.int64),  # [1, count]
            "attention_mask": self._mask_with(count)[None],  # [1, slots + count]
            "position_ids": np.arange(past, past + count)[None],  # [1, count]
            "beam_idx": [0],
            CHOSEN_ROWS: np.arange(count - rows, count),
        }
        for name, value in values.items():
            if name in self._inputs:
                self._inputs.write(name, value)

    def _mask_with(self, count: int) -> Ids:
        """Return the mask extended by `count` valid slots."""
        return np.concatenate([self._mask, np.ones(count, np.int64)])

    def _recover(self) -> None:
        """Make a cancelled model with an empty cache whole again: read some tokens and forget them."""
        self._finished = unlike(self._finished, self._cancelled)
        self._set_inputs([0] * self._finished, rows=1)
        infer(self._request, self._tickets, None)
        self._clear()
        self._cancelled = 0

    def _clear(self) -> None:
        self._request.reset_state()
        self._tokens.clear()
        self._mask = np.ones(0, np.int64)

    def _compact(self) -> None:
        """Drop the masked slots from every state: [1, heads, slots, size]."""
        slots = np.flatnonzero(self._mask)
        for state in self._request.query_state():
            data = np.ascontiguousarray(np.asarray(state.state.data)[:, :, slots, :])
            state.state = openvino().Tensor(data)
        self._mask = np.ones(len(self._tokens), np.int64)
