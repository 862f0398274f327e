"""Short convolutions: their sums, and the places at which a text can be cut."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.engine.kernels.states import PART, Convolution

WIDTH, TAPS, TOKENS = 8, 3, 700
RANDOM = np.random.default_rng(0)
WEIGHTS = RANDOM.standard_normal((WIDTH, TAPS)).astype(np.float32)
X = RANDOM.standard_normal((TOKENS, WIDTH)).astype(np.float32)
FIRST, OTHER = 0, 40  # first blocks of two sequences


def read(convolution: Convolution, past: int, stop: int, sequence: int = FIRST) -> NDArray[np.float32]:
    """Read the tokens from `past` to `stop`."""
    out = np.empty((stop - past, WIDTH), np.float32)
    arrays = [np.array(values, np.int32) for values in ([past], [0, stop - past], [sequence], [0, 1])]
    convolution.run(X[past:stop], arrays, out)
    return out


def whole() -> NDArray[np.float32]:
    return read(Convolution(WEIGHTS), 0, TOKENS)


def test_sums_are_those_of_a_causal_convolution() -> None:
    padded = np.concatenate([np.zeros((TAPS - 1, WIDTH), np.float32), X])
    expected = np.stack([(padded[place : place + TAPS] * WEIGHTS.T).sum(0) for place in range(TOKENS)])
    assert np.allclose(whole(), expected, atol=1e-6)


def test_passes_of_every_size_have_the_same_bits() -> None:
    expected = whole()
    for sizes in ([1] * 40, [2, 37, 1], [30, 10]):
        convolution, place = Convolution(WEIGHTS), 0
        for size in sizes:
            assert np.array_equal(read(convolution, place, place + size), expected[place : place + size])
            place += size


def test_two_sequences_do_not_touch_each_other() -> None:
    convolution, expected = Convolution(WEIGHTS), whole()
    read(convolution, 0, 50)
    read(convolution, 0, 9, OTHER)
    assert np.array_equal(read(convolution, 50, 60), expected[50:60])
    assert np.array_equal(read(convolution, 9, 20, OTHER), expected[9:20])


def cut(convolution: Convolution, lengths: Sequence[int]) -> list[int]:
    return [convolution.last_known(FIRST, length) for length in lengths]


def test_text_can_be_cut_near_its_end_and_at_full_parts() -> None:
    convolution, expected = Convolution(WEIGHTS), whole()
    for place in range(0, TOKENS, 50):
        read(convolution, place, place + 50)
    assert cut(convolution, [TOKENS, TOKENS - 60]) == [TOKENS, TOKENS - 60]
    assert cut(convolution, [2 * PART + 20, PART + 100, PART - 1]) == [2 * PART, PART, 0]
    assert np.array_equal(read(convolution, PART, PART + 30), expected[PART : PART + 30])
    assert cut(convolution, [2 * PART, PART + 30]) == [PART, PART + 30]


def test_snapshot_goes_on_in_another_sequence() -> None:
    convolution, expected = Convolution(WEIGHTS), whole()
    read(convolution, 0, TOKENS)
    rows = convolution.snapshot(FIRST, PART)
    assert rows.nbytes == convolution.size
    convolution.restore(OTHER, PART, rows)
    assert np.array_equal(read(convolution, PART, TOKENS, OTHER), expected[PART:])
