"""Headstart's own engine: one target with its drafters, from messages to text."""

import copy
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import devices, generation_config, grammar, memory, validation
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import AnswerText, Scorer, echo_of, rest_of, step_of
from headstart.engine.drafters.answer_table import AnswerTable
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
    Tracing,
)
from headstart.engine.grammar import TokenBytes
from headstart.engine.loading import LoadedModel, Place, Watcher, load_head, load_model
from headstart.engine.measurements import Measurements
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.prefix_cache import PartFiles, PrefixCache, identity_of
from headstart.engine.runners.head import HeadRunner, Taps
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import name_of, pass_ms
from headstart.engine.runners.runner import NonFiniteError
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from headstart.engine.tokenizer import Tokenizer, tokens_of
from headstart.engine.trace import Recorder, Trace
from headstart.errors import BrokenModelError, SettingsError, Translatable

_POLICY, _PRICES = "learned policy", "prices are measured"

_log = logging.getLogger(__name__)


class LocalEngine:
    """A loaded target, maybe a draft model, and what was learned about them."""

    kind = EngineKind.HEADSTART
    reason = ""  # the usual engine needs none

    def __init__(
        self,
        target: LoadedModel,
        draft: LoadedModel | None,
        tokenizer: Tokenizer,
        learned: Measurements | None = None,
        tracing: Tracing | None = None,
        reload: Callable[[], LoadedModel] | None = None,
        head: LoadedModel | None = None,
    ) -> None:
        """`learned` keeps the policy's costs and calibrations of this pair; a recording leaves them as they are.

        `reload` loads the target again, in what its arithmetic may be by then.
        """
        drafting = {Origin.DRAFT.value: draft, Origin.HEAD.value: head}
        self.drafting = {name: model for name, model in drafting.items() if model}
        learned = learned or _learned(target, self.drafting)
        self.target = target
        self.draft = draft
        self.tokenizer = tokenizer
        self._learned: Measurements | None = learned
        self._reload = reload
        self._policy = _restored_policy(target, self.drafting, learned, tracing.depth if tracing else None)
        self._trace = Trace(tracing, learned.subject, self._policy) if tracing else None
        passes = self._policy.costs.passes
        if draft and not draft.runner.can_branch:  # what is read again leaves holes in other caches
            passes[Origin.DRAFT] = 1
        if head:  # it reads each token once
            passes[Origin.HEAD] = 1
        self._prefixes = [_prefixes(model) for model in (target, draft) if model]
        self._answers = _answers(target)
        self._decoder = self._new_decoder()
        self._stop_ids = frozenset(target.manifest.tokenizer.stop_ids)
        self.sampling = generation_config.read(tokenizer.folder)
        self._token_bytes = TokenBytes(tokenizer.folder, target.runner.vocabulary, target.manifest.tokenizer.stop_ids)
        runners = target.runner.others if isinstance(target.runner, PagedRunner) else ()
        self.others: list[LocalEngine] = []
        self._is_one_of_several = bool(runners)
        self.others = [copy.copy(self)._become(runner) for runner in runners]  # noqa: SLF001 - of its own kind

    @property
    def models(self) -> tuple[manifests.Manifest, ...]:
        """What is known of the target, then of the models that draft."""
        return tuple(model.manifest for model in (self.target, *self.drafting.values()))

    @property
    def notes(self) -> tuple[Translatable, ...]:
        """What a person should know of how the models were loaded, in sentences."""
        return tuple(note for model in (self.target, *self.drafting.values()) for note in model.notes)

    @property
    def arithmetic(self) -> str:
        """The name of what the target computes in."""
        return name_of(self.target.properties)

    @property
    def is_batch_invariant(self) -> bool:
        """Whether guesses, and all else that decides how tokens are read, leave the target's logits as they are."""
        return self.target.is_batch_invariant

    @property
    def context(self) -> int:
        """Tokens of room."""
        return self.target.runner.context

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        if request.tokens_only:
            yield from tokens_of(request, self.tokenizer, self.context)
            return
        runner = self.target.runner
        with runner.at_work() if isinstance(runner, PagedRunner) else nullcontext():
            for event in self._generate(request, cancel):
                if isinstance(event, Finish) and self._is_one_of_several:
                    self._prefixes[0].keep()  # whoever goes on with this text may get another sequence
                yield event

    def _generate(self, request: Request, cancel: CancelEvent | None) -> Iterator[Event]:
        tally = Tally()
        text = AnswerText(self.tokenizer.decode_many, request.stop, stop_on_repetition=request.stop_on_repetition)
        scorer = None if request.likeliest is None else Scorer(self._token_bytes.decode, request.likeliest)
        prompt = Scorer(self._token_bytes.decode, request.likeliest or 0) if request.echo and scorer else None
        is_echoed = not request.echo
        reason = FinishReason.STOP  # unless the token layer says otherwise, or the text ends it from here
        for event in self._events(request, scorer, prompt, cancel or CancelEvent()):
            if not is_echoed and not isinstance(event, Prefill):
                ids, is_echoed = self.tokenizer.prompt_of(request, self.context), True
                echo = echo_of(request, ids, self.tokenizer.decode_many, prompt)
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
        yield self._finished(text.ended or reason, tally, text)

    def read_ahead(self, request: Request) -> Iterator[None]:
        """Read its prompt, so that an answer to it, or to one that begins alike, begins at once; a little at each step.

        Raises what a request with this prompt would raise.
        """
        prompt = self.tokenizer.prompt_of(request, self.context)
        self._answers.use(request.keep)
        for prefixes in self._prefixes:
            yield from prefixes.read_ahead(prompt, request.keep)

    def store_one(self) -> bool:
        """Write some of what was read to disk, or learn from an answer, as requests want; whether there may be more."""
        return any(prefixes.store_one() for prefixes in self._prefixes) or self._answers.store_one()

    def forget(self, chats: Collection[str]) -> None:
        """Drop what was read of chats that were deleted, and learned; without any, of all that are kept on disk."""
        for prefixes in self._prefixes:
            prefixes.forget(chats)
        self._answers.forget(chats)
        for other in self.others:
            other.forget(chats)

    def forget_all(self) -> None:
        """Read every prompt from its beginning again; what is on disk stays there."""
        for prefixes in self._prefixes:
            prefixes.clear()

    def keep_in(self, folder: Path) -> None:
        """Keep what is read in another folder than that of the user's chats, as a benchmark does."""
        for prefixes in self._prefixes:
            prefixes.keep_in(folder)

    def close(self) -> None:
        """Free the models: the last reference to their memory is dropped here. Closing again does nothing."""
        if self._trace:
            self._trace.close()
        for name in ("_decoder", "_prefixes", "drafting", "target", "draft", "others"):
            vars(self).pop(name, None)

    def _events(
        self, request: Request, scorer: Scorer | None, prompt: Scorer | None, cancel: CancelEvent
    ) -> Iterator[Prefill | Round | FinishReason]:
        """Those of the decoder. Where the target's arithmetic breaks, another target goes on where it stopped."""
        written: list[int] = []
        note = Translatable()
        while True:
            try:
                for event in self._decoder.run(self._job(request, scorer, prompt, tuple(written)), cancel):
                    if isinstance(event, Round):
                        written += [token.id for token in event.tokens]
                    elif isinstance(event, Prefill) and note:
                        event, note = replace(event, note=note), Translatable()  # noqa: PLW2901 - only the first carries the note
                    yield event
            except NonFiniteError:
                note = self._replace_target()
            else:
                return

    def _become(self, runner: PagedRunner) -> "LocalEngine":
        """Of a copy: an engine for answers at the same time. Its drafters need no model; it keeps nothing it learns."""
        self.target, self.draft, self.drafting = replace(self.target, runner=runner), None, {}
        self._policy = Policy.from_json(self._policy.to_json()) or Policy(self._policy.costs)
        self._prefixes, self._answers = [self._prefixes[0].beside(runner)], _answers(self.target)
        self._learned = self._reload = self._trace = None
        self._decoder = self._new_decoder()
        return self

    def _replace_target(self) -> Translatable:
        """Never use this arithmetic again, and load the target in the next; why, in a sentence.

        Raises what loading raises, as where no arithmetic is left.
        """
        broken = self.target
        validation.refuse(broken.measurements, broken.properties, Translatable("it gave results that are not numbers"))
        if self._reload is None:
            raise BrokenModelError(
                "{name} gave results that are not numbers; load it again, in another precision.",
                name=broken.manifest.name,
            )
        del self._decoder, self.target, self._prefixes[0]  # there may be no room for both
        self.target = self._reload()
        self._prefixes.insert(0, _prefixes(self.target))
        self._decoder = self._new_decoder()
        was, now = name_of(broken.properties), name_of(self.target.properties)
        _log.warning("%s gave results that are not numbers in %s; it goes on in %s", broken.manifest.name, was, now)
        return Translatable(
            "{name} gave results that are not numbers in {was}; it goes on in {now}.",
            name=broken.manifest.name,
            was=was,
            now=now,
        )

    def _new_decoder(self) -> Decoder:
        """Of the target as it is loaded now."""
        target, draft, head = self.target, self.draft, self.drafting.get(Origin.HEAD)
        sources = Sources(target.runner, self.tokenizer.folder, target.manifest, answers=self._answers)
        if draft:
            reads = self._policy.costs.pass_of(Origin.DRAFT)
            sources = replace(sources, draft=draft.runner, listed=draft.kept, reads=reads, prefixes=self._prefixes[1])
        if head and isinstance(head.runner, HeadRunner | HydraRunner):
            sources = replace(sources, head=head.runner)
        return Decoder(target.runner, drafters_of(sources), self._policy, self._prefixes[0])

    def _job(self, request: Request, scorer: Scorer | None, prompt: Scorer | None, written: tuple[int, ...]) -> Job:
        if prompt:
            prompt.clear()
        beyond = max(request.bias, default=0)
        if beyond >= self.target.runner.vocabulary:
            raise SettingsError("The model has no token {id}: leave out its bias.", id=beyond)
        job = Job(
            tuple(self.tokenizer.prompt_of(request, self.context)),
            request.max_new_tokens,
            self._stop_ids | self.tokenizer.infill_ends if request.suffix else self._stop_ids,
            request.sampling.settled(self.sampling),
            request.speculation,
            tuple(self.tokenizer.encode(request.prediction)),
            grammar.constraint_for(request, self._token_bytes),
            scorer.note if scorer else None,
            written,
            request.keep,
            request.bias,
            prompt.note if prompt and not written else None,
        )
        if self._trace and not written:
            self._trace.begin(job)
        return job

    def _finished(self, reason: FinishReason, tally: Tally, text: AnswerText) -> Finish:
        """Keep what was learned and add everything up."""
        policy = self._policy
        if self._learned and not isinstance(policy, Recorder):
            self._learned.put(_POLICY, policy.to_json())
        context = self.target.runner.context
        stats = tally.stats(
            plain_ms=policy.plain_ms, ledger_ms=policy.ledger_ms, context_length=context, repeats=text.repeats
        )
        if self._trace:
            self._trace.end(reason, stats, text.token_ids)
        return Finish(reason, stats, text.token_ids)


def load(options: LoadOptions, tell: Callable[[Phase], None] = lambda _: None) -> LocalEngine:
    """Load and check; `tell` is called with each phase.

    Raises BrokenModelError, DeviceError or MemoryBudgetError.
    """
    measured = paths.measurements_folder()
    devices.require(options.device)
    if options.draft and options.draft_device:  # before a target is loaded in vain
        devices.require(options.draft_device, "--draft-device")
    draft_manifest = manifests.read_model(options.draft) if options.draft else None
    memory.require(manifests.read_model(options.target), draft_manifest, options)
    folder = head_of(options, draft_manifest)
    head = load_head(folder, _place(options.target, options), measured) if folder else None
    place = target_place(options, folder)

    def load_target(watcher: Watcher | None = None) -> LoadedModel:
        tell(Phase.MODEL)
        return load_model(options.target, place, measured, watcher)

    with ThreadPoolExecutor(1, "tokenizer") as beside:  # OpenVINO compiles a model on one core
        reading: list[Future[Tokenizer]] = []
        watcher = Watcher(
            when_whole=lambda: reading.append(beside.submit(Tokenizer, options.target)),
            when_tried=lambda: tell(Phase.PROOF),
            when_settled=lambda: tell(Phase.MODEL),
        )
        target = load_target(watcher)
        tokenizer = reading[0].result()
    draft = None
    if options.draft and folder != options.draft:
        tell(Phase.DRAFT)
        draft = load_model(options.draft, draft_place(options.draft, options), measured)
    tell(Phase.WARM_UP)
    reload = load_target if options.parallel == 1 else None  # others may be at work with what would be replaced
    return LocalEngine(target, draft, tokenizer, tracing=options.tracing, reload=reload, head=head)


def head_of(options: LoadOptions, draft: manifests.Manifest | None) -> Path | None:
    """The folder of the EAGLE-3 head: the draft where it is one, or else what the target has of its own."""
    if devices.kind(options.device) != "CPU":  # nothing is known of hidden states elsewhere
        return None
    return options.draft if draft and draft.is_eagle else manifests.head_folder(options.target)


def target_place(options: LoadOptions, head: Path | None = None) -> Place:
    """Where the target runs. `head`: the folder of the EAGLE-3 head that reads its hidden states."""
    edit = Taps(head) if head else None
    place = replace(_place(options.target, options), edit=edit, sequences=options.parallel)
    return replace(place, properties=options.properties, precision=options.precision)


def draft_place(folder: Path, options: LoadOptions) -> Place:
    """Where a draft runs. Its guesses need not agree to the bit, only be fast; nor must every token be guessed."""
    return replace(
        _place(folder, options),
        device=options.draft_device or options.device,
        rows=options.draft_vocab,
        properties=options.draft_properties,
        decides=False,
    )


def _place(folder: Path, options: LoadOptions) -> Place:
    context = memory.context_of(manifests.read_model(folder), options.context)
    return Place(options.device, context, kv=options.kv_precision)


def _prefixes(model: LoadedModel) -> PrefixCache:
    """Their tokens are those of the same weights, in the same arithmetic, on the same processor."""
    how = [model.measurements.subject, model.properties, getattr(model.runner, "min_tokens", 1)]
    files = PartFiles(paths.kept_prompts(), identity_of(how))
    return PrefixCache(model.runner, memory.of_earlier_texts(memory.free_memory()), files)


def _answers(target: LoadedModel) -> AnswerTable:
    """However the target computes, its answers have the same tokens."""
    identity = identity_of(["answers", target.manifest.name, target.manifest.tokenizer.fingerprint])
    return AnswerTable(paths.kept_prompts(), identity, target.runner.vocabulary)


def _learned(target: LoadedModel, drafting: Mapping[str, LoadedModel]) -> Measurements:
    subject: dict[str, object] = {"target": target.measurements.subject, "properties": target.properties}
    for name, model in drafting.items():
        subject |= {name: model.measurements.subject, f"{name} properties": model.properties}
        if model.kept is not None:
            subject |= {f"{name} rows": model.kept.size}
    return Measurements(paths.measurements_folder(), f"{target.manifest.name}-policy", subject)


def _restored_policy(
    target: LoadedModel, drafting: Mapping[str, LoadedModel], learned: Measurements, depth: int | None
) -> Policy:
    """With a depth, one that records. Prices that a trial measured replace shipped ones once."""
    kind = Policy if depth is None else Recorder
    models = {Origin.TARGET.value: target, **drafting}
    trials = {name: validation.known(model.measurements, model.properties) for name, model in models.items()}
    is_measured = all(trial and trial.ms for name, trial in trials.items() if name != Origin.HEAD)
    policy = kind.from_json(learned.get(_POLICY))
    if policy is None or (is_measured and not learned.get(_PRICES)):
        curves = {name: _curve(model, trials[name]) for name, model in models.items()}
        costs = Costs(curves.pop(Origin.TARGET), curves)
        policy = policy or kind(costs)
        policy.costs = costs
        learned.put(_POLICY, policy.to_json())
        learned.put(_PRICES, is_measured)
    if isinstance(policy, Recorder) and depth is not None:
        policy.depth = depth
    return policy


def _curve(model: LoadedModel, trial: validation.Verdict | None) -> Curve:
    if trial and trial.ms:
        return Curve(trial.ms, trial.switch_ms)
    return Curve.shipped(pass_ms(model.runner, 1, repeats=2))
