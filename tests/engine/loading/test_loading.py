"""A model gets the runner and precision that prove themselves, what was measured is kept, and damage is refused."""

import dataclasses
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from headstart.engine.engine import LoadOptions, Mode, Precision, Speculation
from headstart.engine.hardware import machine
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.kernels import selftest
from headstart.engine.loading import loading
from headstart.engine.loading.loading import RunnerConfig, load_model, verify_files
from headstart.engine.loading.validation import Verdict, find_verdict, refuse, store_verdict
from headstart.engine.local import LocalEngine
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.passes import Pass
from headstart.engine.runners.precision import OWN, VERIFY, plain, properties, reference
from headstart.engine.runners.runner import Branch
from headstart.engine.runners.selftest import rollback_error
from headstart.engine.runners.stateful import StatefulRunner
from headstart.errors import BrokenModelError, DeviceError, Translatable
from headstart.library import manifest
from headstart.library.manifest import ModelSpec
from tests.engine.answers import LIST, ask, flip_a_bit, forget, load, request
from tests.source.source_tree import ROOT
from tests.stand_ins.toy import ToyRunner

Alter = Callable[..., Path]
EXACT = RunnerConfig("CPU", 256)
FAST = RunnerConfig("CPU", 256)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The compilations: the runner's name and the precision of each."""
    notes: list[str] = []

    def noting(name: str, load_runner: loading.LoadRunner) -> loading.LoadRunner:
        def note_and_load(folder: Path, device: str, properties: Mapping[str, str], *rest: Any) -> loading.AnyRunner:
            notes.append(f"{name} {properties['INFERENCE_PRECISION_HINT']}")
            return load_runner(folder, device, properties, *rest)

        return note_and_load

    paged, stateful = noting("PagedRunner", PagedRunner.load), noting("StatefulRunner", StatefulRunner)
    use_runners(monkeypatch, paged=paged, stateful=stateful)
    return notes


def test_paged_runner_is_chosen_and_remembered(tiny_target: Path, measured: Path, compiled: list[str]) -> None:
    loaded = load_model(ModelSpec.read(tiny_target), EXACT)
    assert isinstance(loaded.runner, PagedRunner)
    assert not loaded.runner.tokens
    assert compiled == ["PagedRunner f32"]
    load_model(ModelSpec.read(tiny_target), EXACT)
    assert compiled == ["PagedRunner f32"] * 2
    assert remembered(measured)[loading.PROVEN] == "paged"


def test_first_load_measures_nothing(tiny_target: Path, compiled: list[str]) -> None:
    loaded = load_model(ModelSpec.read(tiny_target), FAST)
    assert compiled == ["PagedRunner f32"]  # which is checked as it was loaded
    assert loaded.properties == plain()
    assert not loaded.notes


def test_compressed_weights_are_first_loaded_for_our_own_kernels(tiny_quantized: Path) -> None:
    loaded = load_model(ModelSpec.read(tiny_quantized), FAST)
    assert loaded.properties == properties(OWN)
    assert not loaded.notes
    assert not loaded.slowness


def test_kernels_that_prove_wrong_are_replaced(tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = iter(["logits differ", ""])
    monkeypatch.setattr(loading, "self_test", lambda _runner: next(faults))
    loaded = load_model(ModelSpec.read(tiny_quantized), FAST)
    assert loaded.properties == plain()
    refused = find_verdict(loaded.measurements, properties(OWN))
    assert refused is not None
    assert refused.reason == "logits differ"
    for later in (loaded, load_model(ModelSpec.read(tiny_quantized), FAST)):
        (note,) = later.notes
        assert later.slowness == note
        assert "half as fast" in note
        assert "logits differ" in note
    assert not load_model(ModelSpec.read(tiny_quantized), dataclasses.replace(FAST, precision=Precision.F32)).notes


def test_what_was_measured_with_all_cores_is_not_taken_for_one(
    tiny_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ModelSpec.read(tiny_target)
    monkeypatch.setattr(psutil, "cpu_count", lambda *, logical: 2)
    monkeypatch.setattr(machine, "threads", lambda: machine.Threads(2, None))
    verify_files(spec, "CPU").measurements.put("a", 1)
    assert verify_files(spec, "CPU").measurements.get("a") == 1
    monkeypatch.setattr(machine, "threads", lambda: machine.Threads(1, None))
    assert verify_files(spec, "CPU").measurements.get("a") is None


def test_absent_kernels_are_reported_unless_others_were_chosen(
    tiny_quantized: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = Translatable("they were not compiled when Headstart was installed")
    monkeypatch.setattr(selftest, "unsupported_reason", lambda: reason)
    (note,) = load_model(ModelSpec.read(tiny_quantized), FAST).notes
    assert all(part in note for part in ("half as fast", reason, selftest.remedy()))
    for chosen in ({"precision": Precision.F32}, {"decides": False}):  # a draft's precision is never the user's choice
        assert not load_model(ModelSpec.read(tiny_quantized), dataclasses.replace(FAST, **chosen)).notes


def test_fastest_proven_precision_is_chosen(tiny_target: Path) -> None:
    known = load_model(ModelSpec.read(tiny_target), FAST).measurements
    for hint, ms in (("f32", 9.0), ("f16", 8.0)):
        store_verdict(known, properties(hint), Verdict(ms={1: ms, VERIFY: ms}))
    store_verdict(known, properties("bf16"), Verdict(Translatable("64 of 64 results are not numbers")))
    assert load_model(ModelSpec.read(tiny_target), FAST).properties == properties("f16")
    refuse(known, properties("f16"), Translatable("it gave results that are not numbers"))
    assert load_model(ModelSpec.read(tiny_target), FAST).properties == plain()


def test_refused_precision_is_replaced_and_reported(tiny_target: Path) -> None:
    known = load_model(ModelSpec.read(tiny_target), FAST).measurements
    refuse(known, properties("f16"), Translatable("64 of 64 results are not numbers"))
    loaded = load_model(ModelSpec.read(tiny_target), dataclasses.replace(FAST, precision=Precision.F16))
    assert loaded.properties == plain()
    (note,) = loaded.notes
    assert all(part in note for part in (loaded.manifest.name, "f16", "64 of 64 results", "f32"))


def test_model_without_a_valid_precision_is_refused(tiny_target: Path) -> None:
    known = load_model(ModelSpec.read(tiny_target), FAST).measurements
    for properties_ in (plain(), reference()):
        refuse(known, properties_, Translatable("64 of 64 results are not numbers"))
    with pytest.raises(BrokenModelError, match="64 of 64 results"):
        load_model(ModelSpec.read(tiny_target), FAST)


def test_other_weights_are_measured_again(tiny_target: Path, altered: Alter, measured: Path) -> None:
    load_model(ModelSpec.read(tiny_target), EXACT).measurements.put("seconds", 1.0)
    other = altered(tiny_target)
    flip_a_bit(other / "openvino_model.bin")  # another weight, but the manifest knows of it
    manifest.write(other, dataclasses.replace(manifest.read_model(other), files=manifest.hash_files(other)))
    known = load_model(ModelSpec.read(other), EXACT).measurements
    assert known.get("seconds") is None
    assert known.get(loading.PROVEN) == "branching"


def refusing(folder: Path, device: str, properties: Mapping[str, str], *rest: Any) -> Any:
    """Build a runner that refuses the model."""
    raise RuntimeError("Exception from somewhere:\nCheck 'x' failed\nthe transformation knows no such layer")


class Forgetful(PagedRunner):
    """A runner in which rejected tokens stay."""

    def rollback(self, length: int, branch: int | None = None) -> None:
        past = len(self._tokens)
        super().rollback(length, branch)
        self._stale = past - len(self._tokens) if length else 0

    def _pass(self, ids: Sequence[int], branches: Sequence[Branch], rows: int) -> Pass:
        wanted = super()._pass(ids, branches, rows)
        return dataclasses.replace(wanted, past=wanted.past + getattr(self, "_stale", 0))


class NotRunning(PagedRunner):
    """A runner that compiles but cannot run."""

    def forward(self, *arguments: Any, **named: Any) -> Any:
        raise RuntimeError("no kernel for this size of heads")


def unknown_transformation(*arguments: Any, **named: Any) -> Any:
    raise ImportError("cannot import name 'paged_attention_transformation'")


@pytest.mark.parametrize(
    "broken",
    [
        refusing,
        *(pytest.param(b, marks=pytest.mark.slow) for b in (Forgetful.load, NotRunning.load, unknown_transformation)),
    ],
)
def test_stateful_runner_gives_the_answers_of_the_paged_one(
    tiny_target: Path, tiny_draft: Path, pair_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    use_runners(monkeypatch, paged=broken, stateful=StatefulRunner)
    engine = load(LoadOptions(tiny_target, tiny_draft))
    assert isinstance(engine.target.runner, StatefulRunner)
    assert engine.target.measurements.get(loading.PROVEN) == "stateful"
    expected = ask(forget(pair_engine), request(LIST, tokens=24))
    for speculation in (Speculation(Mode.OFF), Speculation(Mode.FIXED, 5), Speculation()):
        given = ask(engine, request(LIST, speculation=speculation, tokens=24))
        assert given.essence == expected.essence


def test_stateful_runner_is_remembered(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def trying(*arguments: Any) -> Any:
        tried.append("paged")
        raise RuntimeError("refused")

    use_runners(monkeypatch, paged=trying, stateful=StatefulRunner)
    for _ in range(2):
        assert isinstance(load_model(ModelSpec.read(tiny_target), EXACT).runner, StatefulRunner)
    assert tried == ["paged"] * 2  # as it would be used, then apart


def test_model_without_a_runner_is_refused(tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_runners(monkeypatch, paged=refusing, stateful=Forgetful.load)
    with pytest.raises(BrokenModelError, match=r"paged: .*; stateful: "):
        load_model(ModelSpec.read(tiny_target), EXACT)
    assert not measured.exists()


def test_runner_that_fails_later_is_replaced(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_runners(monkeypatch, paged=PagedRunner.load, stateful=StatefulRunner)
    load_model(ModelSpec.read(tiny_target), EXACT)
    use_runners(monkeypatch, paged=NotRunning.load, stateful=StatefulRunner)
    for place in (EXACT, FAST):
        with pytest.raises(BrokenModelError, match="cannot be loaded"):
            load_model(ModelSpec.read(tiny_target), place)


@pytest.mark.parametrize("known", [["paged"], "unheard-of"])
def test_unknown_remembered_runner_is_chosen_again(tiny_target: Path, known: object) -> None:
    load_model(ModelSpec.read(tiny_target), EXACT).measurements.put(loading.PROVEN, known)
    assert load_model(ModelSpec.read(tiny_target), EXACT).measurements.get(loading.PROVEN) == "branching"


def test_rollback_check_finds_a_false_rollback(tiny_target: Path) -> None:
    assert rollback_error(ToyRunner()) == 0.0
    exact = reference()
    assert rollback_error(PagedRunner.load(tiny_target, "CPU", exact, 80)) == 0.0
    assert rollback_error(StatefulRunner(tiny_target, "CPU", exact, 80)) < 0.005
    assert rollback_error(Forgetful.load(tiny_target, "CPU", exact, 80)) > 0.1


@pytest.mark.parametrize("load_runner", [PagedRunner.load, StatefulRunner])
def test_runners_pass_the_checks_with_real_weights(real_smollm2: Path, load_runner: loading.LoadRunner) -> None:
    assert rollback_error(load_runner(real_smollm2, "CPU", reference(), 80)) < 0.005


def test_device_may_refuse_a_good_model(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headstart.engine.hardware.devices.available", lambda: ("CPU", "GPU.0"))
    use_runners(monkeypatch, paged=refusing, stateful=refusing)
    with pytest.raises(DeviceError, match=r"GPU\.0 refuses target \(paged: .*Try --device CPU"):
        load_model(ModelSpec.read(tiny_target), dataclasses.replace(EXACT, device="gpu.0"))


def use_runners(monkeypatch: pytest.MonkeyPatch, *, paged: Any, stateful: Any) -> None:
    """Replace the runners by these, of which none has branches."""
    monkeypatch.setattr(loading, "RUNNERS", {"paged": paged, "stateful": stateful})


def remembered(measured: Path) -> dict[str, Any]:
    """Return the stored values of the only model."""
    (path,) = measured.iterdir()
    values: dict[str, Any] = json.loads(path.read_text())["values"]
    return values


SUBJECT = {"model": "tiny", "device": "CPU", "openvino": "2026.4.1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist, nor does its parent."""
    return tmp_path / "data" / "measured"


def test_measurements_are_stored_and_replaced(folder: Path) -> None:
    measurements = Measurements(folder, "tiny", SUBJECT)
    for key, value in (("a", 1), ("b", {"hint": "f32", "ms": [1.5, 2]}), ("a", 3)):
        measurements.put(key, value)
    later = Measurements(folder, "tiny", SUBJECT)
    assert (later.get("a"), later.get("b"), later.get("c")) == (3, {"hint": "f32", "ms": [1.5, 2]}, None)
    assert [path.suffix for path in folder.iterdir()] == [".json"]


@pytest.mark.parametrize("key", SUBJECT)
def test_measurements_belong_to_a_subject(folder: Path, key: str) -> None:
    Measurements(folder, "tiny", SUBJECT).put("a", 1)
    assert Measurements(folder, "tiny", SUBJECT | {key: "another"}).get("a") is None
    assert Measurements(folder, "tiny", SUBJECT).get("a") == 1


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[]", b"{}", b'{"values": [1, 2]}', b'{"values": null}'])
def test_damaged_measurements_are_replaced(folder: Path, content: bytes) -> None:
    Measurements(folder, "tiny", SUBJECT).put("a", 1)
    (path,) = folder.iterdir()
    path.write_bytes(content)
    measurements = Measurements(folder, "tiny", SUBJECT)
    assert measurements.get("a") is None
    measurements.put("a", 2)
    assert Measurements(folder, "tiny", SUBJECT).get("a") == 2


def test_unwritable_measurements_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    occupied = tmp_path / "measured"
    occupied.write_text("not a folder")
    measurements = Measurements(occupied, "tiny", SUBJECT)
    with caplog.at_level(logging.WARNING):
        measurements.put("a", 1)
    assert "measurements are not kept" in caplog.text
    assert measurements.get("a") == 1
    assert occupied.read_text() == "not a folder"


@pytest.mark.parametrize("name", ["..\\..\\model", "../../a:b*c?", "x" * 300, "", "模型"])
def test_measurements_of_any_name_are_one_file(folder: Path, name: str) -> None:
    Measurements(folder, name, SUBJECT).put("a", 1)
    (path,) = folder.iterdir()
    assert path.is_file()
    assert not set(path.name) & set('\\/:*?"<>|')
    assert Measurements(folder, name, SUBJECT).get("a") == 1


SCRIPT = """
import gc, signal, sys
from pathlib import Path
from headstart.engine.engine import LoadOptions
from headstart.engine.opening import resolve
from headstart.engine.local import load
target, draft = map(Path, sys.argv[1:])
first = load(resolve(LoadOptions(target, draft, context=128)))
second = load(resolve(LoadOptions(target, context=128)))
for engine in (first, second):
    engine.close()
    gc.collect()
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
signal.raise_signal(signal.SIGINT)
print(heard == [signal.SIGINT])
"""


def test_signal_is_handled_after_models_were_freed(tiny_target: Path, tiny_draft: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tiny_target), str(tiny_draft)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


FIRST_LOOK = """
import builtins
from headstart.engine.hardware.runtime import openvino
module, wanted, load = openvino(), [], builtins.__import__

def record(name, *more):
    wanted.append(name)
    return load(name, *more)

builtins.__import__ = record
module.Tensor(module.Type.u8, module.Shape([1])).data
print(wanted)
"""


def test_numpy_is_set_up_before_a_tensor_is_read() -> None:
    """The set-up is not safe in two threads, and the target and the tokenizer are loaded in one each."""
    done = subprocess.run([sys.executable, "-c", FIRST_LOOK], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


FILES = ("openvino_model.xml", "openvino_tokenizer.bin", "openvino_detokenizer.xml", "tokenizer.json")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(("openvino_model.bin", damage) for damage in (truncated, flip_a_bit, emptied, Path.unlink)),
        *((name, flip_a_bit) for name in FILES),
    ],
)
def test_damaged_model_file_is_named(
    tiny_target: Path, altered: Alter, name: str, damage: Callable[[Path], None]
) -> None:
    folder = altered(tiny_target)
    damage(folder / name)
    with pytest.raises(BrokenModelError, match=rf"tiny-target is damaged: {name} .*headstart models add"):
        load(LoadOptions(folder))


def test_damaged_draft_is_named(tiny_target: Path, tiny_draft: Path, altered: Alter) -> None:
    folder = altered(tiny_draft)
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(BrokenModelError, match=r"tiny-draft is damaged: openvino_model\.bin"):
        load(LoadOptions(tiny_target, folder))


def test_large_file_is_hashed_once(tiny_target: Path, altered: Alter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_SMALL_FILE", 50_000)
    hashed: list[str] = []
    hash_file = manifest.hash_file

    def noting(path: Path) -> str:
        hashed.append(path.name)
        return hash_file(path)

    monkeypatch.setattr(manifest, "hash_file", noting)
    folder = altered(tiny_target)
    load_model(ModelSpec.read(folder), EXACT)
    assert "openvino_model.bin" in hashed
    hashed.clear()
    load_model(ModelSpec.read(folder), EXACT)
    assert "openvino_model.bin" not in hashed
    assert "config.json" in hashed
    flip_a_bit(folder / "openvino_model.bin")
    with pytest.raises(BrokenModelError, match=r"openvino_model\.bin"):
        load_model(ModelSpec.read(folder), EXACT)


def test_missing_model_is_reported(tiny_target: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    with pytest.raises(BrokenModelError, match=r"nothing is not a Headstart model.*headstart models add"):
        load(LoadOptions(nothing))
    with pytest.raises(BrokenModelError, match="nothing is not a Headstart model"):
        load(LoadOptions(tiny_target, nothing))


def test_manifest_without_the_model_is_refused(tiny_target: Path, altered: Alter) -> None:
    files = {key: file for key, file in manifest.read_model(tiny_target).files.items() if key != "openvino_model.bin"}
    with pytest.raises(BrokenModelError, match=r"does not list openvino_model\.bin"):
        load(LoadOptions(altered(tiny_target, files=files)))


def test_pair_folder_is_no_model(tiny_pair: Path) -> None:
    with pytest.raises(BrokenModelError, match="holds a pair"):
        load(LoadOptions(tiny_pair))


def test_unreadable_file_is_reported(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(manifest, "hash_file", denied)
    with pytest.raises(BrokenModelError, match=r"cannot be read \(Permission denied\); see that you may read it"):
        load_model(ModelSpec.read(tiny_target), EXACT)
