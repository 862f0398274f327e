"""Devices by the names OpenVINO gives them, and the engine that runs a model there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from headstart.engine import opening
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.engine import EngineKind, LoadOptions
from headstart.engine.hardware import devices
from headstart.engine.loading import loading
from headstart.engine.local import LocalEngine
from headstart.engine.opening import EngineChoice, LocalModels, choose_engine, resolve
from headstart.engine.protocol import Bench, BenchSize
from headstart.engine.runners import selftest
from headstart.errors import DeviceError, SettingsError, UnfitError
from headstart.library.manifest import ModelSpec
from tests.engine.answers import load
from tests.stand_ins.model_folders import resolved_model
from tests.stand_ins.openvino_core import CPU, GPU, NPU, FakeCore, Properties, plug_in
from tests.support.refusals import refused

BUILT_IN: Properties = {"FULL_DEVICE_NAME": "Built-in graphics", "DEVICE_TYPE": "Type.INTEGRATED"}


@pytest.mark.parametrize("name", ["NOPE", "", "CPU.9", "CP", "AUTO:GPU", "MULTI:CPU", "CPU\n"])
def test_unknown_device_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(DeviceError, match=r"present: .*CPU.*--device"):
        devices.require(name)


def test_device_name_may_stand_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: ("CPU", "GPU.0", "GPU.1"))
    assert devices.require("gpu") == "GPU"
    assert devices.require("GPU.1") == "GPU.1"
    with refused(DeviceError, device="GPU.2", here="CPU, GPU.0, GPU.1", option="--device"):
        devices.require("GPU.2")


@pytest.mark.parametrize(
    ("present", "asked", "meant"),
    [
        ({"CPU": CPU}, "AUTO", "CPU"),
        ({"CPU": CPU, "NPU": NPU}, "auto", "CPU"),
        ({"CPU": CPU, "GPU": BUILT_IN}, "AUTO", "GPU"),
        ({"CPU": CPU, "GPU.0": BUILT_IN, "GPU.1": GPU}, "AUTO", "GPU.1"),
        ({"CPU": CPU, "NPU": NPU}, "AUTO:NPU,CPU", "NPU"),
        ({"CPU": CPU, "GPU.0": BUILT_IN, "GPU.1": GPU}, "AUTO:GPU", "GPU.0"),
    ],
)
def test_auto_is_the_first_device_of_openvino(
    monkeypatch: pytest.MonkeyPatch, present: Mapping[str, Properties], asked: str, meant: str
) -> None:
    plug_in(monkeypatch, FakeCore(present))
    assert devices.leaves_choice(asked)
    assert devices.require(asked) == meant


def test_unknown_draft_device_is_refused_before_loading(
    tiny_target: Path, tiny_draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU}))
    with refused(DeviceError, device="GPU", here="CPU", option="--draft-device", wanted="GPU"):
        load(LoadOptions(tiny_target, tiny_draft, draft_device="GPU"))


OPTIONS = LoadOptions(Path("target"))
OURS, GENAI = EngineChoice(EngineKind.HEADSTART), EngineKind.GENAI
BECAUSE = "OpenVINO GenAI runs this model because"
NPU_ONLY = f"{BECAUSE} Headstart's own engine cannot use an NPU."
UNFIT = f"{BECAUSE} Headstart's own engine failed a check of this device (paged: no)."
HEAD = f"{BECAUSE} Headstart's own engine uses the EAGLE-3 head a-head on a processor only."


def _unasked(*_: object) -> str:
    raise AssertionError("nothing is to be tried out here")


@pytest.mark.parametrize(
    ("options", "head", "against", "expected"),
    [
        (OPTIONS, None, None, OURS),
        (replace(OPTIONS, device="GPU"), None, "", OURS),
        (replace(OPTIONS, draft_device="GPU"), None, "", OURS),
        (replace(OPTIONS, device="GPU.1"), None, "paged: no", EngineChoice(GENAI, UNFIT)),
        (replace(OPTIONS, device="npu"), None, None, EngineChoice(GENAI, NPU_ONLY)),
        (replace(OPTIONS, draft_device="NPU"), None, None, EngineChoice(GENAI, NPU_ONLY)),
        (OPTIONS, "a-head", None, OURS),
        (replace(OPTIONS, device="GPU"), "a-head", None, EngineChoice(GENAI, HEAD)),
        (replace(OPTIONS, engine=GENAI), None, None, EngineChoice(GENAI)),
        (replace(OPTIONS, engine=EngineKind.HEADSTART, device="GPU"), None, None, OURS),
    ],
)
def test_engine_is_chosen_by_device(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: LoadOptions,
    head: str | None,
    against: str | None,
    expected: EngineChoice,
) -> None:
    monkeypatch.setattr(opening, "_objection", _unasked if against is None else lambda _: against)
    assert choose_engine(resolved_model(tmp_path, options, head)) == expected


@pytest.mark.parametrize(
    ("options", "head", "values"),
    [(replace(OPTIONS, device="GPU"), "a-head", {"head": "a-head"}), (replace(OPTIONS, device="NPU"), None, {})],
)
def test_own_engine_refuses_an_unfit_device(
    tmp_path: Path, options: LoadOptions, head: str | None, values: dict[str, str]
) -> None:
    with refused(SettingsError, **values):
        choose_engine(resolved_model(tmp_path, replace(options, engine=EngineKind.HEADSTART), head))


NO_RUNNER = "the driver knows no such operation"


def _no_runner(*_: object) -> object:
    raise RuntimeError(NO_RUNNER)


def test_gpu_is_tried_once_for_each_driver(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    monkeypatch.setattr(loading, "RUNNERS", {"paged": _no_runner, "stateful": _no_runner})
    options = LoadOptions(tiny_target, device="GPU")
    found = choose_engine(resolve(options))
    assert found.kind is GENAI
    assert found.reason.count(NO_RUNNER) == 2  # one for each kind of runner
    monkeypatch.setattr(loading, "RUNNERS", {"paged": _unasked, "stateful": _unasked})
    assert choose_engine(resolve(options)) == found
    with pytest.raises(UnfitError, match=r"GPU refuses target \(paged: the driver .* Try --device CPU"):
        loading.load_model(ModelSpec.read(tiny_target), loading.RunnerConfig("GPU", 64))

    monkeypatch.setattr(loading, "RUNNERS", {"paged": lambda *_: SimpleNamespace(can_branch=False)})
    monkeypatch.setattr(selftest, "rollback_error", lambda _: 0.0)
    assert choose_engine(resolve(options)) == found
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": {**GPU, "GPU_DRIVER_VERSION": "26.1"}}))
    assert choose_engine(resolve(options)) == OURS


def test_gpu_with_a_false_rollback_is_left_to_genai(tiny_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    monkeypatch.setattr(loading, "RUNNERS", {"paged": lambda *_: SimpleNamespace(can_branch=False)})
    monkeypatch.setattr(selftest, "rollback_error", lambda _: 0.5)
    found = choose_engine(resolve(LoadOptions(tiny_target, device="GPU")))
    assert (found.kind, "50.0%" in found.reason) == (GENAI, True)


@pytest.mark.parametrize(("asked", "made"), [(EngineKind.AUTO, LocalEngine), (EngineKind.GENAI, GenaiEngine)])
def test_chosen_engine_is_named(tiny_target: Path, tiny_draft: Path, asked: EngineKind, made: type) -> None:
    options = LoadOptions(tiny_target, tiny_draft, "AUTO", engine=asked, parallel=2)
    opened = LocalModels().open(options, lambda _: None)
    assert isinstance(opened.engine, made)
    info = opened.model_info
    assert (info.model, info.draft, info.device, info.context) == (
        "tiny-target",
        "tiny-draft",
        "CPU",
        1024,
    )
    assert info.server == ""
    assert (info.engine, info.parallel) == {LocalEngine: ("headstart", 2), GenaiEngine: ("genai", 1)}[made]
    assert opened.count(None, "Hello") > 0
    opened.engine.close()


def test_genai_engine_runs_no_benchmark(tiny_target: Path) -> None:
    opened = LocalModels().open(LoadOptions(tiny_target, engine=GENAI), lambda _: None)
    with refused(SettingsError):
        opened.bench(Bench(1, BenchSize(1, 2, 1, with_peer=False)), _unasked, _unasked)  # type: ignore[arg-type]
    opened.engine.close()
