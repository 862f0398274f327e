"""The processor's energy counters, where there are any."""

from pathlib import Path

import pytest

from headstart.engine.bench.energy import EnergyMeter


def counter(folder: Path, name: str, count: int, longest: int = 1_000_000) -> Path:
    """Write a counter as Linux shows it."""
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{count}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{longest}\n")
    return folder / name / "energy_uj"


def test_packages_are_added_up_without_their_parts(tmp_path: Path) -> None:
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        counter(tmp_path, name, 100_000)
    meter = EnergyMeter(tmp_path)
    counter(tmp_path, "intel-rapl:0", 400_000)
    counter(tmp_path, "intel-rapl:1", 150_000)
    counter(tmp_path, "intel-rapl:0:0", 900_000)
    assert meter.joules() == pytest.approx(0.35)
    assert meter.joules() == 0.0


def test_counter_that_began_again_counts_on(tmp_path: Path) -> None:
    counter(tmp_path, "intel-rapl:0", 900_000)
    meter = EnergyMeter(tmp_path)
    counter(tmp_path, "intel-rapl:0", 100_000)
    assert meter.joules() == pytest.approx(0.2)


def test_machine_that_does_not_tell_has_none(tmp_path: Path) -> None:
    assert EnergyMeter(tmp_path / "absent").joules() is None
    file = counter(tmp_path, "intel-rapl:0", 5)
    meter = EnergyMeter(tmp_path)
    file.unlink()
    assert meter.joules() is None
