"""What this computer's processor and the installed packages call themselves."""

import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("openvino", "openvino-genai", "openvino-tokenizers", "numpy")
_CPU_FILE = Path("/proc/cpuinfo")
# What matters for multiplying weights, by the kernel's words; either of several may stand for one.
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


def processor() -> str:
    """Its full name on Linux; other systems give it away less readily."""
    named = (value for name, value in _cpu_lines() if name == "model name")
    return next(named, platform.processor() or platform.machine())


def instruction_sets() -> tuple[str, ...] | None:
    """Such as ("AVX2", "AVX-512"); None where the system does not tell."""
    flags = next((set(value.split()) for name, value in _cpu_lines() if name in {"flags", "Features"}), None)
    if flags is None:
        return None
    return tuple(name for name, words in _SETS.items() if flags.intersection(words))


def stepping() -> str:
    """What tells processors apart that compute differently: family, model, stepping and microcode, where told."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "microcode")
    told = dict(reversed(_cpu_lines()))  # of the first core
    return " ".join(told[name] for name in wanted if name in told) or platform.processor()


def package_version(package: str) -> str:
    """Empty where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def package_versions() -> dict[str, str]:
    """Of PACKAGES, those installed."""
    return {name: found for name in PACKAGES if (found := package_version(name))}


def _cpu_lines() -> list[tuple[str, str]]:
    lines = _CPU_FILE.read_text(encoding="utf-8").splitlines() if _CPU_FILE.is_file() else []
    parts = (line.partition(":") for line in lines)
    return [(name.strip(), value.strip()) for name, _, value in parts]
