"""Which settings are worth a trial on a machine. Pure: knows cores, devices and what a first load measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.precision import differing

CPU = "CPU"
_CLOSE = 1.15  # a precision that took more than so many times the fastest's time at the first load is not tried again
Figures = Mapping[str, Mapping[str, float]]  # milliseconds by precision and number of tokens


@dataclass(frozen=True)
class Hardware:
    """What there is to choose from."""

    logical: int  # cores that this process may use
    physical: int  # at most as many
    devices: tuple[str, ...]
    pinning: bool  # whether threads can be tied to cores


@dataclass(frozen=True)
class Setting:
    """One way to run a model."""

    device: str = CPU
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Guesser:
    """One way to draft: with which model, None: with n-grams alone; and with how much of its head."""

    folder: Path | None
    rows: int | None = None  # as LoadOptions.draft_vocab


def settings(hardware: Hardware, device: str, figures: Figures, hint: str, *, placed: bool) -> dict[str, Setting]:
    """By name, what may beat `device` as it is. `placed`: a person has said where to run."""
    found = {} if placed else {f"on {name}": Setting(name) for name in hardware.devices if name != device}
    for other in _close_hints(figures, hint):
        found[f"in {other}"] = Setting(device, differing(other, hint))
    if device == CPU:
        found |= {name: Setting(CPU, chosen) for name, chosen in _threads(hardware).items()}
    return found


def heads(folder: Path, listed: int | None, exported: int | None) -> dict[str, Guesser]:
    """By name, other sizes of a draft's output head than it has as exported; `listed`: tokens on its list."""
    if listed is None or exported is None:
        return {}
    sizes = {exported // 2, exported * 2} if exported < listed else {exported // 2}
    found = {f"the draft with {rows} rows": Guesser(folder, rows) for rows in sorted(sizes) if 0 < rows <= listed}
    return {**found, "the draft with all rows": Guesser(folder, 0)}


def _close_hints(figures: Figures, hint: str) -> Sequence[str]:
    sums = {name: sum(times.values()) for name, times in figures.items()}
    return [name for name in sums if name != hint and sums[name] <= _CLOSE * sums[hint]] if hint in sums else []


def _threads(hardware: Hardware) -> dict[str, Mapping[str, str]]:
    """OpenVINO takes every physical core; fewer leave the memory's bus and the system in peace, more may fill it."""
    logical, physical = hardware.logical, hardware.physical
    counts = {physical // 2, *([physical - 1] if physical > 3 else []), *([physical] if logical > physical else [])}
    found: dict[str, Mapping[str, str]] = {
        _counted(count): {"INFERENCE_NUM_THREADS": str(count)} for count in sorted(counts) if count
    }
    if logical > physical:
        found[f"{_counted(logical)}, two a core"] = {
            "INFERENCE_NUM_THREADS": str(logical),
            "ENABLE_HYPER_THREADING": "YES",
        }
    if hardware.pinning:
        found["threads not tied to cores"] = {"ENABLE_CPU_PINNING": "NO"}
    return found


def _counted(threads: int) -> str:
    return "1 thread" if threads == 1 else f"{threads} threads"
