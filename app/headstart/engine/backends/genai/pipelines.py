"""OpenVINO GenAI's pipelines: stepped on CPU and GPU, stateful on an NPU."""

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, KvPrecision, LoadOptions, Sampling
from headstart.engine.hardware import devices
from headstart.engine.hardware.runtime import openvino, openvino_genai, thread_limit
from headstart.engine.loading.loading import VerifiedModel, fast_properties, unsupported_reason
from headstart.errors import DeviceError, EngineLostError, Translatable
from headstart.parameters import declared

NPU = "NPU"
_UNMEASURED = {"PERFORMANCE_HINT": "LATENCY"}
_ALL = 2**63 - 1
_ENDS = {"STOP": FinishReason.STOP, "LENGTH": FinishReason.LENGTH}


class PipelineKind(StrEnum):
    """The kinds of guessing; each needs a pipeline of its own."""

    PLAIN = "plain"
    DRAFT = "draft"
    EAGLE = "EAGLE-3"
    LOOKUP = "prompt lookup"


@dataclass(frozen=True)
class Batch:
    """Tokens that came at once. Empty while the prompt is read."""

    tokens: tuple[int, ...]
    milliseconds: float  # since the batch before
    end: FinishReason | None = None


class SteppedWriter:
    """Writes one answer at a time; GenAI's prefix cache serves the next prompt."""

    has_rounds = True  # a batch is a round: the accepted tokens, then the target's own
    _REMEDY = Translatable("ask again, or use --engine headstart")

    def __init__(self, pipeline: Any) -> None:
        """Wrap an `openvino_genai.ContinuousBatchingPipeline`."""
        self._pipeline = pipeline
        self._keys = itertools.count()

    def write(self, prompt: tuple[int, ...], config: Any, cancel: CancelEvent) -> Iterator[Batch]:
        """Yield the batches of an answer; the last one has an end. A step reads a piece of the prompt or is a round.

        Closing the iterator ends the answer, too. Raises EngineLostError; the writer is unusable then.
        """
        with failing(self._REMEDY):
            handle = self._pipeline.add_request(next(self._keys), _tensor(prompt), config)
        end = None
        try:
            while end is None and not cancel.is_set():
                started = time.perf_counter()
                with failing(self._REMEDY):
                    self._pipeline.step()
                spent = (time.perf_counter() - started) * 1000.0
                batch = _received(handle, spent)
                end = batch.end
                yield batch
        finally:
            if end is None:
                handle.cancel()
                with failing(self._REMEDY):
                    self._pipeline.step()  # releases it
        if end is None:
            yield Batch((), 0.0, FinishReason.CANCELLED)


class StreamedWriter:
    """Writes one answer at a time in a thread of its own; can be stopped at each token."""

    has_rounds = False  # a batch need not be a round

    def __init__(self, pipeline: Any) -> None:
        """Wrap an `openvino_genai.LLMPipeline`."""
        self._pipeline = pipeline

    def write(self, prompt: tuple[int, ...], config: Any, cancel: CancelEvent) -> Iterator[Batch]:
        """Yield the batches of an answer. Reading the prompt cannot be stopped: GenAI calls back only after it."""
        arrived: queue.SimpleQueue[tuple[int, ...] | FinishReason | RuntimeError] = queue.SimpleQueue()
        stop = threading.Event()

        def take(tokens: tuple[int, ...]) -> bool:
            arrived.put(tokens)
            return not stop.is_set()

        def run() -> None:
            ids = _tensor(prompt)
            inputs = openvino_genai().TokenizedInputs(ids, openvino().Tensor(np.ones_like(ids.data)))
            try:
                result = self._pipeline.generate(inputs, config, _streamer(take))
                arrived.put(_ENDS.get(result.finish_reasons[0].name, FinishReason.STOP))
            except RuntimeError as error:
                arrived.put(error)

        thread = threading.Thread(target=run, name="genai-stream", daemon=True)
        thread.start()
        last = time.perf_counter()
        try:
            with cancel.calling(lambda: arrived.put(FinishReason.CANCELLED)):
                while isinstance(item := arrived.get(), tuple) and not cancel.is_set():
                    now = time.perf_counter()
                    yield Batch(item, (now - last) * 1000.0)
                    last = now
        finally:
            stop.set()
            thread.join()
        with failing(Translatable("ask again, or use --device CPU")):
            if isinstance(item, RuntimeError):
                raise item
        yield Batch((), 0.0, FinishReason.CANCELLED if isinstance(item, tuple) else item)


Writer = SteppedWriter | StreamedWriter


@dataclass(frozen=True)
class Blueprint:
    """Everything that a pipeline is built from. Each model has OpenVINO properties for its device."""

    options: LoadOptions
    target: dict[str, Any]
    draft: dict[str, Any]
    room: int = 0  # tokens of this text and of earlier ones in the KV cache; 0: as many as one text needs

    def build(self, kind: PipelineKind) -> Writer:
        """Build a pipeline for one kind of guessing. Raises DeviceError."""
        options = self.options
        chosen = self.target | ({"prompt_lookup": True} if kind is PipelineKind.LOOKUP else {})
        try:
            if kind in (PipelineKind.DRAFT, PipelineKind.EAGLE):
                place = options.draft_device or options.device
                chosen["draft_model"] = openvino_genai().draft_model(str(options.draft), place, **self.draft)
            if devices.kind(options.device) == NPU:
                return StreamedWriter(openvino_genai().LLMPipeline(str(options.target), options.device, **chosen))
            return SteppedWriter(_stepped(options, chosen, self.room))
        except RuntimeError as error:
            on_cpu = options.device.upper() == "CPU"
            remedy = Translatable("use --engine headstart") if on_cpu else Translatable("use --device CPU")
            raise DeviceError(
                "OpenVINO GenAI cannot run {name} ({way}) on {device} ({reason}); {remedy}.",
                name=options.target.name,
                way=kind,
                device=options.device,
                reason=reason(error),
                remedy=remedy,
            ) from None


def make_blueprint(options: LoadOptions, models: Sequence[VerifiedModel], room: int = 0) -> Blueprint:
    """Return the blueprint with the fastest known arithmetic. `models`: the target, then the draft."""
    target = _properties(models[0], options.kv_precision) | dict(options.properties)
    target = {name: value for name, value in target.items() if value}  # an empty value takes a property away
    if len(models) == 1 or models[1].manifest.is_eagle:  # a head shares the target's hidden states and cache
        return Blueprint(options, target, target, room)
    return Blueprint(options, target, _properties(models[1], options.kv_precision), room)


def _stepped(options: LoadOptions, chosen: dict[str, Any], room: int) -> Any:
    """Return a pipeline that is driven step by step. `room`: see Blueprint."""
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True  # conversations grow at the end
    scheduler.max_num_seqs = 1
    # By default it makes room for one text, and a second chat evicts the first.
    scheduler.num_kv_blocks = devices.genai_blocks(room, options.device)
    return genai.ContinuousBatchingPipeline(str(options.target), scheduler, options.device, chosen)


def configuration(sampling: Sampling, tokens: int, stop_ids: frozenset[int], guessing: Mapping[str, int]) -> Any:
    """Return a GenerationConfig with every declared parameter, so that no value of the model's own remains."""
    values = {parameter.field: getattr(sampling, parameter.field) for parameter in declared(Sampling)}
    seed, temperature = values.pop("seed"), values.pop("temperature")
    values["top_k"] = sampling.top_k or _ALL
    if temperature > 0.0:
        values |= {"do_sample": True, "temperature": temperature, "rng_seed": seed}  # each answer has its own generator
    return openvino_genai().GenerationConfig(
        max_new_tokens=tokens, ignore_eos=False, stop_token_ids=set(stop_ids), **values, **guessing
    )


def _received(handle: Any, milliseconds: float) -> Batch:
    """Return the result of the last step. Raises EngineLostError if the cache found no memory."""
    tokens: list[int] = []
    end = None
    while handle.can_read():
        for output in handle.read().values():
            tokens += output.generated_ids
            end = _ENDS.get(output.finish_reason.name, end)
    with failing(Translatable("load the model with a smaller --context")):
        if handle.get_status().name == "IGNORED":
            raise RuntimeError("no memory is left for its cache")
    return Batch(tuple(tokens), milliseconds, end)


@contextmanager
def failing(remedy: Translatable) -> Iterator[None]:
    """Turn a failure of GenAI during an answer into EngineLostError."""
    try:
        yield
    except RuntimeError as error:
        raise EngineLostError(
            "OpenVINO GenAI failed ({reason}); {remedy}.", reason=reason(error), remedy=remedy
        ) from None


def reason(error: RuntimeError) -> str:
    """Return the last line of OpenVINO's message."""
    return str(error).strip().splitlines()[-1].rstrip(".")


def _properties(model: VerifiedModel, kv: KvPrecision) -> dict[str, Any]:
    if devices.kind(model.device) == "CPU" and not unsupported_reason(model):
        return {**fast_properties(model, kv), **thread_limit()}
    return _UNMEASURED | ({} if kv is KvPrecision.AUTO else {"KV_CACHE_PRECISION": kv.value})


def _tensor(ids: tuple[int, ...]) -> Any:
    return openvino().Tensor(np.array([ids], np.int64))


def _streamer(take: Callable[[tuple[int, ...]], bool]) -> Any:
    """Return a streamer, whose class exists only once GenAI is loaded. `take` returns whether to go on."""
    genai = openvino_genai()

    class Streamer(genai.StreamerBase):  # type: ignore[misc,name-defined]
        def write(self, token: int | list[int]) -> Any:
            tokens = (token,) if isinstance(token, int) else tuple(token)
            return genai.StreamingStatus.RUNNING if take(tokens) else genai.StreamingStatus.CANCEL

        def end(self) -> None: ...

    return Streamer()
