"""Sizes and steps at random: the library refuses them, or stays within what they describe.

Sanitizers watch that in test_sanitized.py.
"""

from ctypes import Structure, c_int32, c_void_p, pointer
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headstart.engine.kernels.library import (
    BLOCK,
    OUTPUTS,
    Bytes,
    Format,
    KernelAttention,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Matrix,
    Sequences,
)
from tests.engine.kernels.reference import GROUPS, block_of, room, run
from tests.support.junk import fuzz

ODD = st.sampled_from((-(2**31), -64, -1, 0, 1, 3, 31, 32, 64, 100, 128, 256, 2**20 + 128, 2**31 - 1))
FORMATS, GROUP = st.sampled_from(tuple(Format)), st.sampled_from((0, 32, 64, 128, 256))
WIDTHS = (1, 31, 128, 70, 256)
KINDS = (Kind.LINEAR, Kind.GATED, Kind.NORM, Kind.ADD, Kind.GATE)
NUMBERS = ("kind", "activation", "input", "residual", "count")


def source(format_: int, rows: int, cols: int, group: int) -> list[Bytes | None]:
    """Return weights, scales and zeros as `hk_pack` takes them, no larger than required."""
    if Format(format_).is_gguf:
        columns, size = block_of(Format(format_))
        return [room(rows * cols // columns * size), None, None]
    columns = {Format.INT8: 1, Format.INT4: cols // (group or cols), Format.INT4_MIN: cols // 32}.get(
        Format(format_), 0
    )
    row = cols if format_ == Format.INT8 else cols // 2
    zeros = {Format.INT8: rows, Format.INT4_MIN: rows * columns * 2}.get(Format(format_), 0)
    return [room(rows * row), room(rows * columns * 2), room(zeros) if zeros else None]


@fuzz("sizes of matrices", 400)
@given(
    FORMATS | ODD,
    GROUP | ODD,
    st.integers(1, 100) | ODD,
    st.sampled_from((64, 128, 512, 768)) | ODD,
    ODD,
    ODD,
)
def test_any_weights_are_packed(
    kernels: Library, format_: int, group: int, rows: int, cols: int, first: int, last: int
) -> None:
    functions = kernels._functions
    size = functions.hk_block_size(format_, group, cols)
    if not size or not 0 < rows <= 100:
        rows = min(rows, 0) if size else rows
        assert functions.hk_pack(format_, group, rows, cols, None, None, None, 0, 1, None, 0) == -1
        return
    assert size % 64 == 0
    blocks = -(-rows // BLOCK)
    out = room(blocks * size)
    arrays = source(format_, rows, cols, group)
    places = [None if each is None else each.ctypes.data for each in arrays]
    for begin, end in ((first, last), (0, blocks)):
        failed = functions.hk_pack(format_, group, rows, cols, *places, begin, end, out.ctypes.data, size)
        assert failed == (-1 if begin < 0 or end > blocks else 0)


def fitting(data: st.DataObject, kernels: Library) -> tuple[KernelStep, list[Any]]:
    """Draw a step that fits buffers of WIDTHS, and the memory that it points to."""
    kind, format_ = data.draw(st.sampled_from(KINDS)), data.draw(FORMATS)
    group = GROUPS[format_]
    input_ = data.draw(st.sampled_from((2, 4)))
    outputs = data.draw(st.lists(st.integers(0, len(WIDTHS) - 1), min_size=1, max_size=OUTPUTS))
    if kind in (Kind.NORM, Kind.ADD, Kind.GATE):
        outputs = [input_]
    elif kind is Kind.GATED:
        outputs = outputs[:1]
    rows = [WIDTHS[output] for output in outputs]
    blocks = sum(-(-width // BLOCK) for width in rows) * (2 if kind is Kind.GATED else 1)
    memory = room(max(1, blocks * kernels._functions.hk_block_size(format_, group, WIDTHS[input_])))
    memory[:] = 0x33  # f16 scales are numbers then
    gain, bias = np.ones(max(WIDTHS), np.float32), np.ones(blocks * BLOCK, np.float32)
    residual = outputs[0] if kind in (Kind.ADD, Kind.GATE) or (len(outputs) == 1 and data.draw(st.booleans())) else -1
    step = KernelStep(kind, 1, input_, residual, len(outputs))
    step.outputs[: len(outputs)], step.rows[: len(outputs)] = outputs, rows
    step.matrix = Matrix(format_, group, blocks * BLOCK, WIDTHS[input_], memory.ctypes.data)
    step.gain = gain.ctypes.data if kind is Kind.NORM or data.draw(st.booleans()) else None
    step.bias = bias.ctypes.data if data.draw(st.booleans()) else None
    return step, [memory, gain, bias]


def spoil(data: st.DataObject, step: KernelStep) -> None:
    """Replace one number of a step by one that may not fit. Accepted steps need no more memory."""
    small = st.integers(-1, len(WIDTHS)) | ODD
    place = data.draw(st.sampled_from((*NUMBERS, "outputs", "rows", "format", "group", "cols")))
    if place in ("outputs", "rows"):
        getattr(step, place)[data.draw(st.integers(0, OUTPUTS - 1))] = data.draw(small)
        return
    holder: Structure = step if place in NUMBERS else step.matrix
    value = data.draw(small)
    larger = {"format": tuple(Format), "group": (0, 32, 64, 128, 256), "cols": WIDTHS}.get(place, ())
    if value not in larger:  # what may take more memory than there is
        setattr(holder, place, value)


@fuzz("programs", 400)
@given(st.data())
def test_any_program_equals_its_steps(kernels: Library, data: st.DataObject) -> None:
    steps, kept = [], []
    for _ in range(data.draw(st.integers(0, 3))):
        step, memory = fitting(data, kernels)
        for _ in range(data.draw(st.integers(0, 2))):
            spoil(data, step)
        steps.append(step)
        kept.append(memory)
    tokens = data.draw(st.sampled_from((1, 2, 9, 33)))
    inputs = [np.ones((tokens, width), np.float32) for width in WIDTHS[: data.draw(st.integers(1, len(WIDTHS)))]]
    try:
        run(kernels, steps, WIDTHS, inputs, 0, threads=data.draw(st.integers(1, 3)))
    except RuntimeError:
        return


QUERY, KEY, VALUE, COSINE, SINE, OUT = range(6)  # buffers of attention
EMPTY = 0xFF  # a cache that nothing was written to, nor may be read from: two such bytes are no number
CAPS = st.sampled_from((0.0, 30.0))
PLACES = ("past", "begins", "blocks", "block_begins", "mask", "mask_begins", "window_blocks")  # arrays of hk_sequences
SHAPE = ("heads", "kv_heads", "size", "key", "value", "cosine", "sine", "bits", "window", "blocks")


@dataclass
class Pass:
    """Attention of some sequences, and the memory that it may touch, no larger than required."""

    attention: KernelAttention
    step: KernelStep
    widths: list[int]
    tokens: int
    places: dict[str, Any]
    kept: dict[str, NDArray[Any]]  # by the part of the attention that points to it
    cache: Bytes

    def run(self, kernels: Library, threads: int) -> Any:
        buffers = [np.ones((self.tokens, width), np.float32) for width in self.widths]
        sequences = Sequences(self.places["past"].size, *(self.places[name].ctypes.data for name in PLACES))
        widths = (c_int32 * len(buffers))(*self.widths)
        program = KernelProgram(pointer(self.step), 1, widths, len(buffers), len(buffers), pointer(sequences))
        addresses = (c_void_p * len(buffers))(*(each.ctypes.data for each in buffers))
        kernels.run(program, self.tokens, addresses, threads)
        return buffers[OUT]


def attending(data: st.DataObject, kernels: Library) -> Pass:
    """Draw a pass whose parts fit together. Each sequence begins in it, in blocks of its own."""
    size, kv_heads = data.draw(st.sampled_from((32, 64, 96))), data.draw(st.integers(1, 2))
    bits, window = data.draw(st.sampled_from((16, 8))), data.draw(st.sampled_from((0, 1, 30, 500)))
    heads = kv_heads * data.draw(st.integers(1, 3))
    counts = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=3))
    needed = [-(-count // BLOCK) for count in counts]
    masks = [
        np.tril(np.ones((count, count), np.uint8)) if data.draw(st.booleans()) else np.zeros(0, np.uint8)
        for count in counts
    ]
    blocks = sum(needed)
    cache = np.full(blocks * kv_heads * kernels.kv_record_size(size, bits), EMPTY, np.uint8)
    places = {
        "past": np.zeros(len(counts), np.int32),
        "begins": np.cumsum([0, *counts]).astype(np.int32),
        "blocks": np.array(data.draw(st.permutations(range(blocks))), np.int32),
        "window_blocks": np.array(data.draw(st.permutations(range(blocks))), np.int32),
        "block_begins": np.cumsum([0, *needed]).astype(np.int32),
        "mask": np.concatenate([mask.ravel() for mask in masks]),
        "mask_begins": np.cumsum([0, *(mask.size for mask in masks)]).astype(np.int32),
    }
    angles = (COSINE, SINE) if data.draw(st.booleans()) else (-1, data.draw(ODD))
    attention = KernelAttention(
        heads, kv_heads, size, KEY, VALUE, *angles, -1, bits, window, 0.125, data.draw(CAPS), 1e-6
    )
    given = {"query_gain": size, "key_gain": size, "sinks": heads}
    kept: dict[str, NDArray[Any]] = {
        name: np.ones(width, np.float32) for name, width in given.items() if data.draw(st.booleans())
    }
    for name, array in kept.items():
        setattr(attention, name, array.ctypes.data)
    if data.draw(st.booleans()):
        order = np.tile(np.array(data.draw(st.permutations(range(size))), np.int16), kv_heads)
        attention.key_order, kept["key_order"] = order.ctypes.data, order
    attention.cache, attention.blocks = cache.ctypes.data, blocks
    step = KernelStep(Kind.ATTENTION, 0, QUERY, -1, 1, attention=pointer(attention))
    step.outputs[0] = OUT
    widths = [heads * size, kv_heads * size, kv_heads * size, size, size, heads * size]
    return Pass(attention, step, widths, sum(counts), places, kept, cache)


def spoil_attention(data: st.DataObject, given: Pass) -> None:
    """Replace one number by one that may not fit. Accepted passes need no more memory."""
    value = data.draw(st.integers(-1, OUT + 1) | ODD)
    place = data.draw(st.sampled_from((*SHAPE, "input", "key_order", *PLACES)))
    if place in PLACES:
        array = given.places[place]
        if place == "mask" or not array.size:
            return
        most = {"block_begins": given.places["blocks"].size, "mask_begins": given.places["mask"].size}
        array[data.draw(st.integers(0, array.size - 1))] = min(value, most.get(place, value))
    elif place == "key_order":
        if place in given.kept:
            order = given.kept[place]
            order[data.draw(st.integers(0, order.size - 1))] = data.draw(st.integers(-(2**15), 2**15 - 1))
    elif place == "input":
        given.step.input = value
    elif place == "bits":
        given.attention.bits = min(value, given.attention.bits)
    elif place != "blocks" or value <= given.attention.blocks:
        setattr(given.attention, place, value)


@fuzz("attention", 400)
@given(st.data())
def test_any_attention_is_computed_or_refused_before_it_writes(kernels: Library, data: st.DataObject) -> None:
    one, threads = attending(data, kernels), data.draw(st.integers(1, 3))
    spoils = data.draw(st.integers(0, 2))
    for _ in range(spoils):
        spoil_attention(data, one)
    try:
        out = one.run(kernels, threads)
    except RuntimeError:
        assert spoils
        assert (one.cache == EMPTY).all()
        return
    assert spoils or np.isfinite(out).all()
