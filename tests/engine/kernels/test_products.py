"""Products of packed matrices with rounded activations, against NumPy and between instruction sets."""

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.kernels.library import BLOCK, Format, Library
from tests.engine.kernels.reference import (
    FORMATS,
    GROUPS,
    Doubles,
    Floats,
    block_of,
    each_isa,
    packed,
    product,
    random_weights,
    room,
    rounded,
)

SIZES = ((1, 128), (31, 192), (40, 512), (97, 576), (64, 768), (33, 896), (70, 1536), (32, 64))
TOKENS = (*range(1, 17), 24, 40, 49, 65)
# Where f16 numbers begin in blocks of a file, in bytes; 0 for all others.
HALVES = {
    **dict.fromkeys((Format.Q4_1, Format.Q5_1, Format.Q4_K, Format.Q5_K), (0, 2)),
    Format.Q2_K: (80, 82),
    Format.Q3_K: (108,),
    Format.Q6_K: (208,),
}
FORMS = (*((format_, group, True) for format_, group in FORMATS), (Format.INT8, 0, False))  # INT8 without zero points
MOST_ERROR = 2e-6  # of the sum of magnitudes that a product adds up


def close(found: Floats, x: Doubles, values: Doubles) -> bool:
    """Tell if products are those of x [tokens, cols] and values [rows, cols]."""
    return bool((np.abs(found - x @ values.T) <= MOST_ERROR * (np.abs(x) @ np.abs(values.T)) + 1e-30).all())


def supported(format_: Format, group: int) -> list[tuple[int, int]]:
    """Yield sizes [rows, cols] that a format supports."""
    columns = block_of(format_)[0] if format_.is_gguf else group or 32
    return [size for size in SIZES if size[1] % columns == 0]


def activations(random: np.random.Generator, tokens: int, cols: int) -> Floats:
    """Return activations with outliers, as models have them: [tokens, cols]."""
    x = random.standard_normal((tokens, cols)).astype(np.float32)
    x[:, random.integers(0, cols, 3)] *= 50
    return x


def same_bits(a: NDArray[np.float32], b: NDArray[np.float32]) -> bool:
    """Tell if all numbers have the same bits; NaN equals NaN."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize(("format_", "group", "zeros"), FORMS)
def test_products_equal_numpy_in_every_instruction_set(
    kernels: Library, format_: Format, group: int, zeros: bool
) -> None:
    random = np.random.default_rng(group)
    for rows, cols in supported(format_, group):
        weights, values = random_weights(random, format_, group, rows, cols, zeros=zeros)
        matrix = packed(kernels, [(weights, values)])
        x = activations(random, 40, cols)
        first = None
        for isa in each_isa(kernels):
            found = product(kernels, matrix, rows, x)
            assert close(found, rounded(x), values), (isa, rows, cols)
            first = found if first is None else first
            assert same_bits(found, first), (isa, rows, cols)


@pytest.mark.parametrize(("format_", "group"), FORMATS)
def test_token_has_the_same_bits_among_any_number_of_tokens_and_threads(
    kernels: Library, format_: Format, group: int
) -> None:
    random = np.random.default_rng(group)
    rows, cols = 70, 768
    matrix = packed(kernels, [random_weights(random, format_, group, rows, cols)])
    x = activations(random, max(TOKENS), cols)
    for isa in each_isa(kernels):
        alone = np.concatenate([product(kernels, matrix, rows, x[i : i + 1]) for i in range(len(x))])
        for place, tokens in enumerate(TOKENS):
            for threads in (1, 2 + place // 2 % 2):
                found = product(kernels, matrix, rows, x[:tokens], threads)
                assert same_bits(found, alone[:tokens]), (isa, tokens, threads)


def test_every_instruction_set_but_plain_c_says_how_fast_it_multiplies(kernels: Library) -> None:
    for isa in each_isa(kernels):
        one, three = kernels.multiply(1, threads=1), kernels.multiply(3, threads=2)
        assert three == 3 * one, isa
        assert (one > 0) == (isa != "plain C")


@pytest.mark.parametrize(("format_", "group", "zeros"), FORMS)
def test_unpacking_restores_the_weights(kernels: Library, format_: Format, group: int, zeros: bool) -> None:
    random = np.random.default_rng(group)
    for rows, cols in supported(format_, group):
        weights, values = random_weights(random, format_, group, rows, cols, zeros=zeros)
        matrix = packed(kernels, [(weights, values)])
        matrix.matrix.rows = rows
        found = kernels.unpack(matrix.matrix)
        if format_.is_gguf:
            assert same_bits(found, values.astype(np.float32)), (rows, cols)
            columns, size = block_of(format_)
            assert len(matrix.memory) == -(-rows // BLOCK) * BLOCK * cols // columns * size
        assert np.allclose(found, values, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("format_", "group"), FORMATS)
def test_memory_need_not_be_aligned(kernels: Library, format_: Format, group: int) -> None:
    random = np.random.default_rng(group)
    rows, cols = 70, 768
    weights = random_weights(random, format_, group, rows, cols)
    x = activations(random, 9, cols)
    shifted = room(x.nbytes, 4).view(np.float32).reshape(x.shape)
    shifted[:] = x
    aligned = packed(kernels, [weights])
    for _ in each_isa(kernels):
        expected = product(kernels, aligned, rows, x)
        assert same_bits(product(kernels, packed(kernels, [weights], shift=4), rows, shifted), expected)


@pytest.mark.parametrize(("format_", "group"), FORMATS)
def test_extreme_weights_and_activations_are_exact(kernels: Library, format_: Format, group: int) -> None:
    """The largest products are summed, where saturating instructions would be wrong."""
    rows, cols = 64, 256
    random = np.random.default_rng(0)
    for fill in (0, 255, 0x80, 0x7F, 0x88):
        weights, _ = random_weights(random, format_, group, rows, cols, zeros=format_ is not Format.INT8)
        if format_ in {Format.F16, Format.BF16}:
            continue
        fill_codes(format_, weights.values, fill)
        matrix = packed(kernels, [(weights, np.zeros((rows, cols)))])
        matrix.matrix.rows = rows
        values = kernels.unpack(matrix.matrix).astype(np.float64)
        for sign in (1, -1):
            x = np.full((8, cols), sign, np.float32)
            for isa in each_isa(kernels):
                assert close(product(kernels, matrix, rows, x), rounded(x), values), (isa, format_, fill)


def fill_codes(format_: Format, values: NDArray[np.uint8], fill: int) -> None:
    """Fill stored weights with a byte, but for the f16 numbers of blocks."""
    if not format_.is_gguf:
        values[:] = fill
        return
    blocks = values.reshape(-1, block_of(format_)[1])
    codes = np.ones(blocks.shape[1], bool)
    for place in HALVES.get(format_, (0,)):
        codes[place : place + 2] = False
    blocks[:, codes] = fill


@pytest.mark.parametrize(("format_", "group"), FORMATS)
@pytest.mark.parametrize("factor", [0.0, 1e-45, 1e-38, 1e-30, 1e30])
def test_tiny_and_huge_activations(kernels: Library, format_: Format, group: int, factor: float) -> None:
    random = np.random.default_rng(group)
    rows, cols = 32, 512
    weights, values = random_weights(random, format_, group, rows, cols)
    matrix = packed(kernels, [(weights, values)])
    x = random.integers(-5, 6, (5, cols)).astype(np.float32) * np.float32(factor)
    results = [product(kernels, matrix, rows, x) for _ in each_isa(kernels)]
    assert close(results[0], rounded(x), values)
    assert all(same_bits(found, results[0]) for found in results)


@pytest.mark.parametrize(("format_", "group"), FORMATS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_activation_stays_in_its_row(kernels: Library, format_: Format, group: int, bad: float) -> None:
    random = np.random.default_rng(group)
    rows, cols = 40, 512
    matrix = packed(kernels, [random_weights(random, format_, group, rows, cols)])
    x = activations(random, 10, cols)
    for isa in each_isa(kernels):
        good = product(kernels, matrix, rows, x)
        spoiled = x.copy()
        spoiled[3, 300] = bad
        found = product(kernels, matrix, rows, spoiled)
        assert not np.isfinite(found[3]).any(), isa
        assert same_bits(np.delete(found, 3, axis=0), np.delete(good, 3, axis=0)), isa


@pytest.mark.parametrize("scale", [0.0, 2.0**-24, 6e-5, 65504.0])
def test_scales_may_be_zero_denormal_or_the_largest(kernels: Library, scale: float) -> None:
    random = np.random.default_rng(1)
    rows, cols = 40, 256
    for format_ in (Format.INT8, Format.INT4, Format.INT4_MIN):
        weights, _ = random_weights(random, format_, GROUPS[format_], rows, cols)
        assert weights.scales is not None
        weights.scales[:] = scale
        if format_ is Format.INT4_MIN and weights.zeros is not None:
            weights.zeros[:] = -scale
        matrix = packed(kernels, [(weights, np.zeros((rows, cols)))])
        matrix.matrix.rows = rows
        values = kernels.unpack(matrix.matrix).astype(np.float64)
        x = activations(random, 3, cols)
        for isa in each_isa(kernels):
            assert close(product(kernels, matrix, rows, x), rounded(x), values), (isa, format_)


@pytest.mark.parametrize(
    ("format_", "group", "cols"),
    [
        (0, 0, 256),
        (4, 256, 256),
        (15, 0, 256),
        (16, 32, 256),
        (25, 0, 384),
        (30, 0, 256),
        (1, 32, 256),
        (1, 0, 48),
        (2, 256, 256),
        (2, 128, 192),
        (3, 64, 256),
        (1, 0, 0),
        (1, 0, -64),
        (2, 128, 2**30),
    ],
)
def test_unsupported_sizes_are_refused(kernels: Library, format_: int, group: int, cols: int) -> None:
    assert kernels._functions.hk_block_size(format_, group, cols) == 0
    assert kernels._functions.hk_pack(format_, group, 32, cols, None, None, None, 0, 1, None, 0) == -1
