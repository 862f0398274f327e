"""The processor's energy counters (RAPL), where Linux lets this process read them."""

from pathlib import Path

_COUNTERS = Path("/sys/class/powercap")
_MICRO = 1e-6  # the counters count millionths of a joule


class EnergyMeter:
    """The counters of all processor packages."""

    def __init__(self, counters: Path = _COUNTERS) -> None:
        """Find the counters; Linux shows them to root alone by default."""
        packages = [folder for folder in counters.glob("intel-rapl:*") if folder.name.count(":") == 1]
        self._ranges = {folder: _number(folder / "max_energy_range_uj") for folder in packages}
        self._last = self._read()

    def joules(self) -> float | None:
        """Return the joules since the last call, or since the start; None if they cannot be read."""
        before, self._last = self._last, self._read()
        taken = 0
        for folder, longest in self._ranges.items():
            first, last = before[folder], self._last[folder]
            if first is None or last is None or longest is None:
                return None
            taken += (last - first) % longest  # a counter begins again at 0
        return taken * _MICRO if self._ranges else None

    def _read(self) -> dict[Path, int | None]:
        return {folder: _number(folder / "energy_uj") for folder in self._ranges}


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
