"""What a pass costs by its number of tokens and by what is in the cache."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headstart.engine.bench.race import raise_if_set
from headstart.engine.cancelling import CancelEvent
from headstart.engine.devices import Machine, describe
from headstart.engine.engine import LoadOptions
from headstart.engine.loading import LoadedModel
from headstart.engine.local import LocalEngine
from headstart.engine.runners.precision import probe_ids
from headstart.engine.runners.runner import PREFILL_CHUNK, Runner

SCHEMA = 1
TOKENS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, 128, 256, 512, 1024)
CONTEXTS = (16, 64, 256, 512, 1024, 2048, 4096)
MOST_CHECKED = 32  # tokens; up to here a pass is a check and gives logits for each, above it reads a prompt
_BEFORE = 64  # tokens in the cache while the number of tokens is varied


@dataclass(frozen=True)
class ForwardPlan:
    """What to measure; what does not fit the models' context is left out."""

    load: LoadOptions
    tokens: Sequence[int] = TOKENS
    contexts: Sequence[int] = CONTEXTS
    repeats: int = 5


@dataclass(frozen=True)
class Timed:
    """Milliseconds of some passes of one kind."""

    median: float
    least: float


@dataclass(frozen=True)
class ModelForward:
    """One model."""

    name: str
    role: str  # target or draft
    properties: Mapping[str, str]
    by_tokens: Mapping[int, Timed]
    by_context: Mapping[int, Timed]


@dataclass(frozen=True)
class ForwardResult:
    """Everything that was measured."""

    machine: Machine
    models: tuple[ModelForward, ...]
    schema: int = SCHEMA


def measure_forward(
    engine: LocalEngine,
    plan: ForwardPlan,
    stage: Callable[[str], None],
    cancel: CancelEvent | None = None,
) -> ForwardResult:
    """Leaves the caches empty. Raises RaceCancelled when it was."""
    end = cancel or CancelEvent()
    machine = describe(plan.load.device)
    models = [_model(engine.target, "target", plan, stage, end)]
    if engine.draft is not None:
        models.append(_model(engine.draft, "draft", plan, stage, end))
    return ForwardResult(machine, tuple(models))


def _model(
    loaded: LoadedModel, role: str, plan: ForwardPlan, stage: Callable[[str], None], cancel: CancelEvent
) -> ModelForward:
    runner = loaded.runner
    stage(f"{loaded.manifest.name}: passes by number of tokens")
    _fill(runner, min(_BEFORE, runner.context - 1), cancel)
    room = runner.context - len(runner.tokens)
    by_tokens = {count: _timed(runner, count, plan.repeats, cancel) for count in plan.tokens if count <= room}
    by_context = {}
    for context in sorted(plan.contexts):
        if context < runner.context:
            stage(f"{loaded.manifest.name}: a step behind {context} tokens")
            _fill(runner, context, cancel)
            by_context[context] = _timed(runner, 1, plan.repeats, cancel)
    runner.rollback(0)
    return ModelForward(
        name=loaded.manifest.name,
        role=role,
        properties=dict(loaded.properties),
        by_tokens=by_tokens,
        by_context=by_context,
    )


def _fill(runner: Runner, context: int, cancel: CancelEvent) -> None:
    """Bring the cache to so many tokens."""
    ids = probe_ids(runner.vocabulary, context, seed=1)
    runner.rollback(context)
    while (done := len(runner.tokens)) < context:
        raise_if_set(cancel)
        runner.forward(ids[done : min(done + PREFILL_CHUNK, context)])


def _timed(runner: Runner, count: int, repeats: int, cancel: CancelEvent) -> Timed:
    """Passes over `count` tokens behind those in the cache, undone after; a first one is not counted."""
    length = len(runner.tokens)
    ids = probe_ids(runner.vocabulary, count, seed=count)
    times = []
    for _ in range(repeats + 1):
        raise_if_set(cancel)
        started = time.perf_counter()
        runner.forward(ids, rows=count if count <= MOST_CHECKED else 1)
        times.append((time.perf_counter() - started) * 1000.0)
        runner.rollback(length)
    return Timed(statistics.median(times[1:]), min(times[1:]))
