"""Attention of the library against NumPy, and its bits: the same for each instruction set, thread and pass."""

from collections.abc import Sequence
from ctypes import c_int16, c_int32, c_void_p, pointer
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.kernels.library import (
    BLOCK,
    Activation,
    Bytes,
    Format,
    KernelAttention,
    KernelProgram,
    KernelStep,
    Kind,
    Library,
    Sequences,
)
from headstart.engine.kernels.operation import Layout, PlannedStep, pack
from tests.engine.kernels.reference import Doubles, Floats, each_isa, random_weights

HEADS, KV_HEADS = 6, 2
EPSILON = 1e-6
EMPTY = 0xFF  # scales of such bytes are no numbers, which nobody must read
QUERY, KEY, VALUE, COSINE, SINE, FACTOR, OUT = range(7)  # buffers


@dataclass(frozen=True)
class Text:
    """Rows of q, k, v and the angles of one sequence. `blocks`: its blocks in the cache."""

    q: Floats
    k: Floats
    v: Floats
    angles: Doubles
    blocks: Sequence[int]

    @property
    def factors(self) -> Floats:
        """Return the factors of the tokens' queries: [tokens, 1]."""
        return (1 + np.log1p(self.angles[:, :1]) / 8).astype(np.float32)


def text(tokens: int, size: int, blocks: Sequence[int], seed: int = 0) -> Text:
    random = np.random.default_rng(seed)
    q, k, v = (
        random.standard_normal((tokens, heads * size)).astype(np.float32) for heads in (HEADS, KV_HEADS, KV_HEADS)
    )
    steps = np.arange(tokens)[:, None] / 100.0 ** (np.arange(size // 2) * 2 / size)
    return Text(q, k, v, np.concatenate([steps, steps], axis=1), blocks)


@dataclass(frozen=True)
class Form:
    """The optional parts of attention beside queries, keys and values."""

    size: int = 64
    bits: int = 16
    window: int = 0
    cap: float = 0.0
    normed: bool = False
    sinks: bool = False
    scaled: bool = False  # queries have factors
    ordered: bool = False  # the numbers of keys have another order

    @property
    def gains(self) -> tuple[Floats, Floats]:
        random = np.random.default_rng(7)
        query, key = (random.uniform(0.5, 2.0, self.size).astype(np.float32) for _ in range(2))
        return query, key

    @property
    def order(self) -> NDArray[np.int16]:
        random = np.random.default_rng(8)
        return np.concatenate([random.permutation(self.size) for _ in range(KV_HEADS)]).astype(np.int16)

    @property
    def sink_scores(self) -> Floats:
        return np.linspace(-1, 3, HEADS).astype(np.float32)


def empty(kernels: Library, blocks: int, form: Form) -> Bytes:
    """Return an empty cache."""
    return np.full((blocks, KV_HEADS, kernels.kv_record_size(form.size, form.bits)), EMPTY, np.uint8)


FORMS = (
    Form(),
    Form(bits=8),
    Form(window=20, normed=True),
    Form(window=300, cap=3.0),
    Form(window=40, scaled=True),
    Form(sinks=True, normed=True, bits=8),
    Form(ordered=True, window=300, bits=8),
)


def attend(
    kernels: Library,
    cache: Bytes,
    form: Form,
    parts: Sequence[tuple[Text, int, int]],
    *,
    threads: int = 1,
    seen: Sequence[NDArray[np.uint8]] = (),
    window_blocks: Sequence[int] = (),
) -> Floats:
    """Return the result of a pass over the tokens of each text from one place to another."""
    q, k, v = (np.concatenate([getattr(each, name)[a:b] for each, a, b in parts]) for name in "qkv")
    angles = np.concatenate([each.angles[a:b] for each, a, b in parts])
    cosine, sine = (function(angles).astype(np.float32) for function in (np.cos, np.sin))
    out = np.zeros_like(q)
    factors = np.concatenate([each.factors[a:b] for each, a, b in parts])
    buffers = [q.copy(), k.copy(), v.copy(), cosine, sine, factors, out]
    factor = FACTOR if form.scaled else -1
    attention = KernelAttention(HEADS, KV_HEADS, form.size, KEY, VALUE, COSINE, SINE, factor, form.bits, form.window)
    attention.scale, attention.cap, attention.epsilon = form.size**-0.5, form.cap, EPSILON
    attention.cache, attention.blocks = cache.ctypes.data, len(cache)
    gains, sinks, order = form.gains, form.sink_scores, form.order
    if form.normed:
        attention.query_gain, attention.key_gain = (gain.ctypes.data for gain in gains)
    if form.sinks:
        attention.sinks = sinks.ctypes.data
    if form.ordered:
        attention.key_order = order.ctypes.data
    step = KernelStep(Kind.ATTENTION, 0, QUERY, -1, 1, attention=pointer(attention))
    step.outputs[0] = OUT
    counts = [b - a for _, a, b in parts]
    arrays = [
        np.array([a for _, a, _ in parts], np.int32),
        np.cumsum([0, *counts]).astype(np.int32),
        np.concatenate([np.array(each.blocks, np.int32) for each, _, _ in parts]),
        np.cumsum([0, *(len(each.blocks) for each, _, _ in parts)]).astype(np.int32),
        np.concatenate([each.ravel() for each in seen]) if seen else np.zeros(0, np.uint8),
        np.cumsum([0, *(each.size for each in seen)] if seen else [0] * (len(parts) + 1)).astype(np.int32),
    ]
    if window_blocks:
        arrays.append(np.array(window_blocks, np.int32))
    sequences = Sequences(len(parts), *(each.ctypes.data for each in arrays))
    widths = (c_int32 * len(buffers))(*(each.shape[1] for each in buffers))
    program = KernelProgram(pointer(step), 1, widths, len(buffers), len(buffers), pointer(sequences))
    addresses = (c_void_p * len(buffers))(*(each.ctypes.data for each in buffers))
    kernels.run(program, len(q), addresses, threads)
    return out


def expected(each: Text, form: Form) -> Doubles:
    """Return the attention of a whole text, in double precision."""

    def heads(x: Floats, gain: Floats | None = None) -> Doubles:
        split = x.reshape(len(x), -1, form.size).astype(np.float64)
        if gain is None:
            return split
        if form.normed:
            split = split / np.sqrt((split**2).mean(axis=-1, keepdims=True) + EPSILON) * gain
        turned = np.concatenate([-split[..., form.size // 2 :], split[..., : form.size // 2]], axis=-1)
        angles = each.angles[:, None]
        turned_split: Doubles = split * np.cos(angles) + turned * np.sin(angles)
        return turned_split

    query_gain, key_gain = form.gains
    q, k, v = heads(each.q, query_gain), heads(each.k, key_gain), heads(each.v)
    if form.scaled:
        q *= each.factors[:, None]
    out, places = np.zeros_like(q), np.arange(len(q))
    distance = places[:, None] - places
    for head in range(HEADS):
        of = head // (HEADS // KV_HEADS)
        scores = q[:, head] @ k[:, of].T * form.size**-0.5
        if form.cap:
            scores = form.cap * np.tanh(scores / form.cap)
        scores[(distance < 0) | (distance >= (form.window or len(q)))] = -np.inf
        largest = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - largest)
        total = weights.sum(axis=1, keepdims=True)
        if form.sinks:
            total += np.exp(form.sink_scores[head] - largest)
        out[:, head] = weights / total @ v[:, of]
    return out.reshape(len(out), -1)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("tokens", [1, 2, 31, 32, 33, 100, 520])
def test_attention_equals_numpy(kernels: Library, form: Form, tokens: int) -> None:
    one, most = text(tokens, form.size, range(17)), 5e-2 if form.bits == 8 else 3e-3
    for _ in each_isa(kernels):
        found = attend(kernels, empty(kernels, 17, form), form, [(one, 0, tokens)], threads=2)
        assert np.abs(found - expected(one, form)).max() < most


@pytest.mark.parametrize("size", [32, 96, 128, 192, 256, 512])
@pytest.mark.parametrize("bits", [16, 8])
def test_attention_has_heads_of_all_sizes(kernels: Library, size: int, bits: int) -> None:
    one, form = text(70, size, [3, 0, 2]), Form(size, bits)
    for _ in each_isa(kernels):
        found = attend(kernels, empty(kernels, 4, form), form, [(one, 0, 70)], threads=2)
        assert np.abs(found - expected(one, form)).max() < (5e-2 if bits == 8 else 3e-3)


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("size", [64, 128])
def test_cache_of_8_bits_keeps_16_of_the_numbers_that_the_model_makes_large(
    kernels: Library, size: int, normed: bool
) -> None:
    random = np.random.default_rng(3)
    large = random.choice(size // 2, size // 16, replace=False)  # and their partners, with which they are rotated
    weights, _ = random_weights(random, Format.INT8, 0, KV_HEADS * size, 32)
    bias, gain = np.zeros(KV_HEADS * size, np.float32), np.ones(size, np.float32)
    if normed:
        gain[large] = 40.0
    else:
        bias.reshape(KV_HEADS, size)[:, large] = 900.0
    attention = KernelAttention(HEADS, KV_HEADS, size, 2, 2, -1, -1, -1, bits=8)
    attention.key_gain = gain.ctypes.data if normed else None
    nothing: dict[str, Any] = {"gain": None, "epsilon": 0.0}
    product = PlannedStep(Kind.LINEAR, Activation.NONE, 0, -1, [2], [weights], [bias], **nothing)
    attending = PlannedStep(Kind.ATTENTION, Activation.NONE, 1, -1, [3], [], [], **nothing, attention=attention)
    widths = [32, HEADS * size, KV_HEADS * size, HEADS * size]
    (piece,) = pack(kernels, [Layout(widths, inputs=3, outputs=1, steps=[product, attending])], threads=1)
    order = (c_int16 * (KV_HEADS * size)).from_address(piece.attentions[0].key_order)
    for head in np.array(order).reshape(KV_HEADS, size):
        assert sorted(head) == list(range(size))
        assert set(head[-size // 8 :]) == {*large, *large + size // 2}


def test_keys_with_few_large_numbers_are_nearly_exact_in_8_bits(kernels: Library) -> None:
    form = Form(size=128, bits=8, ordered=True)
    one = text(200, 128, range(7))
    last = form.order.reshape(KV_HEADS, 128)[:, -16:]
    for head, numbers in enumerate(last):
        one.k[:, head * 128 + numbers] *= 30
    one = replace(one, angles=np.zeros_like(one.angles))
    error, unordered = (
        np.abs(attend(kernels, empty(kernels, 7, each), each, [(one, 0, 200)]) - expected(one, each)).max()
        for each in (form, replace(form, ordered=False))
    )
    assert error < unordered / 5


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("cuts", [[1] * 70, [7] * 10, [33, 1, 36], [64, 6]], ids=["1", "7", "33 1", "64 6"])
@pytest.mark.parametrize("past", [0, 230])
def test_bits_depend_on_the_text_alone(kernels: Library, form: Form, cuts: list[int], past: int) -> None:
    tokens = past + 70
    one = text(tokens, 64, [*range(0, 20, 2)])
    other = text(tokens, 64, [*range(1, 21, 2)], seed=1)
    whole = attend(kernels, empty(kernels, 21, form), form, [(one, 0, tokens)])  # in the best instruction set
    for threads, isa in enumerate(each_isa(kernels), start=1):
        cache, rows, start = empty(kernels, 21, form), list[Floats](), past
        if past:
            attend(kernels, cache, form, [(one, 0, past), (other, 0, past)])
        for cut in cuts:
            parts = [(other, start, start + cut), (one, start, start + cut)]  # another text in the same pass
            rows.append(attend(kernels, cache, form, parts, threads=threads)[cut:])
            start += cut
        assert np.array_equal(np.concatenate(rows), whole[past:]), isa


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("past", [0, 30, 252, 254, 510])
def test_what_is_not_seen_changes_no_bit(kernels: Library, form: Form, past: int) -> None:
    blocks = [*range(17, -1, -1)]
    one = text(past + 10, form.size, blocks)
    whole = attend(kernels, empty(kernels, 18, form), form, [(one, 0, past + 10)])
    cache = empty(kernels, 18, form)
    if past:
        attend(kernels, cache, form, [(one, 0, past)])
    # Two tokens, a stranger for the third place, another one for the fourth; then the third token of the text.
    rows = [*range(past), past, past + 1, 5, 6, past + 2]
    mixed = Text(one.q[rows], one.k[rows], one.v[rows], one.angles[rows], blocks)
    seen = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 1]], np.uint8)
    for threads, isa in enumerate(each_isa(kernels), start=1):
        found = attend(kernels, cache, form, [(mixed, past, past + 5)], seen=[seen], threads=threads)
        assert np.array_equal(found[[0, 1, 4]], whole[past : past + 3]), isa


@pytest.mark.parametrize("form", [form for form in FORMS if form.window], ids=str)
@pytest.mark.parametrize("count", [1, 2, 40])
def test_what_fell_out_of_the_window_is_not_read(kernels: Library, form: Form, count: int) -> None:
    """Its blocks have no numbers. Layers with a window have blocks of their own."""
    blocks, past = [*range(17)], 500
    one = text(past + count, form.size, blocks)
    whole = attend(kernels, empty(kernels, 17, form), form, [(one, 0, past + count)])
    cache = empty(kernels, 18, form)
    attend(kernels, cache[:17], form, [(one, 0, past)])
    fallen = (past + 1 - form.window) // 32
    cache[:fallen] = EMPTY
    cache[17] = cache[15]
    others = [0 if block < fallen else 17 if block == 15 else block for block in blocks]
    seen = [np.tril(np.ones((count, count), np.uint8))] if count == 2 else []
    for threads, isa in enumerate(each_isa(kernels), start=1):
        found = attend(
            kernels, cache, form, [(one, past, past + count)], threads=threads, seen=seen, window_blocks=others
        )
        assert np.array_equal(found, whole[past:]), isa
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, cache, form, [(one, past, past + count)], window_blocks=[*others[:15], 18, 18])


@pytest.mark.parametrize("bits", [16, 8])
def test_token_that_is_moved_has_the_bits_of_its_place(kernels: Library, bits: int) -> None:
    form, one, size = Form(bits=bits), text(40, 64, [1, 0]), kernels.kv_record_size(64, bits)
    cache, moved = empty(kernels, 2, form), empty(kernels, 2, form)
    whole = attend(kernels, cache, form, [(one, 0, 40)])
    attention = KernelAttention(HEADS, KV_HEADS, 64, bits=bits, cache=moved.ctypes.data, blocks=2)
    moved[...] = cache
    kernels.move_kv(attention, (1, 31), (0, 7))
    assert (moved[1] == cache[1]).all()
    kernels.move_kv(attention, (0, 7), (1, 31))
    assert (moved[1] == cache[1]).all()
    assert size == cache.shape[2]
    assert np.array_equal(attend(kernels, moved, form, [(one, 32, 40)]), whole[32:])


@pytest.mark.parametrize("form", [Form(size=48), Form(size=544), Form(bits=4), Form(window=-1)], ids=str)
def test_unfit_attention_is_refused(kernels: Library, form: Form) -> None:
    cache = np.zeros((1, KV_HEADS, 2**16), np.uint8)
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, cache, form, [(text(4, form.size, [0]), 0, 4)])


@pytest.mark.parametrize("blocks", [[0, 2], [0, -1], [0, 2**31 - 1]])
def test_block_beyond_the_cache_is_refused_before_anything_is_written(kernels: Library, blocks: list[int]) -> None:
    cache = empty(kernels, 2, Form())
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, cache, Form(), [(text(40, 64, blocks), 0, 40)])
    assert (cache == EMPTY).all()
    attend(kernels, cache, Form(), [(text(30, 64, blocks), 0, 30)])  # the second block is not needed


def test_mask_whose_size_no_int_holds_is_refused(kernels: Library) -> None:
    tokens, size, heads = 46_341, 64, 1  # the fewest whose square is beyond 2**31
    buffers = [np.zeros((tokens, size), np.float32) for _ in range(4)]
    cache = np.zeros((tokens // BLOCK + 1, heads, kernels.kv_record_size(size, 16)), np.uint8)
    attention = KernelAttention(heads, heads, size, 1, 2, -1, -1, -1, 16, cache=cache.ctypes.data, blocks=len(cache))
    step = KernelStep(Kind.ATTENTION, 0, 0, -1, 1, attention=pointer(attention))
    step.outputs[0] = 3
    begins, blocks = np.array([0, tokens], np.int32), np.arange(len(cache), dtype=np.int32)
    past, block_begins = np.zeros(1, np.int32), np.array([0, len(blocks)], np.int32)
    seen, seen_begins = np.zeros(1, np.uint8), np.array([0, tokens**2 - 2**32], np.int32)
    arrays = (past, begins, blocks, block_begins, seen, seen_begins)
    sequences = Sequences(1, *(each.ctypes.data for each in arrays))
    program = KernelProgram(pointer(step), 1, (c_int32 * 4)(*[size] * 4), 4, 4, pointer(sequences))
    addresses = (c_void_p * 4)(*(each.ctypes.data for each in buffers))
    with pytest.raises(RuntimeError, match="do not fit"):
        kernels.run(program, tokens, addresses, 1)
