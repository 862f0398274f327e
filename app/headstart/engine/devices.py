"""Which devices OpenVINO sees here and what they call themselves."""

from headstart.engine.runtime import core
from headstart.errors import DeviceError


def available() -> tuple[str, ...]:
    """Names such as "CPU", "GPU.0": those that have a driver on this machine."""
    return tuple(core().available_devices)


def require(device: str) -> str:
    """`device` in upper case, if it exists. Raises DeviceError that lists those present."""
    present = available()
    wanted = device.upper()
    if wanted not in present and not any(name.startswith(f"{wanted}.") for name in present):
        raise DeviceError(f"There is no device {device} here; present: {', '.join(present)}. Choose one with --device.")
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
