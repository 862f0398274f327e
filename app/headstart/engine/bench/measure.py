"""A race of a loaded engine with its peers."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from headstart.engine.bench.genai_peer import GenaiModel, GenaiSource, PeerOptions, PeerSource
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import AUTO, PLAIN, USUAL, Contestant, Heat, own_modes, playable, race, raise_if_set
from headstart.engine.bench.result import (
    BenchResult,
    Memory,
    PromptResult,
    Setting,
    hindsight,
    judge,
    prompt_results,
    standings,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import LoadOptions
from headstart.engine.hardware.devices import describe, peak_rss
from headstart.engine.loading.loading import LoadedModel, fast_properties
from headstart.engine.local import LocalEngine
from headstart.engine.runners.precision import OWN, hint_of
from headstart.errors import PeerError, SettingsError


@dataclass(frozen=True)
class BenchPlan:
    """The plan of a race. `load`: the options of the engine; peers load the same."""

    load: LoadOptions
    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    repeats: int
    contestants: tuple[str, ...] = USUAL  # Headstart's own, plain decoding among them
    before: BenchResult | None = None  # of a race that was cut off: its prompts are not raced again


@dataclass(frozen=True)
class Progress:
    """Callbacks of a race: for each stage, the number of heats, each heat, and the result after each prompt.

    Setting `cancel` ends it within one round of our own answer, or after the answer of a peer.
    """

    stage: Callable[[str], None]
    heat: Callable[[Heat], None]
    planned: Callable[[int], None] = lambda _count: None
    cancel: CancelEvent = field(default_factory=CancelEvent)
    result: Callable[[BenchResult], None] = lambda _result: None


def genai(engine: LocalEngine, load: LoadOptions) -> GenaiSource:
    """Return OpenVINO GenAI with the models of `engine`.

    In place of our own kernels, OpenVINO takes the fastest arithmetic of its own.
    """

    def model(loaded: LoadedModel) -> GenaiModel:
        chosen = loaded.properties
        if hint_of(chosen) == OWN:
            chosen = fast_properties(loaded.source, load.kv_precision)
        return GenaiModel(loaded.source.folder, chosen)

    target, draft = model(engine.target), model(engine.draft) if engine.draft else None
    return GenaiSource(target, draft)


def peer_options(engine: LocalEngine, device: str, tokens: int, context: int) -> PeerOptions:
    """Return the conditions of `engine` for peers. `tokens`: of the longest answer."""
    return PeerOptions(
        device=device,
        tokens=tokens,
        stop_ids=frozenset(engine.target.manifest.tokenizer.stop_ids),
        encode=lambda prompt: engine.tokenizer.prompt(prompt.messages),
        context=context,
    )


def measure(engine: LocalEngine, plan: BenchPlan, sources: Sequence[PeerSource], progress: Progress) -> BenchResult:
    """Warm up, measure the memory, load the peers, race, sum up. The result names peers that cannot take part.

    Raises RaceCancelled after `cancel`, PeerError if a peer fails in the race, and SettingsError if `plan.before` is of
    another race.
    """
    target, draft = engine.target, engine.draft
    models = [target, *engine.drafting.values()]
    names = playable(plan.contestants, engine.drafting)
    own = own_modes(engine, plan.tokens, engine.forget_all, progress.cancel, names)
    progress.stage("warming up")
    both = own_modes(
        engine, plan.tokens, engine.forget_all, progress.cancel, (PLAIN, AUTO)
    )  # between them they use every model
    longest = _warm_up(both, plan.prompts, progress.cancel)
    memory = Memory(
        weights=sum(model.manifest.files["openvino_model.bin"].size for model in models),
        kv=longest * sum(model.manifest.kv_bytes_per_token for model in models),
        peak_rss=peak_rss(),
    )
    options = peer_options(engine, plan.load.device, plan.tokens, engine.context)
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
        nothing = BenchResult(
            machine=describe(plan.load.device),
            setting=Setting(
                target=target.manifest.name,
                draft=draft.manifest.name if draft else None,
                target_properties=dict(target.properties),
                draft_properties=dict(draft.properties) if draft else None,
                tokens=plan.tokens,
                repeats=plan.repeats,
            ),
            prompts=(),
            standings=standings((), [contestant.name for contestant in contestants]),
            memory=memory,
            skipped=tuple(skipped),
        )
        results = list(_raced_before(plan, nothing))
        left = [prompt for prompt in plan.prompts if prompt.id not in {result.id for result in results}]
        progress.planned(len(contestants) * len(left) * plan.repeats)
        for heat in race(contestants, left, plan.repeats):
            progress.heat(heat)
            heats.append(heat)
            raise_if_set(progress.cancel)
            if len(heats) == len(contestants) * plan.repeats:
                results += prompt_results(heats)
                heats.clear()
                progress.result(_summed_up(nothing, results, peers))
    return _summed_up(nothing, results, peers)


def _raced_before(plan: BenchPlan, now: BenchResult) -> tuple[PromptResult, ...]:
    before = plan.before
    if before is None:
        return ()
    if (before.machine, before.setting, [*before.standings]) != (now.machine, now.setting, [*now.standings]):
        raise SettingsError(
            "The race that was cut off had other models, settings, contestants or another version of a program; "
            "race from the start, without --resume."
        )
    wanted = {prompt.id for prompt in plan.prompts}
    return tuple(result for result in before.prompts if result.id in wanted)


def _summed_up(race: BenchResult, results: Sequence[PromptResult], peers: Sequence[Contestant]) -> BenchResult:
    return replace(
        race,
        prompts=tuple(results),
        standings=standings(results, [*race.standings]),
        hindsight=hindsight(results, [peer.name for peer in peers]),
        promise=judge(results),
    )


def _warm_up(contestants: Sequence[Contestant], prompts: Sequence[BenchPrompt], cancel: CancelEvent) -> int:
    """Let each contestant answer the longest prompt, unmeasured. Return the most tokens that a cache held."""
    prompt, longest = max(prompts, key=lambda item: sum(len(message.content) for message in item.messages)), 0
    for contestant in contestants:
        raise_if_set(cancel)
        run = contestant.answer(prompt)
        longest = max(longest, run.prompt_tokens + len(run.tokens))
    return longest
