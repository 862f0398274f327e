"""The devices OpenVINO sees, what Headstart can do on each and what speaks against the others. Loads no model."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from headstart.doctor.finding import Finding, Section
from headstart.engine import devices
from headstart.engine.device_probe import KINDS, Probe, absence, probe
from headstart.engine.room import amount

_HERE = Section("devices")
_SEEN = dict.fromkeys(("x86_64", "amd64"), "yes")
_UNSEEN = "not yet on this kind of processor"
_ON_CPU = "Use --device CPU."
_NODES = {"GPU": "/dev/dri/renderD*", "NPU": "/dev/accel/accel*"}  # where Linux shows them
_DRIVERS = {
    "GPU": "If it is an Intel GPU, install its compute runtime (OpenCL and Level Zero) and, beside Headstart's package "
    "for Debian, headstart-accelerators; Headstart works without.",
    "NPU": "If it is an Intel NPU, install its driver (Level Zero and firmware); Headstart works without.",
}


def check() -> Iterator[Finding]:
    """Each device that is there, then each kind that is not."""
    try:
        present = devices.available()
    except RuntimeError as error:
        yield _HERE.problem(f"OpenVINO cannot list the devices ({' '.join(str(error).split())}).", "Install it again.")
        return
    found = [probe(name) for name in present]
    for device in found:
        yield _HERE.ok(_described(device))
        yield _judged(device)
    for kind in KINDS:
        if all(device.kind != kind for device in found):
            yield _absent(kind)


def _described(device: Probe) -> str:
    facts = [f"plugin {device.plugin or 'of unknown version'}"]
    if device.kind != "CPU":
        facts.append(f"driver {device.driver or 'of unknown version'}")
    facts.append(f"{amount(device.memory)} of its own memory" if device.memory else "shares the computer's memory")
    facts.append(f"OpenVINO's capabilities: {', '.join(device.capabilities) or 'none told'}")
    return f"{device.name}: {device.full_name}; {'; '.join(facts)}."


def _judged(device: Probe) -> Finding:
    name = device.name
    if device.kind == "CPU":
        return _HERE.ok(
            f"{name} runs everything: plain decoding, draft models, guesses from the text, the confidence threshold, "
            f"INT8 and INT4 weights. Run on real hardware: {_SEEN.get(platform.machine().lower(), _UNSEEN)}."
        )
    if device.kind == "GPU":
        return _HERE.note(
            f"{name} can be tried: Headstart's own engine takes a model only if a check at its first load shows that "
            "wrong guesses leave no trace in its memory, and leaves it to OpenVINO GenAI otherwise. "
            "Run on real hardware: not yet.",
            f"Try --device {name}; if it refuses or answers oddly, use --device CPU and report it.",
        )
    if device.kind == "NPU":
        return _HERE.note(
            f"{name} can be tried: OpenVINO GenAI runs models on it, plain or with a draft model, if their weights are "
            "symmetric; Headstart's own engine cannot. The longest prompt is compiled in, and there are no confidence "
            "threshold and no guesses from the text. Run on real hardware: not yet.",
            f"Export a model with --weights int4-sym and try --device {name}; if it refuses or answers oddly, use "
            "--device CPU and report it.",
        )
    return _HERE.note(f"{name} is a kind of device that Headstart does not know.", _ON_CPU)


def _absent(kind: str) -> Finding:
    if kind not in _NODES:
        return _HERE.problem(f"OpenVINO has no {kind} device ({absence(kind)}).", "Install Headstart again.")
    nodes = _nodes(kind)
    if not nodes:
        return _HERE.ok(f"No {kind} ({absence(kind)}). Run on real hardware: not yet.")
    closed = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if closed:
        return _HERE.note(
            f"No {kind}, though the system has one: this user may not open {', '.join(closed)}.",
            "Add yourself to the group that owns it (mostly `render`) and log in again.",
        )
    return _HERE.note(f"No {kind} for OpenVINO, though the system has one: {absence(kind)}.", _DRIVERS[kind])


def _nodes(kind: str) -> list[Path]:
    folder, _, pattern = _NODES[kind].rpartition("/")
    return sorted(Path(folder).glob(pattern))
