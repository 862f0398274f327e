"""Times passes of a model by number of tokens and by context.

`PYTHONPATH=app python app/bench/passes/forward.py --model NAME`
"""

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.speed import local_engine
from headstart.cli.command import Command, Load, flag, group
from headstart.cli.options import FiguresFlags, ModelFlags, select_model, write_json
from headstart.cli.program import execute
from headstart.cli.render import Screen, harmless
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.devices import Machine, describe
from headstart.engine.loading.loading import LoadedModel
from headstart.engine.local import LocalEngine
from headstart.engine.runners.precision import probe_ids
from headstart.engine.runners.runner import PREFILL_CHUNK

TOKENS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, 128, 256, 512, 1024)
CONTEXTS = (16, 64, 256, 512, 1024, 2048, 4096)
_MAX_CHECKED = 32  # tokens; a pass of more reads a prompt, and gives logits of the last token only
_BEFORE = 64  # tokens in the cache while the number of tokens is varied


@dataclass(frozen=True)
class ForwardPlan:
    """The passes to measure; those beyond the models' context are left out."""

    load: LoadOptions
    tokens: Sequence[int] = TOKENS
    contexts: Sequence[int] = CONTEXTS
    repeats: int = 5


@dataclass(frozen=True)
class TimedPasses:
    """Milliseconds of some passes of one kind."""

    median: float
    least: float


@dataclass(frozen=True)
class ModelForward:
    name: str
    role: str  # target, draft or eagle
    properties: Mapping[str, str]
    by_tokens: Mapping[int, TimedPasses]
    by_context: Mapping[int, TimedPasses]


@dataclass(frozen=True)
class ForwardResult:
    machine: Machine
    models: tuple[ModelForward, ...]
    schema: int = 1


def measure_forward(engine: LocalEngine, plan: ForwardPlan, stage: Callable[[str], None]) -> ForwardResult:
    """Time passes, and leave the caches empty."""
    loaded = {"target": engine.target, **engine.drafting}
    models = tuple(_model(model, role, plan, stage) for role, model in loaded.items())
    return ForwardResult(describe(plan.load.device), models)


def _model(loaded: LoadedModel, role: str, plan: ForwardPlan, stage: Callable[[str], None]) -> ModelForward:
    runner, name = loaded.runner, loaded.manifest.name

    def fill(context: int) -> None:
        ids = probe_ids(runner.vocabulary, context, seed=1)
        runner.rollback(context)
        while (done := len(runner.tokens)) < context:
            runner.forward(ids[done : min(done + PREFILL_CHUNK, context)])

    def timed(count: int) -> TimedPasses:
        """Time passes over `count` tokens behind the cached ones. The first pass is not counted."""
        length = len(runner.tokens)
        ids = probe_ids(runner.vocabulary, count, seed=count)
        times = []
        for _ in range(plan.repeats + 1):
            started = time.perf_counter()
            runner.forward(ids, rows=count if count <= _MAX_CHECKED else 1)
            times.append((time.perf_counter() - started) * 1000.0)
            runner.rollback(length)
        return TimedPasses(statistics.median(times[1:]), min(times[1:]))

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


@dataclass(frozen=True, kw_only=True)
class ForwardFlags:
    """The flags of this program."""

    model: ModelFlags = group(ModelFlags)
    most_tokens: int = flag(1024, "most tokens of a pass (default: 1024)", group="passes")
    most_context: int = flag(4096, "longest context (default: 4096)")
    repeats: int = flag(5, "passes of each kind (default: 5)")
    output: FiguresFlags = group(FiguresFlags)


def time_passes(arguments: ForwardFlags, load: Load) -> int:
    """Time passes by number of tokens and by context. Return the exit code."""
    options, screen = select_model(arguments.model).options, Screen()
    plan = ForwardPlan(
        load=options,
        tokens=[count for count in TOKENS if count <= arguments.most_tokens],
        contexts=[count for count in CONTEXTS if count <= arguments.most_context],
        repeats=arguments.repeats,
    )
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "passes need the models themselves"
        result = measure_forward(engine, plan, screen.remark)
    print(harmless(result.machine.device))
    by_tokens = {model.name: model.by_tokens for model in result.models}
    by_context = {model.name: model.by_context for model in result.models}
    for table in (_times("tokens", by_tokens), _times("context", by_context)):
        Console(highlight=False).print(table)
    if arguments.output.json:
        write_json(arguments.output.json, dataclasses.asdict(result))
    return 0


def _times(title: str, times: Mapping[str, Mapping[int, TimedPasses]]) -> Table:
    table = Table(title, *(f"{name}, ms" for name in times), box=None, padding=(0, 1, 0, 0))
    for count in sorted({count for each in times.values() for count in each}):
        table.add_row(str(count), *(f"{each[count].median:.1f}" if count in each else "–" for each in times.values()))
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program. Return the exit code."""
    command = Command(time_passes, local_engine.load_measured)
    command.help = __doc__
    return execute(command, "forward.py", arguments)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
