"""Which runner keeps answers exact for a model on a device: tried once, then remembered. Knows nothing of speed."""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from headstart.engine.engine import Numerics
from headstart.engine.measurements import Measurements
from headstart.engine.paged import BranchingRunner, PagedRunner
from headstart.engine.precision import probe_ids, properties
from headstart.engine.runner import Branch, Runner
from headstart.engine.stateful import StatefulRunner
from headstart.errors import BrokenModelError, DeviceError, UnfitError

_log = logging.getLogger(__name__)

AnyRunner = PagedRunner | StatefulRunner
RunnerClass = type[PagedRunner] | type[StatefulRunner]
RUNNERS: Mapping[str, RunnerClass] = {
    "branching": BranchingRunner,
    "paged": PagedRunner,
    "stateful": StatefulRunner,
}
PROVEN = "proven runner"
_REFUSED = "runner refused"
_PROMPT, _REJECTED, _ROWS = 40, 5, 4
# In standard deviations of the logits: pages gave 0, a mask 0.0009, a rollback that does not forget 0.7 and 2.3.
_MOST_ERROR = 0.01


def proven_runner(folder: Path, device: str, measurements: Measurements) -> RunnerClass:
    """The first whose rollback proves exact on this model and device; remembered, and so is that none does.

    Raises BrokenModelError where none does on the processor, UnfitError where none does on another device.
    """
    known, refused = measurements.get(PROVEN), measurements.get(_REFUSED)
    if isinstance(known, str) and known in RUNNERS:
        return RUNNERS[known]
    if isinstance(refused, str):
        raise UnfitError(folder.name, device, refused)
    reasons = []
    for name, kind in RUNNERS.items():
        try:
            error = runner_error(kind(folder, device, properties(Numerics.EXACT), 2 * _PROMPT))
        except (ImportError, RuntimeError) as fault:  # the transformation is no public part of OpenVINO
            reasons.append(f"{name}: {first_line(fault)}")
            continue
        if error <= _MOST_ERROR:
            measurements.put(PROVEN, name)
            return kind
        reasons.append(f"{name}: logits differ by {error:.1%} of their deviation after a rollback or a branch")
    _log.info("no runner fits %s on %s: %s", folder, device, reasons)
    if device == "CPU":
        raise refusal(folder, device, "; ".join(reasons))
    measurements.put(_REFUSED, "; ".join(reasons))
    raise UnfitError(folder.name, device, "; ".join(reasons))


def runner_error(runner: Runner) -> float:
    """The largest error of what this runner can do."""
    return max(rollback_error(runner), branch_error(runner) if runner.can_branch else 0.0)


def branch_error(runner: Runner) -> float:
    """Largest difference that it makes to logits, in standard deviations, to check a token and keep it as a branch."""
    prompt = probe_ids(runner.vocabulary, _PROMPT, seed=1)
    ids = probe_ids(runner.vocabulary, _ROWS, seed=2)
    token, *following = probe_ids(runner.vocabulary, _ROWS, seed=3)
    runner.forward(prompt)
    expected = runner.forward([ids[0], token, *following], rows=1 + len(following)).copy()
    runner.rollback(len(prompt))
    branches = [Branch(2, token), Branch(1, token)]
    beside = runner.forward(ids, branches)[-1:].copy()
    runner.rollback(len(prompt) + 1, branch=1)
    given = np.concatenate([beside, runner.forward(following, rows=len(following))])
    runner.rollback(0)
    return float(np.abs(given - expected).max() / expected.std())


def rollback_error(runner: Runner) -> float:
    """Largest difference that rejected tokens leave in the logits after them, in standard deviations of the logits."""
    prompt = probe_ids(runner.vocabulary, _PROMPT, seed=1)
    rejected = probe_ids(runner.vocabulary, _REJECTED, seed=2)
    ids = probe_ids(runner.vocabulary, _ROWS, seed=3)
    runner.forward(prompt)
    clean = runner.forward(ids, rows=len(ids)).copy()
    runner.rollback(0)
    runner.forward(prompt)
    runner.forward(rejected)
    runner.rollback(len(prompt))
    after_rollback = runner.forward(ids, rows=len(ids)).copy()
    runner.rollback(0)
    return float(np.abs(after_rollback - clean).max() / clean.std())


def refusal(folder: Path, device: str, reason: str) -> BrokenModelError | DeviceError:
    """That the device does not take the model, with what to do."""
    if device == "CPU":
        return BrokenModelError(f"{folder} cannot be loaded ({reason}). Export it again with headstart-export.")
    return DeviceError(f"{device} refuses {folder.name} ({reason}). Try --device CPU.")


def first_line(error: Exception) -> str:
    """The reason in a message of OpenVINO, which begins with places in its source."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Exception from", "Check '"))]
    return lines[0] if lines else str(error)
