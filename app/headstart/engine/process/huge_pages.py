"""Large memory pages on Linux, from which the weights of a model are read faster.

A step reads all weights once; with pages of 4 KiB the processor looks up a third of a million addresses for that. Where
the system gives large pages only on request (`madvise`), the C library requests them if GLIBC_TUNABLES says so when the
process starts.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE, SETTING = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_STATE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def tunables(environment: Mapping[str, str], state: Path = _STATE) -> dict[str, str]:
    """Return the variables to add to the environment of a process that loads a model; empty if they change nothing."""
    if not sys.platform.startswith("linux"):
        return {}
    present = environment.get(VARIABLE, "")
    if "malloc.hugetlb" in present or "[madvise]" not in _read(state):
        return {}
    return {VARIABLE: f"{present}:{SETTING}" if present else SETTING}


def _read(state: Path) -> str:
    try:
        return state.read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return ""
