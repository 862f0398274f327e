"""What precisions mean in OpenVINO's properties, and what a pass takes."""

import itertools

import pytest

from headstart.engine.engine import Numerics
from headstart.engine.runners.precision import (
    HINTS,
    candidates,
    differing,
    hint_of,
    name_of,
    pass_ms,
    plain,
    probe_ids,
    properties,
    switch_ms,
    warm_up,
)
from tests.toy import ToyRunner


def test_exact_numerics_are_f32_without_quantised_activations() -> None:
    chosen = properties(Numerics.EXACT)
    assert chosen["INFERENCE_PRECISION_HINT"] == "f32"
    assert chosen["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "0"
    assert chosen["KV_CACHE_PRECISION"] == "f16"


@pytest.mark.parametrize("hint", HINTS)
def test_a_cache_has_16_bits_in_every_precision(hint: str) -> None:
    chosen = properties(Numerics.FAST, hint)
    assert chosen["INFERENCE_PRECISION_HINT"] == hint
    assert chosen["KV_CACHE_PRECISION"] == ("bf16" if hint == "bf16" else "f16")
    assert "DYNAMIC_QUANTIZATION_GROUP_SIZE" not in chosen


def test_larger_groups_of_activations_are_a_precision_where_the_export_allows_them() -> None:
    assert candidates(None) == HINTS
    assert candidates(128) == (*HINTS, "f32, groups of 128")
    assert properties(Numerics.FAST, "f32, groups of 128")["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "128"


@pytest.mark.parametrize("hint", candidates(64))
@pytest.mark.parametrize("other", candidates(64))
def test_what_differs_makes_one_precision_of_another(hint: str, other: str) -> None:
    joined = {**properties(Numerics.FAST, hint), **differing(other, hint)}
    assert hint_of(joined) == other
    assert joined["KV_CACHE_PRECISION"] == properties(Numerics.FAST, other)["KV_CACHE_PRECISION"]


def test_a_setting_is_named_by_what_differs_from_plain_f32() -> None:
    assert name_of(plain()) == "f32"
    assert name_of({**plain(), "DYNAMIC_QUANTIZATION_GROUP_SIZE": "32"}) == "f32"
    threads = {**properties(Numerics.FAST, "bf16"), "INFERENCE_NUM_THREADS": "1"}
    assert name_of(threads) == "bf16, INFERENCE_NUM_THREADS=1"


def test_the_fastest_of_some_passes_counts_and_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate([0.0, 0.020, 1.0, 0.010, 1.0, 0.030])  # two readings a pass
    monkeypatch.setattr("headstart.engine.runners.precision.time.perf_counter", lambda: next(clock))
    runner = ToyRunner()
    runner.forward([1, 2, 3])
    assert pass_ms(runner, 6, repeats=3) == pytest.approx(10.0)
    assert runner.calls == [3, 6, 6, 6]
    assert list(runner.tokens) == [1, 2, 3]


def test_a_change_of_size_costs_what_the_first_pass_after_it_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = (0.030, 0.025, 0.014, 0.010, 0.031, 0.027)  # of passes over 6, 6, 1, 1, 6, 6 tokens
    clock = itertools.accumulate(part for length in [*lengths, 0.016, 0.010] for part in (1.0, length))
    monkeypatch.setattr("headstart.engine.runners.precision.time.perf_counter", lambda: next(clock))
    runner = ToyRunner()
    assert switch_ms(runner, repeats=2) == pytest.approx(4.5)
    assert runner.calls == [6, 6, 1, 1, 6, 6, 1, 1]


def test_probes_are_the_same_each_time_and_in_the_vocabulary() -> None:
    ids = probe_ids(24, 500, seed=1)
    assert ids == probe_ids(24, 500, seed=1) != probe_ids(24, 500, seed=2)
    assert set(ids) == set(range(24))


def test_warming_up_leaves_nothing() -> None:
    runner = ToyRunner()
    warm_up(runner)
    assert runner.calls == [1]
    assert not runner.tokens
