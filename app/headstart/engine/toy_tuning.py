"""A tuning without a model: pretends to try what a small machine would, and remembers that. Knows no OpenVINO."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from headstart import paths
from headstart.engine.bench.race import RaceCancelled
from headstart.engine.bench.stats import Spread
from headstart.engine.engine import LoadOptions
from headstart.engine.measurements import Measurements
from headstart.engine.tuning.findings import ANSWER, DEFAULT, DRAFTS, TARGET, Findings, Row, Stage, Trying, reasons
from headstart.engine.tuning.messages import Tune, TuneDecided, TuneReport, TuneTrying
from headstart.engine.wire import from_data, to_data

_KEY = "tuned"
_STEPS = 10  # pauses of a stage
_STAGES = (
    Stage(
        TARGET,
        (
            Row(DEFAULT, {"1 token": 80.0, "6 tokens": 95.0}),
            Row("1 thread", {"1 token": 60.0, "6 tokens": 71.0}, Spread(1.33, 1.2, 1.4), 9, 9, chosen=True),
            Row("on NPU", {}, failure="The toy has no NPU."),
            Row("threads not tied to cores", {}),
        ),
    ),
    Stage(
        DRAFTS,
        (
            Row(DEFAULT, {ANSWER: 41.0}, chosen=True),
            Row("no draft model", {ANSWER: 66.0}, Spread(0.62, 0.5, 0.8), 0, 3),
        ),
    ),
)


def tune(order: Tune, tell: Callable[[TuneReport], None], cancel: threading.Event, pace: float) -> Findings:
    """`pace` is in seconds, ten of them a stage. Raises RaceCancelled."""
    for stage in _STAGES:
        names = tuple(row.name for row in stage.rows[1:])
        hint = "f32" if stage.subject == TARGET else ""
        for trying in (Trying(stage.subject), Trying(stage.subject, hint, names)):
            tell(TuneTrying(order.ticket, trying))
        for _ in range(_STEPS):
            if cancel.wait(pace):
                raise RaceCancelled
        tell(TuneDecided(order.ticket, stage))
    load, why = order.wish.load, reasons(_STAGES)
    draft = load.draft.name if load.draft else None
    when = datetime.now(UTC).isoformat(timespec="seconds")
    found = Findings(load.target.name, draft, "An engine without a model", "none", 1.5, _STAGES, why, when)
    _kept(load).put(_KEY, to_data(found))
    return found


def recall(load: LoadOptions) -> Findings | None:
    """What a toy of this name was told."""
    data = _kept(load).get(_KEY)
    found: Findings | None = from_data(Findings, data) if data else None
    return found


def forget(load: LoadOptions) -> None:
    """As if it had never been tuned."""
    _kept(load).drop(_KEY)


def _kept(load: LoadOptions) -> Measurements:
    return Measurements(paths.measurements_folder(), f"{load.target.name}-toy", {})
