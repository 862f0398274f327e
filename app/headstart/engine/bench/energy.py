"""What the processor used, as Linux tells it where the file may be read (RAPL). Knows not what it was used for.

The figure is of the whole processor, whoever worked; https://docs.kernel.org/power/powercap/powercap.html.
"""

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path("/sys/class/powercap")
_PACKAGES = "intel-rapl:[0-9]"  # also with processors of AMD; deeper zones are parts of these


@dataclass(frozen=True)
class Zone:
    """One processor's counter of microjoules, which starts again at `size`."""

    file: Path
    size: int

    def read(self) -> int:
        """The counter now."""
        return int(self.file.read_text(encoding="ascii"))


@dataclass(frozen=True)
class Reading:
    """All counters at one moment."""

    zones: tuple[Zone, ...]
    values: tuple[int, ...]

    def joules_since(self) -> float:
        """From this reading to now."""
        spent = 0
        for zone, before in zip(self.zones, self.values, strict=True):
            spent += (zone.read() - before) % zone.size
        return spent / 1e6


def zones(folder: Path = _FOLDER) -> tuple[Zone, ...]:
    """The counters of all processors; none where the system has none or keeps them to itself."""
    try:
        return tuple(_zone(path) for path in sorted(folder.glob(_PACKAGES)))
    except OSError:
        return ()


def reading(known: tuple[Zone, ...]) -> Reading:
    """The counters now."""
    return Reading(known, tuple(zone.read() for zone in known))


def _zone(path: Path) -> Zone:
    zone = Zone(path / "energy_uj", int((path / "max_energy_range_uj").read_text(encoding="ascii")))
    zone.read()
    return zone
