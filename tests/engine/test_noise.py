"""The noise is uniform, independent where it must be, and depends on nothing but seed, position and token."""

import numpy as np
import pytest
from scipy import stats

from headstart.engine.noise import gumbel, hashes

IDS = np.arange(50_000, dtype=np.int64)


def test_words_are_a_pure_function_of_seed_position_and_token() -> None:
    some = IDS[::7]
    assert np.array_equal(hashes(5, 9, IDS)[::7], hashes(5, 9, some))
    assert not np.array_equal(hashes(5, 9, IDS), hashes(5, 10, IDS))
    assert not np.array_equal(hashes(5, 9, IDS), hashes(6, 9, IDS))


@pytest.mark.parametrize(("seed", "position"), [(0, 0), (0, 1), (1, 0), (2**63 - 1, 100_000)])
def test_words_are_uniform(seed: int, position: int) -> None:
    uniform = hashes(seed, position, IDS) * 2.0**-32
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4


def test_words_of_one_token_are_uniform_over_positions_and_seeds() -> None:
    token = np.array([1234])
    by_position = np.array([hashes(3, position, token)[0] for position in range(20_000)]) * 2.0**-32
    by_seed = np.array([hashes(seed, 3, token)[0] for seed in range(20_000)]) * 2.0**-32
    assert stats.kstest(by_position, "uniform").pvalue > 1e-4
    assert stats.kstest(by_seed, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("other", [(0, 1), (1, 0), (7, 12)])
def test_two_positions_or_seeds_share_nothing(other: tuple[int, int]) -> None:
    first, second = hashes(0, 0, IDS).astype(float), hashes(*other, IDS).astype(float)
    for shift in (0, 1, 2, 3):
        correlation = np.corrcoef(first[: len(first) - shift], second[shift:])[0, 1]
        assert abs(correlation) < 0.02  # 4.5 standard deviations of independent words


def test_gumbel_values_follow_their_law_and_their_words() -> None:
    words = hashes(11, 4, IDS)
    noise = gumbel(words)
    assert stats.kstest(noise, "gumbel_r").pvalue > 1e-4
    assert np.array_equal(np.argsort(noise, kind="stable"), np.argsort(words, kind="stable"))


def test_noise_is_at_least_what_a_bound_without_logarithms_says() -> None:
    """With `e` the exponential variable behind a Gumbel value, e >= 1 - word as a share: the sampler relies on it."""
    words = np.concatenate([hashes(2, 7, IDS), np.array([0, 1, 2**32 - 2, 2**32 - 1], np.uint32)])
    assert (np.exp(-gumbel(words)) >= (2.0**32 - 1 - words) * 2.0**-32).all()
