"""Matrices in each format with the weights that they stand for, and what the library computes with them, by NumPy."""

from collections.abc import Iterator, Mapping, Sequence
from ctypes import c_int32, c_void_p, pointer
from dataclasses import dataclass
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from numpy.typing import NDArray

from headstart.engine.kernels.blocks import dequantize, random_blocks
from headstart.engine.kernels.library import (
    BLOCK,
    Bytes,
    Format,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Matrix,
    Ticket,
    Weights,
)

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

GGUF_FORMATS = tuple(format_ for format_ in Format if format_.is_gguf)
FORMATS = (
    (Format.INT8, 0),
    (Format.INT4, 32),
    (Format.INT4, 64),
    (Format.INT4, 128),
    (Format.INT4_MIN, 32),
    *((format_, 0) for format_ in GGUF_FORMATS),
)

GROUPS = dict(FORMATS)  # the usual ones


@dataclass(frozen=True)
class Packed:
    """A packed matrix. `values`: its dequantized weights, [rows, cols]."""

    matrix: Matrix
    memory: Bytes
    values: Doubles


def random_weights(
    random: np.random.Generator, format_: Format, group: int, rows: int, cols: int, *, zeros: bool = True
) -> tuple[Weights, Doubles]:
    """Return random weights as files have them, and their values: [rows, cols]. `zeros`: INT8 with zero points."""

    def halves(columns: int, low: float, high: float) -> NDArray[np.float16]:
        return random.uniform(low, high, (rows, columns)).astype(np.float16)

    scales: NDArray[np.float16] | None = None
    offsets: NDArray[Any] | None = None
    if format_ is Format.INT8:
        scales = halves(1, 0.001, 0.02)
        codes = random.integers(0, 256, (rows, cols)).astype(np.uint8)
        offsets = random.integers(0, 256, (rows, 1)).astype(np.uint8) if zeros else None
        whole = codes.astype(np.int32) - offsets if offsets is not None else codes.view(np.int8)
        values = whole * scales.astype(np.float64)
    elif format_.is_gguf:
        codes = random_blocks(format_.name, rows, cols, random)
        values = dequantize(format_.name, codes).astype(np.float64)
    else:
        width = group if format_ is Format.INT4 else 32
        nibbles = random.integers(0, 16, (rows, cols)).astype(np.uint8)
        codes = nibbles[:, ::2] | nibbles[:, 1::2] << np.uint8(4)
        scales = halves(cols // width, 0.001, 0.02)
        of_columns = scales.astype(np.float64).repeat(width, axis=1)
        if format_ is Format.INT4:
            values = ((nibbles.astype(np.int32) ^ 8) - 8) * of_columns
        else:
            offsets = halves(cols // width, -0.2, 0.02)
            values = nibbles * of_columns + offsets.astype(np.float64).repeat(width, axis=1)
    return Weights(format_, group, rows, cols, codes, scales, offsets), values


def block_of(format_: Format) -> tuple[int, int]:
    """Return the columns and bytes of a block of a GGUF type; for numbers with a point, 32 columns."""
    columns, size = GGML_QUANT_SIZES[GGMLQuantizationType[format_.name]]
    return max(columns, 32), size * max(32 // columns, 1)


def packed(
    library: Library, weights: Sequence[tuple[Weights, Doubles]], *, alternate: bool = False, shift: int = 0
) -> Packed:
    """Pack matrices one after the other, or with `alternate` two of them block by block, `shift` bytes off."""
    first = weights[0][0]
    size = library.block_size(first)
    assert size
    blocks = sum(each.blocks for each, _ in weights)
    memory = room(blocks * size, shift)
    start = 0
    for each, _ in weights:
        library.pack(each, memory[start:], size * (2 if alternate else 1))
        start += size if alternate else size * each.blocks
    matrix = Matrix(first.format, first.group, blocks * BLOCK, first.cols, memory.ctypes.data)
    return Packed(matrix, memory, np.concatenate([values for _, values in weights]))


def room(size: int, shift: int = 0) -> Bytes:
    """Return memory that ends where its allocation ends, so that sanitizers see overruns; `shift` bytes precede it."""
    return np.full(size + shift, 255, np.uint8)[shift:]


def rounded(x: Floats) -> Doubles:
    """Round activations as the library does: to 8 bits, 32 columns at a time."""
    groups = x.reshape(len(x), -1, 32)
    scale = np.abs(groups).max(axis=2, keepdims=True) / np.float32(127)
    usable = scale >= np.finfo(np.float32).tiny
    inverse = np.float32(1) / np.where(usable, scale, np.float32(1))
    whole = np.where(usable, np.rint(groups * inverse), 0)
    result: Doubles = (whole * scale.astype(np.float64)).reshape(x.shape)
    return result


def normalized(x: Doubles | Floats, gain: Floats, epsilon: float) -> Floats:
    """Return the RMS norm."""
    wide = x.astype(np.float64)
    result: Floats = (wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + epsilon) * gain).astype(np.float32)
    return result


def silu(x: Doubles) -> Doubles:
    """Return SiLU, with which Llama and Qwen gate."""
    result: Doubles = x / (1 + np.exp(-x))
    return result


def gelu_tanh(x: Doubles) -> Doubles:
    """Return GELU, approximated by tanh, with which Gemma gates."""
    result: Doubles = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return result


def run(
    library: Library,
    steps: Sequence[KernelStep],
    widths: Sequence[int],
    inputs: Sequence[Floats],
    outputs: int,
    threads: int = 1,
    ticket: Ticket | None = None,
) -> list[Floats]:
    """Run steps over buffers: `inputs`, `outputs` more that are returned, then scratch."""
    tokens = len(inputs[0])
    results = [np.full((tokens, width), np.nan, np.float32) for width in widths[len(inputs) : len(inputs) + outputs]]
    addresses = [array.ctypes.data for array in (*inputs, *results)]
    program = KernelProgram(
        (KernelStep * len(steps))(*steps), len(steps), (c_int32 * len(widths))(*widths), len(widths), len(addresses)
    )
    if ticket:
        program.cancelled = pointer(ticket.cancelled)
    library.run(program, tokens, (c_void_p * len(addresses))(*addresses), threads)
    return results


def linear(matrix: Matrix, input_: int, outputs: Mapping[int, int], *, residual: int = -1) -> KernelStep:
    """Return a step of kind LINEAR; `outputs`: the width of each output buffer."""
    step = KernelStep(Kind.LINEAR, 0, input_, residual, len(outputs), matrix=matrix)
    step.outputs[: len(outputs)] = list(outputs)
    step.rows[: len(outputs)] = list(outputs.values())
    return step


def product(library: Library, weights: Packed, rows: int, x: Floats, threads: int = 1) -> Floats:
    """Return the product of one matrix with x [tokens, cols]: [tokens, rows]."""
    return run(library, [linear(weights.matrix, 0, {1: rows})], [x.shape[1], rows], [x], 1, threads)[0]


def each_isa(library: Library) -> Iterator[str]:
    """Yield each instruction set of this processor in use, and restore the best one at the end."""
    best = library.isa
    try:
        for isa in library.isas:
            library.use(isa)
            yield isa
    finally:
        library.use(best)
