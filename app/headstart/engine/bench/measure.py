"""One benchmark of a loaded engine: its own modes and, if wanted, the peer; from the models to the result."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headstart.engine.bench.peer import PeerModel, PeerOptions, peer_modes
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Contestant, Heat, own_modes, race, raise_if_set
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    Setting,
    prompt_results,
    standings,
    versus_best_peer,
)
from headstart.engine.engine import LoadOptions
from headstart.engine.loading import LoadedModel
from headstart.engine.local import LocalEngine
from headstart.engine.machine import describe, peak_rss


@dataclass(frozen=True)
class BenchPlan:
    """What to race. `load` is what the engine was loaded with: the peer loads the same."""

    load: LoadOptions
    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    repeats: int
    with_peer: bool


@dataclass(frozen=True)
class Progress:
    """Who is told while it runs: a sentence for each stage, how many heats there will be, and each heat.

    Setting `cancel` ends it within one round of an own answer, and after the answer of a peer.
    """

    stage: Callable[[str], None]
    heat: Callable[[Heat], None]
    planned: Callable[[int], None] = lambda _count: None
    cancel: threading.Event = field(default_factory=threading.Event)


def measure(engine: LocalEngine, plan: BenchPlan, progress: Progress) -> BenchResult:
    """Warm up, note the memory, load the peer, race, sum up. Raises RaceCancelled when it was."""
    own = own_modes(engine, plan.tokens, lambda: _forget(engine), progress.cancel)
    progress.stage("warming up")
    longest = _warm_up(own, plan.prompts, progress.cancel)
    memory = _memory(engine, longest)
    peers: tuple[Contestant, ...] = ()
    if plan.with_peer:
        progress.stage("loading OpenVINO GenAI with the same models")
        peers = _peers(engine, plan)
        _warm_up(peers, plan.prompts, progress.cancel)
    heats = []
    progress.planned((len(own) + len(peers)) * len(plan.prompts) * plan.repeats)
    for heat in race([*own, *peers], plan.prompts, plan.repeats):
        progress.heat(heat)
        heats.append(heat)
        raise_if_set(progress.cancel)
    results, peer_names = prompt_results(heats), [peer.name for peer in peers]
    return BenchResult(
        machine=describe(plan.load.device),
        setting=_setting(engine, plan),
        prompts=results,
        standings=standings(results, [*(mode.name for mode in own), *peer_names]),
        auto_vs_best_static_peer=versus_best_peer(results, peer_names),
        memory=memory,
    )


def _warm_up(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], cancel: threading.Event) -> int:
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


def _peers(engine: LocalEngine, plan: BenchPlan) -> tuple[Contestant, ...]:
    load, draft = plan.load, None
    if load.draft is not None and engine.draft is not None:
        draft = PeerModel(load.draft, engine.draft.properties)
    options = PeerOptions(
        device=load.device,
        tokens=plan.tokens,
        stop_ids=frozenset(engine.target.manifest.tokenizer.stop_ids),
        encode=lambda prompt: engine.tokenizer.prompt(prompt.messages),
    )
    return peer_modes(PeerModel(load.target, engine.target.properties), draft, options)


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
