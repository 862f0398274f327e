"""The benchmark of an engine without a model: its own modes raced as any other's. Knows no peer and no OpenVINO."""

import os
import platform
import threading
from collections.abc import Mapping
from typing import Any

from headstart import __version__
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import (
    SWEEP,
    USUAL,
    Heat,
    RunBench,
    Tell,
    own_modes,
    playable,
    race,
    raise_if_set,
    report,
)
from headstart.engine.bench.result import BenchResult, Memory, Setting, as_json, prompt_results, standings
from headstart.engine.engine import Engine
from headstart.engine.machine import Machine
from headstart.engine.protocol import Bench, BenchPlanned, BenchSize, BenchStage, Facts

_NONE = "none"  # of OpenVINO, which has no part in it


def bench_of(engine: Engine, facts: Facts) -> RunBench:
    """Carries out Bench orders; the times are real ones, of words instead of tokens."""

    def run(order: Bench, tell: Tell, cancel: threading.Event) -> Mapping[str, Any]:
        size, ticket = order.size, order.ticket
        names = playable(SWEEP if size.sweep else USUAL, has_draft=facts.has_draft)
        modes = own_modes(engine, size.tokens, _forget, cancel, names)
        prompts = read_prompts(size.prompts, size.kinds)
        tell(BenchStage(ticket, "warming up"))
        tell(BenchPlanned(ticket, len(modes) * len(prompts) * size.repeats))
        heats = []
        for heat in race(modes, prompts, size.repeats):
            tell(report(ticket, heat))
            heats.append(heat)
            raise_if_set(cancel)
        return as_json(_result(heats, [mode.name for mode in modes], size, facts))

    return run


def _forget() -> None:
    """There is no cache."""


def _result(heats: list[Heat], names: list[str], size: BenchSize, facts: Facts) -> BenchResult:
    results = prompt_results(heats)
    return BenchResult(
        machine=_machine(),
        setting=Setting(facts.model, facts.draft, {}, None, size.tokens, size.repeats),
        prompts=results,
        standings=standings(results, names),
        auto_vs_best_static_peer=None,
        memory=Memory(weights=0, kv=0, peak_rss=None),
    )


def _machine() -> Machine:
    return Machine(
        device="An engine without a model",
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        headstart=__version__,
        openvino=_NONE,
        openvino_genai=_NONE,
    )
