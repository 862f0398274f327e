"""Every check, in the order of a report. Prints nothing."""

from collections.abc import Iterator

from headstart.doctor import accelerators, engine_process, folders, machine, models, software, window
from headstart.doctor.finding import Finding


def examine() -> Iterator[Finding]:
    """One finding after the other, as they are made; OpenVINO's devices only where it loads."""
    fault = software.runtime_fault()
    yield from software.check(fault)
    yield from machine.check()
    if not fault:
        yield from accelerators.check()
    yield from folders.check()
    yield from models.check()
    yield from engine_process.check()
    yield from window.check()
