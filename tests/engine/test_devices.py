"""Devices by the names OpenVINO gives them; a wrong one is refused with those that exist."""

from collections.abc import Mapping

import pytest

from headstart.engine import devices
from headstart.errors import DeviceError
from tests.doctor.plugins import CPU, GPU, NPU, FakeCore, Properties, plug_in

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
