"""Short convolutions, and the last inputs of them that a model keeps of each text.

A smaller number of tokens does not take such a state back, as it does keys and values. So it is known after each of
the last tokens, where guesses end, and as a snapshot at every full part of a text. A text can be cut at these places.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.runtime import SHORT_CONVOLUTION, openvino

Floats = NDArray[np.float32]

PART = 256  # tokens between two snapshots: those of a part of the prefix cache
_BACK = 64  # tokens behind which a text can be cut at any place: more than a pass of guesses has
_PLACES = ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins")


class Convolution:
    """A causal convolution over a few tokens, for each number of a token's width, and its state for each sequence.

    A sequence is known by its first block of keys and values. Sums have one order, so passes agree to the bit.
    """

    def __init__(self, weights: Floats) -> None:
        """`weights`: [width, taps], the newest token last."""
        self._weights: Floats = np.ascontiguousarray(weights.T)
        self._taps, self.width = self._weights.shape
        self._start = -(self._taps - 1), np.zeros((self._taps - 1, self.width), np.float32)
        self._recent: dict[int, tuple[int, Floats]] = {}  # the place of the first row, and the rows
        self._snapshots: dict[int, dict[int, Floats]] = {}  # the rows before a place, by it

    @property
    def size(self) -> int:
        """The bytes of a snapshot."""
        return self._start[1].nbytes

    def last_known(self, sequence: int, length: int) -> int:
        """Return the last place up to `length` where the state is known."""
        if self._before(sequence, length) is not None:
            return length
        return max((place for place in self._snapshots.get(sequence, ()) if place <= length), default=0)

    def snapshot(self, sequence: int, place: int) -> Floats:
        """Return the rows before a place where the state is known."""
        rows = self._before(sequence, place)
        assert rows is not None
        return rows

    def restore(self, sequence: int, place: int, rows: Floats) -> None:
        """Go on at a place behind which these rows stand."""
        self._recent[sequence] = place - len(rows), rows
        self._snapshots.setdefault(sequence, {})[place] = rows

    def run(self, x: Floats, places: Sequence[NDArray[Any]], out: Floats) -> None:
        """Compute the sums of [tokens, width]. `places`: the arrays of _PLACES."""
        past, begins, blocks, block_begins = places
        for number, length in enumerate(past.tolist()):
            start, stop = int(begins[number]), int(begins[number + 1])
            sequence = int(blocks[block_begins[number]])
            before = self._before(sequence, length)
            if before is None:
                raise RuntimeError(f"the state before token {length} is not known")
            rows = np.concatenate([before, x[start:stop]])
            out[start:stop] = rows[: stop - start] * self._weights[0]
            for tap in range(1, self._taps):
                out[start:stop] += rows[tap : tap + stop - start] * self._weights[tap]
            self._keep(sequence, length, x[start:stop], rows)

    def _before(self, sequence: int, place: int) -> Floats | None:
        first, rows = self._recent.get(sequence, self._start) if place else self._start
        taken = rows[place - first - self._taps + 1 : place - first] if place - first >= self._taps - 1 else rows[:0]
        return taken if len(taken) == self._taps - 1 else self._snapshots.get(sequence, {}).get(place)

    def _keep(self, sequence: int, length: int, new: Floats, rows: Floats) -> None:
        """Keep what a pass of the tokens `new` leaves; `rows` are those before them, and themselves."""
        first, recent = self._recent.get(sequence, self._start) if length else self._start
        stop, least = length - first, self._taps - 1
        older = recent[max(stop - _BACK - least, 0) : stop] if least <= stop <= len(recent) else rows[:least]
        self._recent[sequence] = length - len(older), np.concatenate([older, new])
        kept = {place: each for place, each in self._snapshots.get(sequence, {}).items() if place <= length}
        for place in range(length - length % PART + PART, length + len(new) + 1, PART):
            kept[place] = rows[place - length : place - length + self._taps - 1].copy()
        self._snapshots[sequence] = kept


def has_states(model: Any) -> bool:
    """Return whether a model keeps more of a text than keys and values."""
    return any(node.get_type_name() == SHORT_CONVOLUTION for node in model.get_ordered_ops())


def replace_convolutions(model: Any) -> list[Convolution]:
    """Replace the short convolutions of a paged model by operations that keep their states; return these in order.

    Raises RuntimeError for a model without pages.
    """
    nodes = [node for node in model.get_ordered_ops() if node.get_type_name() == SHORT_CONVOLUTION]
    parameters = {node.get_friendly_name(): node.output(0) for node in model.get_parameters()}
    if nodes and not set(_PLACES) <= parameters.keys():
        raise RuntimeError("a short convolution needs pages of keys and values")
    convolutions = []
    for node in nodes:
        convolution = Convolution(np.array(node.input_value(1).get_node().data, np.float32))
        new = _operation()([node.input_value(0), *(parameters[name] for name in _PLACES)], convolution)
        new.set_friendly_name(node.get_friendly_name())
        for reader in list(node.output(0).get_target_inputs()):
            reader.replace_source_output(new.output(0))
        convolutions.append(convolution)
    if nodes:
        model.validate_nodes_and_infer_types()
    return convolutions


@functools.cache
def _operation() -> Any:
    """Return the class of the operation that computes a short convolution and keeps its state."""
    ov = openvino()

    class HeadstartConvolution(ov.Op):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: Sequence[Any], convolution: Convolution) -> None:
            super().__init__(self)
            self._convolution = convolution
            self.set_arguments(list(inputs))
            self.constructor_validate_and_infer_types()

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, ov.Type.f32, self.get_input_partial_shape(0))

        def clone_with_new_inputs(self, inputs: Sequence[Any]) -> Any:
            return HeadstartConvolution(inputs, self._convolution)

        def has_evaluate(self) -> bool:
            return True

        def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
            x, *places = (tensor.data for tensor in inputs)
            rows = x.reshape(-1, x.shape[-1])
            self._convolution.run(rows, places, outputs[0].data.reshape(rows.shape))
            return True

    return HeadstartConvolution
