"""OpenVINO GenAI as an engine, one answer at a time.

Tokens and text are converted as in Headstart's own engine, so control tokens and stop strings mean the same.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from headstart.engine.answer_writer import AnswerWriter, ModelText
from headstart.engine.backends.genai.pipelines import (
    NPU,
    Batch,
    Blueprint,
    PipelineKind,
    Writer,
    configuration,
    make_blueprint,
)
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    EngineKind,
    Event,
    FinishReason,
    GenerationRequest,
    KvPrecision,
    LoadOptions,
    Mode,
    Origin,
    Prefill,
    Request,
    Round,
    Speculation,
    Step,
    Timing,
    Token,
)
from headstart.engine.hardware import devices
from headstart.engine.loading import loading, memory
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.engine.text.tokenizer import Tokenizer, read_tokenizer
from headstart.errors import ContextOverflowError, DeviceError, EngineLostError, SettingsError, Translatable
from headstart.library.manifest import Manifest

_USUAL_LENGTH = 5  # GenAI's default
_GUESSES = 64  # tokens of room for guesses beyond the context
_NGRAM_SIZE = 3  # for prompt lookup, as in GenAI's sample
_REMEDY = Translatable("use --engine headstart")
_USUAL_NPU_CONTEXT = 2048  # tokens; compiling for more takes minutes and memory
_MIN_NPU_CONTEXT = 128
_NPU_STEP = 64  # tokens; GenAI rounds the longest prompt to a multiple
_SUPPORTED = {  # fields of a request; those that only save time may be ignored
    "messages", "max_new_tokens", "speculation", "stop", "prompt", "suffix", "add_special",
    "prediction", "stop_on_repetition", "keep", "tokens_only", "echo", "thinking", "effort",
}  # fmt: skip
_DRAFTERS = (Drafter.ANY, Drafter.DRAFT, Drafter.HEAD, Drafter.NGRAM)
_SYMMETRIC = ("int4-sym", "int8-sym", "fp16")


def load(resolved: ResolvedOptions) -> "GenaiEngine":
    """Load models. Raises BrokenModelError, DeviceError, MemoryBudgetError and SettingsError."""
    options = resolved.options
    models = tuple(spec.manifest for spec, _ in resolved.models)
    max_prompt_tokens = None
    for manifest in models:
        if manifest.precision.keeps_blocks:
            raise SettingsError(
                "{name} has the blocks of its GGUF file, which OpenVINO GenAI cannot read: {ours}, or export it again "
                "with --weights int8.",
                name=manifest.name,
                ours=_REMEDY,
            )
    if NPU in (devices.kind(device) for _, device in resolved.models):
        _require_for_npu(models, options)
        context = npu_context(models[0], options.context)
        options, max_prompt_tokens = replace(options, context=context), context // 2 // _NPU_STEP * _NPU_STEP
        resolved = replace(resolved, options=options)
    # It runs no head of ours, and writes one answer at a time.
    memory.require(replace(resolved, head=None, options=replace(options, parallel=1)), is_own=False)
    verified = [loading.verify_files(spec, device) for spec, device in resolved.models]
    context = memory.context_of(models[0], options.context)
    if max_prompt_tokens is None:
        blueprint = make_blueprint(options, verified, room=_GUESSES + _cache_room(models, options))
    else:
        compiled = {"MAX_PROMPT_LEN": max_prompt_tokens, "MIN_RESPONSE_LEN": context - max_prompt_tokens}
        blueprint = Blueprint(options, compiled, compiled)
    engine = GenaiEngine(models, blueprint, read_tokenizer(options.target), context, max_prompt_tokens)
    engine.prepare()
    return engine


@dataclass(frozen=True)
class Guessing:
    """One kind of guessing, with its settings by GenAI's names."""

    kind: PipelineKind
    settings: Mapping[str, int] = field(default_factory=dict)
    max_guesses: int = 0  # checked in a round

    @property
    def origin(self) -> Origin:
        """The origin of accepted tokens."""
        return {PipelineKind.PLAIN: Origin.TARGET, PipelineKind.LOOKUP: Origin.NGRAM}.get(self.kind, Origin.DRAFT)


@dataclass
class GenAIAnswer:
    """One answer of GenAI: its rounds, as far as GenAI reports them, and why it ended."""

    writer: AnswerWriter
    config: Any  # GenAI's
    max_tokens: int
    limit: FinishReason  # why it ends at `max_tokens`
    guessing: Guessing
    has_rounds: bool = True  # a batch is a round

    def take(self, batch: Batch) -> Iterator[Prefill | Step]:
        """Add a batch. Yield its step, unless it has no tokens."""
        if not self.max_tokens and batch.end is not FinishReason.CANCELLED:  # GenAI writes at least one token
            batch = Batch((), batch.milliseconds, batch.end and FinishReason.LENGTH)
        if batch.end is not None:
            yield from self.writer.take(self.limit if batch.end is FinishReason.LENGTH else batch.end)
        round_ = self._round(batch)
        if round_.tokens:
            yield from self.writer.take(round_)

    def _round(self, batch: Batch) -> Round:
        """Return a batch as a round. GenAI does not report the time for guesses.

        It checks the requested number of candidates, but one token always follows, and the prompt's pass has
        none. If prompt lookup finds fewer, GenAI checks as many rows all the same.
        """
        ids = [token for token in batch.tokens if token not in self.writer.stop_ids]
        timing = Timing(verify_ms=batch.milliseconds)
        if self.guessing.kind is PipelineKind.PLAIN or not self.has_rounds:
            origin = Origin.TARGET if self.guessing.kind is PipelineKind.PLAIN else Origin.UNKNOWN
            return Round(tuple(Token(token, origin) for token in ids), 0, 0, origin, timing)
        accepted, written = max(0, len(batch.tokens) - 1), self.writer.num_written
        drafted = min(self.guessing.max_guesses, self.max_tokens - written - 1) if written else 0
        labels = [self.guessing.origin] * accepted + [Origin.TARGET]
        tokens = tuple(Token(token, origin) for token, origin in zip(ids, labels, strict=False))
        return Round(tokens, drafted, accepted, self.guessing.origin if drafted else Origin.TARGET, timing)


class GenaiEngine:
    """A target, maybe with a draft or an EAGLE-3 head. Each way to guess needs its own pipeline."""

    kind = EngineKind.GENAI
    reason = ""  # why this engine was chosen automatically
    # It reports none of these of its models, and writes one answer at a time.
    arithmetic = ""
    is_batch_invariant = False
    notes: tuple[Translatable, ...] = ()
    slowness: Translatable | None = None
    others: tuple[()] = ()

    def __init__(
        self,
        models: tuple[Manifest, ...],
        blueprint: Blueprint,
        tokenizer: Tokenizer,
        context: int,
        max_prompt_tokens: int | None = None,
    ) -> None:
        """Create an engine without a pipeline. `models` are the target, then the draft.

        `max_prompt_tokens` is the number of tokens that an NPU is compiled for.
        """
        self.models = models
        self.context = context
        self.tokenizer = tokenizer
        self._text = ModelText.read(tokenizer, models[0], models[0].tokenizer.vocabulary)
        self.sampling = self._text.sampling
        self._blueprint = blueprint
        self._max_prompt_tokens = max_prompt_tokens
        self._drafting = (
            PipelineKind.PLAIN
            if len(models) == 1
            else PipelineKind.EAGLE
            if models[-1].is_eagle
            else PipelineKind.DRAFT
        )
        self._writer: tuple[PipelineKind, Writer] | None = None

    def prepare(self) -> None:
        """Build the pipeline for a usual request. Raises DeviceError."""
        self._writer_for(self._drafting)

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        """Yield the events of an answer. Raises SettingsError for a request that GenAI would answer wrongly."""
        assert isinstance(request, GenerationRequest), "a model that writes answers"
        if request.tokens_only:
            yield from AnswerWriter(request, self._text, self.context).tokens_alone()
            return
        answer = self.begin(request)
        writer = answer.writer
        yield from writer.take(Prefill(0, len(writer.prompt)))
        with closing(self._batches(answer, cancel or CancelEvent())) as batches:
            for batch in batches:
                yield from answer.take(batch)
                if writer.is_ended:
                    break
        yield from writer.rest()
        yield writer.finish(plain_ms=None, ledger_ms=0.0)

    def close(self) -> None:
        """Free the memory. Closing again does nothing."""
        self._writer = None

    def begin(self, request: GenerationRequest) -> GenAIAnswer:
        """Return a new answer. Raises what `generate` raises before the first token."""
        chosen = guessing(request, self._drafting, npu=self._max_prompt_tokens is not None)
        writer = AnswerWriter(request, self._text, self.context)
        self._require_compiled(len(writer.prompt))
        left = self.context - len(writer.prompt)
        max_tokens = min(request.max_new_tokens, left)
        limit = FinishReason.CONTEXT if left < request.max_new_tokens else FinishReason.LENGTH
        config = configuration(writer.sampling, max(max_tokens, 1), writer.stop_ids, chosen.settings)
        return GenAIAnswer(writer, config, max_tokens, limit, chosen)

    def _batches(self, answer: GenAIAnswer, cancel: CancelEvent) -> Generator[Batch, None, None]:
        """Yield the batches of an answer. A pipeline that failed is dropped: it might silently stop guessing."""
        writer = self._writer_for(answer.guessing.kind)
        answer.has_rounds = writer.has_rounds
        try:
            yield from writer.write(answer.writer.prompt, answer.config, cancel)
        except EngineLostError:
            self._writer = None
            raise

    def _writer_for(self, kind: PipelineKind) -> Writer:
        if self._writer is None or self._writer[0] is not kind:
            self._writer = None  # free its memory before the next one is built
            self._writer = (kind, self._blueprint.build(kind))
        return self._writer[1]

    def _require_compiled(self, count: int) -> None:
        """Raise ContextOverflowError if a prompt of `count` tokens is longer than an NPU was compiled for."""
        if self._max_prompt_tokens is not None and count > self._max_prompt_tokens:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the NPU was compiled for prompts of at most "
                "{prompt}: start a new chat, shorten the text, or load it with a longer --context.",
                count=count,
                prompt=self._max_prompt_tokens,
            )


def guessing(request: GenerationRequest, drafting: PipelineKind, *, npu: bool) -> Guessing:
    """Return the settings for guessing of a request; `drafting`: the kind of the loaded draft.

    Raises SettingsError, with a remedy, for what GenAI does wrong.
    """
    _require_simple(request)
    speculation = request.speculation
    kind = _kind(speculation, drafting)
    if kind is PipelineKind.PLAIN:
        return Guessing(kind)
    if speculation.assistant_confidence_threshold is not None:
        raise SettingsError(
            "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one "
            "round were seen: {ours}, or --num-assistant-tokens alone.",
            ours=_REMEDY,
        )
    if speculation.acceptance_threshold < 1.0:
        raise SettingsError("OpenVINO GenAI has no acceptance threshold: {ours}.", ours=_REMEDY)
    length = speculation.num_assistant_tokens or _USUAL_LENGTH
    if kind is PipelineKind.LOOKUP:
        if npu:
            raise SettingsError("An NPU takes no guesses from the text: use a draft model, or --speculation off.")
        return Guessing(kind, {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}, length)
    if request.sampling.temperature > 0.0:
        raise SettingsError(
            "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue "
            "4190): {ours}, --temperature 0 or --speculation off.",
            ours=_REMEDY,
        )
    return Guessing(kind, {"num_assistant_tokens": length}, length)


def _require_simple(request: GenerationRequest) -> None:
    if request.sampling.presence_penalty or request.sampling.frequency_penalty:  # GenAI raises negative logits
        raise SettingsError(
            "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: "
            "{ours}, or --repetition-penalty.",
            ours=_REMEDY,
        )
    if request.top_logprobs is not None:
        raise SettingsError(
            "OpenVINO GenAI is not asked how likely its tokens were: {ours}, or leave out logprobs.", ours=_REMEDY
        )
    if isinstance(request, ConversationRequest) and request.thinking_budget is not None:
        raise SettingsError("OpenVINO GenAI cannot limit thinking: {ours}, or leave out the budget.", ours=_REMEDY)
    if request.unsupported_fields(_SUPPORTED):
        raise SettingsError(
            "OpenVINO GenAI is not asked to keep to a JSON schema, a grammar or tools: {ours}, or leave it out.",
            ours=_REMEDY,
        )


def _kind(speculation: Speculation, drafting: PipelineKind) -> PipelineKind:
    if speculation.mode is Mode.OFF:
        return PipelineKind.PLAIN
    if speculation.drafter not in _DRAFTERS:
        raise SettingsError("OpenVINO GenAI has no drafter {name}: {ours}.", name=speculation.drafter, ours=_REMEDY)
    if speculation.drafter is Drafter.NGRAM or (drafting is PipelineKind.PLAIN and speculation.mode is Mode.FIXED):
        return PipelineKind.LOOKUP
    return drafting


def npu_context(manifest: Manifest, requested: int | None) -> int:
    """Return the context that an NPU is compiled for, in tokens. Raises DeviceError if it is too short."""
    context = min(manifest.context_length, requested or _USUAL_NPU_CONTEXT)
    if context < _MIN_NPU_CONTEXT:
        raise DeviceError(
            "An NPU needs a context of at least {least} tokens, not {context}: use another --context.",
            least=_MIN_NPU_CONTEXT,
            context=context,
        )
    return context


def _cache_room(models: tuple[Manifest, ...], options: LoadOptions) -> int:
    """Return how many tokens the KV cache may hold in the free memory, earlier texts included."""
    free = devices.memory(options.device) or memory.free_memory()
    return memory.room(models, options.context, memory.kv_bits(options.kv_precision), free)


def _require_for_npu(models: tuple[Manifest, ...], options: LoadOptions) -> None:
    """Raise DeviceError or SettingsError for what an NPU does not support."""
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
