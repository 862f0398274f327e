"""OpenVINO GenAI's continuous batching: several answers at once, without guesses. Knows no file of prompts.

Prompts become tokens and tokens text as in our own engine, so control tokens and stop strings mean the same here.
"""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import budget, room
from headstart.engine.batching import Keyed, Refusal, Reported
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Origin,
    Prefill,
    Request,
    Round,
    Step,
    Timing,
    Token,
)
from headstart.engine.genai.configuration import configuration, lost, reason
from headstart.engine.loading import fast_properties
from headstart.engine.runtime import openvino, openvino_genai
from headstart.engine.steps import rest_of, step_of
from headstart.engine.tally import Tally
from headstart.engine.text import AnswerText
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import ChatTemplateError, ContextOverflowError, DeviceError, EngineLostError

_SHARED = Timing()  # a step is shared by all answers, so none has a time of its own


@dataclass
class _Answer:
    """One answer that is being written."""

    key: int
    handle: Any
    text: AnswerText
    prompt_tokens: int
    limit: FinishReason  # why it ends where GenAI says that it got too long
    tally: Tally = field(default_factory=Tally)
    reason: FinishReason | None = None


class GenaiBatcher:
    """Keeps up to `size` answers going; where one ends, the next request begins."""

    def __init__(self, options: LoadOptions, size: int, longest: int) -> None:
        """`longest`: tokens of the longest prompt and answer; fewer at once where the memory holds no more of these.

        Raises BrokenModelError, DeviceError or MemoryBudgetError.
        """
        manifest = manifests.read_model(options.target)
        self._context = budget.context_of(manifest, options.context)
        self.size = _fitting(manifest, options, size, min(longest, self._context))
        self._stop_ids = frozenset(manifest.tokenizer.stop_ids)
        chosen = fast_properties(options.target, options.device, paths.measurements_folder(), options.kv_precision)
        self._tokenizer = Tokenizer(options.target)
        self._pipeline = _pipeline(options, self.size, dict(chosen))

    def answers(self, requests: Iterable[Keyed], cancel: threading.Event) -> Iterator[Reported]:
        """See Batcher.answers. Raises EngineLostError when GenAI fails."""
        waiting, present = iter(requests), list[_Answer]()
        while True:
            for started in self._begun(waiting, self.size - len(present)):
                if isinstance(started, _Answer):
                    present.append(started)
                    yield started.key, Prefill(0, started.prompt_tokens)
                else:
                    yield started
            if not present:
                return
            self._step(present, cancel)
            for answer in present:
                for event in self._news(answer):
                    yield answer.key, event
            present = [answer for answer in present if answer.reason is None]

    def close(self) -> None:
        """See Batcher.close. Closing again does nothing."""
        vars(self).pop("_pipeline", None)

    def _begun(self, waiting: Iterator[Keyed], places: int) -> Iterator[_Answer | tuple[int, Refusal]]:
        while places > 0 and (following := next(waiting, None)) is not None:
            key, request = following
            try:
                yield self._begin(key, request)
                places -= 1
            except (ContextOverflowError, ChatTemplateError) as refusal:
                yield key, refusal

    def _begin(self, key: int, request: Request) -> _Answer:
        tally = Tally()
        prompt = self._tokenizer.prompt_of(request, self._context)
        left = self._context - len(prompt) + 1  # the last token need not be read
        config = configuration(request.sampling, min(request.max_new_tokens, left), self._stop_ids, {})
        ids = openvino().Tensor(np.array([prompt], np.int64))
        try:
            handle = self._pipeline.add_request(key, ids, config)
        except RuntimeError as error:
            raise _lost(error) from None
        limit = FinishReason.CONTEXT if left < request.max_new_tokens else FinishReason.LENGTH
        text = AnswerText(self._tokenizer.decode_many, request.stop, stop_on_repetition=request.stop_on_repetition)
        tally.read(Prefill(0, len(prompt)))
        return _Answer(key, handle, text, len(prompt), limit, tally)

    def _step(self, present: list[_Answer], cancel: threading.Event) -> None:
        if cancel.is_set():
            for answer in present:
                answer.handle.cancel()
                answer.reason = FinishReason.CANCELLED
            return
        try:
            self._pipeline.step()
        except RuntimeError as error:
            raise _lost(error) from None

    def _news(self, answer: _Answer) -> Iterator[Event]:
        """What the last step gave to an answer; at its end, its Finish."""
        while answer.reason is None and answer.handle.can_read():
            for output in answer.handle.read().values():
                yield from self._written(answer, list(output.generated_ids))
                self._settle(answer, output.finish_reason.name)
        if answer.reason is None and answer.handle.get_status().name == "IGNORED":
            raise EngineLostError("OpenVINO GenAI has no memory left for its cache; use a smaller --batch-size.")
        if answer.reason is not None:
            yield from self._finished(answer)

    def _written(self, answer: _Answer, ids: list[int]) -> Iterator[Step]:
        kept = [token for token in ids if token not in self._stop_ids]
        if not kept:
            return
        tokens = tuple(Token(token, Origin.TARGET) for token in kept)
        step = step_of(Round(tokens, 0, 0, Origin.TARGET, _SHARED), answer.text)
        answer.tally.add(step.round)
        yield step

    def _settle(self, answer: _Answer, finish: str) -> None:
        if answer.text.ended:
            if finish == "NONE":
                answer.handle.stop()
            answer.reason = answer.text.ended
        elif finish != "NONE":
            answer.reason = answer.limit if finish == "LENGTH" else FinishReason.STOP

    def _finished(self, answer: _Answer) -> Iterator[Event]:
        assert answer.reason is not None, "only an answer that ended is finished"
        text = answer.text
        yield from rest_of(text)
        stats = answer.tally.stats(plain_ms=None, ledger_ms=0.0, context_length=self._context, repeats=text.repeats)
        yield Finish(text.ended or answer.reason, stats, text.token_ids)


def _fitting(manifest: manifests.Manifest, options: LoadOptions, size: int, longest: int) -> int:
    """`size`, or as many answers as fit into the free memory. Raises MemoryBudgetError where not one does."""
    if options.ignore_memory:
        return size
    room.require(manifest, None, replace(options, draft=None, context=longest))
    fitting = budget.largest_context((manifest,), room.free_memory(), options.kv_precision) or longest
    return max(1, min(size, fitting // longest))


def _pipeline(options: LoadOptions, size: int, properties: dict[str, Any]) -> Any:
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.max_num_seqs = size
    scheduler.enable_prefix_caching = True  # prompts of a batch often begin alike
    try:
        return genai.ContinuousBatchingPipeline(str(options.target), scheduler, options.device.upper(), properties)
    except RuntimeError as error:
        raise DeviceError(
            f"OpenVINO GenAI cannot answer in batches on {options.device} ({reason(error)}); use --batch-engine own."
        ) from None


def _lost(error: RuntimeError) -> EngineLostError:
    return lost(error, "use --batch-engine own")
