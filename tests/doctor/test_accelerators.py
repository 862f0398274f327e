"""What the doctor says of devices that are there, that are not, and that are not let in."""

from pathlib import Path

import pytest

from headstart.doctor import accelerators
from headstart.doctor.finding import Finding, Level
from headstart.engine import devices
from headstart.engine.engine import LoadOptions
from headstart.engine.local import load
from headstart.errors import DeviceError
from tests.doctor.plugins import CPU, GPU, NO_OPENCL, NPU, FakeCore, plug_in


@pytest.fixture(autouse=True)
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No accelerator is shown by the system unless a test makes its file here."""
    patterns = {kind: f"{tmp_path}/{kind}*" for kind in ("GPU", "NPU")}
    monkeypatch.setattr(accelerators, "_NODES", patterns)
    return tmp_path


def _said(monkeypatch: pytest.MonkeyPatch, core: FakeCore) -> list[Finding]:
    plug_in(monkeypatch, core)
    return list(accelerators.check())


def test_a_machine_with_only_a_processor_has_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _said(monkeypatch, FakeCore({"CPU": CPU}, {"GPU": NO_OPENCL}))
    assert {finding.level for finding in found} == {Level.OK}
    described, judged, gpu, npu = (finding.text for finding in found)
    assert described == (
        "CPU: A Processor; plugin 2026.4.1-1; shares the computer's memory; OpenVINO's capabilities: FP32, INT8."
    )
    assert judged.startswith("CPU runs everything: ")
    assert gpu == "No GPU (libOpenCL.so.1: cannot open shared object file). Run on real hardware: not yet."
    assert npu == "No NPU (its plugin loads but finds no device). Run on real hardware: not yet."


@pytest.mark.parametrize(("machine", "seen"), [("AMD64", "yes"), ("arm64", "not yet on this kind of processor")])
def test_only_what_was_run_is_said_to_have_run(monkeypatch: pytest.MonkeyPatch, machine: str, seen: str) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert _said(monkeypatch, FakeCore({"CPU": CPU}))[1].text.endswith(f"Run on real hardware: {seen}.")


def test_a_gpu_is_described_and_marked_as_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _said(monkeypatch, FakeCore({"CPU": CPU, "GPU.0": GPU}))
    assert found[2].text == (
        "GPU.0: A Graphics Card (dGPU); plugin 2026.4.1-1; driver 25.9; 12.0 GB of its own memory; "
        "OpenVINO's capabilities: FP16, GPU_HW_MATMUL."
    )
    assert found[3].level is Level.NOTE
    assert found[3].text.endswith("Run on real hardware: not yet.")
    assert "--device GPU.0" in found[3].remedy
    assert not [finding for finding in found if finding.text.startswith("No GPU")]


def test_the_limits_of_an_npu_are_told_before_they_bite(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _said(monkeypatch, FakeCore({"CPU": CPU, "NPU": NPU}))
    assert "driver 1005" in found[2].text
    assert "none told" in found[2].text
    assert found[3].level is Level.NOTE
    for limit in (
        "longest prompt is compiled in",
        "symmetric",
        "confidence threshold",
        "guesses from the text",
        "not yet",
    ):
        assert limit in found[3].text
    assert "--weights int4-sym and try --device NPU" in found[3].remedy


def test_a_device_that_tells_nothing_is_still_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _said(monkeypatch, FakeCore({"CPU": CPU, "GPU": {}, "XPU": {}}, {"XPU": "", "GPU": ""}))
    assert found[2].text.startswith("GPU: GPU; plugin of unknown version; driver of unknown version; shares")
    assert found[5].text == "XPU is a kind of device that Headstart does not know."


def test_an_accelerator_without_a_driver_has_a_remedy(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    (nodes / "GPU128").touch()
    (nodes / "NPU0").touch()
    gpu, npu = _said(monkeypatch, FakeCore({"CPU": CPU}, {"GPU": NO_OPENCL}))[2:]
    assert (gpu.level, npu.level) == (Level.NOTE, Level.NOTE)
    assert gpu.text.startswith("No GPU for OpenVINO, though the system has one: libOpenCL.so.1")
    assert "compute runtime" in gpu.remedy
    assert "Level Zero" in npu.remedy


def test_an_accelerator_that_the_user_may_not_open_is_named(monkeypatch: pytest.MonkeyPatch, nodes: Path) -> None:
    (nodes / "GPU128").touch()
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    gpu = _said(monkeypatch, FakeCore({"CPU": CPU}))[2]
    assert f"may not open {nodes / 'GPU128'}" in gpu.text
    assert "render" in gpu.remedy


def test_no_processor_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _said(monkeypatch, FakeCore({}, {"CPU": "Exception from core.cpp:1:\n"}))
    assert found[0] == Finding(
        "devices",
        Level.PROBLEM,
        "OpenVINO has no CPU device (its plugin does not load).",
        "Install Headstart again.",
    )


def test_a_list_that_cannot_be_made_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> FakeCore:
        raise RuntimeError("no plugins.xml\nat all")

    monkeypatch.setattr("headstart.engine.devices.core", fail)
    (found,) = accelerators.check()
    assert (found.level, found.text) == (
        Level.PROBLEM,
        "OpenVINO cannot list the devices (no plugins.xml at all).",
    )


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
