"""One benchmark of a loaded engine: its own modes and, if wanted, peers; from the models to the result."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from headstart.engine.bench.peers import GenaiModel, GenaiSource, PeerOptions, PeerSource, Sweep
from headstart.engine.bench.prompts import BenchPrompt, read_prompts
from headstart.engine.bench.race import (
    SWEEP,
    USUAL,
    Contestant,
    Heat,
    RunBench,
    Tell,
    own_modes,
    playable,
    race,
    raise_if_set,
    report,
)
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    Setting,
    as_json,
    prompt_results,
    standings,
    versus_best_peer,
    versus_hindsight,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.devices import describe, peak_rss
from headstart.engine.engine import LoadOptions
from headstart.engine.loading import LoadedModel
from headstart.engine.local import LocalEngine
from headstart.engine.protocol import Bench, BenchPlanned, BenchStage
from headstart.errors import PeerError


@dataclass(frozen=True)
class BenchPlan:
    """What to race. `load` is what the engine was loaded with: peers load the same."""

    load: LoadOptions
    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    repeats: int
    contestants: tuple[str, ...] = USUAL  # Headstart's own, plain decoding among them


@dataclass(frozen=True)
class Progress:
    """Who is told while it runs: a sentence for each stage, how many heats there will be, and each heat.

    Setting `cancel` ends it within one round of an own answer, and after the answer of a peer.
    """

    stage: Callable[[str], None]
    heat: Callable[[Heat], None]
    planned: Callable[[int], None] = lambda _count: None
    cancel: CancelEvent = field(default_factory=CancelEvent)


def bench_of(engine: LocalEngine, load: LoadOptions) -> RunBench:
    """Carries out Bench orders for an engine that was loaded with these options."""

    def run(order: Bench, tell: Tell, cancel: CancelEvent) -> Mapping[str, Any]:
        size, ticket = order.size, order.ticket
        progress = Progress(
            stage=lambda sentence: tell(BenchStage(ticket, sentence)),
            heat=lambda heat: tell(report(ticket, heat)),
            planned=lambda heats: tell(BenchPlanned(ticket, heats)),
            cancel=cancel,
        )
        prompts, ways = read_prompts(size.prompts, size.kinds), SWEEP if size.sweep else USUAL
        plan = BenchPlan(load, prompts, size.tokens, size.repeats, ways)
        return as_json(measure(engine, plan, (genai(engine, load),) if size.with_peer else (), progress))

    return run


def genai(engine: LocalEngine, load: LoadOptions, sweep: Sweep | None = None) -> GenaiSource:
    """OpenVINO GenAI with what `engine` was loaded with."""
    draft = None
    if load.draft is not None and engine.draft is not None:
        draft = GenaiModel(load.draft, engine.draft.properties)
    return GenaiSource(GenaiModel(load.target, engine.target.properties), draft, sweep or Sweep())


def measure(engine: LocalEngine, plan: BenchPlan, sources: Sequence[PeerSource], progress: Progress) -> BenchResult:
    """Warm up, note the memory, open the peers, race, sum up. A peer that cannot take part is named in the result.

    Raises RaceCancelled when it was, and PeerError when a peer fails in the race.
    """
    names = playable(plan.contestants, has_draft=engine.draft is not None)
    own = own_modes(engine, plan.tokens, lambda: _forget(engine), progress.cancel, names)
    progress.stage("warming up")
    longest = _warm_up([own[0], own[-1]], plan.prompts, progress.cancel)  # between them they use every model
    memory = _memory(engine, longest)
    with ExitStack() as stack:
        peers, skipped = _opened(sources, _peer_options(engine, plan), progress, stack)
        _warm_up(peers, plan.prompts, progress.cancel)
        heats = _heats([*own, *peers], plan, progress)
    results, peer_names = prompt_results(heats), [peer.name for peer in peers]
    return BenchResult(
        machine=describe(plan.load.device),
        setting=_setting(engine, plan),
        prompts=results,
        standings=standings(results, [*names, *peer_names]),
        auto_vs_best_static_peer=versus_best_peer(results, peer_names),
        memory=memory,
        auto_vs_hindsight=versus_hindsight(results, peer_names),
        skipped=tuple(skipped),
    )


def _opened(
    sources: Sequence[PeerSource], options: PeerOptions, progress: Progress, stack: ExitStack
) -> tuple[list[Contestant], list[str]]:
    peers, skipped = list[Contestant](), list[str]()
    for source in sources:
        raise_if_set(progress.cancel)
        progress.stage(f"loading {source.words}")
        stack.callback(source.close)
        try:
            peers.extend(source.open(options))
        except PeerError as reason:
            skipped.append(str(reason))
            progress.stage(str(reason))
    return peers, skipped


def _heats(contestants: Sequence[Contestant], plan: BenchPlan, progress: Progress) -> list[Heat]:
    heats = []
    progress.planned(len(contestants) * len(plan.prompts) * plan.repeats)
    for heat in race(contestants, plan.prompts, plan.repeats):
        progress.heat(heat)
        heats.append(heat)
        raise_if_set(progress.cancel)
    return heats


def _warm_up(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], cancel: CancelEvent) -> int:
    """Everyone answers the longest prompt, unmeasured; the most tokens that a cache held."""
    prompt, longest = max(prompts, key=lambda each: len(each.text)), 0
    for contestant in contestants:
        raise_if_set(cancel)
        run = contestant.answer(prompt)
        longest = max(longest, run.prompt_tokens + len(run.tokens))
    return longest


def _forget(engine: LocalEngine) -> None:
    for model in _models(engine):
        model.runner.rollback(0)


def _models(engine: LocalEngine) -> list[LoadedModel]:
    return [model for model in (engine.target, engine.draft) if model is not None]


def _memory(engine: LocalEngine, longest: int) -> Memory:
    manifests = [model.manifest for model in _models(engine)]
    return Memory(
        weights=sum(manifest.files["openvino_model.bin"].size for manifest in manifests),
        kv=longest * sum(manifest.kv_bytes_per_token for manifest in manifests),
        peak_rss=peak_rss(),
    )


def _peer_options(engine: LocalEngine, plan: BenchPlan) -> PeerOptions:
    return PeerOptions(
        device=plan.load.device,
        tokens=plan.tokens,
        stop_ids=frozenset(engine.target.manifest.tokenizer.stop_ids),
        encode=lambda prompt: engine.tokenizer.prompt(prompt.messages),
        context=engine.target.runner.context,
    )


def _setting(engine: LocalEngine, plan: BenchPlan) -> Setting:
    draft = engine.draft
    return Setting(
        target=engine.target.manifest.name,
        draft=draft.manifest.name if draft else None,
        target_properties=dict(engine.target.properties),
        draft_properties=dict(draft.properties) if draft else None,
        tokens=plan.tokens,
        repeats=plan.repeats,
    )
