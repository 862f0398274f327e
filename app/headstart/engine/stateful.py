"""The fallback runner: the stateful graph, in which forgotten tokens stay in the cache and are masked out.

Slower than the paged runner, but it needs nothing that a device or an architecture may lack.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from headstart.engine.graph import CHOSEN_ROWS, gather_rows
from headstart.engine.head import HIDDEN, Ids, keep_rows
from headstart.engine.runner import Interrupted, Logits, infer, raise_if_set, unlike
from headstart.engine.runtime import core, openvino

_MOST_HOLES = 256  # compact the cache past this many masked slots,
_HOLE_SHARE = 0.25  # or past this share of it,
_FEWEST_HOLES = 32  # but never for fewer: a copy costs half a step


class StatefulRunner:
    """One sequence; slot i of the cache holds a token that counts (mask 1) or one that was forgotten (mask 0)."""

    def __init__(
        self, folder: Path, device: str, properties: Mapping[str, str], context: int, kept: Ids | None = None
    ) -> None:
        """Compile `folder`'s model, its output head cut down to the rows `kept` where it can be: `self.kept` tells.

        Raises RuntimeError when the device refuses it; the caller words it.
        """
        model = core().read_model(folder / "openvino_model.xml")
        self.vocabulary: int = model.output(0).get_partial_shape()[2].get_length()
        gather_rows(model, axis=1)  # where no head is found, the last rows are cut from all
        self.kept = kept if kept is not None and keep_rows(model, kept) else None
        compiled = core().compile_model(model, device, dict(properties))
        self._request = compiled.create_infer_request()
        self._inputs = {port.any_name for port in compiled.inputs}
        self.context = context
        self._tokens: list[int] = []
        self._finished = 0  # tokens of the last pass that was not cancelled
        self._mask: list[int] = []  # one entry a slot; as many ones as there are tokens

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens that count."""
        return self._tokens

    @property
    def hidden(self) -> Logits:
        """What a trimmed head read in the last pass: [rows, width]. Valid until the next call."""
        hidden: Logits = self._request.get_tensor(HIDDEN).data[0]
        return hidden

    def forward(self, ids: Sequence[int], rows: int = 1, cancel: threading.Event | None = None) -> Logits:
        """See Runner.forward."""
        assert 1 <= rows <= len(ids) <= self.context - len(self._tokens)
        raise_if_set(cancel)
        self._set_inputs(ids, rows)
        try:
            infer(self._request, cancel)
        except Interrupted:
            self._recover(len(ids))
            raise
        except RuntimeError:
            self._clear()
            raise
        self._finished = len(ids)
        self._tokens.extend(ids)
        self._mask.extend([1] * len(ids))
        logits: Logits = self._request.get_output_tensor(0).data[0, -rows:, :]
        return logits

    def rollback(self, length: int) -> None:
        """See Runner.rollback. Copies the cache only when too many forgotten slots have gathered."""
        excess = len(self._tokens) - length
        if excess <= 0:
            return
        if length == 0:
            self._clear()
            return
        del self._tokens[length:]
        for slot in [slot for slot in reversed(range(len(self._mask))) if self._mask[slot]][:excess]:
            self._mask[slot] = 0
        holes = len(self._mask) - len(self._tokens)
        if holes > min(_MOST_HOLES, max(_FEWEST_HOLES, _HOLE_SHARE * len(self._mask))):
            self._compact()

    def _set_inputs(self, ids: Sequence[int], rows: int) -> None:
        past, count = len(self._tokens), len(ids)
        tensor = openvino().Tensor
        values = {
            "input_ids": np.array([ids], np.int64),  # [1, count]
            "attention_mask": np.array([[*self._mask, *[1] * count]], np.int64),  # [1, slots + count]
            "position_ids": np.arange(past, past + count, dtype=np.int64)[None],  # [1, count]
            "beam_idx": np.zeros(1, np.int32),
            CHOSEN_ROWS: np.arange(count - rows, count, dtype=np.int64),
        }
        for name in self._inputs & values.keys():
            self._request.set_tensor(name, tensor(values[name]))

    def _recover(self, cancelled: int) -> None:
        """How far the states of a cancelled call got is unknown: start from nothing."""
        self._clear()
        self._finished = unlike(self._finished, cancelled)
        self._set_inputs([0] * self._finished, rows=1)
        self._request.infer()
        self._clear()

    def _clear(self) -> None:
        self._request.reset_state()
        self._tokens.clear()
        self._mask.clear()

    def _compact(self) -> None:
        """Drop the masked slots from every state: [1, heads, slots, size]."""
        kept = np.flatnonzero(self._mask)
        for state in self._request.query_state():
            data = np.ascontiguousarray(np.asarray(state.state.data)[:, :, kept, :])
            state.state = openvino().Tensor(data)
        self._mask = [1] * len(self._tokens)
