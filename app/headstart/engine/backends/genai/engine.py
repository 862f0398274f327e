"""OpenVINO GenAI as an engine, one answer at a time.

Tokens and text are converted as in Headstart's own engine, so control tokens and stop strings mean the same.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from headstart.engine import devices, generation_config, loading, memory
from headstart.engine.backends.genai.pipelines import NPU, Batch, Blueprint, Way, Writer, blueprint, configuration
from headstart.engine.cancelling import CancelEvent
from headstart.engine.detokenizer import AnswerText, echo_of, rest_of, step_of
from headstart.engine.engine import (
    Drafter,
    EngineKind,
    Event,
    Finish,
    FinishReason,
    KvPrecision,
    LoadOptions,
    Mode,
    Origin,
    Prefill,
    Request,
    Round,
    Speculation,
    Step,
    Tally,
    Timing,
    Token,
)
from headstart.engine.load_options import ResolvedOptions
from headstart.engine.tokenizer import Tokenizer, tokens_of
from headstart.errors import ContextOverflowError, DeviceError, EngineLostError, SettingsError, Translatable
from headstart.library.manifest import Manifest

_USUAL_LENGTH = 5  # GenAI's own, where a request leaves it open
_GUESSES = 64  # tokens of room for those that go beyond the context
_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample
_OURS = Translatable("use --engine headstart")
_USUAL_NPU_CONTEXT = 2048  # tokens; compiling for more takes minutes and memory
_LEAST_NPU_CONTEXT = 128
_NPU_STEP = 64  # tokens, to which GenAI rounds the longest prompt
_SYMMETRIC = ("int4-sym", "int8-sym", "fp16")


def load(resolved: ResolvedOptions) -> "GenaiEngine":
    """Raises BrokenModelError, DeviceError, MemoryBudgetError or SettingsError."""
    options = resolved.options
    models = tuple(spec.manifest for spec, _ in resolved.models)
    longest_prompt = None
    if NPU in (devices.kind(device) for _, device in resolved.models):
        _require_for_npu(models, options)
        context = npu_context(models[0], options.context)
        options, longest_prompt = replace(options, context=context), context // 2 // _NPU_STEP * _NPU_STEP
        resolved = replace(resolved, options=options)
    memory.require(resolved)
    verified = [loading.verify_files(spec, device) for spec, device in resolved.models]
    context = memory.context_of(models[0], options.context)
    if longest_prompt is None:
        made_of = blueprint(options, verified, room=_GUESSES + _room(models, options))
    else:
        compiled = {"MAX_PROMPT_LEN": longest_prompt, "MIN_RESPONSE_LEN": context - longest_prompt}
        made_of = Blueprint(options, compiled, compiled)
    engine = GenaiEngine(models, made_of, Tokenizer(options.target), context, longest_prompt)
    engine.prepare()
    return engine


@dataclass(frozen=True)
class Guessing:
    """A way to guess, with its settings in GenAI's names. `most`: candidates that are checked in a round."""

    way: Way
    settings: Mapping[str, int] = field(default_factory=dict)
    most: int = 0

    @property
    def origin(self) -> Origin:
        """The origin of accepted tokens."""
        return {Way.PLAIN: Origin.TARGET, Way.LOOKUP: Origin.NGRAM}.get(self.way, Origin.DRAFT)


@dataclass
class Answer:
    """One answer of GenAI: its rounds, as far as GenAI reports them, and why it ended.

    `config` is GenAI's. `most`: tokens that it may have; `limit`: why it ends there.
    """

    prompt: tuple[int, ...]
    config: Any
    most: int
    limit: FinishReason
    guessing: Guessing
    stop_ids: frozenset[int]
    text: AnswerText
    rounds_told: bool = True  # whether what comes at once is a round
    reason: FinishReason = FinishReason.STOP
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """GenAI does not report how much of the prompt it has cached."""
        self.tally.read(Prefill(0, len(self.prompt)))

    def take(self, batch: Batch) -> Step | None:
        """Take a batch; its step, if it has tokens."""
        if not self.most and batch.end is not FinishReason.CANCELLED:  # GenAI writes a token at least
            batch = Batch((), batch.milliseconds, batch.end and FinishReason.LENGTH)
        if batch.end is not None:
            self.reason = self.limit if batch.end is FinishReason.LENGTH else batch.end
        done = self._round(batch)
        if not done.tokens:
            return None
        step = step_of(done, self.text)
        self.tally.add(step.round)
        return step

    def _round(self, batch: Batch) -> Round:
        """GenAI does not report the time for guesses.

        Candidates are as many as were asked for, but one token always follows, and none beside the prompt: where
        prompt lookup finds fewer, GenAI checks as many rows all the same.
        """
        ids = [token for token in batch.tokens if token not in self.stop_ids]
        timing = Timing(verify_ms=batch.milliseconds)
        if self.guessing.way is Way.PLAIN or not self.rounds_told:
            origin = Origin.TARGET if self.guessing.way is Way.PLAIN else Origin.UNKNOWN
            return Round(tuple(Token(token, origin) for token in ids), 0, 0, origin, timing)
        accepted, written = max(0, len(batch.tokens) - 1), self.tally.written
        drafted = min(self.guessing.most, self.most - written - 1) if written else 0
        labels = [self.guessing.origin] * accepted + [Origin.TARGET]
        tokens = tuple(Token(token, origin) for token, origin in zip(ids, labels, strict=False))
        return Round(tokens, drafted, accepted, self.guessing.origin if drafted else Origin.TARGET, timing)


class GenaiEngine:
    """A target, maybe with a draft or an EAGLE-3 head. A change of the way to guess builds a new pipeline."""

    kind = EngineKind.GENAI
    reason = ""  # why this engine was chosen automatically

    def __init__(
        self,
        models: tuple[Manifest, ...],
        made_of: Blueprint,
        tokenizer: Tokenizer,
        context: int,
        longest_prompt: int | None = None,
    ) -> None:
        """`models`: the target, then the draft. `longest_prompt`: tokens that an NPU is compiled for."""
        self.models = models
        self.context = context
        self.tokenizer = tokenizer
        self.sampling = generation_config.read(tokenizer.folder)
        self._made_of = made_of
        self._longest_prompt = longest_prompt
        self._drafting = Way.PLAIN if len(models) == 1 else Way.EAGLE if models[-1].is_eagle else Way.DRAFT
        self._stop_ids = frozenset(models[0].tokenizer.stop_ids)
        self._writer: tuple[Way, Writer] | None = None

    def prepare(self) -> None:
        """Build the pipeline for a usual request. Raises DeviceError."""
        self._writer_for(self._drafting)

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """See Engine.generate. Raises SettingsError for what GenAI would do wrong."""
        if request.tokens_only:
            yield from tokens_of(request, self.tokenizer, self.context)
            return
        answer = self.begin(request)
        yield Prefill(0, len(answer.prompt))
        if request.echo:
            yield echo_of(request, answer.prompt, self.tokenizer.decode_many)
        with closing(self._batches(answer, cancel or CancelEvent())) as batches:
            for batch in batches:
                step = answer.take(batch)
                if step is not None:
                    yield step
                if answer.text.ended:
                    break
        text = answer.text
        yield from rest_of(text)
        stats = answer.tally.stats(plain_ms=None, ledger_ms=0.0, context_length=self.context, repeats=text.repeats)
        yield Finish(text.ended or answer.reason, stats, text.token_ids)

    def close(self) -> None:
        """Free the memory. Closing again does nothing."""
        self._writer = None

    def begin(self, request: Request) -> Answer:
        """A new answer. Raises what `generate` raises before the first token."""
        request = replace(request, sampling=request.sampling.settled(self.sampling))
        chosen = guessing(request, self._drafting, npu=self._longest_prompt is not None)
        text = AnswerText(self.tokenizer.decode_many, request.stop, stop_on_repetition=request.stop_on_repetition)
        prompt = self._prompt(request)
        left = self.context - len(prompt) + 1  # the last token need not be read
        most = min(request.max_new_tokens, left)
        limit = FinishReason.CONTEXT if left < request.max_new_tokens else FinishReason.LENGTH
        stop_ids = self._stop_ids | self.tokenizer.infill_ends if request.suffix else self._stop_ids
        config = configuration(request.sampling, max(most, 1), stop_ids, chosen.settings)
        return Answer(prompt, config, most, limit, chosen, stop_ids, text)

    def _batches(self, answer: Answer, cancel: CancelEvent) -> Generator[Batch, None, None]:
        """A pipeline that failed is not used again: GenAI may go on without guesses and say nothing."""
        writer = self._writer_for(answer.guessing.way)
        answer.rounds_told = writer.rounds_told
        try:
            yield from writer.write(answer.prompt, answer.config, cancel)
        except EngineLostError:
            self._writer = None
            raise

    def _writer_for(self, way: Way) -> Writer:
        if self._writer is None or self._writer[0] is not way:
            self._writer = None  # the memory of the former one is free before the next takes its own
            self._writer = (way, self._made_of.build(way))
        return self._writer[1]

    def _prompt(self, request: Request) -> tuple[int, ...]:
        """What is longer than an NPU was compiled for would be cut, or fail inside the driver."""
        prompt = tuple(self.tokenizer.prompt_of(request, self.context))
        if self._longest_prompt is not None and len(prompt) > self._longest_prompt:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the NPU was compiled for prompts of at most "
                "{prompt}: start a new chat, shorten the text, or load it with a longer --context.",
                count=len(prompt),
                prompt=self._longest_prompt,
            )
        return prompt


def guessing(request: Request, drafting: Way, *, npu: bool) -> Guessing:
    """How to guess for this request; `drafting`: with the draft that is loaded. Raises SettingsError with the way out.

    What GenAI does wrong, it is not asked for.
    """
    _require_simple(request)
    asked = request.speculation
    way = _way(asked, drafting)
    if way is Way.PLAIN:
        return Guessing(way)
    if asked.assistant_confidence_threshold is not None:
        raise SettingsError(
            "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one "
            "round were seen: {ours}, or --num-assistant-tokens alone.",
            ours=_OURS,
        )
    if asked.acceptance_threshold < 1.0:
        raise SettingsError("OpenVINO GenAI has no acceptance threshold: {ours}.", ours=_OURS)
    length = asked.num_assistant_tokens or _USUAL_LENGTH
    if way is Way.LOOKUP:
        if npu:
            raise SettingsError("An NPU takes no guesses from the text: use a draft model, or --speculation off.")
        return Guessing(way, {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}, length)
    if request.sampling.temperature > 0.0:
        raise SettingsError(
            "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue "
            "4190): {ours}, --temperature 0 or --speculation off.",
            ours=_OURS,
        )
    return Guessing(way, {"num_assistant_tokens": length}, length)


def _require_simple(request: Request) -> None:
    if request.sampling.presence_penalty or request.sampling.frequency_penalty:  # the wrong way round below zero
        raise SettingsError(
            "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: "
            "{ours}, or --repetition-penalty.",
            ours=_OURS,
        )
    if request.likeliest is not None:
        raise SettingsError(
            "OpenVINO GenAI is not asked how likely its tokens were: {ours}, or leave out logprobs.", ours=_OURS
        )
    if request.is_bound or request.bias:
        raise SettingsError(
            "OpenVINO GenAI is not asked to keep to a JSON schema, a grammar or tools: {ours}, or leave it out.",
            ours=_OURS,
        )


def _way(asked: Speculation, drafting: Way) -> Way:
    if asked.mode is Mode.OFF:
        return Way.PLAIN
    if asked.drafter is Drafter.TABLE:
        raise SettingsError("OpenVINO GenAI has no table of usual words: {ours}.", ours=_OURS)
    if asked.drafter is Drafter.NGRAM or (drafting is Way.PLAIN and asked.mode is Mode.FIXED):
        return Way.LOOKUP
    return drafting


def npu_context(manifest: Manifest, wanted: int | None) -> int:
    """The context that an NPU is compiled for, in tokens. Raises DeviceError if it is too short."""
    context = min(manifest.context_length, wanted or _USUAL_NPU_CONTEXT)
    if context < _LEAST_NPU_CONTEXT:
        raise DeviceError(
            "An NPU needs a context of at least {least} tokens, not {context}: use another --context.",
            least=_LEAST_NPU_CONTEXT,
            context=context,
        )
    return context


def _room(models: tuple[Manifest, ...], options: LoadOptions) -> int:
    """Tokens whose keys and values may be kept, earlier texts included, in the memory that is free now."""
    free = devices.memory(options.device) or memory.free_memory()
    return memory.room(models, options.context, memory.kv_bits(options.kv_precision), free)


def _require_for_npu(models: tuple[Manifest, ...], options: LoadOptions) -> None:
    """Raises DeviceError or SettingsError for what an NPU does not take."""
    for manifest in models:
        weights = manifest.precision.weights
        if weights not in _SYMMETRIC:
            raise DeviceError(
                "An NPU computes with symmetric weights, but {name} has {weights}: export it with "
                "--weights int4-sym, or use --device CPU.",
                name=manifest.name,
                weights=weights,
            )
    if options.draft_device and options.draft_device.upper() != options.device.upper():
        raise SettingsError("With an NPU, model and draft run on it together: leave out --draft-device.")
    if options.kv_precision is not KvPrecision.AUTO:
        raise SettingsError("An NPU decides itself how it keeps keys and values: leave out --kv-precision.")
