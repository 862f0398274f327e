"""The OpenVINO operation that runs some steps of the library, and the packed weights that it reads."""

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_float, c_int32, c_void_p, pointer
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import computed_operation, openvino
from headstart.engine.kernels.library import (
    BLOCK,
    Activation,
    Bytes,
    KernelAttention,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Matrix,
    Sequences,
    Tickets,
    Weights,
    large_pages,
)
from headstart.engine.kernels.windows import Windows

_PLACES = 6  # arrays of hk_sequences
_FEW_BITS = 8  # of keys and values
_UNEVEN = 300.0  # times the mean square that a row would give if normalized activations were independent of each other
_BUFFERS = ("key", "value", "cosine", "sine", "factor")  # of hk_attention
_PART = 256  # blocks of rows that one thread packs at a time


@dataclass(frozen=True)
class PlannedStep:
    """A step before its weights are packed. `outputs`: a buffer for each of the weights, or one for a gated product."""

    kind: Kind
    activation: Activation
    input: int
    residual: int
    outputs: Sequence[int]
    weights: Sequence[Weights]
    biases: Sequence[NDArray[np.float32] | None]
    gain: NDArray[np.float32] | None
    epsilon: float
    attention: KernelAttention | None = None
    arrays: Sequence[NDArray[np.float32]] = ()  # that the attention points to

    @property
    def reads(self) -> set[int]:
        a = self.attention
        further = {getattr(a, name) for name in _BUFFERS} if a else set[int]()
        return {self.input, self.residual, *further} - {-1}

    def moved(self, places: Mapping[int, int]) -> "PlannedStep":
        """Return the same step over buffers with other numbers."""
        attention = None
        if (a := self.attention) is not None:
            attention = KernelAttention.from_buffer_copy(a)
            for name in _BUFFERS:
                setattr(attention, name, places.get(getattr(a, name), getattr(a, name)))
        outputs = [places[buffer] for buffer in self.outputs]
        residual = places.get(self.residual, self.residual)
        return replace(self, input=places[self.input], residual=residual, outputs=outputs, attention=attention)


@dataclass
class Layout:
    """Steps over numbered buffers: the inputs, the outputs, then the buffers inside."""

    widths: Sequence[int]
    inputs: int
    outputs: int
    steps: list[PlannedStep] = field(default_factory=list)

    def shared(self) -> "Layout":
        """Return the same layout with fewer buffers inside: a buffer that is not read any more is used again."""
        outside = self.inputs + self.outputs
        last = {buffer: number for number, step in enumerate(self.steps) for buffer in step.reads}
        places, widths = {number: number for number in range(outside)}, list(self.widths[:outside])
        free = defaultdict[int, list[int]](list)  # by width
        for number, step in enumerate(self.steps):
            for buffer in step.outputs:
                if buffer not in places:
                    width = self.widths[buffer]
                    if not free[width]:
                        free[width].append(len(widths))
                        widths.append(width)
                    places[buffer] = free[width].pop()
            for buffer in step.reads:
                if buffer >= outside and last[buffer] == number:
                    free[self.widths[buffer]].append(places[buffer])
        return Layout(widths, self.inputs, self.outputs, [step.moved(places) for step in self.steps])


class CompiledSteps:
    """Steps with their packed weights, ready to run.

    `weights` are those that a run reads. `attentions`: `KvCache` gives them room before the first run.
    """

    def __init__(self, library: Library, layout: Layout, steps: Sequence["_PackedStep"]) -> None:
        self.widths = list(layout.widths[: layout.inputs + layout.outputs])
        self.inputs = layout.inputs
        self.weights = [step.room for step in steps if step.size]
        self.attentions = [step.planned.attention for step in steps if step.planned.attention]
        self.threads, self.tickets = 1, Tickets()
        self.windows: Windows | None = None  # None: layers with a window have the blocks of all others
        self._library = library
        # Not the weights as they were.
        self._kept = [(step.room, step.kept, step.planned.arrays) for step in steps]
        self._orders = [_order_keys(library, steps, number) for number in range(len(steps))]
        self._steps = (KernelStep * len(steps))(*(step.step() for step in steps))
        self._all_widths = (c_int32 * len(layout.widths))(*layout.widths)

    def matrix(self, step: int) -> Matrix:
        """Return the packed weights of a step."""
        matrix: Matrix = self._steps[step].matrix
        return matrix

    @property
    def products(self) -> int:
        """The number of weights that a run multiplies by each token."""
        return sum(step.matrix.rows * step.matrix.cols for step in self._steps)

    def run(self, arrays: Sequence[NDArray[np.float32]], places: Sequence[NDArray[Any]] = ()) -> None:
        """Compute the outputs, which follow the inputs: [.., width] each.

        `places`, for attention: the arrays of hk_sequences in its order; without the last two there are no branches.
        """
        tokens, sequences = arrays[0].size // arrays[0].shape[-1], None
        if places:
            begins = places[1]
            without = () if len(places) == _PLACES else (begins[:0], np.zeros_like(begins))
            windows = [self.windows.blocks] if self.windows else []
            sequences = pointer(Sequences(places[0].size, *map(_address, (*places, *without, *windows))))
        ticket = self.tickets.current
        program = KernelProgram(
            self._steps,
            len(self._steps),
            self._all_widths,
            len(self._all_widths),
            len(self.widths),
            sequences,
            pointer(ticket.cancelled) if ticket else None,
        )
        addresses = (c_void_p * len(self.widths))(*map(_address, arrays))
        self._library.run(program, tokens, addresses, self.threads)


def _order_keys(library: Library, steps: Sequence["_PackedStep"], number: int) -> NDArray[np.int16] | None:
    """Set and return the order of the key channels of an attention with an 8-bit cache: by expected magnitude.

    Channels that are rotated together stay neighbours. Return None, and set no order, for keys of an unknown step.
    """
    attention = steps[number].planned.attention
    if attention is None or attention.bits != _FEW_BITS:
        return None
    writer = next((step for step in reversed(steps[:number]) if attention.key in step.planned.outputs), None)
    sizes = writer.sizes(library, attention.key) if writer else None
    if sizes is None:
        return None
    if attention.key_gain:
        gain = np.ctypeslib.as_array((c_float * attention.size).from_address(attention.key_gain))
        sizes = sizes.reshape(attention.kv_heads, -1) * gain**2
    halves = sizes.reshape(attention.kv_heads, 2, attention.size // 2)
    pairs = np.argsort(halves.sum(axis=1), axis=1, kind="stable")
    order = np.stack([pairs, pairs + attention.size // 2], axis=2).astype(np.int16)
    attention.key_order = order.ctypes.data
    return order


def pack(library: Library, layouts: Sequence[Layout], threads: int) -> list[CompiledSteps]:
    """Pack the weights of all layouts into large pages, in some threads."""
    packed = [[_PackedStep.of(library, step) for step in layout.steps] for layout in layouts]
    steps = [step for of_layout in packed for step in of_layout]
    room, start = large_pages(sum(step.size for step in steps)), 0
    for step in steps:
        step.room = room[start : start + step.size]
        start += step.size
    with ThreadPoolExecutor(threads, "pack") as pool:
        for future in [pool.submit(library.pack, *part) for step in steps for part in step.parts()]:
            future.result()
    return [CompiledSteps(library, layout, of_layout) for layout, of_layout in zip(layouts, packed, strict=True)]


Place = tuple[int, int]  # a block of keys and values, and a token of it


class KvCache:
    """The keys and values of our own attention, in blocks of BLOCK tokens."""

    def __init__(
        self, library: Library, attentions: Sequence[KernelAttention], blocks: int, windows: Windows | None = None
    ) -> None:
        """Give each attention room for this many blocks; memory is used as it fills."""
        self._library, self._attentions, self.windows = library, attentions, windows
        self.has_window = [bool(windows and attention.window) for attention in attentions]
        if windows:
            windows.grow(blocks)
        self.layers: list[Bytes] = []  # [blocks, bytes of a block]
        for attention in attentions:
            size = attention.kv_heads * library.kv_record_size(attention.size, attention.bits)
            self.layers.append(large_pages(blocks * size).reshape(blocks, size))
            attention.cache, attention.blocks = self.layers[-1].ctypes.data, blocks

    def move(self, place: Place, target: Place, *, in_windows: bool = False) -> None:
        """Copy a token's keys and values to another place, in the layers without a window or in those with one."""
        for attention, has_window in zip(self._attentions, self.has_window, strict=True):
            if has_window == in_windows:
                self._library.move_kv(attention, place, target)


class Rows:
    """The rows of a packed matrix, such as the embeddings of tokens."""

    def __init__(self, library: Library, matrix: Matrix, count: int, owner: object) -> None:
        """`owner` keeps the memory of the matrix."""
        self.width, self.count = int(matrix.cols), count
        self._library, self._matrix, self._owner = library, matrix, owner

    @classmethod
    def packed(cls, library: Library, weights: Weights, threads: int) -> Self:
        """Pack a matrix of its own."""
        size = library.block_size(weights)
        room = large_pages(size * weights.blocks)
        with ThreadPoolExecutor(threads, "pack") as pool:
            starts = range(0, weights.blocks, _PART)
            parts = [(weights, room, size, first, min(first + _PART, weights.blocks)) for first in starts]
            for future in [pool.submit(library.pack, *part) for part in parts]:
                future.result()
        matrix = Matrix(weights.format, weights.group, weights.rows, weights.cols, room.ctypes.data)
        return cls(library, matrix, weights.rows, room)

    def look_up(self, numbers: NDArray[Any], out: NDArray[np.float32]) -> None:
        """Unpack rows by their numbers, [..], to `out`, [.., width]. Raises IndexError."""
        address, size = _address(out), self.width * out.itemsize
        for place, number in enumerate(numbers.reshape(-1).tolist()):
            if not 0 <= number < self.count:
                raise IndexError(f"there is no row {number} among {self.count}")
            self._library.unpack_row(self._matrix, number, address + place * size)


@dataclass
class _PackedStep:
    """A step, and the place of its packed weights."""

    planned: PlannedStep
    block: int  # bytes
    room: Bytes = field(default_factory=lambda: np.empty(0, np.uint8))
    kept: list[NDArray[np.float32]] = field(default_factory=list)

    @classmethod
    def of(cls, library: Library, planned: PlannedStep) -> Self:
        return cls(planned, library.block_size(planned.weights[0]) if planned.weights else 0)

    @property
    def size(self) -> int:
        return self.block * sum(weight.blocks for weight in self.planned.weights)

    def parts(self) -> Iterator[tuple[Weights, Bytes, int, int, int]]:
        """Yield arguments of Library.pack. Blocks of a gate and its up alternate; other weights follow each other."""
        alternate = self.planned.kind is Kind.GATED
        stride, start = self.block * (2 if alternate else 1), 0
        for weights in self.planned.weights:
            for first in range(0, weights.blocks, _PART):
                yield weights, self.room[start:], stride, first, min(first + _PART, weights.blocks)
            start += self.block if alternate else self.block * weights.blocks

    def step(self) -> KernelStep:
        planned = self.planned
        step = KernelStep(planned.kind, planned.activation, planned.input, planned.residual, len(planned.outputs))
        step.outputs[: len(planned.outputs)] = planned.outputs
        step.epsilon = planned.epsilon
        if planned.attention:
            step.attention = pointer(planned.attention)
        if planned.gain is not None:
            step.gain = self._keep(planned.gain)
        if planned.weights:
            first = planned.weights[0]
            step.rows[: len(planned.outputs)] = [weight.rows for weight in planned.weights[: len(planned.outputs)]]
            rows = BLOCK * sum(weight.blocks for weight in planned.weights)
            step.matrix = Matrix(first.format, first.group, rows, first.cols, self.room.ctypes.data)
        if any(bias is not None for bias in planned.biases):
            padded = np.zeros(sum(weight.blocks for weight in planned.weights) * BLOCK, np.float32)
            start = 0
            for weights, bias in zip(planned.weights, planned.biases, strict=True):
                if bias is not None:
                    padded[start : start + weights.rows] = bias
                start += weights.blocks * BLOCK
            step.bias = self._keep(padded)
        return step

    def sizes(self, library: Library, output: int) -> NDArray[np.float64] | None:
        """Return the expected mean squares of an output's channels, [width], up to a factor; None if unknown."""
        planned = self.planned
        if planned.kind is Kind.NORM and planned.gain is not None:
            return planned.gain.astype(np.float64) ** 2
        if planned.kind is not Kind.LINEAR or planned.residual >= 0:
            return None
        number = list(planned.outputs).index(output)
        weights, bias = planned.weights[number], planned.biases[number]
        start = self.block * sum(before.blocks for before in planned.weights[:number])
        matrix = Matrix(weights.format, weights.group, weights.rows, weights.cols, self.room[start:].ctypes.data)
        rows = library.unpack(matrix) * (1.0 if planned.gain is None else planned.gain)
        sizes: NDArray[np.float64] = _UNEVEN * np.einsum("rc,rc->r", rows, rows, dtype=np.float64)
        if bias is not None:
            sizes += bias.astype(np.float64) ** 2
        return sizes

    def _keep(self, values: NDArray[np.float32]) -> int:
        self.kept.append(np.ascontiguousarray(values, np.float32))
        return int(self.kept[-1].ctypes.data)


def _address(array: NDArray[Any]) -> int:
    """Return the address of the first number; `ctypes.data` takes several times as long."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


@functools.cache
def operation() -> Any:
    """Return the class of the operation. OpenVINO is imported only when a model is loaded.

    Its outputs are never given a shape here: OpenVINO has done so by `validate_and_infer_types`, and doing it again
    takes longer than a small product.
    """
    ov = openvino()

    class HeadstartKernel(computed_operation()):  # type: ignore[misc]
        def validate_and_infer_types(self) -> None:
            (piece,), shape = self.parts, self.get_input_partial_shape(0)
            widths = piece.widths[piece.inputs :]
            self.set_output_size(len(widths))
            for number, width in enumerate(widths):
                shape[len(shape) - 1] = width
                self.set_output_type(number, ov.Type.f32, shape)

        def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
            (piece,), arrays = self.parts, [tensor.data for tensor in inputs]
            piece.run([*arrays[: piece.inputs], *(tensor.data for tensor in outputs)], arrays[piece.inputs :])
            return True

    return HeadstartKernel


@functools.cache
def lookup_operation() -> Any:
    """Return the class of the operation that takes rows of a packed matrix by their numbers."""
    ov = openvino()

    class HeadstartLookup(computed_operation()):  # type: ignore[misc]
        def validate_and_infer_types(self) -> None:
            shape = [*self.get_input_partial_shape(0), ov.Dimension(self.parts[0].width)]
            self.set_output_type(0, ov.Type.f32, ov.PartialShape(shape))

        def evaluate(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
            (rows,), numbers = self.parts, inputs[0].data
            outputs[0].shape = [*numbers.shape, rows.width]
            rows.look_up(numbers, outputs[0].data)
            return True

    return HeadstartLookup
