"""Asks Linux for large memory pages, which the weights of a model are read faster from.

A step reads all weights once; with pages of 4 KiB the processor looks up a third of a million addresses for that. Where
the system gives large pages only to those who ask (`madvise`), the C library asks if GLIBC_TUNABLES says so when the
process starts, and only then: a process that is running already must start itself again.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

VARIABLE, SETTING = "GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"
_STATE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def tunables(environment: Mapping[str, str], state: Path = _STATE) -> dict[str, str]:
    """What to add to the environment of a process that loads a model; empty where it would change nothing."""
    if not sys.platform.startswith("linux"):
        return {}
    present = environment.get(VARIABLE, "")
    if "malloc.hugetlb" in present or "[madvise]" not in _read(state):
        return {}
    return {VARIABLE: f"{present}:{SETTING}" if present else SETTING}


def restart() -> None:
    """Start this program again with large memory pages where that helps; else return. Call it before anything else."""
    added = tunables(os.environ)
    if added:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **added})  # noqa: S606


def _read(state: Path) -> str:
    try:
        return state.read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return ""
