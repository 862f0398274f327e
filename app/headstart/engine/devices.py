"""Which devices OpenVINO sees here and what they call themselves."""

import re

from headstart.engine.runtime import core
from headstart.errors import DeviceError

_CHOOSERS = {"AUTO", "MULTI", "HETERO", "BATCH"}  # OpenVINO's words for "choose for me" and "several"


def available() -> tuple[str, ...]:
    """Names such as "CPU", "GPU.0": those that have a driver on this machine."""
    return tuple(core().available_devices)


def require(device: str, option: str = "--device") -> str:
    """`device` in upper case, if it exists. Raises DeviceError with those present, to be chosen with `option`."""
    present = available()
    wanted = device.upper()
    if wanted not in present and not any(name.startswith(f"{wanted}.") for name in present):
        raise DeviceError(_refusal(device, present, option))
    return wanted


def memory(device: str) -> int | None:
    """Bytes of memory that a device has of its own; None where it shares that of the computer, or does not tell."""
    try:
        if str(core().get_property(device, "DEVICE_TYPE")).rpartition(".")[2].upper() != "DISCRETE":
            return None
        return int(core().get_property(device, "GPU_DEVICE_TOTAL_MEM_SIZE"))
    except RuntimeError:  # the plugin does not know the property
        return None


def full_name(device: str) -> str:
    """The device's own name, e.g. of the processor; the short one where the plugin tells none."""
    try:
        return str(core().get_property(device, "FULL_DEVICE_NAME"))
    except RuntimeError:  # the NPU plugin without a driver does not know the property
        return device


def _refusal(device: str, present: tuple[str, ...], option: str) -> str:
    kind = re.split(r"[.:]", device.upper())[0]
    here = f"present: {', '.join(present)}"
    if kind in _CHOOSERS:
        return f"Headstart leaves the choice of a device to you, not to {device}; {here}. Choose one with {option}."
    missing = kind in {"GPU", "NPU"} and not any(name.partition(".")[0] == kind for name in present)
    why = f"; `headstart doctor` says what speaks against a {kind}" if missing else ""
    return f"There is no device {device} here; {here}. Choose one with {option}{why}."
