"""Tuning takes no winner by noise, ends in time, and lives with candidates that cannot run."""

import math
import random
from collections.abc import Generator
from pathlib import Path

import pytest

from headstart.engine.tuning.candidates import Guesser, Hardware, heads, settings
from headstart.engine.tuning.findings import DEFAULT, NOTHING_GAINED, reasons, stage
from headstart.engine.tuning.halving import Deadline, Pair, Trial, chance, halve, proves, winner
from headstart.errors import DeviceError

TURNS = (3, 6, 12)
LONG = 1e6  # seconds


class Clock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Field:
    """Candidates whose gain is known; notes who was timed, and lets each pair take a second."""

    def __init__(self, gains: dict[str, float], spread: float = 0.0, seed: int = 0) -> None:
        self.gains = gains
        self.clock = Clock()
        self.pairs: dict[str, int] = dict.fromkeys(gains, 0)
        self.closed = 0
        self._spread = spread
        self._random = random.Random(seed)

    def compare(self, name: str, first: int, count: int) -> Generator[Pair]:
        assert first == self.pairs[name]
        try:
            for _ in range(count):
                if math.isnan(self.gains[name]):
                    raise DeviceError(f"{name} refuses the model. Try another.")
                self.clock.now += 1.0
                self.pairs[name] += 1
                yield 100.0, 100.0 / (self.gains[name] * self._noise())
        finally:
            self.closed += 1

    def halve(self, seconds: float = LONG) -> list[Trial]:
        return halve(list(self.gains), self.compare, Deadline(seconds, self.clock), TURNS)

    def _noise(self) -> float:
        return math.exp(self._random.gauss(0.0, self._spread))


def test_the_sign_test_is_that_of_a_coin() -> None:
    assert chance(5, 5) == 1 / 32
    assert chance(0, 7) == 1.0
    assert chance(4, 5) == pytest.approx(6 / 32)


def test_half_goes_on_each_turn_and_the_fastest_wins() -> None:
    field = Field({"a": 1.05, "b": 1.3, "c": 1.1, "d": 1.2})
    best = winner(field.halve())
    assert best is not None
    assert best.name == "b"
    assert best.median == pytest.approx(1.3)
    assert field.pairs == {"a": 3, "b": 9, "c": 3, "d": 9}  # what is certain is timed no longer


def test_what_is_slower_is_dropped_at_once() -> None:
    field = Field({"slow": 0.9, "slower": 0.5})
    assert winner(field.halve()) is None
    assert field.pairs == {"slow": 3, "slower": 3}


@pytest.mark.parametrize("seed", range(20))
def test_noise_wins_nothing(seed: int) -> None:
    assert winner(Field(dict.fromkeys("abcdef", 1.0), spread=0.05, seed=seed).halve()) is None


def test_a_gain_shows_through_noise() -> None:
    best = winner(Field({"same": 1.0, "better": 1.15}, spread=0.05).halve())
    assert best is not None
    assert best.name == "better"


def test_a_gain_that_is_certain_and_tiny_is_not_worth_a_setting() -> None:
    assert not proves(Trial("tiny", [101.0] * 20, [100.0] * 20), 1)


def test_more_rivals_ask_for_more_proof() -> None:
    trial = Trial("good", [110.0] * 6, [100.0] * 6)
    assert proves(trial, 1)
    assert not proves(trial, 6)


def test_few_pairs_prove_nothing() -> None:
    assert not proves(Trial("young", [200.0] * 4, [100.0] * 4), 1)
    assert not proves(Trial("unborn"), 1)


def test_one_that_cannot_run_ends_nothing() -> None:
    trials = {trial.name: trial for trial in Field({"good": 1.3, "refused": math.nan}).halve()}
    assert trials["refused"].failure == "refused refuses the model. Try another."
    best = winner(list(trials.values()))
    assert best is trials["good"]


def test_time_ends_it_and_what_was_opened_is_closed() -> None:
    field = Field({"a": 1.3, "b": 1.2, "c": 1.1})
    trials = field.halve(seconds=4.0)
    assert field.clock.now == 4.0
    assert [len(trial.base) for trial in trials] == [3, 1, 0]
    assert field.closed == 2


def test_a_deadline_gives_a_part_of_what_is_left() -> None:
    clock = Clock()
    whole = Deadline(100.0, clock)
    clock.now = 60.0
    assert whole.part(0.5).left == pytest.approx(20.0)
    assert whole.left == pytest.approx(40.0)


UNIFORM = Hardware(logical=8, physical=8, devices=("CPU",), pinning=True)


def test_threads_are_varied_where_that_can_matter() -> None:
    found = settings(UNIFORM, "CPU", {}, "f32", placed=False)
    assert list(found) == ["4 threads", "7 threads", "threads not tied to cores"]
    assert found["4 threads"].properties == {"INFERENCE_NUM_THREADS": "4"}


def test_two_threads_a_core_are_tried_where_cores_have_two() -> None:
    found = settings(Hardware(8, 4, ("CPU",), pinning=False), "CPU", {}, "f32", placed=False)
    assert list(found) == ["2 threads", "3 threads", "4 threads", "8 threads, two a core"]
    assert found["8 threads, two a core"].properties["ENABLE_HYPER_THREADING"] == "YES"


def test_one_core_leaves_no_number_of_threads() -> None:
    assert settings(Hardware(1, 1, ("CPU",), pinning=False), "CPU", {}, "f32", placed=False) == {}


def test_only_devices_that_exist_are_tried_and_none_where_a_person_has_chosen() -> None:
    hardware = Hardware(1, 1, ("CPU", "GPU.0", "NPU"), pinning=False)
    found = settings(hardware, "CPU", {}, "f32", placed=False)
    assert [setting.device for setting in found.values()] == ["GPU.0", "NPU"]
    assert settings(hardware, "CPU", {}, "f32", placed=True) == {}
    assert [each.device for each in settings(hardware, "GPU.0", {}, "f32", placed=False).values()] == ["CPU", "NPU"]


def test_precisions_that_were_close_at_the_first_load_are_timed_again() -> None:
    figures = {
        "f32": {"1 tokens": 70.0, "6 tokens": 90.0},
        "bf16": {"1 tokens": 72.0, "6 tokens": 95.0},
        "f16": {"1 tokens": 100.0, "6 tokens": 120.0},
    }
    found = settings(Hardware(1, 1, ("CPU",), pinning=False), "CPU", figures, "f32", placed=False)
    assert {name: dict(setting.properties) for name, setting in found.items()} == {
        "in bf16": {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16"}
    }


def test_a_trimmed_head_is_tried_in_other_sizes() -> None:
    folder = Path("draft")
    assert heads(folder, None, None) == {}
    assert list(heads(folder, 1000, 300).values()) == [Guesser(folder, 150), Guesser(folder, 600), Guesser(folder, 0)]
    assert list(heads(folder, 300, 300).values()) == [Guesser(folder, 150), Guesser(folder, 0)]


def test_reasons_have_the_figures() -> None:
    fast = Trial("1 thread", [110.0] * 8, [100.0] * 8)
    decided = stage("target", [fast], {"": {"1 token": 110.0}, "1 thread": {"1 token": 100.0}})
    assert decided.chosen.name == "1 thread"
    assert reasons([decided]) == (
        "Target: 1 thread, because it was 1.10x as fast as the default (1.10–1.10), ahead in 8 of 8 runs "
        "(1 token: 100.0 instead of 110.0 ms).",
    )


def test_where_nothing_helps_that_is_said() -> None:
    slow = Trial("1 thread", [90.0] * 8, [100.0] * 8)
    lone = stage("drafts", [], {"": {"token of an answer": 70.0}})
    told = reasons([stage("target", [slow], {}), lone])
    assert told == (
        f"Target: {DEFAULT}, because the best of the others, 1 thread, was not faster: 0.90x as fast as the default "
        "(0.90–0.90), ahead in 0 of 8 runs.",
        f"Drafts: {DEFAULT} (token of an answer: 70.0 ms), as there is nothing else to try here.",
        NOTHING_GAINED,
    )


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (Trial("x", [101.0] * 9, [100.0] * 9), "gained too little to tell"),
        (Trial("x", [150.0] * 3, [100.0] * 3), "not faster often enough to rule out chance"),
        (Trial("x", failure="no kernel"), "nothing else runs here (x: no kernel)"),
    ],
)
def test_a_default_that_stays_is_explained(trial: Trial, words: str) -> None:
    assert words in reasons([stage("target", [trial], {})])[0]


def test_candidates_that_were_not_timed_are_told_of() -> None:
    told = reasons([stage("target", [Trial("x", [90.0] * 3, [100.0] * 3), Trial("y")], {})])
    assert told == (
        f"Target: {DEFAULT}, because the best of the others, x, was not faster: 0.90x as fast as the default "
        "(0.90–0.90), ahead in 0 of 3 runs; not all were timed, give it more --seconds.",
    )


def test_a_time_that_was_too_short_is_not_sold_as_a_finding() -> None:
    told = reasons([stage("target", [Trial("x")], {})])
    assert "give it more --seconds" in told[0]
    assert NOTHING_GAINED not in told
