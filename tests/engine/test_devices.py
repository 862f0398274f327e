"""Devices by the names OpenVINO gives them; a wrong one is refused with those that exist."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from headstart.engine import devices
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.errors import DeviceError
from tests.openvino_core import CPU, GPU, NPU, FakeCore, Properties, plug_in

BUILT_IN: Properties = {"FULL_DEVICE_NAME": "Built-in graphics", "DEVICE_TYPE": "Type.INTEGRATED"}


def test_the_processor_is_there_and_has_a_name() -> None:
    assert "CPU" in devices.available()
    assert devices.full_name("CPU") not in ("", "CPU")


def test_a_name_in_any_case_is_found() -> None:
    assert devices.require("cpu") == "CPU"


@pytest.mark.parametrize("name", ["NOPE", "", "CPU.9", "CP", "AUTO:GPU", "MULTI:CPU", "CPU\n"])
def test_an_unknown_device_is_refused_with_those_present(name: str) -> None:
    with pytest.raises(DeviceError, match=r"present: .*CPU.*--device"):
        devices.require(name)


def test_one_name_may_stand_for_several_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: ("CPU", "GPU.0", "GPU.1"))
    assert devices.require("gpu") == "GPU"
    assert devices.require("GPU.1") == "GPU.1"
    with pytest.raises(DeviceError, match=r"no device GPU\.2 here; present: CPU, GPU\.0, GPU\.1"):
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
def test_auto_is_the_device_that_openvino_ranks_first(
    monkeypatch: pytest.MonkeyPatch, present: Mapping[str, Properties], asked: str, meant: str
) -> None:
    plug_in(monkeypatch, FakeCore(present))
    assert devices.leaves_choice(asked)
    assert devices.require(asked) == meant


def test_a_device_without_a_long_name_keeps_its_short_one() -> None:
    assert devices.full_name("NOPE") == "NOPE"


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("GPU", "There is no device GPU here; present: CPU. Choose one with --device; `headstart doctor` says what"),
        ("npu", "There is no device npu here; present: CPU. Choose one with --device; `headstart doctor` says what"),
        ("TPU", "There is no device TPU here; present: CPU. Choose one with --device."),
        (
            "HETERO:CPU",
            "Headstart runs a model on one device, not on HETERO:CPU; present: CPU. Choose one with --device, or AUTO.",
        ),
        ("AUTO:GPU,NPU", "There is no device AUTO:GPU,NPU here; present: CPU. Choose one with --device."),
    ],
)
def test_a_wrong_place_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, device: str, sentence: str) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU}))
    with pytest.raises(DeviceError) as caught:
        devices.require(device)
    assert str(caught.value).startswith(sentence)


def test_a_second_gpu_that_is_not_there_needs_no_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    with pytest.raises(DeviceError) as caught:
        devices.require("GPU.1", "--draft-device")
    assert str(caught.value) == ("There is no device GPU.1 here; present: CPU, GPU. Choose one with --draft-device.")


def test_a_draft_without_a_place_is_refused_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU}))
    with pytest.raises(DeviceError, match=r"no device GPU here; present: CPU\. Choose one with --draft-device"):
        load(LoadOptions(Path("nowhere"), Path("nowhere"), draft_device="GPU"))
