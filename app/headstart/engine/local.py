"""Headstart's own engine: one target with its drafters, from messages to text."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import devices, generation_config, grammar, memory, validation
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import AnswerText, Scorer, rest_of, step_of
from headstart.engine.drafters.registry import Sources, drafters_of
from headstart.engine.engine import (
    EngineKind,
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Numerics,
    Phase,
    Prefill,
    Request,
    Round,
    Tally,
    Tracing,
)
from headstart.engine.grammar import Spelling
from headstart.engine.loading import LoadedModel, Place, Watcher, load_model
from headstart.engine.measurements import Measurements
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.precision import name_of, pass_ms
from headstart.engine.runners.runner import NonFiniteError
from headstart.engine.sequence import Job
from headstart.engine.speculative import Decoder
from headstart.engine.tokenizer import Tokenizer
from headstart.engine.trace import Recorder, Trace
from headstart.errors import BrokenModelError, Translatable

_POLICY, _PRICES = "learned policy", "prices are measured"

_log = logging.getLogger(__name__)


class LocalEngine:
    """A loaded target, maybe a draft model, and what was learned about them."""

    kind = EngineKind.HEADSTART
    reason = ""  # nobody asks why

    def __init__(
        self,
        target: LoadedModel,
        draft: LoadedModel | None,
        tokenizer: Tokenizer,
        learned: Measurements,
        tracing: Tracing | None = None,
        reload: Callable[[], LoadedModel] | None = None,
    ) -> None:
        """`learned` keeps the policy's costs and calibrations of this pair; a recording leaves them as they are.

        `reload` loads the target again, in what its arithmetic may be by then.
        """
        self.target = target
        self.draft = draft
        self.tokenizer = tokenizer
        self._learned = learned
        self._reload = reload
        self._policy = _restored_policy(target, draft, learned, tracing.depth if tracing else None)
        self._trace = Trace(tracing, learned.subject, self._policy) if tracing else None
        small, listed = (draft.runner, draft.kept) if draft else (None, None)
        self._drafters = drafters_of(Sources(target.runner, tokenizer.folder, target.manifest, small, listed))
        self._decoder = Decoder(target.runner, self._drafters, self._policy)
        self._stop_ids = frozenset(target.manifest.tokenizer.stop_ids)
        self.sampling = generation_config.read(tokenizer.folder)
        self._spelling = Spelling(tokenizer.folder, target.runner.vocabulary, target.manifest.tokenizer.stop_ids)

    @property
    def models(self) -> tuple[manifests.Manifest, ...]:
        """What is known of the target, then of the draft."""
        return tuple(model.manifest for model in (self.target, self.draft) if model)

    @property
    def notes(self) -> tuple[Translatable, ...]:
        """What a person should know of how the models were loaded, in sentences."""
        return tuple(note for model in (self.target, self.draft) if model for note in model.notes)

    @property
    def context(self) -> int:
        """Tokens of room."""
        return self.target.runner.context

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate."""
        tally = Tally()
        text = AnswerText(self.tokenizer.decode_many, request.stop, stop_on_repetition=request.stop_on_repetition)
        scorer = None if request.likeliest is None else Scorer(self._spelling.spell, request.likeliest)
        reason = FinishReason.STOP  # unless the token layer says otherwise, or the text ends it from here
        for event in self._events(request, scorer, cancel or CancelEvent()):
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

    def close(self) -> None:
        """Free the models: the last reference to their memory is dropped here. Closing again does nothing."""
        if self._trace:
            self._trace.close()
        for name in ("_decoder", "_drafters", "target", "draft"):
            vars(self).pop(name, None)

    def _events(
        self, request: Request, scorer: Scorer | None, cancel: CancelEvent
    ) -> Iterator[Prefill | Round | FinishReason]:
        """Those of the decoder. Where the target's arithmetic breaks, another target goes on where it stopped."""
        written: list[int] = []
        note = Translatable()
        while True:
            try:
                for event in self._decoder.run(self._job(request, scorer, tuple(written)), cancel):
                    if isinstance(event, Round):
                        written += [token.id for token in event.tokens]
                    elif isinstance(event, Prefill) and note:
                        event, note = replace(event, note=note), Translatable()  # noqa: PLW2901 - the first one tells why
                    yield event
            except NonFiniteError:
                note = self._replace_target()
            else:
                return

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
        del self._decoder, self.target  # there may be no room for both
        self.target = self._reload()
        self._decoder = Decoder(self.target.runner, self._drafters, self._policy)
        was, now = name_of(broken.properties), name_of(self.target.properties)
        _log.warning("%s gave results that are not numbers in %s; it goes on in %s", broken.manifest.name, was, now)
        return Translatable(
            "{name} gave results that are not numbers in {was}; it goes on in {now}.",
            name=broken.manifest.name,
            was=was,
            now=now,
        )

    def _job(self, request: Request, scorer: Scorer | None, written: tuple[int, ...]) -> Job:
        job = Job(
            tuple(self.tokenizer.prompt_of(request, self.context)),
            request.max_new_tokens,
            self._stop_ids,
            request.sampling.settled(self.sampling),
            request.speculation,
            tuple(self.tokenizer.encode(request.prediction)),
            grammar.form(request.schema, self._spelling) if request.schema else None,
            scorer.note if scorer else None,
            written,
        )
        if self._trace and not written:
            self._trace.begin(job)
        return job

    def _finished(self, reason: FinishReason, tally: Tally, text: AnswerText) -> Finish:
        """Keep what was learned and add everything up."""
        policy = self._policy
        if not isinstance(policy, Recorder):
            self._learned.put(_POLICY, policy.to_json())
        context = self.target.runner.context
        stats = tally.stats(
            plain_ms=policy.plain_ms, ledger_ms=policy.ledger_ms, context_length=context, repeats=text.repeats
        )
        if self._trace:
            self._trace.end(reason, stats, text.token_ids)
        return Finish(reason, stats, text.token_ids)


def load(options: LoadOptions, tell: Callable[[Phase], None] = lambda _: None) -> LocalEngine:
    """Load and check. `tell` hears what takes the time.

    Raises BrokenModelError, DeviceError or MemoryBudgetError.
    """
    measured = paths.measurements_folder()
    _require_devices(options)
    _require_room(options)
    place = target_place(options)
    place_of_draft = draft_place(options.draft, options) if options.draft else None
    tell(Phase.MODEL)
    target, tokenizer = _with_tokenizer(options.target, place, measured, tell)
    draft = None
    if options.draft and place_of_draft:
        tell(Phase.DRAFT)
        draft = load_model(options.draft, place_of_draft, measured)
    tell(Phase.WARM_UP)

    def reload() -> LoadedModel:
        tell(Phase.MODEL)
        return load_model(options.target, place, measured)

    return LocalEngine(target, draft, tokenizer, _learned(target, draft), options.tracing, reload)


def _with_tokenizer(
    folder: Path, place: Place, measured: Path, tell: Callable[[Phase], None]
) -> tuple[LoadedModel, Tokenizer]:
    """Both are made ready at the same time: OpenVINO compiles a model on one core."""
    reading: list[Future[Tokenizer]] = []
    with ThreadPoolExecutor(1, "tokenizer") as beside:
        watcher = Watcher(
            when_whole=lambda: reading.append(beside.submit(Tokenizer, folder)),
            when_tried=lambda: tell(Phase.PROOF),
            when_settled=lambda: tell(Phase.MODEL),
        )
        model = load_model(folder, place, measured, watcher)
        return model, reading[0].result()


def joined(target: LoadedModel, draft: LoadedModel | None, tokenizer: Tokenizer) -> LocalEngine:
    """The engine of loaded models, with what was learned about them before."""
    return LocalEngine(target, draft, tokenizer, _learned(target, draft))


def _require_devices(options: LoadOptions) -> None:
    """Before a target has been loaded for a draft that has no place."""
    devices.require(options.device)
    if options.draft and options.draft_device:
        devices.require(options.draft_device, "--draft-device")


def target_place(options: LoadOptions) -> Place:
    """Where the target runs."""
    return replace(_place(options.target, options), properties=options.properties, precision=options.precision)


def draft_place(folder: Path, options: LoadOptions) -> Place:
    """Where a draft runs. A guess need not be exact, only fast; nor must every token be guessed."""
    return replace(
        _place(folder, options),
        device=options.draft_device or options.device,
        numerics=Numerics.FAST,
        rows=options.draft_vocab,
        properties=options.draft_properties,
    )


def _require_room(options: LoadOptions) -> None:
    draft = manifests.read_model(options.draft) if options.draft else None
    memory.require(manifests.read_model(options.target), draft, options)


def _place(folder: Path, options: LoadOptions) -> Place:
    context = memory.context_of(manifests.read_model(folder), options.context)
    return Place(options.device, options.numerics, context, kv=options.kv_precision)


def _learned(target: LoadedModel, draft: LoadedModel | None) -> Measurements:
    subject: dict[str, object] = {"target": target.measurements.subject, "properties": target.properties}
    if draft:
        subject |= {"draft": draft.measurements.subject, "draft properties": draft.properties}
        if draft.kept is not None:
            subject |= {"draft rows": draft.kept.size}
    return Measurements(paths.measurements_folder(), f"{target.manifest.name}-policy", subject)


def _restored_policy(
    target: LoadedModel, draft: LoadedModel | None, learned: Measurements, depth: int | None
) -> Policy:
    """With a depth, one that records."""
    kind = Policy if depth is None else Recorder
    known, curves = learned.get(_POLICY), [_measured_curve(model) for model in (target, draft) if model]
    measured = all(curves)
    policy = kind.from_json(known)
    if policy is None or (measured and not learned.get(_PRICES)):
        models = (model for model in (target, draft) if model)
        costs = Costs(*(curve or _shipped_curve(model) for curve, model in zip(curves, models, strict=True)))
        policy = policy or kind(costs)
        policy.costs = costs
        learned.put(_POLICY, policy.to_json())
        learned.put(_PRICES, measured)
    if isinstance(policy, Recorder) and depth is not None:
        policy.depth = depth
    return policy


def _measured_curve(model: LoadedModel) -> Curve | None:
    """What a trial measured in what the model runs with; None where none did."""
    found = validation.known(model.measurements, model.properties)
    return Curve(found.ms, found.switch_ms) if found and found.ms else None


def _shipped_curve(model: LoadedModel) -> Curve:
    return Curve.shipped(pass_ms(model.runner, 1, repeats=2))
