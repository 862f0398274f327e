"""Headstart's own engine: one target with its drafters, from messages to text."""

# Siblings are of the same class.
# ruff: noqa: SLF001

import copy
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from headstart import paths
from headstart.engine import devices, generation_config, grammar, memory, validation
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import AnswerText, Scorer, echo_of, rest_of, step_of
from headstart.engine.drafters.registry import Sources, drafters_of
from headstart.engine.engine import (
    EngineKind,
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Origin,
    Phase,
    Prefill,
    Request,
    Round,
    Tally,
)
from headstart.engine.grammar import TokenBytes
from headstart.engine.load_options import ResolvedOptions
from headstart.engine.loading import LoadedModel, RunnerConfig, Watcher, load_head, load_model
from headstart.engine.measurements import Measurements
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.prefix_cache import PartFiles, PrefixCache, identity_of
from headstart.engine.runners.head import HeadRunner, Taps
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import name_of, pass_ms
from headstart.engine.runners.runner import NonFiniteError
from headstart.engine.sampling import Constraint
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from headstart.engine.thinking import ThinkingConstraint
from headstart.engine.tokenizer import Tokenizer, read_tokenizer, tokens_of
from headstart.errors import BrokenModelError, SettingsError, Translatable
from headstart.library.manifest import Manifest, ModelSpec

_POLICY, _PRICES = "learned policy", "prices are measured"

_log = logging.getLogger(__name__)


class LocalEngine:
    """A loaded target, maybe a draft model, and what was learned about them."""

    kind = EngineKind.HEADSTART
    reason = ""  # needed for engines that were not asked for

    def __init__(
        self,
        target: LoadedModel,
        draft: LoadedModel | None,
        tokenizer: Tokenizer,
        learned: Measurements | None = None,
        reload: Callable[[], LoadedModel] | None = None,
        head: LoadedModel | None = None,
    ) -> None:
        """Start an engine over loaded models.

        `learned` keeps the policy's costs and calibrations of this pair; a recording does not change them.
        `reload` loads the target again, in the best arithmetic that is left.
        """
        drafting = {Origin.DRAFT.value: draft, Origin.HEAD.value: head}
        self.drafting = {name: model for name, model in drafting.items() if model}
        learned = learned or _learned(target, self.drafting)
        self.target = target
        self.draft = draft
        self.tokenizer = tokenizer
        self._learned: Measurements | None = learned
        self._reload = reload
        self.policy = _restored_policy(target, self.drafting, learned)
        passes = self.policy.costs.passes
        if draft and not draft.runner.can_branch:  # other caches get holes when tokens are read again
            passes[Origin.DRAFT] = 1
        if head:  # it reads each token once
            passes[Origin.HEAD] = 1
            if isinstance(head.runner, HydraRunner):
                self.policy.costs.without_cache.add(Origin.HEAD)
        self._prefixes = [_prefixes(model) for model in (target, draft) if model]
        self._decoder = self._new_decoder()
        self._stop_ids = frozenset(target.manifest.tokenizer.stop_ids)
        self.sampling = generation_config.read(tokenizer.folder)
        self._token_bytes = TokenBytes(tokenizer.folder, target.runner.vocabulary, target.manifest.tokenizer.stop_ids)
        self._is_one_of_several = bool(target.others)
        for model in self.drafting.values():
            if isinstance(model.runner, PagedRunner | HydraRunner) and isinstance(target.runner, PagedRunner):
                model.runner.batcher.draft_for(target.runner.batcher)
        self.others: list[LocalEngine] = []
        self.others = [self._sibling(number) for number in range(len(target.others))]

    @property
    def models(self) -> tuple[Manifest, ...]:
        """The manifests of the target and of the models that draft."""
        return tuple(model.manifest for model in (self.target, *self.drafting.values()))

    @property
    def notes(self) -> tuple[Translatable, ...]:
        """Sentences for the user about how the models were loaded."""
        return tuple(note for model in (self.target, *self.drafting.values()) for note in model.notes)

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
        if request.tokens_only:
            yield from tokens_of(request, self.tokenizer, self.context)
            return
        with self._at_work():
            for event in self._generate(request, cancel):
                if isinstance(event, Finish) and self._is_one_of_several:
                    self._prefixes[0].keep()  # the next answer in this chat may get another sequence
                yield event

    def _at_work(self) -> AbstractContextManager[None]:
        """Return a context in which other answers count this one."""
        runner = self.target.runner
        return runner.at_work() if self._is_one_of_several and isinstance(runner, PagedRunner) else nullcontext()

    def _generate(self, request: Request, cancel: CancelEvent | None) -> Iterator[Event]:
        tally = Tally()
        ids = self.tokenizer.prompt_of(request, self.context)
        text = self.tokenizer.answer_text(request, ids)
        scorer = None if request.likeliest is None else Scorer(self._token_bytes.decode, request.likeliest)
        prompt = Scorer(self._token_bytes.decode, request.likeliest or 0) if request.echo and scorer else None
        is_echoed = not request.echo
        reason = FinishReason.STOP  # unless the decoder or the text gives another reason
        for event in self._events(request, ids, scorer, prompt, cancel or CancelEvent()):
            if not is_echoed and not isinstance(event, Prefill):
                is_echoed = True
                echo = echo_of(request, ids, self.tokenizer.texts, prompt)
                if scorer:
                    scorer.start = len(echo.text)
                yield echo
            match event:
                case Prefill():
                    tally.read(event)
                    yield event
                case Round():
                    step = step_of(event, text, scorer)
                    tally.add(step.round)
                    yield step
                case FinishReason():
                    reason = event
            if text.ended:
                break
        yield from rest_of(text, scorer)
        yield self._finish(text.ended or reason, tally, text)

    def read_ahead(self, request: Request) -> Iterator[None]:
        """Read the prompt of a request that may come, a little at each step, so that its answer begins at once.

        Raises what a request with this prompt would raise.
        """
        prompt = self.tokenizer.prompt_of(request, self.context)
        for prefixes in self._prefixes:
            yield from prefixes.read_ahead(prompt, request.keep)

    def store_one(self) -> bool:
        """Write some of what was read to disk. Return True if there may be more."""
        return any(prefixes.store_one() for prefixes in self._prefixes)

    def forget(self, chats: Collection[str]) -> None:
        """Drop what was read of deleted chats; without any, of all that are on disk."""
        for prefixes in self._prefixes:
            prefixes.forget(chats)
        for other in self.others:
            other.forget(chats)

    def forget_all(self) -> None:
        """Forget all prompts in memory. What is on disk stays."""
        for prefixes in self._prefixes:
            prefixes.clear()
        for model in self.drafting.values():
            model.runner.rollback(0)

    def keep_in(self, folder: Path) -> None:
        """Store what is read in another folder than that of the user's chats, as a benchmark does."""
        for prefixes in self._prefixes:
            prefixes.keep_in(folder)

    def stop_learning(self) -> None:
        """Keep nothing of what the policy learns from now on."""
        self._learned = None

    def close(self) -> None:
        """Free the models. Closing again does nothing."""
        for name in ("_decoder", "_prefixes", "drafting", "target", "draft", "others"):
            vars(self).pop(name, None)

    def _events(
        self, request: Request, ids: list[int], scorer: Scorer | None, prompt: Scorer | None, cancel: CancelEvent
    ) -> Iterator[Prefill | Round | FinishReason]:
        """Yield the decoder's events. If the target's arithmetic breaks, another target continues from there."""
        written: list[int] = []
        note = Translatable()
        while True:
            try:
                for event in self._decoder.run(self._job(request, ids, scorer, prompt, tuple(written)), cancel):
                    if isinstance(event, Round):
                        written += [token.id for token in event.tokens]
                    elif isinstance(event, Prefill) and note:
                        event, note = replace(event, note=note), Translatable()  # noqa: PLW2901 - only the first carries the note
                    yield event
            except NonFiniteError:
                pass
            else:
                return
            note = self._replace_target()  # not above: the error refers to the old one

    def _sibling(self, number: int) -> "LocalEngine":
        """Return an engine for answers at the same time. It stores nothing that it learns.

        It shares the models, the tokenizer and everything that answers do not change.
        """
        sibling = copy.copy(self)
        sibling.target = self.target.others[number]
        sibling.drafting = {name: model.others[number] for name, model in self.drafting.items() if model.others}
        sibling.draft = None  # it drafts for one answer at a time
        sibling.policy = Policy.from_json(self.policy.to_json()) or Policy(self.policy.costs)
        sibling.policy.costs.passes.update(self.policy.costs.passes)
        sibling.policy.costs.without_cache.update(self.policy.costs.without_cache)
        sibling._prefixes = [self._prefixes[0].beside(sibling.target.runner)]
        sibling._learned = sibling._reload = None
        sibling._decoder = sibling._new_decoder()
        return sibling

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
        del self._decoder, self.target, self._prefixes[0]  # there may be no room for both
        self.target = self._reload()
        self._prefixes.insert(0, _prefixes(self.target))
        self._decoder = self._new_decoder()
        was, now = name_of(properties), name_of(self.target.properties)
        _log.warning("%s gave results that are not numbers in %s; it goes on in %s", name, was, now)
        return Translatable(
            "{name} gave results that are not numbers in {was}; it goes on in {now}.",
            name=name,
            was=was,
            now=now,
        )

    def _new_decoder(self) -> Decoder:
        """Return a decoder for the models as they are loaded now."""
        target, draft, head = self.target, self.draft, self.drafting.get(Origin.HEAD)
        sources = Sources(target.runner, self.tokenizer.folder, target.manifest)
        if draft:
            reads = self.policy.costs.pass_of(Origin.DRAFT)
            sources = replace(
                sources, draft=draft.runner, draft_vocab=draft.draft_vocab, reads=reads, prefixes=self._prefixes[1]
            )
        if head and isinstance(head.runner, HeadRunner | HydraRunner):
            sources = replace(sources, head=head.runner)
        return Decoder(target.runner, drafters_of(sources), self.policy, self._prefixes[0])

    def _job(
        self,
        request: Request,
        ids: list[int],
        scorer: Scorer | None,
        prompt: Scorer | None,
        written: tuple[int, ...],
    ) -> Job:
        if prompt:
            prompt.clear()
        beyond = max(request.sampling.logit_bias, default=0)
        if beyond >= self.target.runner.vocabulary:
            raise SettingsError("The model has no token {id}: leave out its bias.", id=beyond)
        return Job(
            tuple(ids),
            request.max_new_tokens,
            self._stop_ids | self.tokenizer.infill_ends if request.suffix else self._stop_ids,
            request.sampling.settled(self.sampling),
            request.speculation,
            tuple(self.tokenizer.encode(request.prediction)),
            self._constraint(request, ids),
            scorer.note if scorer else None,
            written,
            request.keep,
            prompt.note if prompt and not written else None,
        )

    def _constraint(self, request: Request, ids: list[int]) -> Constraint | None:
        """Return the constraint of an answer and of the section before it, if there is one."""
        held = replace(request, tools=None) if self.tokenizer.tool_format(request) else request
        constraint, thinking = grammar.constraint_for(held, self._token_bytes), self.tokenizer.thinking_of(request)
        if thinking is None:
            return constraint
        if constraint is None and request.thinking_budget is None and not thinking.skip_ids:
            return None
        return ThinkingConstraint(
            thinking,
            constraint,
            self.target.runner.vocabulary,
            self._stop_ids,
            thinking.reader_of(request.messages, ids),
            request.thinking_budget,
        )

    def _finish(self, reason: FinishReason, tally: Tally, text: AnswerText) -> Finish:
        """Store what was learned. Return the end of the answer, with its statistics."""
        policy = self.policy
        if self._learned:
            self._learned.put(_POLICY, policy.to_json())
        context = self.target.runner.context
        stats = tally.stats(
            plain_ms=policy.plain_ms,
            ledger_ms=policy.ledger_ms,
            context_length=context,
            repeats=text.repeats,
            thinking_tokens=text.thinking_tokens,
        )
        return Finish(reason, stats, text.token_ids, stop_text=text.stop_text)


def load(resolved: ResolvedOptions, tell: Callable[[Phase], None] = lambda _: None) -> LocalEngine:
    """Load and check the models; `tell` is called with each phase.

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
    return LocalEngine(target, draft, tokenizer, reload=reload, head=head)


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
        properties=options.draft_properties,
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


def _learned(target: LoadedModel, drafting: Mapping[str, LoadedModel]) -> Measurements:
    subject: dict[str, object] = {"target": target.measurements.subject, "properties": target.properties}
    for name, model in drafting.items():
        subject |= {name: model.measurements.subject, f"{name} properties": model.properties}
        if model.draft_vocab is not None:
            subject |= {f"{name} rows": model.draft_vocab.size}
    return Measurements(paths.measurements_folder(), f"{target.manifest.name}-policy", subject)


def _restored_policy(target: LoadedModel, drafting: Mapping[str, LoadedModel], learned: Measurements) -> Policy:
    """Return the stored policy, or a new one. Prices that a trial measured replace the shipped ones once."""
    models = {Origin.TARGET.value: target, **drafting}
    trials = {name: validation.find_verdict(model.measurements, model.properties) for name, model in models.items()}
    is_measured = all(trial and trial.ms for name, trial in trials.items() if name != Origin.HEAD)
    policy = Policy.from_json(learned.get(_POLICY))
    if policy is None or (is_measured and not learned.get(_PRICES)):
        curves = {name: _curve(model, trials[name]) for name, model in models.items()}
        costs = Costs(curves.pop(Origin.TARGET), curves)
        policy = policy or Policy(costs)
        policy.costs = costs
        learned.put(_POLICY, policy.to_json())
        learned.put(_PRICES, is_measured)
    return policy


def _curve(model: LoadedModel, trial: validation.Verdict | None) -> Curve:
    if trial and trial.ms:
        return Curve(trial.ms, trial.switch_ms)
    return Curve.shipped(pass_ms(model.runner, 1, repeats=2))
