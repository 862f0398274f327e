"""Processed distributions against a slow reference, draws against the distribution, and the model author's values."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headstart.engine import sampling as sampling_module
from headstart.engine.engine import Sampling
from headstart.engine.sampling import Hashes, Row, Sampler, gumbel, hashes, largest
from headstart.engine.text import generation_config
from headstart.engine.text.generation_config import USUAL, read
from headstart.parameters import filled
from tests.engine import goodness

VOCABULARY = 300


def random_row(seed: int, size: int = VOCABULARY) -> Row:
    return np.random.default_rng(seed).normal(0.0, 3.0, size).astype(np.float32)


def reference(row: Row, sampling: Sampling) -> NDArray[np.float64]:
    """Return probabilities by the definition: temperature, then top-k, top-p, min-p, each over the rest of the last."""
    weights = np.exp((row.astype(np.float64) - row.max()) / sampling.temperature)
    order = sorted(range(row.size), key=lambda token: (-row[token], token))
    kept = order[: sampling.top_k] if sampling.top_k else order
    total, mass = weights[kept].sum(), 0.0
    nucleus: list[int] = []
    for token in kept:
        if nucleus and mass >= sampling.top_p * total:
            break
        nucleus.append(token)
        mass += weights[token]
    final = [token for token in nucleus if weights[token] >= sampling.min_p * weights[nucleus[0]]]
    probabilities = np.zeros(row.size)
    probabilities[final] = weights[final] / weights[final].sum()
    return probabilities


SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 0.8, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5, 40, 1000]),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 0.999, 1.0]),
    min_p=st.sampled_from([0.0, 0.01, 0.2]),
    seed=st.integers(0, 2**63 - 1),
)


@settings(max_examples=60, deadline=None)
@given(SAMPLINGS, st.integers(0, 1000))
def test_distribution_equals_the_reference(sampling: Sampling, seed: int) -> None:
    row = random_row(seed)
    expected = reference(row, sampling)
    sampler = Sampler(sampling, [])
    got = [sampler.probability(row, token) for token in range(row.size)]
    np.testing.assert_allclose(got, expected, atol=1e-6)


# Steps between logits make many of them equal, and small deviations let nearly every token survive.
ROWS = st.builds(
    lambda seed, size, deviation, step: stepped(random_row(seed, size) * deviation, step),
    st.integers(0, 1000),
    st.sampled_from([20, 300, 3000, 40_000]),
    st.sampled_from([0.1, 0.3, 1.0, 2.0]),
    st.sampled_from([0.0, 0.125]),
)


def stepped(row: Row, step: float) -> Row:
    """Round values to multiples of `step`, if given."""
    return (np.round(row / step) * step).astype(np.float32) if step else row.astype(np.float32)


@settings(max_examples=80, deadline=None)
@given(SAMPLINGS, ROWS, st.integers(0, 10_000))
def test_choice_and_runners_up_have_the_largest_scores(sampling: Sampling, row: Row, position: int) -> None:
    with np.errstate(divide="ignore"):
        scores = np.log(reference(row, sampling))
    perturbed = scores + gumbel(hashes(sampling.seed, position, np.arange(row.size)))
    ranked = np.argsort(-perturbed, kind="stable")[:4]
    told = ranked[perturbed[ranked] > perturbed[ranked[0]] + np.log(0.00101)].tolist()
    sampler = Sampler(sampling, [])
    guess = sampler.guess(row, position)
    assert sampler.choose(row, position) == guess.token == ranked[0]
    assert [guess.token, *(each.token for each in guess.runners_up)][: len(told)] == told


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 300))
def test_top_k_is_ordered_and_ties_go_by_id(row: Row, count: int) -> None:
    assert largest(row, count).tolist() == sorted(range(row.size), key=lambda token: (-row[token], token))[:count]


def test_draws_over_positions_follow_the_distribution() -> None:
    row, sampling = random_row(5, size=40), Sampling(temperature=1.0, top_p=0.95, seed=3)
    expected = reference(row, sampling)
    draws = 8_000
    counts = np.bincount([Sampler(sampling, []).choose(row, position) for position in range(draws)], minlength=40)
    assert not counts[expected == 0].any()
    possible = expected > 0
    assert (expected[possible] * draws > 5).all()  # what the chi-square law asks for
    assert goodness.chi_square(counts[possible], expected[possible] * draws) > 1e-4


def test_greedy_gives_the_likeliest_token_and_its_probability() -> None:
    row = random_row(1)
    sampler = Sampler(Sampling(), [])
    probabilities = np.exp(row.astype(np.float64)) / np.exp(row.astype(np.float64)).sum()
    guess = sampler.guess(row, 17)
    assert sampler.choose(row, 17) == guess.token == row.argmax()
    assert guess.confidence == pytest.approx(probabilities.max(), rel=1e-5)
    assert sampler.probability(row, 7) == pytest.approx(probabilities[7], rel=1e-5)


def test_logit_bias_is_added_where_the_token_exists() -> None:
    row = np.array([4.0, 1.0, 3.0, 2.0], np.float32)
    sampler = Sampler(Sampling(repetition_penalty=4.0, logit_bias={2: 3.0, 0: -100.0, 7: 100.0}), [2])
    assert sampler.choose(row, 0) == 3  # 6.0 became 1.5: penalties come after it
    assert Sampler(Sampling(logit_bias={2: 3.0}), []).guess(row[1:], 0, ids=np.array([1, 2, 3])).token == 2
    assert row.tolist() == [4.0, 1.0, 3.0, 2.0]


def test_repetition_penalty_counts_each_token_once() -> None:
    row = np.array([4.0, -4.0, 3.0, 1.0], np.float32)
    sampler = Sampler(Sampling(repetition_penalty=2.0), prompt=[0, 0, 1])
    assert sampler.choose(row, 0) == 2  # 4.0 became 2.0, -4.0 became -8.0
    assert sampler.choose(row, 1, run=[2]) == 0  # 2.0 against 1.5
    sampler.commit(2)
    assert sampler.choose(row, 1) == 0
    assert row[0] == 4.0  # the model's own memory is left alone


def test_presence_and_frequency_penalties_skip_the_prompt() -> None:
    row = np.array([2.0, 1.6, 0.0], np.float32)
    sampler = Sampler(Sampling(frequency_penalty=0.3), prompt=[0] * 9)
    assert sampler.choose(row, 0) == 0
    sampler.commit(0)
    assert sampler.choose(row, 1) == 0  # 1.7 against 1.6
    assert sampler.choose(row, 2, run=[0]) == 1  # 1.4 against 1.6
    presence = Sampler(Sampling(presence_penalty=0.5), prompt=[])
    presence.commit(0)
    presence.commit(0)
    assert presence.choose(row, 2) == 1  # 1.5 against 1.6: once, however often it came


def test_guess_has_its_runners_up_with_their_shares() -> None:
    row = np.log(np.array([0.05, 0.5, 0.0001, 0.3, 0.1, 0.0499], np.float32))
    guess = Sampler(Sampling(), ()).guess(row, 3)
    assert [guess.token, *(each.token for each in guess.runners_up)] == [1, 3, 4, 0]
    assert [each.confidence for each in guess.runners_up] == pytest.approx([0.3, 0.1, 0.05], rel=1e-3)
    listed = Sampler(Sampling(), ()).guess(row[:4], 3, ids=np.array([2, 5, 6, 9]))
    assert [listed.token, *(each.token for each in listed.runners_up)] == [5, 9, 2]


def test_draft_and_target_share_the_noise_of_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(seed: int, position: int, ids: NDArray[np.integer[Any]]) -> Hashes:
        asked.append(position)
        return hashes(seed, position, ids)

    monkeypatch.setattr(sampling_module, "hashes", counted)
    sampler, alone = Sampler(Sampling(temperature=1.0, seed=4), [1, 2]), Sampler(Sampling(temperature=1.0, seed=4), [])
    for position in range(2, 40):
        guess = sampler.guess(random_row(position), position).token
        assert sampler.choose(random_row(position), position) == guess == alone.choose(random_row(position), position)
        narrow = np.arange(0, VOCABULARY, 3)
        shared = sampler.guess(random_row(position)[narrow], position, (), narrow)
        assert shared.token == alone.guess(random_row(position)[narrow], position, (), narrow).token
        sampler.commit(guess)
    assert asked.count(20) == 2  # by the one that remembers, and by the other


IDS = np.arange(50_000, dtype=np.int64)


@pytest.mark.parametrize(("seed", "position"), [(0, 0), (0, 1), (1, 0), (2**63 - 1, 100_000)])
def test_random_words_are_uniform(seed: int, position: int) -> None:
    uniform = hashes(seed, position, IDS) * 2.0**-32
    assert goodness.kolmogorov(uniform) > 1e-4


@pytest.mark.parametrize("other", [(0, 1), (1, 0), (7, 12)])
def test_noise_differs_by_position_and_seed(other: tuple[int, int]) -> None:
    first, second = hashes(0, 0, IDS).astype(float), hashes(*other, IDS).astype(float)
    for shift in (0, 1, 2, 3):
        correlation = np.corrcoef(first[: len(first) - shift], second[shift:])[0, 1]
        assert abs(correlation) < 0.02  # 4.5 standard deviations of independent words


def test_gumbel_values_follow_their_law() -> None:
    words = hashes(11, 4, IDS)
    noise = gumbel(words)
    assert goodness.kolmogorov(np.exp(-np.exp(-noise))) > 1e-4
    assert np.array_equal(np.argsort(noise, kind="stable"), np.argsort(words, kind="stable"))


def test_noise_is_above_its_bound() -> None:
    # The sampler relies on e >= 1 - word, as a share, where e is the exponential variable behind a Gumbel value.
    words = np.concatenate([hashes(2, 7, IDS), np.array([0, 1, 2**32 - 2, 2**32 - 1], np.uint32)])
    assert (np.exp(-gumbel(words)) >= (2.0**32 - 1 - words) * 2.0**-32).all()


def test_bound_in_place_of_a_sum_changes_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    row = random_row(3, 40_000)
    row[[5, 17, 900]] += 12.0
    chosen = []
    for hopeless in (0.0, 1e-9, 0.03, 0.3, 2.0):
        monkeypatch.setattr(sampling_module, "_HOPELESS", hopeless or 1e-30)
        sampler = Sampler(Sampling(temperature=1.2, top_p=0.6, seed=4), [])
        chosen.append([sampler.choose(row, position) for position in range(300)])
    assert len(set(chosen[0])) > 20
    assert all(each == chosen[0] for each in chosen)


QWEN = {"do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.1}


@pytest.mark.parametrize(
    ("written", "sampling"),
    [
        (QWEN, Sampling(0.7, 0.8, 20, repetition_penalty=1.1)),
        ({"do_sample": True, "top_k": 64, "top_p": 0.95}, Sampling(1.0, 0.95, 64)),  # Gemma's: 1 is the hub's default
        ({"temperature": 1, "min_p": 0.1}, Sampling(1.0, min_p=0.1)),
        ({"do_sample": False, "top_k": 20}, Sampling(0.0, top_k=20)),
        ({"eos_token_id": [2, 0], "_from_model_config": True}, USUAL),  # made from a GGUF file
        ({"temperature": None}, USUAL),
    ],
)
def test_generation_config_gives_the_defaults(tmp_path: Path, written: object, sampling: Sampling) -> None:
    (tmp_path / generation_config.FILE_NAME).write_text(json.dumps(written), encoding="utf-8")
    assert read(tmp_path) == sampling


@pytest.mark.parametrize(
    "written", ["", "[1]", '{"temperature": "warm"}', '{"top_p": 7}', '{"top_k": 1e999}', "[" * 5000]
)
def test_empty_generation_config_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, written: str) -> None:
    (tmp_path / generation_config.FILE_NAME).write_text(written, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path) == USUAL
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_missing_generation_config_gives_the_usual_values(tmp_path: Path) -> None:
    assert read(tmp_path) == USUAL
    assert USUAL.temperature > 0


ASKED = {"top_p": 0.5, "presence_penalty": 0.25, "frequency_penalty": 0.0, "seed": 7}  # the rest is left open


def test_open_parameters_are_those_of_the_model() -> None:
    own = Sampling(0.7, 0.8, 20, repetition_penalty=1.1, seed=99)
    settled = filled(Sampling, ASKED).settled(own)
    assert settled == Sampling(0.7, 0.5, 20, 0.0, 1.1, presence_penalty=0.25, seed=7)
    assert settled.settled(Sampling(0.1)) == settled


def test_temperature_zero_is_greedy() -> None:
    asked = ASKED | {"temperature": 0.0, "top_p": None}
    assert filled(Sampling, asked).settled(Sampling(0.7, 0.8, 20, repetition_penalty=1.1)) == Sampling(
        presence_penalty=0.25, seed=7
    )
