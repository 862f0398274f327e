"""The precision is measured once, among those that the device takes; exact numerics leave no choice."""

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from headstart.engine import precision
from headstart.engine.engine import Numerics
from headstart.engine.measurements import Measurements
from headstart.engine.precision import (
    HINTS,
    Properties,
    candidates,
    differing,
    fastest_hint,
    hint_of,
    pass_ms,
    probe_ids,
    properties,
    switch_ms,
    warm_up,
)
from headstart.engine.runner import Logits, Runner
from tests.toy import ToyRunner

GROUPED = "f32, groups of 128"
MILLISECONDS = {"f32": (70.0, 90.0), "bf16": (100.0, 120.0), "f16": (60.0, 130.0), GROUPED: (60.0, 80.0)}  # 1, 6 tokens


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    """Without values."""
    return Measurements(tmp_path / "measured", "tiny", {})


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> "Bench":
    """Builds runners that take known times."""
    built = Bench()
    monkeypatch.setattr(precision, "pass_ms", built.pass_ms)
    return built


class Bench:
    """Notes the precisions that were built; refuses some."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.refused: set[str] = set()

    def build(self, chosen: Properties) -> Runner:
        hint = hint_of(chosen)
        if hint in self.refused:
            raise RuntimeError(f"{hint} is not supported")
        self.built.append(hint)
        return ToyRunner()

    def pass_ms(self, runner: Runner, tokens: int) -> float:
        assert not runner.tokens
        return MILLISECONDS[self.built[-1]][0 if tokens == 1 else 1]


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


def test_the_fastest_over_one_and_six_tokens_wins(bench: Bench, measurements: Measurements) -> None:
    assert fastest_hint(bench.build, measurements) == "f32"
    assert bench.built == list(HINTS)
    assert measurements.get("precision")["ms"]["bf16"] == {"1 tokens": 100.0, "6 tokens": 120.0}


def test_it_is_measured_once(bench: Bench, measurements: Measurements) -> None:
    first = fastest_hint(bench.build, measurements)
    bench.built.clear()
    assert fastest_hint(bench.build, measurements) == first
    assert bench.built == []


def test_larger_groups_of_activations_are_tried_where_the_export_allows_them(
    bench: Bench, measurements: Measurements
) -> None:
    assert fastest_hint(bench.build, measurements, candidates(None)) == "f32"
    assert (
        fastest_hint(bench.build, measurements, candidates(128)) == GROUPED
    )  # what was measured before had less choice
    assert bench.built == [*HINTS, *HINTS, GROUPED]


@pytest.mark.parametrize("hint", candidates(64))
@pytest.mark.parametrize("other", candidates(64))
def test_what_differs_makes_one_precision_of_another(hint: str, other: str) -> None:
    joined = {**properties(Numerics.FAST, hint), **differing(other, hint)}
    assert hint_of(joined) == other
    assert joined["KV_CACHE_PRECISION"] == properties(Numerics.FAST, other)["KV_CACHE_PRECISION"]


@pytest.mark.parametrize("known", [{"hint": "f8"}, {"hint": ["f32"]}, {}, ["f32"], "f32", 7])
def test_a_value_that_makes_no_sense_is_measured_again(bench: Bench, measurements: Measurements, known: object) -> None:
    measurements.put("precision", known)
    assert fastest_hint(bench.build, measurements) == "f32"
    assert bench.built == list(HINTS)


def test_a_precision_that_the_device_refuses_is_left_out(bench: Bench, measurements: Measurements) -> None:
    bench.refused = {"f32", "bf16"}
    assert fastest_hint(bench.build, measurements) == "f16"


def test_a_precision_whose_first_pass_fails_is_left_out(bench: Bench, measurements: Measurements) -> None:
    def build(chosen: Properties) -> Runner:
        runner = bench.build(chosen)
        return FailingRunner() if chosen["INFERENCE_PRECISION_HINT"] == "f32" else runner

    assert fastest_hint(build, measurements) == "f16"


def test_no_precision_at_all_is_an_error_for_the_caller_to_word(bench: Bench, measurements: Measurements) -> None:
    bench.refused = set(HINTS)
    with pytest.raises(RuntimeError, match="f32, bf16 and f16"):
        fastest_hint(bench.build, measurements)
    assert measurements.get("precision") is None


def test_the_fastest_of_some_passes_counts_and_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate([0.0, 0.020, 1.0, 0.010, 1.0, 0.030])  # two readings a pass
    monkeypatch.setattr("headstart.engine.precision.time.perf_counter", lambda: next(clock))
    runner = ToyRunner()
    runner.forward([1, 2, 3])
    assert pass_ms(runner, 6, repeats=3) == pytest.approx(10.0)
    assert runner.calls == [3, 6, 6, 6]
    assert list(runner.tokens) == [1, 2, 3]


def test_a_change_of_size_costs_what_the_first_pass_after_it_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = (0.030, 0.025, 0.014, 0.010, 0.031, 0.027)  # of passes over 6, 6, 1, 1, 6, 6 tokens
    clock = itertools.accumulate(part for length in [*lengths, 0.016, 0.010] for part in (1.0, length))
    monkeypatch.setattr("headstart.engine.precision.time.perf_counter", lambda: next(clock))
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


class FailingRunner(ToyRunner):
    """Compiles, but does not run."""

    def forward(self, ids: Sequence[int], rows: int = 1, cancel: threading.Event | None = None) -> Logits:
        raise RuntimeError("no kernel for this precision")
