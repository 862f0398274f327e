"""Processor, instruction sets, battery and package versions of this computer."""

import math
import os
import platform
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import psutil

PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers", "numpy")
_CPU_FILE = Path("/proc/cpuinfo")
_PROCESS = Path("/proc/self")
# Instruction sets that matter for multiplying weights, and the kernel's names for each.
_SETS = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "AVX512-BF16": ("avx512_bf16",),
    "AMX": ("amx_tile",),
    "NEON": ("asimd", "neon"),
    "DOTPROD": ("asimddp",),
    "I8MM": ("i8mm",),
    "SVE": ("sve",),
}

_LIBRARY = re.compile(r"lib[\w+-]+\.so[.\d]*")
# Libraries that Qt needs and a bare Debian lacks, with their packages.
_OF_WINDOWS = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
}


def missing_library(reason: str) -> str:
    """Return the library that a message names, or ""."""
    match = _LIBRARY.search(reason)
    return match[0] if match else ""


def window_packages(reason: str) -> str:
    """Return how to install Qt's libraries, if the message names one of them; else ""."""
    if missing_library(reason) not in _OF_WINDOWS:
        return ""
    return f"Debian, Ubuntu: apt install {' '.join(_OF_WINDOWS.values())}"


def processor() -> str:
    """Return the processor's full name on Linux; elsewhere what Python knows."""
    named = (value for name, value in _cpu_lines() if name == "model name")
    return next(named, platform.processor() or platform.machine())


def instruction_sets() -> tuple[str, ...] | None:
    """Return names such as ("AVX2", "AVX-512"); None if the system does not list them."""
    flags = next((set(value.split()) for name, value in _cpu_lines() if name in {"flags", "Features"}), None)
    if flags is None:
        return None
    return tuple(name for name, words in _SETS.items() if flags.intersection(words))


def cpu_signature() -> str:
    """Return family, model, stepping and microcode: processors that differ in these may compute differently."""
    fields = ("vendor_id", "cpu family", "model", "stepping", "microcode")
    values = dict(reversed(_cpu_lines()))  # of the first core
    return " ".join(values[name] for name in fields if name in values) or platform.processor()


@dataclass(frozen=True)
class Threads:
    """The processor time that this process may use."""

    affinity: int  # logical cores that it may run on
    quota: float | None  # processors' time that its control groups allow, as for a container; None: all of it

    @property
    def count(self) -> int:
        """The number of threads that can run at the same time, at least 1."""
        return self.affinity if self.quota is None else max(1, min(self.affinity, math.floor(self.quota + 0.5)))


def threads() -> Threads:
    """Return the limits of this process as they are now."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Threads(cores, min(_quotas(), default=None))


def _quotas() -> Iterator[float]:
    """Yield the quotas of this process's control groups and of all groups around them, in processors."""
    for folder, mount, version in _control_groups():
        for group in (folder, *folder.parents):
            if (quota := _quota(group, version)) is not None:
                yield quota
            if group == mount:
                break


def _control_groups() -> Iterator[tuple[Path, Path, int]]:
    """Yield the folder of each control group that limits the processor, its mount point and the version, 1 or 2."""
    groups = {}  # the path of this process in each hierarchy
    for line in _lines(_PROCESS / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            groups[1 if controllers else 2] = Path(path)
    for line in _lines(_PROCESS / "mountinfo"):
        mounted, _, source = line.partition(" - ")
        root, mount = (Path(word.replace(r"\040", " ")) for word in mounted.split()[3:5])
        kind, _, options = source.split(maxsplit=2)
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version not in groups or (version == 1 and "cpu" not in options.split(",")):
            continue
        group = groups[version]
        below = group.relative_to(root) if group.is_relative_to(root) else Path()  # of a container: its own root
        yield mount / below, mount, version


def _quota(group: Path, version: int) -> float | None:
    """Return the quota of one control group in processors; None if it has none."""
    names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    words = " ".join(line for name in names for line in _lines(group / name)).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or not int(words[1]):  # "max", -1, or no file
        return None
    return int(words[0]) / int(words[1])


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux, or a sandbox hides it
        return []


class OtherPrograms:
    """Measures the share of the processor that other programs take, from its creation on."""

    def __init__(self) -> None:
        self._began, self._used = time.monotonic(), _used_by_others()

    @property
    def share(self) -> float:
        """The mean share of all cores, 0 to 1."""
        seconds = time.monotonic() - self._began
        used = (_used_by_others() - self._used) / (psutil.cpu_count() or 1)
        return min(max(used / seconds, 0.0), 1.0) if seconds else 0.0


def _used_by_others() -> float:
    """Return the seconds, of all cores together, that other processes have used since the computer started."""
    times = psutil.cpu_times()._asdict()
    waiting = ("idle", "iowait", "guest", "guest_nice")  # the time of guests is in that of users, too
    return float(sum(seconds for name, seconds in times.items() if name not in waiting)) - time.process_time()


def is_on_battery() -> bool:
    """Return whether the computer runs on battery; False if the system does not say."""
    try:
        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    except OSError:  # a container without /sys/class/power_supply
        return False
    return battery is not None and not battery.power_plugged


def package_version(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def package_versions() -> dict[str, str]:
    """Return the versions of those of PACKAGES that are installed."""
    return {name: version for name in PACKAGES if (version := package_version(name))}


def _cpu_lines() -> list[tuple[str, str]]:
    parts = (line.partition(":") for line in _lines(_CPU_FILE))
    return [(name.strip(), value.strip()) for name, _, value in parts]
