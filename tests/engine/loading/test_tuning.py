"""Tuning takes no winner by noise, and its result is used on the machine and models it was measured with only."""

import dataclasses
import json
import math
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.bench.race import RaceCancelled
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions, Unset
from headstart.engine.kernels import selftest
from headstart.engine.local import LocalEngine
from headstart.engine.opening import LocalModels, load, resolve
from headstart.engine.tuning import search as searching
from headstart.engine.tuning import store
from headstart.engine.tuning.messages import (
    DEFAULT,
    Findings,
    Row,
    Stage,
    Tune,
    TuneDecided,
    TuneReport,
    TuneRequest,
    TuneStep,
    TuningStep,
)
from headstart.engine.tuning.search import (
    CandidateTimes,
    Hardware,
    Pair,
    Tell,
    decide_stage,
    drafts,
    search,
    settings,
    tune,
)
from headstart.engine.tuning.store import Tuned
from headstart.errors import DeviceError, Translatable
from headstart.library import manifest
from tests.engine.answers import LIST, ask, flip_a_bit, request

LONG = 1e6  # seconds
LOAD = LoadOptions(Path("target"), Path("draft"))


class Field:
    """Candidates with a known gain; it notes who was timed, and lets each pair take a second."""

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

    def search(self, seconds: float = LONG) -> list[CandidateTimes]:
        return search(list(self.gains), self.compare, seconds, clock=lambda: self.now)


def winner(trials: list[CandidateTimes]) -> str:
    return decide_stage("target", trials, {}).chosen.name


def test_fastest_option_is_timed_longer_and_wins() -> None:
    field = Field({"a": 1.05, "b": 1.3, "c": 1.1, "d": 1.2})
    assert winner(field.search()) == "b"
    assert field.pairs == {"a": 3, "b": 12, "c": 3, "d": 3}


@pytest.mark.parametrize("seed", range(20))
def test_noise_wins_nothing(seed: int) -> None:
    assert winner(Field(dict.fromkeys("abcdef", 1.0), spread=0.05, seed=seed).search()) == DEFAULT


def test_gain_shows_through_noise() -> None:
    assert winner(Field({"same": 1.0, "better": 1.15}, spread=0.05).search()) == "better"


@pytest.mark.parametrize(
    ("base", "mine", "pairs", "rivals", "proved"),
    [
        (101.0, 100.0, 20, 1, False),  # certain, but not worth a setting
        (110.0, 100.0, 6, 1, True),
        (110.0, 100.0, 6, 6, False),  # more rivals ask for more proof
        (200.0, 100.0, 5, 1, True),
        (200.0, 100.0, 4, 1, False),
        (200.0, 100.0, 0, 1, False),
    ],
)
def test_unproven_gain_is_not_chosen(base: float, mine: float, pairs: int, rivals: int, *, proved: bool) -> None:
    assert CandidateTimes("candidate", [base] * pairs, [mine] * pairs).proves(rivals) == proved


def test_failing_option_does_not_end_the_search() -> None:
    trials = {trial.name: trial for trial in Field({"good": 1.3, "refused": math.nan}).search()}
    assert trials["refused"].failure == "refused refuses the model. Try another."
    assert winner(list(trials.values())) == "good"


def test_search_ends_with_its_time() -> None:
    field = Field({"a": 1.3, "b": 1.2, "c": 1.1})
    trials = field.search(seconds=4.0)
    assert field.now == 4.0
    assert [len(trial.base) for trial in trials] == [3, 1, 0]


def test_search_begins_nothing_that_would_take_too_long() -> None:
    field = Field({"slow to load": 1.3, "quick": 1.2})
    compare, load = field.compare, {"slow to load": 20.0, "quick": 10.0}

    def loading(name: str, number: int) -> Pair:
        field.now += load[name] if number == 0 else 0.0
        return compare(name, number)

    trials = search(list(field.gains), loading, 40.0, clock=lambda: field.now)
    assert [len(trial.base) for trial in trials] == [12, 0]
    assert field.now <= 40.0
    assert [len(trial.base) for trial in search(["a"], loading, 90.0, load_seconds=60.0, clock=lambda: 50.0)] == [0]


def test_short_answer_is_not_timed() -> None:
    (trial,) = search(["a"], lambda _name, number: None if number else (100.0, 50.0), LONG)
    assert (trial.base, trial.mine, trial.failure) == ([100.0], [50.0], "")


ONE_CORE = Hardware(1, 1, ("CPU",), pinning=False)
HERE = Hardware(1, 1, ("CPU", "GPU.0", "NPU"), pinning=False)


@pytest.mark.parametrize(
    ("hardware", "found"),
    [
        (Hardware(8, 8, ("CPU",), pinning=True), ["4 threads", "threads not tied to cores"]),
        (Hardware(8, 4, ("CPU",), pinning=False), ["2 threads", "8 threads, two a core"]),
        (ONE_CORE, []),
    ],
)
def test_threads_are_varied_where_that_can_matter(hardware: Hardware, found: list[str]) -> None:
    tried = settings(hardware, LOAD)
    assert list(tried) == found
    assert not found or tried[found[0]].properties == {"INFERENCE_NUM_THREADS": found[0].split()[0]}
    if "8 threads, two a core" in tried:
        assert tried["8 threads, two a core"].properties["ENABLE_HYPER_THREADING"] == "YES"


def test_devices_are_tried_unless_one_is_chosen() -> None:
    assert [load.device for load in settings(HERE, LOAD).values()] == ["GPU.0", "NPU"]
    assert settings(HERE, LOAD, is_device_chosen=True) == {}
    elsewhere = settings(HERE, LoadOptions(LOAD.target, device="GPU.0"))
    assert [load.device for load in elsewhere.values()] == ["CPU", "NPU"]


def test_similar_precision_is_timed_again() -> None:
    found = settings(ONE_CORE, LOAD, ("f32", "bf16"))
    assert {name: dict(load.properties) for name, load in found.items()} == {
        "in bf16": {"INFERENCE_PRECISION_HINT": "bf16", "KV_CACHE_PRECISION": "bf16"}
    }


def test_drafts_and_sizes_of_the_head_are_tried() -> None:
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


ALL_UNSET = tuple(Unset)
TARGET, DRAFT, OTHER = Path("target"), Path("draft"), Path("other")
ONE_THREAD = {"INFERENCE_NUM_THREADS": "1"}
FOUND = Tuned("CPU", ONE_THREAD, DRAFT, "hash", 300)


def test_tuned_values_fill_open_options() -> None:
    def merged(draft: Path | None = OTHER, found: Tuned = FOUND, **asked: Any) -> LoadOptions:
        return store.merge(LoadOptions(TARGET, draft, **asked), found)

    three = {"INFERENCE_NUM_THREADS": "3"}
    assert merged(unset=ALL_UNSET) == LoadOptions(TARGET, DRAFT, draft_vocab=300, properties=ONE_THREAD)
    assert merged(properties=three, unset=(Unset.PROPERTIES,)) == LoadOptions(TARGET, OTHER, properties=three)
    assert merged(None, unset=(Unset.PROPERTIES, Unset.DEVICE)).draft is None
    assert merged(DRAFT, draft_vocab=7, unset=ALL_UNSET).draft_vocab == 7
    assert merged(device="GPU", unset=(Unset.PROPERTIES, Unset.DRAFT)) == LoadOptions(TARGET, OTHER, device="GPU")
    assert merged(found=replace(FOUND, device="GPU"), unset=ALL_UNSET).device == "GPU"


@pytest.fixture
def pair(tiny_target: Path, tiny_draft: Path) -> LoadOptions:
    """The tiny pair, with all options open."""
    return LoadOptions(tiny_target, tiny_draft, unset=ALL_UNSET)


def found_for(pair: LoadOptions, draft: Path | None) -> Tuned:
    return Tuned("CPU", ONE_THREAD, draft, store.weights(draft) if draft else None)


def test_load_uses_tuned_values_until_they_are_forgotten(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, None))
    engine = load(resolve(pair))
    assert isinstance(engine, LocalEngine)
    assert engine.target.properties["INFERENCE_NUM_THREADS"] == "1"
    assert engine.draft is None
    assert len(ask(engine, request(LIST, tokens=4)).ids) == 4
    assert store.forget(pair)
    assert not store.forget(pair)
    assert store.fill_unset(pair) == replace(pair, unset=())


def test_tuning_of_a_target_alone_is_separate(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, pair.draft))
    assert store.fill_unset(replace(pair, draft=None)).properties == {}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("headstart.engine.tuning.store.devices.full_name", lambda _: "Another Processor"),
        ("headstart.engine.tuning.store.devices.available", lambda: ("CPU", "GPU")),
        ("headstart.engine.tuning.store.cores", lambda: 999),
        ("headstart.engine.tuning.store.__version__", "0.0.1"),
    ],
)
def test_tuning_belongs_to_a_machine(
    pair: LoadOptions, monkeypatch: pytest.MonkeyPatch, place: str, value: object
) -> None:
    store.keep(pair, found_for(pair, None))
    monkeypatch.setattr(place, value)
    assert store.read(pair) is None


def test_tuning_belongs_to_the_weights(pair: LoadOptions, altered: Callable[..., Path]) -> None:
    copy = altered(pair.target)
    options = replace(pair, target=copy)
    store.keep(options, found_for(options, None))
    assert store.read(options) is not None
    change_weights(copy)
    assert store.read(options) is None


@pytest.mark.parametrize("gone", [True, False])
def test_tuned_draft_that_changed_is_not_used(pair: LoadOptions, altered: Callable[..., Path], *, gone: bool) -> None:
    other = altered(pair.target)
    store.keep(pair, found_for(pair, other))
    assert store.fill_unset(pair).draft == other
    if gone:
        (other / manifest.FILE_NAME).unlink()
    else:
        change_weights(other)
    assert store.fill_unset(pair) == replace(pair, unset=())


@pytest.mark.parametrize("value", [7, {}, {"device": 3}, {"device": "CPU", "properties": []}])
def test_malformed_tuning_is_ignored(pair: LoadOptions, measured: Path, value: object) -> None:
    store.keep(pair, found_for(pair, None))
    (path,) = measured.glob("*-tuned-*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"values": {"tuned": value}}))
    assert store.read(pair) is None


@pytest.mark.slow
def test_tiny_pair_is_tuned(pair: LoadOptions, tiny_other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "FIRST_PAIRS", 1)
    monkeypatch.setattr(searching, "MORE_PAIRS", 1)
    said: list[TuningStep | Stage] = []
    missing = tiny_other.parent / "missing"
    chosen, found = tune(TuneRequest(pair, {"gone": missing}, seconds=600.0), said.append)
    assert [stage.subject for stage in found.stages] == ["target", "drafts"]
    rows = {row.name: row for row in found.stages[1].rows}
    assert list(rows) == [DEFAULT, "the draft gone", "no draft model"]
    assert rows["the draft gone"].failure
    assert rows["no draft model"].pairs >= 1
    assert rows[DEFAULT].ms["token of an answer"] > 0
    assert [each for each in said if isinstance(each, Stage)] == list(found.stages)
    assert TuningStep("target") in said
    store.keep(pair, chosen, found)
    assert store.read(pair) == chosen
    assert store.findings(pair) == found
    load(resolve(pair)).close()
    assert store.forget(pair)
    assert store.findings(pair) is None


@pytest.mark.slow
def test_winners_are_loaded_next(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    def won(names: list[str], *_: object) -> list[CandidateTimes]:
        return [CandidateTimes(name, [120.0] * 20, [100.0] * 20) for name in names[:1]]

    def one(_: object, load: LoadOptions, *__: object, **___: object) -> dict[str, LoadOptions]:
        return {"1 thread": replace(load, properties=ONE_THREAD)}

    monkeypatch.setattr(searching, "search", won)
    monkeypatch.setattr(searching, "settings", one)
    chosen, found = tune(TuneRequest(pair, seconds=600.0), lambda _: None)
    assert (chosen.properties, chosen.draft) == (ONE_THREAD, None)
    assert [stage.chosen.name for stage in found.stages] == ["1 thread", "no draft model"]


@pytest.mark.slow
def test_candidates_are_timed_where_no_load_uses_the_kernels(
    tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one(_: object, load: LoadOptions, *__: object, **___: object) -> dict[str, LoadOptions]:
        return {"1 thread": replace(load, properties=ONE_THREAD | {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"})}

    monkeypatch.setattr(searching, "FIRST_PAIRS", 1)
    monkeypatch.setattr(searching, "MORE_PAIRS", 1)
    monkeypatch.setattr(searching, "settings", one)
    monkeypatch.setattr(selftest, "unsupported_reason", lambda: Translatable("they were not compiled"))
    _, found = tune(TuneRequest(LoadOptions(tiny_quantized), seconds=600.0), lambda _: None)
    (row,) = (row for row in found.stages[0].rows if row.name == "1 thread")
    assert (row.failure, row.pairs >= 1) == ("", True)


def test_tuning_over_the_wire_is_reported_and_stored(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("target", (Row(DEFAULT, {"1 token": 8.0}, chosen=True),))
    found = Findings("big", None, "A processor", "2026.4", 61.5, (stage,))

    def tune(request: TuneRequest, tell: Tell, cancel: CancelEvent) -> tuple[Tuned, Findings]:
        assert (request.load, request.is_device_chosen, request.seconds) == (pair, True, 60.0)
        tell(TuningStep("target"))
        tell(stage)
        return found_for(pair, None), found

    monkeypatch.setattr(searching, "tune", tune)
    said: list[TuneReport] = []
    models = LocalModels()
    request = TuneRequest(pair, is_device_chosen=True, seconds=60.0)
    assert models.tune(Tune(7, request), said.append, CancelEvent()) == found
    assert said == [TuneStep(7, TuningStep("target")), TuneDecided(7, stage)]
    assert models.recall(pair) == found
    models.forget(pair)
    assert models.recall(pair) is None


@pytest.mark.slow
def test_endless_precision_trial_leaves_time_for_the_rest(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[bool] = []

    class Endless:
        def __init__(self) -> None:
            self.stopped = threading.Event()
            self.stop = self.stopped.set

    monkeypatch.setattr(searching, "PrecisionTrial", Endless)
    monkeypatch.setattr(searching, "measure_all", lambda _, trial, **_again: waited.append(trial.stopped.wait(60.0)))
    monkeypatch.setattr(searching, "settings", lambda *_, **__: {})
    chosen, found = tune(TuneRequest(replace(pair, draft=None), seconds=10.0), lambda _: None)
    assert waited == [True]
    assert chosen == Tuned("CPU")
    assert [list(stage.rows[0].ms) for stage in found.stages] == [["token of an answer"]] * 2


@pytest.mark.slow
def test_tuning_can_be_cancelled(pair: LoadOptions, measured: Path) -> None:
    cancel = CancelEvent()

    def stop(what: TuningStep | Stage) -> None:
        if isinstance(what, TuningStep) and what.against is not None:
            cancel.set()

    with pytest.raises(RaceCancelled):
        tune(TuneRequest(pair, seconds=600.0), stop, cancel)
    assert not list(measured.glob("*-tuned-*.json"))


def change_weights(folder: Path) -> None:
    """Change a weight, and the manifest with it."""
    flip_a_bit(folder / "openvino_model.bin")
    manifest.write(folder, dataclasses.replace(manifest.read_model(folder), files=manifest.hash_files(folder)))
