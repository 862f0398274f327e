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
from headstart.engine.runners.runner import PREFILL_CHUNK

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
    loaded = {"target": engine.target} | ({"draft": engine.draft} if engine.draft else {})
    models = tuple(_model(model, role, plan, stage, end) for role, model in loaded.items())
    return ForwardResult(describe(plan.load.device), models)


def _model(
    loaded: LoadedModel, role: str, plan: ForwardPlan, stage: Callable[[str], None], cancel: CancelEvent
) -> ModelForward:
    runner, name = loaded.runner, loaded.manifest.name

    def fill(context: int) -> None:
        """Bring the cache to so many tokens."""
        ids = probe_ids(runner.vocabulary, context, seed=1)
        runner.rollback(context)
        while (done := len(runner.tokens)) < context:
            raise_if_set(cancel)
            runner.forward(ids[done : min(done + PREFILL_CHUNK, context)])

    def timed(count: int) -> Timed:
        """Passes over `count` tokens behind those in the cache, undone after; a first one is not counted."""
        length = len(runner.tokens)
        ids = probe_ids(runner.vocabulary, count, seed=count)
        times = []
        for _ in range(plan.repeats + 1):
            raise_if_set(cancel)
            started = time.perf_counter()
            runner.forward(ids, rows=count if count <= MOST_CHECKED else 1)
            times.append((time.perf_counter() - started) * 1000.0)
            runner.rollback(length)
        return Timed(statistics.median(times[1:]), min(times[1:]))

    stage(f"{name}: passes by number of tokens")
    fill(min(_BEFORE, runner.context - 1))
    by_tokens = {count: timed(count) for count in plan.tokens if count <= runner.context - len(runner.tokens)}
    by_context = {}
    for context in sorted(each for each in plan.contexts if each < runner.context):
        stage(f"{name}: a step behind {context} tokens")
        fill(context)
        by_context[context] = timed(1)
    runner.rollback(0)
    return ModelForward(name, role, dict(loaded.properties), by_tokens, by_context)
