"""The threads, the battery and the load of this computer."""

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from headstart.cli.checks import doctor
from headstart.engine.hardware import devices, machine, runtime

PLENTY = set(range(16))


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this process on a system of 16 cores."""
    folder = tmp_path / "process"
    folder.mkdir()
    monkeypatch.setattr(machine, "_PROCESS", folder)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: PLENTY, raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16 if logical else 8)
    return folder


def mount(process: Path, *, version: int, group: str, root: str = "/", controllers: str = "cpu,cpuacct") -> Path:
    """Mount control groups, with this process in one of them, and return the folder of its group."""
    place = process.parent / "control groups"
    kind, options = ("cgroup2", "rw") if version == 2 else ("cgroup", f"rw,{controllers}")
    (process / "cgroup").write_text(f"0::{group}\n" if version == 2 else f"3:{controllers}:{group}\n")
    point = str(place).replace(" ", r"\040")
    (process / "mountinfo").write_text(
        f"22 1 0:1 / / rw - ext4 /dev/sda rw\n35 25 0:30 {root} {point} rw,nosuid shared:9 - {kind} {kind} {options}\n"
    )
    folder = place / Path(group).relative_to(root if Path(group).is_relative_to(root) else group)
    folder.mkdir(parents=True)
    return folder


def limit(folder: Path, version: int, quota: str, period: int = 100_000) -> None:
    """Set the quota of a group, in microseconds a period."""
    if version == 2:
        (folder / "cpu.max").write_text(f"{quota} {period}\n")
    else:
        (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
        (folder / "cpu.cfs_period_us").write_text(f"{period}\n")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("quota", "count"), [("400000", 4), ("150000", 2), ("149000", 1), ("10000", 1), ("3200000", 16)]
)
def test_quota_limits_threads(process: Path, version: int, quota: str, count: int) -> None:
    limit(mount(process, version=version, group="/user/app"), version, quota)
    assert machine.threads().count == devices.cores() == count


@pytest.mark.parametrize("version", [1, 2])
def test_smallest_quota_of_all_groups_around_counts(process: Path, version: int) -> None:
    inner = mount(process, version=version, group="/pod/box/app")
    for folder, quota in ((inner, "800000"), (inner.parent, "300000"), (inner.parent.parent, "500000")):
        limit(folder, version, quota)
    assert machine.threads().count == 3


@pytest.mark.parametrize(("version", "unlimited"), [(1, "-1"), (2, "max")])
def test_group_without_a_quota_leaves_the_affinity(process: Path, version: int, unlimited: str) -> None:
    limit(mount(process, version=version, group="/"), version, unlimited)
    assert machine.threads() == machine.Threads(16, None)
    assert not runtime.thread_limit()


@pytest.mark.parametrize("group", ["/docker/1a2b", "/../elsewhere"])
@pytest.mark.parametrize("version", [1, 2])
def test_container_sees_its_own_group_as_the_root(process: Path, version: int, group: str) -> None:
    folder = mount(process, version=version, group=group, root="/docker/1a2b")
    limit(process.parent / "control groups", version, "200000")
    assert folder.is_dir()
    assert machine.threads().count == 2


def test_other_controllers_have_no_quota(process: Path) -> None:
    limit(mount(process, version=1, group="/app", controllers="cpuset"), 1, "100000")
    assert machine.threads().quota is None


@pytest.mark.parametrize("content", ["", "max", "x 100000", "100000 0"])
def test_odd_quota_is_ignored(process: Path, content: str) -> None:
    (mount(process, version=2, group="/app") / "cpu.max").write_text(content)
    assert machine.threads().quota is None


def test_system_without_control_groups_leaves_the_affinity(process: Path) -> None:
    assert machine.threads() == machine.Threads(16, None)


def test_openvino_is_told_a_quota_below_its_own_number_alone(process: Path) -> None:
    folder = mount(process, version=2, group="/app")
    limit(folder, 2, "300000")
    assert runtime.thread_limit() == {"INFERENCE_NUM_THREADS": 3}
    limit(folder, 2, "1200000")  # OpenVINO takes the 8 physical cores
    assert not runtime.thread_limit()


def test_processor_computes_in_f32_unless_told_otherwise() -> None:
    assert runtime.core().get_property("CPU", "INFERENCE_PRECISION_HINT") == runtime.openvino().Type.f32


def test_doctor_names_the_limit(process: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        return next(finding.text for finding in doctor.check_computer() if " at the same time" in finding.text)

    assert "16 threads" in said()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2, 3}, raising=False)
    assert all(part in said() for part in ("4 threads", "4 of 16", "affinity"))
    limit(mount(process, version=2, group="/app"), 2, "150000")
    assert all(part in said() for part in ("2 threads", "quota", "1.5"))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinities")
def test_process_on_one_core_has_one_thread() -> None:
    script = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
    script += "from headstart.engine.hardware import devices; print(devices.cores())"
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "1"


def test_share_of_other_programs_counts_neither_this_process_nor_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = namedtuple("kinds", "user system idle iowait guest")
    times, own, now = iter([kinds(10, 2, 30, 1, 5), kinds(16, 4, 34, 3, 9)]), iter([1.0, 3.0]), iter([100.0, 110.0])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(times))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: next(now), process_time=lambda: next(own)))
    assert machine.OtherPrograms().share == pytest.approx((8 - 2) / 2 / 10)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the folder is that of Linux")
def test_container_without_power_supplies_is_not_on_battery(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("psutil._pslinux.POWER_SUPPLY_PATH", str(tmp_path / "power_supply"))
    assert not machine.is_on_battery()
