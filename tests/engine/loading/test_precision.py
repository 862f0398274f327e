"""Precisions: what they mean to OpenVINO, what passes take, and the proof in a child process before one is used."""

import itertools
import re
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.engine import KvPrecision, LoadOptions, Precision
from headstart.engine.hardware.measurements import Measurements, measured_ms
from headstart.engine.loading.loading import RunnerConfig, load_model, measure, verify_files
from headstart.engine.loading.validation import (
    Subject,
    Trial,
    Verdict,
    find_verdict,
    refusals,
    refuse,
    store_verdict,
)
from headstart.engine.local import draft_config, target_config
from headstart.engine.opening import resolve
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import (
    HINTS,
    OWN,
    candidates,
    differing,
    hint_of,
    pass_ms,
    plain,
    probe_ids,
    properties,
    reference,
    switch_ms,
)
from headstart.errors import Translatable
from headstart.library import manifest
from headstart.library.manifest import ModelSpec
from tests.engine.answers import LIST, ask, load, request
from tests.stand_ins.toy import ToyRunner
from tests.support.waiting import PATIENCE, wait_until


def test_precisions_become_openvino_properties() -> None:
    exact = reference()
    assert exact["INFERENCE_PRECISION_HINT"] == "f32"
    assert (exact["DYNAMIC_QUANTIZATION_GROUP_SIZE"], exact["KV_CACHE_PRECISION"]) == ("0", "f32")
    for hint in HINTS:
        chosen = properties(hint)
        assert chosen["INFERENCE_PRECISION_HINT"] == hint
        assert chosen["KV_CACHE_PRECISION"] == ("bf16" if hint == "bf16" else "f16")
        assert "DYNAMIC_QUANTIZATION_GROUP_SIZE" not in chosen
    assert candidates(manifest.Precision("fp16"), "CPU") == HINTS
    assert candidates(manifest.Precision("int8"), "GPU") == HINTS
    assert candidates(manifest.Precision("int8"), "CPU") == (OWN, *HINTS)
    grouped = manifest.Precision("fp16", activation_group=128)
    assert candidates(grouped, "CPU") == (*HINTS, "f32, groups of 128")
    assert properties("f32, groups of 128")["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "128"


@pytest.mark.parametrize("hint", [*HINTS, "f32, groups of 64", OWN])
@pytest.mark.parametrize("other", [*HINTS, "f32, groups of 64", OWN])
def test_differing_properties_make_another_precision(hint: str, other: str) -> None:
    joined = {**properties(hint), **differing(other, hint)}
    assert hint_of(joined) == other
    assert joined["KV_CACHE_PRECISION"] == properties(other)["KV_CACHE_PRECISION"]


def test_pass_ms_is_the_fastest_and_keeps_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate([0.0, 0.020, 1.0, 0.010, 1.0, 0.030])  # two readings a pass
    monkeypatch.setattr("headstart.engine.runners.precision.time.perf_counter", lambda: next(clock))
    runner = ToyRunner()
    runner.forward([1, 2, 3])
    assert pass_ms(runner, 6, repeats=3) == pytest.approx(10.0)
    assert runner.calls == [3, 6, 6, 6]
    assert list(runner.tokens) == [1, 2, 3]


def test_switch_ms_is_the_extra_time_of_the_first_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = (0.030, 0.025, 0.014, 0.010, 0.031, 0.027)  # of passes over 6, 6, 1, 1, 6, 6 tokens
    clock = itertools.accumulate(part for length in [*lengths, 0.016, 0.010] for part in (1.0, length))
    monkeypatch.setattr("headstart.engine.runners.precision.time.perf_counter", lambda: next(clock))
    runner = ToyRunner()
    assert switch_ms(runner, repeats=2) == pytest.approx(4.5)
    assert runner.calls == [6, 6, 1, 1, 6, 6, 1, 1]


@pytest.mark.parametrize(("kv", "kinds"), [(KvPrecision.F16, {"float16", "bfloat16"}), (KvPrecision.U8, {"uint8"})])
def test_cache_is_kept_as_asked(tiny_target: Path, kv: KvPrecision, kinds: set[str]) -> None:
    runner = load_model(ModelSpec.read(tiny_target), RunnerConfig("CPU", 100, kv=kv)).runner
    assert isinstance(runner, PagedRunner)
    assert isinstance(runner, BranchingRunner) == (kv is KvPrecision.F16)
    assert {cache.dtype.name for cache in runner.model.caches} <= kinds
    assert runner.model.block == 32
    ids = probe_ids(runner.vocabulary, 100, seed=1)
    at_once = runner.forward(ids, rows=1).copy()
    runner.rollback(0)
    runner.forward(ids[:70])
    in_parts = runner.forward(ids[70:], rows=1).copy()
    assert np.abs(at_once - in_parts).max() < 0.2 * at_once.std()


ODD = (sys.executable, "-m", "tests.engine.loading.odd_trial")


@pytest.fixture
def subject(tiny_target: Path, measured: Path) -> Subject:
    """The tiny target's tokenizer, with toy runners."""
    return Subject(tiny_target, "CPU", "branching", 0.01, 0.0, Measurements(measured, "toy", {"model": "toy"}))


def setting(fault: str) -> Mapping[str, str]:
    """Return plain properties, with a fault for the toys."""
    return {**plain(), "FAULT": fault}


WRONG = {
    "crash": r"it ended the process that tried it \(SIGFPE\)",
    "refuse": r"the device refuses it \(no kernel for it\)",
    "nan": "1 of 63 results are not numbers",
    "late nan": "1 of 8 results are not numbers",
    "off": "results differ from exact ones by .* nats, more than 0.01",
    "stale": "results differ from exact ones by .* nats, more than 0.01",
}


def test_failed_trial_is_refused_with_its_reason(subject: Subject) -> None:
    Trial(ODD).run(subject, [setting(fault) for fault in ("first", *WRONG, "right")])
    found = {fault: find_verdict(subject.measurements, setting(fault)) for fault in ("first", *WRONG, "right")}
    for fault, verdict in found.items():
        assert verdict is not None
        assert re.fullmatch(WRONG.get(fault, ""), verdict.reason)
        assert fault in WRONG or (verdict.ms[1] > 0 and verdict.ms[32] > 0)


def test_measured_ms_is_the_fastest_pass(measured: Path) -> None:
    known_ = Measurements(measured, "model", {"weights": "abc"})
    assert measured_ms(measured, "abc") is None
    store_verdict(known_, setting("slow"), Verdict(ms={1: 9.0}))
    store_verdict(known_, setting("quick"), Verdict(ms={1: 5.0}))
    store_verdict(known_, setting("wrong"), Verdict(Translatable("it is wrong"), {1: 1.0}))
    store_verdict(Measurements(measured, "other", {"weights": "def"}), setting("quick"), Verdict(ms={1: 2.0}))
    assert measured_ms(measured, "abc") == 5.0


def test_hanging_trial_is_ended_and_refused(subject: Subject) -> None:
    Trial(ODD, patience=3.0).run(subject, [setting("hang")])
    assert find_verdict(subject.measurements, setting("hang")) == Verdict(Translatable("it gave no sign for 3 seconds"))


def test_untimed_trial_is_timed_on_request(subject: Subject) -> None:
    Trial(ODD).run(subject, [setting("right")], timed=False)
    assert find_verdict(subject.measurements, setting("right")) == Verdict()
    Trial(ODD).run(subject, [setting("right")])
    found = find_verdict(subject.measurements, setting("right"))
    assert found is not None
    assert found.ms


def test_disturbed_trial_is_repeated_on_request(subject: Subject) -> None:
    disturbed = Verdict(ms={1: 99.0}, prompt_ms=99.0, is_disturbed=True)
    store_verdict(subject.measurements, setting("right"), disturbed)
    Trial(ODD).run(subject, [setting("right")], timed=False)
    assert find_verdict(subject.measurements, setting("right")) == disturbed
    Trial(ODD).run(subject, [setting("right")], again=True)
    found = find_verdict(subject.measurements, setting("right"))
    assert found is not None
    assert found.ms[1] < 99.0


def test_stopped_trial_decides_nothing(subject: Subject) -> None:
    trial = Trial(ODD)
    thread = threading.Thread(target=trial.run, args=(subject, [setting("hang")]))
    thread.start()
    wait_until(lambda: trial._child)
    trial.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert find_verdict(subject.measurements, setting("hang")) is None
    trial.run(subject, [setting("right")])  # nor does it begin anything anew
    assert find_verdict(subject.measurements, setting("right")) is None


def test_malformed_findings_are_ignored(subject: Subject) -> None:
    several: list[object] = [7, "x", {"a": 1}, {"a": {"reason": ""}}, {"a": {"reason": "", "ms": 3, "switch_ms": 0}}]
    for nonsense in several:
        subject.measurements.put("validated", nonsense)
        assert find_verdict(subject.measurements, plain()) is None


def test_refusals_are_listed_by_model_and_setting(subject: Subject, measured: Path) -> None:
    refuse(subject.measurements, properties("f16"), Translatable("64 of 64 results are not numbers"))
    assert list(refusals(measured)) == [({"model": "toy"}, "f16", "64 of 64 results are not numbers")]


def test_real_model_passes_every_precision(tiny_target: Path, headstart_home: Path) -> None:
    measure(verify_files(ModelSpec.read(tiny_target), "CPU"), Trial())
    loaded = load_model(ModelSpec.read(tiny_target), target_config(resolve(LoadOptions(tiny_target))))
    found = {hint: find_verdict(loaded.measurements, properties(hint)) for hint in ("f32", "bf16", "f16")}
    assert all(found.values()), "each was either proved right or refused"
    assert found["f32"] is not None
    assert found["f32"].ms
    assert not found["f32"].reason


def test_forced_precision_is_tried_before_the_chat(tiny_target: Path) -> None:
    for precision in (Precision.F16, Precision.BF16):
        engine = load(LoadOptions(tiny_target, precision=precision))
        found = find_verdict(engine.target.measurements, properties(precision.value))
        assert found is not None
        used = engine.target.properties["INFERENCE_PRECISION_HINT"]
        assert used == ("f32" if found.reason else precision.value)
        assert bool(engine.notes) == bool(found.reason)
        assert len(ask(engine, request(LIST, tokens=8)).ids) == 8


def test_draft_config_leaves_the_precision_open(tiny_draft: Path) -> None:
    options = LoadOptions(tiny_draft, tiny_draft, precision=Precision.F16)
    assert draft_config(ModelSpec.read(tiny_draft), options).precision is Precision.AUTO
