"""The devices that OpenVINO sees here, and the machine that they are in."""

import math
import platform
import re
import sys
from dataclasses import dataclass

from headstart import __version__
from headstart.engine.hardware import machine
from headstart.engine.hardware.runtime import core, openvino, openvino_genai
from headstart.errors import DeviceError, Translatable

AUTO = "AUTO"
DEVICE, DRAFT_DEVICE = Translatable("--device"), Translatable("--draft-device")  # the options
_SEVERAL = {"MULTI", "HETERO", "BATCH"}  # OpenVINO's words for more than one device at once


def available() -> tuple[str, ...]:
    """Return the names of the devices with a driver here, such as "CPU" or "GPU.0"."""
    return tuple(core().available_devices)


def require(device: str, option: str = DEVICE) -> str:
    """Return `device` in upper case if it exists; for AUTO, the device that it means here.

    Raises DeviceError, which lists the devices and names `option`.
    """
    present = available()
    chosen = _best(device, present) if leaves_choice(device) else device.upper()
    if chosen not in present and not any(name.startswith(f"{chosen}.") for name in present):
        raise _refusal(device, present, option)
    return chosen


def leaves_choice(device: str) -> bool:
    """Return True for OpenVINO's word for the best device, maybe with a list to choose from ("AUTO:GPU,CPU")."""
    return device.upper().partition(":")[0] == AUTO


def kind(device: str) -> str:
    """Return the kind of a device, such as "GPU" for "GPU.1"."""
    return device.upper().partition(".")[0]


def driver(device: str) -> str:
    """Return the version of its driver; empty if the plugin does not report one."""
    try:
        return str(core().get_property(device, f"{kind(device)}_DRIVER_VERSION"))
    except RuntimeError:  # the plugin does not know the property
        return ""


def memory(device: str) -> int | None:
    """Return the bytes of memory that a device has of its own; None if it shares the computer's or reports none."""
    try:
        if str(core().get_property(device, "DEVICE_TYPE")).rpartition(".")[2].upper() != "DISCRETE":
            return None
        return int(core().get_property(device, "GPU_DEVICE_TOTAL_MEM_SIZE"))
    except RuntimeError:  # the plugin does not know the property
        return None


def genai_blocks(tokens: int, device: str) -> int:
    """Return the blocks that OpenVINO GenAI needs for the keys and values of this many tokens."""
    return math.ceil(tokens / (16 if kind(device) == "GPU" else 32))


def full_name(device: str) -> str:
    """Return the device's own name; the short one if the plugin reports none."""
    try:
        return str(core().get_property(device, "FULL_DEVICE_NAME"))
    except RuntimeError:  # the NPU plugin without a driver does not know the property
        return device


def _best(device: str, present: tuple[str, ...]) -> str:
    """Return the device that OpenVINO's AUTO prefers: graphics cards, then built-in graphics, then the processor.

    An NPU counts only if it is listed.
    """
    listed = device.upper().partition(":")[2]
    if listed:
        order = [name for item in listed.split(",") for name in present if item.strip() in {name, kind(name)}]
    else:
        graphics = [name for name in present if kind(name) == "GPU"]
        order = sorted(graphics, key=lambda name: memory(name) is None) + [n for n in present if kind(n) == "CPU"]
    return order[0] if order else device.upper()


def _refusal(device: str, present: tuple[str, ...], option: str) -> DeviceError:
    family = re.split(r"[.:]", device.upper())[0]
    here = ", ".join(present)
    if family in _SEVERAL:
        return DeviceError(
            "Headstart runs a model on one device, not on {device}; present: {here}. Choose one with "
            "{option}, or AUTO.",
            device=device,
            here=here,
            option=option,
        )
    missing = family in {"GPU", "NPU"} and not any(kind(name) == family for name in present)
    if missing:
        return DeviceError(
            "There is no device {device} here; present: {here}. Choose one with {option}; `headstart doctor` says why "
            "a {wanted} cannot be used.",
            device=device,
            here=here,
            option=option,
            wanted=family,
        )
    return DeviceError(
        "There is no device {device} here; present: {here}. Choose one with {option}.",
        device=device,
        here=here,
        option=option,
    )


@dataclass(frozen=True)
class Machine:
    """A description of the machine that measured something."""

    device: str  # the device's own name
    cores: int  # threads that this process may run at the same time
    system: str
    python: str
    headstart: str
    openvino: str
    openvino_genai: str


def describe(device: str) -> Machine:
    """Return the properties of this machine that decide how fast `device` is."""
    return Machine(
        device=full_name(device),
        cores=cores(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        headstart=__version__,
        openvino=openvino().get_version(),
        openvino_genai=openvino_genai().get_version(),
    )


def cores() -> int:
    """Return the number of threads that this process may run at the same time."""
    return machine.threads().count


def peak_rss() -> int | None:
    """Return the most bytes of memory that this process has held; None on Windows."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - exists on Unix only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts kibibytes
