"""Headstart's own engine: one target with its drafters, from messages to text."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from headstart import paths
from headstart.engine.answer_writer import AnswerWriter, ModelText
from headstart.engine.cancelling import CancelEvent
from headstart.engine.drafters.registry import Sources, drafters_of
from headstart.engine.engine import (
    ConversationRequest,
    EngineKind,
    Event,
    FinishReason,
    GenerationRequest,
    LoadOptions,
    Origin,
    Phase,
    Prefill,
    Request,
    Round,
    Sampling,
)
from headstart.engine.hardware import devices
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.loading import memory, validation
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.loading.loading import LoadedModel, RunnerConfig, Watcher, load_head, load_model
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.prefix_cache import PartFiles, PrefixCache, identity_of
from headstart.engine.runners.head import HeadRunner, Taps
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import VERIFY, name_of, pass_ms
from headstart.engine.runners.runner import NonFiniteError
from headstart.engine.speculative import Decoder
from headstart.engine.text.tokenizer import Tokenizer, read_tokenizer
from headstart.errors import BrokenModelError, Translatable
from headstart.library.manifest import Manifest, ModelSpec

_POLICY, _PRICES = "learned policy", "prices are measured"

_log = logging.getLogger(__name__)

Reload: TypeAlias = Callable[[], LoadedModel]


@dataclass(frozen=True)
class Models:
    """The loaded models that write one answer at a time."""

    target: LoadedModel
    drafting: Mapping[str, LoadedModel]  # by the names of their drafters
    text: ModelText

    @classmethod
    def of(
        cls,
        target: LoadedModel,
        tokenizer: Tokenizer,
        draft: LoadedModel | None = None,
        head: LoadedModel | None = None,
    ) -> "Models":
        drafting = {Origin.DRAFT.value: draft, Origin.HEAD.value: head}
        text = ModelText.read(tokenizer, target.manifest, target.runner.vocabulary)
        return cls(target, {name: model for name, model in drafting.items() if model}, text)

    @property
    def draft(self) -> LoadedModel | None:
        return self.drafting.get(Origin.DRAFT)

    @property
    def head(self) -> LoadedModel | None:
        return self.drafting.get(Origin.HEAD)

    @property
    def all(self) -> tuple[LoadedModel, ...]:
        """The target, then the models that draft."""
        return (self.target, *self.drafting.values())

    def other_sequences(self) -> list["Models"]:
        """Return the same models with their further sequences. A draft model has none."""
        return [
            replace(
                self,
                target=target,
                drafting={name: model.others[number] for name, model in self.drafting.items() if model.others},
            )
            for number, target in enumerate(self.target.others)
        ]


class Slot:
    """One sequence of the loaded models, with its decoder and what it has read of earlier texts."""

    def __init__(self, models: Models, policy: Policy, prefixes: Sequence[PrefixCache]) -> None:
        """`prefixes`: of the target, and of the draft model if there is one."""
        self.models, self.policy, self.prefixes = models, policy, prefixes
        target, draft, head = models.target, models.draft, models.head
        sources = Sources(target.runner, models.text.tokenizer.folder, target.manifest)
        if draft:
            reads = policy.costs.pass_of(Origin.DRAFT)
            sources = replace(
                sources, draft=draft.runner, draft_vocab=draft.draft_vocab, reads=reads, prefixes=prefixes[1]
            )
        if head and isinstance(head.runner, HeadRunner | HydraRunner):
            sources = replace(sources, head=head.runner)
        self.decoder = Decoder(target.runner, drafters_of(sources), policy, prefixes[0])


class LocalEngine:
    """A loaded target, maybe a draft model, and what was learned about them."""

    kind = EngineKind.HEADSTART
    reason = ""  # needed for engines that were not asked for

    def __init__(
        self,
        slot: Slot,
        learned: Measurements | None = None,
        reload: Reload | None = None,
        others: Sequence["LocalEngine"] = (),
        *,
        is_one_of_several: bool = False,
    ) -> None:
        """Start an engine; see `begin`.

        `learned` keeps the policy's costs and calibrations of these models. `reload` loads the target again, in the
        best arithmetic that is left. `others`: engines over the same models, for answers at the same time.
        """
        self._slot: Slot | None = slot  # None while another target is loaded, and once it is closed
        self._learned = learned
        self._reload = reload
        self.others = others
        self._is_one_of_several = is_one_of_several or bool(others)
        self.tokenizer = slot.models.text.tokenizer
        self.sampling: Sampling = slot.models.text.sampling

    @property
    def slot(self) -> Slot:
        assert self._slot, "it is open"
        return self._slot

    @property
    def target(self) -> LoadedModel:
        return self.slot.models.target

    @property
    def draft(self) -> LoadedModel | None:
        return self.slot.models.draft

    @property
    def drafting(self) -> Mapping[str, LoadedModel]:
        return self.slot.models.drafting

    @property
    def policy(self) -> Policy:
        return self.slot.policy

    @property
    def models(self) -> tuple[Manifest, ...]:
        """The manifests of the target and of the models that draft."""
        return tuple(model.manifest for model in self.slot.models.all)

    @property
    def notes(self) -> tuple[Translatable, ...]:
        """Sentences for the user about how the models were loaded."""
        return tuple(note for model in self.slot.models.all for note in model.notes)

    @property
    def slowness(self) -> Translatable | None:
        """The note that our own kernels are not used; None if they are."""
        return self.target.slowness

    @property
    def arithmetic(self) -> str:
        """The name of the target's precision."""
        return name_of(self.target.properties)

    @property
    def is_batch_invariant(self) -> bool:
        """The target's logits do not depend on guesses, nor on how tokens are split into passes."""
        return self.target.is_batch_invariant

    @property
    def context(self) -> int:
        return self.target.runner.context

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, GenerationRequest), "a model that writes answers"
        writer = AnswerWriter(request, self.slot.models.text, self.context)
        if request.tokens_only:
            yield from writer.tokens_alone()
            return
        with self._at_work():
            for event in self._decode(writer, cancel or CancelEvent()):
                yield from writer.take(event)
                if writer.is_ended:
                    break
            yield from writer.rest()
            self._learn()
            yield writer.finish(self.policy.plain_ms, self.policy.ledger_ms)

    def _decode(self, writer: AnswerWriter, cancel: CancelEvent) -> Iterator[Prefill | Round | FinishReason]:
        """Yield the decoder's events. If the target's arithmetic breaks, another target continues from there."""
        note = Translatable()
        while True:
            try:
                for event in self.slot.decoder.run(writer.sequence(cancel)):
                    if isinstance(event, Prefill) and note:
                        event, note = replace(event, note=note), Translatable()  # noqa: PLW2901 - only the first carries the note
                    yield event
            except NonFiniteError:
                pass
            else:
                return
            note = self._replace_target()  # not above: the error refers to the old one

    def _at_work(self) -> AbstractContextManager[None]:
        """Context manager for writing an answer: other answers then count this one as active."""
        runner = self.target.runner
        return runner.at_work() if self._is_one_of_several and isinstance(runner, PagedRunner) else nullcontext()

    def _learn(self) -> None:
        """Store what the policy learned from an answer."""
        if self._learned:
            self._learned.put(_POLICY, self.policy.to_json())
        if self._is_one_of_several:
            self.slot.prefixes[0].keep()  # the next answer in this chat may get another sequence

    def read_ahead(self, request: ConversationRequest) -> Iterator[None]:
        """Read the prompt of a request that may come, a little at each step, so that its answer begins at once.

        Raises what a request with this prompt would raise.
        """
        prompt = self.tokenizer.prompt_of(request, self.context)
        for prefixes in self.slot.prefixes:
            yield from prefixes.read_ahead(prompt, request.keep)

    def store_one(self) -> bool:
        """Write one part of the prompt cache to disk. Return True if there may be more."""
        return any(prefixes.store_one() for prefixes in self.slot.prefixes)

    def forget(self, chats: Collection[str]) -> None:
        """Drop the cached prompts of deleted chats; without any, of all chats on disk."""
        for prefixes in self.slot.prefixes:
            prefixes.forget(chats)
        for other in self.others:
            other.forget(chats)

    def forget_all(self) -> None:
        """Forget all prompts in memory. What is on disk stays."""
        for prefixes in self.slot.prefixes:
            prefixes.clear()
        for model in self.drafting.values():
            model.runner.rollback(0)

    def keep_in(self, folder: Path) -> None:
        """Store cached prompts in another folder than that of the user's chats, as a benchmark does."""
        for prefixes in self.slot.prefixes:
            prefixes.keep_in(folder)

    def record_with(self, policy: Policy) -> None:
        """Use another policy from now on, and store nothing that it learns."""
        self._slot = Slot(self.slot.models, policy, self.slot.prefixes)
        self._learned = None

    def close(self) -> None:
        """Free the models. Closing again does nothing."""
        self._slot, self.others = None, ()

    def _replace_target(self) -> Translatable:
        """Disable the target's arithmetic, load the target in the next best, and return a sentence about it.

        Raises what loading raises, also if no arithmetic is left.
        """
        properties, name = self.target.properties, self.target.manifest.name
        refused = Translatable("it gave results that are not numbers")
        validation.refuse(self.target.measurements, properties, refused)
        if self._reload is None:
            raise BrokenModelError(
                "{name} gave results that are not numbers; load it again, in another precision.", name=name
            )
        drafting, text, policy = self.drafting, self.slot.models.text, self.policy
        of_draft = self.slot.prefixes[1:]
        self._slot = None  # there may be no room for both targets
        target = self._reload()
        self._slot = Slot(Models(target, drafting, text), policy, [_prefixes(target), *of_draft])
        was, now = name_of(properties), name_of(target.properties)
        _log.warning("%s gave results that are not numbers in %s; it goes on in %s", name, was, now)
        return Translatable(
            "{name} gave results that are not numbers in {was}; it goes on in {now}.",
            name=name,
            was=was,
            now=now,
        )


def begin(models: Models, learned: Measurements | None = None, reload: Reload | None = None) -> LocalEngine:
    """Return an engine over loaded models, with what was learned about them; see `LocalEngine`."""
    learned = learned or _learned(models)
    policy = _restored_policy(models, learned)
    for model in models.drafting.values():
        if isinstance(model.runner, PagedRunner | HydraRunner) and isinstance(models.target.runner, PagedRunner):
            model.runner.batcher.draft_for(models.target.runner.batcher)
    prefixes = [_prefixes(model) for model in (models.target, models.draft) if model]
    others = [
        LocalEngine(
            Slot(other, policy.copy(), [prefixes[0].beside(other.target.runner)]), is_one_of_several=True
        )  # they store nothing that they learn
        for other in models.other_sequences()
    ]
    return LocalEngine(Slot(models, policy, prefixes), learned, reload, others)


def load(resolved: ResolvedOptions, tell: Callable[[Phase], None] = lambda _: None) -> LocalEngine:
    """Load and check the models; call `tell` with each phase.

    Raises BrokenModelError, DeviceError or MemoryBudgetError.
    """
    options, draft_spec, head_spec = resolved.options, resolved.draft, resolved.head
    devices.require(options.device)
    if draft_spec and options.draft_device:  # before the target takes its time
        devices.require(options.draft_device, devices.DRAFT_DEVICE)
    memory.require(resolved)
    head = load_head(head_spec, _runner_config(resolved.target, options)) if head_spec else None
    config = target_config(resolved)

    def load_target(watcher: Watcher | None = None) -> LoadedModel:
        tell(Phase.MODEL)
        return load_model(resolved.target, config, watcher)

    with ThreadPoolExecutor(1, "tokenizer") as beside:  # OpenVINO compiles a model on one core
        reading: list[Future[Tokenizer]] = []
        watcher = Watcher(
            on_verified=lambda: reading.append(beside.submit(read_tokenizer, options.target)),
            on_trial=lambda: tell(Phase.PROOF),
            on_decided=lambda: tell(Phase.MODEL),
        )
        target = load_target(watcher)
        tokenizer = reading[0].result()
    draft = None
    if draft_spec and draft_spec != head_spec:
        tell(Phase.DRAFT)
        draft = load_model(draft_spec, draft_config(draft_spec, options))
    tell(Phase.WARM_UP)
    reload = load_target if options.parallel == 1 else None  # other sequences may be using the target
    return begin(Models.of(target, tokenizer, draft, head), reload=reload)


def target_config(resolved: ResolvedOptions) -> RunnerConfig:
    options = resolved.options
    return replace(
        _runner_config(resolved.target, options),
        properties=options.properties,
        precision=options.precision,
        edit=Taps(resolved.head.folder) if resolved.head else None,
    )


def draft_config(draft: ModelSpec, options: LoadOptions) -> RunnerConfig:
    """Return how to run a draft. It need not guess every token, nor agree to the bit, only be fast."""
    return replace(
        _runner_config(draft, options),
        device=options.draft_device or options.device,
        rows=options.draft_vocab,
        decides=False,
        sequences=1,
    )


def _runner_config(spec: ModelSpec, options: LoadOptions) -> RunnerConfig:
    context = memory.context_of(spec.manifest, options.context)
    return RunnerConfig(options.device, context, kv=options.kv_precision, sequences=options.parallel)


def _prefixes(model: LoadedModel) -> PrefixCache:
    """Return a prefix cache. Its files are shared by the same weights, arithmetic and processor."""
    how = [model.measurements.subject, model.properties, getattr(model.runner, "min_tokens", 1)]
    files = PartFiles(paths.kept_prompts(), identity_of(how))
    return PrefixCache(model.runner, memory.prefix_cache_bytes(memory.free_memory()), files)


def _learned(models: Models) -> Measurements:
    target = models.target
    subject: dict[str, object] = {"target": target.measurements.subject, "properties": target.properties}
    for name, model in models.drafting.items():
        subject |= {name: model.measurements.subject, f"{name} properties": model.properties}
        if model.draft_vocab is not None:
            subject |= {f"{name} rows": model.draft_vocab.size}
    return Measurements(paths.measurements_folder(), f"{target.manifest.name}-policy", subject)


def _restored_policy(models: Models, learned: Measurements) -> Policy:
    """Return the stored policy, or a new one. Prices that a trial measured replace the shipped ones once."""
    by_name = {Origin.TARGET.value: models.target, **models.drafting}
    trials = {name: validation.find_verdict(model.measurements, model.properties) for name, model in by_name.items()}
    is_measured = all(trial and trial.ms for name, trial in trials.items() if name != Origin.HEAD)
    policy = Policy.from_json(learned.get(_POLICY))
    if policy is None or (is_measured and not learned.get(_PRICES)):
        curves = {name: _curve(model, trials[name]) for name, model in by_name.items()}
        costs = Costs(curves.pop(Origin.TARGET), curves)
        policy = policy or Policy(costs)
        policy.costs = costs
        learned.put(_POLICY, policy.to_json())
        learned.put(_PRICES, is_measured)
    if models.draft and not models.draft.runner.can_branch:  # other caches get holes when tokens are read again
        policy.costs.passes[Origin.DRAFT] = 1
    if models.head:  # it reads each token once
        policy.costs.passes[Origin.HEAD] = 1
        if isinstance(models.head.runner, HydraRunner):
            policy.costs.without_cache.add(Origin.HEAD)
    return policy


def _curve(model: LoadedModel, trial: validation.Verdict | None) -> Curve:
    if trial and trial.ms:
        saved_ms = 0.0
        if model.draft_vocab is not None:  # the trial's output head was not trimmed
            saved_ms = max(min(trial.ms.values()) - pass_ms(model.runner, 1, repeats=2), 0.0)
        return Curve({size: ms - saved_ms for size, ms in trial.ms.items()}, trial.switch_ms)
    return Curve.prior(pass_ms(model.runner, 1, repeats=2), (VERIFY, pass_ms(model.runner, VERIFY, repeats=2)))
