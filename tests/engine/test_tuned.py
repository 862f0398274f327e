"""What was tuned is used where a person left it open, on the machine and models it was measured with only."""

import dataclasses
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headstart import manifest
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions, Numerics, Open
from headstart.engine.local import LocalEngine
from headstart.engine.opening import LocalModels, load
from headstart.engine.protocol import Load, decode_order, encode
from headstart.engine.tuning import search, store
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
from headstart.engine.tuning.search import Tell, Trial, tune
from headstart.engine.tuning.store import Tuned
from tests.engine.answers import LIST, ask, flip_a_bit, request

EVERYTHING = tuple(Open)
TARGET, DRAFT, OTHER = Path("target"), Path("draft"), Path("other")
ONE_THREAD = {"INFERENCE_NUM_THREADS": "1"}
FOUND = Tuned("CPU", ONE_THREAD, DRAFT, "hash", 300)


def test_everything_that_is_open_is_as_it_was_tuned() -> None:
    assert store.merged(LoadOptions(TARGET, OTHER, open=EVERYTHING), FOUND) == LoadOptions(
        TARGET, DRAFT, draft_vocab=300, properties=ONE_THREAD
    )


def test_what_a_person_asks_for_counts() -> None:
    asked = LoadOptions(TARGET, OTHER, properties={"INFERENCE_NUM_THREADS": "3"}, open=(Open.PROPERTIES,))
    assert store.merged(asked, FOUND) == replace(asked, open=())
    without = LoadOptions(TARGET, None, open=(Open.PROPERTIES, Open.DEVICE))
    assert store.merged(without, FOUND).draft is None
    assert store.merged(LoadOptions(TARGET, DRAFT, draft_vocab=7, open=EVERYTHING), FOUND).draft_vocab == 7


def test_nothing_is_taken_over_to_another_device() -> None:
    asked = LoadOptions(TARGET, OTHER, device="GPU", open=(Open.PROPERTIES, Open.DRAFT))
    assert store.merged(asked, FOUND) == replace(asked, open=())
    placed = store.merged(LoadOptions(TARGET, open=EVERYTHING), replace(FOUND, device="GPU"))
    assert placed.device == "GPU"


def test_exact_numerics_leave_no_choice_of_properties() -> None:
    asked = LoadOptions(TARGET, DRAFT, numerics=Numerics.EXACT, open=EVERYTHING)
    assert store.merged(asked, FOUND).properties == {}


def test_options_with_all_this_cross_the_wire() -> None:
    options = LoadOptions(TARGET, DRAFT, properties=ONE_THREAD, open=EVERYTHING)
    assert decode_order(encode(Load(options)).rstrip()) == Load(options)


@pytest.fixture
def pair(tiny_target: Path, tiny_draft: Path) -> LoadOptions:
    """The tiny pair, with everything left open."""
    return LoadOptions(tiny_target, tiny_draft, open=EVERYTHING)


def found_for(pair: LoadOptions, draft: Path | None) -> Tuned:
    """One thread for the target."""
    return Tuned("CPU", ONE_THREAD, draft, store.weights(draft) if draft else None)


def test_loading_takes_what_was_kept_until_it_is_forgotten(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, None))
    engine = load(pair)
    assert isinstance(engine, LocalEngine)
    assert engine.target.properties["INFERENCE_NUM_THREADS"] == "1"
    assert engine.draft is None
    assert len(ask(engine, request(LIST, tokens=4)).ids) == 4
    assert store.forget(pair)
    assert not store.forget(pair)
    assert store.applied(pair) == replace(pair, open=())


def test_the_engine_s_process_tells_what_it_loaded(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, None))
    assert LocalModels().open(pair, lambda _: None).facts.draft is None


def test_exact_numerics_are_loaded_without_tuned_properties(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, None))
    engine = load(replace(pair, numerics=Numerics.EXACT))
    assert isinstance(engine, LocalEngine)
    assert "INFERENCE_NUM_THREADS" not in engine.target.properties


def test_a_target_alone_is_another_subject(pair: LoadOptions) -> None:
    store.keep(pair, found_for(pair, pair.draft))
    assert store.applied(replace(pair, draft=None)).properties == {}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("headstart.engine.tuning.store.devices.full_name", lambda _: "Another Processor"),
        ("headstart.engine.tuning.store.devices.available", lambda: ("CPU", "GPU")),
        ("headstart.engine.tuning.store.cores", lambda: 999),
        ("headstart.engine.tuning.store.__version__", "0.0.1"),
    ],
)
def test_another_machine_or_version_knows_nothing_of_it(
    pair: LoadOptions, monkeypatch: pytest.MonkeyPatch, place: str, value: object
) -> None:
    store.keep(pair, found_for(pair, None))
    monkeypatch.setattr(place, value)
    assert store.read(pair) is None


def test_another_openvino_knows_nothing_of_it(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(pair, found_for(pair, None))

    class Newer:
        @staticmethod
        def get_version() -> str:
            return "2099.1"

    monkeypatch.setattr("headstart.engine.tuning.store.openvino", lambda: Newer)
    assert store.read(pair) is None


def test_other_weights_know_nothing_of_it(pair: LoadOptions, altered: Callable[..., Path]) -> None:
    copy = altered(pair.target)
    options = replace(pair, target=copy)
    store.keep(options, found_for(options, None))
    assert store.read(options) is not None
    change_weights(copy)
    assert store.read(options) is None


@pytest.mark.parametrize("gone", [True, False])
def test_another_draft_that_changed_or_went_is_not_used(
    pair: LoadOptions, altered: Callable[..., Path], *, gone: bool
) -> None:
    other = altered(pair.target)
    store.keep(pair, found_for(pair, other))
    assert store.applied(pair).draft == other
    if gone:
        (other / manifest.FILE_NAME).unlink()
    else:
        change_weights(other)
    assert store.applied(pair) == replace(pair, open=())


@pytest.mark.parametrize("value", [7, {}, {"device": 3}, {"device": "CPU", "properties": []}])
def test_what_makes_no_sense_is_ignored(pair: LoadOptions, measured: Path, value: object) -> None:
    store.keep(pair, found_for(pair, None))
    (path,) = measured.glob("*-tuned-*.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"values": {"tuned": value}}))
    assert store.read(pair) is None


@pytest.mark.slow
def test_the_tiny_pair_is_tuned(pair: LoadOptions, tiny_other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From end to end; a draft that is not there stands for a candidate that fails."""
    monkeypatch.setattr(search, "FIRST_PAIRS", 1)
    monkeypatch.setattr(search, "MORE_PAIRS", 1)
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
    load(pair).close()
    assert store.forget(pair)
    assert store.findings(pair) is None


@pytest.mark.slow
def test_winners_are_what_is_loaded_next(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    def won(names: list[str], *_: object) -> list[Trial]:
        return [Trial(name, [120.0] * 20, [100.0] * 20) for name in names[:1]]

    monkeypatch.setattr(search, "search", won)
    monkeypatch.setattr(
        search, "settings", lambda _, load, *__, **___: {"1 thread": replace(load, properties=ONE_THREAD)}
    )
    chosen, found = tune(TuneRequest(pair, seconds=600.0), lambda _: None)
    assert chosen.properties == ONE_THREAD
    assert chosen.draft is None
    assert [stage.chosen.name for stage in found.stages] == ["1 thread", "no draft model"]


@pytest.mark.slow
def test_a_lone_model_is_timed_although_nothing_is_chosen(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "settings", lambda *_, **__: {})
    chosen, found = tune(TuneRequest(replace(pair, draft=None), seconds=600.0), lambda _: None)
    assert chosen == Tuned("CPU")
    assert [list(stage.rows[0].ms) for stage in found.stages] == [["token of an answer"]] * 2


def test_what_was_ordered_over_the_wire_is_told_and_kept(pair: LoadOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("target", (Row(DEFAULT, {"1 token": 8.0}, chosen=True),))
    found = Findings("big", None, "A processor", "2026.4", 61.5, (stage,))

    def tune(wish: TuneRequest, tell: Tell, cancel: CancelEvent) -> tuple[Tuned, Findings]:
        assert (wish.load, wish.placed, wish.seconds) == (pair, True, 60.0)
        tell(TuningStep("target"))
        tell(stage)
        return found_for(pair, None), found

    monkeypatch.setattr(search, "tune", tune)
    said: list[TuneReport] = []
    models = LocalModels()
    wish = TuneRequest(pair, placed=True, seconds=60.0)
    assert models.tune(Tune(7, wish), said.append, CancelEvent()) == found
    assert said == [TuneStep(7, TuningStep("target")), TuneDecided(7, stage)]
    assert models.recall(pair) == found
    models.forget(pair)
    assert models.recall(pair) is None


@pytest.mark.slow
def test_precisions_that_take_too_long_leave_time_for_the_rest(
    pair: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []

    class Endless:
        def __init__(self) -> None:
            self.stopped = threading.Event()
            self.stop = self.stopped.set

    monkeypatch.setattr(search, "PrecisionTrial", Endless)
    monkeypatch.setattr(search, "measure_all", lambda _, trial: waited.append(trial.stopped.wait(60.0)))
    monkeypatch.setattr(search, "settings", lambda *_, **__: {})
    _, found = tune(TuneRequest(replace(pair, draft=None), seconds=10.0), lambda _: None)
    assert waited == [True]
    assert found.stages[0].rows[0].ms


@pytest.mark.slow
def test_it_can_be_cancelled(pair: LoadOptions, measured: Path) -> None:
    cancel = CancelEvent()

    def stop(what: TuningStep | Stage) -> None:
        if isinstance(what, TuningStep) and what.against is not None:
            cancel.set()

    with pytest.raises(RaceCancelled):
        tune(TuneRequest(pair, seconds=600.0), stop, cancel)
    assert not list(measured.glob("*-tuned-*.json"))


def change_weights(folder: Path) -> None:
    """Another weight, of which the manifest knows."""
    flip_a_bit(folder / "openvino_model.bin")
    manifest.write(folder, dataclasses.replace(manifest.read_model(folder), files=manifest.hash_files(folder)))
