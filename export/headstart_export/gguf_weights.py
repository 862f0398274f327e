"""Weights of a GGUF file in the forms that an OpenVINO model stores, worked on a few rows at a time.

`gguf` keeps the file's own blocks of 4 bits where they have 4 bits and makes INT8 of all else; `int8` has a scale and a
zero point for each row; `int4` is symmetric by groups, with INT8 embeddings and output head; `fp16` is the weights.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headstart.errors import ExportError
from headstart_export.progress import Advance

FORMS = ("gguf", "int8", "int4", "fp16")
GROUP = 32  # weights of a block of 4 bits that share a scale
VOCABULARY = ("token_embd.weight", "output.weight")
_INT4_GROUPS = (128, 64, 32)
_PIECE = 1 << 18  # weights that are worked on at a time: they stay in the cache
_ALIGNMENT = 64  # bytes
_FLAT = 2048  # zero points beyond it would be rounded to more than a step

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Packing:
    """A form of a matrix: values, then scales and zero points if it has any. `parts`: the type and shape of a row."""

    parts: tuple[tuple[str, tuple[int, ...]], ...]
    pack: Callable[[Bytes], Arrays]  # from rows as the file has them to rows of each part

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes in all parts."""
        return sum(_bytes_of(*part) for part in self.parts)


def packing(tensor: Any, form: str) -> Packing:
    """Return how a matrix of the file is stored in a form."""
    width, kind = int(tensor.shape[0]), tensor.tensor_type.name
    group = next((size for size in _INT4_GROUPS if width % size == 0), 0)
    groups = width // GROUP
    if form == "fp16":
        return Packing((("f16", (width,)),), lambda data: (_dequantize(tensor, data).astype(np.float16),))
    if form == "gguf" and kind == "Q4_0":
        return Packing((("i4", (groups, GROUP)), ("f16", (groups, 1))), _q4_0)
    if form == "gguf" and kind in _WITH_MINIMUM:
        parts = (("u4", (groups, GROUP)), ("f16", (groups, 1)), ("f16", (groups, 1)))
        return Packing(parts, lambda data: _with_minimum(*_WITH_MINIMUM[kind](data)))
    if form == "int4" and group and tensor.name not in VOCABULARY:
        parts = (("i4", (width // group, group)), ("f16", (width // group, 1)))
        return Packing(parts, lambda data: _int4(_dequantize(tensor, data), group))
    return Packing((("u8", (width,)), ("f16", (1,)), ("u8", (1,))), lambda data: _int8(_dequantize(tensor, data)))


def group_size(tensors: Iterable[Any], form: str) -> int | None:
    """Return the fewest weights that share a scale of 4-bit weights in a form; None if it has no such weights."""
    matrices = (packing(tensor, form).parts[0] for tensor in tensors if len(tensor.shape) == 2)
    return min((shape[-1] for kind, shape in matrices if kind in {"i4", "u4"}), default=None)


def require_readable(tensor: Any, file: str) -> None:
    """Raise ExportError for a type that cannot be read. The first row is tried."""
    try:
        _dequantize(tensor, tensor.data[:1])
    except NotImplementedError:
        raise ExportError(
            "{tensor} in {file} has weights of the type {kind}, which cannot be read; use a file with another type, "
            "such as Q4_K_M or Q8_0.",
            tensor=tensor.name,
            file=file,
            kind=tensor.tensor_type.name,
        ) from None


class Weights:
    """The tensors of a file by name, as nodes of a graph over a file of their own.

    Both that file and this object must outlive the graph; the source is left when the context ends. `advance` hears of
    the bytes that were read of it.
    """

    def __init__(self, tensors: Mapping[str, Any], form: str, store: Path, advance: Advance) -> None:
        self._tensors, self._form, self._store, self._advance = tensors, form, store, advance
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
        """Return a tensor of one axis. `order`: which numbers of the file to take."""
        tensor = self._tensors[name]
        self._count(int(tensor.n_bytes))
        values = _dequantize(tensor, tensor.data.reshape(1, -1)).reshape(-1)
        return values if order is None else values[order]

    def matrix(self, name: str, order: NDArray[np.int64] | None = None) -> Any:
        """Return a node that gives f32 [rows, width]. `order`: which rows of the file to take."""
        import openvino  # noqa: PLC0415

        operations, half = openvino.opset13, openvino.Type.f16
        tensor = self._tensors[name]
        rows = int(tensor.shape[1]) if order is None else len(order)
        constants = self._constants(tensor, order, rows)
        values, *further = (
            part if part.get_element_type() == half else operations.convert(part, half) for part in constants
        )
        if len(further) == 2:
            values = operations.subtract(values, further[1])
        if further:
            values = operations.multiply(values, further[0])
        if len(values.get_output_shape(0)) == 3:
            shape = operations.constant(np.array([rows, int(tensor.shape[0])], np.int64))
            values = operations.reshape(values, shape, special_zero=False)
        return operations.convert(values, openvino.Type.f32, name=f"self.{name}")

    def _constants(self, tensor: Any, order: NDArray[np.int64] | None, rows: int) -> list[Any]:
        import openvino  # noqa: PLC0415

        packed = packing(tensor, self._form)
        data = tensor.data.view(np.uint8).reshape(int(tensor.shape[1]), -1)
        step = max(1, _PIECE // int(tensor.shape[0]))
        starts = range(0, rows, step)

        def piece(start: int) -> Arrays:
            chosen = slice(start, start + step) if order is None else order[start : start + step]
            return packed.pack(data[chosen])

        with self._store.open("ab") as stream:
            places = _places(stream.tell(), [rows * _bytes_of(*part) for part in packed.parts])
            stream.truncate(places[-1])
        with self._store.open("r+b") as stream:
            for start, arrays in zip(starts, self._pool.map(piece, starts), strict=True):
                for (kind, shape), place, array in zip(packed.parts, places, arrays, strict=False):
                    stream.seek(place + start * _bytes_of(kind, shape))
                    stream.write(memoryview(np.ascontiguousarray(array)).cast("B"))
                self._count(min(step, rows - start) * data.shape[1])
        constants = []
        for (kind, shape), place in zip(packed.parts, places, strict=False):
            size = rows * _bytes_of(kind, shape)
            stored = np.memmap(self._store, np.uint8, "c", place, (size,))
            view = openvino.Tensor(stored, openvino.Shape([rows, *shape]), getattr(openvino.Type, kind))
            self._views += [stored, view]
            constants.append(openvino.op.Constant(view, shared_memory=True))
        return constants

    def _count(self, read: int) -> None:
        self._done += read
        self._advance(min(self._done, self._total), self._total)


def _bytes_of(kind: str, shape: tuple[int, ...]) -> int:
    return int(np.prod(shape)) * int(kind[1:]) // 8


def _places(start: int, sizes: list[int]) -> list[int]:
    """Return where parts of these sizes begin, then where the last one ends."""
    places = []
    for size in sizes:
        start += -start % _ALIGNMENT
        places.append(start)
        start += size
    return [*places, start]


def _dequantize(tensor: Any, data: Bytes) -> Floats:
    import gguf  # noqa: PLC0415

    values: Floats = gguf.dequantize(data, tensor.tensor_type)
    return values


def _int8(weights: Floats) -> Arrays:
    """Round to 8 bits with a scale and a zero point for each row, as NNCF's INT8_ASYM."""
    low = np.minimum(weights.min(1, keepdims=True), 0)
    high = np.maximum(weights.max(1, keepdims=True), 0)
    scale = ((high - low) / 255).astype(np.float16)
    scale[scale == 0] = 1e-7
    wide = scale.astype(np.float32)
    zero = np.clip(np.rint(-low / wide), 0, 255)
    values = weights * (1 / wide)
    np.rint(values, out=values)
    values += zero
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8), scale, zero.astype(np.uint8)


def _int4(weights: Floats, group: int) -> Arrays:
    """Round to 4 bits with a scale for each group, by which its largest weight becomes -8."""
    grouped = weights.reshape(-1, group)
    largest = np.take_along_axis(grouped, np.abs(grouped).argmax(1)[:, None], 1)
    scale = (largest / -8).astype(np.float16)
    scale[scale == 0] = 1e-7
    values = np.clip(np.rint(grouped * (1 / scale.astype(np.float32))), -8, 7).astype(np.int8).view(np.uint8)
    packed = (values[:, 0::2] & 15) | values[:, 1::2] << np.uint8(4)
    return packed.reshape(len(weights), -1), scale.reshape(len(weights), -1)


def _q4_0(data: Bytes) -> Arrays:
    """Give Q4_0 without rounding: an f16 scale, then 32 unsigned numbers, of which 8 is 0."""
    blocks = data.reshape(-1, 18)
    packed = _in_order(blocks[:, 2:]) ^ np.uint8(0x88)
    return packed.reshape(len(data), -1), _halves(blocks[:, :2]).reshape(len(data), -1)


def _q4_1(data: Bytes) -> tuple[Bytes, Floats, Floats]:
    blocks = data.reshape(-1, 20)
    scale, minimum = (_halves(blocks[:, place : place + 2]).astype(np.float32) for place in (0, 2))
    rows = len(data)
    return _in_order(blocks[:, 4:]).reshape(rows, -1, 16), scale.reshape(rows, -1), minimum.reshape(rows, -1)


def _q4_k(data: Bytes) -> tuple[Bytes, Floats, Floats]:
    from gguf import quants  # noqa: PLC0415

    blocks = data.reshape(-1, 144)
    scales, minimums = quants.Q4_K.get_scale_min(blocks[:, 4:16])
    scale = _halves(blocks[:, 0:2]).astype(np.float32) * scales
    minimum = _halves(blocks[:, 2:4]).astype(np.float32) * -minimums.astype(np.float32)
    packed = _in_order(blocks[:, 16:].reshape(-1, 4, 32))
    rows = len(data)
    return packed.reshape(rows, -1, 16), scale.reshape(rows, -1), minimum.reshape(rows, -1)


# Types whose weights are scale * u + minimum, and functions that give u [rows, groups, 16], scale and minimum.
_WITH_MINIMUM = {"Q4_1": _q4_1, "Q4_K": _q4_k}


def _with_minimum(packed: Bytes, scale: Floats, minimum: Floats) -> Arrays:
    """Give scale * (u - zero). A group of almost equal weights becomes its minimum: -minimum * (0 - 1)."""
    rounded = scale.astype(np.float16)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        zero = -minimum / rounded.astype(np.float32)
    is_flat = ~(np.abs(zero) <= _FLAT)
    rounded = np.where(is_flat, -minimum, rounded).astype(np.float16)
    zero = np.where(is_flat, 1, zero).astype(np.float16)
    if is_flat.any():
        packed = packed * ~is_flat[..., None]
    return packed.reshape(len(packed), -1), rounded, zero


def _in_order(nibbles: Bytes) -> Bytes:
    """Put 4-bit numbers in order, the lower half of a byte first. In [.., bytes] all lower halves come first."""
    pairs = nibbles.view("<u2")
    low, high = pairs & 15 | pairs >> 4 & 240, pairs >> 4 & 15 | pairs >> 8 & 240
    return np.concatenate([low.astype(np.uint8), high.astype(np.uint8)], -1)


def _halves(data: Bytes) -> NDArray[np.float16]:
    return np.ascontiguousarray(data).view("<f2")
