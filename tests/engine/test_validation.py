"""Nothing is computed with before a child process has proved it right: what crashes, hangs or is wrong is refused."""

import re
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from headstart.engine.engine import LoadOptions, Numerics, Precision
from headstart.engine.loading import load_model, measure
from headstart.engine.local import draft_place, load, target_place
from headstart.engine.measurements import Measurements
from headstart.engine.runners.precision import plain, properties
from headstart.engine.validation import Subject, Trial, Verdict, known, refusals, refuse
from headstart.errors import Translatable
from tests.engine.answers import LIST, ask, request

ODD = (sys.executable, "-m", "tests.engine.odd_trial")


@pytest.fixture
def subject(tiny_target: Path, measured: Path) -> Subject:
    """The tiny target's tokenizer, before runners that are toys."""
    return Subject(tiny_target, "CPU", "branching", 0.01, 0.0, Measurements(measured, "toy", {"model": "toy"}))


def setting(fault: str) -> Mapping[str, str]:
    """Plain properties, with a fault for the toys."""
    return {**plain(), "FAULT": fault}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", r"it ended the process that tried it \(SIGFPE\)"),
        ("refuse", r"the device refuses it \(no kernel for it\)"),
        ("nan", "1 of 64 results are not numbers"),
        ("late nan", "1 of 8 results are not numbers"),
        ("off", "results differ from exact ones by .* nats, more than 0.01"),
        ("stale", "results differ from exact ones by .* nats, more than 0.01"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(subject: Subject, fault: str, reason: str) -> None:
    Trial(ODD).run(subject, [setting(fault)])
    found = known(subject.measurements, setting(fault))
    assert found is not None
    assert re.fullmatch(reason, found.reason)


def test_what_hangs_is_ended_and_refused(subject: Subject) -> None:
    Trial(ODD, patience=3.0).run(subject, [setting("hang")])
    assert known(subject.measurements, setting("hang")) == Verdict(Translatable("it gave no sign for 3 seconds"))


def test_one_that_ends_the_process_costs_the_others_nothing(subject: Subject) -> None:
    wanted = [setting(fault) for fault in ("", "crash", "nan", "right")]
    Trial(ODD).run(subject, wanted)
    found = [known(subject.measurements, chosen) for chosen in wanted]
    assert [bool(verdict and verdict.reason) for verdict in found] == [False, True, True, False]
    assert all(verdict is not None for verdict in found)
    for verdict in (found[0], found[3]):
        assert verdict is not None
        assert verdict.ms[1] > 0
        assert verdict.ms[32] > 0


def test_what_is_known_is_not_tried_again(subject: Subject) -> None:
    refuse(subject.measurements, setting("right"), Translatable("it was seen to fail"))
    Trial((sys.executable, "-c", "raise SystemExit(3)")).run(subject, [setting("right")])
    assert known(subject.measurements, setting("right")) == Verdict(Translatable("it was seen to fail"))


def test_what_proved_right_untimed_is_timed_where_that_is_asked_for(subject: Subject) -> None:
    Trial(ODD).run(subject, [setting("right")], timed=False)
    assert known(subject.measurements, setting("right")) == Verdict()
    Trial(ODD).run(subject, [setting("right")])
    found = known(subject.measurements, setting("right"))
    assert found is not None
    assert found.ms


def test_a_trial_that_is_stopped_leaves_open_what_it_was_at(subject: Subject) -> None:
    trial = Trial(ODD)
    thread = threading.Thread(target=trial.run, args=(subject, [setting("hang")]))
    thread.start()
    time.sleep(1.0)
    trial.stop()
    thread.join(10.0)
    assert not thread.is_alive()
    assert known(subject.measurements, setting("hang")) is None
    trial.run(subject, [setting("right")])  # nor does it begin anything anew
    assert known(subject.measurements, setting("right")) is None


def test_findings_that_make_no_sense_count_as_none(subject: Subject) -> None:
    several: list[object] = [7, "x", {"a": 1}, {"a": {"reason": ""}}, {"a": {"reason": "", "ms": 3, "switch_ms": 0}}]
    for nonsense in several:
        subject.measurements.put("validated", nonsense)
        assert known(subject.measurements, plain()) is None


def test_refusals_are_listed_by_model_and_setting(subject: Subject, measured: Path) -> None:
    refuse(subject.measurements, properties(Numerics.FAST, "f16"), Translatable("64 of 64 results are not numbers"))
    assert list(refusals(measured)) == [({"model": "toy"}, "f16", "64 of 64 results are not numbers")]


def test_a_real_model_is_tried_in_every_precision(tiny_target: Path, headstart_home: Path) -> None:
    measure(tiny_target, "CPU", Trial())
    loaded = load_model(tiny_target, target_place(LoadOptions(tiny_target)), headstart_home / "measured")
    found = {hint: known(loaded.measurements, properties(Numerics.FAST, hint)) for hint in ("f32", "bf16", "f16")}
    assert all(found.values()), "each was either proved right or refused"
    assert found["f32"] is not None
    assert found["f32"].ms
    assert not found["f32"].reason


def test_a_forced_precision_is_proved_first_and_the_chat_works(tiny_target: Path) -> None:
    for precision in (Precision.F16, Precision.BF16):
        engine = load(LoadOptions(tiny_target, precision=precision))
        found = known(engine.target.measurements, properties(Numerics.FAST, precision.value))
        assert found is not None
        used = engine.target.properties["INFERENCE_PRECISION_HINT"]
        assert used == ("f32" if found.reason else precision.value)
        assert bool(engine.notes) == bool(found.reason)
        assert len(ask(engine, request(LIST, tokens=8)).ids) == 8


def test_the_place_of_a_draft_leaves_the_precision_open(tiny_draft: Path) -> None:
    options = LoadOptions(tiny_draft, tiny_draft, precision=Precision.F16)
    assert draft_place(tiny_draft, options).precision is Precision.AUTO
