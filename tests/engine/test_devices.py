"""Devices by the names OpenVINO gives them; a wrong one is refused with those that exist."""

import pytest

from headstart.engine import devices
from headstart.errors import DeviceError


def test_the_processor_is_there_and_has_a_name() -> None:
    assert "CPU" in devices.available()
    assert devices.full_name("CPU") not in ("", "CPU")


def test_a_name_in_any_case_is_found() -> None:
    assert devices.require("cpu") == "CPU"


@pytest.mark.parametrize("name", ["NOPE", "", "CPU.9", "CP", "AUTO:CPU", "CPU\n"])
def test_an_unknown_device_is_refused_with_those_present(name: str) -> None:
    with pytest.raises(DeviceError, match=r"present: .*CPU.*--device"):
        devices.require(name)


def test_one_name_may_stand_for_several_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: ("CPU", "GPU.0", "GPU.1"))
    assert devices.require("gpu") == "GPU"
    assert devices.require("GPU.1") == "GPU.1"
    with pytest.raises(DeviceError, match=r"no device GPU\.2 here; present: CPU, GPU\.0, GPU\.1"):
        devices.require("GPU.2")


def test_a_device_without_a_long_name_keeps_its_short_one() -> None:
    assert devices.full_name("NOPE") == "NOPE"
