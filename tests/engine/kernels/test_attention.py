"""Attention of the library against NumPy, and its bits: the same for each instruction set, thread and pass."""

from collections.abc import Sequence
from ctypes import c_int32, c_void_p, pointer
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.kernels.library import BLOCK, Attention, Kind, Library, Program, Sequences, Step
from tests.engine.kernels.reference import Doubles, Floats, each_isa

HEADS, KV_HEADS = 6, 2
QUERY, KEY, VALUE, COSINE, SINE, OUT = range(6)  # buffers


@dataclass
class Cache:
    """Keys and values of all blocks, as the library lays them out."""

    keys: NDArray[np.float16]
    values: NDArray[np.float16]


def empty(blocks: int, size: int) -> Cache:
    """Filled with what is no number, which nobody must read."""
    return Cache(
        np.full((blocks, KV_HEADS, size, BLOCK), np.nan, np.float16),
        np.full((blocks, KV_HEADS, BLOCK, size), np.nan, np.float16),
    )


@dataclass(frozen=True)
class Text:
    """Rows of q, k, v and the angles of one sequence. `blocks`: its own in the cache."""

    q: Floats
    k: Floats
    v: Floats
    angles: Doubles
    blocks: Sequence[int]


def text(tokens: int, size: int, blocks: Sequence[int], seed: int = 0) -> Text:
    random = np.random.default_rng(seed)
    q, k, v = (
        random.standard_normal((tokens, heads * size)).astype(np.float32) for heads in (HEADS, KV_HEADS, KV_HEADS)
    )
    steps = np.arange(tokens)[:, None] / 100.0 ** (np.arange(size // 2) * 2 / size)
    return Text(q, k, v, np.concatenate([steps, steps], axis=1), blocks)


def attend(
    kernels: Library,
    cache: Cache,
    size: int,
    parts: Sequence[tuple[Text, int, int]],
    *,
    threads: int = 1,
    seen: Sequence[NDArray[np.uint8]] = (),
) -> Floats:
    """Return the result of a pass over the tokens of each text from one place to another."""
    q, k, v = (np.concatenate([getattr(each, name)[a:b] for each, a, b in parts]) for name in "qkv")
    angles = np.concatenate([each.angles[a:b] for each, a, b in parts])
    cosine, sine = (function(angles).astype(np.float32) for function in (np.cos, np.sin))
    out = np.zeros_like(q)
    buffers = [q.copy(), k.copy(), v.copy(), cosine, sine, out]
    keys, values = cache.keys.ctypes.data, cache.values.ctypes.data
    attention = Attention(HEADS, KV_HEADS, size, KEY, VALUE, COSINE, SINE, size**-0.5, keys, values, len(cache.keys))
    step = Step(Kind.ATTENTION, 0, QUERY, -1, 1, attention=pointer(attention))
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
    sequences = Sequences(len(parts), *(each.ctypes.data for each in arrays))
    widths = (c_int32 * len(buffers))(*(each.shape[1] for each in buffers))
    program = Program(pointer(step), 1, widths, len(buffers), len(buffers), pointer(sequences))
    addresses = (c_void_p * len(buffers))(*(each.ctypes.data for each in buffers))
    kernels.run(program, len(q), addresses, threads)
    return out


def expected(each: Text, size: int) -> Doubles:
    """Attention of a whole text, in double precision over keys and values of 16 bits."""

    def heads(x: Floats, *, rotated: bool) -> Doubles:
        split = x.reshape(len(x), -1, size).astype(np.float64)
        if not rotated:
            return split
        turned = np.concatenate([-split[..., size // 2 :], split[..., : size // 2]], axis=-1)
        angles = each.angles[:, None]
        turned_split: Doubles = split * np.cos(angles) + turned * np.sin(angles)
        return turned_split

    q, k = heads(each.q, rotated=True), heads(each.k, rotated=True).astype(np.float16).astype(np.float64)
    v = heads(each.v, rotated=False).astype(np.float16).astype(np.float64)
    out = np.zeros_like(q)
    for head in range(HEADS):
        of = head // (HEADS // KV_HEADS)
        scores = q[:, head] @ k[:, of].T * size**-0.5
        scores[np.triu_indices(len(scores), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, head] = weights / weights.sum(axis=1, keepdims=True) @ v[:, of]
    return out.reshape(len(out), -1)


@pytest.mark.parametrize("size", [64, 128, 192])
@pytest.mark.parametrize("tokens", [1, 2, 31, 32, 33, 100])
def test_attention_equals_numpy(kernels: Library, size: int, tokens: int) -> None:
    one = text(tokens, size, [3, 0, 2, 1])
    for _ in each_isa(kernels):
        found = attend(kernels, empty(4, size), size, [(one, 0, tokens)], threads=2)
        assert np.abs(found - expected(one, size)).max() < 2e-3


@pytest.mark.parametrize("cuts", [[1] * 70, [7] * 10, [33, 1, 36], [64, 6]], ids=["1", "7", "33 1", "64 6"])
def test_bits_depend_on_the_text_alone(kernels: Library, cuts: list[int]) -> None:
    one, other = text(70, 64, [2, 0, 4]), text(70, 64, [1, 5, 3], seed=1)
    whole = attend(kernels, empty(6, 64), 64, [(one, 0, 70)])  # in the best instruction set
    for threads, _ in enumerate(each_isa(kernels), start=1):
        cache, rows, start = empty(6, 64), list[Floats](), 0
        for cut in cuts:
            parts = [(other, start, start + cut), (one, start, start + cut)]  # another text in the same pass
            rows.append(attend(kernels, cache, 64, parts, threads=threads)[cut:])
            start += cut
        assert np.array_equal(np.concatenate(rows), whole)


def test_what_is_not_seen_changes_no_bit(kernels: Library) -> None:
    one, size = text(40, 64, [0, 1]), 64
    whole = attend(kernels, empty(2, size), size, [(one, 0, 40)])
    cache = empty(3, size)
    attend(kernels, cache, size, [(one, 0, 30)])
    # Tokens 30 and 31, a stranger for place 31, another one for 32; then token 32 of the text.
    order = [30, 31, 5, 6, 32]
    rows = [*range(30), *order]
    mixed = Text(one.q[rows], one.k[rows], one.v[rows], one.angles[rows], [0, 1, 2])
    seen = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 1]], np.uint8)
    for _ in each_isa(kernels):
        found = attend(kernels, cache, size, [(mixed, 30, 35)], seen=[seen])
        assert np.array_equal(found[[0, 1, 4]], whole[30:33])


def test_unfit_attention_is_refused(kernels: Library) -> None:
    one = text(4, 64, [0])
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, empty(1, 96), 96, [(text(4, 96, [0]), 0, 4)])
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, Cache(np.zeros(0, np.float16), np.zeros(0, np.float16)), 32, [(one, 0, 4)])


@pytest.mark.parametrize("blocks", [[0, 2], [0, -1], [0, 2**31 - 1]])
def test_block_beyond_the_cache_is_refused_before_anything_is_written(kernels: Library, blocks: list[int]) -> None:
    cache = empty(2, 64)
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(kernels, cache, 64, [(text(40, 64, blocks), 0, 40)])
    assert np.isnan(cache.keys).all()
    assert np.isnan(cache.values).all()
    attend(kernels, cache, 64, [(text(30, 64, blocks), 0, 30)])  # the second block is not needed


def test_mask_whose_size_no_int_holds_is_refused(kernels: Library) -> None:
    tokens, size, heads = 46_341, 64, 1  # the fewest whose square is beyond 2**31
    buffers = [np.zeros((tokens, size), np.float32) for _ in range(4)]
    cache = np.zeros((tokens // BLOCK + 1, heads, size, BLOCK), np.float16)
    attention = Attention(heads, heads, size, 1, 2, -1, -1, 1.0, cache.ctypes.data, cache.ctypes.data, len(cache))
    step = Step(Kind.ATTENTION, 0, 0, -1, 1, attention=pointer(attention))
    step.outputs[0] = 3
    begins, blocks = np.array([0, tokens], np.int32), np.arange(len(cache), dtype=np.int32)
    past, block_begins = np.zeros(1, np.int32), np.array([0, len(blocks)], np.int32)
    seen, seen_begins = np.zeros(1, np.uint8), np.array([0, tokens**2 - 2**32], np.int32)
    arrays = (past, begins, blocks, block_begins, seen, seen_begins)
    sequences = Sequences(1, *(each.ctypes.data for each in arrays))
    program = Program(pointer(step), 1, (c_int32 * 4)(*[size] * 4), 4, 4, pointer(sequences))
    addresses = (c_void_p * 4)(*(each.ctypes.data for each in buffers))
    with pytest.raises(RuntimeError, match="do not fit"):
        kernels.run(program, tokens, addresses, 1)
