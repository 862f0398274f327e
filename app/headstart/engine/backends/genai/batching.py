"""OpenVINO GenAI's continuous batching: several answers in one pass, without guesses."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headstart.engine import devices, memory
from headstart.engine.backends.genai.engine import Answer, GenaiEngine
from headstart.engine.backends.genai.pipelines import NPU, Batch, Blueprint, failing, reason, received, stepped
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Finish, FinishReason, LoadOptions, Mode, Request, Speculation, Step
from headstart.engine.load_options import ResolvedOptions, resolve
from headstart.engine.loading import fast_properties, verify_files
from headstart.engine.runtime import openvino
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import ChatTemplateError, ContextOverflowError, DeviceError, SettingsError, Translatable

Refusal = ContextOverflowError | ChatTemplateError | SettingsError  # of one request; the others can be answered
_REMEDY = Translatable("use --batch-engine own")


class ContinuousBatching:
    """Writes up to `size` answers at once; when one ends, the next begins."""

    def __init__(self, options: LoadOptions, size: int, longest: int) -> None:
        """Load a model. `longest` is the length of the longest prompt and answer, in tokens.

        `size` shrinks if the memory holds fewer answers of that length. Raises BrokenModelError, DeviceError
        and MemoryBudgetError.
        """
        resolved = resolve(replace(options, draft=None))
        options, manifest = resolved.options, resolved.target.manifest
        context = memory.context_of(manifest, options.context)
        self.size = _fitting_size(resolved, size, min(longest, context))
        chosen = fast_properties(verify_files(resolved.target, options.device), options.kv_precision)
        blueprint = Blueprint(options, dict(chosen), {})
        self._engine = GenaiEngine((manifest,), blueprint, Tokenizer(options.target), context)
        try:
            self._pipeline = stepped(options, blueprint.target, self.size)
        except RuntimeError as error:
            raise DeviceError(
                "OpenVINO GenAI cannot answer in batches on {device} ({reason}); {remedy}.",
                device=options.device,
                reason=reason(error),
                remedy=_REMEDY,
            ) from None

    def answers(
        self, requests: Iterator[tuple[int, Request]], cancel: CancelEvent
    ) -> Iterator[tuple[int, Step | Finish | Refusal]]:
        """Yield the events of all answers with the keys of their requests, until each ends or is refused.

        Requests are taken as there is room; after the last one, the answers in progress are completed. `cancel`
        ends them within one pass. Raises EngineLostError if GenAI fails.
        """
        writing: list[_Writing] = []
        while True:
            while len(writing) < self.size and (following := next(requests, None)) is not None:
                key, request = following
                try:
                    writing.append(self._begun(key, request))
                except (ContextOverflowError, ChatTemplateError, SettingsError) as refusal:
                    yield key, refusal
            if not writing:
                return
            self._step(writing, cancel)
            for each in writing:
                for event in self._events(each):
                    yield each.key, event
            writing = [each for each in writing if not each.ended]

    def close(self) -> None:
        """Free the memory. Closing again does nothing."""
        self._pipeline = None

    def _begun(self, key: int, request: Request) -> "_Writing":
        answer = self._engine.begin(request)
        ids = openvino().Tensor(np.array([answer.prompt], np.int64))
        with failing(_REMEDY):
            handle = self._pipeline.add_request(key, ids, answer.config)
        return _Writing(key, answer, handle)

    def _step(self, writing: list["_Writing"], cancel: CancelEvent) -> None:
        if cancel.is_set():
            for each in writing:
                each.handle.cancel()
                each.answer.take(Batch((), 0.0, FinishReason.CANCELLED))
                each.ended = True
            return
        with failing(_REMEDY):
            self._pipeline.step()

    def _events(self, each: "_Writing") -> Iterator[Step | Finish]:
        """Yield an answer's events of the last pass. The pass is shared, so no answer has a time of its own."""
        if not each.ended:
            batch = received(each.handle, 0.0, Translatable("use a smaller --batch-size"))
            step = each.answer.take(batch)
            if step is not None:
                yield step
            each.ended = batch.end is not None or each.answer.text.ended is not None
            if batch.end is None and each.ended:
                each.handle.stop()
        if each.ended:
            yield from self._engine.end(each.answer)


@dataclass
class _Writing:
    """An answer that is being written."""

    key: int
    answer: Answer
    handle: Any
    ended: bool = False


def difference(options: LoadOptions, request: Request, *, seeded: bool) -> str:
    """Return what a batch would do differently from Headstart's own engine, or "".

    GenAI draws other tokens from a seed, filters by top-k and top-p in an order of its own, and its penalties make
    unlikely tokens likelier.
    """
    sampling = request.sampling
    penalties = (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty)
    differences = {
        "the NPU": devices.kind(options.device) == NPU,
        "a seed": seeded and sampling.temperature > 0.0,
        "min-p": sampling.min_p > 0.0,
        "top-k together with top-p": sampling.top_k > 0 and sampling.top_p < 1.0,
        "penalties": penalties != (1.0, 0.0, 0.0),
        "speculation of their own": request.speculation not in (Speculation(), Speculation(Mode.OFF)),
    }
    return next((words for words, holds in differences.items() if holds), "")


def _fitting_size(resolved: ResolvedOptions, size: int, longest: int) -> int:
    """Return how many answers fit into the free memory, at most `size`. Raises MemoryBudgetError if none does."""
    options = resolved.options
    if options.ignore_memory:
        return size
    memory.require(replace(resolved, options=replace(options, context=longest)))
    bits = memory.kv_bits(options.kv_precision)
    fitting = memory.largest_context((resolved.target.manifest,), memory.free_memory(), bits) or longest
    return max(1, min(size, fitting // longest))
