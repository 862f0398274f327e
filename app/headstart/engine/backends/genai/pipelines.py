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

from headstart.engine import devices
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, KvPrecision, LoadOptions, Sampling
from headstart.engine.loading import VerifiedModel, fast_properties, unsupported_reason
from headstart.engine.runtime import openvino, openvino_genai
from headstart.errors import DeviceError, EngineLostError, Translatable
from headstart.parameters import declared

NPU = "NPU"
_UNMEASURED = {"PERFORMANCE_HINT": "LATENCY"}
_ALL = 2**63 - 1
_ENDS = {"STOP": FinishReason.STOP, "LENGTH": FinishReason.LENGTH}


class Way(StrEnum):
    """How a pipeline guesses; each pipeline is built for one way."""

    PLAIN = "plain"
    DRAFT = "draft"
    EAGLE = "EAGLE-3"
    LOOKUP = "prompt lookup"


@dataclass(frozen=True)
class Batch:
    """Tokens that came at once; `milliseconds` since the ones before. Empty while the prompt is read."""

    tokens: tuple[int, ...]
    milliseconds: float
    end: FinishReason | None = None


class SteppedWriter:
    """Writes one answer at a time; GenAI's prefix cache serves the next prompt."""

    rounds_told = True  # a batch is a round: what was accepted, then the target's own token
    _REMEDY = Translatable("ask again, or use --engine headstart")

    def __init__(self, pipeline: Any) -> None:
        """`pipeline` is an `openvino_genai.ContinuousBatchingPipeline`."""
        self._pipeline = pipeline
        self._keys = itertools.count()

    def write(self, prompt: tuple[int, ...], config: Any, cancel: CancelEvent) -> Iterator[Batch]:
        """The batches of the answer; the last one has an end. Each step reads a piece of the prompt, or makes a round.

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
                    self._pipeline.step()  # lets go of it
        if end is None:
            yield Batch((), 0.0, FinishReason.CANCELLED)


class StreamedWriter:
    """Writes one answer at a time in a thread of its own; can be stopped at each token."""

    rounds_told = False  # what comes at once need not be a round

    def __init__(self, pipeline: Any) -> None:
        """`pipeline` is an `openvino_genai.LLMPipeline`."""
        self._pipeline = pipeline

    def write(self, prompt: tuple[int, ...], config: Any, cancel: CancelEvent) -> Iterator[Batch]:
        """See SteppedWriter.write. Reading the prompt cannot be stopped: GenAI calls nobody until it is done."""
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
                while isinstance(came := arrived.get(), tuple) and not cancel.is_set():
                    now = time.perf_counter()
                    yield Batch(came, (now - last) * 1000.0)
                    last = now
        finally:
            stop.set()
            thread.join()
        with failing(Translatable("ask again, or use --device CPU")):
            if isinstance(came, RuntimeError):
                raise came
        yield Batch((), 0.0, FinishReason.CANCELLED if isinstance(came, tuple) else came)


Writer = SteppedWriter | StreamedWriter


@dataclass(frozen=True)
class Blueprint:
    """The ingredients of a pipeline. Each model has OpenVINO properties for its device.

    `room`: tokens of this text and of earlier ones whose keys and values are kept; 0: as many as one text needs.
    """

    options: LoadOptions
    target: dict[str, Any]
    draft: dict[str, Any]
    room: int = 0

    def build(self, way: Way) -> Writer:
        """A pipeline that guesses in one way. Raises DeviceError."""
        options = self.options
        chosen = self.target | ({"prompt_lookup": True} if way is Way.LOOKUP else {})
        try:
            if way in (Way.DRAFT, Way.EAGLE):
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
                way=way,
                device=options.device,
                reason=reason(error),
                remedy=remedy,
            ) from None


def blueprint(options: LoadOptions, models: Sequence[VerifiedModel], room: int = 0) -> Blueprint:
    """Return the blueprint with the fastest known arithmetic. `models`: the target, then the draft."""
    target = _properties(models[0], options.kv_precision)
    target |= options.properties
    if len(models) == 1 or models[1].manifest.is_eagle:  # a head reads what the target computes, in the same cache
        return Blueprint(options, target, target, room)
    draft = _properties(models[1], options.kv_precision)
    return Blueprint(options, target, draft | dict(options.draft_properties), room)


def _stepped(options: LoadOptions, chosen: dict[str, Any], room: int) -> Any:
    """Return a pipeline that is driven step by step. `room` is that of its Blueprint."""
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True  # a conversation begins as it did before
    scheduler.max_num_seqs = 1
    # Left to itself it makes room for one text, and a second chat takes the place of the first.
    scheduler.num_kv_blocks = devices.genai_blocks(room, options.device)
    return genai.ContinuousBatchingPipeline(str(options.target), scheduler, options.device, chosen)


def configuration(sampling: Sampling, tokens: int, stop_ids: frozenset[int], guessing: Mapping[str, int]) -> Any:
    """A new GenerationConfig with all declared parameters: the model's own would bring its sampling and penalties."""
    values = {each.field: getattr(sampling, each.field) for each in declared(Sampling)}
    seed, temperature = values.pop("seed"), values.pop("temperature")
    values["top_k"] = sampling.top_k or _ALL
    if temperature > 0.0:
        values |= {"do_sample": True, "temperature": temperature, "rng_seed": seed}  # each answer draws by itself
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
    """Turns a failure of GenAI during an answer into EngineLostError."""
    try:
        yield
    except RuntimeError as error:
        raise EngineLostError(
            "OpenVINO GenAI failed ({reason}); {remedy}.", reason=reason(error), remedy=remedy
        ) from None


def reason(error: RuntimeError) -> str:
    """The last line of OpenVINO's several."""
    return str(error).strip().splitlines()[-1].rstrip(".")


def _properties(model: VerifiedModel, kv: KvPrecision) -> dict[str, Any]:
    if devices.kind(model.device) == "CPU" and not unsupported_reason(model):
        return dict(fast_properties(model, kv))
    return _UNMEASURED | ({} if kv is KvPrecision.AUTO else {"KV_CACHE_PRECISION": kv.value})


def _tensor(ids: tuple[int, ...]) -> Any:
    return openvino().Tensor(np.array([ids], np.int64))


def _streamer(take: Callable[[tuple[int, ...]], bool]) -> Any:
    """GenAI needs an object of its own class, which exists only once it is loaded. `take`: whether to go on."""
    genai = openvino_genai()

    class Streamer(genai.StreamerBase):  # type: ignore[misc,name-defined]
        def write(self, token: int | list[int]) -> Any:
            tokens = (token,) if isinstance(token, int) else tuple(token)
            return genai.StreamingStatus.RUNNING if take(tokens) else genai.StreamingStatus.CANCEL

        def end(self) -> None:
            """Nothing is held back."""

    return Streamer()
