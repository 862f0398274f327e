"""A stand-in for OpenVINO's Core on other machines: any devices, properties and refusals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

Properties = Mapping[str, object]


@dataclass
class FakeCore:
    """`devices`: properties by device; `broken`: the error of a kind's plugin."""

    devices: Mapping[str, Properties] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)
    absent: Collection[str] = ()  # kinds whose plugin is not installed

    @property
    def available_devices(self) -> list[str]:
        """The names of the devices."""
        return list(self.devices)

    def get_versions(self, kind: str) -> dict[str, SimpleNamespace]:
        """Return the versions of a plugin, or fail like one."""
        if kind in self.broken:
            raise RuntimeError(self.broken[kind])
        return {} if kind in self.absent else {kind: SimpleNamespace(build_number="2026.4.1-1")}

    def get_property(self, device: str, name: str) -> object:
        """Return a property; unknown names are refused as OpenVINO refuses them."""
        try:
            return self.devices[device][name]
        except KeyError:
            raise RuntimeError(f"Exception from plugin.cpp:1:\nUnsupported property {name}") from None


CPU: Properties = {"FULL_DEVICE_NAME": "A Processor", "OPTIMIZATION_CAPABILITIES": ["FP32", "INT8"]}
GPU: Properties = {
    "FULL_DEVICE_NAME": "A Graphics Card (dGPU)",
    "DEVICE_TYPE": "Type.DISCRETE",
    "GPU_DEVICE_TOTAL_MEM_SIZE": 12_000_000_000,
    "GPU_DRIVER_VERSION": "25.9",
    "OPTIMIZATION_CAPABILITIES": ["FP16", "GPU_HW_MATMUL"],
}
NPU: Properties = {"FULL_DEVICE_NAME": "An AI Boost", "NPU_DRIVER_VERSION": 1005}
NO_OPENCL = (
    "Exception from src/inference/src/cpp/core.cpp:77:\n"
    'Cannot load library "/somewhere/libopenvino_intel_gpu_plugin.so": libOpenCL.so.1: cannot open shared object file\n'
)


def plug_in(monkeypatch: pytest.MonkeyPatch, core: FakeCore) -> None:
    """Replace the process's Core by this one."""
    monkeypatch.setattr("headstart.engine.hardware.devices.core", lambda: core)
    monkeypatch.setattr("headstart.engine.hardware.runtime.core", lambda: core)
