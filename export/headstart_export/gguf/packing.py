"""Weights of a GGUF file in the forms that an OpenVINO model stores, converted a few rows at a time.

`gguf` keeps the file's own blocks, which Headstart's kernels read; `int8` has a scale and a zero point for each row;
`int4` is symmetric by groups, with INT8 embeddings and output head; `int4-mixed` also makes INT8 of what the file
stores in more bits than most of its layers; `fp16` is the weights. `EXACT` is what quality is measured against: blocks,
of which `dequantize_when_read` makes f32, and 16 bits for types that have none.
"""

import functools
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import computed_operation, gguf_weights
from headstart.engine.kernels import blocks
from headstart.engine.kernels.library import Format
from headstart.errors import ExportError
from headstart_export.progress import Advance

MIXED = "int4-mixed"
FORMS = ("gguf", "int8", "int4", MIXED, "fp16")
EXACT = "exact"
BLOCKS = frozenset(format_.name for format_ in Format if format_.is_gguf)  # types that the kernels know
LIKE = {"MXFP4": "Q5_0"}  # types whose weights are whole multiples of a scale, as another type can store them
VOCABULARY = ("token_embd.weight", "output.weight")
_INT4_GROUPS = (128, 64, 32)
_PIECE = 1 << 18  # weights that are worked on at a time: they stay in the cache
_PLACE = 1 << 22  # bytes that are looked through at a time
_ALIGNMENT = 64  # bytes

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Arrays = tuple[NDArray[Any], ...]
Parts = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Packing:
    """The packing of a matrix in one form: values, then scales and zero points if it has any."""

    parts: Parts  # type and shape of a row of each
    pack: Callable[[Bytes], Arrays]  # from rows as the file has them to rows of each part


def packing(tensor: Any, form: str) -> Packing:
    width, kind = int(tensor.shape[0]), tensor.tensor_type.name
    row = int(tensor.n_bytes) * width // int(tensor.n_elements)  # bytes
    group = next((size for size in _INT4_GROUPS if width % size == 0), 0)
    parts: Parts
    if form == "gguf" and kind == "F32":
        return Packing((("f32", (width,)),), lambda data: (data.view(np.float32),))
    if form == "gguf" and kind in BLOCKS:
        return Packing((("u8", (row,)),), lambda data: (data,))
    if form == "gguf" and kind in LIKE:
        return Packing((("u8", (row // 17 * 22,)),), lambda data: (_q5_0(data),))
    if form == "fp16":
        return Packing((("f16", (width,)),), lambda data: (_dequantize(tensor, data).astype(np.float16),))
    if form == "int4" and group and tensor.name not in VOCABULARY:
        parts = (("i4", (width // group, group)), ("f16", (width // group, 1)))
        return Packing(parts, lambda data: _int4(_dequantize(tensor, data), group))
    return Packing((("u8", (width,)), ("f16", (1,)), ("u8", (1,))), lambda data: blocks.int8(_dequantize(tensor, data)))


def forms(tensors: Mapping[str, Any], form: str) -> dict[str, str]:
    """Return the form of each matrix, by name, in a model that is ordered in `form`."""
    matrices = {name: tensor for name, tensor in tensors.items() if len(tensor.shape) > 1}
    if form == EXACT:
        as_stored = BLOCKS | {"F32"}
        return {
            name: "gguf" if each.tensor_type.name in as_stored and len(each.shape) == 2 else "fp16"
            for name, each in matrices.items()
        }
    if form != MIXED:
        return dict.fromkeys(matrices, form)
    layers = [tensor for name, tensor in matrices.items() if name not in VOCABULARY]
    by_bits = sorted((tensor.n_bytes / tensor.n_elements, int(tensor.n_elements)) for tensor in layers)
    sums = np.cumsum([count for _, count in by_bits])
    usual = by_bits[int(np.searchsorted(sums, sums[-1] / 2))][0]  # bytes of the median weight
    return {name: "int8" if tensor.n_bytes / tensor.n_elements > usual else "int4" for name, tensor in matrices.items()}


def four_bit_group_and_share(tensors: Mapping[str, Any], form: str) -> tuple[int | None, float]:
    """Return the smallest group of 4-bit weights with one scale, and the share of 4-bit weights in the layers.

    None if a model of this form has no 4-bit weights.
    """
    chosen = forms(tensors, form)
    parts = {name: packing(tensors[name], chosen[name]).parts[0] for name in chosen}
    four_bit = {name: shape[-1] for name, (kind, shape) in parts.items() if kind in {"i4", "u4"}}
    counts = {name: int(tensors[name].n_elements) for name in chosen if name not in VOCABULARY}
    share = sum(count for name, count in counts.items() if name in four_bit) / max(sum(counts.values()), 1)
    return min(four_bit.values(), default=None), share


class PackedTensors:
    """The tensors of a file by name, as nodes of a graph over a file of their own.

    Both that file and this object must outlive the graph; the source file is closed at the end of the context.
    `advance` gets the number of bytes read from it.
    """

    def __init__(self, tensors: Mapping[str, Any], form: str, store: Path, advance: Advance) -> None:
        self._tensors, self._forms, self._store, self._advance = tensors, forms(tensors, form), store, advance
        self._done, self._total = 0, sum(int(tensor.n_bytes) for tensor in tensors.values())
        self._views: list[Any] = []
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, "weights")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._tensors = {}

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def vector(self, name: str, order: NDArray[np.int64] | None = None) -> Floats:
        """Return a tensor of one axis. `order`: the order in which its numbers are taken."""
        tensor = self._tensors[name]
        self._count(int(tensor.n_bytes))
        values = _dequantize(tensor, tensor.data.reshape(1, -1)).reshape(-1)
        _require_finite(name, values)
        return values if order is None else values[order]

    @property
    def keeps_blocks(self) -> bool:
        """True if matrices are stored as blocks, in nodes that only Headstart reads."""
        return "gguf" in self._forms.values()

    def full(self, name: str) -> Floats:
        """Return a small tensor, dequantized."""
        tensor = self._tensors[name]
        return self.vector(name).reshape(*_leading(tensor), int(tensor.shape[0]))

    def matrix(self, name: str, order: NDArray[np.int64] | None = None) -> Any:
        """Return a node that gives f32 [.., width]. `order`: the order in which rows of the matrix are taken."""
        import openvino

        operations, half = openvino.opset13, openvino.Type.f16
        tensor = self._tensors[name]
        width, kind = int(tensor.shape[0]), tensor.tensor_type.name
        if self._is_in_blocks(tensor):
            is_whole = order is None and kind in BLOCKS
            stored = self._in_place(tensor) if is_whole else self._stored(tensor, order)[0]
            node = gguf_weights()([stored.output(0)], type=LIKE.get(kind, kind), cols=width)
            node.set_friendly_name(f"self.{name}")
            return node
        stored = self._stored(tensor, order)
        if stored[0].get_element_type() == openvino.Type.f32:
            stored[0].set_friendly_name(f"self.{name}")
            return stored[0]
        values, *further = (
            part if part.get_element_type() == half else operations.convert(part, half) for part in stored
        )
        if len(further) == 2:
            values = operations.subtract(values, further[1])
        if further:
            values = operations.multiply(values, further[0])
        if len(values.get_output_shape(0)) > len(tensor.shape):  # by groups, of which a row may have one
            shape = operations.constant(np.array([*values.get_output_shape(0)[:-2], width], np.int64))
            values = operations.reshape(values, shape, special_zero=False)
        return operations.convert(values, openvino.Type.f32, name=f"self.{name}")

    def _is_in_blocks(self, tensor: Any) -> bool:
        return self._forms[tensor.name] == "gguf" and tensor.tensor_type.name in {*BLOCKS, *LIKE}

    def _in_place(self, tensor: Any) -> Any:
        """Return a constant that maps a matrix in the file."""
        import openvino

        data = _rows(tensor)
        step = max(1, _PLACE // data.shape[1])
        pieces = [data[start : start + step] for start in range(0, len(data), step)]
        are_finite = self._pool.map(lambda piece: blocks.are_finite(tensor.tensor_type.name, piece), pieces)
        for piece, is_finite in zip(pieces, are_finite, strict=True):
            _require(tensor.name, is_finite=is_finite)
            self._count(piece.size)
        stored = openvino.Tensor(data, openvino.Shape([*_leading(tensor), data.shape[1]]), openvino.Type.u8)
        self._views += [data, stored]
        return openvino.op.Constant(stored, shared_memory=True)

    def _stored(self, tensor: Any, order: NDArray[np.int64] | None) -> list[Any]:
        """Store a matrix, and return a constant for each of its parts."""
        packed = packing(tensor, self._forms[tensor.name])
        data = _rows(tensor)
        leading = _leading(tensor) if order is None else [len(order)]
        rows = math.prod(leading)
        step = max(1, _PIECE // int(tensor.shape[0]))
        starts = range(0, rows, step)
        sizes = [_bytes_of(*part) for part in packed.parts]  # of a row

        def pack(start: int) -> Arrays:
            chosen = slice(start, start + step) if order is None else order[start : start + step]
            with np.errstate(all="ignore"):  # of a damaged file; `_require_finite` sees it
                return packed.pack(data[chosen])

        with self._store.open("r+b") as stream:
            places = _places(stream.seek(0, os.SEEK_END), [rows * size for size in sizes])
            stream.truncate(places[-1])
            for start, arrays in zip(starts, self._pool.map(pack, starts), strict=True):
                if self._is_in_blocks(tensor):
                    kind = tensor.tensor_type.name
                    _require(tensor.name, is_finite=blocks.are_finite(LIKE.get(kind, kind), arrays[0]))
                else:
                    _require_finite(tensor.name, arrays[1] if len(arrays) > 1 else arrays[0])
                for size, place, array in zip(sizes, places, arrays, strict=False):
                    stream.seek(place + start * size)
                    stream.write(array.tobytes())
                self._count(min(step, rows - start) * data.shape[1])
        return [
            self._constant(kind, (*leading, *shape), place)
            for (kind, shape), place in zip(packed.parts, places, strict=False)
        ]

    def _constant(self, kind: str, shape: tuple[int, ...], place: int) -> Any:
        import openvino

        stored = np.memmap(self._store, np.uint8, "c", place, (_bytes_of(kind, shape),))
        tensor = openvino.Tensor(stored, openvino.Shape(list(shape)), getattr(openvino.Type, kind))
        self._views += [stored, tensor]
        return openvino.op.Constant(tensor, shared_memory=True)

    def _count(self, read: int) -> None:
        self._done += read
        self._advance(min(self._done, self._total), self._total)


def _rows(tensor: Any) -> Bytes:
    """Return a tensor's stored bytes: [rows, bytes]."""
    data: Bytes = tensor.data.view(np.uint8).reshape(math.prod(_leading(tensor)), -1)
    return data


def _leading(tensor: Any) -> list[int]:
    """Return all dimensions but the last."""
    return [int(size) for size in reversed(tensor.shape[1:])]


def dequantize_when_read(model: Any) -> None:
    """Replace blocks by operations that dequantize them to f32 in each pass, one matrix at a time."""
    for node in blocks.nodes_with_blocks(model):
        stored = blocks.weights_of(node)
        for reader in list(node.output(0).get_target_inputs()):
            user = reader.get_node()
            is_table = user.get_type_name() == "Gather"
            # A matrix takes the other factor for input, so that it is made when its turn comes, and no constant.
            source = user.input_value(1 if is_table else 1 - reader.get_index())
            numbers = _dequantized()([source], stored, node.get_friendly_name(), is_table)
            if is_table:
                user.output(0).replace(numbers.output(0))
            else:
                reader.replace_source_output(numbers.output(0))
    model.validate_nodes_and_infer_types()


@functools.cache
def _dequantized() -> Any:
    """Return the class of the operation that dequantizes blocks: all, or some rows of a table.

    Its parts: the weights, their name, and whether they are a table.
    """
    import openvino

    class Dequantized(computed_operation()):  # type: ignore[misc]
        def validate_and_infer_types(self) -> None:
            stored, _, is_table = self.parts
            rows = [*self.get_input_partial_shape(0)] if is_table else [openvino.Dimension(stored.rows)]
            shape = openvino.PartialShape([*rows, openvino.Dimension(stored.cols)])
            self.set_output_type(0, openvino.Type.f32, shape)

        def visit_attributes(self, visitor: Any) -> bool:
            visitor.on_attributes({"name": self.parts[1]})  # OpenVINO takes operations with equal inputs for one
            return True

        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            stored, _, is_table = self.parts
            data, kind, cols = stored.values, stored.format.name, stored.cols
            if is_table:
                numbers = inputs[0].data
                outputs[0].shape = [*numbers.shape, cols]
                outputs[0].data[:] = blocks.dequantize(kind, data[numbers.reshape(-1)]).reshape(*numbers.shape, cols)
                return True
            result, step = outputs[0].data, max(1, _PIECE // cols)

            def write(start: int) -> None:
                result[start : start + step] = blocks.dequantize(kind, data[start : start + step])

            with ThreadPoolExecutor(os.cpu_count() or 1, "weights") as pool:
                list(pool.map(write, range(0, len(data), step)))
            return True

    return Dequantized


def _bytes_of(kind: str, shape: tuple[int, ...]) -> int:
    return int(np.prod(shape)) * int(kind[1:]) // 8


def _require_finite(name: str, numbers: NDArray[Any]) -> None:
    _require(name, is_finite=bool(np.isfinite(numbers).all()))


def _require(name: str, *, is_finite: bool) -> None:
    if not is_finite:
        raise ExportError("{tensor} holds numbers that are not finite; fetch the file again.", tensor=name)


def _places(start: int, sizes: list[int]) -> list[int]:
    """Return the offsets of parts of these sizes, and the total."""
    places = []
    for size in sizes:
        start += -start % _ALIGNMENT
        places.append(start)
        start += size
    return [*places, start]


def _dequantize(tensor: Any, data: Bytes) -> Floats:
    import gguf

    values: Floats = gguf.dequantize(data, tensor.tensor_type)
    return values


def _q5_0(data: Bytes) -> Bytes:
    """Convert blocks of MXFP4 to blocks of Q5_0 with the same weights.

    Both have 32 weights a block. The scale of MXFP4 is 2^(e - 128) for multiples up to 12; outside the range of f16 it
    becomes infinite or loses bits, and the file is refused or such tiny weights become 0.
    """
    stored = data.reshape(-1, 17)
    codes = np.concatenate([stored[:, 1:] & 15, stored[:, 1:] >> 4], 1)  # the first 16 weights, then the others
    values = (_MXFP4[codes] + 16).astype(np.uint8)
    out = np.empty((len(stored), 22), np.uint8)
    with np.errstate(over="ignore", under="ignore"):
        scale = np.ldexp(np.float32(1.0), stored[:, 0].astype(np.int32) - 128).astype("<f2")
    out[:, :2] = scale.view(np.uint8).reshape(-1, 2)
    out[:, 2:6] = np.packbits(values >> 4, axis=1, bitorder="little")
    out[:, 6:] = values[:, :16] & 15 | (values[:, 16:] & 15) << 4
    return out.reshape(len(data), -1)


_MXFP4 = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int8)  # twice the weights


def _int4(weights: Floats, group: int) -> Arrays:
    """Round to 4 bits with a scale for each group, which maps the largest weight to -8."""
    grouped = weights.reshape(-1, group)
    largest = np.take_along_axis(grouped, np.abs(grouped).argmax(1)[:, None], 1)
    scale = (largest / -8).astype(np.float16)
    scale[scale == 0] = 1e-7
    values = np.clip(np.rint(grouped * (1 / scale.astype(np.float32))), -8, 7).astype(np.int8).view(np.uint8)
    packed = (values[:, 0::2] & 15) | values[:, 1::2] << np.uint8(4)
    return packed.reshape(len(weights), -1), scale.reshape(len(weights), -1)
