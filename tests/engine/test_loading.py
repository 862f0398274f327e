"""A model gets the runner and the precision that prove themselves here, and what was measured is remembered."""

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headstart import manifest
from headstart.engine import loading
from headstart.engine.engine import LoadOptions, Mode, Numerics, Precision, Speculation
from headstart.engine.loading import Place, load_model, rollback_error
from headstart.engine.local import LocalEngine, load
from headstart.engine.measurements import Measurements
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import VERIFY, plain, properties
from headstart.engine.runners.runner import Branch
from headstart.engine.runners.stateful import StatefulRunner
from headstart.engine.validation import Verdict, note, refuse
from headstart.errors import BrokenModelError, DeviceError, Translatable
from tests.engine.answers import LIST, ask, flip_a_bit, forget, request
from tests.toy import ToyRunner

Alter = Callable[..., Path]
EXACT = Place("CPU", Numerics.EXACT, 256)
FAST = Place("CPU", Numerics.FAST, 256)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each compilation: the runner's name and the precision."""
    notes: list[str] = []

    def noting(kind: Any) -> Any:
        class Noting(kind):  # type: ignore[misc]
            def __init__(self, folder: Path, device: str, properties: Mapping[str, str], *rest: Any) -> None:
                notes.append(f"{kind.__name__} {properties['INFERENCE_PRECISION_HINT']}")
                super().__init__(folder, device, properties, *rest)

        return Noting

    use_runners(monkeypatch, paged=noting(PagedRunner), stateful=noting(StatefulRunner))
    return notes


def test_the_paged_runner_is_chosen_and_remembered(tiny_target: Path, measured: Path, compiled: list[str]) -> None:
    loaded = load_model(tiny_target, EXACT, measured)
    assert isinstance(loaded.runner, PagedRunner)
    assert not loaded.runner.tokens
    assert compiled == ["PagedRunner f32"]
    load_model(tiny_target, EXACT, measured)
    assert compiled == ["PagedRunner f32"] * 2
    assert remembered(measured)[loading.PROVEN] == "paged"


def test_a_first_load_measures_nothing(tiny_target: Path, measured: Path, compiled: list[str]) -> None:
    loaded = load_model(tiny_target, FAST, measured)
    assert compiled == ["PagedRunner f32"]  # which is checked as it was loaded
    assert loaded.properties == plain()
    assert not loaded.notes


def test_the_fastest_precision_that_proved_right_is_taken(tiny_target: Path, measured: Path) -> None:
    known = load_model(tiny_target, FAST, measured).measurements
    for hint, ms in (("f32", 9.0), ("bf16", 8.0)):
        note(known, properties(Numerics.FAST, hint), Verdict(ms={1: ms, VERIFY: ms}))
    note(known, properties(Numerics.FAST, "f16"), Verdict(Translatable("64 of 64 results are not numbers")))
    assert load_model(tiny_target, FAST, measured).properties == properties(Numerics.FAST, "bf16")
    refuse(known, properties(Numerics.FAST, "bf16"), Translatable("it gave results that are not numbers"))
    assert load_model(tiny_target, FAST, measured).properties == plain()


def test_a_refused_precision_is_replaced_and_a_person_is_told(tiny_target: Path, measured: Path) -> None:
    known = load_model(tiny_target, FAST, measured).measurements
    refuse(known, properties(Numerics.FAST, "f16"), Translatable("64 of 64 results are not numbers"))
    loaded = load_model(tiny_target, dataclasses.replace(FAST, precision=Precision.F16), measured)
    assert loaded.properties == plain()
    assert loaded.notes == (
        f"{loaded.manifest.name} does not run in f16 here, as 64 of 64 results are not numbers; it runs in f32.",
    )


def test_where_no_arithmetic_is_right_the_model_is_refused(tiny_target: Path, measured: Path) -> None:
    known = load_model(tiny_target, FAST, measured).measurements
    for properties_ in (plain(), properties(Numerics.EXACT)):
        refuse(known, properties_, Translatable("64 of 64 results are not numbers"))
    with pytest.raises(BrokenModelError, match="64 of 64 results are not numbers, in f32 too"):
        load_model(tiny_target, FAST, measured)


def test_other_weights_are_measured_anew(tiny_target: Path, altered: Alter, measured: Path) -> None:
    load_model(tiny_target, EXACT, measured).measurements.put("seconds", 1.0)
    other = altered(tiny_target)
    flip_a_bit(other / "openvino_model.bin")  # another weight, but the manifest knows of it
    manifest.write(other, dataclasses.replace(manifest.read_model(other), files=manifest.hash_files(other)))
    known = load_model(other, EXACT, measured).measurements
    assert known.get("seconds") is None
    assert known.get(loading.PROVEN) == "branching"


def refusing(folder: Path, device: str, properties: Mapping[str, str], *rest: Any) -> Any:
    """A runner that the model is not made for."""
    raise RuntimeError("Exception from somewhere:\nCheck 'x' failed\nthe transformation knows no such layer")


class Forgetful(PagedRunner):
    """Rejected tokens stay."""

    def rollback(self, length: int, branch: int | None = None) -> None:
        """Only says that it forgets."""
        past = len(self._tokens)
        super().rollback(length, branch)
        self._stale = past - len(self._tokens) if length else 0

    def _set_inputs(self, ids: Sequence[int], branches: Sequence[Branch], past: int, rows: int) -> None:
        super()._set_inputs(ids, branches, past + getattr(self, "_stale", 0), rows)


class NotRunning(PagedRunner):
    """Compiles, but cannot be run."""

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Refuse."""
        raise RuntimeError("no kernel for this size of heads")


def unknown_transformation(*arguments: Any, **named: Any) -> Any:
    """A version of OpenVINO without it."""
    raise ImportError("cannot import name 'paged_attention_transformation'")


@pytest.mark.parametrize(
    "broken",
    [refusing, *(pytest.param(b, marks=pytest.mark.slow) for b in (Forgetful, NotRunning, unknown_transformation))],
)
def test_where_pages_do_not_work_the_stateful_runner_gives_the_same_answers(
    tiny_target: Path, tiny_draft: Path, pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    use_runners(monkeypatch, paged=broken, stateful=StatefulRunner)
    engine = load(LoadOptions(tiny_target, tiny_draft, numerics=Numerics.EXACT))
    assert isinstance(engine.target.runner, StatefulRunner)
    assert engine.target.measurements.get(loading.PROVEN) == "stateful"
    expected = ask(forget(pair_engine), request(LIST, tokens=24))
    for speculation in (Speculation(Mode.OFF), Speculation(Mode.FIXED, 5), Speculation()):
        given = ask(engine, request(LIST, speculation=speculation, tokens=24))
        assert given.essence == expected.essence


def test_the_fallback_is_remembered(tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def trying(*arguments: Any) -> Any:
        tried.append("paged")
        raise RuntimeError("refused")

    use_runners(monkeypatch, paged=trying, stateful=StatefulRunner)
    for _ in range(2):
        assert isinstance(load_model(tiny_target, EXACT, measured).runner, StatefulRunner)
    assert tried == ["paged"] * 2  # as it would be used, then apart


def test_a_model_that_no_runner_takes_is_refused_with_the_reasons(
    tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_runners(monkeypatch, paged=refusing, stateful=Forgetful)
    with pytest.raises(
        BrokenModelError, match=r"paged: the transformation knows no such layer; stateful: logits differ"
    ):
        load_model(tiny_target, EXACT, measured)
    assert not measured.exists()


def test_a_runner_that_once_worked_and_now_fails_is_told_in_a_sentence(
    tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_runners(monkeypatch, paged=PagedRunner, stateful=StatefulRunner)
    load_model(tiny_target, EXACT, measured)
    use_runners(monkeypatch, paged=NotRunning, stateful=StatefulRunner)
    for place in (EXACT, FAST):
        with pytest.raises(BrokenModelError, match="cannot be loaded"):
            load_model(tiny_target, place, measured)


@pytest.mark.parametrize("known", [["paged"], "unheard-of", None])
def test_a_remembered_runner_that_makes_no_sense_is_chosen_anew(
    tiny_target: Path, measured: Path, known: object
) -> None:
    load_model(tiny_target, EXACT, measured).measurements.put(loading.PROVEN, known)
    load_model(tiny_target, EXACT, measured)
    assert remembered(measured)[loading.PROVEN] == "branching"


def test_a_faithful_rollback_shows_as_such_and_a_false_one_too(tiny_target: Path) -> None:
    assert rollback_error(ToyRunner()) == 0.0
    exact = properties(Numerics.EXACT)
    assert rollback_error(PagedRunner(tiny_target, "CPU", exact, 80)) == 0.0
    assert rollback_error(StatefulRunner(tiny_target, "CPU", exact, 80)) < 0.005
    assert rollback_error(Forgetful(tiny_target, "CPU", exact, 80)) > 0.1


@pytest.mark.parametrize("kind", [PagedRunner, StatefulRunner])
def test_either_runner_proves_itself_with_real_weights(real_smollm2: Path, kind: type[PagedRunner]) -> None:
    assert rollback_error(kind(real_smollm2, "CPU", properties(Numerics.EXACT), 80)) < 0.005


def test_an_unknown_device_is_refused_with_those_present(tiny_target: Path) -> None:
    with pytest.raises(DeviceError, match=r"no device TPU here; present: .*CPU"):
        load(LoadOptions(tiny_target, device="TPU"))


def test_a_device_that_refuses_the_model_is_no_fault_of_the_model(
    tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headstart.engine.devices.available", lambda: ("CPU", "GPU.0"))
    use_runners(monkeypatch, paged=refusing, stateful=refusing)
    with pytest.raises(DeviceError, match=r"GPU\.0 refuses target \(paged: .*Try --device CPU"):
        load_model(tiny_target, dataclasses.replace(EXACT, device="gpu.0"), measured)


def test_measurements_that_cannot_be_kept_are_taken_each_time(
    tiny_target: Path, headstart_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    headstart_home.mkdir()
    (headstart_home / "measured").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        engine = load(LoadOptions(tiny_target, numerics=Numerics.EXACT))
    assert "measurements are not kept" in caplog.text
    assert len(ask(engine, request(LIST, tokens=4)).ids) == 4


def test_damaged_measurements_are_logged_and_taken_again(
    tiny_target: Path, measured: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load(LoadOptions(tiny_target, numerics=Numerics.EXACT)).close()
    files = list(measured.iterdir())
    assert len(files) == 2  # of the model and of the policy
    for path in files:
        path.write_text('{"values": ')
    with caplog.at_level(logging.WARNING):
        engine = load(LoadOptions(tiny_target, numerics=Numerics.EXACT))
    assert caplog.text.count("is ignored and measured again") == 2
    assert len(ask(engine, request(LIST, tokens=4)).ids) == 4
    assert all(json.loads(path.read_text())["values"] for path in files)


@pytest.mark.parametrize("value", [7, [], {}, "policy", {"costs": {}, "draft": [], "ngram": 0, "usual_tokens": "x"}])
def test_a_learned_policy_that_makes_no_sense_starts_anew(
    lone_engine: LocalEngine, measured: Path, value: object
) -> None:
    learned = Measurements(measured, "policy", {})
    learned.put("policy", value)
    engine = LocalEngine(lone_engine.target, None, lone_engine.tokenizer, learned)
    assert len(ask(engine, request(LIST, speculation=Speculation(), tokens=30)).ids) == 30


def use_runners(monkeypatch: pytest.MonkeyPatch, *, paged: Any, stateful: Any) -> None:
    """Put these in the places of the runners, of which none has branches."""
    monkeypatch.setattr(loading, "RUNNERS", {"paged": paged, "stateful": stateful})


def remembered(measured: Path) -> dict[str, Any]:
    """The values kept for the only model."""
    (path,) = measured.iterdir()
    values: dict[str, Any] = json.loads(path.read_text())["values"]
    return values
