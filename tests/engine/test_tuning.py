"""Tuning takes no winner by noise, ends in time, and lives with candidates that cannot run."""

import math
import random
from pathlib import Path

import pytest

from headstart.engine.engine import LoadOptions
from headstart.engine.tuning.messages import DEFAULT
from headstart.engine.tuning.search import Hardware, Pair, Trial, decided, drafts, search, settings
from headstart.errors import DeviceError

LONG = 1e6  # seconds
LOAD = LoadOptions(Path("target"), Path("draft"))


class Field:
    """Candidates whose gain is known; notes who was timed, and lets each pair take a second."""

    def __init__(self, gains: dict[str, float], spread: float = 0.0, seed: int = 0) -> None:
        self.gains = gains
        self.now = 0.0
        self.pairs: dict[str, int] = dict.fromkeys(gains, 0)
        self._spread = spread
        self._random = random.Random(seed)

    def compare(self, name: str, number: int) -> Pair:
        assert number == self.pairs[name]
        if math.isnan(self.gains[name]):
            raise DeviceError(f"{name} refuses the model. Try another.")
        self.now += 1.0
        self.pairs[name] += 1
        return 100.0, 100.0 / (self.gains[name] * math.exp(self._random.gauss(0.0, self._spread)))

    def search(self, seconds: float = LONG) -> list[Trial]:
        return search(list(self.gains), self.compare, seconds, clock=lambda: self.now)


def winner(trials: list[Trial]) -> str:
    """Whom tuning takes."""
    return decided("target", trials, {}).chosen.name


def test_the_fastest_is_timed_longer_and_wins() -> None:
    field = Field({"a": 1.05, "b": 1.3, "c": 1.1, "d": 1.2})
    assert winner(field.search()) == "b"
    assert field.pairs == {"a": 3, "b": 12, "c": 3, "d": 3}


def test_what_is_slower_is_dropped_at_once() -> None:
    field = Field({"slow": 0.9, "slower": 0.5})
    assert winner(field.search()) == DEFAULT
    assert field.pairs == {"slow": 3, "slower": 3}


@pytest.mark.parametrize("seed", range(20))
def test_noise_wins_nothing(seed: int) -> None:
    assert winner(Field(dict.fromkeys("abcdef", 1.0), spread=0.05, seed=seed).search()) == DEFAULT


def test_a_gain_shows_through_noise() -> None:
    assert winner(Field({"same": 1.0, "better": 1.15}, spread=0.05).search()) == "better"


def test_a_gain_that_is_certain_and_tiny_is_not_worth_a_setting() -> None:
    assert not Trial("tiny", [101.0] * 20, [100.0] * 20).proves(1)


def test_more_rivals_ask_for_more_proof() -> None:
    trial = Trial("good", [110.0] * 6, [100.0] * 6)
    assert trial.proves(1)
    assert not trial.proves(6)


def test_few_pairs_prove_nothing() -> None:
    assert not Trial("young", [200.0] * 4, [100.0] * 4).proves(1)
    assert Trial("grown", [200.0] * 5, [100.0] * 5).proves(1)
    assert not Trial("unborn").proves(1)


def test_one_that_cannot_run_ends_nothing() -> None:
    trials = {trial.name: trial for trial in Field({"good": 1.3, "refused": math.nan}).search()}
    assert trials["refused"].failure == "refused refuses the model. Try another."
    assert winner(list(trials.values())) == "good"


def test_time_ends_it() -> None:
    field = Field({"a": 1.3, "b": 1.2, "c": 1.1})
    trials = field.search(seconds=4.0)
    assert field.now == 4.0
    assert [len(trial.base) for trial in trials] == [3, 1, 0]


def test_what_would_not_end_in_time_is_not_begun() -> None:
    field = Field({"slow to load": 1.3, "quick": 1.2})
    compare, load = field.compare, {"slow to load": 20.0, "quick": 10.0}

    def loading(name: str, number: int) -> Pair:
        field.now += load[name] if number == 0 else 0.0
        return compare(name, number)

    trials = search(list(field.gains), loading, 40.0, clock=lambda: field.now)
    assert [len(trial.base) for trial in trials] == [12, 0]
    assert field.now <= 40.0
    assert [len(trial.base) for trial in search(["a"], loading, 90.0, first=60.0, clock=lambda: 50.0)] == [0]


def test_an_answer_that_is_too_short_tells_nothing() -> None:
    (trial,) = search(["a"], lambda _name, number: None if number else (100.0, 50.0), LONG)
    assert (trial.base, trial.mine, trial.failure) == ([100.0], [50.0], "")


def test_threads_are_varied_where_that_can_matter() -> None:
    found = settings(Hardware(8, 8, ("CPU",), pinning=True), LOAD)
    assert list(found) == ["4 threads", "threads not tied to cores"]
    assert found["4 threads"].properties == {"INFERENCE_NUM_THREADS": "4"}


def test_two_threads_a_core_are_tried_where_cores_have_two() -> None:
    found = settings(Hardware(8, 4, ("CPU",), pinning=False), LOAD)
    assert list(found) == ["2 threads", "8 threads, two a core"]
    assert found["8 threads, two a core"].properties["ENABLE_HYPER_THREADING"] == "YES"


def test_one_core_leaves_no_number_of_threads() -> None:
    assert settings(Hardware(1, 1, ("CPU",), pinning=False), LOAD) == {}


def test_only_devices_that_exist_are_tried_and_none_where_a_person_has_chosen() -> None:
    hardware = Hardware(1, 1, ("CPU", "GPU.0", "NPU"), pinning=False)
    assert [load.device for load in settings(hardware, LOAD).values()] == ["GPU.0", "NPU"]
    assert settings(hardware, LOAD, placed=True) == {}
    elsewhere = settings(hardware, LoadOptions(LOAD.target, device="GPU.0"))
    assert [load.device for load in elsewhere.values()] == ["CPU", "NPU"]


def test_a_precision_that_was_about_as_fast_is_timed_again() -> None:
    found = settings(Hardware(1, 1, ("CPU",), pinning=False), LOAD, ("f32", "bf16"))
    assert {name: dict(load.properties) for name, load in found.items()} == {
        "in bf16": {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16"}
    }


def test_other_drafts_sizes_of_its_head_and_none_are_tried() -> None:
    other = Path("other")
    found = drafts(LOAD, {"small": Path("draft"), "other": other}, rows=300)
    assert {name: (load.draft, load.draft_vocab) for name, load in found.items()} == {
        "the draft other": (other, None),
        "the draft with 150 rows": (LOAD.draft, 150),
        "the draft with all rows": (LOAD.draft, 0),
        "no draft model": (None, None),
    }
    assert list(drafts(LOAD, {})) == ["no draft model"]
    assert drafts(LoadOptions(LOAD.target), {}) == {}
