"""What a device's plugin tells of it, and why a kind of device is not there. Loads no model, judges nothing."""

from dataclasses import dataclass

from headstart.engine import devices
from headstart.engine.runtime import core

KINDS = ("CPU", "GPU", "NPU")


@dataclass(frozen=True)
class Probe:
    """One device. `memory`: bytes of its own, None where it shares the computer's; `driver` empty where untold."""

    name: str
    full_name: str
    plugin: str  # version
    driver: str
    memory: int | None
    capabilities: tuple[str, ...]  # OpenVINO's words: data types it computes with, and more

    @property
    def kind(self) -> str:
        """Such as "GPU" of "GPU.1"."""
        return self.name.partition(".")[0]


def probe(name: str) -> Probe:
    """Ask the plugin of a device that is present; what it does not tell stays empty."""
    kind = name.partition(".")[0]
    return Probe(
        name,
        devices.full_name(name),
        _plugin(kind),
        devices.driver(name),
        devices.memory(name),
        _capabilities(name),
    )


def absence(kind: str) -> str:
    """Why no device of this kind is there, in the plugin's words."""
    try:
        core().get_versions(kind)
    except RuntimeError as error:
        return _reason(error)
    return "its plugin loads but finds no device"


def _plugin(kind: str) -> str:
    try:
        versions = core().get_versions(kind)
    except RuntimeError:
        return ""
    return ", ".join(str(version.build_number) for version in versions.values())


def _capabilities(name: str) -> tuple[str, ...]:
    told = _property(name, "OPTIMIZATION_CAPABILITIES")
    return tuple(str(word) for word in told) if isinstance(told, list | tuple) else ()


def _property(name: str, wanted: str) -> object:
    try:
        return core().get_property(name, wanted)
    except RuntimeError:  # the plugin does not know the property
        return None


def _reason(error: RuntimeError) -> str:
    """The last line that is no place in OpenVINO's source, without the path of the plugin before it."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Exception from")]
    return lines[-1].rpartition('": ')[2].strip().rstrip(".") if lines else "its plugin does not load"
