"""System, processor and memory of this computer. Knows no device of OpenVINO."""

import platform
from collections.abc import Iterator
from pathlib import Path

import psutil

from headstart import computer
from headstart.doctor.finding import Finding, Section
from headstart.engine.room import amount, free_memory

_HERE = Section("computer")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def check() -> Iterator[Finding]:
    """What decides how fast Headstart can be here."""
    yield _HERE.ok(f"{platform.platform()}, {platform.machine()}.")
    yield _processor()
    memory = psutil.virtual_memory()
    yield _HERE.ok(f"Memory: {amount(memory.total)}, {amount(free_memory())} of it free.")
    swapped = _swapped()
    if swapped > memory.total // 10:
        yield _HERE.note(
            f"{amount(swapped)} of memory is swapped to disk, which slows models down when theirs is.",
            "Close programs that you do not need.",
        )
    yield from _huge_pages()


def _swapped() -> int:
    """Bytes; 0 where the system does not tell."""
    try:
        return int(psutil.swap_memory().used)
    except (OSError, RuntimeError):  # Windows may be set not to count
        return 0


def _processor() -> Finding:
    known = computer.instruction_sets()
    cores, threads = psutil.cpu_count(logical=False), psutil.cpu_count(logical=True)
    text = f"{computer.processor()}, {cores or 'unknown'} cores, {threads or 'unknown'} threads"
    if known is None:
        return _HERE.ok(f"{text}; this system does not tell the instruction sets.")
    named = f"{text}; instruction sets: {', '.join(known) or 'none of those that speed models up'}."
    if not {"AVX2", "NEON"}.intersection(known):
        return _HERE.note(f"{named} Without AVX2 or NEON models are slow.", "Choose a small model.")
    return _HERE.ok(named)


def _huge_pages() -> Iterator[Finding]:
    try:
        state = _HUGE_PAGES.read_text(encoding="ascii")
    except OSError:  # not Linux, or a sandbox hides it
        return
    yield _HERE.ok(f"Transparent huge pages: {state.partition('[')[2].partition(']')[0] or 'unknown'}.")
