"""Which runner keeps answers exact for a model on a device: tried once, then remembered."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from headstart.engine.engine import Numerics
from headstart.engine.measurements import Measurements
from headstart.engine.runners.paged import BranchingRunner, PagedRunner
from headstart.engine.runners.precision import probe_ids, properties
from headstart.engine.runners.runner import Branch, Runner
from headstart.engine.runners.stateful import StatefulRunner
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
ROOM = 2 * _PROMPT  # tokens of context that a proof needs
# In standard deviations of the logits: pages gave 0, a mask 0.0009, a rollback that does not forget 0.7 and 2.3.
_MOST_ERROR = 0.01
# Of what one token too many does to the logits: pages gave 0 to 0.06, in any arithmetic; a branch that sees what stands
# beside it, or is kept where it was computed, 0.95 to 11.
_MOST_BRANCH_ERROR = 0.25


def is_undecided(measurements: Measurements) -> bool:
    """Whether nothing is known yet of a model on a device."""
    return measurements.get(PROVEN) is None and measurements.get(_REFUSED) is None


def proven_as_loaded(build: Callable[[RunnerClass], AnyRunner], measurements: Measurements) -> AnyRunner | None:
    """The first kind of runner, if it compiles and proves exact in the arithmetic that it is to work in; remembered.

    None: find out what is wrong, and what else there is, with `proven_runner`.
    """
    name, kind = next(iter(RUNNERS.items()))
    try:
        runner = build(kind)
        found = fault(runner)
    except (ImportError, RuntimeError) as error:
        found = first_line(error)
    if found:
        _log.info("%s does not prove right as it was loaded: %s", name, found)
        return None
    measurements.put(PROVEN, name)
    return runner


def proven_runner(folder: Path, device: str, measurements: Measurements) -> RunnerClass:
    """The first whose rollback proves exact on this model and device; remembered, and so is that none does.

    Raises BrokenModelError where none does on the processor, UnfitError where none does on another device.
    """
    known, refused = measurements.get(PROVEN), measurements.get(_REFUSED)
    if isinstance(known, str) and known in RUNNERS:
        return RUNNERS[known]
    if isinstance(refused, str):
        raise _unfit(folder, device, refused)
    reasons = []
    for name, kind in RUNNERS.items():
        try:
            found = fault(kind(folder, device, properties(Numerics.EXACT), ROOM))
        except (ImportError, RuntimeError) as error:  # the transformation is no public part of OpenVINO
            reasons.append(f"{name}: {first_line(error)}")
            continue
        if not found:
            measurements.put(PROVEN, name)
            return kind
        reasons.append(f"{name}: {found}")
    _log.info("no runner fits %s on %s: %s", folder, device, reasons)
    if device == "CPU":
        raise refusal(folder, device, "; ".join(reasons))
    measurements.put(_REFUSED, "; ".join(reasons))
    raise _unfit(folder, device, "; ".join(reasons))


def _unfit(folder: Path, device: str, reason: str) -> UnfitError:
    return UnfitError(
        "{device} refuses {name} ({reason}). Try --device CPU.", device=device, name=folder.name, reason=reason
    )


def fault(runner: Runner) -> str:
    """What keeps this runner from being exact; empty: nothing."""
    error = rollback_error(runner)
    if error > _MOST_ERROR:
        return f"logits differ by {error:.1%} of their deviation after a rollback"
    error = branch_error(runner) if runner.can_branch else 0.0
    return f"a branch is wrong by {error:.0%} of what one token too many does" if error > _MOST_BRANCH_ERROR else ""


def branch_error(runner: Runner) -> float:
    """What it does to logits to check a token as a branch and keep it, in parts of what one token too many does.

    The larger of two: for the branch's own logits, and for those of what follows once it is kept. What comes before it
    is a single token, so that each of the others counts for much.
    """
    prompt = probe_ids(runner.vocabulary, 1, seed=1)
    ids = probe_ids(runner.vocabulary, _ROWS, seed=2)
    token, *following = probe_ids(runner.vocabulary, _ROWS, seed=3)
    rows = 1 + len(following)
    runner.forward(prompt)
    expected = runner.forward([ids[0], token, *following], rows=rows).copy()
    runner.rollback(len(prompt))
    control = runner.forward([*ids[:2], token, *following], rows=rows).copy()
    runner.rollback(len(prompt))
    beside = runner.forward(ids, [Branch(2, token), Branch(1, token)])[-1:].copy()
    runner.rollback(len(prompt) + 1, branch=1)
    given = np.concatenate([beside, runner.forward(following, rows=len(following))])
    runner.rollback(0)
    return max(
        float(np.linalg.norm(given[part] - expected[part]) / np.linalg.norm(control[part] - expected[part]))
        for part in (slice(1), slice(1, rows))
    )


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
        return BrokenModelError(
            "{folder} cannot be loaded ({reason}). Export it again with headstart-export.", folder=folder, reason=reason
        )
    return DeviceError(
        "{device} refuses {name} ({reason}). Try --device CPU.", device=device, name=folder.name, reason=reason
    )


def first_line(error: Exception) -> str:
    """The reason in a message of OpenVINO, which begins with places in its source."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Exception from", "Check '"))]
    return lines[0] if lines else str(error)
