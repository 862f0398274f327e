"""Weights in the blocks of a GGUF file: where a model has them, and the forms that OpenVINO computes with instead."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import GGUF_WEIGHTS, openvino
from headstart.engine.kernels.library import Format, Weights

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Arrays = tuple[NDArray[Any], ...]

GROUP = 32  # weights of a block of 4 bits that share a scale
_FLAT = 2048  # zero points beyond it would be rounded to more than a step
_PIECE = 1 << 18  # weights that are worked on at a time: they stay in the cache


def nodes_with_blocks(model: Any) -> list[Any]:
    """Return the nodes of a model that hold weights in blocks."""
    return [node for node in model.get_ordered_ops() if node.get_type_name() == GGUF_WEIGHTS]


def weights_of(node: Any) -> Weights | None:
    """Return the weights of a node that holds blocks; None for any other node."""
    if node.get_type_name() != GGUF_WEIGHTS:
        return None
    attributes = node.get_attributes()
    blocks = node.input_value(0).get_node().data
    blocks = blocks.reshape(-1, blocks.shape[-1])
    return Weights(Format[attributes["type"]], 0, blocks.shape[0], int(attributes["cols"]), blocks)


def replace_blocks(model: Any) -> None:
    """Replace blocks by what OpenVINO can compute with: 4 bits stay, nearly unrounded, all else becomes INT8 by row.

    Weights change a little, and memory and load time grow: this is for devices and programs without our own kernels.
    """
    nodes = nodes_with_blocks(model)
    for node in nodes:
        plain = decompressed(node)
        plain.set_friendly_name(node.get_friendly_name())
        for reader in list(node.output(0).get_target_inputs()):
            reader.replace_source_output(plain.output(0))
    if nodes:
        model.validate_nodes_and_infer_types()


def decompressed(node: Any) -> Any:
    """Return a node that gives almost the same f32 weights [.., cols], from constants that OpenVINO supports."""
    weights, ov = weights_of(node), openvino()
    assert weights is not None
    operations, half = ov.opset13, ov.Type.f16
    cols, whole = weights.cols, [int(size) for size in node.get_output_shape(0)]
    kind, unpack = _FOUR_BITS.get(weights.format.name, ("u8", None))
    step = max(1, _PIECE // cols)
    pieces = [weights.values[start : start + step] for start in range(0, weights.rows, step)]

    def pack(blocks: Bytes) -> Arrays:
        return unpack(blocks) if unpack else int8(dequantize(weights.format.name, blocks))

    with ThreadPoolExecutor(devices.cores(), "blocks") as pool:
        parts = [np.concatenate(part) for part in zip(*pool.map(pack, pieces), strict=True)]
    shape = [*whole[:-1], cols // GROUP, GROUP] if unpack else whole
    tensor = ov.Tensor(parts[0], ov.Shape(shape), getattr(ov.Type, kind))
    stored = ov.op.Constant(tensor, shared_memory=False)
    values = operations.convert(stored, half)
    scale, *zeros = (operations.constant(part.reshape(*shape[:-1], 1)) for part in parts[1:])
    for zero in zeros:
        values = operations.subtract(values, zero if unpack else operations.convert(zero, half))
    values = operations.multiply(values, scale)
    if unpack:
        values = operations.reshape(values, operations.constant(np.array(whole, np.int64)), special_zero=False)
    return operations.convert(values, ov.Type.f32)


def dequantize(kind: str, blocks: Bytes) -> Floats:
    """Return the weights that blocks [rows, bytes] of a type stand for."""
    import gguf  # noqa: PLC0415

    values: Floats = gguf.dequantize(blocks, gguf.GGMLQuantizationType[kind])
    return values


def int8(weights: Floats) -> Arrays:
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
    """Convert scale * u + minimum to scale * (u - zero). A group of almost equal weights becomes -minimum * (0 - 1)."""
    rounded = scale.astype(np.float16)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -minimum / rounded.astype(np.float32)
    is_flat = ~(np.abs(zero) <= _FLAT)
    rounded = np.where(is_flat, -minimum, rounded).astype(np.float16)
    zero = np.where(is_flat, 1, zero).astype(np.float16)
    if is_flat.any():
        packed = packed.reshape(*is_flat.shape, -1) * ~is_flat[..., None]
    return packed.reshape(rows, -1), rounded.reshape(rows, -1), zero.reshape(rows, -1)


# Types whose 4 bits OpenVINO can compute with: the type of their values, and the function that takes blocks apart.
_FOUR_BITS: dict[str, tuple[str, Callable[[Bytes], Arrays]]] = {
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


# Where the f16 numbers of a block lie, in bytes.
_HALVES = {
    **dict.fromkeys(("Q4_0", "Q5_0", "Q8_0", "IQ4_NL", "IQ4_XS"), (0,)),
    **dict.fromkeys(("Q4_1", "Q5_1", "Q4_K", "Q5_K"), (0, 2)),
    "Q2_K": (80, 82),
    "Q3_K": (108,),
    "Q6_K": (208,),
}


def random_blocks(kind: str, rows: int, cols: int, random: np.random.Generator) -> Bytes:
    """Return blocks [rows, bytes] of a type with any codes and factors, and small f16 numbers, to test kernels with."""
    import gguf  # noqa: PLC0415

    columns, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    if kind not in _HALVES:
        numbers = random.normal(0, 0.05, (rows, cols)).astype(np.float32)
        plain: Bytes = gguf.quantize(numbers, gguf.GGMLQuantizationType[kind]).view(np.uint8)
        return plain
    blocks = random.integers(0, 256, (rows * cols // columns, size), np.uint8)
    for place in _HALVES[kind]:
        blocks[:, place : place + 2] = random.uniform(1e-4, 2e-3, (len(blocks), 1)).astype(np.float16).view(np.uint8)
    return blocks.reshape(rows, -1)


def are_finite(kind: str, blocks: Bytes) -> bool:
    """Tell if blocks [rows, bytes] of a type stand for finite weights."""
    import gguf  # noqa: PLC0415

    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][1]
    if kind not in _HALVES:
        exponents = np.uint16(0x7C00 if kind == "F16" else 0x7F80)
        return bool(((np.ascontiguousarray(blocks).view("<u2") & exponents) != exponents).all())
    halves = (blocks.reshape(-1, size)[:, place : place + 2] for place in _HALVES[kind])
    return all(np.isfinite(_halves(each)).all() for each in halves)
