"""Processor, instruction sets, battery and package versions of this computer."""

import platform
import re
from importlib import metadata
from pathlib import Path

import psutil

PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers", "numpy")
_CPU_FILE = Path("/proc/cpuinfo")
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


def stepping() -> str:
    """Return family, model, stepping and microcode: processors that differ in these may compute differently."""
    fields = ("vendor_id", "cpu family", "model", "stepping", "microcode")
    values = dict(reversed(_cpu_lines()))  # of the first core
    return " ".join(values[name] for name in fields if name in values) or platform.processor()


def is_on_battery() -> bool:
    """Return whether the computer runs on battery; False if the system does not say."""
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
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
    lines = _CPU_FILE.read_text(encoding="utf-8").splitlines() if _CPU_FILE.is_file() else []
    parts = (line.partition(":") for line in lines)
    return [(name.strip(), value.strip()) for name, _, value in parts]
