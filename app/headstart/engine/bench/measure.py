"""One benchmark of a loaded engine: its own modes and, if wanted, peers; from the models to the result."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from headstart.engine.bench.peers import GenaiModel, GenaiSource, PeerOptions, PeerSource
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import USUAL, Contestant, Heat, own_modes, playable, race, raise_if_set
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    Setting,
    prompt_results,
    standings,
    versus_best_peer,
    versus_hindsight,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.devices import describe, peak_rss
from headstart.engine.engine import LoadOptions
from headstart.engine.local import LocalEngine
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


def genai(
    engine: LocalEngine,
    load: LoadOptions,
    lengths: Sequence[int] = (3, 5),
    thresholds: Sequence[float] = (),
    lookups: Sequence[int] = (),
) -> GenaiSource:
    """OpenVINO GenAI with what `engine` was loaded with, and the static settings to try."""
    target, draft = GenaiModel(load.target, engine.target.properties), None
    if load.draft is not None and engine.draft is not None:
        draft = GenaiModel(load.draft, engine.draft.properties)
    return GenaiSource(target, draft, lengths, thresholds, lookups)


def measure(engine: LocalEngine, plan: BenchPlan, sources: Sequence[PeerSource], progress: Progress) -> BenchResult:
    """Warm up, note the memory, open the peers, race, sum up. A peer that cannot take part is named in the result.

    Raises RaceCancelled when it was, and PeerError when a peer fails in the race.
    """
    target, draft = engine.target, engine.draft
    models = [target] if draft is None else [target, draft]

    def forget() -> None:
        for model in models:
            model.runner.rollback(0)

    names = playable(plan.contestants, has_draft=draft is not None)
    own = own_modes(engine, plan.tokens, forget, progress.cancel, names)
    progress.stage("warming up")
    longest = _warm_up([own[0], own[-1]], plan.prompts, progress.cancel)  # between them they use every model
    memory = Memory(
        weights=sum(model.manifest.files["openvino_model.bin"].size for model in models),
        kv=longest * sum(model.manifest.kv_bytes_per_token for model in models),
        peak_rss=peak_rss(),
    )
    options = PeerOptions(
        device=plan.load.device,
        tokens=plan.tokens,
        stop_ids=frozenset(target.manifest.tokenizer.stop_ids),
        encode=lambda prompt: engine.tokenizer.prompt(prompt.messages),
        context=target.runner.context,
    )
    peers, skipped, heats = list[Contestant](), list[str](), list[Heat]()
    with ExitStack() as stack:
        for source in sources:
            raise_if_set(progress.cancel)
            progress.stage(f"loading {source.words}")
            try:
                peers.extend(stack.enter_context(source.open(options)))
            except PeerError as reason:
                skipped.append(str(reason))
                progress.stage(str(reason))
        _warm_up(peers, plan.prompts, progress.cancel)
        contestants = [*own, *peers]
        progress.planned(len(contestants) * len(plan.prompts) * plan.repeats)
        for heat in race(contestants, plan.prompts, plan.repeats):
            progress.heat(heat)
            heats.append(heat)
            raise_if_set(progress.cancel)
    results, peer_names = prompt_results(heats), [peer.name for peer in peers]
    return BenchResult(
        machine=describe(plan.load.device),
        setting=Setting(
            target=target.manifest.name,
            draft=draft.manifest.name if draft else None,
            target_properties=dict(target.properties),
            draft_properties=dict(draft.properties) if draft else None,
            tokens=plan.tokens,
            repeats=plan.repeats,
        ),
        prompts=results,
        standings=standings(results, [*names, *peer_names]),
        auto_vs_best_static_peer=versus_best_peer(results, peer_names),
        memory=memory,
        auto_vs_hindsight=versus_hindsight(results, peer_names),
        skipped=tuple(skipped),
    )


def _warm_up(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], cancel: CancelEvent) -> int:
    """Everyone answers the longest prompt, unmeasured; the most tokens that a cache held."""
    prompt, longest = max(prompts, key=lambda each: len(each.text)), 0
    for contestant in contestants:
        raise_if_set(cancel)
        run = contestant.answer(prompt)
        longest = max(longest, run.prompt_tokens + len(run.tokens))
    return longest
