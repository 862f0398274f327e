"""Counters of the processor's energy, from a folder that looks like Linux's."""

from pathlib import Path

from headstart.engine.bench.energy import reading, zones


def write_zone(folder: Path, name: str, value: int) -> Path:
    zone = folder / name
    zone.mkdir(parents=True)
    (zone / "energy_uj").write_text(f"{value}\n")
    (zone / "max_energy_range_uj").write_text("10000000\n")
    return zone / "energy_uj"


def test_joules_of_all_processors_are_added_and_a_counter_may_start_again(tmp_path: Path) -> None:
    first, second = write_zone(tmp_path, "intel-rapl:0", 1_000_000), write_zone(tmp_path, "intel-rapl:1", 9_000_000)
    write_zone(tmp_path, "intel-rapl:0:0", 5)  # a part of the first
    known = zones(tmp_path)
    assert [zone.file for zone in known] == [first, second]
    before = reading(known)
    first.write_text("3500000\n")
    second.write_text("500000\n")
    assert before.joules_since() == 2.5 + 1.5


def test_a_system_without_counters_or_one_that_hides_them_has_none(tmp_path: Path) -> None:
    assert zones(tmp_path / "absent") == ()
    (tmp_path / "intel-rapl:0").mkdir()
    assert zones(tmp_path) == ()
