"""Layers that keep a state of a text beside keys and values: short convolutions and gated delta rules.

Such a state cannot be taken back, as fewer keys are. So each layer keeps its states at some places of the text, and its
inputs from there on: the state at a place between them is computed again, by the same steps and so to the bit.
"""

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import RECURRENCE, computed_operation, openvino
from headstart.engine.kernels.library import KernelRecurrence, Library

Floats = NDArray[np.float32]
CONVOLUTION, DELTA = "convolution", "delta"  # what a layer computes

_STEP = 32  # tokens between two states at the end of a text
_BACK = 96  # tokens at the end of a text whose inputs are kept: more than a pass of guesses has
_PART = 256  # tokens between two states of all of a text: those of a part of the prefix cache
_LARGE = 1 << 16  # numbers of a state of which few copies are kept
_UNCHECKED = np.errstate(over="ignore", invalid="ignore")  # logits that are not finite are refused later
_EPSILON = np.float32(1e-6)  # of the lengths of queries and keys


class StateUpdate:
    """The rule by which a layer updates its state, which is one array of numbers."""

    width: int  # values of an input
    output_width: int  # values of an output
    threads = 1

    def __init__(self, layer: KernelRecurrence, kernels: Library | None) -> None:
        """`kernels` compute the `layer` if they support its sizes, else NumPy."""
        self.layer = layer
        self._kernels = kernels if kernels and kernels.has_recurrence(layer) else None

    def start(self) -> Floats:
        """Return the state before the first token."""
        raise NotImplementedError

    def advance(self, state: Floats, x: Floats, out: Floats) -> Floats:
        """Return the state after the tokens x [tokens, width], and write the outputs, [tokens, output_width], to `out`.

        Each token takes the same steps whatever comes with it, so passes of all sizes agree to the bit.
        """
        if self._kernels:
            return self._kernels.recur(self.layer, x, state, out, self.threads)
        return self._compute(state, x, out)

    def _compute(self, state: Floats, x: Floats, out: Floats) -> Floats:
        raise NotImplementedError


class Convolution(StateUpdate):
    """A causal convolution: in each channel, the weighted sum of a token and a few tokens before it."""

    def __init__(self, weights: Floats, kernels: Library | None = None) -> None:
        """`weights`: [width, taps], the newest token last."""
        self._weights: Floats = np.ascontiguousarray(weights.T)
        self._taps, self.width = self._weights.shape
        self.output_width = self.width
        super().__init__(KernelRecurrence(0, self.width, self._taps, weights=self._weights.ctypes.data), kernels)

    def start(self) -> Floats:
        return np.zeros((self._taps - 1) * self.width, np.float32)

    @_UNCHECKED
    def _compute(self, state: Floats, x: Floats, out: Floats) -> Floats:
        rows = np.concatenate([state.reshape(-1, self.width), x])
        np.multiply(rows[: len(x)], self._weights[0], out=out)
        for tap in range(1, self._taps):
            out += rows[tap : tap + len(x)] * self._weights[tap]
        return rows[len(x) :].reshape(-1)


class DeltaRule(StateUpdate):
    """A memory of values by keys, of which each token forgets a share and corrects a part (Yang et al. 2024).

    An input is [queries, keys, values, decay, correction]; a convolution over the first three comes before.
    """

    def __init__(
        self, weights: Floats, decays: Floats, biases: Floats, key_heads: int, kernels: Library | None = None
    ) -> None:
        """`weights`: of the convolution. `decays` and `biases`: [heads]; head h reads keys h % `key_heads`."""
        self._convolution = Convolution(weights)
        self._decays, self._biases = np.ascontiguousarray(decays), np.ascontiguousarray(biases)
        self._heads, self._key_heads = len(decays), key_heads
        self._size = self._convolution.width // (2 * key_heads + self._heads)
        self.width, self.output_width = self._convolution.width + 2 * self._heads, self._heads * self._size
        layer = KernelRecurrence.from_buffer_copy(self._convolution.layer)
        layer.heads, layer.key_heads, layer.size = self._heads, key_heads, self._size
        layer.decays, layer.biases = self._decays.ctypes.data, self._biases.ctypes.data
        super().__init__(layer, kernels)

    def start(self) -> Floats:
        memory = np.zeros(self._heads * self._size**2, np.float32)
        return np.concatenate([self._convolution.start(), memory])

    @_UNCHECKED
    def _compute(self, state: Floats, x: Floats, out: Floats) -> Floats:
        channels, split = self._convolution.width, len(self._convolution.start())
        mixed: Floats = np.empty((len(x), channels), np.float32)
        rows = self._convolution.advance(state[:split], x[:, :channels], mixed)
        mixed *= _sigmoid(mixed)
        decays, shares = np.split(x[:, channels:], 2, axis=1)
        decays = np.exp(self._decays * np.logaddexp(np.float32(0.0), decays + self._biases))
        both = mixed[:, : 2 * self._key_heads * self._size].reshape(-1, self._size)
        lengths = np.sqrt((both * both).sum(1) + _EPSILON).reshape(len(x), 2, self._key_heads, 1)
        lengths[:, 0] *= np.float32(self._size**0.5)
        heads = mixed.reshape(len(x), -1, self._size)
        heads[:, : 2 * self._key_heads] /= lengths.reshape(len(x), -1, 1)
        after = np.concatenate([rows, state[split:]])
        memory = after[len(rows) :].reshape(self._heads, self._size, self._size)
        given = out.reshape(len(x), self._heads, self._size)
        for token, (head, decay, share) in enumerate(zip(heads, decays, _sigmoid(shares), strict=True)):
            pair = np.split(head[: 2 * self._key_heads], 2)
            queries, keys = (np.tile(each, (self._heads // self._key_heads, 1)) for each in pair)
            memory *= decay[:, None, None]
            missing = head[2 * self._key_heads :] - np.einsum("hkv,hk->hv", memory, keys)
            memory += keys[:, :, None] * (missing * share[:, None])[:, None, :]
            np.einsum("hkv,hk->hv", memory, queries, out=given[token])
        return after


def _sigmoid(x: Floats) -> Floats:
    return np.float32(1.0) / (np.float32(1.0) + np.exp(-x))


def kept_bytes(size: int, width: int, tokens: int, pass_tokens: int) -> int:
    """Return the most bytes that a layer keeps of a text, which is read in passes of so many tokens.

    These are states of `size` numbers, and the last inputs, of `width` numbers.
    """
    parts, in_pass = tokens // _PART, pass_tokens // _PART
    kept = parts.bit_length() + 4 + _BACK // _STEP if size > _LARGE else parts + _BACK  # as _Memory._forget has them
    states = 1 + kept + in_pass
    return (states * size + 2 * _BACK * width) * np.dtype(np.float32).itemsize


class _Memory:
    """The states of a layer in one sequence, and its last inputs."""

    def __init__(self, rule: StateUpdate) -> None:
        self._rule = rule
        self._states = {0: rule.start()}  # by the tokens before them
        self._is_large = self._states[0].size > _LARGE
        self._rows: Floats = np.empty((2 * _BACK, rule.width), np.float32)
        self._first = self._count = 0  # the place of the first row, and the number of rows
        self._branches: Floats = self._rows[:0]  # inputs of the last pass

    def known(self, length: int) -> int:
        """Return the last place up to `length` at which the state is known."""
        nearest = self._nearest(length)
        return max(nearest, min(length, self._first + self._count)) if nearest >= self._first else nearest

    def at(self, place: int) -> Floats:
        """Return the state at a known place."""
        nearest = self._nearest(place)
        state = self._states[nearest]
        if nearest < place:
            assert self.known(place) == place
            rows = self._rows[nearest - self._first : place - self._first]
            state = self._states[place] = self._advance(state, rows)
        return state

    def truncate(self, length: int) -> None:
        """Forget all that comes after the first tokens."""
        self._states = {place: state for place, state in self._states.items() if place <= length}
        self._count = max(min(self._count, length - self._first), 0)

    def keep(self, place: int, number: int) -> None:
        """Append a branch of the last pass, by number, at its place."""
        self.truncate(place)
        state = self.at(place)
        self._append(place, self._branches[number : number + 1])
        self._states[place] = state

    def restore(self, place: int, state: Floats) -> None:
        """Go on with a state that was saved at a place behind all that is known."""
        self._states[place] = state

    def run(self, past: int, x: Floats, branches: Sequence[int], out: Floats) -> None:
        """Compute a pass behind the first `past` tokens. The last inputs belong to branches, at these places in it."""
        self.truncate(past)
        stop = past + len(x) - len(branches)
        state, place = self.at(past), past
        self._states[past] = state
        while place < stop:
            end = min(stop, place - place % _STEP + _STEP)
            part = slice(place - past, end - past)
            state, place = self._rule.advance(state, x[part], out[part]), end
            if end % _PART == 0 or end > stop - _BACK:
                self._states[end] = state
        self._append(past, x[: stop - past])
        for row, branch in enumerate(branches, start=stop - past):
            self._rule.advance(self.at(past + branch), x[row : row + 1], out[row : row + 1])
        self._branches = x[stop - past :].copy()
        self._forget(past, stop)

    def _nearest(self, length: int) -> int:
        return max(place for place in self._states if place <= length)

    def _advance(self, state: Floats, rows: Floats) -> Floats:
        return self._rule.advance(state, rows, np.empty((len(rows), self._rule.output_width), np.float32))

    def _append(self, place: int, x: Floats) -> None:
        """Keep the inputs of the tokens from `place` on, and some before them."""
        stop, x = place + len(x), x[-_BACK:]
        if stop - len(x) != self._first + self._count:
            self._first, self._count = stop - len(x), 0
        elif self._count + len(x) > len(self._rows):
            dropped = self._count - _BACK
            self._rows[:_BACK] = self._rows[dropped : self._count].copy()
            self._first, self._count = self._first + dropped, _BACK
        self._rows[self._count : self._count + len(x)] = x
        self._count += len(x)

    def _forget(self, past: int, stop: int) -> None:
        """Drop states from which no text is likely to continue."""
        parts = [place for place in self._states if place % _PART == 0]
        if self._is_large:  # the last ones, and fewer and fewer before them
            parts = [place for place in parts if place & (place - 1) == 0 or place > stop - 2 * _PART]
            recent = [past, stop]
        else:
            recent = [place for place in self._states if place > stop - _BACK]
        steps = [place for place in self._states if place % _STEP == 0 and place > stop - _BACK]
        kept = {0, *parts, *recent, *steps}
        self._states = {place: state for place, state in self._states.items() if place in kept}


@dataclass(frozen=True)
class SequencePart:
    """The part of a sequence in a pass."""

    sequence: int  # its number
    past: int  # tokens before it
    tokens: int
    branches: Sequence[int] = ()  # places in it of the tokens that follow


class States:
    """The states of all layers of a compiled model, for each sequence. A model without such layers has none."""

    def __init__(self, rules: Sequence[StateUpdate] = ()) -> None:
        self._rules = rules
        self._layers = [defaultdict[int, _Memory](functools.partial(_Memory, rule)) for rule in rules]
        self._sizes = [rule.start().size for rule in rules]
        self._parts: Sequence[SequencePart] = ()

    def __bool__(self) -> bool:
        return bool(self._layers)

    @property
    def size(self) -> int:
        """The number of values in the states of all layers."""
        return sum(self._sizes)

    def use(self, threads: int) -> None:
        """Compute in so many threads from now on."""
        for rule in self._rules:
            rule.threads = threads

    def begin(self, parts: Sequence[SequencePart]) -> None:
        """Begin a pass of these parts of sequences, in order."""
        self._parts = parts

    def run(self, layer: int, x: Floats, out: Floats) -> None:
        """Compute a layer in the pass: [tokens, width] to [tokens, output_width]."""
        start = 0
        for part in self._parts:
            stop = start + part.tokens + len(part.branches)
            self._layers[layer][part.sequence].run(part.past, x[start:stop], part.branches, out[start:stop])
            start = stop
        assert start == len(x)

    def known(self, sequence: int, length: int) -> int:
        """Return the last place up to `length` at which all states are known.

        A cancelled pass leaves some layers behind others.
        """
        while (place := min((layer[sequence].known(length) for layer in self._layers), default=length)) < length:
            length = place
        return length

    def truncate(self, sequence: int, length: int) -> None:
        """Forget all that comes after the first tokens."""
        for layer in self._layers:
            layer[sequence].truncate(length)

    def keep(self, sequence: int, place: int, number: int) -> None:
        """Append a branch of the last pass, by number, at its place."""
        for layer in self._layers:
            layer[sequence].keep(place, number)

    def save(self, sequence: int, place: int) -> Floats:
        """Return the states at a place as one array; an empty one if they are not known."""
        if self.known(sequence, place) < place:
            return np.zeros(0, np.float32)
        return np.concatenate([layer[sequence].at(place) for layer in self._layers])

    def restore(self, sequence: int, place: int, saved: Floats) -> None:
        """Go on with states that were saved at a place, behind all that is known."""
        parts = np.split(saved, np.cumsum(self._sizes)[:-1])
        for layer, state in zip(self._layers, parts, strict=True):
            layer[sequence].restore(place, state.copy())


def replace_recurrences(model: Any, kernels: Library | None) -> States:
    """Replace the layers that keep states by operations that compute them; return their states."""
    nodes = [node for node in model.get_ordered_ops() if node.get_type_name() == RECURRENCE]
    states = States([_rule(node, kernels) for node in nodes])
    for number, node in enumerate(nodes):
        new = _operation()([node.input_value(0)], functools.partial(states.run, number), node)
        new.set_friendly_name(node.get_friendly_name())
        for reader in list(node.output(0).get_target_inputs()):
            reader.replace_source_output(new.output(0))
    if nodes:
        model.validate_nodes_and_infer_types()
    return states


def sizes(model: Any) -> Sequence[tuple[int, int]]:
    """Return the numbers of a state and of an input of each layer that keeps states."""
    nodes = [node for node in model.get_ordered_ops() if node.get_type_name() == RECURRENCE]
    rules = [_rule(node, None) for node in nodes]
    return [(rule.start().size, rule.width) for rule in rules]


def _rule(node: Any, kernels: Library | None) -> StateUpdate:
    weights, *vectors = (np.array(value.get_node().data, np.float32) for value in node.input_values()[1:])
    attributes = node.get_attributes()
    if attributes["rule"] == CONVOLUTION:
        return Convolution(weights, kernels)
    decays, biases = vectors
    return DeltaRule(weights, decays, biases, int(attributes["key_heads"]), kernels)


@functools.cache
def _operation() -> Any:
    """Return the class of the operation that computes a layer and keeps its states."""
    ov = openvino()

    class HeadstartRecurrence(computed_operation()):  # type: ignore[misc]
        def validate_and_infer_types(self) -> None:
            _, node = self.parts
            shape = self.get_input_partial_shape(0)
            shape[len(shape) - 1] = node.get_output_partial_shape(0)[-1]
            self.set_output_type(0, ov.Type.f32, shape)

        def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
            run, _ = self.parts
            x, out = inputs[0].data, outputs[0].data
            run(x.reshape(-1, x.shape[-1]), out.reshape(-1, out.shape[-1]))
            return True

    return HeadstartRecurrence
