"""What this machine and its software are, and how much memory the process took. Reads, changes nothing."""

import os
import platform
import sys
from dataclasses import dataclass

from headstart import __version__
from headstart.engine import devices
from headstart.engine.runtime import openvino, openvino_genai


@dataclass(frozen=True)
class Machine:
    """Where something was measured. `cores` counts logical ones that this process may use."""

    device: str  # the device's own name
    cores: int
    system: str
    python: str
    headstart: str
    openvino: str
    openvino_genai: str


def describe(device: str) -> Machine:
    """What decides here how fast `device` is."""
    return Machine(
        device=devices.full_name(device),
        cores=cores(),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        headstart=__version__,
        openvino=openvino().get_version(),
        openvino_genai=openvino_genai().get_version(),
    )


def cores() -> int:
    """Logical cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_rss() -> int | None:
    """Most bytes of memory this process has held so far; None on Windows, whose Python does not tell."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - exists on Unix only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts kibibytes
