"""A benchmark that was ordered over the wire: the order becomes a plan, what happens becomes reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headstart.engine.bench.contestants import SWEEP, USUAL
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import Heat
from headstart.engine.bench.result import as_json
from headstart.engine.engine import LoadOptions
from headstart.engine.protocol import Bench, BenchHeat, BenchPlanned, BenchReport, BenchStage

if TYPE_CHECKING:
    from headstart.engine.local import LocalEngine

Tell = Callable[[BenchReport], None]
RunBench = Callable[[Bench, Tell, threading.Event], Mapping[str, Any]]  # raises RaceCancelled when stopped


def bench_of(engine: LocalEngine, load: LoadOptions) -> RunBench:
    """Carries out Bench orders for an engine that was loaded with these options."""

    def run(order: Bench, tell: Tell, cancel: threading.Event) -> Mapping[str, Any]:
        from headstart.engine.bench.measure import BenchPlan, Progress, measure  # noqa: PLC0415 - numpy and more

        size, ticket = order.size, order.ticket
        progress = Progress(
            stage=lambda sentence: tell(BenchStage(ticket, sentence)),
            heat=lambda heat: tell(report(ticket, heat)),
            planned=lambda heats: tell(BenchPlanned(ticket, heats)),
            cancel=cancel,
        )
        prompts, ways = read_prompts(size.prompts, size.kinds), SWEEP if size.sweep else USUAL
        plan = BenchPlan(load, prompts, size.tokens, size.repeats, size.with_peer, ways)
        return as_json(measure(engine, plan, progress))

    return run


def report(ticket: int, heat: Heat) -> BenchHeat:
    """A heat without its tokens."""
    prompt, run = heat.prompt, heat.run
    return BenchHeat(ticket, prompt.id, prompt.kind, heat.contestant, heat.repeat, run.ms_per_token, len(run.tokens))
