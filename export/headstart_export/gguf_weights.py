"""Weights of a GGUF file in the forms that an OpenVINO model stores, worked on a few rows at a time.

`gguf` keeps the file's own blocks of 4 bits where they have 4 bits and makes INT8 of all else; `int8` has a scale and a
zero point for each row; `int4` is symmetric by groups, with INT8 embeddings and output head; `int4-mixed` also makes
INT8 of what the file stores in more bits than most of its layers; `fp16` is the weights.
"""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headstart.errors import ExportError
from headstart_export.progress import Advance

MIXED = "int4-mixed"
FORMS = ("gguf", "int8", "int4", MIXED, "fp16")
GROUP = 32  # weights of a block of 4 bits that share a scale
VOCABULARY = ("token_embd.weight", "output.weight")
_INT4_GROUPS = (128, 64, 32)
_PIECE = 1 << 18  # weights that are worked on at a time: they stay in the cache
_ALIGNMENT = 64  # bytes
_FLAT = 2048  # zero points beyond it would be rounded to more than a step

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Arrays = tuple[NDArray[Any], ...]
Parts = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Packing:
    """A form of a matrix: values, then scales and zero points if it has any."""

    parts: Parts  # type and shape of a row of each
    pack: Callable[[Bytes], Arrays]  # from rows as the file has them to rows of each part


def packing(tensor: Any, form: str) -> Packing:
    """Return how a matrix of the file is stored in a form."""
    width, kind = int(tensor.shape[0]), tensor.tensor_type.name
    group = next((size for size in _INT4_GROUPS if width % size == 0), 0)
    parts: Parts
    if form == "fp16":
        return Packing((("f16", (width,)),), lambda data: (_dequantize(tensor, data).astype(np.float16),))
    if form == "gguf" and kind in _BLOCKS:
        element, unpack = _BLOCKS[kind]
        scales = ("f16", (width // GROUP, 1))
        parts = ((element, (width // GROUP, GROUP)), scales, *([scales] if element == "u4" else []))
        return Packing(parts, unpack)
    if form == "int4" and group and tensor.name not in VOCABULARY:
        parts = (("i4", (width // group, group)), ("f16", (width // group, 1)))
        return Packing(parts, lambda data: _int4(_dequantize(tensor, data), group))
    return Packing((("u8", (width,)), ("f16", (1,)), ("u8", (1,))), lambda data: _int8(_dequantize(tensor, data)))


def forms(tensors: Mapping[str, Any], form: str) -> dict[str, str]:
    """Return the form of each matrix, by name, in a model of a form."""
    matrices = {name: tensor for name, tensor in tensors.items() if len(tensor.shape) == 2}
    if form != MIXED:
        return dict.fromkeys(matrices, form)
    layers = [tensor for name, tensor in matrices.items() if name not in VOCABULARY]
    by_bits = sorted((tensor.n_bytes / tensor.n_elements, int(tensor.n_elements)) for tensor in layers)
    sums = np.cumsum([count for _, count in by_bits])
    usual = by_bits[int(np.searchsorted(sums, sums[-1] / 2))][0]  # bytes of the median weight
    return {name: "int8" if tensor.n_bytes / tensor.n_elements > usual else "int4" for name, tensor in matrices.items()}


def four_bit_group_and_share(tensors: Mapping[str, Any], form: str) -> tuple[int | None, float]:
    """Return the fewest weights that share a scale of 4-bit weights, and their share of the layers' weights.

    None if a model of this form has no 4-bit weights.
    """
    chosen = forms(tensors, form)
    parts = {name: packing(tensors[name], chosen[name]).parts[0] for name in chosen}
    four_bit = {name: shape[-1] for name, (kind, shape) in parts.items() if kind in {"i4", "u4"}}
    counts = {name: int(tensors[name].n_elements) for name in chosen if name not in VOCABULARY}
    share = sum(count for name, count in counts.items() if name in four_bit) / max(sum(counts.values()), 1)
    return min(four_bit.values(), default=None), share


class Weights:
    """The tensors of a file by name, as nodes of a graph over a file of their own.

    Both that file and this object must outlive the graph; the source is left when the context ends. `advance` hears of
    the bytes that were read of it.
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
        """Return a tensor of one axis. `order`: which numbers of the file to take."""
        tensor = self._tensors[name]
        self._count(int(tensor.n_bytes))
        values = _dequantize(tensor, tensor.data.reshape(1, -1)).reshape(-1)
        _require_finite(name, values)
        return values if order is None else values[order]

    def matrix(self, name: str, order: NDArray[np.int64] | None = None) -> Any:
        """Return a node that gives f32 [rows, width]. `order`: which rows of the file to take."""
        import openvino  # noqa: PLC0415

        operations, half = openvino.opset13, openvino.Type.f16
        tensor = self._tensors[name]
        rows = int(tensor.shape[1]) if order is None else len(order)
        values, *further = (
            part if part.get_element_type() == half else operations.convert(part, half)
            for part in self._stored(tensor, order, rows)
        )
        if len(further) == 2:
            values = operations.subtract(values, further[1])
        if further:
            values = operations.multiply(values, further[0])
        if len(values.get_output_shape(0)) == 3:
            shape = operations.constant(np.array([rows, int(tensor.shape[0])], np.int64))
            values = operations.reshape(values, shape, special_zero=False)
        return operations.convert(values, openvino.Type.f32, name=f"self.{name}")

    def _stored(self, tensor: Any, order: NDArray[np.int64] | None, rows: int) -> list[Any]:
        """Store a matrix, and return a constant for each of its parts."""
        packed = packing(tensor, self._forms[tensor.name])
        data = tensor.data.view(np.uint8).reshape(int(tensor.shape[1]), -1)
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
                _require_finite(tensor.name, arrays[1] if len(arrays) > 1 else arrays[0])
                for size, place, array in zip(sizes, places, arrays, strict=False):
                    stream.seek(place + start * size)
                    stream.write(array.tobytes())
                self._count(min(step, rows - start) * data.shape[1])
        return [
            self._constant(kind, (rows, *shape), place)
            for (kind, shape), place in zip(packed.parts, places, strict=False)
        ]

    def _constant(self, kind: str, shape: tuple[int, ...], place: int) -> Any:
        import openvino  # noqa: PLC0415

        stored = np.memmap(self._store, np.uint8, "c", place, (_bytes_of(kind, shape),))
        tensor = openvino.Tensor(stored, openvino.Shape(list(shape)), getattr(openvino.Type, kind))
        self._views += [stored, tensor]
        return openvino.op.Constant(tensor, shared_memory=True)

    def _count(self, read: int) -> None:
        self._done += read
        self._advance(min(self._done, self._total), self._total)


def _bytes_of(kind: str, shape: tuple[int, ...]) -> int:
    return int(np.prod(shape)) * int(kind[1:]) // 8


def _require_finite(name: str, numbers: NDArray[Any]) -> None:
    if not np.isfinite(numbers).all():
        raise ExportError("{tensor} holds numbers that are not finite; fetch the file again.", tensor=name)


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
    blocks = data.reshape(-1, 18)
    packed = _in_order(blocks[:, 2:]) ^ np.uint8(0x88)  # unsigned, less 8
    return packed.reshape(len(data), -1), _halves(blocks[:, :2]).reshape(len(data), -1)


def _q4_1(data: Bytes) -> Arrays:
    blocks = data.reshape(-1, 20)
    scale, minimum = (_halves(blocks[:, place : place + 2]).astype(np.float32) for place in (0, 2))
    return _with_minimum(len(data), _in_order(blocks[:, 4:]), scale, minimum)


def _q4_k(data: Bytes) -> Arrays:
    from gguf import quants  # noqa: PLC0415

    blocks = data.reshape(-1, 144)
    scales, minimums = quants.Q4_K.get_scale_min(blocks[:, 4:16])
    scale = _halves(blocks[:, 0:2]).astype(np.float32) * scales
    minimum = _halves(blocks[:, 2:4]).astype(np.float32) * -minimums.astype(np.float32)
    return _with_minimum(len(data), _in_order(blocks[:, 16:].reshape(-1, 4, 32)), scale, minimum)


def _with_minimum(rows: int, packed: Bytes, scale: Floats, minimum: Floats) -> Arrays:
    """Give scale * u + minimum as scale * (u - zero). A group of almost equal weights becomes -minimum * (0 - 1)."""
    rounded = scale.astype(np.float16)
    zero = -minimum / rounded.astype(np.float32)
    is_flat = np.isfinite(scale) & ~(np.abs(zero) <= _FLAT)
    rounded = np.where(is_flat, -minimum, rounded).astype(np.float16)
    zero = np.where(is_flat, 1, zero).astype(np.float16)
    if is_flat.any():
        packed = packed.reshape(*is_flat.shape, -1) * ~is_flat[..., None]
    return packed.reshape(rows, -1), rounded.reshape(rows, -1), zero.reshape(rows, -1)


# Types that the form `gguf` keeps: the type of their values, and the function that takes blocks apart.
_BLOCKS: dict[str, tuple[str, Callable[[Bytes], Arrays]]] = {
    "Q4_0": ("i4", _q4_0),
    "Q4_1": ("u4", _q4_1),
    "Q4_K": ("u4", _q4_k),
}


def _in_order(nibbles: Bytes) -> Bytes:
    """Put 4-bit numbers in order, the lower half of a byte first. In [.., bytes] all lower halves come first."""
    pairs = nibbles.view("<u2")
    low, high = pairs & 15 | pairs >> 4 & 240, pairs >> 4 & 15 | pairs >> 8 & 240
    return np.concatenate([low.astype(np.uint8), high.astype(np.uint8)], -1)


def _halves(data: Bytes) -> NDArray[np.float16]:
    return np.ascontiguousarray(data).view("<f2")
